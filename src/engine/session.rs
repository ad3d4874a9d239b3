//! A Session's head: the one small record that every change passes through, and what follows from it.

use serde::{Deserialize, Serialize};

use super::core::encode;
use super::expire::Expiry;
use super::fence::{Fence, RunState};
use super::open_call::OpenCall;
use super::ports::ModelUsage;
use super::turn::Failure;
use super::words::shorten;
use crate::api::{EnvironmentStatus, SessionStatus, TurnStatus};

/// Messages that may wait for an agent at once, in one Session.
pub const MAX_PENDING: usize = 64;
/// Bytes that a stored head stays below.
pub const HEAD_BYTES: usize = 4096;
/// Bytes of words about a failure that the head keeps.
pub const WORDS_BYTES: usize = 200;
/// What is left of them in a head that has no more room.
const WORDS_LEAST_BYTES: usize = 128;

/// The next number of each kind of row; rows are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Next input.
    #[serde(rename = "i")]
    pub input: u64,
    /// Next Turn.
    #[serde(rename = "t")]
    pub turn: u64,
    /// Next Item.
    #[serde(rename = "m")]
    pub item: u64,
    /// Next subagent.
    #[serde(rename = "s", default = "first", skip_serializing_if = "is_first")]
    pub subagent: u64,
}

fn first() -> u64 {
    1
}

fn is_first(n: &u64) -> bool {
    *n == 1
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            input: 1,
            turn: 1,
            item: 1,
            subagent: 1,
        }
    }
}

/// A message that was accepted and is not with an agent yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64, u64)", into = "(u64, u64, u64, u64)")]
pub struct Pending {
    /// Input number.
    pub input: u64,
    /// The Turn it goes to.
    pub turn: u64,
    /// The generation that has it in hand; 0 while none has.
    pub claimed: u64,
    /// Its Item, once there is one.
    pub item: Option<u64>,
}

// The head's lists are stored as lists of lists: with names they would not fit its bound. 0 stands for none.

impl From<(u64, u64, u64, u64)> for Pending {
    fn from((input, turn, claimed, item): (u64, u64, u64, u64)) -> Pending {
        Pending {
            input,
            turn,
            claimed,
            item: (item > 0).then_some(item),
        }
    }
}

impl From<Pending> for (u64, u64, u64, u64) {
    fn from(of: Pending) -> Self {
        (of.input, of.turn, of.claimed, of.item.unwrap_or(0))
    }
}

/// The Turn that is queued first, runs or waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActiveTurn {
    /// Turn number.
    #[serde(rename = "n")]
    pub number: u64,
    /// queued, in_progress or waiting.
    #[serde(rename = "s")]
    pub status: TurnStatus,
    /// The cancel input that asked for its end.
    #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<u64>,
    /// Function calls that a client answers.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<OpenCall>,
    /// Items of tool calls that were claimed and are not known to be over.
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<u64>,
    /// Subagents that are not over.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub subagents: Vec<u64>,
    /// Claims since the Turn last made progress.
    #[serde(rename = "a", default, skip_serializing_if = "is_zero32")]
    pub attempts: u32,
    /// Not to be claimed again before. Unix ms.
    #[serde(rename = "b", default, skip_serializing_if = "is_zero")]
    pub not_before_ms: u64,
    /// Machines that were launched for it, one behind the other, without a word from a worker since.
    #[serde(rename = "m", default, skip_serializing_if = "is_zero32")]
    pub unheard: u32,
    /// Decided already: it fails, and a Run only captures its outputs.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub doomed: Option<Failure>,
    /// Model calls so far.
    #[serde(rename = "k", default, skip_serializing_if = "is_zero32")]
    pub model_calls: u32,
    /// Tokens so far.
    #[serde(rename = "u", default, skip_serializing_if = "no_usage")]
    pub usage: ModelUsage,
    /// Output items so far.
    #[serde(rename = "o", default, skip_serializing_if = "is_zero")]
    pub outputs: u64,
    /// Whether a Run began to work on it.
    #[serde(rename = "w", default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
}

impl ActiveTurn {
    /// A Turn that waits for its first Run.
    pub fn queued(number: u64) -> ActiveTurn {
        ActiveTurn {
            number,
            status: TurnStatus::Queued,
            cancel: None,
            calls: Vec::new(),
            running: Vec::new(),
            subagents: Vec::new(),
            attempts: 0,
            not_before_ms: 0,
            unheard: 0,
            doomed: None,
            model_calls: 0,
            usage: ModelUsage::default(),
            outputs: 0,
            begun: false,
        }
    }

    /// Whether a client owes an answer.
    pub fn awaits_answers(&self) -> bool {
        self.calls.iter().any(|call| call.answer.is_none())
    }

    /// Whether the agent can go on without every answer that a client owes.
    pub fn awaits_only_background(&self) -> bool {
        let mut awaited = self.calls.iter().filter(|call| call.answer.is_none());
        awaited.all(OpenCall::is_background)
    }

    /// Whether nothing goes on until a client answers.
    pub fn asks_client(&self) -> bool {
        self.status == TurnStatus::Waiting && self.awaits_answers() && self.cancel.is_none()
    }
}

/// A Turn that waits behind the active one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64)", into = "(u64, u64)")]
pub struct QueuedTurn {
    /// Turn number.
    pub number: u64,
    /// The input that starts it: Turns start in the order of these.
    pub input: u64,
}

impl From<(u64, u64)> for QueuedTurn {
    fn from((number, input): (u64, u64)) -> QueuedTurn {
        QueuedTurn { number, input }
    }
}

impl From<QueuedTurn> for (u64, u64) {
    fn from(of: QueuedTurn) -> Self {
        (of.number, of.input)
    }
}

/// When the Session's agenda entries are due; `None` where it owes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agenda {
    /// Group `execute`. Unix ms.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub execute: Option<u64>,
    /// Group `deliver`. Unix ms.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub deliver: Option<u64>,
}

/// Row `head`: small, and rewritten by every change of the Session under a compare-and-swap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Owner namespace.
    #[serde(rename = "own")]
    pub owner: String,
    /// The Session's clock: one more with every commit.
    #[serde(rename = "rev")]
    pub revision: u64,
    /// Created at. Unix ms.
    #[serde(rename = "born")]
    pub created_ms: u64,
    /// Last change a caller would call activity. Unix ms.
    #[serde(rename = "last")]
    pub active_ms: u64,
    /// Who may write.
    #[serde(rename = "fence", default)]
    pub fence: Fence,
    /// The Turn at the front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<ActiveTurn>,
    /// Turns behind it, in acceptance order of the inputs that start them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue: Vec<QueuedTurn>,
    /// Messages not with an agent yet, in acceptance order.
    #[serde(rename = "pend", default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
    /// Next row numbers.
    pub next: Counters,
    /// Agenda entries.
    #[serde(rename = "due", default)]
    pub agenda: Agenda,
    /// When the next of the Session's deliveries needs somebody; may be early, never late. `None`: none is owed. Unix ms.
    #[serde(rename = "out", default, skip_serializing_if = "Option::is_none")]
    pub deliveries_due_ms: Option<u64>,
    /// Times the environment's files were lost.
    #[serde(rename = "resets", default, skip_serializing_if = "is_zero32")]
    pub resets: u32,
    /// Whether an environment was ever opened.
    #[serde(rename = "env", default, skip_serializing_if = "std::ops::Not::not")]
    pub environment_opened: bool,
    /// The state of the environment that was last told.
    #[serde(rename = "est", default, skip_serializing_if = "Option::is_none")]
    pub environment_status: Option<EnvironmentStatus>,
    /// The environment is over for good.
    #[serde(rename = "xp", default, skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// How commands are isolated, when it is not the sandbox: shown with every Turn.
    #[serde(rename = "iso", default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Tokens of all ended Turns.
    #[serde(rename = "use", default, skip_serializing_if = "no_usage")]
    pub usage: ModelUsage,
    /// Deleted at; rows and blobs are being erased. Unix ms.
    #[serde(rename = "gone", default, skip_serializing_if = "Option::is_none")]
    pub deleted_ms: Option<u64>,
    /// The last thing that went wrong with a Run, in words.
    #[serde(rename = "err", default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn is_zero32(n: &u32) -> bool {
    *n == 0
}

fn no_usage(usage: &ModelUsage) -> bool {
    *usage == ModelUsage::default()
}

impl Head {
    /// The head of a Session that has done nothing yet.
    pub fn new(owner: String, now_ms: u64) -> Head {
        Head {
            owner,
            revision: 0,
            created_ms: now_ms,
            active_ms: now_ms,
            fence: Fence::default(),
            turn: None,
            queue: Vec::new(),
            pending: Vec::new(),
            next: Counters::default(),
            agenda: Agenda::default(),
            deliveries_due_ms: None,
            resets: 0,
            environment_opened: false,
            environment_status: None,
            expiry: None,
            isolation: None,
            usage: ModelUsage::default(),
            deleted_ms: None,
            last_error: None,
        }
    }

    /// The public status: always derived, so it can't contradict the record.
    pub fn status(&self) -> SessionStatus {
        match &self.turn {
            None if self.expiry.is_some() => SessionStatus::Failed,
            None => SessionStatus::Idle,
            Some(turn) if turn.asks_client() && self.expiry.is_none() => {
                SessionStatus::RequiresAction
            }
            Some(_) => SessionStatus::InProgress,
        }
    }

    /// Whether this Turn, which exists, has ended.
    pub fn is_over(&self, turn: u64) -> bool {
        let active = self.turn.as_ref().is_some_and(|t| t.number == turn);
        !active && self.queue.iter().all(|queued| queued.number != turn)
    }

    /// When the Session's execution needs somebody next; `None` if it owes nothing (I13, I15).
    pub fn execution_due(&self, now_ms: u64) -> Option<u64> {
        if self.deleted_ms.is_some() {
            return Some(now_ms);
        }
        match self.fence.state() {
            // A quarantine ends by itself once the world proves the worker gone: ask again now and then.
            RunState::Quarantined => Some(now_ms + QUARANTINE_PROBE_MS),
            // Whoever looks after the Run has said when, by a clock of its own.
            RunState::Leased => {
                let lease = self.fence.lease.as_ref()?;
                Some(self.agenda.execute.unwrap_or(lease.until_ms))
            }
            RunState::Free if let Some(expiry) = &self.expiry => {
                (self.turn.is_some() || !expiry.erased).then_some(now_ms)
            }
            RunState::Free => {
                let turn = self.turn.as_ref()?;
                (!turn.asks_client()).then(|| now_ms.max(turn.not_before_ms))
            }
        }
    }

    /// When the Session's deliveries need somebody next; `None` if it owes none.
    pub fn delivery_due(&self) -> Option<u64> {
        // Of a deleted Session nothing is told any more; its rows are erased by the other group.
        self.deliveries_due_ms.filter(|_| self.deleted_ms.is_none())
    }

    /// A delivery needs somebody at this time.
    pub fn owe_delivery(&mut self, due_ms: u64) {
        let due = self.deliveries_due_ms.get_or_insert(due_ms);
        *due = due_ms.min(*due);
    }

    /// Cuts words to what a head has room for.
    pub fn shorten(&mut self) {
        if self.expiry.is_some() {
            // It is why everything ends here; there is no room for other reasons beside it, and no need.
            self.last_error = None;
            if let Some(turn) = &mut self.turn {
                turn.doomed = None;
            }
        }
        if self.shorten_to(WORDS_BYTES) && encode(self).len() >= HEAD_BYTES {
            self.shorten_to(WORDS_LEAST_BYTES);
        }
    }

    /// Answers whether any words were as long as may be.
    fn shorten_to(&mut self, most_bytes: usize) -> bool {
        let doomed = self.turn.as_mut().and_then(|turn| turn.doomed.as_mut());
        let words = [
            self.last_error.as_mut(),
            self.expiry.as_mut().map(|expiry| &mut expiry.why),
            doomed.map(|failure| &mut failure.message),
        ];
        let mut are_long = false;
        for words in words.into_iter().flatten() {
            shorten(words, most_bytes);
            are_long |= words.len() > WORDS_LEAST_BYTES;
        }
        are_long
    }

    /// Moves the next queued Turn to the front, once the front is free.
    pub fn promote(&mut self) {
        if self.turn.is_none() && !self.queue.is_empty() {
            let next = self.queue.remove(0);
            self.turn = Some(ActiveTurn::queued(next.number));
        }
    }
}

/// How often the world is asked about a quarantined worker.
pub const QUARANTINE_PROBE_MS: u64 = 5_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::open_call::{MAX_OPEN_CALLS, short_hash};
    use crate::engine::ports::ExecutionId;
    use crate::engine::subagent::{MAX_OPEN_SUBAGENTS, within};

    #[test]
    fn an_idle_session_owes_nothing() {
        assert_eq!(Head::new("o".into(), 1).execution_due(5), None);
    }

    #[test]
    fn a_turn_is_over_when_it_is_neither_at_the_front_nor_behind_it() {
        let mut head = Head::new("o".into(), 1);
        head.turn = Some(ActiveTurn::queued(2));
        head.queue.push(QueuedTurn {
            number: 3,
            input: 3,
        });
        let over: Vec<bool> = (1..=3).map(|turn| head.is_over(turn)).collect();
        assert_eq!(over, [true, false, false]);
    }

    #[test]
    fn a_waiting_turn_owes_nothing_until_its_last_answer() {
        let mut head = Head::new("o".into(), 1);
        let mut turn = ActiveTurn::queued(1);
        turn.status = TurnStatus::Waiting;
        turn.calls.push(OpenCall::new("c", 1));
        head.turn = Some(turn);
        assert_eq!(head.execution_due(5), None);
        assert_eq!(head.status(), SessionStatus::RequiresAction);
        if let Some(turn) = &mut head.turn {
            turn.calls[0].answer = Some(2);
        }
        assert_eq!(head.execution_due(5), Some(5));
        assert_eq!(head.status(), SessionStatus::InProgress);
    }

    #[test]
    fn a_waiting_turn_that_is_cancelled_asks_nothing_of_its_client() {
        let mut head = Head::new("o".into(), 1);
        let mut turn = ActiveTurn::queued(1);
        turn.status = TurnStatus::Waiting;
        turn.calls.push(OpenCall::new("c", 1));
        turn.cancel = Some(2);
        head.turn = Some(turn);
        assert_eq!(head.execution_due(5), Some(5));
        assert_eq!(head.status(), SessionStatus::InProgress);
    }

    /// As large as it gets in every part at once.
    fn fullest() -> Head {
        let mut head = Head::new("0123456789abcdef0123456789abcdef".into(), 1_800_000_000_000);
        head.revision = 9_999_999;
        let execution = format!("proc:{}:{}:{}", u32::MAX, u64::MAX, "0".repeat(36));
        for _ in 0..99_999 {
            head.fence.release().ok();
            let claimed = head
                .fence
                .claim(ExecutionId(execution.clone()), 1_800_000_000_000);
            claimed.expect("free");
        }
        if let Some(lease) = &mut head.fence.lease {
            lease.renewals = 9_999_999;
        }
        let usage = ModelUsage {
            input: 999_999_999,
            cached_input: 999_999_999,
            output: 999_999_999,
            reasoning: 999_999_999,
        };
        let mut turn = ActiveTurn::queued(99_999);
        turn.status = TurnStatus::InProgress;
        turn.begun = true;
        turn.cancel = Some(99_999);
        turn.running = vec![99_999];
        for open in 0..MAX_OPEN_SUBAGENTS as u64 {
            turn.subagents.push(9_000 + open);
            turn.running.push(within(9_000 + open, 99_999));
        }
        turn.attempts = 99;
        turn.not_before_ms = 1_800_000_000_000;
        turn.unheard = 99;
        turn.model_calls = 999;
        turn.outputs = 99_999;
        turn.usage = usage;
        turn.doomed = Some(Failure {
            code: "context_length_exceeded".into(),
            message: "\u{1}\"\\é".repeat(10_000),
        });
        for n in 0..MAX_OPEN_CALLS as u64 {
            let mut call = OpenCall::new(&"c".repeat(64), 99_900 + n).in_background(true);
            call.answer = Some(99_900 + n);
            call.digest = Some(short_hash(b"answer"));
            turn.calls.push(call);
        }
        head.turn = Some(turn);
        head.next = Counters {
            input: 99_999,
            turn: 99_999,
            item: 999_999,
            subagent: 9_999,
        };
        head.agenda = Agenda {
            execute: Some(1_800_000_000_000),
            deliver: Some(1_800_000_000_000),
        };
        head.deliveries_due_ms = Some(1_800_000_000_000);
        head.isolation = Some("unsafe-none".into());
        head.resets = 999;
        head.environment_opened = true;
        head.environment_status = Some(EnvironmentStatus::Disconnected);
        head.usage = usage;
        head.deleted_ms = Some(1_800_000_000_000);
        head.last_error = Some("\u{1b}[31m".repeat(10_000));
        for i in 0..MAX_PENDING as u64 {
            head.pending.push(Pending {
                input: 99_000 + i,
                turn: 99_000 + i,
                claimed: 0,
                item: (i == 0).then_some(99_999),
            });
            head.queue.push(QueuedTurn {
                number: 99_000 + i,
                input: 99_000 + i,
            });
        }
        head
    }

    /// The bound of design.md section 5.
    #[test]
    fn a_full_head_stays_below_four_kibibytes() {
        let expiry = Expiry {
            at_ms: 1_800_000_000_000,
            why: "\u{1}\"\\é".repeat(10_000),
            erased: true,
        };
        for expiry in [None, Some(expiry)] {
            let mut head = fullest();
            head.expiry = expiry;
            head.shorten();
            let size_bytes = serde_json::to_vec(&head).expect("serialisable").len();
            assert!(size_bytes < HEAD_BYTES, "{size_bytes} bytes");
        }
    }

    #[test]
    fn words_are_cut_further_only_where_the_head_has_no_room() {
        let mut head = Head::new("o".into(), 1);
        head.last_error = Some("w".repeat(1_000));
        head.shorten();
        assert_eq!(head.last_error.map(|words| words.len()), Some(WORDS_BYTES));
        let mut head = fullest();
        head.last_error = Some("w".repeat(1_000));
        head.shorten();
        assert_eq!(
            head.last_error.map(|words| words.len()),
            Some(WORDS_LEAST_BYTES)
        );
    }

    #[test]
    fn a_head_reads_back_as_it_was_written() {
        let mut head = fullest();
        head.shorten();
        let text = serde_json::to_string(&head).expect("serialisable");
        assert_eq!(serde_json::from_str::<Head>(&text).ok(), Some(head));
    }
}
