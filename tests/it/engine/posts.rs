//! Workers that have a machine to themselves: nobody speaks to them, their files end with them, and what nobody needs is ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::api::{Event, SessionStatus, TurnStatus};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::engine::core::Core;
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{
    Commit, Committed, Compute, ComputeError, ExecutionId, Key, Liveness, Machine, MachineState,
    Page, Program, Range, Record, RunGrant, Store, StoreError,
};
use rat_things::engine::post::{End, Limits, Post};
use rat_things::engine::reached::Reached;
use rat_things::engine::reap::Reaper;
use rat_things::engine::run::Worker;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use super::world::{OWNER, World, eventually, lines, managed};

const IDLE: Duration = Duration::from_secs(600);
const UNREACHABLE: Duration = Duration::from_secs(300);

/// A store that a machine can be cut off from.
struct Cut {
    inner: Arc<dyn Store>,
    off: Arc<AtomicBool>,
}

impl Cut {
    fn passes(&self) -> Result<(), StoreError> {
        match self.off.load(Ordering::SeqCst) {
            true => Err(StoreError::Unavailable("cut off".to_owned())),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl Store for Cut {
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError> {
        self.passes()?;
        self.inner.get(key).await
    }

    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError> {
        self.passes()?;
        self.inner.get_many(keys).await
    }

    async fn range(&self, range: &Range) -> Result<Page, StoreError> {
        self.passes()?;
        self.inner.range(range).await
    }

    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError> {
        self.passes()?;
        self.inner.commit(commit).await
    }
}

/// A machine of the test.
struct Running {
    grant: RunGrant,
    task: AbortHandle,
    leave: watch::Sender<Option<u64>>,
    off: Arc<AtomicBool>,
    /// How its worker ended, once it did.
    end: Arc<Mutex<Option<End>>>,
    killed: bool,
}

impl Running {
    fn is_gone(&self) -> bool {
        self.killed || self.task.is_finished()
    }

    fn is_cut_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }
}

/// A place that has machines, each with files of its own.
#[derive(Clone)]
struct Machines {
    core: Core,
    all: Arc<Mutex<BTreeMap<ExecutionId, Running>>>,
    /// Until so many launches were refused, there is no capacity.
    scarce: Arc<Mutex<u32>>,
}

impl Machines {
    fn all(&self) -> MutexGuard<'_, BTreeMap<ExecutionId, Running>> {
        self.all.lock().expect("no test panics with it")
    }

    /// How often a machine was launched.
    fn launched(&self) -> usize {
        self.all().len()
    }

    fn living(&self) -> Vec<ExecutionId> {
        let all = self.all();
        let living = all.iter().filter(|(_, machine)| !machine.is_gone());
        living.map(|(name, _)| name.clone()).collect()
    }

    /// The machine that lives, which is the only one.
    fn only(&self) -> ExecutionId {
        let living = self.living();
        assert_eq!(living.len(), 1, "{living:?}");
        living[0].clone()
    }

    fn of<T>(&self, name: &ExecutionId, look: impl FnOnce(&mut Running) -> T) -> T {
        look(self.all().get_mut(name).expect("it was launched"))
    }

    /// Ends a machine where it is.
    fn kill(&self, name: &ExecutionId) {
        self.of(name, |machine| {
            machine.task.abort();
            machine.killed = true;
        });
    }

    fn end_of(&self, name: &ExecutionId) -> Option<End> {
        self.of(name, |machine| {
            *machine.end.lock().expect("no test panics with it")
        })
    }

    /// Waits until a machine has ended by itself.
    async fn ended(&self, name: &ExecutionId) -> End {
        assert!(
            eventually(async || self.end_of(name).is_some()).await,
            "{name} stays"
        );
        self.end_of(name).expect("it ended")
    }

    fn boot(&self, grant: &RunGrant) -> Running {
        let off = Arc::new(AtomicBool::new(false));
        let cut = Cut {
            inner: self.core.store.clone(),
            off: off.clone(),
        };
        let reached = Arc::new(Reached::new(Arc::new(cut)));
        let core = Core {
            store: reached.clone(),
            ..self.core.clone()
        };
        let environments = Arc::new(ScriptedEnvironments::new(|spec, _| match &spec.program {
            Program::Shell(text) if text == "stay" => Scripted::Hangs {
                output: String::new(),
            },
            other => Scripted::ok(format!("{other:?}")),
        }));
        let model = Arc::new(rat_things::backend::model::demo::DemoModel);
        let harness = Arc::new(ResponsesHarness::new(model, Options::default()));
        let worker = Worker::new(core.clone(), harness, environments);
        let session = SessionId::parse(&grant.session).expect("a session");
        let limits = Limits {
            idle: IDLE,
            unreachable: UNREACHABLE,
        };
        let of = (session, grant.execution.clone());
        let post = Post::new(core, worker, reached, of, limits);
        let (leave, asked) = watch::channel(None);
        let end = Arc::new(Mutex::new(None));
        let ended = end.clone();
        let task = tokio::spawn(async move {
            // It takes its time to start.
            tokio::time::sleep(Duration::from_secs(40)).await;
            let how = post.keep(asked).await;
            *ended.lock().expect("no test panics with it") = Some(how);
        });
        Running {
            grant: grant.clone(),
            task: task.abort_handle(),
            leave,
            off,
            end,
            killed: false,
        }
    }
}

#[async_trait]
impl Compute for Machines {
    async fn reserve(
        &self,
        _session: &str,
        last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        let living = self.living();
        match last.filter(|last| living.contains(last)) {
            Some(last) => Ok(last.clone()),
            None => Ok(ExecutionId(format!("machine:{}", self.launched() + 1))),
        }
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        {
            let mut scarce = self.scarce.lock().expect("no test panics with it");
            if *scarce > 0 {
                *scarce -= 1;
                return Err(ComputeError::Scarce("no capacity".to_owned()));
            }
        }
        if !self.all().contains_key(&grant.execution) {
            let machine = self.boot(grant);
            self.all().insert(grant.execution.clone(), machine);
        }
        Ok(())
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        match self.all().get(execution) {
            Some(machine) if machine.is_gone() => Liveness::Gone,
            Some(machine) if machine.is_cut_off() => Liveness::Unknown,
            Some(_) => Liveness::Running,
            None => Liveness::Unknown,
        }
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        if self.of(execution, |machine| {
            machine.is_cut_off() && !machine.is_gone()
        }) {
            return Err(ComputeError::Unknown("out of sight".to_owned()));
        }
        self.kill(execution);
        Ok(())
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        mpsc::unbounded_channel().1
    }

    fn starting_ms(&self, _execution: &ExecutionId) -> u64 {
        120_000
    }

    async fn machines(&self) -> Result<Vec<Machine>, ComputeError> {
        let all = self.all();
        let living = all.iter().filter(|(_, machine)| !machine.is_gone());
        let machines = living.map(|(name, machine)| Machine {
            id: format!("i-{}", name.0),
            execution: name.clone(),
            session: machine.grant.session.clone(),
            generation: machine.grant.generation,
            state: MachineState::Running,
            since_ms: 0,
            kind: String::new(),
            spot: false,
            zone: String::new(),
        });
        Ok(machines.collect())
    }
}

/// A world whose daemon launches machines. Nobody rings: its programs are far from each other.
struct Far {
    world: World,
    machines: Machines,
    stop: watch::Sender<bool>,
}

impl Far {
    fn new() -> Far {
        let world = World::new();
        world.kill_dispatcher();
        world.bell.lose_rings(true);
        let machines = Machines {
            core: world.core.clone(),
            all: Arc::default(),
            scarce: Arc::default(),
        };
        let stop = watch::Sender::new(false);
        let far = Far {
            world,
            machines,
            stop,
        };
        far.dispatch();
        far
    }

    fn dispatch(&self) {
        self.stop.send_replace(false);
        let dispatcher = Dispatcher::new(
            self.world.core.clone(),
            Arc::new(self.machines.clone()),
            self.world.environments.clone(),
        );
        tokio::spawn(dispatcher.run(self.stop.subscribe()));
    }

    async fn turn(&self, session: &SessionId, key: &str, text: &str) {
        self.world.say(session, key, text).await;
        self.world.settled(session).await;
        self.world.sound();
    }

    /// Waits until the command that never ends has begun.
    async fn claimed(&self, session: &SessionId) {
        let begun = async || {
            let told = lines(&self.world.items(session).await);
            told.iter().any(|line| line.starts_with("$ stay"))
        };
        if !eventually(begun).await {
            let head = self.world.read(session).await.head;
            panic!("it never gets there: {head:#?}");
        }
    }

    /// How often it was told that the files are gone.
    async fn resets(&self, session: &SessionId) -> usize {
        let read = self.world.read(session).await;
        let events = self.world.core.list_events(&read, None, 1_000).await;
        let (events, _) = events.expect("listed");
        let kinds: Vec<&str> = events.iter().map(Event::kind).collect();
        let resets = { kinds.iter() }.filter(|kind| kind.ends_with("environment.reset"));
        let resets = resets.count();
        assert_eq!(u64::from(read.head.resets), resets as u64, "{kinds:?}");
        resets
    }
}

#[tokio::test(start_paused = true)]
pub async fn messages_of_a_session_go_to_one_machine_until_it_was_idle_for_long() {
    let far = Far::new();
    let session = far.world.create(managed("@exec one\n@say a")).await;
    far.world.settled(&session).await;
    far.turn(&session, "b", "@exec two\n@say b").await;
    tokio::time::sleep(IDLE / 2).await;
    far.turn(&session, "c", "@exec three\n@say c").await;
    assert_eq!(far.machines.launched(), 1);
    assert_eq!(far.resets(&session).await, 0);
    let first = far.machines.only();
    tokio::time::sleep(IDLE / 2).await;
    assert_eq!(far.machines.ended(&first).await, End::Idle);
    // Its name is nobody's any more, so that nothing is claimed for who has gone.
    assert_eq!(far.world.read(&session).await.head.fence.last, None);
    far.turn(&session, "d", "@exec four\n@say d").await;
    assert_eq!(far.machines.launched(), 2);
    // The files of the first went with it, and that is told once.
    assert_eq!(far.resets(&session).await, 1);
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed; 4]);
}

#[tokio::test(start_paused = true)]
pub async fn a_steer_and_a_cancel_are_heard_on_a_machine_that_nobody_rings() {
    let far = Far::new();
    let session = far.world.create(managed("@exec stay\n@say never")).await;
    far.claimed(&session).await;
    let since = tokio::time::Instant::now();
    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
    far.world.send_surely(&session, "c", cancel).await;
    far.world.settled(&session).await;
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Cancelled]);
    // Much sooner than a lease is renewed.
    assert!(
        since.elapsed() < Duration::from_secs(8),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(far.machines.launched(), 1);
}

#[tokio::test(start_paused = true)]
pub async fn a_machine_that_dies_is_replaced_and_its_files_are_told_to_be_gone_once() {
    let far = Far::new();
    let session = far
        .world
        .create(managed("@exec one\n@exec stay\n@say b"))
        .await;
    far.world
        .until(&session, |s| s.status == SessionStatus::InProgress)
        .await;
    far.claimed(&session).await;
    let first = far.machines.only();
    far.machines.kill(&first);
    far.world.settled(&session).await;
    far.turn(&session, "b", "@exec two\n@say b").await;
    assert_eq!(far.machines.launched(), 2);
    assert_eq!(far.resets(&session).await, 1);
    let told = lines(&far.world.items(&session).await);
    let stayed: Vec<&String> = told
        .iter()
        .filter(|line| line.starts_with("$ stay"))
        .collect();
    assert_eq!(stayed, ["$ stay [Incomplete None]"]);
}

#[tokio::test(start_paused = true)]
pub async fn a_machine_that_is_called_back_hands_its_turn_over() {
    let far = Far::new();
    let session = far
        .world
        .create(managed("@exec one\n@exec stay\n@say b"))
        .await;
    far.claimed(&session).await;
    let first = far.machines.only();
    let since = tokio::time::Instant::now();
    far.machines
        .of(&first, |machine| machine.leave.send_replace(Some(5_000)));
    assert_eq!(far.machines.ended(&first).await, End::Asked);
    assert!(
        since.elapsed() < Duration::from_secs(10),
        "{:?}",
        since.elapsed()
    );
    far.world.settled(&session).await;
    assert_eq!(far.machines.launched(), 2);
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed]);
}

#[tokio::test(start_paused = true)]
pub async fn a_machine_without_its_store_ends_by_itself_and_a_zombie_writes_nothing() {
    let far = Far::new();
    let session = far.world.create(managed("@exec stay\n@say b")).await;
    far.claimed(&session).await;
    let first = far.machines.only();
    far.machines
        .of(&first, |machine| machine.off.store(true, Ordering::SeqCst));
    assert_eq!(far.machines.ended(&first).await, End::Unreachable);
    far.world.settled(&session).await;
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed]);
    far.world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn deleting_a_session_leaves_no_machine() {
    let far = Far::new();
    let idle = far.world.create(managed("@exec one\n@say a")).await;
    far.world.settled(&idle).await;
    let busy = far.world.create(managed("@exec stay\n@say a")).await;
    far.claimed(&busy).await;
    assert_eq!(far.machines.living().len(), 2);
    far.world.delete_surely(&idle).await;
    far.world.delete_surely(&busy).await;
    assert!(eventually(async || far.machines.living().is_empty()).await);
    assert!(
        eventually(async || far.world.store.records().iter().all(|record| {
            !record.key.partition.contains(idle.as_str())
                && !record.key.partition.contains(busy.as_str())
        }))
        .await
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_machine_whose_environment_expires_ends_and_none_is_launched_for_what_is_left() {
    let far = Far::new();
    let idle = far.world.create(managed("@exec one\n@say done")).await;
    far.world.settled(&idle).await;
    let waits = far.machines.only();
    let expired = far.world.core.expire_environment(OWNER, &idle, "over");
    expired.await.expect("it expires");
    assert_eq!(far.machines.ended(&waits).await, End::Superseded);

    let busy = far.world.create(managed("@exec stay")).await;
    far.claimed(&busy).await;
    let works = far.machines.only();
    far.world.say_next(&busy, "next", "@exec more").await;
    let expired = far.world.core.expire_environment(OWNER, &busy, "over");
    expired.await.expect("it expires");
    far.machines.ended(&works).await;
    far.world.settled(&busy).await;
    assert_eq!(far.world.turns(&busy).await, [TurnStatus::Failed; 2]);
    assert_eq!(far.machines.launched(), 2);
    far.world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_lack_of_machines_costs_a_turn_time_and_no_attempt() {
    let far = Far::new();
    *far.machines.scarce.lock().expect("no test panics with it") = 20;
    let session = far.world.create(managed("@exec one\n@say a")).await;
    let told = async || {
        let read = far.world.read(&session).await;
        read.head
            .last_error
            .is_some_and(|error| error.contains("no capacity"))
    };
    assert!(eventually(told).await, "it is not said why nothing happens");
    assert!(eventually(async || far.machines.launched() == 1).await);
    far.world.settled(&session).await;
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed]);
    far.world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn what_no_session_needs_is_reaped_and_nothing_else() {
    let far = Far::new();
    let session = far.world.create(managed("@exec one\n@say a")).await;
    far.world.settled(&session).await;
    let needed = far.machines.only();
    // A machine of a Run that was fenced, which does not notice.
    let orphan = RunGrant {
        session: session.to_string(),
        generation: 1,
        execution: ExecutionId("machine:orphan".to_owned()),
    };
    let machine = far.machines.boot(&orphan);
    machine.task.abort();
    let stuck = tokio::spawn(std::future::pending::<()>());
    let machine = Running {
        task: stuck.abort_handle(),
        ..machine
    };
    far.machines.all().insert(orphan.execution.clone(), machine);
    let mut reaper = Reaper::new(far.world.core.clone(), Arc::new(far.machines.clone()), IDLE);
    reaper.round().await;
    assert_eq!(
        far.machines.living().len(),
        2,
        "none is ended at first sight"
    );
    tokio::time::sleep(Duration::from_secs(60)).await;
    reaper.round().await;
    assert_eq!(far.machines.only(), needed);
    far.turn(&session, "b", "@exec two\n@say b").await;
    assert_eq!(far.machines.only(), needed);
}

#[tokio::test(start_paused = true)]
pub async fn everything_is_fenced_at_once_and_goes_on_when_its_worker_is_proven_gone() {
    let far = Far::new();
    let session = far.world.create(managed("@exec stay\n@say a")).await;
    far.claimed(&session).await;
    let first = far.machines.only();
    // The daemon is down.
    far.stop.send_replace(true);
    let fenced = far.world.core.fence_all().await.expect("fenced");
    assert_eq!(fenced.len(), 1);
    assert_eq!(fenced[0].execution, first);
    assert_eq!(far.world.core.fence_all().await.expect("fenced"), fenced);
    assert_eq!(far.machines.ended(&first).await, End::Superseded);
    far.world
        .core
        .account_for(&fenced[0])
        .await
        .expect("accounted for");
    let head = far.world.read(&session).await.head;
    assert_eq!(head.turn.map(|turn| turn.attempts), Some(0));
    assert!(far.world.core.fence_all().await.expect("fenced").is_empty());
    far.dispatch();
    far.world.settled(&session).await;
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed]);
    let seen = far
        .world
        .core
        .get_session(OWNER, &session)
        .await
        .expect("readable");
    assert_eq!(seen.status, SessionStatus::Idle);
    far.world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_machine_that_was_kept_and_is_silent_is_missed_without_the_time_that_starting_takes()
{
    let far = Far::new();
    let session = far.world.create(managed("@exec one\n@say a")).await;
    far.world.settled(&session).await;
    let kept = far.machines.only();
    // It runs, and its worker does nothing any more.
    let stuck = tokio::spawn(std::future::pending::<()>());
    far.machines.of(&kept, |machine| {
        machine.task.abort();
        machine.task = stuck.abort_handle();
    });
    let since = tokio::time::Instant::now();
    far.turn(&session, "b", "@exec two\n@say b").await;
    // A lease, a last chance, and the time that the next machine takes to start.
    assert!(
        since.elapsed() < Duration::from_secs(130),
        "{:?}",
        since.elapsed()
    );
    assert_eq!(far.machines.launched(), 2);
}

#[tokio::test(start_paused = true)]
pub async fn machines_that_end_before_a_word_are_launched_less_and_less_often() {
    let far = Far::new();
    let session = far.world.create(managed("@exec one\n@say a")).await;
    let mut pauses_s = Vec::new();
    for n in 1..=4 {
        let since = tokio::time::Instant::now();
        assert!(eventually(async || far.machines.launched() == n).await);
        pauses_s.push(since.elapsed().as_secs());
        let turn = far.world.read(&session).await.head.turn;
        assert_eq!(turn.map(|turn| turn.unheard), Some(n as u32));
        if n < 4 {
            far.machines.kill(&far.machines.only());
        }
    }
    assert!(pauses_s[1] < 10, "{pauses_s:?}");
    assert!((30..40).contains(&pauses_s[2]), "{pauses_s:?}");
    assert!((60..70).contains(&pauses_s[3]), "{pauses_s:?}");
    far.world.settled(&session).await;
    assert_eq!(far.world.turns(&session).await, [TurnStatus::Completed]);
}
