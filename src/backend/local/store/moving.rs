//! What a long Session has leaves `k` for `past`, many rows at once, so that the rows of its next commits are neighbours again.
//!
//! Only where a row is changes, never what is read. Rows move within the commit that made them too many.

use rusqlite::{Connection, params};

use super::keycode;
use super::rows::cached;
use crate::engine::keys;
use crate::engine::ports::Key;

/// A Session keeps up to so many rows in `k`, and a few more until they are looked at: a page or two.
pub(super) const ROWS_KEPT: i64 = 128;

/// One commit in so many looks whether there are too many.
const LOOK_EVERY: u8 = 8;

const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM k WHERE key >= ?1 AND key < ?2 LIMIT ?3)";
const COPY: &str = "INSERT INTO past(key, ver, n, v, c) SELECT key, ver, n, v, c FROM k WHERE key >= ?1 AND key < ?2 AND key NOT IN (?3, ?4)";
const CLEAR: &str = "DELETE FROM k WHERE key >= ?1 AND key < ?2 AND key NOT IN (?3, ?4)";

/// Whether rows like this one ever move. Lists of an owner and the agenda do not: theirs are not written by kind. Nor does what every commit
/// rewrites or every Run reads.
pub(super) fn may_move(key: &Key) -> bool {
    key.partition.starts_with("S/") && ![keys::HEAD, keys::CONFIG].contains(&key.sort.as_str())
}

/// Whether the commit with this mark looks. Marks are random, so that no Session escapes.
pub(super) fn is_time(mark: [u8; 8]) -> bool {
    mark[7].is_multiple_of(LOOK_EVERY)
}

/// Moves the rows of the partition with this number, if they have become too many.
pub(super) fn move_on(conn: &Connection, partition: i64) -> rusqlite::Result<()> {
    let from = keycode::encode(partition, "");
    let until = keycode::behind(partition);
    let rows: i64 =
        cached(conn, COUNT)?.query_row(params![from, until, ROWS_KEPT + 1], |row| row.get(0))?;
    if rows <= ROWS_KEPT {
        return Ok(());
    }
    let [head, config] = [keys::HEAD, keys::CONFIG].map(|sort| keycode::encode(partition, sort));
    for sql in [COPY, CLEAR] {
        cached(conn, sql)?.execute(params![from, until, head, config])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::apply::{Applied, apply};
    use super::super::open::Place;
    use super::super::prepared::Prepared;
    use super::super::rows;
    use super::super::statements::Statements;
    use super::super::{StoreOptions, open, survey};
    use super::*;
    use crate::engine::ports::{Change, Commit, CommitId, Guard, Range, Write};

    const SESSION: &str = "S/a";

    fn place(dir: &tempfile::TempDir) -> Place {
        let place = open::open(&dir.path().join("store.db"), StoreOptions::default());
        place.expect("a new store")
    }

    fn count(conn: &Connection, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        conn.query_row(&sql, [], |row| row.get(0))
            .expect("a number")
    }

    /// One commit of one row.
    fn commit(n: u64, partition: &str, sort: String, guard: Guard, change: Change) -> Commit {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&n.to_be_bytes());
        id[8..].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        let key = Key::new(partition, sort);
        Commit {
            id: CommitId(id),
            writes: vec![Write { key, guard, change }].into(),
        }
    }

    /// What a Session's commits do: new rows of several kinds, narrow and wide, and now and then an old one is rewritten or removed.
    fn nth(n: u64, rows: &BTreeMap<String, (u64, Vec<u8>)>) -> Commit {
        let old = rows.keys().nth((n as usize * 7) % rows.len().max(1));
        let value = |bytes: usize| vec![n as u8; bytes];
        match (n % 10, old) {
            (7, Some(old)) => {
                let guard = Guard::Version(rows[old].0);
                let change = Change::Put(value(n as usize % 90));
                commit(n, SESSION, old.clone(), guard, change)
            }
            (8, Some(old)) => commit(n, SESSION, old.clone(), Guard::Any, Change::Delete),
            (9, _) => {
                let change = Change::Put(value(100));
                commit(n, SESSION, keys::HEAD.to_owned(), Guard::Any, change)
            }
            (kind, _) => {
                let sort = format!("{}/{n:010}", ["item", "journal", "turn"][kind as usize % 3]);
                let change = Change::Put(value(n as usize % 60));
                commit(n, SESSION, sort, Guard::Absent, change)
            }
        }
    }

    fn expect_same(
        conn: &Connection,
        place: &Place,
        rows: &BTreeMap<String, (u64, Vec<u8>)>,
        range: Range,
    ) {
        let page = rows::range(conn, &place.partitions, &range).expect("a page");
        let found = page.records.into_iter();
        let found: Vec<_> = found.map(|r| (r.key.sort, (r.version, r.value))).collect();
        let until = range.until.clone().unwrap_or("~".to_owned());
        let wanted = rows.range(range.from.clone()..until);
        let mut wanted: Vec<_> = wanted
            .map(|(sort, row)| (sort.clone(), row.clone()))
            .collect();
        if range.reverse {
            wanted.reverse();
        }
        wanted.truncate(range.limit);
        assert_eq!(found, wanted, "{range:?}");
    }

    #[test]
    fn a_long_session_reads_the_same_wherever_its_rows_are_and_keeps_few_of_them_together() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = place(&dir);
        let conn = place.connect_writing().expect("a connection");
        let mut rows = BTreeMap::new();
        let mut most = 0;
        for n in 0..3_000 {
            let commit = nth(n, &rows);
            let applied = apply(
                &mut Statements::new(&conn),
                &place.partitions,
                &Prepared::new(commit.clone(), &place.partitions),
            );
            assert_eq!(applied, Ok(Applied::Written), "{n}");
            // A repeat is known wherever the row went.
            if matches!(commit.writes[0].change, Change::Put(_)) {
                let again = apply(
                    &mut Statements::new(&conn),
                    &place.partitions,
                    &Prepared::new(commit.clone(), &place.partitions),
                );
                assert_eq!(again, Ok(Applied::Repeated), "{n}");
            }
            let write = commit.writes.first().cloned().expect("one row");
            match write.change {
                Change::Put(value) => {
                    let version = rows
                        .get(&write.key.sort)
                        .map_or(1, |(version, _)| version + 1);
                    rows.insert(write.key.sort, (version, value));
                }
                Change::Delete | Change::Check => drop(rows.remove(&write.key.sort)),
            }
            most = most.max(count(&conn, "k"));
        }
        assert_eq!(count(&conn, "every"), rows.len() as i64);
        assert!(count(&conn, "past") > 1_000, "they moved");
        assert!(most < 3 * ROWS_KEPT, "{most} rows of one Session in k");
        for (sort, (version, value)) in &rows {
            let key = Key::new(SESSION, sort.clone());
            let found = rows::get(&conn, &place.partitions, &key).expect("an answer");
            let found = found.map(|record| (record.version, record.value));
            assert_eq!(found.as_ref(), Some(&(*version, value.clone())), "{sort}");
        }
        for (prefix, limit) in [("item/", 7), ("turn/", 5_000), ("head", 2), ("j", 300)] {
            let range = Range::prefix(SESSION, prefix, limit);
            expect_same(&conn, &place, &rows, range.clone());
            expect_same(&conn, &place, &rows, range.reversed());
        }
        assert_eq!(survey::mismatches(&conn), Ok(Vec::new()));
    }

    #[test]
    fn an_owners_lists_and_the_agenda_stay_where_they_are() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = place(&dir);
        let conn = place.connect_writing().expect("a connection");
        for n in 0..1_000u64 {
            for partition in ["O/owner", "A/execute/0"] {
                let sort = format!("{n:010}");
                let change = Change::Put(vec![0; 9]);
                let commit = commit(n, partition, sort, Guard::Absent, change);
                let applied = apply(
                    &mut Statements::new(&conn),
                    &place.partitions,
                    &Prepared::new(commit.clone(), &place.partitions),
                );
                assert_eq!(applied, Ok(Applied::Written));
            }
        }
        assert_eq!(count(&conn, "past"), 0);
    }

    #[test]
    fn a_row_that_is_there_twice_is_found() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = place(&dir);
        let conn = place.connect_writing().expect("a connection");
        let change = Change::Put(Vec::new());
        let commit = commit(1, SESSION, "turn/1".to_owned(), Guard::Absent, change);
        apply(
            &mut Statements::new(&conn),
            &place.partitions,
            &Prepared::new(commit.clone(), &place.partitions),
        )
        .expect("no fault");
        conn.execute("INSERT INTO past SELECT * FROM k", [])
            .expect("a copy");
        let wrong = survey::mismatches(&conn).expect("an answer");
        assert_eq!(wrong, ["rows that are there twice: 1"]);
    }
}
