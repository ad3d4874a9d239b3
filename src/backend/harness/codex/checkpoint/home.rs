//! The files of a home: found, read and written.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::LIMIT_BYTES;
use super::manifest::is_safe;
use super::rollout::{self, Head};

/// Codex has a directory for each year, month and day.
const DEPTH_MAX: usize = 4;
/// A first line holds the agent's instructions and tools.
const FIRST_LINE_LIMIT_BYTES: u64 = 8 << 20;

/// What the first lines of all the agent's files say, in the order of their paths. A file whose first line is not whole says nothing.
pub fn heads(home: &Path) -> io::Result<Vec<Head>> {
    let mut paths = Vec::new();
    find(home, "sessions", DEPTH_MAX, &mut paths)?;
    paths.sort();
    let mut heads = Vec::new();
    for path in paths {
        let file = open(home, &path)?;
        let mut line = Vec::new();
        BufReader::new(file.take(FIRST_LINE_LIMIT_BYTES)).read_until(b'\n', &mut line)?;
        heads.extend(rollout::head(&path, &line));
    }
    Ok(heads)
}

fn find(home: &Path, below: &str, depth: usize, paths: &mut Vec<String>) -> io::Result<()> {
    let dir = home.join(below);
    // Links are followed nowhere: whatever they lead to is not the agent's state.
    match fs::symlink_metadata(&dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.is_dir() => return Ok(()),
        Ok(_) => {}
    }
    for entry in fs::read_dir(&dir)? {
        let entry = entry?;
        // A name that is no text is none that Codex gives.
        let Some(path) = entry
            .file_name()
            .to_str()
            .map(|name| format!("{below}/{name}"))
        else {
            continue;
        };
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            find(home, &path, depth - 1, paths)?;
        } else if kind.is_file() && is_safe(&path) {
            paths.push(path);
        }
    }
    Ok(())
}

fn open(home: &Path, path: &str) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW);
    options.open(home.join(path))
}

/// Length of a file now.
pub fn size_bytes(home: &Path, path: &str) -> io::Result<u64> {
    Ok(open(home, path)?.metadata()?.len())
}

/// All that is in a file now behind its first `from_byte` bytes, and one byte more than may be kept at most.
pub fn read(home: &Path, path: &str, from_byte: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = open(home, path)?;
    file.seek(SeekFrom::Start(from_byte))?;
    file.take(LIMIT_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A new file, for this user alone.
pub fn write(home: &Path, path: &str, bytes: &[u8]) -> io::Result<()> {
    let path = home.join(path);
    if let Some(parent) = path.parent() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    // Not synced: what is lost with the machine is put back again.
    options.open(path)?.write_all(bytes)
}
