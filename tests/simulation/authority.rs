//! Who may write: how one commit may change a Session's fence and clock, and who may have made it (I4, I10, I16).

use rat_things::engine::fence::RunState;
use rat_things::engine::ids::SessionId;
use rat_things::engine::session::Head;

use super::life::{Life, Role};
use super::shared::Shared;

/// One commit that happened to a Session's head.
pub struct Commit<'a> {
    /// Who made it.
    pub life: &'a Life,
    /// Whose head.
    pub session: &'a SessionId,
    /// The head before; none at creation.
    pub before: Option<&'a Head>,
    /// The head after; none when it was erased.
    pub after: Option<&'a Head>,
    /// For how long the Run that was live has not renewed its lease, in virtual time.
    pub silent_ms: u64,
    /// How long a lease lasts.
    pub lease_ms: u64,
}

impl Commit<'_> {
    /// Reports what was not allowed. `lives` says whether the worker of a generation's run exists.
    pub fn check(&self, shared: &Shared, lives: impl Fn(u64) -> bool) {
        let broken = |promise: &str, what: String| {
            let (id, who) = (self.session, &self.life.name);
            shared.broken(promise, &format!("{id}, by {who}: {what}"));
        };
        let (Some(before), Some(after)) = (self.before, self.after) else {
            if let Some(before) = self.before
                && before.deleted_ms.is_none()
            {
                broken("I14", "the session was erased and not deleted".into());
            }
            return;
        };
        if after.revision != before.revision + 1 {
            let what = format!("revision {} after {}", after.revision, before.revision);
            broken("I16", what);
        }
        let (old, new) = (&before.fence, &after.fence);
        if new.generation < old.generation || new.generation > old.generation + 1 {
            broken("I4", format!("{new:?} after {old:?}"));
        }
        let me = &self.life.name;
        let held = old.lease.as_ref().map(|lease| &lease.execution.0);
        let missed = old.quarantine.as_ref().map(|q| &q.execution.0);
        if self.life.role == Role::Worker {
            let over = before.deleted_ms.is_some() || before.expiry.is_some();
            let parting = over && missed == Some(me);
            if held != Some(me) && !parting {
                broken("I4", format!("it has no lease: {old:?}"));
            }
            if new.generation != old.generation {
                broken("I4", format!("a run never claims: {new:?} after {old:?}"));
            }
            return;
        }
        if new.state() == RunState::Leased
            && old.state() == RunState::Leased
            && held != new.lease.as_ref().map(|l| &l.execution.0)
        {
            broken(
                "I4",
                format!("a live lease was claimed over: {new:?} after {old:?}"),
            );
        }
        if new.generation > old.generation && new.state() == RunState::Leased {
            shared.count("claims");
            if before.turn.as_ref().is_some_and(|turn| turn.begun) {
                shared.count("takeovers");
            }
        }
        if new.state() == RunState::Quarantined && old.state() == RunState::Leased {
            shared.count("quarantines");
            if self.life.role == Role::Daemon && self.silent_ms < self.lease_ms {
                let (silent_ms, lease_ms) = (self.silent_ms, self.lease_ms);
                let what =
                    format!("it renewed its lease of {lease_ms} ms {silent_ms} ms ago: {old:?}");
                broken("I10", format!("a run was given up that shows life: {what}"));
            }
        }
        // A daemon ends the authority of a worker only when that is gone; a client may vouch for it.
        let freed = old.state() != RunState::Free && new.state() == RunState::Free;
        // A quarantine raised the generation when it began.
        let run = old.generation.saturating_sub(u64::from(held.is_none()));
        if freed && self.life.role == Role::Daemon && after.deleted_ms.is_none() && lives(run) {
            let execution = held.or(missed);
            broken(
                "I10",
                format!("{execution:?} lives, and was taken for gone"),
            );
        }
    }
}
