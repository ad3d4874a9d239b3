//! Rows in their tables: reads, and the effect of one commit inside a transaction that somebody else begins and ends.
//!
//! Where a value goes decides how many pages a commit touches, and so what it costs. A row that is put under `Absent` is expected
//! to stay as it is (receipts, inputs, journal rows): its value goes to the right edge of `body`, where many share a page, and
//! leaves its neighbours in `k` close together. A row that is put otherwise is expected to be rewritten (Turns, agenda entries): its
//! value stays in `k`, so that one page holds all of it. A head is put under `Absent` once, and rewritten ever after. None of these
//! expectations matters for what is read back.
//!
//! A Session's rows stand in `k` by kind, so those of a long one would be spread over many pages, and each commit would write to one of
//! each kind. So what a long Session has is moved to `past` from time to time, many rows at once (see `moving`), and `k` keeps what a page or
//! two can hold. A row is in one of the two; one that is written again returns to `k`.

use rusqlite::types::FromSqlError;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::keycode;
use super::moving;
use super::packed;
use super::partitions::{Numbers, Partitions};
use super::statements::{Sql, Statements};
use crate::engine::keys;
use crate::engine::ports::{Change, Commit, Guard, Key, Page, Range, Record, Write};

/// The widest value that stays in `k` when its row is put under `Absent`, in bytes.
pub const INLINE_NEW_BYTES: usize = 24;

/// The widest value that stays in `k` otherwise, in bytes together with its key: a wider row would not fit in a page of the tree
/// four times and spill over to pages of its own.
pub const INLINE_ROW_BYTES: usize = 940;

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

/// What a commit did to the transaction it was applied in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Applied {
    /// All of it.
    Written,
    /// Nothing: this row did not satisfy its guard.
    Conflict(Key),
    /// Nothing: a row still carries this commit's mark.
    Repeated,
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
    cached(conn, GET)?
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

/// Applies one commit, all of it or nothing. Every row is looked at before the first is changed, so a conflict leaves nothing to
/// undo; after an error the transaction must be rolled back.
pub(super) fn apply(
    statements: &mut Statements<'_>,
    partitions: &Partitions,
    commit: &Commit,
) -> rusqlite::Result<Applied> {
    let mark = &mark(commit.id.0);
    let mut numbers = Numbers::new(partitions);
    let mut found = Vec::with_capacity(commit.writes.len());
    for write in &commit.writes {
        found.push(match numbers.get(statements, &write.key.partition)? {
            Some(partition) => {
                let key = keycode::encode(partition, &write.key.sort);
                let old = find(statements, &key, mark)?;
                (Some(key), old)
            }
            // Its partition has no number yet.
            None => (None, None),
        });
    }
    let mut rows = found.iter().filter_map(|(_, old)| old.as_ref());
    if rows.any(|old| old.ours) {
        return Ok(Applied::Repeated);
    }
    for (write, (_, old)) in commit.writes.iter().zip(&found) {
        if !holds(write.guard, old.as_ref()) {
            return Ok(Applied::Conflict(write.key.clone()));
        }
    }
    let mut grown = None;
    for (write, (key, old)) in commit.writes.iter().zip(found) {
        let key = match key {
            Some(key) => key,
            None if matches!(write.change, Change::Put(_)) => {
                let number = numbers.give(statements, &write.key.partition)?;
                keycode::encode(number, &write.key.sort)
            }
            // A partition without a number has no rows.
            None => continue,
        };
        match (&write.change, old.as_ref()) {
            (Change::Put(value), old) => {
                let body = place_body(statements, value, old, inline_max(write, key.len()))?;
                let inline = body.is_none().then_some(value);
                put(statements, &key, old, (body, inline), mark)?;
                if old.is_none() && moving::may_move(&write.key) {
                    grown = Some(key);
                }
            }
            (Change::Delete, Some(old)) => delete(statements, &key, old)?,
            (Change::Delete, None) | (Change::Check, _) => {}
        }
    }
    if let Some(key) = grown.filter(|_| moving::is_time(*mark)) {
        moving::move_on(statements.conn, &key)?;
    }
    Ok(Applied::Written)
}

/// What a row keeps of the id of the commit that put it: 64 bits of its 128, mixed, which are plenty to tell whether one commit put
/// one row.
pub(super) fn mark(id: [u8; 16]) -> [u8; 8] {
    let id = u128::from_be_bytes(id);
    let (high, low) = ((id >> 64) as u64, id as u64);
    (high.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) ^ low).to_be_bytes()
}

/// What is known of a row before it is changed.
struct Old {
    version: i64,
    body: Option<i64>,
    /// Whether the commit at hand put it.
    ours: bool,
    /// Whether it was moved to `past`.
    past: bool,
}

fn find(statements: &mut Statements<'_>, key: &[u8], mark: &[u8]) -> rusqlite::Result<Option<Old>> {
    let found = statements.get(Sql::Find)?.query_row([key, mark], |row| {
        Ok(Old {
            version: row.get(0)?,
            body: row.get(1)?,
            ours: row.get(2)?,
            past: row.get(3)?,
        })
    });
    found.optional()
}

fn holds(guard: Guard, row: Option<&Old>) -> bool {
    match guard {
        Guard::Any => true,
        Guard::Absent => row.is_none(),
        Guard::Version(wanted) => row.is_some_and(|r| r.version as u64 == wanted),
    }
}

/// Writes the row of `k`: its row in `body`, or its value.
fn put(
    statements: &mut Statements<'_>,
    key: &[u8],
    old: Option<&Old>,
    (body, inline): (Option<i64>, Option<&Vec<u8>>),
    mark: &[u8],
) -> rusqlite::Result<()> {
    let version = old.map_or(1, |old| old.version + 1);
    if old.is_some_and(|old| old.past) {
        statements.get(Sql::DeletePast)?.execute([key])?;
    }
    let sql = match old {
        Some(Old { past: false, .. }) => Sql::Update,
        Some(Old { past: true, .. }) | None => Sql::Insert,
    };
    statements
        .get(sql)?
        .execute(params![key, version, body, inline, mark])?;
    Ok(())
}

fn delete(statements: &mut Statements<'_>, key: &[u8], old: &Old) -> rusqlite::Result<()> {
    if let Some(n) = old.body {
        statements.get(Sql::BodyDelete)?.execute([n])?;
    }
    let sql = match old.past {
        false => Sql::Delete,
        true => Sql::DeletePast,
    };
    statements.get(sql)?.execute([key])?;
    Ok(())
}

/// The widest value that this write leaves in `k`.
fn inline_max(write: &Write, key_bytes: usize) -> usize {
    match write.guard {
        Guard::Absent if write.key.sort != keys::HEAD => INLINE_NEW_BYTES,
        Guard::Absent | Guard::Version(_) | Guard::Any => {
            INLINE_ROW_BYTES.saturating_sub(key_bytes)
        }
    }
}

/// Stores a wide value and answers its row; a narrow one has none. A row that existed is overwritten where it is, or removed.
fn place_body(
    statements: &mut Statements<'_>,
    value: &[u8],
    old: Option<&Old>,
    inline_max: usize,
) -> rusqlite::Result<Option<i64>> {
    let wide = value.len() > inline_max;
    let packed = wide.then(|| packed::pack(value)).flatten();
    let value = packed.as_deref().unwrap_or(value);
    match (wide, old.and_then(|old| old.body)) {
        (false, None) => Ok(None),
        (false, Some(n)) => {
            statements.get(Sql::BodyDelete)?.execute([n])?;
            Ok(None)
        }
        (true, Some(n)) => {
            statements
                .get(Sql::BodyUpdate)?
                .execute(params![n, value])?;
            Ok(Some(n))
        }
        (true, None) => {
            statements.get(Sql::BodyInsert)?.execute([value])?;
            Ok(Some(statements.conn.last_insert_rowid()))
        }
    }
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

    use super::*;
    use crate::backend::local::store::{StoreOptions, open};
    use crate::engine::ports::CommitId;

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
                    writes: vec![write],
                };
                let applied = apply(&mut Statements::new(&conn), &place.partitions, &commit)
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
        let reads = [GET, range_sql!("ASC"), range_sql!("DESC")];
        for sql in Sql::ALL.map(Sql::text).into_iter().chain(reads) {
            let statement = cached(&conn, sql).expect("no fault");
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0, "{sql}");
        }
    }
}
