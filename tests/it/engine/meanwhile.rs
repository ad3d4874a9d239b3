//! Clients act at every instant of a worker's work: the worker stands still, the client does something, the worker goes on.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::api::{CallStatus, SessionStatus, TurnStatus};
use rat_things::backend::memory::environments::Scripted;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{
    Claim, Fenced, Harness, Observation, ToolEnd, TurnEnd, TurnLink, TurnTask,
};
use rat_things::engine::receipt::Outcome;
use serde_json::json;

use super::perils::{Fuse, Peril, Role};
use super::world::{OWNER, Setup, World, answer_to, lines, managed};

fn setup(fuse: &Arc<Fuse>) -> Setup {
    Setup {
        script: Box::new(|spec, files| {
            let path = format!("/workspace/outputs/{}", files.len());
            files.insert(path, format!("{:?}", spec.program).into());
            Scripted::ok("done")
        }),
        fuse: Some(fuse.clone()),
        ..Setup::default()
    }
}

/// Lets a Turn run until it ends, answering what it asks; at one instant of its workers, `act` happens. What `act` answered, if
/// the instant was reached.
async fn play<T: Send + 'static>(
    n: usize,
    text: &str,
    act: impl AsyncFn(&World, &SessionId) -> T,
) -> (Arc<World>, SessionId, Option<T>, &'static str) {
    let fuse = Fuse::new(Role::Worker, n, Peril::Stops);
    let world = Arc::new(setup(&fuse).build());
    let session = world.create(managed(text)).await;
    world
        .say_next(&session, "behind", "@exec behind\n@say behind")
        .await;
    let story = async {
        world
            .until(&session, |s| s.status != SessionStatus::InProgress)
            .await;
        while let SessionStatus::RequiresAction = status(&world, &session).await {
            let answer = answer_to(&world, &session, "42").await;
            world.send_surely(&session, "answer", answer).await;
            world
                .until(&session, |s| s.status != SessionStatus::InProgress)
                .await;
        }
    };
    let meanwhile = async {
        let life = fuse.victim().await;
        let acted = act(&world, &session).await;
        life.thaw();
        acted
    };
    let acted = {
        tokio::pin!(story, meanwhile);
        tokio::select! {
            () = &mut story => None,
            acted = &mut meanwhile => {
                story.await;
                Some(acted)
            }
        }
    };
    tokio::select! {
        () = world.at_rest() => {}
        // The instant came when the Session was settled already: nobody acts at it.
        life = fuse.victim(), if acted.is_none() => {
            life.thaw();
            world.at_rest().await;
        }
    }
    world.sound();
    (world, session, acted, fuse.place())
}

async fn status(world: &World, session: &SessionId) -> SessionStatus {
    world
        .core
        .get_session(OWNER, session)
        .await
        .expect("readable")
        .status
}

const WORK: &str = "@exec one\n@call ask {}\n@exec two\n@say done";

#[tokio::test(start_paused = true)]
pub async fn an_answer_is_taken_at_any_instant_and_no_output_is_lost() {
    let answer = async |world: &World, session: &SessionId| {
        let now = world
            .core
            .get_session(OWNER, session)
            .await
            .expect("readable");
        if now.required_actions.is_empty() {
            return false;
        }
        let answer = answer_to(world, session, "42").await;
        world.send_surely(session, "answer", answer).await;
        true
    };
    let text = "@exec one\n@call ask {}\n@say done";
    let (world, session, ..) = play(usize::MAX, text, answer).await;
    let untroubled = lines(&world.items(&session).await);
    let artifacts = world.artifacts(&session).await;
    assert_eq!(artifacts.len(), 3);
    let mut early = 0;
    for n in 0.. {
        let (world, session, answered, place) = play(n, text, answer).await;
        assert_eq!(
            lines(&world.items(&session).await),
            untroubled,
            "instant {n} ({place})"
        );
        assert_eq!(
            world.artifacts(&session).await,
            artifacts,
            "instant {n} ({place})"
        );
        early += usize::from(answered == Some(true));
        if answered.is_none() {
            break;
        }
    }
    assert!(
        early >= 2,
        "answered while the worker was there {early} times"
    );
}

#[tokio::test(start_paused = true)]
pub async fn a_steer_at_any_instant_reaches_the_agent_once() {
    let steer = async |world: &World, session: &SessionId| {
        let accepted = world.say(session, "steer", "@say steered").await;
        accepted.receipt.outcomes[0].clone()
    };
    let (world, session, ..) = play(usize::MAX, WORK, steer).await;
    let untroubled = lines(&world.items(&session).await);
    for n in 0.. {
        let (world, session, outcome, place) = play(n, WORK, steer).await;
        let Some(outcome) = outcome else { break };
        let told = lines(&world.items(&session).await);
        let steered = told
            .iter()
            .filter(|line| *line == "User: @say steered")
            .count();
        assert_eq!(steered, 1, "instant {n} ({place}): {outcome:?}");
        let answered = told
            .iter()
            .filter(|line| *line == "Assistant: steered")
            .count();
        assert_eq!(answered, 1, "instant {n} ({place}): {told:#?}");
        let others: Vec<String> = told
            .iter()
            .filter(|line| !line.contains("steered"))
            .cloned()
            .collect();
        assert_eq!(others, untroubled, "instant {n} ({place})");
        let turns = world.turns(&session).await;
        assert!(
            turns.iter().all(|turn| *turn == TurnStatus::Completed),
            "{turns:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_cancel_at_any_instant_ends_its_turn_and_no_other() {
    let cancel = async |world: &World, session: &SessionId| {
        let first = rat_things::engine::view::turn_id(session, 1);
        let event = json!([{ "type": "agent.session.input.cancel", "turn_id": first }]);
        let accepted = world.send_surely(session, "cancel", event).await;
        accepted.receipt.outcomes[0].clone()
    };
    let mut ends = Vec::new();
    for n in 0.. {
        let (world, session, outcome, place) = play(n, WORK, cancel).await;
        let Some(outcome) = outcome else { break };
        let turns = world.turns(&session).await;
        let when = format!("instant {n} ({place}): {outcome:?}");
        assert_eq!(turns[1..], [TurnStatus::Completed], "{when}");
        match outcome {
            Outcome::Cancelled { turn: 1 } => assert_eq!(turns[0], TurnStatus::Cancelled, "{when}"),
            Outcome::Nothing { .. } => assert_eq!(turns[0], TurnStatus::Completed, "{when}"),
            // It may have been done already, with only its end to be stored.
            Outcome::Cancelling { turn: 1 } => assert_ne!(turns[0], TurnStatus::Failed, "{when}"),
            other => panic!("instant {n}: {other:?}"),
        }
        let told = lines(&world.items(&session).await);
        assert_eq!(
            told.last().map(String::as_str),
            Some("Assistant: behind"),
            "{when}"
        );
        ends.push(turns[0]);
    }
    assert!(ends.contains(&TurnStatus::Cancelled) && ends.contains(&TurnStatus::Completed));
}

#[tokio::test(start_paused = true)]
pub async fn a_cancel_of_the_turn_that_begins_lets_the_one_behind_it_begin() {
    let cancel = async |world: &World, session: &SessionId| {
        world.say_next(session, "third", "@say third").await;
        let second = rat_things::engine::view::turn_id(session, 2);
        let event = json!([{ "type": "agent.session.input.cancel", "turn_id": second }]);
        let accepted = world.send_surely(session, "cancel", event).await;
        accepted.receipt.outcomes[0].clone()
    };
    let mut cancelled = 0;
    for n in 0.. {
        let (world, session, outcome, place) = play(n, "@say first", cancel).await;
        let Some(outcome) = outcome else { break };
        let turns = world.turns(&session).await;
        let when = format!("instant {n} ({place}): {outcome:?}");
        assert_eq!(
            (turns[0], turns[2]),
            (TurnStatus::Completed, TurnStatus::Completed),
            "{when}"
        );
        cancelled += usize::from(turns[1] == TurnStatus::Cancelled);
        let told = lines(&world.items(&session).await);
        for line in ["User: @say third", "Assistant: third"] {
            let times = told.iter().filter(|told| *told == line).count();
            assert_eq!(times, 1, "{when}: {line} in {told:#?}");
        }
        // Nobody had to try again.
        assert_eq!(world.read(&session).await.head.last_error, None, "{when}");
    }
    assert!(cancelled > 0);
}

#[tokio::test(start_paused = true)]
pub async fn a_deletion_at_any_instant_leaves_nothing_behind() {
    for n in 0.. {
        let fuse = Fuse::new(Role::Worker, n, Peril::Stops);
        let world = Arc::new(setup(&fuse).build());
        let session = world
            .create(managed("@exec one\n@exec two\n@say done"))
            .await;
        let reached = tokio::select! {
            life = fuse.victim() => Some(life),
            () = world.settled(&session) => None,
        };
        world
            .core
            .delete_session(OWNER, &session)
            .await
            .expect("deleted");
        let gone = async || world.store.records().is_empty();
        assert!(
            super::world::eventually(gone).await,
            "instant {n} ({})",
            fuse.place()
        );
        let Some(life) = reached else { break };
        let commands = world.commands().len();
        life.thaw();
        world.at_rest().await;
        assert!(
            world.store.records().is_empty(),
            "instant {n} ({})",
            fuse.place()
        );
        // A command whose claim was granted may still be begun; nothing behind it.
        assert!(
            world.commands().len() <= commands + 1,
            "instant {n} ({})",
            fuse.place()
        );
    }
}

/// Uses one tool, a little while after it has been given its messages.
struct OneTool;

#[async_trait]
impl Harness for OneTool {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let work = async || {
            let fed = task.feed.iter().map(|feed| feed.input).collect();
            link.saw(Observation::Took(fed)).await?;
            tokio::time::sleep(Duration::from_millis(200)).await;
            let call_id = format!("{}:{}", task.turn, task.history.len());
            let claim = Claim {
                call_id: call_id.clone(),
                name: "shell".into(),
                arguments: "{}".into(),
                command: "one".into(),
                cwd: None,
                server_label: None,
            };
            link.claim(claim).await?;
            let output = "out".to_owned();
            let end = ToolEnd {
                status: CallStatus::Completed,
                exit_code: Some(0),
                output: output.clone(),
                duration_ms: 1,
            };
            let ended = Observation::ToolEnded {
                call_id,
                end,
                output,
            };
            link.saw(ended).await
        };
        match work().await {
            Ok(()) => TurnEnd::Completed,
            Err(Fenced) => TurnEnd::Left,
        }
    }

    fn name(&self) -> &'static str {
        "test"
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_call_ends_where_it_was_claimed_though_items_of_others_come_in_between() {
    for n in 0.. {
        let fuse = Fuse::new(Role::Worker, n, Peril::Stops);
        let world = Setup {
            harness: Some(Arc::new(OneTool)),
            ..setup(&fuse)
        };
        let world = Arc::new(world.build());
        let session = world.create(managed("go")).await;
        world.say_next(&session, "behind", "behind").await;
        let (beside, blows, of) = (world.clone(), fuse.clone(), session.clone());
        let meddler = tokio::spawn(async move {
            let life = blows.victim().await;
            // Its message becomes an Item, beside those of the Turn that runs.
            let second = rat_things::engine::view::turn_id(&of, 2);
            let event = json!([{ "type": "agent.session.input.cancel", "turn_id": second }]);
            beside.send_surely(&of, "cancel", event).await;
            life.thaw();
        });
        // A steer that the worker does not hear of: it finds it when it claims the tool.
        world.bell.lose_rings(true);
        tokio::time::sleep(Duration::from_millis(100)).await;
        world.say(&session, "steer", "and this").await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        world.bell.lose_rings(false);
        world.settled(&session).await;
        world.at_rest().await;
        world.sound();
        let calls = lines(&world.items(&session).await);
        let calls = calls.iter().filter(|line| line.starts_with("$ one"));
        let done = calls.filter(|line| line.ends_with("[Completed Some(0)]"));
        assert!(done.count() >= 1, "instant {n} ({})", fuse.place());
        meddler.abort();
        if !fuse.blown() {
            assert!(n > 10, "only {n} instants");
            return;
        }
    }
}
