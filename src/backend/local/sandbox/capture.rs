//! Opening what a Turn left under /workspace/outputs.
//!
//! The agent may still be running and may replace anything at any time, so nothing is decided about a name: every decision is about
//! a descriptor that is already open. A name is resolved one component at a time, never through a link, never out of the directory.

use std::ffi::{CStr, CString};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2};
use rustix::io::Errno;
use tokio::io::AsyncReadExt;

use crate::engine::ports::{CaptureLimits, EnvironmentError, LeftOut, OutputFile, Outputs};

/// Where outputs are, as the agent sees it.
const OUTPUTS: &str = "/workspace/outputs";
/// Directories within directories.
const MAX_DEPTH: usize = 16;
/// Entries looked at.
const MAX_ENTRIES: usize = 20_000;
/// Entries reported as left out, the last of which may stand for all others.
const MAX_LEFT_OUT: usize = 1_000;

/// See [`crate::engine::ports::Environment::outputs`].
pub(super) async fn outputs(
    workspace: &Path,
    limits: CaptureLimits,
) -> Result<(Outputs, Mark), EnvironmentError> {
    let workspace = workspace.to_owned();
    let captured = tokio::task::spawn_blocking(move || {
        let walk = walk(&workspace)?;
        let mark = walk.mark();
        io::Result::Ok((walk.judge(limits), mark))
    });
    match captured.await {
        Ok(Ok(captured)) => Ok(captured),
        Ok(Err(e)) => Err(EnvironmentError::Failed(format!(
            "cannot read its outputs: {e}"
        ))),
        Err(e) => Err(EnvironmentError::Failed(format!(
            "cannot read its outputs: {e}"
        ))),
    }
}

/// What outputs look like from outside: which there are, how long, and when each was changed last. Two looks that find the same mark
/// have found the same files, as far as their clock can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(u64);

/// The mark of what is there now; `None` if it can't be read.
pub(super) async fn mark(workspace: &Path) -> Option<Mark> {
    let workspace = workspace.to_owned();
    let marked = tokio::task::spawn_blocking(move || walk(&workspace).map(|walk| walk.mark()));
    marked.await.ok()?.ok()
}

fn walk(workspace: &Path) -> io::Result<Walk> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let workspace = open(workspace, flags, Mode::empty())?;
    let mut walk = Walk {
        found: Vec::new(),
        left_out: Vec::new(),
        entries: 0,
    };
    match open_directory(workspace.as_fd(), c"outputs") {
        Ok(outputs) => walk.directory(outputs, OUTPUTS, 1)?,
        Err(Errno::NOENT) => {}
        Err(e) => walk.leave_out(OUTPUTS, not_a_directory(workspace.as_fd(), c"outputs", e)),
    }
    Ok(walk)
}

/// A file that may become an output, open.
struct Found {
    path: String,
    stat: Stat,
    file: OwnedFd,
}

struct Walk {
    found: Vec<Found>,
    left_out: Vec<LeftOut>,
    entries: usize,
}

impl Walk {
    fn leave_out(&mut self, path: &str, reason: impl Into<String>) {
        self.left_out.push(LeftOut {
            path: path.to_owned(),
            reason: reason.into(),
        });
    }

    fn directory(&mut self, dir: OwnedFd, path: &str, depth: usize) -> io::Result<()> {
        let mut names: Vec<CString> = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if name != c"." && name != c".." {
                self.entries += 1;
                if self.entries > MAX_ENTRIES {
                    self.leave_out(
                        path,
                        format!("more than {MAX_ENTRIES} entries; the rest was not looked at"),
                    );
                    break;
                }
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        for name in names {
            self.entry(dir.as_fd(), &name, path, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        dir: BorrowedFd<'_>,
        name: &CStr,
        parent: &str,
        depth: usize,
    ) -> io::Result<()> {
        let Ok(text) = name.to_str() else {
            let path = format!("{parent}/{}", name.to_string_lossy());
            self.leave_out(&path, "its name is not valid UTF-8");
            return Ok(());
        };
        let path = format!("{parent}/{text}");
        match look(dir, name) {
            Ok(Entry::File(file, stat)) => self.found.push(Found { path, stat, file }),
            Ok(Entry::Directory) if depth >= MAX_DEPTH => {
                self.leave_out(&path, format!("more than {MAX_DEPTH} directories deep"));
            }
            Ok(Entry::Directory) => match open_directory(dir, name) {
                Ok(child) => self.directory(child, &path, depth + 1)?,
                Err(e) => self.leave_out(&path, not_a_directory(dir, name, e)),
            },
            Ok(Entry::Other(kind)) => self.leave_out(&path, kind),
            // It was removed since the directory was read.
            Err(Errno::NOENT) => {}
            Err(e) => self.leave_out(&path, in_words(e)),
        }
        Ok(())
    }

    /// Names are walked in order, so that the same files always give the same mark.
    fn mark(&self) -> Mark {
        let mut hash = DefaultHasher::new();
        for Found { path, stat, .. } in &self.found {
            let changed = (
                stat.st_mtime,
                stat.st_mtime_nsec,
                stat.st_ctime,
                stat.st_ctime_nsec,
            );
            (path, stat.st_ino, stat.st_size, changed).hash(&mut hash);
        }
        for LeftOut { path, reason } in &self.left_out {
            (path, reason).hash(&mut hash);
        }
        Mark(hash.finish())
    }

    /// Applies the bounds in path order, so that the same files always give the same answer.
    fn judge(mut self, limits: CaptureLimits) -> Outputs {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let mut files: Vec<OutputFile> = Vec::new();
        let mut sum_bytes: u64 = 0;
        for Found { path, stat, file } in found {
            let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
            let reason = if size_bytes > limits.file_bytes {
                format!("more than {}", size(limits.file_bytes))
            } else if files.len() >= limits.files {
                format!("more than {} files in one Turn", limits.files)
            } else if sum_bytes.saturating_add(size_bytes) > limits.turn_bytes {
                format!("more than {} in one Turn", size(limits.turn_bytes))
            } else {
                sum_bytes += size_bytes;
                // A file that grows meanwhile ends where it ended when it was opened.
                let content = tokio::fs::File::from_std(file.into()).take(size_bytes);
                files.push(OutputFile {
                    path,
                    size_bytes,
                    content: Box::new(content),
                });
                continue;
            };
            self.leave_out(&path, reason);
        }
        self.left_out.sort_by(|a, b| a.path.cmp(&b.path));
        if self.left_out.len() > MAX_LEFT_OUT {
            let rest = self.left_out.len() - (MAX_LEFT_OUT - 1);
            self.left_out.truncate(MAX_LEFT_OUT - 1);
            self.leave_out(OUTPUTS, format!("{rest} more entries are left out"));
        }
        Outputs {
            files,
            left_out: self.left_out,
        }
    }
}

enum Entry {
    File(OwnedFd, Stat),
    Directory,
    Other(&'static str),
}

/// Looks at an entry without opening it for anything, then opens it if it is an ordinary file, and looks again at what was opened.
fn look(dir: BorrowedFd<'_>, name: &CStr) -> Result<Entry, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // A handle of a link itself is fine: it is only asked what it is.
    let handle = openat(dir, name, flags, Mode::empty())?;
    let before = fstat(&handle)?;
    match kind(&before) {
        Ok(()) => {}
        Err("directory") => return Ok(Entry::Directory),
        Err(other) => return Ok(Entry::Other(other)),
    }
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat2(dir, name, flags, Mode::empty(), resolve()) {
        Ok(file) => file,
        Err(Errno::LOOP) => return Ok(Entry::Other("symbolic link")),
        Err(e) => return Err(e),
    };
    let stat = fstat(&file)?;
    match kind(&stat) {
        Ok(()) => Ok(Entry::File(file, stat)),
        Err(_) => Ok(Entry::Other("replaced while it was being opened")),
    }
}

/// `Ok` for a regular file with one name; what it is otherwise.
fn kind(stat: &Stat) -> Result<(), &'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        // A second name may be anywhere in the workspace; which file it is cannot be told.
        FileType::RegularFile if stat.st_nlink > 1 => Err("hard link"),
        FileType::RegularFile if stat.st_nlink == 0 => Err("removed while it was being opened"),
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err("directory"),
        FileType::Symlink => Err("symbolic link"),
        FileType::Fifo => Err("named pipe"),
        FileType::Socket => Err("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Err("device"),
        FileType::Unknown => Err("not a regular file"),
    }
}

fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(parent, name, flags, Mode::empty(), resolve())
}

fn resolve() -> ResolveFlags {
    ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV
}

fn not_a_directory(parent: BorrowedFd<'_>, name: &CStr, e: Errno) -> String {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty())
        .and_then(fstat)
        .map(|stat| kind(&stat))
    {
        Ok(Err("directory")) | Err(_) => in_words(e),
        Ok(Err(other)) => other.to_owned(),
        Ok(Ok(())) => "not a directory".to_owned(),
    }
}

fn in_words(e: Errno) -> String {
    match e {
        Errno::ACCESS | Errno::PERM => "not readable (its mode forbids it)".to_owned(),
        Errno::LOOP => "symbolic link".to_owned(),
        Errno::MFILE | Errno::NFILE => "too many files are open".to_owned(),
        Errno::XDEV => "on another file system".to_owned(),
        e => format!("cannot be opened: {e}"),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} MiB", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} KiB", b >> 10),
        b => format!("{b} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    /// What is under the outputs: a place in up to three directories, and whether it is a link.
    fn place() -> impl Strategy<Value = (Vec<String>, bool)> {
        let name = prop_oneof![
            4 => "[a-c]",
            1 => Just("..x".to_owned()),
            1 => Just("-rf".to_owned()),
            1 => Just("é \n".to_owned()),
        ];
        (prop::collection::vec(name, 1..4), prop::bool::weighted(0.2))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Every ordinary file is found under the path that the agent sees, in order, and no link is followed.
        #[test]
        fn paths_are_those_of_the_ordinary_files(places in prop::collection::vec(place(), 0..12)) {
            let workspace = tempfile::tempdir().expect("a temporary directory");
            let outputs = workspace.path().join("outputs");
            std::fs::create_dir(&outputs).expect("an empty directory");
            let mut files = BTreeSet::new();
            let mut links = BTreeSet::new();
            for (segments, link) in places {
                let seen = format!("{OUTPUTS}/{}", segments.join("/"));
                let at = outputs.join(segments.join("/"));
                let parent = at.parent().expect("it is below outputs");
                // What is a file or a link already can't become a directory, and the other way round.
                let through_link = links.iter().any(|l: &String| seen.starts_with(&format!("{l}/")));
                if through_link || at.symlink_metadata().is_ok() || std::fs::create_dir_all(parent).is_err() {
                    continue;
                }
                match link {
                    true => {
                        symlink("/etc", &at).expect("the name is free");
                        links.insert(seen);
                    }
                    false => {
                        std::fs::write(&at, "x").expect("the name is free");
                        files.insert(seen);
                    }
                }
            }
            let found = walk(workspace.path()).expect("readable").judge(CaptureLimits::default());
            let paths: Vec<String> = found.files.iter().map(|f| f.path.clone()).collect();
            prop_assert_eq!(paths, files.into_iter().collect::<Vec<_>>());
            let left: Vec<String> = found.left_out.iter().map(|l| l.path.clone()).collect();
            prop_assert_eq!(left, links.into_iter().collect::<Vec<_>>());
        }
    }
    #[test]
    fn sizes_read_as_they_were_set() {
        assert_eq!(size(200 << 20), "200 MiB");
        assert_eq!(size(3 << 10), "3 KiB");
        assert_eq!(size(1_000), "1000 bytes");
    }
}
