//! The schema and its versions: a list of steps, each from one version to the next, applied in one transaction.
//!
//! Two tables. `k` is narrow and clustered: a Session's rows share a leaf, so a commit touches few pages. Values too wide for it
//! go to `body`, whose rows are appended at the right edge. Pages touched per commit decide what a commit costs.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a database file as ours: "rats" in ASCII.
pub(super) const APPLICATION_ID: i64 = 0x7261_7473;

/// One step: the SQL that leads from the version before it to its own, which is its place in the list, counted from 1.
pub(super) type Step = &'static str;

/// Every step ever made. Released steps never change.
pub(super) const STEPS: &[Step] = &["
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
"];

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
