//! Partitions have numbers, so that the thousands of keys of one partition need not repeat its name.
//!
//! A partition gets its number with its first row and keeps it for ever, even when its last row is gone: what one process knows of a
//! number is then never wrong, whatever others do. Its name is the row of `body` with that number, where new numbers come from;
//! the table `part` leads from the name to the number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};

/// Numbers that a process remembers at most.
const REMEMBERED: usize = 8192;

const FIND: &str = "SELECT n FROM part WHERE p = ?1";
const NAME: &str = "INSERT INTO body(v) VALUES(CAST(?1 AS BLOB))";
const INSERT: &str = "INSERT INTO part(p, n) VALUES(?1, last_insert_rowid())";

/// The numbers that this process remembers. Only what was read from committed state is here.
#[derive(Debug, Default)]
pub(super) struct Partitions(Mutex<HashMap<String, i64>>);

impl Partitions {
    /// The number of a partition; none, if it never had a row. `conn` has nothing uncommitted.
    pub(super) fn number(&self, conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
        if let Some(number) = self.remembered(name) {
            return Ok(Some(number));
        }
        let number = find(conn, name)?;
        if let Some(number) = number {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(name.to_owned(), number);
        }
        Ok(number)
    }

    fn remembered(&self, name: &str) -> Option<i64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied()
    }
}

fn find(conn: &Connection, name: &str) -> rusqlite::Result<Option<i64>> {
    conn.prepare_cached(FIND)?
        .query_row([name], |row| row.get(0))
        .optional()
}

/// The numbers of the partitions of one commit. What a transaction writes is not remembered beyond it: it may be rolled back.
pub(super) struct Numbers<'a> {
    conn: &'a Connection,
    remembered: &'a Partitions,
    found: Vec<(&'a str, Option<i64>)>,
}

impl<'a> Numbers<'a> {
    /// Within a transaction of `conn`.
    pub(super) fn new(conn: &'a Connection, remembered: &'a Partitions) -> Numbers<'a> {
        Numbers {
            conn,
            remembered,
            found: Vec::with_capacity(3),
        }
    }

    /// The number of a partition; none, if it never had a row.
    pub(super) fn get(&mut self, name: &'a str) -> rusqlite::Result<Option<i64>> {
        if let Some((_, number)) = self.found.iter().find(|(known, _)| *known == name) {
            return Ok(*number);
        }
        let number = match self.remembered.remembered(name) {
            None => find(self.conn, name)?,
            number => number,
        };
        self.found.push((name, number));
        Ok(number)
    }

    /// The number of a partition, which has one from now on.
    pub(super) fn give(&mut self, name: &'a str) -> rusqlite::Result<i64> {
        if let Some(number) = self.get(name)? {
            return Ok(number);
        }
        self.conn.prepare_cached(NAME)?.execute([name])?;
        self.conn.prepare_cached(INSERT)?.execute([name])?;
        let number = self.conn.last_insert_rowid();
        self.found.retain(|(known, _)| *known != name);
        self.found.push((name, Some(number)));
        Ok(number)
    }
}
