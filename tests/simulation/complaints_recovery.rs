//! Complaints about workers that come back from the dead, and about work that is done again or never. docs/simulation.md lists
//! them all.

use rat_things::api::TurnStatus;
use rat_things::engine::session::Head;
use std::sync::atomic::Ordering;

use super::plan::Step;
use super::scene::{Scene, at_work, later, records, vouch};
use super::tell::{created, idle, says, surely, turns, until};

const WORK: &[Step] = &[
    Step::Tool { command: true },
    Step::Wait(5_000),
    Step::Tool { command: false },
    Step::Say,
];

#[test]
fn p06_a_turn_that_is_resumed_again_and_again_repeats_nothing_and_reuses_no_id() {
    // A new worker for each of many steps; what is said twice is found by the world.
    const MANY: &[Step] = &[Step::Say; 40];
    Scene::of(MANY).play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "none", Some("hello")).await;
        for n in 1..30u64 {
            until(clients, &session, |head| {
                let outputs = head.turn.as_ref().map_or(u64::MAX, |turn| turn.outputs);
                outputs >= n && head.fence.lease.is_some()
            })
            .await;
            world.fleet.kill_all();
        }
        idle(clients, &session).await;
        assert_eq!(turns(clients, &session), [TurnStatus::Completed]);
        let head = clients.parts.watch.head(&session).expect("there");
        assert!(head.fence.generation >= 15, "{:?}", head.fence);
    });
}

#[test]
fn p12_a_stale_writer_after_sigstop_changes_nothing() {
    Scene::of(WORK).play(async |world| {
        let clients = &world.clients;
        world.fleet.blind.store(true, Ordering::SeqCst);
        let session = created(clients, "openai_hosted", Some("hello")).await;
        at_work(clients, &session).await;
        let names = world.fleet.working();
        let stale = world.fleet.life(&names[0]).expect("it works");
        stale.freeze();
        until(clients, &session, |head| head.fence.quarantine.is_some()).await;
        vouch(clients, &session).await;
        idle(clients, &session).await;
        assert_eq!(turns(clients, &session), [TurnStatus::Completed]);
        let before = records(world, &session);
        stale.thaw();
        later(120_000).await;
        assert_eq!(records(world, &session), before);
        assert!(clients.parts.shared.counted("zombie writes refused") > 0);
    });
}

#[test]
fn p21_a_worker_goes_on_while_its_daemon_is_replaced() {
    let scene = Scene {
        daemons: 0,
        ..Scene::of(WORK)
    };
    scene.play(async |world| {
        let clients = world.clients.clone();
        world.start(1);
        let session = created(&clients, "openai_hosted", Some("hello")).await;
        at_work(&clients, &session).await;
        world.kill_daemons();
        later(500).await;
        world.start(2);
        idle(&clients, &session).await;
        assert_eq!(turns(&clients, &session), [TurnStatus::Completed]);
        let head = clients.parts.watch.head(&session).expect("there");
        assert_eq!(head.fence.generation, 1, "nobody else took it");
        assert_eq!(clients.parts.shared.counted("harness starts"), 1);
    });
}

#[test]
fn p23_a_clock_that_jumps_makes_no_second_owner_and_delays_a_takeover_by_no_more_than_it_jumped() {
    for by_ms in [-600_000i64, -30_000, 30_000, 600_000] {
        Scene::of(WORK).play(async |world| {
            let clients = world.clients.clone();
            let session = created(&clients, "openai_hosted", Some("hello")).await;
            at_work(&clients, &session).await;
            clients.parts.shared.jump(by_ms);
            later(4_000).await;
            let running = world.fleet.working();
            assert!(running.len() <= 1, "{by_ms}: {running:?}");
            // Nobody is left who would be told of its death.
            world.kill_daemons();
            world.fleet.kill_all();
            let died_ms = clients.parts.shared.elapsed_ms();
            world.start(1);
            idle(&clients, &session).await;
            let took_ms = clients.parts.shared.elapsed_ms() - died_ms;
            assert!(
                took_ms < by_ms.unsigned_abs() + 30_000,
                "{by_ms}: {took_ms}"
            );
            assert_eq!(
                turns(&clients, &session),
                [TurnStatus::Completed],
                "{by_ms}"
            );
        });
    }
}

#[test]
fn p58_a_full_disk_acknowledges_nothing_loses_nothing_and_passes() {
    Scene::of(WORK).play(async |world| {
        let clients = &world.clients;
        let session = created(clients, "openai_hosted", Some("hello")).await;
        at_work(clients, &session).await;
        clients.parts.shared.fill(true);
        let before = records(world, &session);
        let refused = clients.send(&session, "full", &says("more")).await;
        assert!(matches!(
            refused,
            super::client::Said::No(rat_things::engine::error::EngineError::Broken { .. })
        ));
        later(90_000).await;
        assert_eq!(records(world, &session), before);
        let read = async |core: &rat_things::engine::core::Core| {
            core.get_session(super::world::OWNER, &session).await
        };
        super::scene::surely(clients, "read", read).await;
        clients.parts.shared.fill(false);
        surely(clients, &session, "full", &says("more")).await;
        idle(clients, &session).await;
        let all = turns(clients, &session);
        assert!(
            all.iter().all(|turn| *turn == TurnStatus::Completed),
            "{all:?}"
        );
        // Not even the worker had to be replaced (I12).
        let head: Head = clients.parts.watch.head(&session).expect("there");
        assert!(head.fence.generation <= 2, "{:?}", head.fence);
    });
}
