//! Compute without processes: the test or the simulator is the worker.
//!
//! Launched grants queue up in [`ScriptedCompute::next_grant`] for whoever plays the workers; what becomes of a launch, what an
//! execution looks like and when it dies is scripted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use tokio::sync::mpsc;

use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};

/// What becomes of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Launch {
    /// It starts and that is said.
    Starts,
    /// That it starts is said, and it starts with [`ScriptedCompute::release_late`].
    StartsLate,
    /// The worker gets the grant twice.
    StartsTwice,
    /// That it starts is said, and it never does.
    NeverStarts,
    /// It starts, but the answer is unknown.
    UnknownStarts,
    /// It does not start, and the answer is unknown.
    UnknownNever,
    /// It does not start, and that is said.
    Fails,
}

/// What becomes of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The execution is gone afterwards.
    Ends,
    /// It goes on and the answer is unknown.
    Unknown,
}

/// One call to the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Called {
    /// `reserve`, with its answer if it gave one.
    Reserve(String, Option<ExecutionId>),
    /// `launch`
    Launch(RunGrant),
    /// `inspect`, with its answer.
    Inspect(ExecutionId, Liveness),
    /// `stop`
    Stop(ExecutionId),
}

/// Scripted compute. Clones are the same.
#[derive(Clone, Default)]
pub struct ScriptedCompute {
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    last_number: u64,
    room: Option<usize>,
    executions: BTreeMap<String, Execution>,
    launches: VecDeque<Launch>,
    stops: VecDeque<Stop>,
    started: VecDeque<RunGrant>,
    late: VecDeque<RunGrant>,
    calls: Vec<Called>,
    deaths: Vec<mpsc::UnboundedSender<ExecutionId>>,
}

struct Execution {
    liveness: Liveness,
    launched: Option<RunGrant>,
}

impl State {
    fn living(&self) -> usize {
        let all = self.executions.values();
        all.filter(|e| e.liveness != Liveness::Gone && e.launched.is_some())
            .count()
    }

    fn die(&mut self, name: &ExecutionId) {
        self.set(name, Liveness::Gone);
        self.started.retain(|grant| grant.execution != *name);
        self.late.retain(|grant| grant.execution != *name);
    }

    fn set(&mut self, name: &ExecutionId, liveness: Liveness) {
        let execution = self.executions.entry(name.0.clone()).or_insert(Execution {
            liveness,
            launched: None,
        });
        execution.liveness = liveness;
    }
}

impl ScriptedCompute {
    /// Everything works, and there is always room.
    pub fn new() -> ScriptedCompute {
        ScriptedCompute::default()
    }

    /// From now on at most so many launched executions live at once; `None` is no limit.
    pub fn set_room(&self, room: Option<usize>) {
        self.state().room = room;
    }

    /// Scripts the next launch that has no script yet. Without one a launch starts.
    pub fn will_launch(&self, launch: Launch) {
        self.state().launches.push_back(launch);
    }

    /// Scripts the next stop that has no script yet. Without one a stop ends.
    pub fn will_stop(&self, stop: Stop) {
        self.state().stops.push_back(stop);
    }

    /// The next grant that reached a worker, in the order of their launches.
    pub fn next_grant(&self) -> Option<RunGrant> {
        self.state().started.pop_front()
    }

    /// Lets the oldest late launch reach its worker, unless that is dead; whether there was one.
    pub fn release_late(&self) -> bool {
        let mut state = self.state();
        let late = state.late.pop_front();
        let any = late.is_some();
        state.started.extend(late);
        any
    }

    /// The execution is gone, and notice is given. Grants on their way to it are lost.
    pub fn kill(&self, name: &ExecutionId) {
        self.kill_unnoticed(name);
        self.state()
            .deaths
            .retain(|to| to.send(name.clone()).is_ok());
    }

    /// The execution is gone, and nobody is told.
    pub fn kill_unnoticed(&self, name: &ExecutionId) {
        self.state().die(name);
    }

    /// What `inspect` says of it from now on.
    pub fn set_liveness(&self, name: &ExecutionId, liveness: Liveness) {
        self.state().set(name, liveness);
    }

    /// Executions that were launched and are not gone.
    pub fn living(&self) -> Vec<RunGrant> {
        let state = self.state();
        let living = state
            .executions
            .values()
            .filter(|e| e.liveness != Liveness::Gone);
        living.filter_map(|e| e.launched.clone()).collect()
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Called> {
        self.state().calls.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }
}

#[async_trait]
impl Compute for ScriptedCompute {
    async fn reserve(
        &self,
        session: &str,
        _last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        let mut state = self.state();
        if state.room.is_some_and(|room| state.living() >= room) {
            let called = Called::Reserve(session.to_owned(), None);
            state.calls.push(called);
            return Err(ComputeError::Full);
        }
        state.last_number += 1;
        let name = ExecutionId(format!("scripted:{}", state.last_number));
        state.set(&name, Liveness::Running);
        let called = Called::Reserve(session.to_owned(), Some(name.clone()));
        state.calls.push(called);
        Ok(name)
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        let mut state = self.state();
        state.calls.push(Called::Launch(grant.clone()));
        let execution = state.executions.get_mut(&grant.execution.0);
        let Some(execution) = execution.filter(|e| e.liveness != Liveness::Gone) else {
            return Err(ComputeError::Failed(
                "there is no such execution".to_owned(),
            ));
        };
        if execution.launched.as_ref() == Some(grant) {
            return Ok(());
        }
        let launched = execution.launched.replace(grant.clone());
        match state.launches.pop_front().unwrap_or(Launch::Starts) {
            Launch::Starts => state.started.push_back(grant.clone()),
            Launch::StartsLate => state.late.push_back(grant.clone()),
            Launch::StartsTwice => {
                state.started.push_back(grant.clone());
                state.started.push_back(grant.clone());
            }
            Launch::NeverStarts => {}
            Launch::UnknownStarts => {
                state.started.push_back(grant.clone());
                return Err(ComputeError::Unknown("by script".to_owned()));
            }
            Launch::UnknownNever => {
                return Err(ComputeError::Unknown("by script".to_owned()));
            }
            Launch::Fails => {
                // A repetition is a new attempt.
                if let Some(execution) = state.executions.get_mut(&grant.execution.0) {
                    execution.launched = launched;
                }
                return Err(ComputeError::Failed("by script".to_owned()));
            }
        }
        Ok(())
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        let mut state = self.state();
        let found = state.executions.get(&execution.0);
        let liveness = found.map_or(Liveness::Unknown, |e| e.liveness);
        let called = Called::Inspect(execution.clone(), liveness);
        state.calls.push(called);
        liveness
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        let mut state = self.state();
        state.calls.push(Called::Stop(execution.clone()));
        if !state.executions.contains_key(&execution.0) {
            return Err(ComputeError::Unknown("no such execution".to_owned()));
        }
        match state.stops.pop_front() {
            None | Some(Stop::Ends) => {
                state.die(execution);
                Ok(())
            }
            Some(Stop::Unknown) => Err(ComputeError::Unknown("by script".to_owned())),
        }
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        let (to, notices) = mpsc::unbounded_channel();
        self.state().deaths.push(to);
        notices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn reserved(compute: &ScriptedCompute, generation: u64) -> RunGrant {
        let execution = compute.reserve("sess_a", None).await.expect("room");
        RunGrant {
            session: "sess_a".to_owned(),
            generation,
            execution,
        }
    }

    /// Launches with a script, twice; both answers, and how often the grant reached a worker.
    async fn launch(script: Launch) -> (bool, bool, usize) {
        let compute = ScriptedCompute::new();
        compute.will_launch(script);
        let grant = reserved(&compute, 1).await;
        let first = compute.launch(&grant).await.is_ok();
        let second = compute.launch(&grant).await.is_ok();
        let reached = std::iter::from_fn(|| compute.next_grant()).count();
        (first, second, reached)
    }

    #[tokio::test]
    async fn launches_go_as_scripted() {
        for (script, want) in [
            (Launch::Starts, (true, true, 1)),
            (Launch::StartsLate, (true, true, 0)),
            (Launch::StartsTwice, (true, true, 2)),
            (Launch::NeverStarts, (true, true, 0)),
            (Launch::UnknownStarts, (false, true, 1)),
            (Launch::UnknownNever, (false, true, 0)),
            (Launch::Fails, (false, true, 1)),
        ] {
            assert_eq!(launch(script.clone()).await, want, "{script:?}");
        }
    }

    #[tokio::test]
    async fn a_late_grant_reaches_the_living_only() {
        for dies in [false, true] {
            let compute = ScriptedCompute::new();
            compute.will_launch(Launch::StartsLate);
            let grant = reserved(&compute, 1).await;
            compute.launch(&grant).await.expect("says it starts");
            if dies {
                compute.kill(&grant.execution);
            }
            assert_eq!(compute.release_late(), !dies);
            assert_eq!(compute.next_grant().is_some(), !dies);
        }
    }

    #[tokio::test]
    async fn liveness_and_stops_go_as_scripted_and_calls_are_kept() {
        let compute = ScriptedCompute::new();
        let grant = reserved(&compute, 1).await;
        let name = &grant.execution;
        compute.set_liveness(name, Liveness::Unknown);
        assert_eq!(compute.inspect(name).await, Liveness::Unknown);
        compute.will_stop(Stop::Unknown);
        assert!(compute.stop(name).await.is_err());
        assert_eq!(compute.inspect(name).await, Liveness::Unknown);
        assert!(compute.stop(name).await.is_ok());
        assert_eq!(
            compute.calls(),
            [
                Called::Reserve("sess_a".to_owned(), Some(name.clone())),
                Called::Inspect(name.clone(), Liveness::Unknown),
                Called::Stop(name.clone()),
                Called::Inspect(name.clone(), Liveness::Unknown),
                Called::Stop(name.clone()),
            ]
        );
    }
}
