//! The tables as a whole: which partitions there are, and whether the tables agree with one another. For checks, not for the engine.

use rusqlite::{Connection, OptionalExtension};

use super::keycode;
use super::rows::cached;

/// Partitions that have rows, in order, behind `after`, at most `limit`.
pub(super) fn partitions(
    conn: &Connection,
    after: &str,
    limit: usize,
) -> rusqlite::Result<Vec<String>> {
    let mut known = cached(conn, "SELECT p, n FROM part WHERE p > ?1 ORDER BY p")?;
    let mut known = known.query([after])?;
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(row) = known.next()?
    {
        // It keeps its number when its last row is gone.
        let number = row.get(1)?;
        let first = first_key(conn, &keycode::encode(number, ""))?;
        if first.is_some_and(|key| key < keycode::behind(number)) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// The first stored key that is not before `from`.
fn first_key(conn: &Connection, from: &[u8]) -> rusqlite::Result<Option<Vec<u8>>> {
    cached(
        conn,
        "SELECT key FROM every WHERE key >= ?1 ORDER BY key LIMIT 1",
    )?
    .query_row([from], |row| row.get(0))
    .optional()
}

/// What is wrong between the tables, in words.
pub(super) fn mismatches(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let count = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let counts = [
        (
            "rows that have lost their values",
            count(
                "SELECT count(*) FROM every LEFT JOIN body ON body.n = every.n
                 WHERE every.v IS NULL AND body.n IS NULL",
            )?,
        ),
        (
            "rows that are there twice",
            count("SELECT count(*) FROM k JOIN past ON past.key = k.key")?,
        ),
        (
            "values that belong to no row",
            count(
                "SELECT count(*) FROM body WHERE n NOT IN
                 (SELECT n FROM every WHERE n IS NOT NULL UNION ALL SELECT n FROM part)",
            )?,
        ),
        (
            "partitions whose number leads to another name",
            count(
                "SELECT count(*) FROM part LEFT JOIN body ON body.n = part.n
                 WHERE CAST(body.v AS TEXT) IS NOT part.p",
            )?,
        ),
        ("numbers of rows that no partition has", nameless(conn)?),
    ];
    let wrong = counts.into_iter().filter(|(_, count)| *count > 0);
    Ok(wrong
        .map(|(what, count)| format!("{what}: {count}"))
        .collect())
}

/// How many partitions have rows and no name: each is found with one step in the tree.
fn nameless(conn: &Connection) -> rusqlite::Result<i64> {
    let named = "SELECT count(*) FROM part JOIN body ON part.p = CAST(body.v AS TEXT)
         WHERE body.n = ?1 AND part.n = ?1";
    let (mut count, mut from) = (0, Vec::new());
    while let Some(key) = first_key(conn, &from)? {
        let number = keycode::partition(&key);
        let names = match number {
            Some(number) => cached(conn, named)?.query_row([number], |row| row.get(0))?,
            None => 0,
        };
        count += i64::from(names == 0);
        from = match number {
            Some(number) => keycode::behind(number),
            None => [key, vec![0]].concat(),
        };
    }
    Ok(count)
}
