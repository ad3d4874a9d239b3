//! Whatever a harness does, the engine keeps its promises: harnesses are adapters of other people's programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use pretty_assertions::assert_eq;
use rat_things::api::{CallStatus, SessionStatus, TurnStatus};
use rat_things::engine::core::Settings;
use rat_things::engine::ids::SessionId;
use rat_things::engine::open_call::MAX_OPEN_CALLS;
use rat_things::engine::ports::{
    Claim, Harness, Observation, Past, Steer, ToolEnd, TurnEnd, TurnLink, TurnTask,
};
use serde_json::json;
use tokio::sync::mpsc;

use super::world::{Setup, World, answer_to, lines, managed};

type Act = dyn Fn(usize, TurnTask, TurnLink) -> BoxFuture<'static, TurnEnd> + Send + Sync;

/// A harness that does what a test says; it is told how often it was started before.
struct Acts {
    act: Box<Act>,
    starts: AtomicUsize,
}

#[async_trait]
impl Harness for Acts {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let started = self.starts.fetch_add(1, Ordering::SeqCst);
        (self.act)(started, task, link).await
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

/// A world in which such a harness works.
fn world_of<F>(act: impl Fn(usize, TurnTask, TurnLink) -> F + Send + Sync + 'static) -> World
where
    F: Future<Output = TurnEnd> + Send + 'static,
{
    set_up_for(act).build()
}

fn set_up_for<F>(act: impl Fn(usize, TurnTask, TurnLink) -> F + Send + Sync + 'static) -> Setup
where
    F: Future<Output = TurnEnd> + Send + 'static,
{
    let act: Box<Act> = Box::new(move |started, task, link| Box::pin(act(started, task, link)));
    let harness = Acts {
        act,
        starts: AtomicUsize::new(0),
    };
    Setup {
        harness: Some(Arc::new(harness)),
        ..Setup::default()
    }
}

/// A Session that such a harness works for, once it owes nothing or asks its client.
async fn played<F>(
    act: impl Fn(usize, TurnTask, TurnLink) -> F + Send + Sync + 'static,
) -> (World, SessionId)
where
    F: Future<Output = TurnEnd> + Send + 'static,
{
    let world = world_of(act);
    let session = world.create(managed("go")).await;
    world.settled(&session).await;
    world.sound();
    (world, session)
}

async fn takes(task: &TurnTask, link: &TurnLink) {
    let inputs = task.feed.iter().map(|feed| feed.input).collect();
    link.saw(Observation::Took(inputs)).await.expect("live");
}

fn says(text: &str) -> Observation {
    Observation::Message {
        text: text.into(),
        phase: None,
        incomplete: false,
    }
}

fn calls(call_id: &str) -> Observation {
    Observation::FunctionCall {
        call_id: call_id.into(),
        name: "ask".into(),
        arguments: "{}".into(),
        background: false,
    }
}

fn claim(call_id: &str) -> Claim {
    Claim {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: "{}".into(),
        command: call_id.into(),
        cwd: None,
        server_label: None,
    }
}

fn ended(call_id: &str) -> Observation {
    Observation::ToolEnded {
        call_id: call_id.into(),
        end: ToolEnd {
            status: CallStatus::Completed,
            exit_code: Some(0),
            output: "out".into(),
            duration_ms: 1,
        },
        output: "out".into(),
    }
}

async fn error_of(world: &World, session: &SessionId) -> String {
    let read = world.read(session).await;
    let (turn, _) = world.core.get_turn(&read, 1).await.expect("readable");
    turn.error.expect("it failed").message
}

#[tokio::test(start_paused = true)]
pub async fn a_call_that_is_seen_just_before_the_end_is_closed_with_the_turn() {
    let ends = [
        (TurnEnd::Completed, TurnStatus::Completed),
        (
            TurnEnd::Failed {
                code: "server_error".into(),
                message: "down".into(),
            },
            TurnStatus::Failed,
        ),
        (TurnEnd::Cancelled, TurnStatus::Cancelled),
    ];
    for (end, status) in ends {
        let (world, session) = played(move |_, task, link| {
            let end = end.clone();
            async move {
                takes(&task, &link).await;
                link.saw(calls("c1")).await.expect("live");
                end
            }
        })
        .await;
        assert_eq!(world.turns(&session).await, [status]);
        assert_eq!(
            lines(&world.items(&session).await),
            ["User: go", "ask({}) [Incomplete]"]
        );
    }
}

#[tokio::test(start_paused = true)]
pub async fn waiting_for_nothing_fails_the_turn() {
    let (world, session) = played(|_, task, link| async move {
        takes(&task, &link).await;
        TurnEnd::Waiting
    })
    .await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
    assert!(
        error_of(&world, &session)
            .await
            .contains("no function call is open")
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_harness_that_panics_fails_its_turn_and_the_session_goes_on() {
    let (world, session) = played(|started, task, link| async move {
        takes(&task, &link).await;
        assert!(started > 0, "the first time");
        TurnEnd::Completed
    })
    .await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
    assert!(error_of(&world, &session).await.contains("unexpectedly"));
    world.say(&session, "k", "again").await;
    world.settled(&session).await;
    assert_eq!(
        world.turns(&session).await,
        [TurnStatus::Failed, TurnStatus::Completed]
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_harness_that_always_leaves_by_itself_fails_its_turn() {
    let (world, session) = played(|_, _, _| async move { TurnEnd::Left }).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Failed]);
    let attempts = world.core.settings.turn_attempts as usize;
    let runs = world.compute.granted().len();
    assert!((attempts..=attempts + 1).contains(&runs), "{runs} runs");
}

#[tokio::test(start_paused = true)]
pub async fn a_message_that_was_never_taken_is_still_part_of_the_turn_that_it_started() {
    let (world, session) = played(|_, _, _| async move { TurnEnd::Completed }).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
    assert_eq!(lines(&world.items(&session).await), ["User: go"]);
}

#[tokio::test(start_paused = true)]
pub async fn effects_that_are_claimed_side_by_side_end_each_for_itself() {
    let (world, session) = played(|_, task, link| async move {
        takes(&task, &link).await;
        for id in ["a", "b", "c"] {
            link.claim(claim(id)).await.expect("live");
        }
        for id in ["b", "a", "nobody"] {
            link.saw(ended(id)).await.expect("live");
        }
        TurnEnd::Completed
    })
    .await;
    assert_eq!(
        lines(&world.items(&session).await),
        [
            "User: go",
            "$ a [Completed Some(0)]",
            "$ b [Completed Some(0)]",
            // Nobody said how it ended.
            "$ c [Incomplete None]",
        ]
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_flood_of_observations_is_stored_whole_and_in_order() {
    let (world, session) = played(|_, task, link| async move {
        takes(&task, &link).await;
        for n in 0..1_000 {
            link.saw(says(&n.to_string())).await.expect("live");
        }
        TurnEnd::Completed
    })
    .await;
    let read = world.read(&session).await;
    assert_eq!(read.head.next.item, 1_002);
    let last = lines(
        &world
            .core
            .items(&read, &[2, 1_001])
            .await
            .expect("readable"),
    );
    assert_eq!(last, ["Assistant: 0", "Assistant: 999"]);
}

#[tokio::test(start_paused = true)]
pub async fn calls_beyond_the_bound_are_told_as_not_answered_when_the_turn_goes_on() {
    let (world, session) = played(|started, task, link| async move {
        if started == 0 {
            takes(&task, &link).await;
            for n in 0..MAX_OPEN_CALLS + 4 {
                link.saw(calls(&format!("c{n}"))).await.expect("live");
            }
            return TurnEnd::Waiting;
        }
        let told = |past: &Past| match past {
            Past::Function { output, .. } => output.as_ref().map(|answer| answer.success),
            _ => None,
        };
        let answers: Vec<bool> = task.history.iter().filter_map(told).collect();
        let text = format!(
            "{} answers, {} errors",
            answers.iter().filter(|success| **success).count(),
            answers.iter().filter(|success| !**success).count()
        );
        link.saw(says(&text)).await.expect("live");
        TurnEnd::Completed
    })
    .await;
    let mut n = 0;
    while status(&world, &session).await == SessionStatus::RequiresAction {
        let answer = answer_to(&world, &session, "42").await;
        world.send_surely(&session, &n.to_string(), answer).await;
        n += 1;
        world.settled(&session).await;
    }
    assert_eq!(n, MAX_OPEN_CALLS);
    let told = lines(&world.items(&session).await);
    assert_eq!(
        told.last().map(String::as_str),
        Some(format!("Assistant: {MAX_OPEN_CALLS} answers, 4 errors").as_str())
    );
    world.sound();
}

async fn status(world: &World, session: &SessionId) -> SessionStatus {
    let now = world.core.get_session(super::world::OWNER, session).await;
    now.expect("readable").status
}

#[tokio::test(start_paused = true)]
pub async fn many_open_calls_are_closed_when_their_turn_is_cancelled() {
    let (world, session) = played(|_, task, link| async move {
        takes(&task, &link).await;
        for n in 0..MAX_OPEN_CALLS {
            link.saw(calls(&format!("c{n}"))).await.expect("live");
        }
        TurnEnd::Waiting
    })
    .await;
    let answer = answer_to(&world, &session, "42").await;
    world.send_surely(&session, "a", answer).await;
    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
    world.send_surely(&session, "x", cancel).await;
    assert_eq!(status(&world, &session).await, SessionStatus::InProgress);
    world.settled(&session).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Cancelled]);
    let told = lines(&world.items(&session).await);
    let closed = told
        .iter()
        .filter(|line| line.ends_with("[Incomplete]"))
        .count();
    assert_eq!(
        closed,
        MAX_OPEN_CALLS - 1,
        "all but the one that was answered"
    );
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn an_answer_that_a_harness_was_handed_and_waits_for_all_the_same_is_in_its_history() {
    for takes_it in [true, false] {
        let world = world_of(move |started, task, mut link| async move {
            let told =
                |past: &Past| matches!(past, Past::Answered { call_id, .. } if call_id == "c");
            if started > 0 {
                let answered = task.history.iter().filter(|past| told(past)).count();
                link.saw(says(&format!("{answered} answers")))
                    .await
                    .expect("live");
                return TurnEnd::Completed;
            }
            takes(&task, &link).await;
            let call = Observation::FunctionCall {
                call_id: "c".into(),
                name: "ask".into(),
                arguments: "{}".into(),
                background: true,
            };
            link.saw(call).await.expect("live");
            tokio::time::sleep(Duration::from_millis(1_000)).await;
            if takes_it {
                let steer = link.steer.try_recv();
                assert!(matches!(steer, Ok(Steer::Answer { .. })), "{steer:?}");
            }
            TurnEnd::Waiting
        });
        let session = world.create(managed("go")).await;
        world
            .until(&session, |s| !s.required_actions.is_empty())
            .await;
        let answer = answer_to(&world, &session, "42").await;
        world.send_surely(&session, "a", answer).await;
        world.settled(&session).await;
        world.sound();
        assert_eq!(world.turns(&session).await, [TurnStatus::Completed]);
        assert_eq!(
            lines(&world.items(&session).await)
                .last()
                .map(String::as_str),
            Some("Assistant: 1 answers")
        );
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_grant_that_reaches_its_worker_twice_is_run_once() {
    let starts = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&starts);
    let (world, session) = played(move |_, task, link| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move {
            takes(&task, &link).await;
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
            TurnEnd::Completed
        }
    })
    .await;
    world.say(&session, "again", "go on").await;
    let running = || starts.load(Ordering::SeqCst) == 2;
    assert!(super::world::eventually(async || running()).await);
    let grant = world.compute.granted().pop().expect("it runs");
    // As a message that was delivered twice brings it.
    world.worker.run(grant).await;
    world.settled(&session).await;
    world.at_rest().await;
    assert_eq!(starts.load(Ordering::SeqCst), 2);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_message_that_a_harness_never_takes_does_not_keep_its_turn_from_waiting() {
    let (world, session) = played(|started, task, link| async move {
        let call = Observation::FunctionCall {
            call_id: "c".into(),
            name: "ask".into(),
            arguments: "{}".into(),
            background: true,
        };
        if started == 0 {
            takes(&task, &link).await;
            link.saw(call).await.expect("live");
        }
        TurnEnd::Waiting
    })
    .await;
    world.say(&session, "k", "are you there").await;
    world.at_rest().await;
    world.settled(&session).await;
    assert_eq!(
        status(&world, &session).await,
        SessionStatus::RequiresAction
    );
    world.sound();
}

/// A world whose commits wait for so long, and for an end of a call so long, and whose harness runs two commands, one after the other: it
/// says when the first one has ended, and goes on when it is told to. `waits`: until what it saw is recorded.
fn patient(waits: bool, end_batch: Duration) -> (World, mpsc::Receiver<mpsc::Sender<()>>) {
    let (tell, told) = mpsc::channel(1);
    let setup = set_up_for(move |_, task, link| {
        let tell = tell.clone();
        async move {
            takes(&task, &link).await;
            link.claim(claim("c1")).await.expect("live");
            link.saw(ended("c1")).await.expect("live");
            if waits {
                link.recorded().await.expect("live");
                link.recorded().await.expect("live");
            }
            let (go_on, mut gone_on) = mpsc::channel(1);
            tell.send(go_on).await.expect("the test lives");
            gone_on.recv().await;
            link.claim(claim("c2")).await.expect("live");
            link.saw(ended("c2")).await.expect("live");
            TurnEnd::Completed
        }
    });
    let hour_ms = 3_600_000;
    let world = Setup {
        settings: Settings {
            batch_ms: hour_ms,
            lease_ms: 10 * hour_ms,
            end_batch_ms: end_batch.as_millis() as u64,
            ..Settings::default()
        },
        ..setup
    }
    .build();
    (world, told)
}

const LONG: Duration = Duration::from_secs(3_000);

#[tokio::test(start_paused = true)]
pub async fn a_harness_that_waits_for_its_records_has_them_with_one_commit() {
    let mut revisions = Vec::new();
    for waits in [false, true] {
        let (world, mut told) = patient(waits, LONG);
        let session = world.create(managed("go")).await;
        let go_on = told.recv().await.expect("it comes so far");
        let expect = match waits {
            true => "$ c1 [Completed Some(0)]",
            false => "$ c1 [InProgress None]",
        };
        assert_eq!(lines(&world.items(&session).await), ["User: go", expect]);
        go_on.send(()).await.expect("it waits");
        world.settled(&session).await;
        world.at_rest().await;
        revisions.push(world.read(&session).await.head.revision);
    }
    // Accepted, claimed, one for each command, ended; and one more where it was waited for.
    assert_eq!(revisions, [5, 6]);
}

#[tokio::test(start_paused = true)]
pub async fn the_end_of_a_call_waits_only_shortly_for_company() {
    let (world, mut told) = patient(false, Duration::from_millis(50));
    let session = world.create(managed("go")).await;
    let go_on = told.recv().await.expect("it comes so far");
    tokio::time::sleep(Duration::from_millis(51)).await;
    assert_eq!(
        lines(&world.items(&session).await),
        ["User: go", "$ c1 [Completed Some(0)]"]
    );
    go_on.send(()).await.expect("it waits");
    world.settled(&session).await;
}
