//! An environment that is opened when the first command needs it: a Turn without commands pays nothing for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OnceCell, mpsc, watch};

use super::environment::Trouble;
use super::ids::SessionId;
use super::observe::Op;
use super::ports::{
    Bell, BlobScope, CaptureLimits, Conversation, Environment, EnvironmentError, EnvironmentSpec,
    Environments, ExecEnd, ExecSpec, Network, Opened, Outputs, SecretRef, Secrets,
};
use super::run::Worker;
use super::session::Head;
use super::sessions::variables;
use super::start_files::Placing;
use crate::api::EnvironmentStatus;

/// How long opening may take before, and between, rings for another worker that may keep the environment open.
const RING_AFTER: Duration = Duration::from_millis(200);

/// See the module.
pub struct LazyEnvironment {
    spec: EnvironmentSpec,
    /// Where the values of its variables are.
    variables: Option<(BlobScope, SecretRef)>,
    /// What is put there before anything runs.
    placing: Placing,
    secrets: Arc<dyn Secrets>,
    environments: Arc<dyn Environments>,
    bell: Arc<dyn Bell>,
    session: SessionId,
    opened: OnceCell<Opened>,
    /// That it was opened was told by [`LazyEnvironment::seen`].
    noted: AtomicBool,
    /// What commands met since it was last asked for.
    troubles: Mutex<Vec<Trouble>>,
}

impl LazyEnvironment {
    /// Nothing is opened yet.
    pub(super) fn new(
        spec: EnvironmentSpec,
        variables: Option<(BlobScope, SecretRef)>,
        placing: Placing,
        worker: &Worker,
        session: &SessionId,
    ) -> Arc<LazyEnvironment> {
        Arc::new(LazyEnvironment {
            spec,
            variables,
            placing,
            secrets: Arc::clone(&worker.core.secrets),
            environments: Arc::clone(&worker.environments),
            bell: Arc::clone(&worker.core.bell),
            session: session.clone(),
            opened: OnceCell::new(),
            noted: AtomicBool::new(false),
            troubles: Mutex::default(),
        })
    }

    /// Whether it was opened, and if so whether its workspace was created by that.
    pub fn opened(&self) -> Option<bool> {
        self.opened.get().map(|opened| opened.created)
    }

    /// What was seen of it since this was last asked, as operations to record.
    pub(super) fn seen(&self, head: &Head) -> Vec<Op> {
        let mut ops = Vec::new();
        if let Some(created) = self.opened()
            && !self.noted.swap(true, Ordering::SeqCst)
        {
            // An environment that had been opened before and had to be created again has lost its files.
            let known = head.environment_opened;
            let connected = head.environment_status == Some(EnvironmentStatus::Connected);
            if created || !known || !connected {
                ops.push(Op::Opened {
                    lost: created && known,
                });
            }
        }
        ops.extend(self.troubles().drain(..).map(Op::Troubled));
        ops
    }

    fn troubles(&self) -> MutexGuard<'_, Vec<Trouble>> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it now.
    pub async fn get(&self) -> Result<&Opened, EnvironmentError> {
        let opened = self.opened.get_or_try_init(|| self.open()).await;
        opened.inspect_err(|error| self.troubles().push(Trouble::of_opening(error)))
    }

    /// The spec with the values of its variables.
    async fn whole_spec(&self) -> Result<EnvironmentSpec, EnvironmentError> {
        let mut spec = self.spec.clone();
        if let Some((scope, at)) = &self.variables {
            let value = self.secrets.get(scope, at).await;
            let values = value
                .map_err(|error| error.to_string())
                .and_then(|value| variables(&value).ok_or_else(|| "they are no list".to_owned()));
            spec.env = values.map_err(|why| {
                // Where secrets are kept is the operator's business, not the agent's.
                tracing::warn!(session = %self.session, why, "values of an environment's variables can't be read");
                let told = "the values of its variables can't be read; the worker's log says why";
                EnvironmentError::Failed(told.to_owned())
            })?;
        }
        Ok(spec)
    }

    /// An earlier worker of the Session may keep it open. It lets go when it hears that somebody else has the Session now; a
    /// ring may be lost, so it is repeated.
    async fn open(&self) -> Result<Opened, EnvironmentError> {
        let spec = self.whole_spec().await?;
        let mut opening = self.environments.open(&spec);
        loop {
            tokio::select! {
                biased;
                opened = &mut opening => {
                    let opened = opened?;
                    let placed = self.placing.place(&*self.environments, &spec.id, opened.created);
                    placed.await?;
                    return Ok(opened);
                }
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
        let opened = self.get().await?;
        let end = opened.environment.exec(spec, output, cancel).await;
        if let Err(EnvironmentError::Lost(_)) = &end {
            self.troubles().push(Trouble::Lost);
        }
        end
    }

    async fn converse(
        &self,
        spec: ExecSpec,
        conversation: Conversation,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let opened = self.get().await?;
        let environment = &opened.environment;
        let end = environment.converse(spec, conversation, cancel).await;
        if let Err(EnvironmentError::Lost(_)) = &end {
            self.troubles().push(Trouble::Lost);
        }
        end
    }

    fn network(&self) -> Network {
        self.spec.network.clone()
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
