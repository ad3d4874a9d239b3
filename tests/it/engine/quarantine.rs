//! A worker that nobody can account for is not taken for dead (I10).

use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::api::TurnStatus;
use rat_things::engine::error::EngineError;
use rat_things::engine::fence::RunState;
use rat_things::engine::ids::SessionId;
use rat_things::engine::operating::{Operating, run_id};
use rat_things::engine::ports::{DeploymentError, ExecutionId, Liveness, Operator as _, RunPhase};
use rat_things::engine::read::ListQuery;
use rat_things::engine::receipt::Outcome;
use serde_json::json;

use super::perils::{Fuse, Life, Peril, Role};
use super::world::{OWNER, Setup, World, eventually, lines, managed};

const WORK: &str = "@exec one\n@exec two\n@exec three\n@say done";

/// A world whose first worker stands still in the middle of a Turn, out of everybody's sight.
struct Lost {
    world: World,
    session: SessionId,
    life: Arc<Life>,
    execution: ExecutionId,
}

async fn lost(says: Liveness) -> Lost {
    let fuse = Fuse::new(Role::Worker, 20, Peril::Stops);
    let world = Setup {
        fuse: Some(fuse.clone()),
        ..Setup::default()
    }
    .build();
    let session = world.create(managed(WORK)).await;
    let life = fuse.victim().await;
    let execution = world.compute.execution_of(life.generation);
    world.compute.say(&execution, Some(says));
    // Seen again when its entry is due, watched for a lease, and given a last chance of half of one.
    let lapsed = Duration::from_millis(3 * world.core.settings.lease_ms);
    tokio::time::sleep(lapsed).await;
    Lost {
        world,
        session,
        life,
        execution,
    }
}

impl Lost {
    async fn state(&self) -> RunState {
        self.world.read(&self.session).await.head.fence.state()
    }

    /// Every command ran once at most, and the Turn is the same.
    async fn goes_on(&self) {
        self.world.settled(&self.session).await;
        assert_eq!(
            self.world.turns(&self.session).await[0],
            TurnStatus::Completed
        );
        let mut commands = self.world.commands();
        commands.sort();
        commands.dedup();
        assert_eq!(commands.len(), self.world.commands().len());
        let told = lines(&self.world.items(&self.session).await);
        assert_eq!(
            told.iter()
                .filter(|line| *line == "Assistant: done")
                .count(),
            1,
            "{told:#?}"
        );
        self.world.sound();
    }
}

#[tokio::test(start_paused = true)]
pub async fn a_worker_out_of_sight_is_quarantined_and_its_session_stays_usable() {
    let lost = lost(Liveness::Unknown).await;
    let Lost { world, session, .. } = &lost;
    assert_eq!(lost.state().await, RunState::Quarantined);
    world.sound();
    let head = world.read(session).await.head;
    assert!(
        head.last_error
            .is_some_and(|error| error.contains("can't be accounted for"))
    );
    assert_eq!(world.turns(session).await, [TurnStatus::InProgress]);
    let outcome =
        |accepted: rat_things::engine::accept::Accepted| accepted.receipt.outcomes[0].clone();
    let steered = world.say(session, "s", "@say steered").await;
    assert_eq!(outcome(steered), Outcome::Steered { turn: 1 });
    let queued = world.say_next(session, "q", "@say next").await;
    assert_eq!(
        outcome(queued),
        Outcome::Queued {
            turn: 2,
            position: 1
        }
    );
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert_eq!(lost.state().await, RunState::Quarantined);
    assert_eq!(world.compute.granted().len(), 1, "nobody took over");
    world.sound();
    world.compute.say(&lost.execution, Some(Liveness::Gone));
    lost.goes_on().await;
    assert_eq!(world.turns(session).await[1], TurnStatus::Completed);
}

#[tokio::test(start_paused = true)]
pub async fn a_quarantined_worker_that_comes_back_writes_nothing_at_all() {
    let lost = lost(Liveness::Unknown).await;
    let session_rows = |world: &World| {
        let records = world.store.records();
        let mut rows: Vec<_> = records
            .into_iter()
            .filter(|record| !record.key.partition.starts_with("A/"))
            .collect();
        // The world is asked about the worker now and then, which moves the head on.
        rows.retain(|record| record.key.sort != "head");
        rows
    };
    let before = session_rows(&lost.world);
    lost.life.thaw();
    lost.world.at_rest().await;
    assert_eq!(session_rows(&lost.world), before);
    assert_eq!(lost.state().await, RunState::Quarantined);
    lost.world.compute.say(&lost.execution, None);
    lost.goes_on().await;
}

#[tokio::test(start_paused = true)]
pub async fn an_operator_ends_a_quarantine_and_only_a_quarantine() {
    let lost = lost(Liveness::Unknown).await;
    let core = &lost.world.core;
    core.release_quarantine(OWNER, &lost.session)
        .await
        .expect("quarantined");
    lost.goes_on().await;
    let again = core.release_quarantine(OWNER, &lost.session).await;
    assert!(matches!(again, Err(EngineError::Conflict(_))), "{again:?}");
    let before = lost.world.store.records();
    lost.life.thaw();
    lost.world.at_rest().await;
    assert_eq!(lost.world.store.records(), before);
}

#[tokio::test(start_paused = true)]
pub async fn a_silent_worker_is_stopped_and_its_turn_goes_on() {
    let lost = lost(Liveness::Running).await;
    assert_eq!(lost.world.compute.granted().len(), 1);
    lost.world.compute.say(&lost.execution, None);
    lost.goes_on().await;
    assert!(lost.world.compute.granted().len() > 1);
}

#[tokio::test(start_paused = true)]
pub async fn a_cancel_in_quarantine_is_done_when_the_quarantine_ends_and_not_before() {
    let lost = lost(Liveness::Unknown).await;
    let Lost { world, session, .. } = &lost;
    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
    let accepted = world.send_surely(session, "x", cancel).await;
    assert_eq!(accepted.receipt.outcomes, [Outcome::Cancelling { turn: 1 }]);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(world.turns(session).await, [TurnStatus::InProgress]);
    world
        .core
        .release_quarantine(OWNER, session)
        .await
        .expect("quarantined");
    world.settled(session).await;
    assert_eq!(world.turns(session).await, [TurnStatus::Cancelled]);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_queued_turn_is_cancelled_during_a_quarantine() {
    let lost = lost(Liveness::Unknown).await;
    let Lost { world, session, .. } = &lost;
    world.say_next(session, "q", "@say next").await;
    let second = rat_things::engine::view::turn_id(session, 2);
    let cancel = json!([{ "type": "agent.session.input.cancel", "turn_id": second }]);
    let accepted = world.send_surely(session, "x", cancel).await;
    assert_eq!(accepted.receipt.outcomes, [Outcome::Cancelled { turn: 2 }]);
    assert_eq!(world.turns(session).await[1], TurnStatus::Cancelled);
    assert_eq!(lost.state().await, RunState::Quarantined);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_session_is_deleted_during_a_quarantine() {
    let lost = lost(Liveness::Unknown).await;
    let Lost { world, session, .. } = &lost;
    world
        .core
        .delete_session(OWNER, session)
        .await
        .expect("deleted");
    let gone = async || world.store.records().is_empty();
    assert!(eventually(gone).await, "{:#?}", world.store.records());
    lost.life.thaw();
    world.at_rest().await;
    assert_eq!(world.store.records(), []);
    assert_eq!(world.blobs.stored_bytes(), 0);
}

#[tokio::test(start_paused = true)]
pub async fn an_operator_releases_the_run_that_is_named_and_no_other() {
    let lost = lost(Liveness::Unknown).await;
    let operator = Operating::new(lost.world.core.clone(), OWNER.to_owned(), |_| None);
    let session = lost.session.as_str();
    let query = ListQuery {
        limit: 10,
        after: None,
        ascending: false,
    };
    let runs = operator.runs(session, &query).await.expect("they are read");
    let [run] = &runs.data[..] else {
        panic!("{runs:?}");
    };
    assert_eq!(
        (run.state, run.process_alive),
        (RunPhase::Quarantined, None)
    );
    assert_eq!(run.execution, lost.execution.0);
    let owed = operator.owed(10).await.expect("it is read");
    assert_eq!(owed.len(), 1);
    assert!(owed[0].why.contains("quarantine"), "{owed:?}");
    let other = run_id(&lost.session, run.generation + 1);
    let refused = operator.release(session, &other).await;
    assert!(
        matches!(
            refused,
            Err(DeploymentError::Engine(EngineError::Conflict(_)))
        ),
        "{refused:?}"
    );
    assert_eq!(lost.state().await, RunState::Quarantined);
    operator
        .release(session, &run.id)
        .await
        .expect("it is in quarantine");
    lost.goes_on().await;
    let environment = operator.environment(session).await.expect("it is read");
    assert_eq!(environment.pending_inputs, 0);
}
