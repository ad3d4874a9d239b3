//! Chores: what is to be erased and is in no Session: bytes and sealed values that no record names (any more), and what expired.
//!
//! A chore is a row of its own under the time at which it is due, in one partition for all owners. It is written before there is
//! anything to erase: bytes go into a scope only after a chore says that the scope is erased later, and the commit that first names
//! them removes that chore. So a crash at any point leaves either a record or a chore, and no list of all bytes is ever needed.
//! Surprising: the chore is the fence, too. Once it was done, the commit that would have removed it fails.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::artifact::KEPT_MS;
use super::check::SessionFacts;
use super::core::{Core, decode, encode};
use super::error::EngineError;
use super::ids::SessionId;
use super::keys;
use super::ports::{
    BlobError, BlobRef, BlobScope, Change, Guard, Key, Range, Record, StoreError, Write,
};
use super::superseded::Sweep;

/// What nothing names by then is erased. An upload must be over long before.
pub const UNNAMED_MS: u64 = 24 * 3_600_000;
/// How often somebody looks whether a chore is due.
const LOOK_MS: u64 = 30_000;
/// Rows of a Session read at once.
const ROWS_AT_ONCE: usize = 256;
/// Chores read at once.
const CHORES_AT_ONCE: usize = 64;

/// What is to be done, to what the row's key names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chore {
    /// Erase the scope, unless a record named it in time.
    Unnamed,
    /// Erase the scope: bytes and sealed values.
    Scope,
    /// Delete the file, which has expired.
    File,
    /// Remove what was in the vault, which is deleted.
    Vault,
    /// Remove these bytes of a Session, unless a row of it names them.
    Blob {
        /// The Session.
        session: SessionId,
        /// The bytes.
        sha256: String,
    },
    /// Remove these bytes of a harness's own state, unless a row of the Session names them.
    Superseded {
        /// The Session.
        session: SessionId,
        /// The bytes.
        sha256s: Vec<String>,
    },
}

impl Chore {
    /// Part of the key of one that is about superseded bytes.
    pub(super) const SUPERSEDED: &str = "superseded";

    /// Its part of the row's key.
    fn word(&self) -> &'static str {
        match self {
            // One becomes the other.
            Chore::Unnamed | Chore::Scope => "scope",
            Chore::File => "file",
            Chore::Vault => "vault",
            Chore::Blob { .. } => "blob",
            Chore::Superseded { .. } => Chore::SUPERSEDED,
        }
    }
}

/// Says that a scope, which holds nothing yet, is erased unless a record names it in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    key: Key,
    scope: BlobScope,
}

impl Promise {
    /// Where the bytes, or sealed values, go.
    pub fn scope(&self) -> &BlobScope {
        &self.scope
    }

    /// For the commit whose record names the scope from then on: it fails once the scope was erased.
    pub(super) fn redeemed(&self) -> Write {
        Write {
            key: self.key.clone(),
            guard: Guard::Version(1),
            change: Change::Delete,
        }
    }
}

impl Core {
    /// A scope of this name to put something in. Nothing may be in it, and nobody else may use the name.
    pub(super) async fn promise(&self, owner: &str, name: &str) -> Result<Promise, EngineError> {
        let due_ms = self.clock.now_ms() + UNNAMED_MS;
        let write = self.chore(owner, name, due_ms, &Chore::Unnamed);
        let key = write.key.clone();
        self.commit_writes(vec![write]).await?;
        let scope = scope_of(owner, name);
        Ok(Promise { key, scope })
    }

    /// The write that has something done.
    pub(super) fn chore(&self, owner: &str, name: &str, due_ms: u64, chore: &Chore) -> Write {
        Write {
            key: keys::chore(due_ms, owner, chore.word(), name),
            guard: Guard::Any,
            change: Change::Put(encode(chore)),
        }
    }

    /// Does a chore now rather than when somebody looks. What fails is done then.
    pub(super) async fn do_now(&self, key: &Key) {
        let done = match self.store.get(key).await {
            Ok(Some(record)) => self.do_chore(&record).await,
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = done {
            tracing::warn!(%key, %error, "something is erased later");
        }
    }

    /// Passes on how something ended that a promise was for. If it ended badly, the promise is broken: if it may have been redeemed all
    /// the same, there is nothing to break.
    pub(super) async fn settle_promise<T>(
        &self,
        promise: &Promise,
        ended: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if ended.is_err() {
            self.break_promise(promise).await;
        }
        ended
    }

    /// Gives up what was promised. What can't be erased now is erased later.
    pub(super) async fn break_promise(&self, promise: &Promise) {
        self.do_now(&promise.key).await;
    }

    /// Does every chore that is due. One that fails stays and keeps no other from being done.
    ///
    /// # Errors
    /// The chores could not be read.
    pub async fn do_chores(&self) -> Result<(), EngineError> {
        let mut range = Range {
            partition: keys::CHORES.to_owned(),
            from: String::new(),
            until: Some(format!("{:015}", self.clock.now_ms() + 1)),
            reverse: false,
            limit: CHORES_AT_ONCE,
        };
        loop {
            let page = self.store.range(&range).await?;
            let mut sweeps = Vec::new();
            for record in &page.records {
                if let Some(sweep) = Sweep::of(record) {
                    sweep.join(&mut sweeps);
                } else if let Err(error) = self.do_chore(record).await {
                    tracing::warn!(key = %record.key, %error, "something can't be erased now");
                }
            }
            for sweep in sweeps {
                let session = sweep.session.clone();
                if let Err(error) = self.sweep(sweep).await {
                    tracing::warn!(%session, %error, "superseded bytes can't be removed now");
                }
            }
            match page.records.last() {
                Some(last) if page.more => range.from = format!("{}\0", last.key.sort),
                _ => return Ok(()),
            }
        }
    }

    /// Does chores as they come due, until `stop` turns true.
    pub async fn keep_tidy(self, mut stop: watch::Receiver<bool>) {
        let mut looking = tokio::time::interval(Duration::from_millis(LOOK_MS));
        looking.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Whoever could stop it is gone: so is whatever it works for.
                _ = stop.wait_for(|stop| *stop) => return,
                _ = looking.tick() => {}
            }
            if let Err(error) = self.do_chores().await {
                tracing::warn!(%error, "what is to be erased can't be read now");
            }
        }
    }

    async fn do_chore(&self, record: &Record) -> Result<(), EngineError> {
        let key = &record.key;
        let damaged = || EngineError::damaged(key, "it is no chore");
        let (owner, name) = keys::parse_chore(&key.sort).ok_or_else(damaged)?;
        match decode(record)? {
            Chore::Unnamed => {
                // From here on no record can come to name it.
                let fall = Write {
                    key: key.clone(),
                    guard: Guard::Version(record.version),
                    change: Change::Put(encode(&Chore::Scope)),
                };
                match self.commit_writes(vec![fall]).await {
                    Err(StoreError::Conflict(_)) => return Ok(()),
                    fell => fell?,
                }
                self.erase_scope(owner, name).await?;
            }
            Chore::Scope => self.erase_scope(owner, name).await?,
            Chore::File => self.expire_file(owner, name).await?,
            Chore::Vault => self.empty_vault(owner, name).await?,
            Chore::Blob { session, sha256 } => {
                self.remove_unnamed(owner, &session, &sha256).await?;
            }
            Chore::Superseded { .. } => {
                let sweep = Sweep::of(record).ok_or_else(damaged)?;
                return self.sweep(sweep).await;
            }
        }
        let done = Write {
            key: key.clone(),
            guard: Guard::Any,
            change: Change::Delete,
        };
        self.commit_writes(vec![done]).await?;
        Ok(())
    }

    /// Removes bytes that no row of a Session names.
    async fn remove_unnamed(
        &self,
        owner: &str,
        session: &SessionId,
        sha256: &str,
    ) -> Result<(), EngineError> {
        match self.load(session).await? {
            Some(loaded) if loaded.head.owner == owner && loaded.head.deleted_ms.is_none() => {}
            // It is erased whole, or somebody else's.
            _ => return Ok(()),
        }
        let unnamed = self.unnamed(session, [sha256.to_owned()].into());
        match unnamed.await?.is_empty() {
            true => Ok(()),
            false => self.remove_or_later(owner, session, sha256).await,
        }
    }

    /// Removes bytes that no row named just now. If somebody stored them again meanwhile, it is looked at again later.
    pub(super) async fn remove_or_later(
        &self,
        owner: &str,
        session: &SessionId,
        sha256: &str,
    ) -> Result<(), EngineError> {
        let now_ms = self.clock.now_ms();
        let scope = self.scope(owner, session);
        let before_ms = now_ms.saturating_sub(KEPT_MS);
        if self.blobs.remove(&scope, sha256, before_ms).await? {
            return Ok(());
        }
        let blob = BlobRef {
            sha256: sha256.to_owned(),
            size_bytes: 0,
        };
        match self.blobs.open(&scope, &blob, 0).await {
            Err(BlobError::Missing(_)) => return Ok(()),
            // Of whatever length they are: they are there.
            Ok(_) | Err(BlobError::Corrupt(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let name = format!("{session}.{sha256}");
        let chore = Chore::Blob {
            session: session.clone(),
            sha256: sha256.to_owned(),
        };
        let again = self.chore(owner, &name, now_ms + KEPT_MS, &chore);
        self.commit_writes(vec![again]).await?;
        Ok(())
    }

    /// Those of these bytes that no row of the Session names.
    pub(super) async fn unnamed(
        &self,
        session: &SessionId,
        mut digests: BTreeSet<String>,
    ) -> Result<BTreeSet<String>, EngineError> {
        let mut range = Range {
            partition: keys::session_partition(session),
            from: String::new(),
            until: None,
            reverse: false,
            limit: ROWS_AT_ONCE,
        };
        loop {
            let page = self.store.range(&range).await?;
            let mut facts = SessionFacts::new();
            page.records.iter().for_each(|record| facts.take(record));
            // What can't be read may name them.
            if facts.unreadable().next().is_some() {
                digests.clear();
            }
            for (_, blob) in facts.blobs() {
                digests.remove(&blob.sha256);
            }
            match page.records.last() {
                Some(last) if page.more && !digests.is_empty() => {
                    range.from = format!("{}\0", last.key.sort);
                }
                _ => return Ok(digests),
            }
        }
    }

    async fn erase_scope(&self, owner: &str, name: &str) -> Result<(), EngineError> {
        let scope = scope_of(owner, name);
        self.secrets.erase(&scope).await?;
        self.blobs.delete_scope(&scope).await?;
        Ok(())
    }
}

/// Where the bytes and sealed values of one record are.
pub(super) fn scope_of(owner: &str, name: &str) -> BlobScope {
    BlobScope {
        owner: owner.to_owned(),
        session: name.to_owned(),
    }
}
