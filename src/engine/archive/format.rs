//! The format: which entries an archive has, in which order, and how large they may be. `docs/archive.md` describes it.

use serde::{Deserialize, Serialize};

use super::error::ArchiveError;
use crate::engine::ids::SessionId;
use crate::engine::ports::BlobRef;

/// What a manifest says it is.
pub const FORMAT: &str = "rat-things-session";
/// The version that this program writes and reads.
pub const VERSION: u32 = 1;

/// Name of the first entry.
pub(super) const MANIFEST: &str = "manifest.json";
/// Name of the second entry.
pub(super) const HEAD: &str = "head.json";

/// Longest manifest that is read.
pub(super) const MANIFEST_MAX_BYTES: u64 = 64 << 20;
/// Longest head that is read; one that the engine wrote is below 4 KiB.
pub(super) const HEAD_MAX_BYTES: u64 = 64 << 10;
/// A part of the rows is full when it has reached this length.
pub(super) const PART_BYTES: u64 = 1 << 20;
/// Longest part that is read: a full one and the widest row.
pub(super) const PART_MAX_BYTES: u64 = 32 << 20;

/// Rows that an archive may have: what is remembered of each while it is read must fit into memory.
pub(super) const ROWS_MAX: u64 = 4_000_000;

/// What the first entry says of all others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// [`FORMAT`]
    pub format: String,
    /// [`VERSION`]
    pub version: u32,
    /// Session id.
    pub session: String,
    /// The Session's revision that the archive shows.
    pub revision: u64,
    /// When it was exported. Unix ms.
    pub exported_ms: u64,
    /// The program's version that exported it.
    pub program: String,
    /// The entry `head.json`.
    pub head: Part,
    /// The entries `records/<n>.jsonl`: rows in the order of their keys, without the head and the journal.
    pub records: Vec<Part>,
    /// The entries `journal/<n>.jsonl`: the journal in order.
    pub journal: Vec<Part>,
    /// The entries `blobs/<sha256>`, in the order of their names.
    pub blobs: Vec<Blob>,
}

/// An entry with rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// Exact length.
    pub size_bytes: u64,
    /// Of its bytes, in lower-case hex.
    pub sha256: String,
    /// How many rows it has.
    pub rows: u64,
}

/// An entry with bytes that rows name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// Of its bytes, in lower-case hex.
    pub sha256: String,
    /// Exact length.
    pub size_bytes: u64,
}

impl Blob {
    /// As the Blobs port names it.
    pub(super) fn reference(&self) -> BlobRef {
        BlobRef {
            sha256: self.sha256.clone(),
            size_bytes: self.size_bytes,
        }
    }
}

/// What an entry is, and what the manifest says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Head(&'a Part),
    Records(&'a Part),
    Journal(&'a Part),
    Blob(&'a Blob),
}

impl Entry<'_> {
    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            Entry::Head(part) | Entry::Records(part) | Entry::Journal(part) => part.size_bytes,
            Entry::Blob(blob) => blob.size_bytes,
        }
    }

    pub(super) fn sha256(&self) -> &str {
        match self {
            Entry::Head(part) | Entry::Records(part) | Entry::Journal(part) => &part.sha256,
            Entry::Blob(blob) => &blob.sha256,
        }
    }
}

impl Manifest {
    /// Every entry behind the manifest with its name, in order.
    pub(super) fn entries(&self) -> impl Iterator<Item = (String, Entry<'_>)> {
        let records = self.records.iter().enumerate();
        let journal = self.journal.iter().enumerate();
        let blobs = self.blobs.iter();
        std::iter::once((HEAD.to_owned(), Entry::Head(&self.head)))
            .chain(records.map(|(n, part)| (format!("records/{n:06}.jsonl"), Entry::Records(part))))
            .chain(journal.map(|(n, part)| (format!("journal/{n:06}.jsonl"), Entry::Journal(part))))
            .chain(blobs.map(|blob| (format!("blobs/{}", blob.sha256), Entry::Blob(blob))))
    }

    /// Bytes of all entries behind the manifest.
    pub fn content_bytes(&self) -> u64 {
        self.entries()
            .fold(0, |sum, (_, entry)| sum.saturating_add(entry.size_bytes()))
    }

    /// Rows in the archive, the head included.
    pub fn rows(&self) -> u64 {
        let parts = self.records.iter().chain(&self.journal);
        parts.fold(1, |sum, part| sum.saturating_add(part.rows))
    }

    /// Reads a manifest and checks what can be checked of it alone.
    ///
    /// # Errors
    /// [`ArchiveError::Refused`] when it is none, of a newer version, or contradicts itself.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Manifest, SessionId), ArchiveError> {
        /// The part of a manifest that every version has.
        #[derive(Deserialize)]
        struct Kind {
            format: String,
            version: u32,
        }
        let refused = |why: String| ArchiveError::refused(format!("{MANIFEST}: {why}"));
        let kind: Kind = serde_json::from_slice(bytes).map_err(|e| refused(e.to_string()))?;
        if kind.format != FORMAT {
            return Err(refused(format!("it is of the format {:?}", kind.format)));
        }
        if kind.version != VERSION {
            return Err(refused(format!(
                "it is of version {}, and this program reads version {VERSION}",
                kind.version
            )));
        }
        let manifest: Manifest =
            serde_json::from_slice(bytes).map_err(|e| refused(e.to_string()))?;
        let session = SessionId::parse(&manifest.session)
            .ok_or_else(|| refused(format!("{:?} is no session id", manifest.session)))?;
        manifest.check().map_err(refused)?;
        Ok((manifest, session))
    }

    fn check(&self) -> Result<(), String> {
        if self.head.size_bytes > HEAD_MAX_BYTES || self.head.rows != 1 {
            return Err(format!("{HEAD} can't be so large"));
        }
        let parts = self.records.iter().chain(&self.journal);
        if let Some(part) = parts.clone().find(|p| p.size_bytes > PART_MAX_BYTES) {
            return Err(format!(
                "a part of {} bytes, where {PART_MAX_BYTES} are allowed",
                part.size_bytes
            ));
        }
        if self.rows() > ROWS_MAX {
            return Err(format!(
                "{} rows, where {ROWS_MAX} are allowed",
                self.rows()
            ));
        }
        if !self.blobs.windows(2).all(|w| w[0].sha256 < w[1].sha256) {
            return Err("its blobs are not each listed once, in order".to_owned());
        }
        let digests = parts
            .chain([&self.head])
            .map(|part| &part.sha256)
            .chain(self.blobs.iter().map(|blob| &blob.sha256));
        match digests.into_iter().find(|digest| !is_digest(digest)) {
            Some(digest) => Err(format!("{digest:?} is no digest")),
            None => Ok(()),
        }
    }
}

/// Whether `text` is a SHA-256 in lower-case hex.
fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        Part {
            size_bytes: 1,
            sha256: "0a".repeat(32),
            rows: 1,
        }
    }

    fn manifest() -> Manifest {
        let blob = |digit: &str| Blob {
            sha256: digit.repeat(64),
            size_bytes: 5,
        };
        Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            session: format!("sess_{}", "a".repeat(26)),
            revision: 3,
            exported_ms: 4,
            program: "1".to_owned(),
            head: part(),
            records: vec![part(), part()],
            journal: vec![part()],
            blobs: vec![blob("a"), blob("b")],
        }
    }

    fn read(change: impl FnOnce(&mut Manifest)) -> Result<Manifest, ArchiveError> {
        let mut changed = manifest();
        change(&mut changed);
        let bytes = serde_json::to_vec(&changed).expect("serialisable");
        Manifest::parse(&bytes).map(|(manifest, _)| manifest)
    }

    #[test]
    fn a_manifest_reads_back_and_names_every_entry_in_order() {
        let read = read(|_| {}).expect("is whole");
        assert_eq!(read, manifest());
        let names: Vec<String> = read.entries().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "head.json".to_owned(),
                "records/000000.jsonl".to_owned(),
                "records/000001.jsonl".to_owned(),
                "journal/000000.jsonl".to_owned(),
                format!("blobs/{}", "a".repeat(64)),
                format!("blobs/{}", "b".repeat(64)),
            ]
        );
        assert_eq!((read.content_bytes(), read.rows()), (14, 4));
    }

    #[test]
    fn manifests_that_can_not_be_true_are_refused() {
        type Change = fn(&mut Manifest);
        let changes: [(Change, &str); 9] = [
            (|m| m.format = "zip".into(), "of the format"),
            (|m| m.version = 2, "reads version 1"),
            (|m| m.session = "../x".into(), "no session id"),
            (|m| m.head.size_bytes = u64::MAX, "so large"),
            (|m| m.records[0].size_bytes = 1 << 40, "are allowed"),
            (|m| m.journal[0].rows = 1 << 40, "are allowed"),
            (|m| m.blobs.reverse(), "in order"),
            (|m| m.blobs[1] = m.blobs[0].clone(), "each listed once"),
            (|m| m.blobs[1].sha256 = "../../x".into(), "in order"),
        ];
        for (change, expected) in changes {
            let error = read(change).expect_err("refused").to_string();
            assert!(error.contains(expected), "{error}");
        }
        let digest = read(|m| m.blobs[1].sha256 = "x/../y".into()).expect_err("refused");
        assert!(digest.to_string().contains("is no digest"), "{digest}");
        assert!(Manifest::parse(b"{}").is_err());
        assert!(Manifest::parse(b"").is_err());
    }
}
