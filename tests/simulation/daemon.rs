//! The daemons of a world: each is started, killed or stopped, and started again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rat_things::engine::core::Core;
use rat_things::engine::deliver::{Deliverer, Policy};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::draft::Draft;
use rat_things::engine::keys::AGENDA_SHARDS;
use rat_things::engine::ports::{Compute, Liveness};
use tokio::sync::watch;

use super::courier::SimCourier;
use super::faults::Fault;
use super::fleet::{Fleet, SimCompute};
use super::life::{Life, Role};
use super::parts::Parts;
use super::sabotage::Sabotage;

/// How a daemon's deliveries are tried, so that all of it happens within the life of a world.
const POLICY: Policy = Policy {
    lease_ms: 20_000,
    tries: 4,
    first_pause_ms: 500,
    longest_pause_ms: 10_000,
};

/// The life that a daemon has now.
pub type Current = Arc<Mutex<Option<Arc<Life>>>>;

/// Keeps one daemon going, until this is dropped.
pub async fn keep(parts: Parts, fleet: Arc<Fleet>, number: usize, current: Current) {
    let shared = Arc::clone(&parts.shared);
    for life_number in 1.. {
        let name = format!("daemon {number}.{life_number}");
        let life = Life::new(name, Role::Daemon, &shared);
        // One each: who waits for the same channel wakes in no order.
        *current.lock().expect("no program panics with it") = Some(Arc::clone(&life));
        let stop = watch::Sender::new(false);
        let stop_too = watch::Sender::new(false);
        let compute = SimCompute {
            life: Arc::clone(&life),
            fleet: Arc::clone(&fleet),
        };
        let core = parts.core(&life);
        let judging = (parts.sabotage == Sabotage::JudgeByClock).then(|| {
            let compute = SimCompute {
                life: Arc::clone(&life),
                fleet: Arc::clone(&fleet),
            };
            tokio::spawn(judge_by_clock(core.clone(), compute))
        });
        let dispatcher =
            Dispatcher::new(core.clone(), Arc::new(compute), parts.environments(&life));
        let courier = SimCourier {
            life: Arc::clone(&life),
            post: Arc::clone(&parts.post),
            sabotage: parts.sabotage,
        };
        let deliverer = Deliverer::new(core, Arc::new(courier), POLICY);
        let dispatching = tokio::spawn(dispatcher.run(stop.subscribe()));
        let delivering = tokio::spawn(deliverer.run(stop_too.subscribe()));
        shared.note(format_args!("{} starts", life.name));
        lives(&life, &stop).await;
        if let Some(judging) = judging {
            judging.abort();
        }
        stop_too.send_replace(true);
        if !life.is_dead() {
            // It was stopped in good order: it has a little time to settle down.
            let _ = tokio::time::timeout(Duration::from_secs(8), dispatching).await;
            let _ = tokio::time::timeout(Duration::from_secs(8), delivering).await;
            life.die();
        }
        let pause_ms = match shared.below(3) {
            0 => shared.below(20_000),
            _ => shared.below(1_000),
        };
        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
    }
}

/// Until it dies, or is stopped.
async fn lives(life: &Arc<Life>, stop: &watch::Sender<bool>) {
    loop {
        let checked = tokio::time::timeout(Duration::from_secs(5), life.died());
        if checked.await.is_ok() {
            return;
        }
        if life.shared.strikes(Fault::DaemonRestarts) {
            stop.send_replace(true);
            return;
        }
    }
}

/// What a daemon did that compares leases with its clock: whoever has not renewed until then is fenced and stopped.
async fn judge_by_clock(core: Core, compute: SimCompute) {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        for shard in 0..AGENDA_SHARDS {
            let Ok(found) = core.on_agenda(shard).await else {
                continue;
            };
            for (session, loaded) in found {
                let now_ms = core.clock.now_ms();
                let lease = loaded.head.fence.lease.as_ref();
                let Some(lease) = lease.filter(|lease| lease.until_ms <= now_ms) else {
                    continue;
                };
                if compute.inspect(&lease.execution).await != Liveness::Running {
                    continue;
                }
                let mut draft = Draft::of(&session, &loaded, now_ms);
                if draft.head.fence.lost_sight(now_ms).is_err() {
                    continue;
                }
                draft.move_agenda();
                let (commit, _) = draft.seal(&*core.ids);
                if core.commit_once(commit).await.is_ok() {
                    let _ = compute.stop(&lease.execution).await;
                }
            }
        }
    }
}
