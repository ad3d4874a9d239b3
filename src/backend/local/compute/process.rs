//! Runs in worker processes of this machine.
//!
//! An execution is named by its process's identity, so that any later daemon can inspect and stop what this one started. The
//! pool itself is memory of this daemon alone: after its death the workers finish and leave, and nobody adopts them.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::io::BufReader;
use tokio::process::Child;
use tokio::sync::{mpsc, watch};

use super::log::{self, WorkerLog};
use super::pool::{Choice, Load, Pool};
use super::protocol::{self, FromWorker, ToWorker};
use super::worker::{NotSaid, Started, WorkerCommandLine, WorkerHandle};
use super::{Deaths, end_process, inspect_process};
use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};

/// How often the size of the workers' logs is looked at.
const LOG_LOOK: Duration = Duration::from_secs(2);

/// How a pool of worker processes is set up.
#[derive(Clone, Debug)]
pub struct ProcessComputeConfig {
    /// How a worker is made.
    pub worker: WorkerCommandLine,
    /// Worker processes at most; at least 1.
    pub workers: usize,
    /// Runs in one worker at most; at least 1.
    pub runs_per_worker: usize,
    /// How long a worker that is stopped may take before it is killed.
    pub stop_grace_ms: u64,
}

/// A pool of worker processes. Cheap to clone; dropping the last clone closes the workers' standard inputs.
#[derive(Clone)]
pub struct ProcessCompute {
    inner: Arc<Inner>,
}

struct Inner {
    config: ProcessComputeConfig,
    pool: Mutex<Pool<WorkerHandle>>,
    deaths: Deaths,
    /// How many workers live.
    living: watch::Sender<usize>,
}

impl ProcessCompute {
    /// An empty pool; workers are started as they are needed.
    pub fn new(config: ProcessComputeConfig) -> ProcessCompute {
        ProcessCompute {
            inner: Arc::new(Inner {
                pool: Mutex::new(Pool::new(config.workers, config.runs_per_worker)),
                config,
                deaths: Deaths::default(),
                living: watch::Sender::new(0),
            }),
        }
    }

    /// Asks all workers to end, giving their runs this time to reach a safe point. Gives them nothing new.
    pub async fn ask_leave(&self, grace_ms: u64) {
        self.leave(Duration::ZERO, grace_ms).await;
    }

    /// Asks those workers to end that have had nothing to do for `idle_ms` (at least 1). Environments they keep open end with them.
    pub async fn ask_idle_to_leave(&self, idle_ms: u64, grace_ms: u64) {
        self.leave(Duration::from_millis(idle_ms.max(1)), grace_ms)
            .await;
    }

    async fn leave(&self, idle: Duration, grace_ms: u64) {
        let asked: Vec<WorkerHandle> = {
            let mut pool = self.inner.pool();
            let asked = pool.close_idle(idle, Instant::now());
            asked.into_iter().cloned().collect()
        };
        let leave = ToWorker::Leave { grace_ms };
        let said = asked.iter().map(|worker| worker.say(&leave));
        // Who can't be told is dying or stuck; `stop` deals with both.
        futures_util::future::join_all(said).await;
    }

    /// Whether nothing runs and no place is kept for a run.
    pub fn idle(&self) -> bool {
        let load = self.load();
        load.runs == 0 && load.reserved == 0
    }

    /// How busy the pool is.
    pub fn load(&self) -> Load {
        self.inner.pool().load(Instant::now())
    }

    /// Waits until no worker is left.
    pub async fn all_gone(&self) {
        let mut living = self.inner.living.subscribe();
        // It can't fail: `self` keeps the sender.
        let _ = living.wait_for(|living| *living == 0).await;
    }
}

impl Inner {
    fn pool(&self) -> MutexGuard<'_, Pool<WorkerHandle>> {
        self.pool
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    /// Starts a worker for `session`. The pool stays locked, or two callers could take its last place; starting takes about a
    /// millisecond.
    fn start(
        self: &Arc<Self>,
        pool: &mut Pool<WorkerHandle>,
        session: &str,
    ) -> Result<ExecutionId, ComputeError> {
        let Started {
            handle,
            child,
            says,
            log,
        } = self.config.worker.start().map_err(|error| {
            let program = self.config.worker.program.display();
            ComputeError::Failed(format!("{program}: {error}"))
        })?;
        let name = ExecutionId(handle.identity.to_string());
        pool.add(&name, handle, session, Instant::now());
        self.living.send_modify(|living| *living += 1);
        let inner = Arc::downgrade(self);
        tokio::spawn(hear(inner.clone(), name.clone(), BufReader::new(says)));
        tokio::spawn(attend(inner, name.clone(), child, log));
        Ok(name)
    }

    fn heard(&self, name: &ExecutionId, said: FromWorker) {
        let mut pool = self.pool();
        match said {
            FromWorker::Ready {} => tracing::debug!(worker = %name, "ready"),
            FromWorker::Ended {
                session,
                generation,
            } => pool.ended(name, &session, generation, Instant::now()),
            FromWorker::Holds(sessions) => pool.holds(name, sessions),
        }
    }

    /// Notes that a worker is gone, once.
    fn buried(&self, name: &ExecutionId) {
        let removed = self.pool().remove(name);
        if removed.is_some() {
            self.deaths.tell(name);
            self.living.send_modify(|living| *living -= 1);
        }
    }
}

#[async_trait]
impl Compute for ProcessCompute {
    async fn reserve(
        &self,
        session: &str,
        _last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        let mut pool = self.inner.pool();
        match pool.choose(session, Instant::now()) {
            Choice::Take(name) => Ok(name),
            Choice::Spawn => self.inner.start(&mut pool, session),
            Choice::Full => Err(ComputeError::Full),
        }
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        let RunGrant {
            session,
            generation,
            execution,
        } = grant;
        let worker = {
            let mut pool = self.inner.pool();
            let now = Instant::now();
            match pool.launch(execution, session, *generation, now) {
                Some(true) => pool.worker(execution).cloned(),
                Some(false) => return Ok(()),
                None => None,
            }
        };
        let Some(worker) = worker else {
            let why = format!("no worker {execution} of this process lives");
            return Err(ComputeError::Failed(why));
        };
        match worker.say(&ToWorker::Run(grant.clone())).await {
            Ok(()) => Ok(()),
            Err(NotSaid::Closed) => {
                let mut pool = self.inner.pool();
                pool.unlaunch(execution, session, *generation);
                // Whoever reads no commands takes no runs.
                pool.close(execution);
                Err(ComputeError::Failed(format!(
                    "worker {execution} is ending"
                )))
            }
            Err(NotSaid::Stuck) => {
                self.inner.pool().close(execution);
                let why = format!("worker {execution} reads no commands");
                Err(ComputeError::Unknown(why))
            }
        }
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        inspect_process(execution)
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        self.inner.pool().close(execution);
        let grace = Duration::from_millis(self.inner.config.stop_grace_ms);
        end_process(execution, grace).await?;
        // Its place is free at once, not only when its end is noticed.
        self.inner.buried(execution);
        Ok(())
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        self.inner.deaths.listen()
    }
}

/// Takes in what a worker says, until it closes its standard output.
async fn hear(
    inner: Weak<Inner>,
    name: ExecutionId,
    mut says: BufReader<tokio::process::ChildStdout>,
) {
    while let Some(said) = protocol::next(&mut says).await {
        match inner.upgrade() {
            Some(inner) => inner.heard(&name, said),
            None => return,
        }
    }
}

/// Keeps a worker's log small while it lives, and tells everyone when it is dead.
async fn attend(inner: Weak<Inner>, name: ExecutionId, mut child: Child, log: WorkerLog) {
    let ended = loop {
        tokio::select! {
            ended = child.wait() => break ended,
            () = tokio::time::sleep(LOG_LOOK) => log.bound(),
        }
    };
    tracing::debug!(worker = %name, ?ended, "a worker ended");
    let inner = inner.upgrade();
    if let Some(inner) = &inner {
        inner.buried(&name);
    }
    let dir = inner.map(|inner| inner.config.worker.log_dir.clone());
    // A task that can't run any more leaves files behind, nothing worse.
    let _ = tokio::task::spawn_blocking(move || {
        log.close();
        if let Some(dir) = dir {
            log::prune(&dir);
        }
    })
    .await;
}
