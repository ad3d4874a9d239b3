//! One group: several commits in one transaction with one sync, then an answer for each.
//!
//! Either every answer of a group that wrote is backed by the same successful COMMIT, or none is given. A group that fails
//! without a trace is tried again commit by commit, so that one that does not fit takes no other with it.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::hooks::Wal;

use super::apply::{Applied, apply};
use super::faults;
use super::open::{Place, version};
use super::prepared::Prepared;
use super::schema::STEPS;
use super::statements::Statements;
use super::stats::Counters;
use crate::engine::ports::{Committed, StoreError};

/// The answer to one commit.
pub(super) type Answer = Result<Committed, StoreError>;

/// Why a whole group has no answers.
enum Failure {
    /// Nothing happened, and parts of the group would fare no better.
    Whole(StoreError),
    /// Nothing happened; some commit of the group may pass alone.
    Parts(StoreError),
    /// Nobody knows.
    Unknown(StoreError),
}

/// The writing connection, replaced after trouble.
pub(super) struct Grouper {
    place: Arc<Place>,
    counters: Arc<Counters>,
    conn: Option<Connection>,
    /// The connection is not to be used again. It stays open until there is another, so that the WAL stays where it is.
    worn: bool,
}

impl Grouper {
    /// Opens nothing yet.
    pub(super) fn new(place: Arc<Place>, counters: Arc<Counters>) -> Grouper {
        Grouper {
            place,
            counters,
            conn: None,
            worn: false,
        }
    }

    /// The connection, if there is a good one.
    pub(super) fn connection(&self) -> Option<&Connection> {
        self.conn.as_ref().filter(|_| !self.worn)
    }

    /// Commits a group and answers each of its commits, in order.
    pub(super) fn run(&mut self, commits: &[Arc<Prepared>]) -> Vec<Answer> {
        match self.attempt(commits) {
            Ok(answers) => answers,
            Err(Failure::Parts(_)) if commits.len() > 1 => commits
                .iter()
                .flat_map(|one| self.run(std::slice::from_ref(one)))
                .collect(),
            Err(Failure::Whole(e) | Failure::Parts(e) | Failure::Unknown(e)) => {
                commits.iter().map(|_| Err(e.clone())).collect()
            }
        }
    }

    /// Commits one alone, without waiting for a program that keeps the database locked. `None`: it did not happen, and somebody who
    /// may wait finds out why.
    pub(super) fn alone(&mut self, commit: &Arc<Prepared>) -> Option<Answer> {
        self.connection()?.busy_timeout(Duration::ZERO).ok()?;
        let attempt = self.attempt(std::slice::from_ref(commit));
        if let Some(conn) = self.connection() {
            self.worn = conn.busy_timeout(self.place.patience()).is_err();
        }
        match attempt {
            Ok(mut answers) => answers.pop(),
            Err(Failure::Unknown(e)) => Some(Err(e)),
            Err(Failure::Whole(_) | Failure::Parts(_)) => None,
        }
    }

    fn attempt(&mut self, commits: &[Arc<Prepared>]) -> Result<Vec<Answer>, Failure> {
        self.place.guard().map_err(Failure::Whole)?;
        let conn = match &mut self.conn {
            Some(conn) if !self.worn => conn,
            conn => {
                let new = open(&self.place, &self.counters).map_err(Failure::Whole)?;
                self.worn = false;
                // Closing the old one rolls back what it may have left open.
                conn.insert(new)
            }
        };
        // Should this panic, the connection is not used again.
        self.worn = true;
        let result = transact(conn, commits, &self.place, &self.counters);
        let clean = conn.is_autocommit()
            || (conn.execute_batch("ROLLBACK").is_ok() && conn.is_autocommit());
        self.worn = !clean || result.is_err();
        result
    }
}

fn open(place: &Place, counters: &Counters) -> Result<Connection, StoreError> {
    let mut conn = place.connect_writing()?;
    // Its own commits leave its cache as it is, and what is not there is read while everybody waits.
    conn.execute_batch("PRAGMA cache_size=-8192")
        .map_err(|e| faults::refused(&e, &place.path))?;
    let log = Arc::clone(counters.log());
    conn.wal_hook(Some(move |_: &mut Wal, pages: i32| {
        log.committed(u64::try_from(pages).unwrap_or(0));
        Ok(())
    }))
    .map_err(|e| faults::refused(&e, &place.path))?;
    Ok(conn)
}

fn transact(
    conn: &Connection,
    commits: &[Arc<Prepared>],
    place: &Place,
    counters: &Counters,
) -> Result<Vec<Answer>, Failure> {
    let refused = |e: rusqlite::Error| faults::refused(&e, &place.path);
    run(conn, "BEGIN IMMEDIATE").map_err(|e| {
        counters.busy(&e);
        Failure::Whole(refused(e))
    })?;
    let parts = |e: rusqlite::Error| Failure::Parts(refused(e));
    let schema = version(conn).map_err(parts)?;
    if schema != STEPS.len() as i64 {
        let e = faults::newer(&place.path, schema, STEPS.len() as i64);
        return Err(Failure::Whole(e));
    }
    let before = counters.log().appended();
    let (mut written, mut repeated) = (0, 0);
    let mut answers = Vec::with_capacity(commits.len());
    let mut statements = Statements::new(conn);
    for commit in commits {
        answers.push(
            match apply(&mut statements, &place.partitions, commit).map_err(parts)? {
                Applied::Written => {
                    written += 1;
                    Ok(Committed { repeated: false })
                }
                Applied::Repeated => {
                    repeated += 1;
                    Ok(Committed { repeated: true })
                }
                Applied::Conflict(key) => Err(StoreError::Conflict(key)),
            },
        );
    }
    drop(statements);
    if written == 0 && repeated > 0 {
        // What a repeat finds may have been written by a process that was killed before its sync, and an answer promises more:
        // setting the version that is already set writes a page, so that COMMIT syncs all that is in the WAL.
        conn.pragma_update(None, "user_version", schema)
            .map_err(parts)?;
    }
    run(conn, "COMMIT").map_err(|e| {
        if faults::may_have_happened(&e) {
            let path = place.path.display();
            Failure::Unknown(StoreError::Unknown(format!("{path}: {e}")))
        } else {
            Failure::Parts(refused(e))
        }
    })?;
    counters.grouped(written, repeated, counters.log().appended() > before);
    Ok(answers)
}

fn run(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}
