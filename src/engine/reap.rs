//! Reap: machines that no Session needs are ended. A machine ends by itself when there is nothing for it to do; this is for those that
//! don't.
//!
//! A machine is launched after its name was written into a head, and its name leaves the head only when it is done with. So one that no head
//! names is nobody's, whatever any clock says; it only gets some time to end in its own way. Machines of others are not seen here at all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::core::{Core, decode};
use super::error::EngineError;
use super::ids::SessionId;
use super::keys;
use super::ports::{Compute, Key, Machine, MachineState};
use super::session::Head;

/// Between two looks at all machines.
const ROUND: Duration = Duration::from_secs(60);
/// What a machine that nobody needs gets to end by itself.
const GRACE: Duration = Duration::from_secs(300);
/// Machines that are ended at the same time.
const ENDED_AT_ONCE: usize = 8;
/// Heads read at once.
const HEADS: usize = 64;

/// What a machine is to its Session.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Standing {
    /// Its Run is live, or is being accounted for by who looks after leases.
    Needed,
    /// It waits for more, since the head is as it is.
    Waits {
        /// The head's revision.
        revision: u64,
    },
    /// Nobody knows it any more.
    Orphan,
}

/// Decides from the head alone.
fn standing(machine: &Machine, head: Option<&Head>) -> Standing {
    let Some(head) = head else {
        return Standing::Orphan;
    };
    let fence = &head.fence;
    let me = Some(&machine.execution);
    let leased = fence.lease.as_ref().map(|lease| &lease.execution);
    let missed = fence.quarantine.as_ref().map(|missed| &missed.execution);
    if me == leased || me == missed {
        return Standing::Needed;
    }
    match me == fence.last.as_ref() && head.deleted_ms.is_none() {
        true => Standing::Waits {
            revision: head.revision,
        },
        false => Standing::Orphan,
    }
}

/// Whether a machine is to be ended that has stood like this for so long, as it was watched here, and was launched so long ago by the
/// clocks of others. The latter only spares an old orphan the wait after a daemon's start.
fn is_due(
    standing: &Standing,
    state: MachineState,
    watched: Duration,
    age: Duration,
    idle: Duration,
) -> bool {
    if state == MachineState::Ending {
        return false;
    }
    match standing {
        Standing::Needed => false,
        Standing::Orphan => watched >= GRACE || (watched >= ROUND && age >= GRACE),
        Standing::Waits { .. } => watched >= idle + GRACE,
    }
}

/// Looks after the machines of a deployment.
pub struct Reaper {
    core: Core,
    compute: Arc<dyn Compute>,
    /// How long a machine may wait for work.
    idle: Duration,
    /// How machines stand, and since when that was seen. A hint: losing it costs time.
    seen: HashMap<String, (Standing, Instant)>,
}

impl Reaper {
    /// Machines may wait for work for `idle`.
    pub fn new(core: Core, compute: Arc<dyn Compute>, idle: Duration) -> Reaper {
        Reaper {
            core,
            compute,
            idle,
            seen: HashMap::new(),
        }
    }

    /// Looks again and again, until `stop` turns true.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                changed = stop.changed() => if changed.is_err() || *stop.borrow() {
                    return;
                },
                _ = rounds.tick() => self.round().await,
            }
        }
    }

    /// Looks once, and ends what is due.
    pub async fn round(&mut self) {
        let machines = match self.compute.machines().await {
            Ok(machines) => machines,
            Err(error) => {
                tracing::warn!(%error, "machines can't be looked after now");
                return;
            }
        };
        let heads = match self.heads(&machines).await {
            Ok(heads) => heads,
            Err(error) => {
                tracing::warn!(%error, "machines can't be looked after now");
                return;
            }
        };
        let due = self.due(machines, &heads);
        for some in due.chunks(ENDED_AT_ONCE) {
            let ended = some
                .iter()
                .map(|(machine, standing)| self.end(machine, standing));
            futures_util::future::join_all(ended).await;
        }
    }

    /// Heads of the machines' Sessions, read after the machines were seen.
    async fn heads(&self, machines: &[Machine]) -> Result<HashMap<String, Head>, EngineError> {
        let mut sessions: Vec<SessionId> = { machines.iter() }
            .filter_map(|machine| SessionId::parse(&machine.session))
            .collect();
        sessions.sort();
        sessions.dedup();
        let mut heads = HashMap::new();
        for some in sessions.chunks(HEADS) {
            let wanted: Vec<Key> = { some.iter() }
                .map(|session| Key::new(keys::session_partition(session), keys::HEAD))
                .collect();
            let records = self.core.store.get_many(&wanted).await?;
            for (session, record) in some.iter().zip(records) {
                if let Some(record) = record {
                    heads.insert(session.to_string(), decode(&record)?);
                }
            }
        }
        Ok(heads)
    }

    /// Notes how each machine stands, and answers those that are to be ended.
    fn due(
        &mut self,
        machines: Vec<Machine>,
        heads: &HashMap<String, Head>,
    ) -> Vec<(Machine, Standing)> {
        let now = Instant::now();
        let now_ms = self.core.clock.now_ms();
        let mut seen = HashMap::new();
        let mut due = Vec::new();
        for machine in machines {
            let standing = standing(&machine, heads.get(&machine.session));
            let since = match self.seen.remove(&machine.id) {
                Some((before, since)) if before == standing => since,
                _ => now,
            };
            seen.insert(machine.id.clone(), (standing.clone(), since));
            let age = Duration::from_millis(now_ms.saturating_sub(machine.since_ms));
            if is_due(&standing, machine.state, now - since, age, self.idle) {
                due.push((machine, standing));
            }
        }
        self.seen = seen;
        due
    }

    async fn end(&self, machine: &Machine, standing: &Standing) {
        let Machine {
            id,
            execution,
            session,
            ..
        } = machine;
        if let (Standing::Waits { .. }, Some(parsed)) = (standing, SessionId::parse(session)) {
            // Nothing may be claimed for it any more; if something just was, it stays.
            match self.core.sign_off(&parsed, execution).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::warn!(machine = id, %error, "an idle machine stays for now");
                    return;
                }
            }
        }
        tracing::warn!(
            machine = id,
            session,
            ?standing,
            "a machine that nobody needs is ended"
        );
        if let Err(error) = self.compute.stop(execution).await {
            tracing::warn!(machine = id, %error, "it is not known whether the machine ended");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::ExecutionId;

    fn machine(name: &str) -> Machine {
        Machine {
            id: format!("i-{name}"),
            execution: ExecutionId(name.to_owned()),
            session: String::new(),
            generation: 1,
            state: MachineState::Running,
            since_ms: 0,
            kind: String::new(),
            spot: false,
            zone: String::new(),
        }
    }

    fn head() -> Head {
        Head::new("o".into(), 0)
    }

    fn name(name: &str) -> ExecutionId {
        ExecutionId(name.to_owned())
    }

    #[test]
    fn a_machine_is_needed_as_long_as_its_head_names_it_for_a_run() {
        let mut head = head();
        assert_eq!(standing(&machine("a"), None), Standing::Orphan);
        assert_eq!(standing(&machine("a"), Some(&head)), Standing::Orphan);
        head.fence.claim(name("a"), 9).expect("free");
        assert_eq!(standing(&machine("a"), Some(&head)), Standing::Needed);
        assert_eq!(standing(&machine("b"), Some(&head)), Standing::Orphan);
        head.fence.lost_sight(9).expect("leased");
        assert_eq!(standing(&machine("a"), Some(&head)), Standing::Needed);
    }

    #[test]
    fn one_that_waits_for_a_session_that_is_deleted_is_nobodys() {
        let mut head = head();
        head.fence.claim(name("a"), 9).expect("free");
        head.fence.release().expect("leased");
        let waits = standing(&machine("a"), Some(&head));
        assert_eq!(
            waits,
            Standing::Waits {
                revision: head.revision
            }
        );
        head.deleted_ms = Some(1);
        assert_eq!(standing(&machine("a"), Some(&head)), Standing::Orphan);
    }

    #[test]
    fn an_orphan_gets_its_grace_by_the_watchers_own_time_unless_it_is_old() {
        let due = |watched, age| {
            let (watched, age) = (Duration::from_secs(watched), Duration::from_secs(age));
            let idle = Duration::from_secs(600);
            is_due(&Standing::Orphan, MachineState::Running, watched, age, idle)
        };
        assert!(!due(0, 100_000));
        assert!(due(60, 100_000));
        // A clock that is behind makes every machine look new.
        assert!(!due(299, 0));
        assert!(due(300, 0));
    }

    #[test]
    fn one_that_waits_is_ended_only_when_it_should_have_ended_long_ago() {
        let waits = Standing::Waits { revision: 1 };
        let due = |state, watched| {
            let (watched, age) = (Duration::from_secs(watched), Duration::from_secs(100_000));
            is_due(&waits, state, watched, age, Duration::from_secs(600))
        };
        assert!(!due(MachineState::Running, 899));
        assert!(due(MachineState::Running, 900));
        assert!(!due(MachineState::Ending, 900));
        let needed = is_due(
            &Standing::Needed,
            MachineState::Running,
            GRACE * 100,
            GRACE * 100,
            GRACE,
        );
        assert!(!needed);
    }
}
