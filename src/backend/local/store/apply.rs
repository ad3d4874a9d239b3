//! The effect of one commit inside a transaction that somebody else begins and ends.
//!
//! Where a value goes decides how many pages a commit touches, and so what it costs. A row that is put under `Absent` is expected
//! to stay as it is (receipts, inputs, journal rows): its value goes to the right edge of `body`, where many share a page, and
//! leaves its neighbours in `k` close together. A row that is put otherwise is expected to be rewritten (Turns, agenda entries): its
//! value stays in `k`, so that one page holds all of it. A head and a Turn are put under `Absent` once, and rewritten ever after. None of these
//! expectations matters for what is read back.
//!
//! A row is looked for before it is changed, so that a conflict leaves nothing to undo. Most rows of a commit are new, though, and storing a new row
//! finds out by itself whether there is one. So what is expected is tried first: what must be there is looked for, and what must not be there is stored. Where that
//! fails it is undone, and every row is looked for.

use std::borrow::Cow;

use rusqlite::{OptionalExtension, params};

use super::keycode;
use super::moving;
use super::partitions::{Numbers, Partitions};
use super::prepared::Prepared;
use super::statements::{Sql, Statements};
use crate::engine::keys;
use crate::engine::ports::{Change, Guard, Key, Write};

/// The widest value that stays in `k` when its row is put under `Absent`, in bytes.
pub const INLINE_NEW_BYTES: usize = 24;

/// The widest value that stays in `k` otherwise, in bytes together with its key: a wider row would not fit in a page of the tree
/// four times and spill over to pages of its own.
pub const INLINE_ROW_BYTES: usize = 940;

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

/// Applies one commit, all of it or nothing. After an error the transaction must be rolled back.
pub(super) fn apply(
    statements: &mut Statements<'_>,
    partitions: &Partitions,
    prepared: &Prepared,
) -> rusqlite::Result<Applied> {
    let mark = &mark(prepared.commit.id.0);
    let mut numbers = Numbers::new(partitions);
    let writes = &prepared.commit.writes;
    let mut rows = Vec::with_capacity(writes.len());
    for (write, ready) in writes.iter().zip(&prepared.rows) {
        let place = match &ready.key {
            Some((partition, key)) => Some((*partition, Cow::Borrowed(key.as_slice()))),
            None => numbers
                .get(statements, &write.key.partition)?
                .map(|partition| (partition, encode(partition, write))),
        };
        rows.push(Target {
            write,
            packed: ready.packed.as_deref(),
            place,
            found: None,
        });
    }
    if !store_new(statements, &mut rows, mark)?
        && let Some(refused) = find_all(statements, &mut rows, mark)?
    {
        return Ok(refused);
    }
    let mut grown = None;
    for row in &mut rows {
        let may_move = moving::may_move(&row.write.key);
        let Some(found) = row.found.take() else {
            // It is stored.
            let partition = row.place.as_ref().map(|(partition, _)| *partition);
            grown = partition.filter(|_| may_move).or(grown);
            continue;
        };
        if row.place.is_none() {
            if !matches!(row.write.change, Change::Put(_)) {
                // A partition without a number has no rows.
                continue;
            }
            let partition = numbers.give(statements, &row.write.key.partition)?;
            row.place = Some((partition, encode(partition, row.write)));
        }
        let Some((partition, key)) = &row.place else {
            continue;
        };
        match (&row.write.change, found.as_ref()) {
            (Change::Put(value), old) => {
                let body = place_body(statements, row, value, old, key.len())?;
                let inline = body.is_none().then_some(value);
                put(statements, key, old, (body, inline), mark)?;
                if old.is_none() && may_move {
                    grown = Some(*partition);
                }
            }
            (Change::Delete, Some(old)) => delete(statements, key, old)?,
            (Change::Delete, None) | (Change::Check, _) => {}
        }
    }
    if let Some(partition) = grown.filter(|_| moving::is_time(*mark)) {
        moving::move_on(statements.conn, partition)?;
        statements.moved();
    }
    Ok(Applied::Written)
}

/// The key of a write as it is stored in the partition with this number.
fn encode(partition: i64, write: &Write) -> Cow<'static, [u8]> {
    Cow::Owned(keycode::encode(partition, &write.key.sort))
}

/// A row that a commit is about.
struct Target<'c> {
    write: &'c Write,
    /// What is stored in place of a wide value.
    packed: Option<&'c [u8]>,
    /// The number of its partition, if that has one, and its key as it is stored.
    place: Option<(i64, Cow<'c, [u8]>)>,
    /// What was found of it, once it was looked for; `None` of a row that was stored without.
    found: Option<Option<Old>>,
}

impl Target<'_> {
    /// Key and value of a row that is most likely new, in a partition that has a number.
    fn new_value(&self) -> Option<(&[u8], &Vec<u8>)> {
        let is_new = match self.write.guard {
            Guard::Absent => true,
            // An owner's lists and the agenda; a Session's rows are rewritten.
            Guard::Any => !self.write.key.partition.starts_with("S/"),
            Guard::Version(_) => false,
        };
        match (&self.write.change, &self.place) {
            (Change::Put(value), Some((_, key))) if is_new => Some((key, value)),
            _ => None,
        }
    }

    /// Whether it may have been moved to `past`.
    fn may_be_past(&self, statements: &mut Statements<'_>) -> rusqlite::Result<bool> {
        match &self.place {
            Some((partition, _)) if moving::may_move(&self.write.key) => {
                statements.has_past(*partition)
            }
            _ => Ok(false),
        }
    }

    /// Looks for it.
    fn find(&mut self, statements: &mut Statements<'_>, mark: &[u8]) -> rusqlite::Result<()> {
        let may_be_past = self.may_be_past(statements)?;
        self.found = Some(match &self.place {
            Some((_, key)) => find(statements, key, mark, may_be_past)?,
            None => None,
        });
        Ok(())
    }

    /// Whether what was found, if it was looked for, is the work of this commit.
    fn is_ours(&self) -> bool {
        matches!(&self.found, Some(Some(old)) if old.ours)
    }

    /// Whether what was found, if it was looked for, is what the commit expects.
    fn holds(&self) -> bool {
        let found = self.found.as_ref();
        found.is_none_or(|old| holds(self.write.guard, old.as_ref()))
    }
}

/// Looks for what is expected to be there, and stores what is expected not to be. `false`: one is not as it must be, and nothing was changed.
fn store_new(
    statements: &mut Statements<'_>,
    rows: &mut [Target<'_>],
    mark: &[u8],
) -> rusqlite::Result<bool> {
    for row in rows.iter_mut() {
        if row.new_value().is_none() {
            row.find(statements, mark)?;
            if row.is_ours() || !row.holds() {
                return Ok(false);
            }
        }
    }
    for at in 0..rows.len() {
        if rows[at].new_value().is_none() || store_if_new(statements, &rows[at], mark)? {
            continue;
        }
        rows[at].find(statements, mark)?;
        if rows[at].is_ours() || !rows[at].holds() {
            remove_new(statements, &rows[..at])?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// Stores a row that is most likely new. `false`: it is not.
fn store_if_new(
    statements: &mut Statements<'_>,
    row: &Target<'_>,
    mark: &[u8],
) -> rusqlite::Result<bool> {
    let Some((key, value)) = row.new_value() else {
        return Ok(false);
    };
    if row.may_be_past(statements)? && is_past(statements, key)? {
        return Ok(false);
    }
    let body = place_body(statements, row, value, None, key.len())?;
    let inline = body.is_none().then_some(value);
    let insert = statements.get(Sql::InsertNew)?;
    if insert.execute(params![key, 1, body, inline, mark])? == 1 {
        return Ok(true);
    }
    if let Some(body) = body {
        statements.get(Sql::BodyDelete)?.execute([body])?;
    }
    Ok(false)
}

/// Removes those of these rows that were stored without a look.
fn remove_new(statements: &mut Statements<'_>, rows: &[Target<'_>]) -> rusqlite::Result<()> {
    for row in rows.iter().filter(|row| row.found.is_none()) {
        if let Some((key, _)) = row.new_value()
            && let Some(stored) = find(statements, key, &[], false)?
        {
            delete(statements, key, &stored)?;
        }
    }
    Ok(())
}

/// Looks for every row. An answer: why the commit is not to be applied.
fn find_all(
    statements: &mut Statements<'_>,
    rows: &mut [Target<'_>],
    mark: &[u8],
) -> rusqlite::Result<Option<Applied>> {
    for row in rows.iter_mut() {
        row.find(statements, mark)?;
    }
    if rows.iter().any(Target::is_ours) {
        return Ok(Some(Applied::Repeated));
    }
    let refused = rows.iter().find(|row| !row.holds());
    Ok(refused.map(|row| Applied::Conflict(row.write.key.clone())))
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

fn find(
    statements: &mut Statements<'_>,
    key: &[u8],
    mark: &[u8],
    may_be_past: bool,
) -> rusqlite::Result<Option<Old>> {
    let sql = match may_be_past {
        true => Sql::Find,
        false => Sql::FindInK,
    };
    let found = statements.get(sql)?.query_row([key, mark], |row| {
        Ok(Old {
            version: row.get(0)?,
            body: row.get(1)?,
            ours: row.get(2)?,
            past: row.get(3)?,
        })
    });
    found.optional()
}

/// Whether there is such a row in `past`.
fn is_past(statements: &mut Statements<'_>, key: &[u8]) -> rusqlite::Result<bool> {
    statements
        .get(Sql::IsPast)?
        .query_row([key], |row| row.get(0))
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
    let is_rewritten = write.key.sort == keys::HEAD || write.key.sort.starts_with(keys::TURNS);
    match write.guard {
        Guard::Absent if !is_rewritten => INLINE_NEW_BYTES,
        Guard::Absent | Guard::Version(_) | Guard::Any => {
            INLINE_ROW_BYTES.saturating_sub(key_bytes)
        }
    }
}

/// Stores a wide value and answers its row; a narrow one has none. A row that existed is overwritten where it is, or removed.
fn place_body(
    statements: &mut Statements<'_>,
    row: &Target<'_>,
    value: &[u8],
    old: Option<&Old>,
    key_bytes: usize,
) -> rusqlite::Result<Option<i64>> {
    let wide = value.len() > inline_max(row.write, key_bytes);
    let value = row.packed.unwrap_or(value);
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
