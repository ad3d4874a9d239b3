//! A data directory of its own for one test: a store and blobs as files, with a Session that has something of everything.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rat_things::api::FilePurpose;
use rat_things::backend::local::blobs::LocalBlobs;
use rat_things::backend::local::inventory::LocalInventory;
use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::files::NewFile;
use rat_things::engine::fsck::{Fsck, Options, Outcome};
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{
    BlobSource, Blobs, Change, Commit, CommitId, Guard, Key, Record, Store, Write,
};
use serde_json::Value;

use crate::cli::env::files_below;
use crate::engine::archives::{busy_life, import};
use crate::engine::bench::{Bench, OWNER, START_MS};
use crate::engine::checker::eventful;

/// See the module.
pub struct Place {
    pub dir: tempfile::TempDir,
    pub core: Core,
    pub clock: Arc<ManualClock>,
    pub store: Arc<SqliteStore>,
    pub blobs: LocalBlobs,
    /// A Session in the middle of everything.
    pub eventful: Bench,
    /// A Session with bytes, at rest.
    pub busy: SessionId,
}

impl Place {
    /// With both Sessions, sound.
    pub async fn new() -> Place {
        let dir = tempfile::tempdir().expect("a directory");
        let store = SqliteStore::open(&dir.path().join("store.db"), StoreOptions::default());
        let store = Arc::new(store.expect("opens"));
        let blobs = LocalBlobs::new(dir.path().join("blobs"));
        let clock = Arc::new(ManualClock::new(START_MS + 2_000_000));
        let core = Core {
            store: store.clone(),
            blobs: Arc::new(blobs.clone()),
            clock: clock.clone(),
            ids: Arc::new(SeededIds::new(3)),
            bell: Arc::new(MemoryBell::new()),
            secrets: Arc::new(MemorySecrets::new()),
            settings: Settings::default(),
        };
        let (_, busy, entries) = busy_life().await;
        import(&core, OWNER, &entries).await.expect("imports");
        let place = Place {
            dir,
            core,
            clock,
            store,
            blobs,
            eventful: eventful(),
            busy,
        };
        for record in place.eventful.records() {
            place.put(record.key, record.value).await;
        }
        place
    }

    /// What fsck says.
    pub async fn fsck(&self, options: Options) -> Outcome {
        let inventory = LocalInventory::new(self.store.clone(), self.blobs.clone());
        Fsck::new(&self.core, &inventory, options, &|_| {})
            .run()
            .await
            .expect("runs")
    }

    /// Everything is read, nothing is changed: the findings, one line each.
    pub async fn findings(&self) -> Vec<String> {
        let outcome = self.fsck(THOROUGH).await;
        assert_eq!(outcome.restless, []);
        outcome
            .found
            .iter()
            .map(|f| f.finding.to_string())
            .collect()
    }

    async fn commit(&self, key: Key, change: Change) {
        let commit = Commit {
            id: CommitId::random(&*self.core.ids),
            writes: vec![Write {
                key,
                guard: Guard::Any,
                change,
            }]
            .into(),
        };
        self.store.commit(commit).await.expect("stored");
    }

    /// Puts a row behind the engine's back.
    pub async fn put(&self, key: Key, value: Vec<u8>) {
        self.commit(key, Change::Put(value)).await;
    }

    /// Loses a row.
    pub async fn lose(&self, key: Key) {
        assert!(self.row(&key).await.is_some(), "{key} was never there");
        self.commit(key, Change::Delete).await;
    }

    /// A row.
    pub async fn row(&self, key: &Key) -> Option<Record> {
        self.store.get(key).await.expect("reads")
    }

    /// Changes a row that is JSON.
    pub async fn set(&self, key: Key, change: impl FnOnce(&mut Value)) {
        let record = self.row(&key).await.expect("is there");
        let mut value = serde_json::from_slice(&record.value).expect("JSON");
        change(&mut value);
        self.put(key, value.to_string().into_bytes()).await;
    }

    /// Stores bytes that no row names, in the scope of `session`, so long ago that nobody needs them.
    pub async fn orphan(&self, owner: &str, session: &SessionId, text: &str) -> PathBuf {
        let scope = self.core.scope(owner, session);
        let bytes = BlobSource::Bytes(text.to_owned().into());
        let blob = self.blobs.put(&scope, bytes).await.expect("stored");
        let path = self.file(owner, session, &blob.sha256);
        age(&path);
        path
    }

    /// Uploads a file; its id.
    pub async fn upload(&self, text: &str) -> String {
        let upload = self.core.begin_upload(OWNER).await.expect("begins");
        let from = Box::new(std::io::Cursor::new(text.to_owned()));
        let blob = self.core.upload_bytes(&upload, from, 1_000).await;
        let file = NewFile {
            filename: "a.txt".into(),
            purpose: FilePurpose::UserData,
            expires_after_s: Some(3_600),
        };
        let blob = blob.expect("stored");
        let made = self.core.end_upload(OWNER, &upload, blob, file).await;
        made.expect("made").id
    }

    /// The file of a blob.
    pub fn file(&self, owner: &str, session: &SessionId, sha256: &str) -> PathBuf {
        let scope = self.dir.path().join("blobs").join(owner);
        scope.join(session.as_str()).join(&sha256[..2]).join(sha256)
    }

    /// A blob that the resting Session names: its file.
    pub async fn some_bytes(&self) -> PathBuf {
        let scope = self.core.scope(OWNER, &self.busy);
        let stored = self.blobs.stored(&scope).await.expect("lists");
        self.file(OWNER, &self.busy, &stored[0].sha256)
    }

    /// A row of the Session in the middle of everything.
    pub fn mine(&self, sort: impl Into<String>) -> Key {
        Key::new(keys::session_partition(&self.eventful.session), sort)
    }

    /// A row of the lists.
    pub fn listed(&self, sort: impl Into<String>) -> Key {
        Key::new(keys::owner_partition(OWNER), sort)
    }
}

/// Everything is read, nothing is changed.
pub const THOROUGH: Options = Options {
    repair: false,
    contents: true,
};

/// What is safe is repaired.
pub const REPAIR: Options = Options {
    repair: true,
    contents: true,
};

/// A Session that does not exist.
pub fn nobody() -> SessionId {
    SessionId::parse(&format!("sess_{}", "z".repeat(26))).expect("well formed")
}

/// Makes a file old.
pub fn age(path: &Path) {
    let file = File::options().write(true).open(path).expect("opens");
    file.set_modified(UNIX_EPOCH + Duration::from_secs(1_000_000))
        .expect("ages");
}

/// Every file below a directory, with its content.
pub fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found: Vec<(PathBuf, Vec<u8>)> = files_below(dir)
        .into_iter()
        .map(|path| {
            let content = fs::read(&path).expect("reads");
            (path, content)
        })
        .collect();
    found.sort();
    found
}
