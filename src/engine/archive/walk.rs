//! Strict reading: every entry where the manifest says, as long as it says, with the digest it says, and nothing else.
//!
//! Walking writes nothing; what is done with rows and bytes is the visitor's business. Nothing is believed before it is checked,
//! but for one thing: a visitor sees the pieces of a blob before its digest is known, as there is no room for all of it.

use async_trait::async_trait;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::error::ArchiveError;
use super::export::row_key;
use super::format::{Blob, Entry, MANIFEST, MANIFEST_MAX_BYTES, Manifest, Part};
use super::import::Progress;
use super::rows::{is_carried, is_of, named_blobs, parse_line, unsound};
use super::stream::ArchiveSource;
use crate::engine::check::SessionFacts;
use crate::engine::ids::{SessionId, sha256_hex};
use crate::engine::keys;
use crate::engine::ports::Record;
use crate::engine::session::Head;

/// Who is shown what an archive holds, in order.
#[async_trait]
pub(super) trait Visitor: Send {
    /// The archive's manifest and head: all that is known before the first row.
    async fn begin(&mut self, found: &Found) -> Result<(), ArchiveError>;

    /// A row that is whole.
    async fn row(&mut self, sort: String, value: Vec<u8>) -> Result<(), ArchiveError>;

    /// The bytes of a blob. What is left unread is checked all the same.
    async fn blob(&mut self, blob: &Blob, content: &mut Content<'_>) -> Result<(), ArchiveError>;
}

/// What the first two entries say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) manifest: Manifest,
    /// Of the manifest's bytes: names the archive.
    pub(super) digest: String,
    pub(super) session: SessionId,
    pub(super) head: Head,
}

/// The bytes of one entry, counted and hashed as they pass.
pub(super) struct Content<'a> {
    source: &'a mut dyn ArchiveSource,
    hash: Sha256,
    passed_bytes: u64,
    /// How far the archive has been read before this entry, and how long it is.
    before_bytes: u64,
    whole_bytes: u64,
    progress: Progress<'a>,
}

impl Content<'_> {
    /// The next bytes; none at the end.
    pub(super) async fn next(&mut self) -> Result<Bytes, ArchiveError> {
        let bytes = self.source.read().await?;
        self.hash.update(&bytes);
        self.passed_bytes += bytes.len() as u64;
        (self.progress)(self.before_bytes + self.passed_bytes, self.whole_bytes);
        Ok(bytes)
    }

    /// All bytes; callers know that the entry is small.
    async fn all(&mut self) -> Result<Vec<u8>, ArchiveError> {
        let mut all = Vec::new();
        loop {
            let bytes = self.next().await?;
            if bytes.is_empty() {
                return Ok(all);
            }
            all.extend_from_slice(&bytes);
        }
    }

    async fn end(mut self, name: &str, expected: &str) -> Result<(), ArchiveError> {
        while !self.next().await?.is_empty() {}
        match data_encoding::HEXLOWER.encode(&self.hash.finalize()) == expected {
            true => Ok(()),
            false => Err(ArchiveError::refused(format!(
                "{name} does not have the digest that the manifest gives"
            ))),
        }
    }
}

/// Reads a whole archive from its beginning to its end.
///
/// # Errors
/// [`ArchiveError::Refused`] at the first thing that is not as it must be; what the visitor answers.
pub(super) async fn walk(
    source: &mut dyn ArchiveSource,
    visitor: &mut dyn Visitor,
    progress: Progress<'_>,
) -> Result<Found, ArchiveError> {
    let first = manifest_bytes(source).await?;
    let (manifest, session) = Manifest::parse(&first)?;
    let digest = sha256_hex(&first);
    let whole_bytes = manifest.content_bytes();
    let names: Vec<String> = manifest.entries().map(|(name, _)| name).collect();
    let mut found: Option<Found> = None;
    let mut rows = Rows::default();
    let mut before_bytes = 0;
    for (at, (name, entry)) in manifest.entries().enumerate() {
        let size_bytes = enter(source, at, &names).await?;
        if size_bytes != entry.size_bytes() {
            return Err(ArchiveError::refused(format!(
                "{name} has {size_bytes} bytes, and the manifest says {}",
                entry.size_bytes()
            )));
        }
        let mut content = Content {
            source,
            hash: Sha256::new(),
            passed_bytes: 0,
            before_bytes,
            whole_bytes,
            progress,
        };
        before_bytes = before_bytes.saturating_add(size_bytes);
        if let Entry::Blob(blob) = entry {
            rows.end(&manifest, &session)?;
            visitor.blob(blob, &mut content).await?;
            content.end(&name, entry.sha256()).await?;
            continue;
        }
        let bytes = content.all().await?;
        content.end(&name, entry.sha256()).await?;
        match (&found, entry) {
            (Some(found), Entry::Records(part) | Entry::Journal(part)) => {
                let is_journal = matches!(entry, Entry::Journal(_));
                for (sort, value) in rows.take(found, &name, part, &bytes, is_journal)? {
                    visitor.row(sort, value).await?;
                }
            }
            _ => {
                let begun = Found {
                    manifest: manifest.clone(),
                    digest: digest.clone(),
                    session: session.clone(),
                    head: read_head(&manifest, &bytes)?,
                };
                rows.facts.take(&record(&session, keys::HEAD, bytes));
                visitor.begin(found.insert(begun)).await?;
            }
        }
    }
    rows.end(&manifest, &session)?;
    if let Some(more) = source.next().await? {
        return Err(stray(&more.name, names.len(), &names));
    }
    found.ok_or_else(|| ArchiveError::refused("it has no head"))
}

async fn manifest_bytes(source: &mut dyn ArchiveSource) -> Result<Vec<u8>, ArchiveError> {
    match source.next().await? {
        Some(entry) if entry.name == MANIFEST => {
            if entry.size_bytes > MANIFEST_MAX_BYTES {
                return Err(ArchiveError::refused(format!(
                    "{MANIFEST} has {} bytes, where {MANIFEST_MAX_BYTES} are allowed",
                    entry.size_bytes
                )));
            }
        }
        Some(entry) => return Err(stray(&entry.name, 0, &[MANIFEST.to_owned()])),
        None => return Err(ArchiveError::refused("it is empty")),
    }
    let mut all = Vec::new();
    loop {
        let bytes = source.read().await?;
        if bytes.is_empty() {
            return Ok(all);
        }
        all.extend_from_slice(&bytes);
    }
}

/// Goes to the entry that must come next, and answers the length that it claims.
async fn enter(
    source: &mut dyn ArchiveSource,
    at: usize,
    names: &[String],
) -> Result<u64, ArchiveError> {
    match source.next().await? {
        Some(entry) if entry.name == names[at] => Ok(entry.size_bytes),
        Some(entry) => Err(stray(&entry.name, at, names)),
        None => Err(ArchiveError::refused(format!(
            "it ends before {}",
            names[at]
        ))),
    }
}

/// An entry that is not the one that must come at this place.
fn stray(name: &str, at: usize, names: &[String]) -> ArchiveError {
    let shown: String = name.chars().take(100).collect();
    let leaves = name.starts_with('/') || name.split(['/', '\\']).any(|part| part == "..");
    let known = names.iter().position(|known| known == name);
    ArchiveError::refused(match (leaves, known, names.get(at)) {
        (true, _, _) => format!("the entry {shown:?} leads out of it"),
        (_, Some(place), _) if place < at => format!("the entry {shown:?} is there twice"),
        (_, None, None) => format!("the entry {shown:?} does not belong to it"),
        (_, None, Some(expected)) => {
            format!("the entry {shown:?} does not belong to it, where {expected} must come")
        }
        (_, Some(_), expected) => {
            let expected = expected.map_or("", String::as_str);
            format!("the entry {shown:?} comes too early, before {expected}")
        }
    })
}

fn read_head(manifest: &Manifest, bytes: &[u8]) -> Result<Head, ArchiveError> {
    let refused = |why: String| ArchiveError::refused(format!("head.json: {why}"));
    let head: Head = serde_json::from_slice(bytes).map_err(|e| refused(e.to_string()))?;
    if head.revision != manifest.revision {
        return Err(refused(
            "it is of another revision than the manifest says".to_owned(),
        ));
    }
    if head.deleted_ms.is_some() {
        return Err(refused("its session is deleted".to_owned()));
    }
    Ok(head)
}

/// What is remembered of rows.
#[derive(Default)]
struct Rows {
    last: Option<String>,
    facts: SessionFacts,
    ended: bool,
}

impl Rows {
    /// The rows of a part, each checked.
    fn take(
        &mut self,
        found: &Found,
        name: &str,
        part: &Part,
        bytes: &[u8],
        is_journal: bool,
    ) -> Result<Vec<(String, Vec<u8>)>, ArchiveError> {
        let mut taken = Vec::new();
        let Some(lines) = bytes.strip_suffix(b"\n") else {
            return Err(ArchiveError::refused(format!("{name} is cut off")));
        };
        for (n, line) in lines.split(|b| *b == b'\n').enumerate() {
            let refused =
                |why: String| ArchiveError::refused(format!("{name}, row {}: {why}", n + 1));
            let (sort, value) = parse_line(line).map_err(refused)?;
            let shown: String = sort.chars().take(100).collect();
            let in_journal = sort.starts_with("journal/");
            if !is_carried(&sort) || !is_of(&found.head, &sort) || in_journal != is_journal {
                return Err(refused(format!("{shown:?} can't be a row of this session")));
            }
            // The journal has its own parts, behind all others.
            let last = self.last.as_ref();
            let last = last.filter(|last| last.starts_with("journal/") == is_journal);
            if last.is_some_and(|last| *last >= sort) {
                return Err(refused(format!(
                    "{shown:?} is there twice, or out of order"
                )));
            }
            let row = record(&found.session, &sort, value);
            self.facts.take(&row);
            if let Some((_, why)) = self.facts.unreadable().next() {
                return Err(refused(format!("{shown}: {why}")));
            }
            self.last = Some(sort.clone());
            taken.push((sort, row.value));
        }
        match taken.len() as u64 == part.rows {
            true => Ok(taken),
            false => Err(ArchiveError::refused(format!(
                "{name} has {} rows, and the manifest says {}",
                taken.len(),
                part.rows
            ))),
        }
    }

    /// All rows are there: they must make a sound Session, and the blobs must be exactly those that they name.
    fn end(&mut self, manifest: &Manifest, session: &SessionId) -> Result<(), ArchiveError> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        if let Some(first) = unsound(&self.facts, session, manifest.exported_ms).first() {
            return Err(ArchiveError::refused(format!(
                "the session in it is not sound: {first}"
            )));
        }
        let named = named_blobs(&self.facts).map_err(|sha256| {
            ArchiveError::refused(format!("its rows name the bytes {sha256} with two lengths"))
        })?;
        let listed = manifest.blobs.iter();
        let listed = listed.map(|blob| (&blob.sha256, &blob.size_bytes));
        match named.iter().eq(listed) {
            true => Ok(()),
            false => Err(ArchiveError::refused(
                "its blobs are not those that its rows name",
            )),
        }
    }
}

fn record(session: &SessionId, sort: &str, value: Vec<u8>) -> Record {
    Record {
        key: row_key(session, sort),
        version: 1,
        value,
    }
}
