//! What an operator asks of the store beside its port: a check and a backup, both while it is in use.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use super::open::{Place, version};
use super::{SqliteStore, faults, identity, survey};
use crate::engine::ports::StoreError;

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The schema that the file has.
    pub schema_version: i64,
    /// Damage, in SQLite's words; empty when there is none.
    pub problems: Vec<String>,
    /// Length of the database file.
    pub database_bytes: u64,
    /// Length of the write-ahead log, which is a part of the database.
    pub wal_bytes: u64,
}

/// Why there is no backup. Nothing of it is left behind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackupError {
    /// Backups overwrite nothing.
    #[error("{0} exists already: name a new file")]
    Exists(PathBuf),
    /// The new file could not be written.
    #[error("the backup {} can't be written: {cause}", path.display())]
    Target {
        /// The file that was to be written.
        path: PathBuf,
        /// In words.
        cause: String,
    },
    /// The database could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SqliteStore {
    /// Reads the whole database and looks for damage, beside other users of it.
    ///
    /// # Errors
    /// When it can't be read at all. Damage is no error: it is in the answer.
    pub async fn check(&self) -> Result<Health, StoreError> {
        let place = Arc::clone(&self.place);
        blocking(move || check(&place, false)).await?
    }

    /// The same, and more slowly everything that SQLite can find, and whether rows and values belong together.
    ///
    /// # Errors
    /// Like [`SqliteStore::check`].
    pub async fn check_all(&self) -> Result<Health, StoreError> {
        let place = Arc::clone(&self.place);
        blocking(move || check(&place, true)).await?
    }

    /// Partitions that have rows, in order, behind `after`, at most `limit`.
    ///
    /// # Errors
    /// When they can't be read.
    pub async fn partitions(&self, after: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        let after = after.to_owned();
        self.readers
            .run(move |conn| survey::partitions(conn, &after, limit))
            .await
    }

    /// Writes a copy of the database, as it is at one instant, to the new file `to` (mode 0600), beside other users of it. The copy
    /// is complete and synced when it appears under its name, and has no WAL.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        let place = Arc::clone(&self.place);
        let to = to.to_owned();
        blocking(move || backup(&place, &to)).await?
    }
}

/// Runs slow work on its own thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| StoreError::Unavailable(format!("the work was stopped: {e}")))
}

fn check(place: &Place, all: bool) -> Result<Health, StoreError> {
    let refused = |e: rusqlite::Error| faults::refused(&e, &place.path);
    let conn = place.connect_briefly()?;
    let pragma = match all {
        true => "PRAGMA integrity_check",
        false => "PRAGMA quick_check",
    };
    let mut statement = conn.prepare(pragma).map_err(refused)?;
    let mut problems = statement
        .query_map([], |row| row.get(0))
        .and_then(|rows| rows.collect::<rusqlite::Result<Vec<String>>>())
        .map_err(refused)?;
    problems.retain(|problem| problem != "ok");
    if all && problems.is_empty() {
        problems = survey::mismatches(&conn).map_err(refused)?;
    }
    let bytes = |path: &Path| fs::metadata(path).map_or(0, |m| m.len());
    Ok(Health {
        schema_version: version(&conn).map_err(refused)?,
        problems,
        database_bytes: bytes(&place.path),
        wal_bytes: bytes(&identity::suffixed(&place.path, "-wal")),
    })
}

fn backup(place: &Place, to: &Path) -> Result<(), BackupError> {
    let failed = |cause: String| BackupError::Target {
        path: to.to_owned(),
        cause,
    };
    if to.exists() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let partial = identity::suffixed(to, ".partial");
    let name = partial
        .to_str()
        .ok_or_else(|| failed("its name is not UTF-8".to_owned()))?;
    let written = write_copy(place, &partial, name, to).and_then(|()| {
        fs::rename(&partial, to)
            .and_then(|()| sync_directory(to))
            .map_err(|e| failed(e.to_string()))
    });
    if written.is_err() {
        // It may not exist, and there is nothing better to report than what went wrong before.
        let _ = fs::remove_file(&partial);
    }
    written
}

fn write_copy(place: &Place, partial: &Path, name: &str, to: &Path) -> Result<(), BackupError> {
    let failed = |cause: String| BackupError::Target {
        path: to.to_owned(),
        cause,
    };
    let conn = place.connect_briefly()?;
    // SQLite fills an empty file that exists, and so keeps its mode.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(partial)
        .map_err(|e| failed(e.to_string()))?;
    conn.execute("VACUUM INTO ?1", [name])
        .map_err(|e| match e.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::DatabaseBusy,
            ) => BackupError::Store(faults::refused(&e, &place.path)),
            _ => failed(e.to_string()),
        })?;
    File::open(partial)
        .and_then(|file| file.sync_all())
        .map_err(|e| failed(e.to_string()))
}

fn sync_directory(of: &Path) -> io::Result<()> {
    let directory = match of.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    File::open(directory)?.sync_all()
}
