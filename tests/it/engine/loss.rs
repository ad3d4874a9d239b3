//! Workers and daemons die at every instant of a story: the same Turn goes on, what was done is not done again, and what was in
//! flight is told to be unknown.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use rat_things::backend::harness::responses::OUTCOME_UNKNOWN;
use rat_things::backend::memory::environments::Scripted;
use rat_things::engine::core::{Recovery, Settings};
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::Liveness;
use serde_json::json;

use super::perils::{Fuse, Peril, Role};
use super::world::{Setup, World, answer_to, lines, managed, next_turn};

/// How a loss becomes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// By the notice of its death.
    Notice,
    /// Nobody tells: it stops renewing its lease.
    Lapse,
    /// The dispatcher dies with it, and another one starts later.
    Restart,
    /// Only the run dies: its worker lives on, and runs what follows.
    Task,
}

fn setup(fuse: &Arc<Fuse>) -> Setup {
    Setup {
        settings: Settings {
            batch_ms: 5,
            lease_ms: 300,
            ..Settings::default()
        },
        script: Box::new(|spec, files| {
            let path = format!("/workspace/outputs/{}", files.len());
            files.insert(path, format!("{:?}", spec.program).into());
            Scripted::ok("done")
        }),
        fuse: Some(fuse.clone()),
        ..Setup::default()
    }
}

/// A Turn with commands around a function call, and another behind it.
async fn story(world: &World) -> SessionId {
    let first = managed("@exec one\n@exec two\n@call ask {}\n@exec three\n@say done");
    let session = world.create(first).await;
    world
        .say_next(&session, "queue", "@reason why\n@exec four\n@say last")
        .await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    let answer = answer_to(world, &session, "42").await;
    world.send_surely(&session, "answer", answer).await;
    world.settled(&session).await;
    world.sound();
    session
}

const UNKNOWN: &str = "[Incomplete None]";

/// What may differ from the story without a loss, and nothing else does. How many outcomes are unknown.
async fn told_as(world: &World, session: &SessionId, untroubled: &[String], when: &str) -> usize {
    let told = lines(&world.items(session).await);
    let plain: Vec<String> = told
        .iter()
        .map(|line| line.replace(UNKNOWN, "[Completed Some(0)]"))
        .collect();
    assert_eq!(plain, untroubled, "{when}");
    assert_eq!(
        world.turns(session).await,
        [TurnStatus::Completed, TurnStatus::Completed],
        "{when}"
    );
    let mut ran: BTreeMap<String, usize> = BTreeMap::new();
    for command in world.commands() {
        *ran.entry(command).or_default() += 1;
    }
    for line in told.iter().filter(|line| line.starts_with("$ ")) {
        let name = line[2..].split(' ').next().expect("a command has a name");
        let times = ran.remove(name).unwrap_or(0);
        let least = usize::from(!line.ends_with(UNKNOWN));
        assert!(
            (least..=1).contains(&times),
            "{when}: {line} ran {times} times"
        );
    }
    assert_eq!(ran, BTreeMap::new(), "{when}: commands of no item");
    let unknown = told.iter().filter(|line| line.ends_with(UNKNOWN)).count();
    let model_knows = world
        .asked
        .requests()
        .iter()
        .any(|asked| asked.contains(OUTCOME_UNKNOWN));
    assert_eq!(model_knows, unknown > 0, "{when}: what the model was told");
    unknown
}

#[tokio::test(start_paused = true)]
pub async fn p18_a_worker_that_dies_at_any_instant_is_replaced_in_the_same_turn() {
    let calm = setup(&Fuse::none()).build();
    let session = story(&calm).await;
    let untroubled = lines(&calm.items(&session).await);
    for known in [Known::Notice, Known::Lapse, Known::Restart, Known::Task] {
        let mut n = 0;
        let mut unknown = 0;
        loop {
            let fuse = Fuse::new(Role::Worker, n, Peril::Stops);
            let world = Setup {
                one_worker: known == Known::Task,
                ..setup(&fuse)
            };
            let world = Arc::new(world.build());
            if known == Known::Lapse {
                world.compute.be_silent();
            }
            let (beside, blows) = (world.clone(), fuse.clone());
            let killer = tokio::spawn(async move {
                let life = blows.victim().await;
                if known == Known::Restart {
                    beside.kill_dispatcher();
                }
                beside
                    .kill_worker(beside.compute.granted().len() as u64)
                    .await;
                if known == Known::Task {
                    life.thaw();
                }
                if known == Known::Restart {
                    tokio::time::sleep(Duration::from_secs(2)).await;
                    beside.start_dispatching();
                }
            });
            let session = story(&world).await;
            let when = format!("{known:?}, instant {n} ({})", fuse.place());
            let lost = told_as(&world, &session, &untroubled, &when).await;
            assert!(lost <= 1, "{when}: {lost} outcomes are unknown");
            unknown += lost;
            killer.abort();
            if !fuse.blown() {
                assert_eq!(lost, 0, "{when}");
                break;
            }
            n += 1;
        }
        assert!(n > 75, "only {n} instants");
        // Claimed and not reported: before the command, in it, and until its end is stored.
        assert!(
            unknown >= 4 * 3,
            "only {unknown} outcomes were ever unknown"
        );
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_dispatcher_that_dies_at_any_instant_is_replaced_by_another() {
    let calm = setup(&Fuse::none()).build();
    let session = story(&calm).await;
    let untroubled = lines(&calm.items(&session).await);
    let mut n = 0;
    loop {
        let fuse = Fuse::new(Role::Daemon, n, Peril::Stops);
        let world = Arc::new(setup(&fuse).build());
        let (beside, blows) = (world.clone(), fuse.clone());
        let successor = tokio::spawn(async move {
            blows.victim().await;
            beside.start_dispatching();
        });
        let session = story(&world).await;
        let when = format!("instant {n} ({})", fuse.place());
        let unknown = told_as(&world, &session, &untroubled, &when).await;
        assert_eq!(unknown, 0, "{when}");
        successor.abort();
        if !fuse.blown() {
            break;
        }
        n += 1;
    }
    assert!(n > 10, "only {n} instants");
}

#[tokio::test(start_paused = true)]
pub async fn p13_a_frozen_worker_that_wakes_up_later_writes_nothing_at_all() {
    let calm = setup(&Fuse::none()).build();
    let session = story(&calm).await;
    let untroubled = lines(&calm.items(&session).await);
    let mut n = 0;
    loop {
        let fuse = Fuse::new(Role::Worker, n, Peril::Stops);
        let world = Arc::new(setup(&fuse).build());
        let (beside, blows) = (world.clone(), fuse.clone());
        let liar = tokio::spawn(async move {
            let life = blows.victim().await;
            // The world takes it for gone, wrongly: only the fence is left.
            let execution = beside.compute.execution_of(life.generation);
            beside.environments.lose_all();
            beside.compute.say(&execution, Some(Liveness::Gone));
        });
        let session = story(&world).await;
        let when = format!("instant {n} ({})", fuse.place());
        told_as(&world, &session, &untroubled, &when).await;
        if !fuse.blown() {
            break;
        }
        liar.await.expect("no panic");
        let before = world.store.records();
        let commands = world.commands();
        fuse.victim().await.thaw();
        tokio::time::sleep(Duration::from_secs(120)).await;
        world.at_rest().await;
        assert_eq!(world.store.records(), before, "{when}");
        // A claim that was granted before it froze may be carried out by it: the one effect whose outcome is told as unknown.
        let late = world.commands().len() - commands.len();
        assert!(late <= 1, "{when}: {late} commands were begun by a zombie");
        n += 1;
    }
    assert!(n > 75, "only {n} instants");
}

#[tokio::test(start_paused = true)]
pub async fn p15_work_goes_on_through_one_rolling_restart_after_another() {
    const RESTARTS: usize = 25;
    let commands: Vec<String> = (0..=RESTARTS)
        .map(|n| format!("@exec c{n}\n@sleep 200"))
        .collect();
    let world = setup(&Fuse::none()).build();
    let text = format!("{}\n@say done", commands.join("\n"));
    let session = world.create(managed(&text)).await;
    for n in 0..RESTARTS {
        world.items_reach(&session, n + 2).await;
        world.stop_dispatching();
        // The next one starts while the workers of the one before are still on their way out.
        world.start_dispatching();
        world.leave(50);
    }
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    let expected: Vec<String> = (0..=RESTARTS).map(|n| format!("c{n}")).collect();
    assert_eq!(world.commands(), expected);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_policy_can_fail_lost_turns_and_the_session_goes_on() {
    let setup = Setup {
        settings: Settings {
            recovery: Recovery::Fail,
            ..Settings::default()
        },
        ..Setup::default()
    };
    let world = setup.build();
    let session = world.create(managed("@exec one\n@sleep 6000000")).await;
    world.say_next(&session, "q", "@say next").await;
    world.items_reach(&session, 2).await;
    world.kill_worker(1).await;
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Failed, TurnStatus::Completed]
    );
    let read = world.read(&session).await;
    let (turn, _) = world.core.get_turn(&read, 1).await.expect("readable");
    let error = turn.error.expect("it failed");
    assert_eq!(error.code.to_string(), "internal_error");
    assert!(
        error.message.contains("the worker was lost"),
        "{}",
        error.message
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_kills_every_worker_fails_and_the_session_goes_on() {
    let world = Arc::new(Setup::default().build());
    let session = world.create(managed("@sleep 6000000")).await;
    world.say_next(&session, "q", "@say next").await;
    let mut killed = 0;
    while world.turns(&session).await[0] != TurnStatus::Failed {
        let generation = world.compute.granted().len() as u64;
        if generation > killed {
            killed = generation;
            world.kill_worker(generation).await;
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Failed, TurnStatus::Completed]
    );
    let attempts = u64::from(world.core.settings.turn_attempts);
    assert!(killed >= attempts, "given up after {killed} losses");
    let read = world.read(&session).await;
    let (turn, _) = world.core.get_turn(&read, 1).await.expect("readable");
    let error = turn.error.expect("it failed");
    assert_eq!(error.code.to_string(), "internal_error");
    assert!(
        error.message.contains("without progress"),
        "{}",
        error.message
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_makes_progress_between_losses_is_never_given_up() {
    let commands: Vec<String> = (0..12).map(|n| format!("@exec c{n}\n@sleep 50")).collect();
    let world = Setup::default().build();
    let session = world
        .create(managed(&format!("{}\n@say done", commands.join("\n"))))
        .await;
    for n in 0..12 {
        world.items_reach(&session, n + 2).await;
        world
            .kill_worker(world.compute.granted().len() as u64)
            .await;
    }
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(world.commands().len(), 12);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_worker_that_is_asked_to_leave_gives_its_lease_back_and_another_goes_on() {
    let world = Setup::default().build();
    let session = world
        .create(managed("@exec one\n@sleep 6000\n@exec two\n@say done"))
        .await;
    world.items_reach(&session, 2).await;
    world.stop_dispatching();
    let asked_ms = world.core.clock.now_ms();
    world.worker.leave(500);
    world.at_rest().await;
    assert!(world.core.clock.now_ms() - asked_ms <= 1_000);
    let head = world.read(&session).await.head;
    assert_eq!(head.fence.lease, None);
    assert!(
        head.agenda
            .execute
            .is_some_and(|due| due <= world.core.clock.now_ms())
    );
    assert_eq!(world.turns(&session).await, [TurnStatus::InProgress]);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_command_that_outlives_the_grace_period_is_ended_and_told_to_be_unknown() {
    let setup = Setup {
        script: Box::new(|_, _| Scripted::Hangs {
            output: String::new(),
        }),
        fuse: Some(Fuse::none()),
        ..Setup::default()
    };
    let world = setup.build();
    let session = world.create(managed("@exec hang\n@say done")).await;
    let begun = async || !world.commands().is_empty();
    assert!(super::world::eventually(begun).await);
    world.stop_dispatching();
    world.leave(500);
    world.at_rest().await;
    world.start_dispatching();
    world.settled(&session).await;
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @exec hang\n@say done",
            "$ hang [Incomplete None]",
            "Assistant: done"
        ]
    );
    assert_eq!(world.commands(), ["hang"]);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn launches_that_fail_are_tried_again_and_then_fail_the_turn() {
    use rat_things::engine::ports::ComputeError;
    let world = Setup::default().build();
    world
        .compute
        .break_launches(Some(ComputeError::Failed("no fork".into())));
    let session = world.create(managed("@say one")).await;
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
    world.compute.break_launches(None);
    world
        .send_surely(&session, "k", json!([next_turn("@say two")]))
        .await;
    world.settled(&session).await;
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: @say one",
            "User: @say two",
            "Assistant: one",
            "Assistant: two"
        ]
    );
    world.sound();
}
