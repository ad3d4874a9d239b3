//! Blobs, the bell and environments as one program has them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::{BlobCall, BlobFault, BlobOp, MemoryBlobs};
use rat_things::backend::memory::environments::ScriptedEnvironments;
use rat_things::engine::ports::{
    Bell, BlobError, BlobRef, BlobScope, BlobSource, Blobs, CaptureLimits, Environment,
    EnvironmentError, EnvironmentSpec, Environments, ExecEnd, ExecSpec, FilesQuery, Isolation,
    LiveText, Opened, Outputs, WorkspaceError, WorkspaceFiles,
};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, watch};

use super::faults::Fault;
use super::life::Life;
use super::shared::Shared;

/// Blobs of a world, with its faults.
pub fn blobs(shared: &Arc<Shared>) -> MemoryBlobs {
    let shared = Arc::clone(shared);
    MemoryBlobs::with_faults(move |call: &BlobCall<'_>| {
        let possible: &[Fault] = match call.op {
            BlobOp::Put => &[Fault::BlobAway, Fault::BlobTorn, Fault::BlobAnswerLost],
            BlobOp::Get => &[Fault::BlobAway, Fault::BlobCorrupt, Fault::BlobMissing],
            BlobOp::Remove | BlobOp::DeleteScope => &[Fault::BlobAway, Fault::BlobAnswerLost],
            BlobOp::Open | BlobOp::Has => &[],
        };
        Some(match shared.one_of(possible)? {
            Fault::BlobTorn => BlobFault::Torn,
            Fault::BlobAnswerLost => BlobFault::LostAnswer,
            Fault::BlobCorrupt => BlobFault::Corrupt,
            Fault::BlobMissing => BlobFault::Lost,
            _ => BlobFault::Unavailable,
        })
    })
}

/// Blobs as one program has them.
pub struct SimBlobs {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub blobs: MemoryBlobs,
}

#[async_trait]
impl Blobs for SimBlobs {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        self.life.instant("blob put").await;
        let answer = self.blobs.put(scope, source).await;
        self.life.instant("blob stored").await;
        answer
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        self.life.instant("blob get").await;
        self.blobs.get(scope, blob).await
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        self.life.instant("blob open").await;
        self.blobs.open(scope, blob, offset).await
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        self.life.instant("blob has").await;
        self.blobs.has(scope, blob).await
    }

    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        self.life.instant("blob removed").await;
        self.blobs.remove(scope, sha256, before_ms).await
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        self.life.instant("blobs deleted").await;
        self.blobs.delete_scope(scope).await
    }
}

/// The bell as one program has it: dead and stopped programs ring nobody, and some rings are lost.
pub struct SimBell {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub bell: MemoryBell,
}

impl SimBell {
    fn rings(&self) -> bool {
        self.life.goes() && !self.life.shared.strikes(Fault::RingLost)
    }
}

#[async_trait]
impl Bell for SimBell {
    fn ring(&self, session: &str) {
        if self.rings() {
            self.bell.ring(session);
        }
    }

    fn ring_change(&self, session: &str) {
        if self.rings() {
            self.bell.ring_change(session);
        }
    }

    fn listen(&self) -> mpsc::Receiver<String> {
        self.bell.listen()
    }

    fn listen_work(&self) -> mpsc::Receiver<String> {
        self.bell.listen_work()
    }

    fn tell(&self, text: &LiveText) {
        if self.rings() {
            self.bell.tell(text);
        }
    }

    fn overhear(&self, session: &str) -> mpsc::Receiver<LiveText> {
        self.bell.overhear(session)
    }
}

/// Which program has which environment open.
pub type Holders = Arc<Mutex<BTreeMap<String, Arc<Life>>>>;

/// Environments as one program has them: one program holds one at a time.
pub struct SimEnvironments {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub environments: ScriptedEnvironments,
    /// Who holds which.
    pub holders: Holders,
}

impl SimEnvironments {
    fn hold(&self, id: &str) -> Option<Arc<Life>> {
        let mut holders = self.holders.lock().expect("no program panics with it");
        holders.insert(id.to_owned(), Arc::clone(&self.life))
    }

    fn holds(&self, id: &str) -> bool {
        let holders = self.holders.lock().expect("no program panics with it");
        let holder = holders.get(id);
        holder.is_some_and(|holder| Arc::ptr_eq(holder, &self.life))
    }
}

#[async_trait]
impl Environments for SimEnvironments {
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError> {
        self.life.instant("environment opens").await;
        let before = self.hold(&spec.id);
        if before.is_some_and(|holder| !Arc::ptr_eq(&holder, &self.life)) {
            self.environments.close(&spec.id).await;
        }
        if self.life.shared.strikes(Fault::EnvironmentLost) {
            self.environments.remove(&spec.id).await?;
        }
        let opened = self.environments.open(spec).await?;
        let environment = SimEnvironment {
            life: Arc::clone(&self.life),
            environment: opened.environment,
        };
        Ok(Opened {
            environment: Arc::new(environment),
            ..opened
        })
    }

    async fn close(&self, id: &str) {
        self.life.instant("environment closes").await;
        if self.holds(id) {
            self.environments.close(id).await;
        }
    }

    async fn remove(&self, id: &str) -> Result<(), EnvironmentError> {
        self.life.instant("environment removed").await;
        self.environments.remove(id).await
    }

    async fn list_files(
        &self,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, WorkspaceError> {
        self.environments.list_files(id, query).await
    }

    async fn put_file(
        &self,
        id: &str,
        path: &str,
        from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<u64, WorkspaceError> {
        self.environments
            .put_file(id, path, from, limit_bytes)
            .await
    }

    async fn is_furnished(&self, id: &str) -> bool {
        self.environments.is_furnished(id).await
    }

    async fn set_furnished(&self, id: &str) -> Result<(), WorkspaceError> {
        self.environments.set_furnished(id).await
    }

    async fn check(&self, isolation: Isolation) -> Result<(), EnvironmentError> {
        self.environments.check(isolation).await
    }
}

/// An open environment as one program has it.
struct SimEnvironment {
    life: Arc<Life>,
    environment: Arc<dyn Environment>,
}

#[async_trait]
impl Environment for SimEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        self.life.instant("command").await;
        if self.life.shared.strikes(Fault::EnvironmentLost) {
            return Err(EnvironmentError::Lost("by chance".into()));
        }
        let answer = self.environment.exec(spec, output, cancel).await;
        self.life.instant("command ended").await;
        answer
    }

    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        self.life.instant("outputs").await;
        self.environment.outputs(limits).await
    }

    async fn close(&self) {
        self.environment.close().await;
    }
}
