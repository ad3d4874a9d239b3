//! Scenes without chance: a world in which only that goes wrong which the scene wants.

use std::sync::Arc;
use std::time::Duration;

use rat_things::engine::core::{Core, Settings};
use rat_things::engine::ids::SessionId;
use rat_things::engine::session::Head;

use super::client::{Clients, Said};
use super::ending;
use super::faults::Rates;
use super::parts::Parts;
use super::plan::Step;
use super::report;
use super::sabotage::Sabotage;
use super::shared::{Plan, Shared};
use super::tell::until;
use super::world::{OWNER, World, alone, outcome};

/// Virtual time that a scene takes at most.
const LONGEST: Duration = Duration::from_secs(2 * 3_600);

/// What a scene is made of.
pub struct Scene {
    /// What goes wrong.
    pub rates: Rates,
    /// What every agent does.
    pub script: &'static [Step],
    /// Daemons from the beginning.
    pub daemons: usize,
    /// By how much the clocks of its programs are ahead, one after the other; no entry: they agree. Milliseconds.
    pub clocks: &'static [i64],
}

impl Scene {
    /// Nothing goes wrong, and there is one daemon.
    pub fn of(script: &'static [Step]) -> Scene {
        Scene {
            rates: Rates::none(),
            script,
            daemons: 1,
            clocks: &[],
        }
    }

    /// Plays it, lets the world come to rest, and fails if any promise is broken.
    pub fn play(self, act: impl AsyncFnOnce(&mut World)) {
        let panics = report::panics();
        let outcome = alone(async {
            let plan = Plan {
                clocks: self.clocks,
                ..Plan::default()
            };
            let shared = Shared::new(11, self.rates, plan, u64::MAX);
            let settings = Settings {
                lease_ms: 3_000,
                batch_ms: 20,
                ..Settings::default()
            };
            let mut parts = Parts::new(11, &shared, settings, Sabotage::None);
            parts.script = Some(self.script);
            let mut world = World::new(parts, false);
            world.start(self.daemons);
            let acting = tokio::time::timeout(LONGEST, act(&mut world)).await;
            if acting.is_err() {
                shared.broken("liveness", "the scene does not come to its end");
            }
            ending::come_to_rest(&world).await;
            outcome(&shared, panics)
        });
        assert!(
            outcome.failures.is_empty(),
            "{}\n\nthe last steps:\n{}",
            outcome.failures.join("\n"),
            outcome.tail.join("\n")
        );
    }
}

/// So much time passes.
pub async fn later(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

/// Waits until a Run has done something for the active Turn.
pub async fn at_work(clients: &Clients, session: &SessionId) {
    let busy = |head: &Head| {
        let turn = head.turn.as_ref();
        head.fence.lease.is_some() && turn.is_some_and(|turn| turn.outputs > 0)
    };
    until(clients, session, busy).await;
}

/// A call of the engine that nothing happens to.
pub async fn surely<T>(
    clients: &Clients,
    what: &str,
    work: impl AsyncFnOnce(&Core) -> Result<T, rat_things::engine::error::EngineError>,
) -> T {
    match clients.command(what, work).await {
        Said::Ok(value) => value,
        Said::No(error) => panic!("{what}: {error}"),
        Said::Perhaps => panic!("{what}: nobody knows"),
    }
}

/// The records of a Session, as text.
pub fn records(world: &World, session: &SessionId) -> Vec<String> {
    let partition = rat_things::engine::keys::session_partition(session);
    let all = world.parts.store.records();
    let mine = all
        .iter()
        .filter(|record| record.key.partition == partition);
    mine.map(|r| {
        format!(
            "{} {} {}",
            r.key.sort,
            r.version,
            String::from_utf8_lossy(&r.value)
        )
    })
    .collect()
}

/// Ends a Session's quarantine as an operator does.
pub async fn vouch(clients: &Clients, session: &SessionId) {
    let vouch = async |core: &Core| core.release_quarantine(OWNER, session).await;
    surely(clients, "vouch", vouch).await;
}

/// A number of other things at the same time.
pub async fn all<T: Send + 'static>(
    work: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
    let mut done = Vec::new();
    for task in tasks {
        done.push(task.await.expect("no scene panics in a task"));
    }
    done
}

/// A clone that a task can own.
pub fn clone_of(clients: &Clients) -> Arc<Clients> {
    Arc::new(clients.clone())
}
