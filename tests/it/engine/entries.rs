//! An archive in memory: a list of entries, to write, to read, and to tamper with.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use rat_things::engine::archive::{ArchiveError, ArchiveSink, ArchiveSource, EntryHead};
use rat_things::engine::ids::sha256_hex;

/// Name and content of each entry, in order.
pub type Entries = Vec<(String, Vec<u8>)>;

type Hook = Box<dyn Fn() -> futures_util::future::BoxFuture<'static, ()> + Send + Sync>;

/// An archive on its way into memory.
#[derive(Default)]
pub struct Written {
    /// So far.
    pub entries: Entries,
    kept: Vec<u8>,
    /// How often what was kept aside was forgotten.
    pub begun_anew: usize,
    /// Called whenever rows are kept aside.
    pub meanwhile: Option<Hook>,
}

#[async_trait]
impl ArchiveSink for Written {
    async fn keep(&mut self, bytes: Bytes) -> Result<(), ArchiveError> {
        if let Some(meanwhile) = &self.meanwhile {
            meanwhile().await;
        }
        self.kept.extend_from_slice(&bytes);
        Ok(())
    }

    async fn forget_kept(&mut self) -> Result<(), ArchiveError> {
        self.kept.clear();
        self.begun_anew += 1;
        Ok(())
    }

    async fn begin(&mut self, name: &str, _: u64) -> Result<(), ArchiveError> {
        self.entries.push((name.to_owned(), Vec::new()));
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), ArchiveError> {
        let (_, content) = self.entries.last_mut().expect("one was begun");
        content.extend_from_slice(&bytes);
        Ok(())
    }

    async fn write_kept(&mut self, size_bytes: u64) -> Result<(), ArchiveError> {
        let rest = self.kept.split_off(size_bytes as usize);
        let some = std::mem::replace(&mut self.kept, rest);
        self.write(some.into()).await
    }

    async fn finish(&mut self) -> Result<(), ArchiveError> {
        assert!(self.kept.is_empty(), "something is left aside");
        Ok(())
    }
}

/// An archive that is read from memory.
pub struct Read {
    entries: std::vec::IntoIter<(String, Vec<u8>)>,
    content: Vec<u8>,
    /// Called once, before the entry of this place.
    meanwhile: Option<(usize, Arc<Mutex<Option<Hook>>>)>,
    passed: usize,
}

impl Read {
    /// From its beginning.
    pub fn new(entries: &Entries) -> Read {
        Read {
            entries: entries.clone().into_iter(),
            content: Vec::new(),
            meanwhile: None,
            passed: 0,
        }
    }

    /// The same; before the entry of this place something else happens.
    pub fn interrupted(entries: &Entries, place: usize, hook: Hook) -> Read {
        Read {
            meanwhile: Some((place, Arc::new(Mutex::new(Some(hook))))),
            ..Read::new(entries)
        }
    }
}

#[async_trait]
impl ArchiveSource for Read {
    async fn next(&mut self) -> Result<Option<EntryHead>, ArchiveError> {
        if let Some((place, hook)) = &self.meanwhile
            && *place == self.passed
        {
            let hook = hook.lock().expect("no test panics with it").take();
            if let Some(hook) = hook {
                hook().await;
            }
        }
        self.passed += 1;
        Ok(self.entries.next().map(|(name, content)| {
            let size_bytes = content.len() as u64;
            self.content = content;
            EntryHead { name, size_bytes }
        }))
    }

    async fn read(&mut self) -> Result<Bytes, ArchiveError> {
        // In small pieces, so that there are several.
        let rest = self.content.split_off(self.content.len().min(1_000));
        Ok(std::mem::replace(&mut self.content, rest).into())
    }
}

/// Changes the manifest.
pub fn manifest(entries: &mut Entries, change: impl FnOnce(&mut serde_json::Value)) {
    let mut value = serde_json::from_slice(&entries[0].1).expect("a manifest");
    change(&mut value);
    entries[0].1 = value.to_string().into_bytes();
}

/// Changes the rows of the first part of `kind` (`records` or `journal`), or the head, and makes the manifest say so.
pub fn rows(entries: &mut Entries, kind: &str, change: impl FnOnce(&mut Vec<String>)) {
    let name = match kind {
        "head" => "head.json".to_owned(),
        kind => format!("{kind}/000000.jsonl"),
    };
    let (_, content) = entries
        .iter_mut()
        .find(|(known, _)| *known == name)
        .expect("is there");
    let text = String::from_utf8(std::mem::take(content)).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let ending = if kind == "head" { "" } else { "\n" };
    *content = (lines.join("\n") + ending).into_bytes();
    let part = serde_json::json!({
        "size_bytes": content.len(), "sha256": sha256_hex(content), "rows": lines.len(),
    });
    manifest(entries, |value| match kind {
        "head" => value["head"] = part,
        kind => value[kind][0] = part,
    });
}
