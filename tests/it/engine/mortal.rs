//! Workers as tasks of the test, which a test can kill, and about which the world may not know the truth.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use rat_things::backend::local::compute::{InProcessCompute, RunWork};
use rat_things::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};
use tokio::sync::mpsc;

/// See the module. Clones are the same.
#[derive(Clone)]
pub struct Mortal {
    tasks: InProcessCompute,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    silent: bool,
    said: HashMap<ExecutionId, Liveness>,
    granted: Vec<RunGrant>,
    broken: Option<ComputeError>,
}

impl Mortal {
    /// Runs do `work`.
    pub fn new(work: RunWork) -> Mortal {
        Mortal {
            tasks: InProcessCompute::new(work, 1_000).expect("there is a /proc"),
            state: Arc::default(),
        }
    }

    /// Runs that go on.
    pub fn runs(&self) -> usize {
        self.tasks.runs()
    }

    /// From now on nobody is told of deaths.
    pub fn be_silent(&self) {
        self.state().silent = true;
    }

    /// From now on this is what the world says of an execution, true or not; `None` is the truth.
    pub fn say(&self, execution: &ExecutionId, liveness: Option<Liveness>) {
        match liveness {
            Some(liveness) => self.state().said.insert(execution.clone(), liveness),
            None => self.state().said.remove(execution),
        };
    }

    /// From now on launches end so; `None`: as they should.
    pub fn break_launches(&self, how: Option<ComputeError>) {
        self.state().broken = how;
    }

    /// Everything that was ever launched, in order.
    pub fn granted(&self) -> Vec<RunGrant> {
        self.state().granted.clone()
    }

    /// The launch of a generation.
    pub fn execution_of(&self, generation: u64) -> ExecutionId {
        let granted = self.granted();
        let grant = granted.iter().find(|grant| grant.generation == generation);
        grant.expect("it was launched").execution.clone()
    }

    /// Ends the run of a generation where it is, and whatever it had begun.
    pub async fn kill(&self, generation: u64) {
        let execution = self.execution_of(generation);
        self.tasks
            .stop(&execution)
            .await
            .expect("a task can be ended");
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no test panics with it")
    }
}

#[async_trait]
impl Compute for Mortal {
    async fn reserve(
        &self,
        session: &str,
        last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        self.tasks.reserve(session, last).await
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        {
            let mut state = self.state();
            if let Some(error) = &state.broken {
                return Err(error.clone());
            }
            state.granted.push(grant.clone());
        }
        self.tasks.launch(grant).await
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        let said = self.state().said.get(execution).copied();
        match said {
            Some(said) => said,
            None => self.tasks.inspect(execution).await,
        }
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        let said = self.state().said.get(execution).copied();
        match said {
            Some(Liveness::Unknown) => Err(ComputeError::Unknown("out of sight".into())),
            Some(Liveness::Gone) => Ok(()),
            Some(Liveness::Running) | None => self.tasks.stop(execution).await,
        }
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        let mut deaths = self.tasks.deaths();
        let (to, told) = mpsc::unbounded_channel();
        let state = self.state.clone();
        tokio::spawn(async move {
            while let Some(dead) = deaths.recv().await {
                let silent = state.lock().expect("no test panics with it").silent;
                if !silent && to.send(dead).is_err() {
                    return;
                }
            }
        });
        told
    }
}
