//! Complaints about work that hangs, cancels that hit the wrong thing or nothing, and questions that are forgotten.
//! docs/simulation.md lists them all.

use rat_things::api::TurnStatus;
use rat_things::engine::input::NoOp;
use rat_things::engine::keys;
use rat_things::engine::receipt::Outcome;
use rat_things::engine::turn::TurnRow;
use serde_json::{Value, json};

use super::client::Said;
use super::faults::{Fault, Rates};
use super::plan::Step;
use super::requests::answer_to;
use super::scene::{Scene, at_work, later};
use super::tell::{created, idle, says, surely, turns, until};
use super::world::OWNER;

const SLOW: &[Step] = &[Step::Tool { command: false }, Step::Wait(20_000), Step::Say];

fn cancel_of(session: &rat_things::engine::ids::SessionId, turn: u64) -> Value {
    let turn_id = rat_things::engine::view::turn_id(session, turn);
    json!([{ "type": "agent.session.input.cancel", "turn_id": turn_id }])
}

#[test]
fn p19_a_steer_in_the_middle_starts_no_second_attempt() {
    for after_ms in (0..2_000).step_by(40) {
        Scene::of(&[Step::Wait(300), Step::Say, Step::Wait(300)]).play(async |world| {
            let clients = &world.clients;
            let session = created(clients, "none", Some("hello")).await;
            later(after_ms).await;
            surely(clients, &session, "steer", &says("and this")).await;
            idle(clients, &session).await;
            let turns = turns(clients, &session).len() as u64;
            let starts = clients.parts.shared.counted("harness starts");
            assert_eq!(starts, turns, "after {after_ms} ms");
        });
    }
}

#[test]
fn p25_a_late_cancel_touches_no_other_turn() {
    Scene::of(SLOW).play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "none", Some("first")).await;
        idle(clients, &session).await;
        surely(clients, &session, "second", &says("second")).await;
        at_work(clients, &session).await;
        let late = clients
            .insist(&session, "late", &cancel_of(&session, 1))
            .await;
        let nothing = Outcome::Nothing {
            result: NoOp::AnotherTurnActive,
            turn: Some(2),
        };
        assert_eq!(late.map(|a| a.receipt.outcomes), Some(vec![nothing]));
        idle(clients, &session).await;
        assert_eq!(turns(clients, &session), [TurnStatus::Completed; 2]);
    });
}

#[test]
fn p27_a_cancel_in_the_first_moments_is_never_lost() {
    for after_ms in 0..50 {
        Scene::of(SLOW).play(async |world| {
            let clients = &world.clients;
            let session = created(clients, "none", Some("hello")).await;
            later(after_ms).await;
            surely(clients, &session, "stop", &cancel_of(&session, 1)).await;
            idle(clients, &session).await;
            assert_eq!(
                turns(clients, &session),
                [TurnStatus::Cancelled],
                "{after_ms} ms"
            );
            let row: TurnRow = clients.row(&session, keys::turn(1)).expect("stored");
            let head = clients.parts.watch.head(&session).expect("there");
            later(60_000).await;
            let after = clients.parts.watch.head(&session).expect("there");
            assert_eq!(row.end_item, Some(after.next.item), "no later words");
            assert_eq!(head.revision, after.revision, "{after_ms} ms");
        });
    }
}

#[test]
fn p28_a_cancel_is_not_reported_done_before_the_agent_has_stopped() {
    let scene = Scene {
        rates: Rates::only(Fault::CancelIgnored),
        ..Scene::of(SLOW)
    };
    scene.play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "none", Some("hello")).await;
        at_work(clients, &session).await;
        let accepted = clients
            .insist(&session, "stop", &cancel_of(&session, 1))
            .await;
        let cancelling = vec![Outcome::Cancelling { turn: 1 }];
        assert_eq!(accepted.map(|a| a.receipt.outcomes), Some(cancelling));
        assert_eq!(turns(clients, &session), [TurnStatus::InProgress]);
        idle(clients, &session).await;
        assert_eq!(turns(clients, &session), [TurnStatus::Cancelled]);
    });
}

#[test]
fn p30_after_a_crash_nothing_is_said_to_run_that_does_not() {
    Scene::of(SLOW).play(async |world| {
        let clients = world.clients.clone();
        let session = created(&clients, "none", Some("hello")).await;
        at_work(&clients, &session).await;
        world.kill_daemons();
        world.fleet.kill_all();
        let said = super::explain::of(world, &session, false).expect("it exists");
        assert_eq!(
            (said.causes[0].code, said.needs_person),
            ("no_daemon", true)
        );
        let said = super::explain::of(world, &session, true).expect("it exists");
        assert_eq!(said.causes[0].code, "worker_gone");
        world.start(1);
        idle(&clients, &session).await;
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
    });
}

#[test]
fn p33_questions_survive_every_restart_and_are_answered_once() {
    Scene::of(&[Step::Ask(3), Step::Say]).play(async |world| {
        let clients = world.clients.clone();
        let session = created(&clients, "none", Some("hello")).await;
        let asks = |head: &rat_things::engine::session::Head| {
            head.turn.as_ref().is_some_and(|turn| turn.asks_client())
        };
        until(&clients, &session, asks).await;
        world.kill_daemons();
        world.fleet.kill_all();
        later(10 * 60_000).await;
        world.start(1);
        let look =
            async |core: &rat_things::engine::core::Core| core.get_session(OWNER, &session).await;
        let asked = super::scene::surely(&clients, "look", look)
            .await
            .required_actions;
        assert_eq!(asked.len(), 3);
        for (n, action) in asked.iter().enumerate() {
            let events = json!([answer_to(action, "yes")]);
            surely(&clients, &session, &format!("a{n}"), &events).await;
            let other = json!([answer_to(action, "no")]);
            let said = clients.send(&session, &format!("b{n}"), &other).await;
            assert!(matches!(said, Said::No(_)), "a second answer was taken");
        }
        idle(&clients, &session).await;
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
    });
}

#[test]
fn p36_a_cancel_during_a_back_off_ends_it_within_a_second() {
    Scene::of(&[Step::Wait(600_000)]).play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "none", Some("hello")).await;
        later(30_000).await;
        let starts = clients.parts.shared.counted("harness starts");
        surely(clients, &session, "stop", &cancel_of(&session, 1)).await;
        let asked_ms = clients.parts.shared.elapsed_ms();
        idle(clients, &session).await;
        assert!(clients.parts.shared.elapsed_ms() - asked_ms <= 1_000);
        assert_eq!(turns(clients, &session), [TurnStatus::Cancelled]);
        later(60_000).await;
        assert_eq!(clients.parts.shared.counted("harness starts"), starts);
    });
}
