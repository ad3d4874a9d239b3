//! Partitions have numbers, so that the thousands of keys of one partition need not repeat its name.
//!
//! A partition gets its number with its first row and keeps it for ever, even when its last row is gone: what one process knows of a
//! number is then never wrong, whatever others do. Its name is the row of `body` with that number, where new numbers come from;
//! the table `part` leads from the name to the number.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension};

use super::statements::{Sql, Statements};

/// Numbers that a process remembers at most.
const REMEMBERED: usize = 8192;

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
        let found = conn
            .prepare_cached(Sql::Partition.text())?
            .query_row([name], |row| row.get(0));
        let number = found.optional()?;
        if let Some(number) = number {
            self.remember(name, number);
        }
        Ok(number)
    }

    fn remember(&self, name: &str, number: i64) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(name.to_owned(), number);
    }

    /// The number of a partition, if it is remembered.
    pub(super) fn remembered(&self, name: &str) -> Option<i64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(name).copied()
    }
}

/// The numbers of the partitions of one commit. What a transaction writes is not remembered beyond it: it may be rolled back.
pub(super) struct Numbers<'a> {
    remembered: &'a Partitions,
    found: Vec<(&'a str, Option<i64>)>,
}

impl<'a> Numbers<'a> {
    /// Beside those that are remembered.
    pub(super) fn new(remembered: &'a Partitions) -> Numbers<'a> {
        Numbers {
            remembered,
            found: Vec::with_capacity(3),
        }
    }

    /// The number of a partition; none, if it never had a row.
    pub(super) fn get(
        &mut self,
        statements: &mut Statements<'_>,
        name: &'a str,
    ) -> rusqlite::Result<Option<i64>> {
        if let Some((_, number)) = self.found.iter().find(|(known, _)| *known == name) {
            return Ok(*number);
        }
        let number = match self.remembered.remembered(name) {
            None => self.find(statements, name)?,
            number => number,
        };
        self.found.push((name, number));
        Ok(number)
    }

    fn find(&self, statements: &mut Statements<'_>, name: &str) -> rusqlite::Result<Option<i64>> {
        let find = statements.get(Sql::Partition)?;
        let found = find.query_row([name], |row| row.get(0)).optional()?;
        // As long as this transaction gave none, what it finds was committed.
        if let Some(number) = found.filter(|_| !statements.gave_number) {
            self.remembered.remember(name, number);
        }
        Ok(found)
    }

    /// The number of a partition, which has one from now on.
    pub(super) fn give(
        &mut self,
        statements: &mut Statements<'_>,
        name: &'a str,
    ) -> rusqlite::Result<i64> {
        if let Some(number) = self.get(statements, name)? {
            return Ok(number);
        }
        statements.gave_number = true;
        let conn = statements.conn;
        conn.prepare_cached(NAME)?.execute([name])?;
        conn.prepare_cached(INSERT)?.execute([name])?;
        let number = conn.last_insert_rowid();
        self.found.retain(|(known, _)| *known != name);
        self.found.push((name, Some(number)));
        Ok(number)
    }
}
