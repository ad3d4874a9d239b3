//! The schema and its versions: a list of steps, each from one version to the next, applied in one transaction.
//!
//! `k` is narrow and clustered: a Session's rows share a leaf, so a commit touches few pages. Those of a long Session are moved to
//! `past` from time to time. Values too wide for either go to `body`, whose rows are appended at the right edge,
//! packed where that saves something. Pages touched per
//! commit decide what a commit costs. `part` has the numbers of the partitions.

use rusqlite::functions::FunctionFlags;
use rusqlite::{Connection, TransactionBehavior};

use super::{apply, keycode};

/// Marks a database file as ours: "rats" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x7261_7473;

/// One step: the SQL that leads from the version before it to its own, which is its place in the list, counted from 1.
pub(super) type Step = &'static str;

/// Every step ever made. Released steps never change.
pub(super) const STEPS: &[Step] = &[
    "
    CREATE TABLE k(
        p TEXT NOT NULL,      -- partition
        s TEXT NOT NULL,      -- sort key
        ver INTEGER NOT NULL, -- version of the row
        n INTEGER,            -- its row in body, when the value is wide
        v BLOB,               -- the value otherwise
        c BLOB NOT NULL,      -- id of the commit that put it
        PRIMARY KEY(p, s)
    ) WITHOUT ROWID;
    CREATE TABLE body(n INTEGER PRIMARY KEY, v BLOB NOT NULL);
",
    // Short keys and marks. `key_code` and `commit_mark` are functions of this program.
    "
    CREATE TABLE part(
        p TEXT NOT NULL PRIMARY KEY, -- name of a partition
        n INTEGER NOT NULL           -- its number, and the row of its name in body
    ) WITHOUT ROWID;
    INSERT INTO part
        SELECT p, row_number() OVER (ORDER BY p) + (SELECT coalesce(max(n), 0) FROM body)
        FROM (SELECT DISTINCT p FROM k);
    INSERT INTO body SELECT n, CAST(p AS BLOB) FROM part;
    CREATE TABLE short(
        key BLOB NOT NULL,    -- number of its partition and sort key, see `keycode`
        ver INTEGER NOT NULL, -- version of the row
        n INTEGER,            -- its row in body, when the value is wide
        v BLOB,               -- the value otherwise
        c BLOB NOT NULL,      -- mark of the commit that put it
        PRIMARY KEY(key)
    ) WITHOUT ROWID;
    INSERT INTO short
        SELECT key_code(part.n, k.s), k.ver, k.n, k.v, commit_mark(k.c) FROM k JOIN part ON part.p = k.p;
    DROP TABLE k;
    ALTER TABLE short RENAME TO k;
",
    // What long Sessions have, moved there many rows at a time.
    "
    CREATE TABLE past(
        key BLOB NOT NULL,    -- the columns are those of k
        ver INTEGER NOT NULL,
        n INTEGER,
        v BLOB,
        c BLOB NOT NULL,
        PRIMARY KEY(key)
    ) WITHOUT ROWID;
    CREATE VIEW every AS SELECT * FROM k UNION ALL SELECT * FROM past;
",
    // Values in `body` may be packed from here on (see `packed`), which no older program could read.
    "",
];

/// What a database file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing in it yet.
    Empty,
    /// Ours, of this version.
    Version(i64),
    /// A database of another program.
    Foreign,
}

/// Looks at the file's marks, all as of one moment: another process may be making them now.
pub(super) fn look(conn: &Connection) -> rusqlite::Result<Found> {
    let moment = match conn.is_autocommit() {
        true => Some(conn.unchecked_transaction()?),
        false => None,
    };
    let found = marks(conn);
    drop(moment);
    found
}

fn marks(conn: &Connection) -> rusqlite::Result<Found> {
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if application == APPLICATION_ID && version > 0 {
        return Ok(Found::Version(version));
    }
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if application == 0 && version == 0 && tables == 0 {
        Found::Empty
    } else {
        Found::Foreign
    })
}

/// Applies the steps that are missing, all or none, and answers the version reached. A file that is newer than `steps`, or
/// foreign, is left as it is.
pub(super) fn migrate(conn: &mut Connection, steps: &[Step]) -> rusqlite::Result<Found> {
    functions(conn)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let have = match look(&tx)? {
        Found::Empty => 0,
        Found::Version(version) => version,
        Found::Foreign => return Ok(Found::Foreign),
    };
    let missing = usize::try_from(have).ok().and_then(|n| steps.get(n..));
    let Some(missing) = missing.filter(|m| !m.is_empty()) else {
        return Ok(Found::Version(have));
    };
    for step in missing {
        tx.execute_batch(step)?;
    }
    let reached = have + missing.len() as i64;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    tx.pragma_update(None, "user_version", reached)?;
    tx.commit()?;
    Ok(Found::Version(reached))
}

/// Gives the steps what writes keys as [`keycode`] does, and marks as [`apply`] does.
fn functions(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    conn.create_scalar_function("key_code", 2, flags, |row| {
        let (partition, sort) = (row.get_raw(0).as_i64()?, row.get_raw(1).as_str()?);
        Ok(keycode::encode(partition, sort))
    })?;
    conn.create_scalar_function("commit_mark", 1, flags, |row| {
        let id: [u8; 16] = row.get(0)?;
        Ok(apply::mark(id))
    })
}

#[cfg(test)]
mod tests {
    use super::super::apply::{Applied, apply};
    use super::super::partitions::Partitions;
    use super::super::prepared::Prepared;
    use super::super::rows;
    use super::super::statements::Statements;
    use super::*;
    use crate::engine::ports::{Change, Commit, CommitId, Guard, Key, Range, Write};

    const FIRST: Step = "CREATE TABLE a(x); INSERT INTO a VALUES(1);";
    const SECOND: Step = "CREATE TABLE b(y); INSERT INTO b SELECT x + 1 FROM a;";
    const BROKEN: Step = "CREATE TABLE c(z); INSERT INTO nowhere VALUES(1);";

    fn empty() -> Connection {
        Connection::open_in_memory().expect("a database in memory")
    }

    fn number(conn: &Connection, sql: &str) -> i64 {
        conn.query_row(sql, [], |row| row.get(0)).expect("a number")
    }

    #[test]
    fn an_empty_file_gets_every_step() {
        let mut conn = empty();
        let steps = [FIRST, SECOND];
        assert_eq!(migrate(&mut conn, &steps), Ok(Found::Version(2)));
        assert_eq!(look(&conn), Ok(Found::Version(2)));
        assert_eq!(number(&conn, "SELECT y FROM b"), 2);
    }

    #[test]
    fn an_older_file_gets_only_what_it_lacks() {
        let mut conn = empty();
        assert_eq!(migrate(&mut conn, &[FIRST]), Ok(Found::Version(1)));
        conn.execute_batch("UPDATE a SET x = 41").expect("data");
        assert_eq!(migrate(&mut conn, &[FIRST, SECOND]), Ok(Found::Version(2)));
        assert_eq!(number(&conn, "SELECT y FROM b"), 42);
    }

    #[test]
    fn a_migration_that_fails_leaves_the_file_as_it_was() {
        let mut conn = empty();
        assert_eq!(migrate(&mut conn, &[FIRST]), Ok(Found::Version(1)));
        assert!(migrate(&mut conn, &[FIRST, SECOND, BROKEN]).is_err());
        assert_eq!(look(&conn), Ok(Found::Version(1)));
        assert_eq!(number(&conn, "SELECT count(*) FROM sqlite_schema"), 1);
        assert!(conn.is_autocommit());
    }

    #[test]
    fn a_current_and_a_newer_file_are_left_alone() {
        let mut conn = empty();
        let steps = [FIRST, SECOND];
        assert_eq!(migrate(&mut conn, &steps), Ok(Found::Version(2)));
        assert_eq!(migrate(&mut conn, &steps), Ok(Found::Version(2)));
        assert_eq!(migrate(&mut conn, &[FIRST]), Ok(Found::Version(2)));
        assert_eq!(number(&conn, "SELECT count(*) FROM b"), 1);
    }

    #[test]
    fn a_foreign_file_is_left_alone() {
        let mut conn = empty();
        conn.execute_batch("CREATE TABLE songs(title)")
            .expect("a table");
        assert_eq!(migrate(&mut conn, STEPS), Ok(Found::Foreign));
        assert_eq!(number(&conn, "SELECT count(*) FROM sqlite_schema"), 1);
    }

    /// Files of the first version, which had keys in full.
    #[test]
    fn rows_of_a_file_of_the_first_version_are_found_under_their_keys() {
        let mut conn = empty();
        assert_eq!(migrate(&mut conn, &STEPS[..1]), Ok(Found::Version(1)));
        conn.execute_batch(
            "INSERT INTO body VALUES(1, CAST('wide' AS BLOB)), (7, CAST('wider' AS BLOB));
             INSERT INTO k VALUES
                ('S/b', 'turn/2', 1, 1, NULL, x'00112233445566778899aabbccddeeff'),
                ('S/b', 'turn/10', 3, NULL, CAST('narrow' AS BLOB), x'10112233445566778899aabbccddeeff'),
                ('S/b', 'head', 9, 7, NULL, x'20112233445566778899aabbccddeeff'),
                ('A/x', 'turn/1', 2, NULL, x'', x'30112233445566778899aabbccddeeff');",
        )
        .expect("rows as they were");
        let count = STEPS.len() as i64;
        assert_eq!(migrate(&mut conn, STEPS), Ok(Found::Version(count)));

        let partitions = Partitions::default();
        let page = rows::range(&conn, &partitions, &Range::prefix("S/b", "turn/", 9));
        let page = page.expect("a page").records.into_iter();
        let found: Vec<_> = page.map(|r| (r.key.sort, r.version, r.value)).collect();
        let row = |sort: &str, version, value: &str| (sort.to_owned(), version, value.into());
        assert_eq!(
            found,
            [row("turn/10", 3, "narrow"), row("turn/2", 1, "wide")]
        );
        let head = rows::get(&conn, &partitions, &Key::new("S/b", "head")).expect("an answer");
        assert_eq!(
            head.map(|r| (r.version, r.value)),
            Some((9, b"wider".to_vec()))
        );
        let other = rows::get(&conn, &partitions, &Key::new("A/x", "turn/1")).expect("an answer");
        assert_eq!(other.map(|r| r.value), Some(Vec::new()));

        // A commit of that time that is repeated now is recognised, and new partitions get numbers of their own.
        let mut commit = Commit {
            id: CommitId([0; 16]),
            writes: vec![Write {
                key: Key::new("S/b", "turn/2"),
                guard: Guard::Absent,
                change: Change::Put(b"wide".to_vec()),
            }]
            .into(),
        };
        let id = [
            0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
            0xee, 0xff,
        ];
        commit.id = CommitId(id);
        assert_eq!(
            apply(
                &mut Statements::new(&conn),
                &partitions,
                &Prepared::new(commit.clone(), &partitions)
            ),
            Ok(Applied::Repeated)
        );
        commit.id = CommitId([9; 16]);
        std::sync::Arc::make_mut(&mut commit.writes)[0].key = Key::new("S/c", "turn/2");
        assert_eq!(
            apply(
                &mut Statements::new(&conn),
                &partitions,
                &Prepared::new(commit.clone(), &partitions)
            ),
            Ok(Applied::Written)
        );
        assert_eq!(number(&conn, "SELECT count(DISTINCT n) FROM part"), 3);
        let names = "SELECT count(*) FROM part JOIN body ON body.n = part.n AND CAST(body.v AS TEXT) = part.p";
        assert_eq!(number(&conn, names), 3);
    }
}
