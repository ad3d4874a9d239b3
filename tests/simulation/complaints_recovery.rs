//! Complaints about workers that come back from the dead, and about work that is done again or never. docs/simulation.md lists
//! them all.

use rat_things::api::TurnStatus;
use rat_things::engine::session::Head;
use std::sync::atomic::Ordering;

use super::faults::{Fault, Rates};
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
fn p23_a_clock_that_jumps_makes_no_second_owner_and_delays_no_takeover() {
    for by_ms in [
        -36_000_000i64,
        -600_000,
        -30_000,
        30_000,
        600_000,
        36_000_000,
    ] {
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
            assert!(took_ms < 30_000, "{by_ms}: {took_ms}");
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

#[test]
fn p23_a_worker_whose_clock_is_behind_goes_on_and_one_that_is_ahead_is_missed_in_time() {
    const LONG: &[Step] = &[Step::Wait(120_000), Step::Tool { command: false }];
    const HOURS_10_MS: i64 = 36_000_000;
    // A daemon, then a client, then a worker.
    let apart: [&[i64]; 2] = [&[0, 0, -HOURS_10_MS], &[0, 0, HOURS_10_MS]];
    for clocks in apart {
        let scene = Scene {
            clocks,
            ..Scene::of(LONG)
        };
        scene.play(async |world| {
            let clients = &world.clients;
            let session = created(clients, "openai_hosted", Some("hello")).await;
            until(clients, &session, |head| head.fence.lease.is_some()).await;
            later(60_000).await;
            let head = clients.parts.watch.head(&session).expect("there");
            assert_eq!(head.fence.generation, 1, "{clocks:?}: nobody stopped it");
            let names = world.fleet.working();
            world.fleet.life(&names[0]).expect("it works").freeze();
            let frozen_ms = clients.parts.shared.elapsed_ms();
            until(clients, &session, |head| head.fence.generation > 1).await;
            // Seen, watched for a lease of three seconds, and given a last chance.
            let took_ms = clients.parts.shared.elapsed_ms() - frozen_ms;
            assert!(took_ms < 15_000, "{clocks:?}: {took_ms}");
            idle(clients, &session).await;
            assert_eq!(turns(clients, &session), [TurnStatus::Completed]);
        });
    }
}

#[test]
fn p23_work_of_a_client_whose_clock_is_ahead_is_taken_at_once_though_nobody_rings() {
    const HOURS_10_MS: i64 = 36_000_000;
    let scene = Scene {
        rates: Rates::only(Fault::RingLost),
        // A daemon, then a client, then a worker.
        clocks: &[0, HOURS_10_MS, 0],
        ..Scene::of(&[Step::Say])
    };
    scene.play(async |world| {
        let clients = &world.clients;
        let begun_ms = clients.parts.shared.elapsed_ms();
        let session = created(clients, "none", Some("hello")).await;
        until(clients, &session, |head| head.turn.is_none()).await;
        let took_ms = clients.parts.shared.elapsed_ms() - begun_ms;
        assert!(took_ms < 10_000, "{took_ms}");
    });
}
