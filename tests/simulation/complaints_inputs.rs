//! Complaints about inputs that get lost, are done twice, or come in another order. docs/simulation.md lists them all.

use rat_things::api::TurnStatus;
use rat_things::engine::error::EngineError;
use rat_things::engine::input::InputState;
use rat_things::engine::keys;
use rat_things::engine::turn::TurnRow;
use serde_json::json;

use super::client::Said;
use super::plan::Step;
use super::scene::{Scene, all, at_work, clone_of, later};
use super::tell::{created, idle, says, surely, turns};

const WORK: &[Step] = &[
    Step::Tool { command: false },
    Step::Say,
    Step::Wait(700),
    Step::Tool { command: true },
    Step::Say,
];

#[test]
fn p01_fifty_messages_at_any_moment_of_running_turns_each_reach_one_turn() {
    Scene::of(WORK).play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "openai_hosted", Some("begin")).await;
        for n in 0..50 {
            later(clients.parts.shared.below(400)).await;
            surely(clients, &session, &format!("m{n}"), &says("more")).await;
        }
        idle(clients, &session).await;
        for input in 1..=51 {
            let end = clients.end_of(&session, input);
            assert!(
                matches!(end, Some(InputState::Delivered { .. })),
                "{input}: {end:?}"
            );
        }
    });
}

/// The messages that started Turns, in the order of the Turns.
fn starters(world: &super::world::World, session: &rat_things::engine::ids::SessionId) -> Vec<u64> {
    let row = |n| world.clients.row::<TurnRow>(session, keys::turn(n));
    (1..).map_while(row).map(|row| row.input).collect()
}

#[test]
fn p02_what_is_queued_survives_a_failed_a_cancelled_and_a_lost_turn_in_order() {
    for (how, script, end) in [
        (
            "fails",
            &[Step::Wait(2_000), Step::Fail] as &[Step],
            TurnStatus::Failed,
        ),
        ("cancel", &[Step::Wait(2_000)], TurnStatus::Completed),
        ("loss", &[Step::Wait(2_000)], TurnStatus::Completed),
    ] {
        Scene::of(script).play(async |world| {
            let clients = &world.clients;
            let session = created(clients, "none", Some("begin")).await;
            for n in 0..3 {
                let mut next = says("queued");
                next[0]["delivery"] = "next_turn".into();
                surely(clients, &session, &format!("q{n}"), &next).await;
            }
            later(1_000).await;
            match how {
                "cancel" => {
                    let cancel = json!([{ "type": "agent.session.input.cancel" }]);
                    surely(clients, &session, "stop", &cancel).await;
                }
                "loss" => world.fleet.kill_all(),
                _ => {}
            }
            idle(clients, &session).await;
            assert_eq!(starters(world, &session), [1, 2, 3, 4], "{how}");
            assert_eq!(turns(clients, &session)[1..], [end; 3], "{how}");
        });
    }
}

#[test]
fn p03_what_is_accepted_without_any_worker_is_done_whenever_one_comes() {
    let scene = Scene {
        daemons: 0,
        ..Scene::of(WORK)
    };
    scene.play(async |world| {
        let clients = world.clients.clone();
        let session = created(&clients, "openai_hosted", None).await;
        let first = clients
            .insist(&session, "m", &says("hello"))
            .await
            .expect("accepted");
        later(20 * 60_000).await;
        let again = clients
            .insist(&session, "m", &says("hello"))
            .await
            .expect("accepted");
        assert!(again.repeated && again.receipt == first.receipt);
        assert_eq!(turns(&clients, &session), [TurnStatus::Queued]);
        world.start(1);
        idle(&clients, &session).await;
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
    });
}

#[test]
fn p05_a_turn_whose_workers_fail_to_start_goes_on_or_fails_with_a_reason() {
    for (failing, end) in [(3, TurnStatus::Completed), (50, TurnStatus::Failed)] {
        Scene::of(&[Step::Say]).play(async |world| {
            let clients = &world.clients;
            world
                .fleet
                .failing_launches
                .store(failing, std::sync::atomic::Ordering::SeqCst);
            let session = created(clients, "none", Some("hello")).await;
            idle(clients, &session).await;
            assert_eq!(turns(clients, &session), [end]);
            let row: TurnRow = clients.row(&session, keys::turn(1)).expect("stored");
            let why = row.error.map(|error| error.message);
            assert_eq!(why.is_some(), end == TurnStatus::Failed, "{why:?}");
            let delivered = clients.end_of(&session, 1);
            assert_eq!(delivered, Some(InputState::Delivered { turn: 1 }));
            world
                .fleet
                .failing_launches
                .store(0, std::sync::atomic::Ordering::SeqCst);
            surely(clients, &session, "next", &says("go on")).await;
            idle(clients, &session).await;
            assert_eq!(turns(clients, &session), [end, TurnStatus::Completed]);
        });
    }
}

#[test]
fn p07_the_same_request_five_times_at_once_is_one_and_another_body_is_refused_with_both_digests() {
    Scene::of(&[Step::Say]).play(async |world| {
        let clients = clone_of(&world.clients);
        let session = created(&clients, "openai_hosted", None).await;
        let once = || {
            let (clients, session) = (clients.clone(), session.clone());
            async move { clients.insist(&session, "same", &says("pay")).await }
        };
        let answers = all((0..5).map(|_| once())).await;
        let fresh = answers.iter().flatten().filter(|a| !a.repeated).count();
        assert_eq!((answers.iter().flatten().count(), fresh), (5, 1));
        idle(&clients, &session).await;
        let late = once().await.expect("remembered");
        assert!(late.repeated);
        let Said::No(EngineError::KeyReused { stored, given }) =
            clients.send(&session, "same", &says("pay more")).await
        else {
            panic!("another body under the same key was not refused");
        };
        assert!(stored == late.receipt.digest && given != stored);
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
    });
}

#[test]
fn p11_recovery_in_the_same_millisecond_by_several_daemons_runs_it_once() {
    Scene::of(WORK).play(async |world| {
        let clients = world.clients.clone();
        let session = created(&clients, "openai_hosted", Some("hello")).await;
        at_work(&clients, &session).await;
        world.fleet.kill_all();
        // All of them start now, before any time passes. What a tool did is counted by the world.
        world.start(4);
        idle(&clients, &session).await;
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
    });
}
