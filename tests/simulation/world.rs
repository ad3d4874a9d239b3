//! One world from its first moment to its last: some trouble, then calm, then everything must come to its end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rat_things::engine::core::{Recovery, Settings};
use tokio::task::JoinHandle;

use super::client::Clients;
use super::daemon::{self, Current};
use super::ending;
use super::explain;
use super::faults::{Fault, Rates};
use super::fleet::Fleet;
use super::parts::Parts;
use super::report;
use super::sabotage::Sabotage;
use super::shared::{Plan, Shared};
use super::user::User;

/// The owner of everything.
pub const OWNER: &str = "0123456789abcdef0123456789abcdef";

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Trouble at chosen places.
    pub plan: Plan,
    /// How much trouble there may be in all.
    pub budget: u64,
    /// What is wrong on purpose.
    pub sabotage: Sabotage,
}

impl Setup {
    /// A world of this seed.
    pub fn of(seed: u64) -> Setup {
        Setup {
            seed,
            plan: Plan::default(),
            budget: u64::MAX,
            sabotage: Sabotage::None,
        }
    }
}

/// What became of a world.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Promises that were broken.
    pub failures: Vec<String>,
    /// The last steps in words.
    pub tail: Vec<String>,
    /// A hash of all steps.
    pub hash: u64,
    /// What happened how often.
    pub counts: BTreeMap<String, u64>,
    /// Instants, commits and reads that were reached before the world came to rest.
    pub reached: (usize, usize, usize),
}

/// A world that is going on.
pub struct World {
    /// What its programs are made of.
    pub parts: Parts,
    /// Its workers.
    pub fleet: Arc<Fleet>,
    /// Its clients.
    pub clients: Clients,
    /// Chance, time and trouble.
    pub shared: Arc<Shared>,
    daemons: Vec<(JoinHandle<()>, Current)>,
}

impl Drop for World {
    fn drop(&mut self) {
        self.daemons.iter().for_each(|(keeper, _)| keeper.abort());
    }
}

impl World {
    /// A world whose daemons have not started, and whose workers are shared by Sessions or are not.
    pub fn new(parts: Parts, pool: bool) -> World {
        World {
            daemons: Vec::new(),
            fleet: Fleet::new(&parts, pool),
            clients: Clients::new(&parts),
            shared: Arc::clone(&parts.shared),
            parts,
        }
    }

    /// Starts so many daemons more.
    pub fn start(&mut self, daemons: usize) {
        for _ in 0..daemons {
            let number = self.daemons.len() + 1;
            let current = Current::default();
            let keeper = daemon::keep(
                self.parts.clone(),
                Arc::clone(&self.fleet),
                number,
                Arc::clone(&current),
            );
            self.daemons.push((tokio::spawn(keeper), current));
        }
    }

    /// Kills all daemons, and none is started again.
    pub fn kill_daemons(&mut self) {
        for (keeper, current) in &self.daemons {
            keeper.abort();
            let current = current.lock().expect("no program panics with it");
            if let Some(life) = &*current {
                life.die();
            }
        }
    }
}

/// Runs a future in a runtime of its own, whose time passes only when nothing else can happen.
pub fn alone<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without IO needs nothing");
    let answer = runtime.block_on(work);
    runtime.shutdown_background();
    answer
}

/// A world of users at random.
pub fn random(setup: &Setup) -> Outcome {
    let panics = report::panics();
    alone(async {
        let drawing = rat_things::backend::memory::ids::SeededIds::new(setup.seed);
        let rates = Rates::drawn(&drawing);
        let shared = Shared::new(setup.seed, rates, setup.plan.clone(), setup.budget);
        let settings = Settings {
            lease_ms: [2_000, 8_000, 30_000][drawing.below(3) as usize],
            batch_ms: [1, 50, 250][drawing.below(3) as usize],
            inline_bytes: [20, 60, 4_000][drawing.below(3) as usize],
            turn_attempts: 5,
            recovery: match drawing.below(6) {
                0 => Recovery::Fail,
                _ => Recovery::Continue,
            },
            ..Settings::default()
        };
        let daemons = 1 + drawing.below(4) as usize;
        let mut parts = Parts::new(setup.seed, &shared, settings, setup.sabotage);
        parts.real = drawing.below(4) == 0;
        parts.watch.words_repeat.store(parts.real, Ordering::SeqCst);
        let mut world = World::new(parts, drawing.below(2) == 0);
        world.start(daemons);
        let until_ms = 3_000 + drawing.below(26_000);
        let users = 1 + drawing.below(3);
        let acting: Vec<JoinHandle<()>> = (1..=users)
            .map(|n| tokio::spawn(User::new(&world.clients, n).act(until_ms)))
            .collect();
        let nature = tokio::spawn(nature(Arc::clone(&shared), Arc::clone(&world.fleet)));
        while !acting.iter().all(JoinHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(1_500)).await;
            explain::all(&world, false);
        }
        nature.abort();
        ending::come_to_rest(&world).await;
        outcome(&shared, panics)
    })
}

/// What happens to machines by itself.
async fn nature(shared: Arc<Shared>, fleet: Arc<Fleet>) {
    loop {
        tokio::time::sleep(Duration::from_millis(500 + shared.below(4_000))).await;
        if shared.strikes(Fault::ClockJumps) {
            let by_ms = [1_000, 20_000, 600_000, 10_800_000][shared.below(4) as usize];
            let by_ms = shared.below(by_ms) as i64;
            shared.jump(if shared.below(2) == 0 { -by_ms } else { by_ms });
        }
        let working = fleet.working();
        let at = shared.below(working.len().max(1) as u64) as usize;
        let Some(name) = working.get(at) else {
            continue;
        };
        if shared.strikes(Fault::WorkerLeaves) {
            let grace_ms = [0, 500, 20_000][shared.below(3) as usize];
            fleet.dismiss(name, grace_ms);
        }
    }
}

/// What became of a world that has ended.
pub fn outcome(shared: &Shared, panics_before: u64) -> Outcome {
    let panics = report::panics() - panics_before;
    if panics > 0 {
        shared.broken("panic", &format!("programs panicked {panics} times"));
    }
    let (tail, hash) = shared.trace();
    let mut counts = shared.counts();
    let (instants, commits, reads) = shared.reached();
    for (what, times) in [
        ("calls of programs to the world", instants),
        ("commits asked for", commits),
        ("reads asked for", reads),
        ("virtual seconds", shared.elapsed_ms() as usize / 1_000),
    ] {
        counts.insert(what.to_owned(), times as u64);
    }
    Outcome {
        failures: shared.failures(),
        tail,
        hash,
        counts,
        reached: shared.reached(),
    }
}
