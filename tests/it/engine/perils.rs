//! What can happen to the programs of a world: calls that fail, and programs that die or freeze at a chosen instant.
//!
//! Every port that a worker or a daemon uses is wrapped, and each call is an instant before and one after. A [`Fuse`] counts the
//! instants of one role and, at the chosen one, stops that one program for ever: nothing of it goes on, as after `kill -9`. A
//! frozen program can be thawed later: a zombie.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use rat_things::backend::memory::{Fault, MemoryStore};
use rat_things::engine::ports::{
    BlobError, BlobRef, BlobScope, BlobSource, Blobs, CaptureLimits, Commit, Committed, Courier,
    Environment, EnvironmentError, EnvironmentSpec, Environments, ExecEnd, ExecSpec, FilesQuery,
    Isolation, Key, Model, ModelError, ModelEvent, ModelRequest, ModelStream, Opened, Outputs,
    Page, Parcel, Range, Record, Sent, Store, StoreError, WorkspaceError, WorkspaceFiles,
};
use tokio::io::AsyncRead;
use tokio::sync::{Notify, mpsc, watch};

/// How one commit fails.
pub const WAYS: [Fault; 3] = [
    Fault::Throttle,
    Fault::ApplyThenUnknown,
    Fault::FailBefore(StoreError::Unavailable(String::new())),
];

/// Makes the n-th commit, counted from 0 in the order of arrival, fail in one way.
pub struct NthCommit {
    n: usize,
    way: Fault,
    seen: AtomicUsize,
}

impl NthCommit {
    /// The plan.
    pub fn new(n: usize, way: Fault) -> Arc<NthCommit> {
        Arc::new(NthCommit {
            n,
            way,
            seen: AtomicUsize::new(0),
        })
    }

    /// A store of this plan.
    pub fn store(self: &Arc<Self>) -> MemoryStore {
        let plan = self.clone();
        MemoryStore::with_faults(Box::new(move |_| {
            match plan.seen.fetch_add(1, Ordering::SeqCst) == plan.n {
                true => plan.way.clone(),
                false => Fault::None,
            }
        }))
    }

    /// Whether there were enough commits.
    pub fn happened(&self) -> bool {
        self.seen.load(Ordering::SeqCst) > self.n
    }
}

/// What a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs Sessions.
    Worker,
    /// It dispatches.
    Daemon,
    /// It carries deliveries out.
    Deliverer,
}

/// What happens at the chosen instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peril {
    /// Nothing.
    None,
    /// The program stops; only [`Life::thaw`] lets it go on.
    Stops,
    /// The call fails: the store answers that it is unavailable. (before store calls only)
    Fails,
    /// The program stops with its commit applied; thawed, it is told that nobody knows whether it was. (after commits only)
    LosesAnswer,
}

/// Counts the instants of one role, and does something at one of them.
pub struct Fuse {
    role: Role,
    at: usize,
    peril: Peril,
    seen: AtomicUsize,
    /// Which life has an environment open.
    holders: Mutex<HashMap<String, Arc<Life>>>,
    blown: watch::Sender<Option<(Arc<Life>, &'static str)>>,
}

impl Fuse {
    /// A fuse that never blows.
    pub fn none() -> Arc<Fuse> {
        Fuse::new(Role::Worker, 0, Peril::None)
    }

    /// At instant `at`, counted from 0, of programs in this role.
    pub fn new(role: Role, at: usize, peril: Peril) -> Arc<Fuse> {
        Arc::new(Fuse {
            role,
            at,
            peril,
            seen: AtomicUsize::new(0),
            holders: Mutex::default(),
            blown: watch::Sender::new(None),
        })
    }

    /// Whether the instant was reached.
    pub fn blown(&self) -> bool {
        self.blown.borrow().is_some()
    }

    /// Where it blew.
    pub fn place(&self) -> &'static str {
        self.blown
            .borrow()
            .as_ref()
            .map_or("nowhere", |(_, place)| place)
    }

    fn hold(&self, environment: &str, life: &Arc<Life>) -> Option<Arc<Life>> {
        let mut holders = self.holders.lock().expect("no test panics with it");
        holders.insert(environment.to_owned(), life.clone())
    }

    fn holds(&self, environment: &str, life: &Arc<Life>) -> bool {
        let holders = self.holders.lock().expect("no test panics with it");
        holders
            .get(environment)
            .is_some_and(|holder| Arc::ptr_eq(holder, life))
    }

    /// Waits until it blows; whose life it was.
    pub async fn victim(&self) -> Arc<Life> {
        let mut blown = self.blown.subscribe();
        let found = blown.wait_for(Option::is_some).await;
        let (life, _) = found
            .expect("the fuse is alive")
            .clone()
            .expect("waited for");
        life
    }
}

/// One life of a program.
pub struct Life {
    role: Role,
    /// The generation of the only run of a worker.
    pub generation: u64,
    fuse: Arc<Fuse>,
    stopped: AtomicBool,
    thawed: Notify,
}

impl Life {
    /// A life that this fuse may end.
    pub fn new(role: Role, generation: u64, fuse: &Arc<Fuse>) -> Arc<Life> {
        Arc::new(Life {
            role,
            generation,
            fuse: fuse.clone(),
            stopped: AtomicBool::new(false),
            thawed: Notify::new(),
        })
    }

    /// From now on nothing of it goes on.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// It goes on where it stopped.
    pub fn thaw(&self) {
        self.stopped.store(false, Ordering::SeqCst);
        self.thawed.notify_waiters();
    }

    async fn while_stopped(&self) {
        loop {
            let thawed = self.thawed.notified();
            tokio::pin!(thawed);
            thawed.as_mut().enable();
            if !self.stopped.load(Ordering::SeqCst) {
                return;
            }
            thawed.await;
        }
    }

    /// One instant. Whether the call fails here.
    async fn instant(self: &Arc<Self>, place: &'static str) -> bool {
        self.while_stopped().await;
        let fuse = &self.fuse;
        if fuse.peril == Peril::None || fuse.role != self.role {
            return false;
        }
        let counts = match fuse.peril {
            Peril::Fails => place == "store before",
            Peril::LosesAnswer => place == "commit after",
            Peril::Stops | Peril::None => true,
        };
        if !counts {
            return false;
        }
        if fuse.seen.fetch_add(1, Ordering::SeqCst) != fuse.at {
            return false;
        }
        if fuse.peril != Peril::Fails {
            self.stop();
        }
        fuse.blown.send_replace(Some((self.clone(), place)));
        self.while_stopped().await;
        fuse.peril != Peril::Stops
    }

    async fn store_call(self: &Arc<Self>) -> Result<(), StoreError> {
        match self.instant("store before").await {
            true => Err(StoreError::Unavailable("by plan".into())),
            false => Ok(()),
        }
    }
}

/// Any port as one program has it.
pub struct Of<P: ?Sized> {
    /// Whose.
    pub life: Arc<Life>,
    /// The port.
    pub port: Arc<P>,
}

impl<P: ?Sized> Of<P> {
    /// `port` as `life` has it.
    pub fn new(life: &Arc<Life>, port: Arc<P>) -> Arc<Of<P>> {
        Arc::new(Of {
            life: life.clone(),
            port,
        })
    }
}

#[async_trait]
impl Store for Of<dyn Store> {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.life.store_call().await?;
        self.port.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.life.store_call().await?;
        self.port.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.life.store_call().await?;
        self.port.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.life.store_call().await?;
        let answer = self.port.commit(commit).await;
        match self.life.instant("commit after").await {
            true => Err(StoreError::Unknown("by plan".into())),
            false => answer,
        }
    }
}

#[async_trait]
impl Blobs for Of<dyn Blobs> {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        self.life.instant("blob before").await;
        let answer = self.port.put(scope, source).await;
        self.life.instant("blob after").await;
        answer
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        self.life.instant("blob read").await;
        self.port.get(scope, blob).await
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        self.port.open(scope, blob, offset).await
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        self.port.has(scope, blob).await
    }

    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        self.port.remove(scope, sha256, before_ms).await
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        self.life.instant("blobs deleted").await;
        self.port.delete_scope(scope).await
    }
}

#[async_trait]
impl Environments for Of<dyn Environments> {
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError> {
        self.life.instant("environment before").await;
        // One process holds an environment at a time; opening it ends an earlier holder's.
        let before = self.life.fuse.hold(&spec.id, &self.life);
        if before.is_some_and(|holder| !Arc::ptr_eq(&holder, &self.life)) {
            self.port.close(&spec.id).await;
        }
        let opened = self.port.open(spec).await?;
        Ok(Opened {
            environment: Of::new(&self.life, opened.environment),
            ..opened
        })
    }

    async fn close(&self, id: &str) {
        self.life.instant("environment closes").await;
        if self.life.fuse.holds(id, &self.life) {
            self.port.close(id).await;
        }
    }

    async fn held(&self, id: &str) -> Option<Arc<dyn Environment>> {
        if !self.life.fuse.holds(id, &self.life) {
            return None;
        }
        let held = self.port.held(id).await?;
        Some(Of::new(&self.life, held) as Arc<dyn Environment>)
    }

    async fn remove(&self, id: &str) -> Result<(), EnvironmentError> {
        self.life.instant("environment removed").await;
        self.port.remove(id).await
    }

    async fn list_files(
        &self,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, WorkspaceError> {
        self.port.list_files(id, query).await
    }

    async fn put_file(
        &self,
        id: &str,
        path: &str,
        from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<u64, WorkspaceError> {
        self.port.put_file(id, path, from, limit_bytes).await
    }

    async fn is_furnished(&self, id: &str) -> bool {
        self.port.is_furnished(id).await
    }

    async fn set_furnished(&self, id: &str) -> Result<(), WorkspaceError> {
        self.port.set_furnished(id).await
    }

    async fn check(&self, isolation: Isolation) -> Result<(), EnvironmentError> {
        self.port.check(isolation).await
    }
}

#[async_trait]
impl Environment for Of<dyn Environment> {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        self.life.instant("command before").await;
        let answer = self.port.exec(spec, output, cancel).await;
        self.life.instant("command after").await;
        answer
    }

    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        self.life.instant("outputs").await;
        self.port.outputs(limits).await
    }

    async fn has_new_outputs(&self) -> bool {
        self.port.has_new_outputs().await
    }

    async fn close(&self) {
        self.port.close().await;
    }
}

#[async_trait]
impl Model for Of<dyn Model> {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.life.instant("model call").await;
        let stream = self.port.call(request).await?;
        let life = self.life.clone();
        let watched = stream.then(move |event| {
            let life = life.clone();
            async move {
                // Deltas leave no trace, so nothing can be lost between them.
                if matches!(event, Ok(ModelEvent::Item(_) | ModelEvent::Done { .. })) {
                    life.instant("model event").await;
                }
                event
            }
        });
        Ok(watched.boxed())
    }

    fn name(&self) -> String {
        self.port.name()
    }
}

#[async_trait]
impl Courier for Of<dyn Courier> {
    async fn send(&self, parcel: &Parcel) -> Sent {
        self.life.instant("parcel before").await;
        let answer = self.port.send(parcel).await;
        self.life.instant("parcel after").await;
        answer
    }
}

/// A model that remembers what it was asked.
pub struct Asked {
    model: Arc<dyn Model>,
    requests: Mutex<Vec<ModelRequest>>,
}

impl Asked {
    /// Over a model.
    pub fn new(model: Arc<dyn Model>) -> Arc<Asked> {
        Arc::new(Asked {
            model,
            requests: Mutex::default(),
        })
    }

    fn remember(&self, request: &ModelRequest) {
        let mut requests = self.requests.lock().expect("no test panics with it");
        requests.push(request.clone());
    }

    /// All requests so far, as text.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("no test panics with it");
        requests
            .iter()
            .map(|request| serde_json::to_string(&request.input).expect("JSON"))
            .collect()
    }
}

#[async_trait]
impl Model for Asked {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.remember(&request);
        self.model.call(request).await
    }

    fn name(&self) -> String {
        self.model.name()
    }
}
