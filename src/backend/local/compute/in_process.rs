//! Runs as tasks of this very process: for a command that runs its own Session, and for tests.
//!
//! An execution is named by this process's identity and a number, so that after a crash any other process can tell that it is
//! gone. Seen from another process it lives as long as this process does.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::pool::RESERVED_FOR;
use super::{Deaths, NUMBER_SIGN, end_process, inspect_process};
use crate::backend::local::process::ProcessIdentity;
use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};

/// What a run does.
pub type RunWork = Arc<dyn Fn(RunGrant) -> BoxFuture<'static, ()> + Send + Sync>;

/// How long a task that was aborted may take to be dropped, and a process of someone else to leave before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

/// Runs as tasks. Cheap to clone.
#[derive(Clone)]
pub struct InProcessCompute {
    inner: Arc<Inner>,
}

struct Inner {
    work: RunWork,
    max_runs: usize,
    /// Begins the name of each execution here.
    prefix: String,
    state: Mutex<State>,
    deaths: Deaths,
}

#[derive(Default)]
struct State {
    last_number: u64,
    /// Each reservation looks at all of them, so what is over is kept elsewhere.
    executions: HashMap<ExecutionId, Execution>,
    /// Runs that are over: remembered only to tell a repeated launch from one that comes too late.
    ran: HashMap<ExecutionId, RunGrant>,
}

enum Execution {
    /// A name was given out for a run of this Session.
    Reserved { session: String, since: Instant },
    /// Its run goes on.
    Runs {
        grant: RunGrant,
        task: AbortHandle,
        /// Closes when the task is gone.
        gone: watch::Receiver<()>,
    },
}

/// Ended executions that are remembered, so that a repeated launch stays a no-op.
const ENDED_KEPT: usize = 10_000;

impl InProcessCompute {
    /// Runs do `work`, at most `max_runs` (at least 1) at once. Fails where there is no usable /proc.
    pub fn new(work: RunWork, max_runs: usize) -> io::Result<InProcessCompute> {
        Ok(InProcessCompute {
            inner: Arc::new(Inner {
                work,
                max_runs: max_runs.max(1),
                prefix: format!("{}{NUMBER_SIGN}", ProcessIdentity::current()?),
                state: Mutex::default(),
                deaths: Deaths::default(),
            }),
        })
    }

    /// Runs that go on.
    pub fn runs(&self) -> usize {
        self.inner.state().runs()
    }
}

impl State {
    fn runs(&self) -> usize {
        let all = self.executions.values();
        all.filter(|e| matches!(e, Execution::Runs { .. })).count()
    }

    /// Forgets reservations that lapsed.
    fn tidy(&mut self) {
        self.executions.retain(|_, execution| match execution {
            Execution::Reserved { since, .. } => since.elapsed() < RESERVED_FOR,
            Execution::Runs { .. } => true,
        });
    }

    /// Notes that a run is over, and forgets the others when there are many.
    fn bury(&mut self, grant: &RunGrant) {
        self.executions.remove(&grant.execution);
        if self.ran.len() >= ENDED_KEPT {
            self.ran.clear();
        }
        self.ran.insert(grant.execution.clone(), grant.clone());
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    fn owns(&self, execution: &ExecutionId) -> bool {
        execution.0.starts_with(&self.prefix)
    }
}

/// Notes the end of a run however it ends: finished, aborted or panicked.
struct Burial {
    inner: Arc<Inner>,
    grant: RunGrant,
    _gone: watch::Sender<()>,
}

impl Drop for Burial {
    fn drop(&mut self) {
        self.inner.state().bury(&self.grant);
        self.inner.deaths.tell(&self.grant.execution);
    }
}

#[async_trait]
impl Compute for InProcessCompute {
    async fn reserve(
        &self,
        session: &str,
        _last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        let mut state = self.inner.state();
        state.tidy();
        // One Session needs one place, however often it is asked for.
        let mut executions = state.executions.iter_mut();
        let again = executions.find_map(|(name, execution)| match execution {
            Execution::Reserved { session: s, since } if s == session => {
                *since = Instant::now();
                Some(name.clone())
            }
            _ => None,
        });
        if let Some(name) = again {
            return Ok(name);
        }
        if state.executions.len() >= self.inner.max_runs {
            return Err(ComputeError::Full);
        }
        state.last_number += 1;
        let name = ExecutionId(format!("{}{}", self.inner.prefix, state.last_number));
        let reserved = Execution::Reserved {
            session: session.to_owned(),
            since: Instant::now(),
        };
        state.executions.insert(name.clone(), reserved);
        Ok(name)
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        let mut state = self.inner.state();
        if state.ran.get(&grant.execution) == Some(grant) {
            return Ok(());
        }
        match state.executions.get(&grant.execution) {
            Some(Execution::Runs { grant: known, .. }) if known == grant => return Ok(()),
            Some(Execution::Reserved { session, since })
                if *session == grant.session && since.elapsed() < RESERVED_FOR => {}
            _ => {
                let why = format!("{} is not reserved for this run", grant.execution);
                return Err(ComputeError::Failed(why));
            }
        }
        let (alive, gone) = watch::channel(());
        let burial = Burial {
            inner: self.inner.clone(),
            grant: grant.clone(),
            _gone: alive,
        };
        let (work, grant_here) = (self.inner.work.clone(), grant.clone());
        // The task can't end before it is noted: its burial needs the state, which is locked here.
        let task = tokio::spawn(async move {
            let _burial = burial;
            work(grant_here).await;
        });
        let runs = Execution::Runs {
            grant: grant.clone(),
            task: task.abort_handle(),
            gone,
        };
        state.executions.insert(grant.execution.clone(), runs);
        Ok(())
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        if !self.inner.owns(execution) {
            return inspect_process(execution);
        }
        match self.inner.state().executions.get(execution) {
            Some(Execution::Runs { .. }) => Liveness::Running,
            Some(Execution::Reserved { since, .. }) if since.elapsed() < RESERVED_FOR => {
                Liveness::Running
            }
            _ => Liveness::Gone,
        }
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        if !self.inner.owns(execution) {
            return end_process(execution, STOP_PATIENCE).await;
        }
        let mut gone = {
            let mut state = self.inner.state();
            match state.executions.get(execution) {
                Some(Execution::Runs { task, gone, .. }) => {
                    task.abort();
                    gone.clone()
                }
                Some(Execution::Reserved { .. }) => {
                    state.executions.remove(execution);
                    return Ok(());
                }
                None => return Ok(()),
            }
        };
        // Nothing is ever sent; the channel closes when the run's future has been dropped.
        match tokio::time::timeout(STOP_PATIENCE, gone.changed()).await {
            Ok(_) => Ok(()),
            Err(_) => Err(ComputeError::Unknown(format!(
                "the task of {execution} does not let go"
            ))),
        }
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        self.inner.deaths.listen()
    }
}
