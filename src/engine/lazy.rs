//! An environment that is opened when the first command needs it: a Turn without commands pays nothing for it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OnceCell, mpsc, watch};

use super::ids::SessionId;
use super::ports::{
    Bell, CaptureLimits, Environment, EnvironmentError, EnvironmentSpec, Environments, ExecEnd,
    ExecSpec, Opened, Outputs,
};
use super::run::Worker;

/// How long opening may take before, and between, rings for another worker that may keep the environment open.
const RING_AFTER: Duration = Duration::from_millis(200);

/// See the module.
pub struct LazyEnvironment {
    spec: EnvironmentSpec,
    environments: Arc<dyn Environments>,
    bell: Arc<dyn Bell>,
    session: SessionId,
    opened: OnceCell<Opened>,
}

impl LazyEnvironment {
    /// Nothing is opened yet.
    pub(super) fn new(
        spec: EnvironmentSpec,
        worker: &Worker,
        session: &SessionId,
    ) -> Arc<LazyEnvironment> {
        Arc::new(LazyEnvironment {
            spec,
            environments: Arc::clone(&worker.environments),
            bell: Arc::clone(&worker.core.bell),
            session: session.clone(),
            opened: OnceCell::new(),
        })
    }

    /// Whether it was opened, and if so whether its workspace was created by that.
    pub fn opened(&self) -> Option<bool> {
        self.opened.get().map(|opened| opened.created)
    }

    /// Opens it now.
    pub async fn get(&self) -> Result<&Opened, EnvironmentError> {
        self.opened.get_or_try_init(|| self.open()).await
    }

    /// An earlier worker of the Session may keep it open. It lets go when it hears that somebody else has the Session now; a
    /// ring may be lost, so it is repeated.
    async fn open(&self) -> Result<Opened, EnvironmentError> {
        let mut opening = self.environments.open(&self.spec);
        loop {
            tokio::select! {
                biased;
                opened = &mut opening => return opened,
                () = tokio::time::sleep(RING_AFTER) => self.bell.ring(self.session.as_str()),
            }
        }
    }
}

#[async_trait]
impl Environment for LazyEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        self.get()
            .await?
            .environment
            .exec(spec, output, cancel)
            .await
    }

    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        self.get().await?.environment.outputs(limits).await
    }

    async fn close(&self) {
        if let Some(opened) = self.opened.get() {
            opened.environment.close().await;
        }
    }
}
