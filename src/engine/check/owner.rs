//! An owner's own records: its lists agree with each other.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, Invariant, Repair};
use crate::api::Agent;
use crate::engine::access::AccessKey;
use crate::engine::credentials::CredentialRow;
use crate::engine::files::FileRow;
use crate::engine::ids::{Kind, well_formed};
use crate::engine::keys;
use crate::engine::ports::{BlobRef, Key, Record};
use crate::engine::receipt::CreateReceipt;
use crate::engine::templates::{TemplateFrom, TemplateRow};
use crate::engine::vaults::VaultRow;

/// Everything about one owner that the rules compare; given row by row, like a Session's.
#[derive(Clone, Debug, Default)]
pub struct OwnerFacts {
    sessions_by_time: BTreeSet<(u64, String)>,
    sessions: BTreeMap<String, u64>,
    agents_by_time: BTreeSet<String>,
    agents: BTreeSet<String>,
    /// Sessions of environments.
    environments: BTreeMap<String, String>,
    /// What else the owner keeps, by collection and id: creation times as the row under the id and the list have them.
    kept: BTreeMap<(String, String), Times>,
    /// Scopes of their own that rows name, by the row, and what of their bytes.
    scopes: BTreeMap<String, Named>,
    bad: BTreeMap<String, String>,
}

/// Creation times (Unix ms) of one thing: under its id, and in the list.
type Times = (Option<u64>, Option<u64>);

/// A scope, and the bytes in it that a row names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The scope's name in its owner's namespace.
    pub scope: String,
    /// The bytes.
    pub blobs: Vec<BlobRef>,
    /// How many sealed values.
    pub sealed: usize,
}

impl OwnerFacts {
    /// Of an owner of whom no row was seen.
    pub fn new() -> OwnerFacts {
        OwnerFacts::default()
    }

    /// Takes a row of the owner's partition.
    pub fn take(&mut self, record: &Record) {
        let sort = &record.key.sort;
        if let Err(why) = self.read(sort, record) {
            self.bad.insert(sort.clone(), why);
        }
    }

    /// Forgets a row that is no more.
    pub fn forget(&mut self, sort: &str) {
        self.bad.remove(sort);
        match sort.split_once('/') {
            Some(("sessions", rest)) => {
                if let Some((at_ms, id)) = timed(rest) {
                    self.sessions_by_time.remove(&(at_ms, id.to_owned()));
                }
            }
            Some(("session-id", id)) => drop(self.sessions.remove(id)),
            Some(("agents", rest)) => {
                if let Some((_, id)) = timed(rest) {
                    self.agents_by_time.remove(id);
                }
            }
            Some(("agent", id)) => drop(self.agents.remove(id)),
            Some(("environment", id)) => drop(self.environments.remove(id)),
            _ => {
                if let Some((of, id, at)) = kept(sort) {
                    let times = self.kept.entry((of, id.to_owned())).or_default();
                    match at {
                        None => times.0 = None,
                        Some(_) => times.1 = None,
                    }
                    self.scopes.remove(sort);
                }
            }
        }
    }

    /// Scopes that rows name, each with the sort key of its row.
    pub fn scopes(&self) -> impl Iterator<Item = (&str, &Named)> {
        let scopes = self.scopes.iter();
        scopes.map(|(sort, named)| (sort.as_str(), named))
    }

    /// Whether every row could be read.
    pub fn is_readable(&self) -> bool {
        self.bad.is_empty()
    }

    /// Sessions that are listed by id.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.sessions.keys().map(String::as_str)
    }

    /// Whether the list by id has this Session.
    pub fn lists_by_id(&self, session: &str) -> bool {
        self.sessions.contains_key(session)
    }

    /// Whether the list by time has this Session under this creation time (Unix ms).
    pub fn lists_by_time(&self, session: &str, created_ms: u64) -> bool {
        self.sessions_by_time
            .contains(&(created_ms, session.to_owned()))
    }

    /// Where the lists of the owner with this namespace contradict each other, and rows that can't be read.
    pub fn findings(&self, owner: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut add = |invariant, sort: String, what: String| {
            found.push(Finding {
                invariant,
                key: Key::new(keys::owner_partition(owner), sort),
                what,
                repair: Repair::ByHand,
            });
        };
        for (sort, why) in &self.bad {
            add(Invariant::Form, sort.clone(), why.clone());
        }
        for (at_ms, id) in &self.sessions_by_time {
            if self.sessions.get(id) != Some(at_ms) {
                let what = "the list by id does not have this session".to_owned();
                add(Invariant::I11, keys::session_by_time(*at_ms, id), what);
            }
        }
        for (id, at_ms) in &self.sessions {
            if !self.lists_by_time(id, *at_ms) {
                let what = "the list by time does not have this session".to_owned();
                add(Invariant::I11, keys::session_by_id(id), what);
            }
        }
        for id in self.agents.symmetric_difference(&self.agents_by_time) {
            let what = "this agent is saved and not listed, or listed and not saved".to_owned();
            add(Invariant::I11, keys::agent(id), what);
        }
        for (id, session) in &self.environments {
            if !self.lists_by_id(session) {
                let what = "its session is not in the lists".to_owned();
                add(Invariant::I11, keys::environment(id), what);
            }
        }
        for ((of, id), (by_id, by_time)) in &self.kept {
            if by_id != by_time {
                let what = "the row under this id and the list do not agree".to_owned();
                add(Invariant::I11, format!("{of}/{id}"), what);
            }
        }
        found
    }

    fn read(&mut self, sort: &str, record: &Record) -> Result<(), String> {
        let unknown = || format!("{sort:?} is no row of an owner");
        match sort.split_once('/').ok_or_else(unknown)? {
            ("sessions", rest) => {
                let (at_ms, id) = timed(rest).ok_or_else(unknown)?;
                self.sessions_by_time.insert((at_ms, id.to_owned()));
            }
            ("session-id", id) => {
                self.sessions.insert(id.to_owned(), decode(record)?);
            }
            ("agents", rest) => {
                let (_, id) = timed(rest).ok_or_else(unknown)?;
                self.agents_by_time.insert(id.to_owned());
            }
            ("agent", id) => {
                decode::<Agent>(record)?;
                self.agents.insert(id.to_owned());
            }
            ("key", id) => {
                let key: AccessKey = decode(record)?;
                if key.id != id || !well_formed(Kind::AccessKey, id) {
                    return Err(format!("it is the key {:?}", key.id));
                }
            }
            ("environment", id) => {
                self.environments.insert(id.to_owned(), decode(record)?);
            }
            ("create", _) => {
                let receipt: CreateReceipt = decode(record)?;
                if !well_formed(Kind::Session, &receipt.session) {
                    return Err(format!("{:?} is no session", receipt.session));
                }
            }
            _ => {
                let (of, id, at) = kept(sort).ok_or_else(unknown)?;
                let listed = match at {
                    None => None,
                    Some(at_ms) => {
                        if let Some(named) = named(&of, id, record)? {
                            self.scopes.insert(sort.to_owned(), named);
                        }
                        Some(at_ms)
                    }
                };
                let times = self.kept.entry((of, id.to_owned())).or_default();
                match listed {
                    None => times.0 = Some(decode(record)?),
                    Some(at_ms) => times.1 = Some(at_ms),
                }
            }
        }
        Ok(())
    }
}

/// Collection, id and, in a list, creation time of a row of [`crate::engine::owned`].
fn kept(sort: &str) -> Option<(String, &str, Option<u64>)> {
    let (of, rest) = sort.split_once('/')?;
    match of {
        "file" | "vault" | "template" => Some((of.to_owned(), rest, None)),
        "files" | "vaults" | "templates" => {
            let (at_ms, id) = timed(rest)?;
            Some((of.trim_end_matches('s').to_owned(), id, Some(at_ms)))
        }
        "credential" => {
            let (vault, id) = rest.split_once('/')?;
            Some((format!("credential/{vault}"), id, None))
        }
        "credentials" => {
            let (vault, rest) = rest.split_once('/')?;
            let (at_ms, id) = timed(rest)?;
            Some((format!("credential/{vault}"), id, Some(at_ms)))
        }
        _ => None,
    }
}

/// The scope that a row in the list of a collection names, if it names one.
fn named(of: &str, id: &str, record: &Record) -> Result<Option<Named>, String> {
    match of {
        "file" => {
            let row: FileRow = decode(record)?;
            Ok(Some(Named {
                scope: id.to_owned(),
                blobs: vec![row.blob],
                sealed: 0,
            }))
        }
        "template" => {
            let row: TemplateRow = decode(record)?;
            let blobs = row.files.into_iter().filter_map(|file| match file.from {
                TemplateFrom::FileId(_) => None,
                TemplateFrom::Blob(blob) => Some(blob),
            });
            Ok(row.scope.map(|scope| Named {
                scope,
                blobs: blobs.collect(),
                sealed: usize::from(row.variables.is_some()),
            }))
        }
        "vault" => decode::<VaultRow>(record).map(|_| None),
        of if of.starts_with("credential/") => {
            let row: CredentialRow = decode(record)?;
            Ok(Some(Named {
                scope: row.sealed.scope,
                blobs: Vec::new(),
                sealed: 1,
            }))
        }
        _ => Ok(None),
    }
}

/// Time and id of `<time>/<id>`.
fn timed(rest: &str) -> Option<(u64, &str)> {
    let (at_ms, id) = rest.split_once('/')?;
    Some((at_ms.parse().ok()?, id))
}

fn decode<T: serde::de::DeserializeOwned>(record: &Record) -> Result<T, String> {
    serde_json::from_slice(&record.value).map_err(|e| format!("it can't be read: {e}"))
}
