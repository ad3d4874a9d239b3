//! From facts to causes, most telling first, and to the one command that would unblock the Session. Pure.

use super::expired;
use super::facts::{self, Attendance, Facts};
use crate::api::{TurnStatus, Words};
use crate::engine::fence::RunState;
use crate::engine::session::{ActiveTurn, QUARANTINE_PROBE_MS};
use crate::text::duration;

/// Work that is due for longer than this with a daemon running is odd.
const PATIENCE_MS: u64 = 10_000;

/// A worker that is being stopped for longer than this does not stop.
const STOPPING_MS: u64 = 30_000;

/// One reason, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// A stable word for programs.
    pub code: &'static str,
    /// One sentence for a person.
    pub message: String,
}

/// Why a Session is where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Most telling first; never empty.
    pub causes: Vec<Cause>,
    /// The command that would unblock it, if one would.
    pub next: Option<String>,
    /// It does not go on by itself.
    pub needs_person: bool,
}

impl Explanation {
    pub(super) fn of(code: &'static str, message: impl Into<String>) -> Explanation {
        Explanation {
            causes: vec![Cause {
                code,
                message: message.into(),
            }],
            next: None,
            needs_person: false,
        }
    }

    pub(super) fn person(mut self, next: impl Into<String>) -> Explanation {
        self.needs_person = true;
        self.next = Some(next.into());
        self
    }

    pub(super) fn next(mut self, next: impl Into<String>) -> Explanation {
        self.next = Some(next.into());
        self
    }

    pub(super) fn also(mut self, code: &'static str, message: impl Into<String>) -> Explanation {
        self.causes.push(Cause {
            code,
            message: message.into(),
        });
        self
    }
}

pub(super) const START: &str = "rat-things daemon start";
pub(super) const ELSEWHERE: &str =
    "none runs here, and those of other machines can't be seen from here";

/// Why the Session is where it is.
pub fn explanation(facts: &Facts) -> Explanation {
    let explained = match (facts.head.fence.state(), &facts.head.turn) {
        (RunState::Quarantined, _) => quarantined(facts),
        (RunState::Free, turn) if let Some(expiry) = &facts.head.expiry => {
            return expired::explanation(facts, expiry, turn.is_some());
        }
        (RunState::Leased, turn) => leased(facts, turn.as_ref()),
        (RunState::Free, Some(turn)) if turn.asks_client() => awaited(facts),
        (RunState::Free, Some(turn)) => due(facts, turn),
        (RunState::Free, None) => idle(facts),
    };
    began_anew(facts, history(facts, explained))
}

/// What the agent was given is less than it had, which may be seen in what it does.
fn began_anew(facts: &Facts, explained: Explanation) -> Explanation {
    let shown = facts.turn.as_ref().map(|(number, _)| *number);
    match &facts.began_anew {
        Some(anew) if Some(anew.turn) == shown => {
            let message = format!("its agent began anew from the Items: {}", anew.why);
            explained.also("began_anew", message)
        }
        _ => explained,
    }
}

fn idle(facts: &Facts) -> Explanation {
    let send = format!("rat-things sessions send {} --input '…'", facts.session);
    match facts.last_ended() {
        None => Explanation::of("no_input", "it was given nothing to do yet").next(send),
        Some((_, TurnStatus::Failed, error)) => {
            let error = error.unwrap_or_else(|| "no reason is recorded".to_owned());
            Explanation::of("idle", "nothing is to be done; the last turn failed")
                .also("turn_failed", error)
                .next(send)
        }
        Some((_, status, _)) => {
            let message = format!(
                "nothing is to be done; the last turn is {}",
                status.as_str()
            );
            Explanation::of("idle", message).next(send)
        }
    }
}

fn quarantined(facts: &Facts) -> Explanation {
    let since_ms = facts
        .head
        .fence
        .quarantine
        .as_ref()
        .map_or(0, |q| q.since_ms);
    let since = duration(facts.now_ms.saturating_sub(since_ms));
    let who = facts::name(facts.missing.as_ref());
    let release = format!("rat-things runs release {}", facts.session);
    let since_long = facts.now_ms.saturating_sub(since_ms) > STOPPING_MS;
    match (
        facts.missing.as_ref().and_then(|worker| worker.alive),
        &facts.daemon,
    ) {
        (Some(true), Attendance::Here(_) | Attendance::Unseen) if !since_long => {
            let message = format!("{who} was silent, and has been told to stop for {since}");
            Explanation::of("stopping", message)
        }
        (Some(false), Attendance::Here(_)) => {
            let soon = duration(QUARANTINE_PROBE_MS);
            let message = format!(
                "in quarantine for {since}, and its worker is gone: the daemon ends the quarantine within {soon}"
            );
            Explanation::of("quarantine_ending", message)
        }
        (Some(false), Attendance::Nobody) => {
            let message = format!(
                "in quarantine for {since}; its worker is gone, and no daemon runs to find that out"
            );
            Explanation::of("no_daemon", message).person(START)
        }
        (Some(false), Attendance::Unseen) => {
            let message = format!(
                "in quarantine for {since}; its worker, which ran here, is gone: only a daemon here can find that out"
            );
            Explanation::of("no_daemon", message).person(START)
        }
        _ => {
            let message = format!(
                "in quarantine for {since}: {who} can't be accounted for, so nothing else may work on it"
            );
            Explanation::of("quarantined", message)
                .also(
                    "quarantine_ends",
                    "it ends by itself when the worker is proven gone, or when you vouch for it",
                )
                .person(release)
        }
    }
}

fn awaited(facts: &Facts) -> Explanation {
    let names: Vec<String> = facts
        .calls
        .iter()
        .map(|call| format!("{} ({})", call.name, call.id))
        .collect();
    let message = format!("it waits for you to answer {}", names.join(", "));
    let first = facts.calls.first().map_or("CALL", |call| call.id.as_str());
    let answer = match facts.calls.len() {
        1 => format!("rat-things sessions answer {} --result '…'", facts.session),
        _ => format!(
            "rat-things sessions answer {} --call {first} --result '…'",
            facts.session
        ),
    };
    Explanation::of("requires_action", message).person(answer)
}

fn due(facts: &Facts, turn: &ActiveTurn) -> Explanation {
    let what = match (turn.cancel.is_some(), turn.begun) {
        (true, _) => "its turn is to be cancelled",
        (false, true) => "its turn is to go on",
        (false, false) => "its turn is queued",
    };
    let due_ms = facts.head.agenda.execute.unwrap_or(facts.now_ms);
    let overdue_ms = facts.now_ms.saturating_sub(due_ms);
    if let Attendance::Nobody = facts.daemon {
        return Explanation::of("no_daemon", format!("{what}, and no daemon runs")).person(START);
    }
    if turn.not_before_ms > facts.now_ms {
        let wait = duration(turn.not_before_ms - facts.now_ms);
        return Explanation::of("retry", format!("{what}, after a pause of {wait}"));
    }
    if let Attendance::Unseen = facts.daemon {
        if overdue_ms < PATIENCE_MS {
            let message = format!("{what}: any daemon of the deployment takes it");
            return Explanation::of("due", message).also("daemons_unseen", ELSEWHERE);
        }
        let message = format!(
            "{what} for {} already, and no daemon of the deployment has taken it",
            duration(overdue_ms)
        );
        let nobody = Explanation::of("not_taken", message).also("daemons_unseen", ELSEWHERE);
        return nobody.person(START);
    }
    if overdue_ms < PATIENCE_MS {
        return Explanation::of("due", format!("{what}: the daemon is about to take it"));
    }
    let message = format!(
        "{what} for {} already; probably all {} places in workers are taken",
        duration(overdue_ms),
        facts.room
    );
    Explanation::of("no_room", message).next("rat-things runs list --all-active")
}

fn leased(facts: &Facts, turn: Option<&ActiveTurn>) -> Explanation {
    let until_ms = facts.head.fence.lease.as_ref().map_or(0, |l| l.until_ms);
    let lapsed = until_ms <= facts.now_ms;
    let who = facts::name(facts.owner.as_ref());
    let alive = facts.owner.as_ref().and_then(|owner| owner.alive);
    match (alive, &facts.daemon, lapsed) {
        (Some(false), Attendance::Nobody, _) => {
            let message = format!("{who} is gone, and no daemon runs to replace it");
            Explanation::of("no_daemon", message).person(START)
        }
        (Some(false), Attendance::Here(_), _) => {
            let message = format!("{who} is gone; the daemon is about to replace it");
            Explanation::of("worker_gone", message)
        }
        (Some(false), Attendance::Unseen, _) => {
            let message = format!(
                "{who} is gone; a daemon of another machine replaces it once its lease has lapsed, and one here would at once"
            );
            Explanation::of("worker_gone", message).next(START)
        }
        (_, Attendance::Nobody, true) => {
            let message = format!(
                "{who} has not renewed its lease in time, by the clock here, and no daemon runs to look after it"
            );
            Explanation::of("no_daemon", message).person(START)
        }
        (_, Attendance::Unseen, true) => {
            let message = format!(
                "{who} has not renewed its lease in time, by the clock here; a daemon of the deployment asks about it once it has watched it for a whole lease"
            );
            Explanation::of("silent", message)
                .also("daemons_unseen", ELSEWHERE)
                .next(START)
        }
        (_, Attendance::Here(_), true) => {
            let message = format!(
                "{who} has not renewed its lease in time, by the clock here; the daemon asks about it once it has watched it for a whole lease"
            );
            Explanation::of("silent", message)
        }
        (Some(true), _, false) => working(facts, turn, &who),
        (None, _, false) => {
            let message = format!(
                "it can't be told from here whether {who} exists; if it renews its lease no more, it is asked about"
            );
            Explanation::of("unseen", message)
        }
    }
}

fn working(facts: &Facts, turn: Option<&ActiveTurn>, who: &str) -> Explanation {
    let commands = turn.map_or(0, |turn| turn.running.len());
    let cancelling = turn.is_some_and(|turn| turn.cancel.is_some());
    let explained = match (cancelling, commands) {
        (true, _) => Explanation::of("cancelling", format!("{who} is cancelling its turn")),
        (false, 0) => Explanation::of("working", format!("it moves: {who} is at it")),
        (false, n) => {
            let message = format!(
                "it moves: {who} is at it, with {} running",
                count(n, "command")
            );
            Explanation::of("working", message)
        }
    };
    match (&facts.daemon, facts.head.queue.is_empty()) {
        (Attendance::Nobody, false) => explained.also(
            "no_daemon",
            "no daemon runs: the worker goes on alone, for as long as it lives",
        ),
        _ => explained,
    }
}

/// What went wrong before belongs to every explanation of a Turn that is not over.
fn history(facts: &Facts, explained: Explanation) -> Explanation {
    let Some(turn) = &facts.head.turn else {
        return explained;
    };
    let explained = match turn.attempts {
        0 => explained,
        lost => {
            let message = format!(
                "attempts on this turn that came to nothing: {lost}; it fails at {}",
                facts.turn_attempts
            );
            explained.also("attempts", message)
        }
    };
    let explained = match turn.unheard {
        0 | 1 => explained,
        unheard => {
            let message = format!(
                "machines launched for it in a row without a word from a worker: {unheard}; the pauses between them grow, and what the last one wrote to its console says more"
            );
            explained.also("machines_unheard", message)
        }
    };
    match facts.head.queue.len() {
        0 => explained,
        n => explained.also(
            "queue",
            format!("queued behind this turn: {}", count(n, "turn")),
        ),
    }
}

fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

#[cfg(test)]
mod tests;
