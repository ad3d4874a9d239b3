//! Opening: the file with its permissions, the connections with their settings, the schema check.
//!
//! The order matters. The busy timeout comes before any statement, because even a pragma may need a lock; the journal mode comes
//! before the schema, because a new file gets it while nobody else can be using it.

use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{StatVfsMountFlags, statvfs};

use super::identity::{Files, Identity, inode, suffixed};
use super::joined;
use super::partitions::Partitions;
use super::schema::{self, Found, STEPS};
use super::statements::KEPT;
use super::turnstile::Turnstile;
use super::{StoreOptions, faults};
use crate::engine::ports::StoreError;

/// Patience for locks that foreign programs hold, at most; our own processes take turns and hardly need it.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// How much of a commit is on the disk when it is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// All of it. The Store port's promise.
    #[default]
    Full,
    /// It survives this process but not a power cut, which breaks the promise: it exists so that the power-cut test can show
    /// that it notices.
    ProcessOnly,
}

/// A database that was opened and checked, and what later connections need to know about it.
#[derive(Debug)]
pub(super) struct Place {
    /// With symbolic links resolved.
    pub(super) path: PathBuf,
    /// Where its files are.
    pub(super) files: Files,
    /// What they were when it was opened.
    pub(super) identity: Identity,
    /// How it was opened.
    pub(super) options: StoreOptions,
    /// The numbers of its partitions, as far as they are known.
    pub(super) partitions: Partitions,
    /// The connection that opened it, for whoever needs one first.
    spare: Mutex<Option<Connection>>,
}

impl Place {
    /// How long a connection waits for a lock that another program holds.
    pub(super) fn patience(&self) -> Duration {
        patience(self.options)
    }

    /// Whether the files are still those that were opened.
    pub(super) fn guard(&self) -> Result<(), StoreError> {
        if self.files.identity() == self.identity {
            Ok(())
        } else {
            Err(faults::replaced(&self.path))
        }
    }

    /// A new connection to the same files, for a while: when it is closed, another one must be open, or SQLite removes the WAL.
    pub(super) fn connect_briefly(&self) -> Result<Connection, StoreError> {
        self.guard()?;
        let conn = connection(&self.path, self.options)?;
        // The first read opens the WAL and its index, so that the guard after it speaks of the files in use.
        version(&conn).map_err(|e| faults::refused(&e, &self.path))?;
        self.guard()?;
        Ok(conn)
    }

    /// A connection that stays open until the store is closed.
    fn connect(&self) -> Result<Connection, StoreError> {
        let spare = self
            .spare
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        spare.map_or_else(|| self.connect_briefly(), Ok)
    }

    /// A lasting connection for reading.
    pub(super) fn connect_reading(&self) -> Result<Connection, StoreError> {
        let conn = self.connect()?;
        // Each commit of another connection empties the cache, so a large one would only hold memory.
        conn.execute_batch("PRAGMA cache_size=-512")
            .map_err(|e| faults::refused(&e, &self.path))?;
        Ok(conn)
    }

    /// A lasting connection for writing.
    pub(super) fn connect_writing(&self) -> Result<Connection, StoreError> {
        let conn = self.connect()?;
        conn.set_prepared_statement_cache_capacity(KEPT);
        writer_settings(&conn, self.options.durability)
            .map_err(|e| faults::refused(&e, &self.path))?;
        Ok(conn)
    }
}

/// Opens the database at `path`, creating or migrating it.
pub(super) fn open(path: &Path, options: StoreOptions) -> Result<Place, StoreError> {
    let path = settle_path(path)?;
    let before = inode(&path);
    let conn = connection(&path, options)?;
    let refused = |e: rusqlite::Error| faults::refused(&e, &path);
    let empty = fs::metadata(&path).is_ok_and(|m| m.len() == 0);
    let current = !empty
        && matches!(schema::look(&conn).map_err(refused)?, Found::Version(v) if v == STEPS.len() as i64)
        && (is_frozen(&path) || journal_mode(&conn, "PRAGMA journal_mode").map_err(refused)?);
    if !current {
        let mut plain = connection_through(None, &path, options)?;
        prepare(&mut plain, &path)?;
        // The WAL goes with the last connection that has it open.
        version(&conn).map_err(refused)?;
    }
    let files = Files::of(&path);
    let identity = files.identity();
    if before.is_none() || identity.database() != before {
        return Err(faults::replaced(&path));
    }
    Ok(Place {
        path,
        files,
        identity,
        options,
        partitions: Partitions::default(),
        spare: Mutex::new(Some(conn)),
    })
}

/// The schema version that the file has now.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))
}

/// Makes a file that is empty or older into one of the current schema, while no other process of ours does the same.
fn prepare(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let refused = |e: rusqlite::Error| faults::refused(&e, path);
    match schema::look(conn).map_err(refused)? {
        Found::Foreign => return Err(faults::corrupt(path, "another program's database")),
        Found::Version(v) if v > STEPS.len() as i64 => {
            return Err(faults::newer(path, v, STEPS.len() as i64));
        }
        Found::Empty | Found::Version(_) => {}
    }
    let turnstile = Turnstile::open(path).map_err(|e| faults::refused_io(&e, path))?;
    let _turn = turnstile
        .enter()
        .map_err(|e| faults::refused_io(&e, path))?;
    if !journal_mode(conn, "PRAGMA journal_mode=WAL").map_err(refused)? {
        return Err(faults::read_only(
            path,
            "its file system does not support SQLite's write-ahead log",
        ));
    }
    conn.execute_batch(SYNCED).map_err(refused)?;
    match schema::migrate(conn, STEPS).map_err(refused)? {
        Found::Version(v) if v == STEPS.len() as i64 => Ok(()),
        Found::Version(v) => Err(faults::newer(path, v, STEPS.len() as i64)),
        Found::Empty | Found::Foreign => Err(faults::corrupt(path, "another program's database")),
    }
}

/// Makes sure that the file exists, readable by its owner alone, and resolves symbolic links.
fn settle_path(path: &Path) -> Result<PathBuf, StoreError> {
    match create(path) {
        Ok(()) => {}
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
        // An absent file that can't be created; an existing one may still be readable.
        Err(_) if path.exists() => {}
        Err(e) => return Err(faults::refused_io(&e, path)),
    }
    fs::canonicalize(path).map_err(|e| faults::refused_io(&e, path))
}

/// Creates an empty file of mode 0600 without opening it: closing any descriptor of a database drops all locks that this process
/// holds on it, and another thread may have opened it in between.
#[cfg(target_os = "linux")]
fn create(path: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    mknodat(CWD, path, FileType::RegularFile, Mode::RUSR | Mode::WUSR, 0).map_err(io::Error::from)
}

#[cfg(not(target_os = "linux"))]
fn create(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}

/// A connection that writes its WAL in long pieces, if each of its commits syncs.
fn connection(path: &Path, options: StoreOptions) -> Result<Connection, StoreError> {
    let layer = match options.durability {
        Durability::Full => joined::layer(),
        Durability::ProcessOnly => None,
    };
    connection_through(layer, path, options)
}

/// A connection through a layer between SQLite and its files.
fn connection_through(
    layer: Option<&CStr>,
    path: &Path,
    options: StoreOptions,
) -> Result<Connection, StoreError> {
    let refused = |e: rusqlite::Error| faults::refused(&e, path);
    // A connection is used by one thread at a time, so SQLite's own mutex on it is not needed.
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = if is_frozen(path) {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(frozen_uri(path), flags)
    } else {
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE;
        match layer {
            Some(layer) => Connection::open_with_flags_and_vfs(path, flags, layer),
            None => Connection::open_with_flags(path, flags),
        }
    }
    .map_err(refused)?;
    conn.busy_timeout(patience(options)).map_err(refused)?;
    // Otherwise some statements are compiled anew for each value that is bound, which takes longer than to run them.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(refused)?;
    Ok(conn)
}

fn patience(options: StoreOptions) -> Duration {
    Duration::from_millis(options.patience_ms).min(BUSY_TIMEOUT)
}

/// Whether the database can't change: it is on a read-only mount and has no WAL. SQLite wants to be told, or it tries to create one.
/// (Should the same file be writable through another mount, a writer there creates a WAL, which [`Place::guard`] notices.)
fn is_frozen(path: &Path) -> bool {
    statvfs(path).is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::RDONLY))
        && fs::metadata(suffixed(path, "-wal")).map_or(true, |wal| wal.len() == 0)
}

fn frozen_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            letter if letter.is_ascii_alphanumeric() => uri.push(char::from(*letter)),
            other => uri.push_str(&format!("%{other:02x}")),
        }
    }
    uri + "?immutable=1"
}

/// Runs a journal_mode pragma; whether the answer is WAL.
fn journal_mode(conn: &Connection, pragma: &str) -> rusqlite::Result<bool> {
    conn.query_row(pragma, [], |row| row.get::<_, String>(0))
        .map(|mode| mode == "wal")
}

/// Each commit is on the disk before it is acknowledged. Elsewhere `fsync` reaches the platter; on macOS it takes a pragma.
const SYNCED: &str = if cfg!(target_os = "macos") {
    "PRAGMA synchronous=FULL; PRAGMA fullfsync=1"
} else {
    "PRAGMA synchronous=FULL"
};

fn writer_settings(conn: &Connection, durability: Durability) -> rusqlite::Result<()> {
    // Checkpoints are made by our own policy, so every connection that writes sets a hook, which takes the place of SQLite's
    // automatic ones. Memory maps were measured to gain nothing.
    match durability {
        Durability::Full => {
            conn.execute_batch(SYNCED)?;
            conn.execute_batch(joined::SETTING)
        }
        Durability::ProcessOnly => conn.execute_batch("PRAGMA synchronous=NORMAL"),
    }
}
