//! The WAL is written in long pieces: a layer between SQLite and its file.
//!
//! SQLite hands a commit over in two writes for each page, and a call of the system takes about as long as what it copies. So what comes
//! in order is gathered, and written when SQLite syncs the file, before the sync. Nothing is acknowledged, nor seen by anybody
//! else, before that sync.
//!
//! The surprise: SQLite does not tell this layer when a transaction is rolled back. What was gathered until then must never be written, as
//! another process may have committed to the same place meanwhile. So a connection that writes through it keeps to two rules: each
//! commit syncs, and it writes pages only as it commits, however many there are ([`SETTING`]). A COMMIT that fails in between leaves a file that refuses
//! everything, and its connection is replaced.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::size_of;
use std::ptr;
use std::sync::OnceLock;

use rusqlite::ffi;

/// What a connection that writes through this layer has to say first, beside `synchronous=FULL`.
pub(super) const SETTING: &str = "PRAGMA cache_spill=OFF";

/// Under which SQLite finds this layer.
const NAME: &CStr = c"rat-things-joined";

/// The longest piece that is written at once: 31 pages with what the WAL has about each. SQLite's own layer takes less than 128 KiB.
const MOST_BYTES: usize = 31 * (24 + 4096);

/// What was handed over and is not written yet. It has no room before the first write: most files are only read.
#[derive(Debug, Default, PartialEq, Eq)]
enum Gathered {
    /// Nothing.
    #[default]
    Nothing,
    /// These bytes, which belong there.
    Piece { at: i64, bytes: Vec<u8> },
    /// What was gathered is lost. It ends so for good, with SQLite's code for what went wrong.
    Failed(c_int),
}

/// What to do with one write.
#[derive(Debug, PartialEq, Eq)]
enum Taken {
    /// Nothing more.
    Whole,
    /// Write what was gathered, and hand it over again.
    Full,
}

impl Gathered {
    /// Takes a write if it goes on where the last one ended and there is room, or if there was none.
    ///
    /// # Errors
    /// SQLite's code: it failed before, or something else was written than a commit in its order.
    fn take(&mut self, at: i64, new: &[u8]) -> Result<Taken, c_int> {
        match self {
            Gathered::Failed(code) => Err(*code),
            Gathered::Nothing => {
                let mut bytes = Vec::with_capacity(MOST_BYTES.max(new.len()));
                bytes.extend_from_slice(new);
                *self = Gathered::Piece { at, bytes };
                Ok(Taken::Whole)
            }
            Gathered::Piece { at: start, bytes } if bytes.is_empty() => {
                *start = at;
                bytes.extend_from_slice(new);
                Ok(Taken::Whole)
            }
            Gathered::Piece { at: start, bytes } if *start + bytes.len() as i64 != at => {
                Err(self.fail(ffi::SQLITE_IOERR_WRITE))
            }
            Gathered::Piece { bytes, .. } if bytes.len() + new.len() > MOST_BYTES => {
                Ok(Taken::Full)
            }
            Gathered::Piece { bytes, .. } => {
                bytes.extend_from_slice(new);
                Ok(Taken::Whole)
            }
        }
    }

    /// Gives what was gathered to `write`, once.
    ///
    /// # Errors
    /// What `write` answered, now and ever after.
    fn flush(&mut self, write: impl FnOnce(i64, &[u8]) -> c_int) -> Result<(), c_int> {
        match self {
            Gathered::Nothing => Ok(()),
            Gathered::Failed(code) => Err(*code),
            Gathered::Piece { bytes, .. } if bytes.is_empty() => Ok(()),
            Gathered::Piece { at, bytes } => match write(*at, bytes) {
                ffi::SQLITE_OK => {
                    bytes.clear();
                    Ok(())
                }
                code => Err(self.fail(code)),
            },
        }
    }

    fn fail(&mut self, code: c_int) -> c_int {
        *self = Gathered::Failed(code);
        code
    }
}

/// A file of this layer. The file of SQLite's own layer, which does the work, lies behind it in the room that SQLite gave.
#[repr(C)]
struct File {
    /// What SQLite sees. It comes first.
    seen: ffi::sqlite3_file,
    gathered: Gathered,
}

/// Where the file of SQLite's own layer begins.
const BEHIND: usize = size_of::<File>().next_multiple_of(16);

/// What SQLite calls for a file of this layer.
static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Those of later versions are about shared memory and memory maps, which a WAL has not.
    iVersion: 1,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: None,
    xUnfetch: None,
};

/// Whether SQLite knows this layer.
static KNOWN: OnceLock<bool> = OnceLock::new();

/// The name under which a connection is opened through this layer; `None` where SQLite has no layer that it could stand on.
pub(super) fn layer() -> Option<&'static CStr> {
    KNOWN.get_or_init(register).then_some(NAME)
}

fn register() -> bool {
    // SAFETY: the layer of SQLite's own lives as long as the process. The copy differs from it in what is its own; everything else works with
    // it as with the original, which finds what it needs in the copied fields. It is never freed, and from here on SQLite's.
    unsafe {
        let Some(own) = below().as_ref() else {
            return false;
        };
        let mut joined = Box::new(*own);
        joined.szOsFile += BEHIND as c_int;
        joined.pNext = ptr::null_mut();
        joined.zName = NAME.as_ptr();
        joined.xOpen = Some(open);
        ffi::sqlite3_vfs_register(Box::into_raw(joined), 0) == ffi::SQLITE_OK
    }
}

/// SQLite's own layer; null if it has none for this system.
fn below() -> *mut ffi::sqlite3_vfs {
    // SAFETY: the call may be made at any time, and answers with what nobody takes away.
    unsafe { ffi::sqlite3_vfs_find(ptr::null()) }
}

/// Opens a file: a WAL through this layer, others as ever.
unsafe extern "C" fn open(
    _layer: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    place: *mut ffi::sqlite3_file,
    flags: c_int,
    answer: *mut c_int,
) -> c_int {
    let own = below();
    // SAFETY: SQLite calls with its own name and flags, and with room for as many bytes as the layer asked for, aligned for anything.
    unsafe {
        let Some(open) = own.as_ref().and_then(|own| own.xOpen) else {
            return ffi::SQLITE_CANTOPEN;
        };
        if flags & ffi::SQLITE_OPEN_WAL == 0 {
            return open(own, name, place, flags, answer);
        }
        let inner = behind(place);
        (*inner).pMethods = ptr::null();
        let code = open(own, name, inner, flags, answer);
        // It is to be closed if its methods are known, whatever the answer.
        let opened = !(*inner).pMethods.is_null();
        ptr::write(
            place.cast::<File>(),
            File {
                seen: ffi::sqlite3_file {
                    pMethods: if opened {
                        &raw const METHODS
                    } else {
                        ptr::null()
                    },
                },
                gathered: Gathered::Nothing,
            },
        );
        code
    }
}

/// The file of SQLite's own layer.
///
/// # Safety
/// `file` is one of this layer, or room for one.
unsafe fn behind(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    // SAFETY: the room that SQLite gives is as long as both together.
    unsafe { file.byte_add(BEHIND) }
}

/// Calls a method of the file behind.
macro_rules! inner {
    ($file:ident . $method:ident ( $($argument:expr),* ), or $missing:expr) => {{
        let inner = behind($file);
        match (*inner).pMethods.as_ref().and_then(|methods| methods.$method) {
            Some(method) => method(inner, $($argument),*),
            None => $missing,
        }
    }};
}

/// Writes what was gathered to the file behind.
///
/// # Safety
/// `file` is an open one of this layer, and used by nobody else meanwhile.
unsafe fn flush(file: *mut ffi::sqlite3_file) -> Result<(), c_int> {
    // SAFETY: the two files do not overlap.
    unsafe {
        let gathered = &mut (*file.cast::<File>()).gathered;
        gathered.flush(|at, bytes| {
            inner!(file.xWrite(bytes.as_ptr().cast(), bytes.len() as c_int, at), or ffi::SQLITE_IOERR_WRITE)
        })
    }
}

/// Runs a method of the file behind once all is written.
macro_rules! flushed {
    ($file:ident . $method:ident ( $($argument:expr),* )) => {
        // SAFETY: SQLite calls the methods of a file that is open, from one thread at a time, with arguments that the method of
        // the file behind takes as they are.
        unsafe {
            match flush($file) {
                Ok(()) => inner!($file.$method($($argument),*), or ffi::SQLITE_IOERR),
                Err(code) => code,
            }
        }
    };
}

/// Runs a method of the file behind that has nothing to do with what it holds.
macro_rules! passed_on {
    ($file:ident . $method:ident ( $($argument:expr),* ), or $missing:expr) => {
        // SAFETY: as in `flushed`.
        unsafe { inner!($file.$method($($argument),*), or $missing) }
    };
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    bytes: *const c_void,
    size_bytes: c_int,
    at: i64,
) -> c_int {
    // SAFETY: as in `flushed`; SQLite hands over so many bytes.
    unsafe {
        let new = std::slice::from_raw_parts(bytes.cast::<u8>(), size_bytes.max(0) as usize);
        loop {
            let taken = (*file.cast::<File>()).gathered.take(at, new);
            match taken {
                Ok(Taken::Whole) => return ffi::SQLITE_OK,
                Ok(Taken::Full) => {
                    if let Err(code) = flush(file) {
                        return code;
                    }
                }
                Err(code) => return code,
            }
        }
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    flushed!(file.xSync(flags))
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    into: *mut c_void,
    size_bytes: c_int,
    at: i64,
) -> c_int {
    flushed!(file.xRead(into, size_bytes, at))
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, size_bytes: i64) -> c_int {
    flushed!(file.xTruncate(size_bytes))
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, answer: *mut i64) -> c_int {
    flushed!(file.xFileSize(answer))
}

/// What is not synced yet was not committed.
unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    let code = passed_on!(file.xClose(), or ffi::SQLITE_OK);
    // SAFETY: it was made by `open`, and SQLite does not use it any more.
    unsafe { ptr::drop_in_place(&raw mut (*file.cast::<File>()).gathered) };
    code
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, kind: c_int) -> c_int {
    passed_on!(file.xLock(kind), or ffi::SQLITE_OK)
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, kind: c_int) -> c_int {
    passed_on!(file.xUnlock(kind), or ffi::SQLITE_OK)
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut ffi::sqlite3_file,
    answer: *mut c_int,
) -> c_int {
    passed_on!(file.xCheckReservedLock(answer), or ffi::SQLITE_OK)
}

unsafe extern "C" fn file_control(
    file: *mut ffi::sqlite3_file,
    what: c_int,
    argument: *mut c_void,
) -> c_int {
    passed_on!(file.xFileControl(what, argument), or ffi::SQLITE_NOTFOUND)
}

unsafe extern "C" fn sector_size(file: *mut ffi::sqlite3_file) -> c_int {
    passed_on!(file.xSectorSize(), or 4096)
}

unsafe extern "C" fn device_characteristics(file: *mut ffi::sqlite3_file) -> c_int {
    passed_on!(file.xDeviceCharacteristics(), or 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What reached the file, and what it answers.
    #[derive(Default)]
    struct Paper {
        written: Vec<(i64, usize)>,
        code: c_int,
    }

    impl Paper {
        fn write(&mut self, gathered: &mut Gathered, at: i64, bytes: &[u8]) -> Result<(), c_int> {
            while gathered.take(at, bytes)? == Taken::Full {
                self.flush(gathered)?;
            }
            Ok(())
        }

        fn flush(&mut self, gathered: &mut Gathered) -> Result<(), c_int> {
            gathered.flush(|at, bytes| {
                self.written.push((at, bytes.len()));
                self.code
            })
        }
    }

    #[test]
    fn what_comes_in_order_is_written_at_once() {
        let (mut paper, mut gathered) = (Paper::default(), Gathered::default());
        for (at, size_bytes) in [(32, 24), (56, 4096), (4152, 24), (4176, 4096)] {
            assert_eq!(paper.write(&mut gathered, at, &vec![7; size_bytes]), Ok(()));
        }
        assert_eq!(paper.written, []);
        assert_eq!(paper.flush(&mut gathered), Ok(()));
        assert_eq!(paper.flush(&mut gathered), Ok(()));
        assert_eq!(paper.written, [(32, 8240)]);
        // The next commit may begin anywhere.
        assert_eq!(paper.write(&mut gathered, 0, &[7; 32]), Ok(()));
        assert_eq!(paper.flush(&mut gathered), Ok(()));
        assert_eq!(paper.written[1..], [(0, 32)]);
    }

    #[test]
    fn a_long_commit_is_written_in_pieces_that_sqlite_takes() {
        let (mut paper, mut gathered) = (Paper::default(), Gathered::default());
        for page in 0..100 {
            let at = 32 + page * 4120;
            assert_eq!(paper.write(&mut gathered, at, &[7; 24]), Ok(()));
            assert_eq!(paper.write(&mut gathered, at + 24, &[7; 4096]), Ok(()));
        }
        assert_eq!(paper.flush(&mut gathered), Ok(()));
        let mut next = 32;
        for (at, size_bytes) in &paper.written {
            assert_eq!(*at, next);
            assert!(*size_bytes < 128 * 1024);
            next += *size_bytes as i64;
        }
        assert_eq!(next, 32 + 100 * 4120);
        assert_eq!(paper.written.len(), 4);
    }

    #[test]
    fn after_a_write_that_failed_nothing_is_written_any_more() {
        let (mut paper, mut gathered) = (Paper::default(), Gathered::default());
        assert_eq!(paper.write(&mut gathered, 32, &[7; 24]), Ok(()));
        paper.code = ffi::SQLITE_FULL;
        assert_eq!(paper.flush(&mut gathered), Err(ffi::SQLITE_FULL));
        paper.code = ffi::SQLITE_OK;
        assert_eq!(paper.flush(&mut gathered), Err(ffi::SQLITE_FULL));
        let again = paper.write(&mut gathered, 32, &[7; 24]);
        assert_eq!(again, Err(ffi::SQLITE_FULL));
        assert_eq!(paper.written.len(), 1);
    }

    #[test]
    fn what_does_not_go_on_from_what_was_gathered_fails_rather_than_being_written() {
        let (mut paper, mut gathered) = (Paper::default(), Gathered::default());
        assert_eq!(paper.write(&mut gathered, 32, &[7; 24]), Ok(()));
        let elsewhere = paper.write(&mut gathered, 32, &[8; 24]);
        assert_eq!(elsewhere, Err(ffi::SQLITE_IOERR_WRITE));
        assert!(paper.flush(&mut gathered).is_err());
        assert_eq!(paper.written, []);
    }

    fn connect(path: &std::path::Path) -> rusqlite::Connection {
        let flags = rusqlite::OpenFlags::default();
        let layer = layer().expect("SQLite has a layer of its own");
        let conn = rusqlite::Connection::open_with_flags_and_vfs(path, flags, layer);
        let conn = conn.expect("a connection");
        conn.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")
            .expect("the settings");
        conn.execute_batch(SETTING).expect("the setting");
        conn
    }

    /// Writes more pages than a cache holds by default.
    const MANY: &str = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 2000) \
        INSERT INTO t(v) SELECT randomblob(3000) FROM n";

    #[test]
    fn what_was_rolled_back_is_never_written_over_what_another_connection_committed() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("store.db");
        let one = connect(&path);
        one.execute_batch("CREATE TABLE t(n INTEGER PRIMARY KEY, v)")
            .expect("a table");
        let length = || std::fs::metadata(dir.path().join("store.db-wal")).map(|m| m.len());
        let before = length().expect("a WAL");
        one.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
        one.execute_batch(MANY).expect("many rows");
        one.execute_batch("ROLLBACK").expect("none of them");
        assert_eq!(length().ok(), Some(before), "nothing was written");

        let other = rusqlite::Connection::open(&path).expect("another connection");
        for conn in [&other, &one, &other, &one] {
            conn.execute("INSERT INTO t(v) VALUES('kept')", [])
                .expect("a row");
        }
        one.execute_batch(MANY).expect("many rows");
        let number = |conn: &rusqlite::Connection, sql: &str| {
            conn.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()
        };
        for conn in [&one, &other] {
            assert_eq!(number(conn, "SELECT count(*) FROM t"), Some(2004));
            assert_eq!(
                number(conn, "SELECT count(*) FROM t WHERE v = 'kept'"),
                Some(4)
            );
            let sound = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0));
            assert_eq!(sound, Ok("ok".to_owned()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_commit_takes_one_call_for_thirty_pages() {
        let calls = || -> u64 {
            let counts = std::fs::read_to_string("/proc/thread-self/io").expect("counts");
            let line = counts.lines().find_map(|line| line.strip_prefix("syscw: "));
            line.and_then(|calls| calls.parse().ok()).expect("a count")
        };
        let dir = tempfile::tempdir().expect("a directory");
        let conn = connect(&dir.path().join("store.db"));
        conn.execute_batch("CREATE TABLE t(n INTEGER PRIMARY KEY, v)")
            .expect("a table");
        let before = calls();
        conn.execute("INSERT INTO t(v) VALUES(zeroblob(200000))", [])
            .expect("a row");
        let written = calls() - before;
        assert!((1..=3).contains(&written), "{written} calls");
    }
}
