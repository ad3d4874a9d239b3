//! What belongs where in a checkpoint. Pure; a manifest that was read back is not trusted.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{LIMIT_BYTES, RestoreError, damaged};
use crate::engine::ports::BlobRef;

/// Written by this program and read by no other form of it.
const FORMAT: u32 = 1;
/// A conversation has a file for itself and for each fork; each has few segments.
pub const SEGMENTS_MAX: usize = 256;

/// A checkpoint of one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Codex's version.
    pub version: String,
    /// The thread that goes on.
    pub thread: String,
    /// Its files.
    pub files: Vec<SavedFile>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    /// Below the home. Codex finds threads by it, so it is kept.
    pub path: String,
    /// What it holds, in order.
    pub segments: Vec<SavedSegment>,
}

/// One segment of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSegment {
    /// What is stored: the packed bytes.
    pub blob: BlobRef,
    /// Length of what is packed in it.
    pub raw_bytes: u64,
}

/// What is written of a manifest. What is stored for it is named beside it, segment by segment.
#[derive(Serialize, Deserialize)]
struct Written {
    format: u32,
    thread: String,
    files: Vec<WrittenFile>,
}

#[derive(Serialize, Deserialize)]
struct WrittenFile {
    path: String,
    /// Of each segment.
    raw_bytes: Vec<u64>,
}

impl Manifest {
    /// What is to be written, and the blobs of all segments in their order.
    pub fn written(&self) -> (Value, Vec<BlobRef>) {
        let file = |file: &SavedFile| WrittenFile {
            path: file.path.clone(),
            raw_bytes: file.segments.iter().map(|one| one.raw_bytes).collect(),
        };
        let written = Written {
            format: FORMAT,
            thread: self.thread.clone(),
            files: self.files.iter().map(file).collect(),
        };
        let segments = self.files.iter().flat_map(|file| &file.segments);
        let blobs = segments.map(|segment| segment.blob.clone()).collect();
        (json!(written), blobs)
    }

    /// Reads what was [`written`](Manifest::written) of one of this version.
    pub fn read(
        version: &str,
        written: &Value,
        blobs: &[BlobRef],
    ) -> Result<Manifest, RestoreError> {
        let written = Written::deserialize(written).map_err(|_| damaged("its manifest is none"))?;
        if written.format != FORMAT {
            return Err(damaged(&format!(
                "its form {} is not known",
                written.format
            )));
        }
        let mut blobs = blobs.iter().cloned();
        let mut files = Vec::new();
        for file in written.files {
            let mut segments = Vec::new();
            for raw_bytes in file.raw_bytes {
                let blob = blobs.next();
                let blob = blob.ok_or_else(|| damaged("it has more segments than blobs"))?;
                segments.push(SavedSegment { blob, raw_bytes });
            }
            let path = file.path;
            files.push(SavedFile { path, segments });
        }
        match blobs.next() {
            None => Ok(Manifest {
                version: version.to_owned(),
                thread: written.thread,
                files,
            }),
            Some(_) => Err(damaged("it has more blobs than segments")),
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

    /// The names of what is stored for it.
    pub fn names(&self) -> BTreeSet<String> {
        let blobs = self.blobs().into_iter();
        blobs.map(|blob| blob.sha256.clone()).collect()
    }

    /// The file of this path.
    pub fn file(&self, path: &str) -> Option<&SavedFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// How many segments its files have.
    pub fn segments(&self) -> usize {
        self.files.iter().map(|file| file.segments.len()).sum()
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
        if self.segments() > SEGMENTS_MAX || self.raw_bytes() > LIMIT_BYTES {
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
        Manifest {
            version: "0.171.0".into(),
            thread: "t1".into(),
            files: paths.iter().map(file).collect(),
        }
    }

    #[test]
    fn a_manifest_is_the_same_after_it_was_written_and_read() {
        let manifest = manifest(&[PATH, "sessions/rollout-2.jsonl"], &[3, 4]);
        let (written, blobs) = manifest.written();
        let read = Manifest::read("0.171.0", &written, &blobs).expect("it is what was written");
        assert_eq!(read, manifest);
        assert!(manifest.check().is_ok());
        let counts = (manifest.segments(), manifest.blobs().len());
        assert_eq!((manifest.raw_bytes(), counts), (14, (4, 2)));
    }

    #[test]
    fn what_does_not_fit_together_is_none() {
        let (written, blobs) = manifest(&[PATH], &[3, 4]).written();
        let refused = |written: &Value, blobs: &[BlobRef]| {
            let read = Manifest::read("0.171.0", written, blobs);
            assert!(
                matches!(read, Err(RestoreError::Damaged { .. })),
                "{written}"
            );
        };
        refused(&written, &blobs[1..]);
        refused(&written, &[blobs.clone(), blobs.clone()].concat());
        refused(&json!({}), &[]);
        let mut other = written;
        other["format"] = 2.into();
        refused(&other, &blobs);
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
        assert!(manifest(&[PATH], &[1; SEGMENTS_MAX + 1]).check().is_err());
    }
}
