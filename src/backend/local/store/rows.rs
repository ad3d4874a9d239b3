//! Rows in the two tables: reads, and the effect of one commit inside a transaction that somebody else begins and ends.
//!
//! Where a value goes decides how many pages a commit touches, and so what it costs. A row that is put under `Absent` is expected
//! to stay as it is (receipts, inputs, items, journal rows): its value goes to the right edge of `body`, where many share a page, and
//! leaves its neighbours in `k` close together. A row that is put otherwise is expected to be rewritten (heads, Turns, agenda
//! entries): its value stays in `k`, so that one page holds all of it. Neither expectation matters for what is read back.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use crate::engine::ports::{Change, Commit, Guard, Key, Page, Range, Record, Write};

/// The widest value that stays in `k` when its row is put under `Absent`, in bytes.
pub const INLINE_NEW_BYTES: usize = 100;

/// The widest value that stays in `k` otherwise, in bytes together with its key: a wider row would not fit in a page of the tree
/// four times and spill over to pages of its own.
pub const INLINE_ROW_BYTES: usize = 940;

const GET: &str =
    "SELECT k.ver, k.v, body.v FROM k LEFT JOIN body ON body.n = k.n WHERE k.p = ?1 AND k.s = ?2";
const FIND: &str = "SELECT ver, n, c = ?3 FROM k WHERE p = ?1 AND s = ?2";
const INSERT: &str = "INSERT INTO k(p, s, ver, n, v, c) VALUES(?1, ?2, 1, ?3, ?4, ?5)";
const UPDATE: &str = "UPDATE k SET ver = ?3, n = ?4, v = ?5, c = ?6 WHERE p = ?1 AND s = ?2";
const DELETE: &str = "DELETE FROM k WHERE p = ?1 AND s = ?2";
const BODY_INSERT: &str = "INSERT INTO body(v) VALUES(?1)";
const BODY_UPDATE: &str = "UPDATE body SET v = ?2 WHERE n = ?1";
const BODY_DELETE: &str = "DELETE FROM body WHERE n = ?1";

macro_rules! range_sql {
    ($tail:literal) => {
        concat!(
            "SELECT k.s, k.ver, k.v, body.v FROM k LEFT JOIN body ON body.n = k.n ",
            "WHERE k.p = ?1 AND k.s >= ?2 ",
            $tail
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
    /// Nothing: a row still carries this commit's id.
    Repeated,
}

/// One row.
pub(super) fn get(conn: &Connection, key: &Key) -> rusqlite::Result<Option<Record>> {
    cached(conn, GET)?
        .query_row(params![key.partition, key.sort], |row| {
            record(row, 0, key.clone())
        })
        .optional()
}

/// Several rows, as they were at one instant.
pub(super) fn get_many(conn: &Connection, keys: &[Key]) -> rusqlite::Result<Vec<Option<Record>>> {
    cached(conn, "BEGIN")?.execute([])?;
    let found = keys.iter().map(|key| get(conn, key)).collect();
    let ended = cached(conn, "COMMIT").and_then(|mut end| end.execute([]));
    if !conn.is_autocommit() {
        // Nothing was written, so the way in which it ends does not matter, as long as it does.
        conn.execute_batch("ROLLBACK")?;
    }
    ended.and(found)
}

/// Rows of one partition in order, as they were at one instant.
pub(super) fn range(conn: &Connection, range: &Range) -> rusqlite::Result<Page> {
    let mut statement = cached(
        conn,
        match (range.until.is_some(), range.reverse) {
            (false, false) => range_sql!("ORDER BY k.s"),
            (false, true) => range_sql!("ORDER BY k.s DESC"),
            (true, false) => range_sql!("AND k.s < ?3 ORDER BY k.s"),
            (true, true) => range_sql!("AND k.s < ?3 ORDER BY k.s DESC"),
        },
    )?;
    let mut rows = match &range.until {
        Some(until) => statement.query(params![range.partition, range.from, until])?,
        None => statement.query(params![range.partition, range.from])?,
    };
    let mut page = Page {
        records: Vec::new(),
        more: false,
    };
    while let Some(row) = rows.next()? {
        if page.records.len() == range.limit {
            page.more = true;
            break;
        }
        let key = Key::new(range.partition.clone(), row.get::<_, String>(0)?);
        page.records.push(record(row, 1, key)?);
    }
    Ok(page)
}

/// Partitions that have rows, in order, behind `after`, at most `limit`: each is found with one step in the tree.
pub(super) fn partitions(
    conn: &Connection,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<String>> {
    let mut next = cached(conn, "SELECT p FROM k WHERE p > ?1 ORDER BY p LIMIT 1")?;
    let mut found: Vec<String> = Vec::new();
    while found.len() < limit {
        let last = found.last().map_or(after, String::as_str);
        match next.query_row([last], |row| row.get(0)).optional()? {
            Some(partition) => found.push(partition),
            None => break,
        }
    }
    Ok(found)
}

/// What is wrong between the two tables, in words.
pub(super) fn mismatches(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let mut problems = Vec::new();
    let lost = count(
        "SELECT count(*) FROM k LEFT JOIN body ON body.n = k.n
         WHERE k.v IS NULL AND body.n IS NULL",
    )?;
    if lost > 0 {
        problems.push(format!("rows that have lost their values: {lost}"));
    }
    let spare =
        count("SELECT count(*) FROM body WHERE n NOT IN (SELECT n FROM k WHERE n IS NOT NULL)")?;
    if spare > 0 {
        problems.push(format!("values that belong to no row: {spare}"));
    }
    Ok(problems)
}

/// Applies one commit, all of it or nothing. Every row is looked at before the first is changed, so a conflict leaves nothing to
/// undo; after an error the transaction must be rolled back.
pub(super) fn apply(conn: &Connection, commit: &Commit) -> rusqlite::Result<Applied> {
    let found = commit
        .writes
        .iter()
        .map(|write| find(conn, write, commit))
        .collect::<rusqlite::Result<Vec<_>>>()?;
    if found.iter().flatten().any(|row| row.ours) {
        return Ok(Applied::Repeated);
    }
    let mut rows = commit.writes.iter().zip(&found);
    if let Some((write, _)) = rows.find(|(write, row)| !holds(write.guard, row.as_ref())) {
        return Ok(Applied::Conflict(write.key.clone()));
    }
    for (write, row) in commit.writes.iter().zip(&found) {
        match &write.change {
            Change::Put(value) => put(conn, write, value, row.as_ref(), commit)?,
            Change::Delete => {
                if let Some(old) = row {
                    delete(conn, &write.key, old)?;
                }
            }
            Change::Check => {}
        }
    }
    Ok(Applied::Written)
}

/// What is known of a row before it is changed.
struct Old {
    version: i64,
    body: Option<i64>,
    /// Whether the commit at hand put it.
    ours: bool,
}

fn find(conn: &Connection, write: &Write, commit: &Commit) -> rusqlite::Result<Option<Old>> {
    cached(conn, FIND)?
        .query_row(
            params![write.key.partition, write.key.sort, commit.id.0],
            |row| {
                Ok(Old {
                    version: row.get(0)?,
                    body: row.get(1)?,
                    ours: row.get(2)?,
                })
            },
        )
        .optional()
}

fn holds(guard: Guard, row: Option<&Old>) -> bool {
    match guard {
        Guard::Any => true,
        Guard::Absent => row.is_none(),
        Guard::Version(wanted) => row.is_some_and(|r| r.version as u64 == wanted),
    }
}

fn put(
    conn: &Connection,
    write: &Write,
    value: &[u8],
    old: Option<&Old>,
    commit: &Commit,
) -> rusqlite::Result<()> {
    let key = &write.key;
    let body = place_body(conn, value, old.and_then(|o| o.body), inline_max(write))?;
    let inline = body.is_none().then_some(value);
    match old {
        None => cached(conn, INSERT)?.execute(params![
            key.partition,
            key.sort,
            body,
            inline,
            commit.id.0
        ])?,
        Some(old) => cached(conn, UPDATE)?.execute(params![
            key.partition,
            key.sort,
            old.version + 1,
            body,
            inline,
            commit.id.0
        ])?,
    };
    Ok(())
}

/// The widest value that this write leaves in `k`.
fn inline_max(write: &Write) -> usize {
    match write.guard {
        Guard::Absent => INLINE_NEW_BYTES,
        Guard::Version(_) | Guard::Any => {
            INLINE_ROW_BYTES.saturating_sub(write.key.partition.len() + write.key.sort.len())
        }
    }
}

/// Stores a wide value and answers its row; a narrow one has none. A row that existed is overwritten where it is, or removed.
fn place_body(
    conn: &Connection,
    value: &[u8],
    old: Option<i64>,
    inline_max: usize,
) -> rusqlite::Result<Option<i64>> {
    let wide = value.len() > inline_max;
    match (wide, old) {
        (false, None) => Ok(None),
        (false, Some(n)) => {
            cached(conn, BODY_DELETE)?.execute([n])?;
            Ok(None)
        }
        (true, Some(n)) => {
            cached(conn, BODY_UPDATE)?.execute(params![n, value])?;
            Ok(Some(n))
        }
        (true, None) => {
            cached(conn, BODY_INSERT)?.execute([value])?;
            Ok(Some(conn.last_insert_rowid()))
        }
    }
}

fn delete(conn: &Connection, key: &Key, old: &Old) -> rusqlite::Result<()> {
    if let Some(n) = old.body {
        cached(conn, BODY_DELETE)?.execute([n])?;
    }
    cached(conn, DELETE)?.execute(params![key.partition, key.sort])?;
    Ok(())
}

/// A record whose version and value stand in the columns from `at` on. A row without any value is damage, and the conversion
/// error says so.
fn record(row: &Row<'_>, at: usize, key: Key) -> rusqlite::Result<Record> {
    let inline: Option<Vec<u8>> = row.get(at + 1)?;
    let value = match inline {
        Some(value) => value,
        None => row.get(at + 2)?,
    };
    Ok(Record {
        key,
        version: row.get::<_, i64>(at)? as u64,
        value,
    })
}

fn cached<'c>(conn: &'c Connection, sql: &str) -> rusqlite::Result<CachedStatement<'c>> {
    conn.prepare_cached(sql)
}
