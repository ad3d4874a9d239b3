//! The agent's own state, saved and put back: the files in which Codex keeps a conversation, and nothing else of its home.
//!
//! Codex appends whole lines to one file per thread and never makes them durable; forks have files of their own that refer to
//! the first one by its bytes, and so may sub-agents, which are not kept. Any whole lines from the beginning are a good state. So a checkpoint is the closure of a thread's
//! files, each cut after its last whole line, in segments that are named by what they hold: what did not change since the
//! last checkpoint has the same names and is stored once. The [`Manifest`] says what belongs where, and of which version; it is as small after many Turns as after a few.
//!
//! It is a cache. What is missing, damaged or of another version is refused by name, and the caller begins anew from what it recorded.

mod closure;
mod home;
mod manifest;
mod rollout;
mod segments;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use bytes::Bytes;

pub use self::manifest::{Manifest, SavedFile, SavedSegment};
pub use self::rollout::{Lines, OpenCall};
pub use self::segments::Segment;

/// More than this is not kept: a conversation of this size is begun anew from what was recorded.
pub const LIMIT_BYTES: u64 = 256 << 20;

/// What is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What belongs where.
    pub manifest: Manifest,
    /// The segments that were not there before, in the order of the manifest. They must be stored before it.
    pub new: Vec<Segment>,
    /// What the thread's own file has grown by.
    pub lines: Vec<u8>,
}

/// Why there is no checkpoint. The conversation itself is whole: it goes on from what was recorded.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The home has no such thread, or not one whole line of it.
    #[error("the agent has saved nothing of thread {thread}")]
    NothingThere {
        /// The thread.
        thread: String,
    },
    /// A file refers to bytes that are not there.
    #[error("the agent's files of thread {thread} do not fit together: {reason}")]
    Incomplete {
        /// The thread.
        thread: String,
        /// What does not fit.
        reason: String,
    },
    /// They are larger than [`LIMIT_BYTES`], or too many.
    #[error(
        "the agent's files of thread {thread} are too large to be kept, or too many: {size_bytes} bytes"
    )]
    TooLarge {
        /// The thread.
        thread: String,
        /// Their size.
        size_bytes: u64,
    },
    /// The home can't be read: the operator must look at the disk.
    #[error("the agent's files can't be read: {0}")]
    Io(#[from] io::Error),
}

/// Why a checkpoint can't be used. Nothing was put back, or not all of it: the home is to be thrown away.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// It was taken by another version of Codex, which need not read what this one wrote.
    #[error("the checkpoint is of Codex {found}, and this is Codex {wanted}")]
    OtherVersion {
        /// What wrote it.
        found: String,
        /// What would read it.
        wanted: String,
    },
    /// A segment is not there.
    #[error("segment {digest} of the checkpoint is missing")]
    Missing {
        /// Its name.
        digest: String,
    },
    /// It does not hold what it was made of.
    #[error("the checkpoint is damaged: {reason}")]
    Damaged {
        /// What does not fit.
        reason: String,
    },
    /// The home can't be written: the operator must look at the disk.
    #[error("the agent's files can't be put back: {0}")]
    Io(#[from] io::Error),
}

/// Reads what the home has of a thread now, while its agent may go on writing.
///
/// `version` is the Codex that wrote it. What it had of a thread that was put back is `before`: what is full of that is stored, and not read again.
pub fn take(
    home: &Path,
    thread: &str,
    version: &str,
    before: Option<&Manifest>,
) -> Result<Taken, TakeError> {
    let nothing = || TakeError::NothingThere {
        thread: thread.to_owned(),
    };
    let heads = home::heads(home)?;
    let chosen = closure::of(&heads, thread).map_err(|broken| broken.of(thread))?;
    if chosen.is_empty() {
        return Err(nothing());
    }
    let mut files = Vec::new();
    let mut lengths = Vec::new();
    let mut new = Vec::new();
    let mut lines = Vec::new();
    let mut seen = before.map(Manifest::names).unwrap_or_default();
    let mut size_bytes = 0;
    let mut count = 0;
    // Whoever refers to bytes is read before them: they were written first, so they are there by then.
    for head in chosen {
        let known = before.and_then(|before| before.file(&head.path));
        let had = known.map_or(&[][..], |file| &file.segments);
        let (kept, kept_bytes) = segments::kept(had, home::size_bytes(home, &head.path)?);
        let mut bytes = home::read(home, &head.path, kept_bytes)?;
        bytes.truncate(rollout::whole_lines(&bytes).len());
        let file_bytes = kept_bytes + bytes.len() as u64;
        size_bytes += file_bytes;
        let segments = segments::split(&bytes)?;
        count += kept + segments.len();
        if size_bytes > LIMIT_BYTES || count > manifest::SEGMENTS_MAX {
            return Err(TakeError::TooLarge {
                thread: thread.to_owned(),
                size_bytes,
            });
        }
        lengths.push((head, file_bytes));
        if head.thread == thread {
            let had_bytes = known.map_or(0, SavedFile::raw_bytes);
            let read_bytes = usize::try_from(had_bytes.saturating_sub(kept_bytes));
            let grown = bytes.get(read_bytes.unwrap_or(usize::MAX)..);
            lines.extend_from_slice(grown.unwrap_or_default());
        }
        let split = segments.iter().map(|segment| segment.saved.clone());
        files.push(SavedFile {
            path: head.path.clone(),
            segments: had[..kept].iter().cloned().chain(split).collect(),
        });
        let mut is_new = |segment: &Segment| seen.insert(segment.saved.blob.sha256.clone());
        new.extend(segments.into_iter().filter(&mut is_new));
    }
    closure::check(lengths.into_iter(), thread).map_err(|broken| broken.of(thread))?;
    let manifest = Manifest {
        version: version.to_owned(),
        thread: thread.to_owned(),
        files,
    };
    Ok(Taken {
        manifest,
        new,
        lines,
    })
}

/// Puts a thread back into a home that has none of it. `segments` are what [`Manifest::blobs`] names, as they were given by [`take`]; `version` is the Codex that will read it.
pub fn restore(
    manifest: &Manifest,
    segments: &BTreeMap<String, Bytes>,
    version: &str,
    home: &Path,
) -> Result<(), RestoreError> {
    if manifest.version != version {
        return Err(RestoreError::OtherVersion {
            found: manifest.version.clone(),
            wanted: version.to_owned(),
        });
    }
    manifest.check()?;
    // All of it is looked at before any of it is written.
    let mut files = Vec::new();
    for file in &manifest.files {
        files.push((file, segments::join(&file.segments, segments)?));
    }
    let heads: Vec<_> = files
        .iter()
        .filter_map(|(file, bytes)| rollout::head(&file.path, bytes))
        .collect();
    if heads.len() != files.len() {
        return Err(damaged("a file does not begin as the agent's files do"));
    }
    let lengths = heads
        .iter()
        .zip(&files)
        .map(|(head, (_, bytes))| (head, bytes.len() as u64));
    closure::check(lengths, &manifest.thread).map_err(|broken| damaged(&broken.0))?;
    for (file, bytes) in &files {
        home::write(home, &file.path, bytes)?;
    }
    Ok(())
}

fn damaged(reason: &str) -> RestoreError {
    RestoreError::Damaged {
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests;
