//! The Compute port: where workers run, and what is known of them.

use std::fmt;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

/// Names one execution of a worker, in a form the backend can find again after any crash (for a process: pid, start time and
/// boot id).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(pub String);

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The authority a worker is given: which Session, under which generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGrant {
    /// Session id.
    pub session: String,
    /// The generation that was claimed for this run.
    pub generation: u64,
    /// The execution it was claimed for.
    pub execution: ExecutionId,
}

/// What is known of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It exists.
    Running,
    /// It is proven not to exist any more.
    Gone,
    /// Neither could be established. Never treated as gone.
    Unknown,
}

/// Why compute did not do as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// No room now; nothing was started.
    #[error("no worker has room now")]
    Full,
    /// The place where workers run has none to give now; nothing was started. It is nobody's fault: the same may go well later.
    #[error("there is no machine for a worker now: {0}")]
    Scarce(String),
    /// It did not happen.
    #[error("the worker could not be started: {0}")]
    Failed(String),
    /// It may have happened: inspect before anything else.
    #[error("it is unknown whether the worker started: {0}")]
    Unknown(String),
}

/// Where a machine is in its life, as its place tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineState {
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It is on its way out, and can still do harm.
    Ending,
    /// It runs nothing, and is still there.
    Halted,
}

impl MachineState {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            MachineState::Starting => "starting",
            MachineState::Running => "running",
            MachineState::Ending => "ending",
            MachineState::Halted => "halted",
        }
    }
}

/// A machine that exists for the sake of one Session, and is paid for as long as it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// As its place calls it.
    pub id: String,
    /// The execution that it was launched as.
    pub execution: ExecutionId,
    /// Session id.
    pub session: String,
    /// The generation that it was launched for. Later ones may run on it, too.
    pub generation: u64,
    /// Where it is in its life.
    pub state: MachineState,
    /// Launched at, by its place's clock. Unix ms.
    pub since_ms: u64,
    /// What kind of machine.
    pub kind: String,
    /// It can be taken back by its place at any time.
    pub spot: bool,
    /// Which part of its place it is in.
    pub zone: String,
}

/// Where workers run.
#[async_trait]
pub trait Compute: Send + Sync {
    /// Chooses where a run of `session` would execute, before anything is claimed for it. A worker that already holds the
    /// Session's environment is preferred: `last` is where the Session's last Run gave its lease back. What was reserved and is
    /// never launched costs nothing.
    async fn reserve(
        &self,
        session: &str,
        last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError>;

    /// Hands a claimed run to the reserved execution. Idempotent for the same grant.
    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError>;

    /// What is known of an execution, of this or any earlier life of this program.
    async fn inspect(&self, execution: &ExecutionId) -> Liveness;

    /// Ends an execution. Answers once it is proven gone, or with [`ComputeError::Unknown`].
    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError>;

    /// Executions that ended by themselves, as they end: the death notice. May lose notices; recovery does not depend on it.
    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId>;

    /// How long a run that was launched there may take until its worker first renews the lease, beyond the time that a lease lasts.
    fn starting_ms(&self, execution: &ExecutionId) -> u64 {
        let _ = execution;
        0
    }

    /// The machines that exist for the Sessions of this deployment alone, whoever launched them; none where workers share a
    /// machine with others.
    async fn machines(&self) -> Result<Vec<Machine>, ComputeError> {
        Ok(Vec::new())
    }
}
