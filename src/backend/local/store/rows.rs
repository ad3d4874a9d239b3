//! Rows in their tables, and how they are read.
//!
//! A Session's rows stand in `k` by kind, so those of a long one would be spread over many pages, and each commit would write to one of
//! each kind. So what a long Session has is moved to `past` from time to time, many rows at once (see `moving`), and `k` keeps what a page or
//! two can hold. A row is in one of the two; one that is written again returns to `k`.

use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};

use super::keycode;
use super::moving;
use super::packed;
use super::partitions::Partitions;
use crate::engine::ports::{Key, Page, Range, Record};

/// A row that is in `k`, if it is there.
const GET_IN_K: &str =
    "SELECT k.ver, k.v, body.v FROM k LEFT JOIN body ON body.n = k.n WHERE k.key = ?1";

const GET: &str = "SELECT k.ver, k.v, body.v FROM k LEFT JOIN body ON body.n = k.n WHERE k.key = ?1 UNION ALL \
    SELECT past.ver, past.v, body.v FROM past LEFT JOIN body ON body.n = past.n WHERE past.key = ?1";

macro_rules! range_sql {
    ($order:literal) => {
        concat!(
            "SELECT k.key, k.ver, k.v, body.v FROM k LEFT JOIN body ON body.n = k.n ",
            "WHERE k.key >= ?1 AND k.key < ?2 UNION ALL ",
            "SELECT past.key, past.ver, past.v, body.v FROM past LEFT JOIN body ON body.n = past.n ",
            "WHERE past.key >= ?1 AND past.key < ?2 ORDER BY 1 ",
            $order
        )
    };
}

/// One row.
pub(super) fn get(
    conn: &Connection,
    partitions: &Partitions,
    key: &Key,
) -> rusqlite::Result<Option<Record>> {
    let Some(partition) = partitions.number(conn, &key.partition)? else {
        return Ok(None);
    };
    let stored = keycode::encode(partition, &key.sort);
    let sql = match moving::may_move(key) {
        true => GET,
        false => GET_IN_K,
    };
    cached(conn, sql)?
        .query_row([&stored], |row| record(row, 0, key.clone()))
        .optional()
}

/// Several rows, as they were at one instant.
pub(super) fn get_many(
    conn: &Connection,
    partitions: &Partitions,
    keys: &[Key],
) -> rusqlite::Result<Vec<Option<Record>>> {
    cached(conn, "BEGIN")?.execute([])?;
    let found = keys.iter().map(|key| get(conn, partitions, key)).collect();
    let ended = cached(conn, "COMMIT").and_then(|mut end| end.execute([]));
    if !conn.is_autocommit() {
        // Nothing was written, so the way in which it ends does not matter, as long as it does.
        conn.execute_batch("ROLLBACK")?;
    }
    ended.and(found)
}

/// Rows of one partition in order, as they were at one instant.
pub(super) fn range(
    conn: &Connection,
    partitions: &Partitions,
    range: &Range,
) -> rusqlite::Result<Page> {
    let mut page = Page {
        records: Vec::new(),
        more: false,
    };
    let Some(partition) = partitions.number(conn, &range.partition)? else {
        return Ok(page);
    };
    let from = keycode::encode(partition, &range.from);
    let until = match &range.until {
        Some(until) => keycode::encode(partition, until),
        None => keycode::behind(partition),
    };
    let sql = match range.reverse {
        false => range_sql!("ASC"),
        true => range_sql!("DESC"),
    };
    let mut statement = cached(conn, sql)?;
    let mut rows = statement.query([from, until])?;
    while let Some(row) = rows.next()? {
        if page.records.len() == range.limit {
            page.more = true;
            break;
        }
        let sort = keycode::decode(row.get_ref(0)?.as_blob()?)
            .ok_or_else(|| FromSqlError::Other("a stored key is none".into()))?;
        let key = Key::new(range.partition.clone(), sort);
        page.records.push(record(row, 1, key)?);
    }
    Ok(page)
}

/// A record whose version and value stand in the columns from `at` on. A row without any value is damage, as is one whose value can't be
/// unpacked, and the conversion error says so.
fn record(row: &Row<'_>, at: usize, key: Key) -> rusqlite::Result<Record> {
    let inline: Option<Vec<u8>> = row.get(at + 1)?;
    let value = match inline {
        Some(value) => value,
        None => {
            let unpacked = packed::unpack(row.get(at + 2)?);
            unpacked.map_err(|damaged| FromSqlError::Other(damaged.into()))?
        }
    };
    Ok(Record {
        key,
        version: row.get::<_, i64>(at)? as u64,
        value,
    })
}

/// The statement, compiled once for a connection.
pub(super) fn cached<'c>(conn: &'c Connection, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
    conn.prepare_cached(sql)
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::super::prepared::Prepared;
    use super::*;
    use crate::backend::local::store::apply::{Applied, apply};
    use crate::backend::local::store::statements::{Sql, Statements};
    use crate::backend::local::store::{StoreOptions, open};
    use crate::engine::ports::{Change, Commit, CommitId, Guard, Write};

    /// SQLite may compile a statement again for a value that is bound, which takes longer than the statement.
    #[test]
    fn no_statement_is_compiled_twice() {
        let dir = tempfile::tempdir().expect("a directory");
        let place = open::open(&dir.path().join("store.db"), StoreOptions::default());
        let place = place.expect("a new store");
        let conn = place.connect_writing().expect("a connection");
        for n in 0..50u8 {
            let key = Key::new("S/a", format!("turn/{n}"));
            for change in [Change::Put(vec![n; usize::from(n) * 40]), Change::Delete] {
                let write = Write {
                    key: key.clone(),
                    guard: Guard::Any,
                    change,
                };
                let commit = Commit {
                    id: CommitId([n; 16]),
                    writes: vec![write].into(),
                };
                let applied = apply(
                    &mut Statements::new(&conn),
                    &place.partitions,
                    &Prepared::new(commit.clone(), &place.partitions),
                )
                .expect("no fault");
                assert_ne!(applied, Applied::Conflict(key.clone()));
                get(&conn, &place.partitions, &key).expect("no fault");
            }
            for reverse in [false, true] {
                let all = Range {
                    reverse,
                    ..Range::prefix("S/a", "turn/", 9)
                };
                range(&conn, &place.partitions, &all).expect("no fault");
            }
        }
        let reads = [GET, GET_IN_K, range_sql!("ASC"), range_sql!("DESC")];
        for sql in Sql::ALL.map(Sql::text).into_iter().chain(reads) {
            let statement = cached(&conn, sql).expect("no fault");
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{sql}");
        }
    }
}
