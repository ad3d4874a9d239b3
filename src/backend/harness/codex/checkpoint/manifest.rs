//! What belongs where in a checkpoint. Pure; a manifest that was read back is not trusted.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

use super::{LIMIT_BYTES, RestoreError, damaged};
use crate::engine::ports::BlobRef;

/// Written by this program and read by no other form of it.
const FORMAT: u32 = 1;
/// A conversation has a file for itself, for each fork and for each sub-agent.
const FILES_MAX: usize = 4_096;

/// A checkpoint of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The form of this record.
    pub format: u32,
    /// Codex's version.
    pub version: String,
    /// The thread that goes on.
    pub thread: String,
    /// The Session's revision that it stands for: what came later is not in it.
    pub revision: u64,
    /// Its files.
    pub files: Vec<SavedFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFile {
    /// Below the home. Codex finds threads by it, so it is kept.
    pub path: String,
    /// What it holds, in order.
    pub segments: Vec<SavedSegment>,
}

/// One segment of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedSegment {
    /// What is stored: the packed bytes.
    #[serde(flatten)]
    pub blob: BlobRef,
    /// Length of what is packed in it.
    pub raw_bytes: u64,
}

impl Manifest {
    /// Of these files.
    pub fn new(version: &str, thread: &str, revision: u64, files: Vec<SavedFile>) -> Manifest {
        Manifest {
            format: FORMAT,
            version: version.to_owned(),
            thread: thread.to_owned(),
            revision,
            files,
        }
    }

    /// What is stored for it. What is in two places is there once.
    pub fn blobs(&self) -> Vec<&BlobRef> {
        let mut seen = BTreeSet::new();
        let segments = self.files.iter().flat_map(|file| &file.segments);
        segments
            .map(|segment| &segment.blob)
            .filter(|blob| seen.insert(&blob.sha256))
            .collect()
    }

    /// The names of what is stored for it, for the next [`take`](super::take).
    pub fn names(&self) -> BTreeSet<String> {
        let blobs = self.blobs().into_iter();
        blobs.map(|blob| blob.sha256.clone()).collect()
    }

    /// Length of all its files.
    pub fn raw_bytes(&self) -> u64 {
        self.files
            .iter()
            .map(SavedFile::raw_bytes)
            .fold(0, u64::saturating_add)
    }

    /// Whether it can be acted on: it names no place outside of where threads are, and asks for no more than is ever saved.
    pub(super) fn check(&self) -> Result<(), RestoreError> {
        if self.format != FORMAT {
            return Err(damaged(&format!("its form {} is not known", self.format)));
        }
        if self.files.len() > FILES_MAX || self.raw_bytes() > LIMIT_BYTES {
            return Err(damaged("it is larger than any that is taken"));
        }
        let mut seen = BTreeSet::new();
        for file in &self.files {
            if !is_safe(&file.path) {
                return Err(damaged("a file is outside of where threads are"));
            }
            if !seen.insert(&file.path) {
                return Err(damaged("a file is there twice"));
            }
        }
        Ok(())
    }
}

impl SavedFile {
    /// Its length.
    pub fn raw_bytes(&self) -> u64 {
        let sizes = self.segments.iter().map(|segment| segment.raw_bytes);
        sizes.fold(0, u64::saturating_add)
    }
}

/// `sessions/…/rollout-….jsonl`, without a way out.
pub(super) fn is_safe(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let begins = parts.next() == Some(Component::Normal("sessions".as_ref()));
    let name = path.rsplit('/').next().unwrap_or_default();
    begins
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && name.starts_with("rollout-")
        && name.ends_with(".jsonl")
        && !path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "sessions/2026/11/30/rollout-2026-11-30T11-37-21-t1.jsonl";

    fn segment(raw_bytes: u64) -> SavedSegment {
        SavedSegment {
            blob: BlobRef {
                sha256: raw_bytes.to_string(),
                size_bytes: 1,
            },
            raw_bytes,
        }
    }

    fn manifest(paths: &[&str], sizes: &[u64]) -> Manifest {
        let file = |path: &&str| SavedFile {
            path: (*path).to_owned(),
            segments: sizes.iter().copied().map(segment).collect(),
        };
        Manifest::new("0.171.0", "t1", 7, paths.iter().map(file).collect())
    }

    #[test]
    fn a_manifest_is_the_same_after_it_was_written_and_read() {
        let manifest = manifest(&[PATH], &[3, 4]);
        let text = serde_json::to_string(&manifest).expect("it is plain data");
        let read: Manifest = serde_json::from_str(&text).expect("it is what was written");
        assert_eq!(read, manifest);
        assert!(manifest.check().is_ok());
        assert_eq!((manifest.raw_bytes(), manifest.blobs().len()), (7, 2));
    }

    #[test]
    fn what_leads_elsewhere_or_is_too_much_is_refused() {
        for path in [
            "",
            "/etc/passwd",
            "sessions",
            "config.toml",
            "auth.json",
            "sessions/../rollout-x.jsonl",
            "sessions/2026/../../../rollout-x.jsonl",
            "/sessions/rollout-x.jsonl",
            "sessions/rollout-x.jsonl/..",
            "sessions/x.jsonl",
            "sessions/rollout-x.sh",
            "sessions/rollout-\0.jsonl",
        ] {
            assert!(manifest(&[path], &[1]).check().is_err(), "{path}");
        }
        assert!(manifest(&[PATH, PATH], &[1]).check().is_err());
        assert!(manifest(&[PATH], &[LIMIT_BYTES, 1]).check().is_err());
        assert!(manifest(&[PATH], &[u64::MAX, u64::MAX]).check().is_err());
        let mut other = manifest(&[PATH], &[1]);
        other.format = 2;
        assert!(other.check().is_err());
    }
}
