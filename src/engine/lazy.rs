//! An environment that is opened when the first command needs it: a Turn without commands pays nothing for it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OnceCell, mpsc, watch};

use super::ports::{
    CaptureLimits, Environment, EnvironmentError, EnvironmentSpec, Environments, ExecEnd, ExecSpec,
    Opened, Outputs,
};

/// See the module.
pub struct LazyEnvironment {
    spec: EnvironmentSpec,
    environments: Arc<dyn Environments>,
    opened: OnceCell<Opened>,
}

impl LazyEnvironment {
    /// Nothing is opened yet.
    pub fn new(spec: EnvironmentSpec, environments: Arc<dyn Environments>) -> Arc<LazyEnvironment> {
        Arc::new(LazyEnvironment {
            spec,
            environments,
            opened: OnceCell::new(),
        })
    }

    /// Whether it was opened, and if so whether its workspace was created by that.
    pub fn opened(&self) -> Option<bool> {
        self.opened.get().map(|opened| opened.created)
    }

    /// Opens it now.
    pub async fn get(&self) -> Result<&Opened, EnvironmentError> {
        self.opened
            .get_or_try_init(|| self.environments.open(&self.spec))
            .await
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
