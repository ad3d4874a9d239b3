//! Accept: an input becomes durable, whole, before anyone acts on it or answers (I1).
//!
//! [`decide`] is pure: what a batch does to a Session is a function of the head, the rows of the active Turn, the batch and the
//! time. [`Core::send`] reads, decides, commits, and decides again when somebody else was quicker.

use super::core::{Core, Loaded, backoff};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId, sha256_hex};
use super::input::{Body, InputRow, InputState, NoOp, Submission};
use super::journal::Entry;
use super::keys;
use super::ports::{Key, MAX_COMMIT_ROWS, StoreError};
use super::prepare::Prepared;
use super::receipt::{Outcome, ReceiptRow};
use super::session::{ActiveTurn, MAX_PENDING, Pending, QueuedTurn};
use super::settle::{Attending, CALLS_PER_COMMIT, Ending, end_turn, new_turn};
use super::turn::{TurnEvent, TurnRow, next as next_turn};
use crate::api::{InputEvent, TurnStatus, canonical_json};

/// What the caller is told: the proof, and what became of each input at that moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    /// The receipt.
    pub receipt: ReceiptRow,
    /// `rcpt_…`
    pub receipt_id: String,
    /// The key had been used with the same body: nothing new was accepted.
    pub repeated: bool,
}

/// The rows that deciding needs beside the head.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Of the Turn that is active when the batch comes, by its number, when the batch is about it.
    pub active: Option<(u64, Attending)>,
    /// Of queued Turns that a cancel names.
    pub queued: Vec<(u64, TurnRow)>,
}

impl Rows {
    /// The rows of a Turn, if they were read. Within a batch the active Turn may change, so every use names its Turn.
    fn of(&self, turn: u64) -> Option<Attending> {
        let active = self.active.iter().find(|(number, _)| *number == turn);
        let queued = self.queued.iter().find(|(number, _)| *number == turn);
        active
            .map(|(_, attending)| attending.clone())
            .or_else(|| queued.map(|(_, row)| Attending::alone(row.clone())))
    }
}

/// Decides what a batch does, in a draft that already holds the head. All of it, or an error and the draft is thrown away.
pub fn decide(
    draft: &mut Draft,
    rows: &Rows,
    batch: &[Prepared],
) -> Result<Vec<Outcome>, EngineError> {
    let mut outcomes = Vec::with_capacity(batch.len());
    for (at, prepared) in batch.iter().enumerate() {
        let outcome = match prepared {
            Prepared::Message {
                content,
                next_turn,
                joins,
            } => {
                let place = match joins.then(|| outcomes.last()).flatten() {
                    Some(outcome) => Place::With(outcome),
                    None => Place::Own {
                        next_turn: *next_turn,
                        joined: joined_by(&batch[at + 1..]),
                    },
                };
                message(draft, rows, content, place)?
            }
            Prepared::Cancel { turn } => cancel(draft, rows, *turn)?,
            Prepared::ToolResult {
                turn,
                call_id,
                digest,
                answer,
            } => tool_result(draft, rows, *turn, call_id, digest, answer)?,
        };
        outcomes.push(outcome);
    }
    if draft.rows() + RECEIPT_ROWS > MAX_COMMIT_ROWS {
        return Err(EngineError::invalid(
            "events",
            "these inputs change more than one commit holds; send them in smaller parts",
        ));
    }
    draft.head.active_ms = draft.now_ms;
    Ok(outcomes)
}

/// What the caller of [`decide`] adds.
const RECEIPT_ROWS: usize = 1;

/// Messages at the beginning of `behind` that join the one before it.
fn joined_by(behind: &[Prepared]) -> u64 {
    behind
        .iter()
        .take_while(|p| matches!(p, Prepared::Message { joins: true, .. }))
        .count() as u64
}

/// Where a message goes.
enum Place<'a> {
    /// Where the message before it of the same event went.
    With(&'a Outcome),
    /// Where the Session has a place for it and for those that join it.
    Own {
        /// The next Turn rather than this one.
        next_turn: bool,
        /// How many join it.
        joined: u64,
    },
}

fn message(
    draft: &mut Draft,
    rows: &Rows,
    content: &Body,
    place: Place,
) -> Result<Outcome, EngineError> {
    if let Some(expiry) = &draft.head.expiry {
        return Err(expiry.refusal());
    }
    if draft.head.pending.len() >= MAX_PENDING {
        return Err(EngineError::Conflict(format!(
            "{MAX_PENDING} inputs wait for this session's agent already; wait for it, or cancel its turn"
        )));
    }
    let input = draft.head.next.input;
    let steers = |turn: &ActiveTurn| turn.cancel.is_none() && turn.doomed.is_none();
    let outcome = match (place, &draft.head.turn) {
        (Place::With(before), _) => Outcome::Steered {
            turn: goes_to(before).unwrap_or_default(),
        },
        (Place::Own { next_turn, .. }, Some(turn)) if !next_turn && steers(turn) => {
            Outcome::Steered { turn: turn.number }
        }
        (Place::Own { joined, .. }, Some(_)) => {
            let turn = new_turn(draft, input, joined);
            draft.head.queue.push(QueuedTurn {
                number: turn,
                input,
            });
            Outcome::Queued {
                turn,
                position: draft.head.queue.len() as u64,
            }
        }
        (Place::Own { joined, .. }, None) => {
            let turn = new_turn(draft, input, joined);
            draft.head.turn = Some(ActiveTurn::queued(turn));
            Outcome::Started { turn }
        }
    };
    let turn = goes_to(&outcome).unwrap_or_default();
    draft.head.pending.push(Pending {
        input,
        turn,
        claimed: 0,
        item: None,
    });
    if draft
        .head
        .turn
        .as_ref()
        .is_some_and(|active| active.number == turn && rests(active))
    {
        resume(draft, rows, turn)?;
    }
    record(
        draft,
        Submission::Message {
            content: content.clone(),
        },
        Some(turn),
        InputState::Accepted,
    );
    Ok(outcome)
}

/// Whether a Turn waits for nothing but answers without which its agent goes on: then a message is not kept waiting for them.
pub fn rests(turn: &ActiveTurn) -> bool {
    turn.asks_client() && turn.awaits_only_background()
}

/// A Turn that waited goes on.
fn resume(draft: &mut Draft, rows: &Rows, number: u64) -> Result<(), EngineError> {
    let missing = || EngineError::Conflict("the turn that waits was not read".to_owned());
    let mut row = rows.of(number).ok_or_else(missing)?.turn;
    let Some(turn) = &mut draft.head.turn else {
        return Err(missing());
    };
    turn.status = next_turn(turn.status, TurnEvent::Answered)
        .map_err(|e| EngineError::Conflict(e.to_string()))?;
    row.status = turn.status;
    draft.put(keys::turn(number), &row);
    draft.note(Entry::Turn {
        t: number,
        s: row.status,
    });
    Ok(())
}

/// The Turn that a message goes to.
fn goes_to(outcome: &Outcome) -> Option<u64> {
    match outcome {
        Outcome::Started { turn } | Outcome::Steered { turn } | Outcome::Queued { turn, .. } => {
            Some(*turn)
        }
        Outcome::Cancelled { .. }
        | Outcome::Cancelling { .. }
        | Outcome::Answered { .. }
        | Outcome::Nothing { .. } => None,
    }
}

/// Cancel is a match over every situation, each with its own named answer (I5).
fn cancel(draft: &mut Draft, rows: &Rows, named: Option<u64>) -> Result<Outcome, EngineError> {
    let outcome = match (&draft.head.turn, named) {
        (None, None) => Outcome::Nothing {
            result: NoOp::NoActiveTurn,
            turn: None,
        },
        (None, Some(_)) => Outcome::Nothing {
            result: NoOp::AlreadyFinished,
            turn: None,
        },
        (Some(active), Some(turn)) if turn != active.number => {
            cancel_other(draft, rows, active.number, turn)?
        }
        (Some(active), _) => {
            let number = active.number;
            // Nothing can be lost with a Turn that never began, or that waits without an environment: no worker is needed.
            let at_once = !active.begun
                || (draft.head.fence.lease.is_none()
                    && active.status == TurnStatus::Waiting
                    && active.calls.len() <= CALLS_PER_COMMIT
                    && !draft.head.environment_opened);
            match rows.of(number) {
                Some(attending) if at_once => {
                    end_turn(draft, &attending, Ending::Cancelled, None)
                        .map_err(|e| EngineError::Conflict(e.to_string()))?;
                    Outcome::Cancelled { turn: number }
                }
                _ => {
                    let input = draft.head.next.input;
                    if let Some(active) = &mut draft.head.turn {
                        active.cancel.get_or_insert(input);
                        active.not_before_ms = 0;
                    }
                    Outcome::Cancelling { turn: number }
                }
            }
        }
    };
    let (turn, state) = match outcome {
        Outcome::Cancelled { turn } | Outcome::Cancelling { turn } => {
            (Some(turn), InputState::Applied { turn })
        }
        Outcome::Nothing { result, turn } => (turn, InputState::NoOp { result }),
        Outcome::Started { .. }
        | Outcome::Steered { .. }
        | Outcome::Queued { .. }
        | Outcome::Answered { .. } => (None, InputState::Accepted),
    };
    record(draft, Submission::Cancel, named.or(turn), state);
    Ok(outcome)
}

/// A cancel that names a Turn which is not the active one: a queued one is cancelled, an ended one is left alone.
fn cancel_other(
    draft: &mut Draft,
    rows: &Rows,
    active: u64,
    named: u64,
) -> Result<Outcome, EngineError> {
    let queued = draft.head.queue.iter().position(|q| q.number == named);
    let (Some(at), Some(attending)) = (queued, rows.of(named)) else {
        return Ok(Outcome::Nothing {
            result: NoOp::AnotherTurnActive,
            turn: Some(active),
        });
    };
    draft.head.queue.remove(at);
    // A queued Turn has only its messages. It is made the front for a moment and ended there, by the one rule that ends Turns;
    // then what was the front goes back, and what its late steers started goes to its place in the queue.
    let front = draft.head.turn.replace(ActiveTurn::queued(named));
    let earlier: Vec<QueuedTurn> = draft.head.queue.drain(..at).collect();
    let later = std::mem::take(&mut draft.head.queue);
    end_turn(draft, &attending, Ending::Cancelled, None)
        .map_err(|e| EngineError::Conflict(e.to_string()))?;
    let started = std::mem::replace(&mut draft.head.turn, front);
    draft.head.queue = earlier;
    if let Some(started) = started {
        let input = draft
            .head
            .pending
            .iter()
            .find(|p| p.turn == started.number)
            .map_or(0, |p| p.input);
        draft.head.queue.push(QueuedTurn {
            number: started.number,
            input,
        });
    }
    draft.head.queue.extend(later);
    Ok(Outcome::Cancelled { turn: named })
}

fn tool_result(
    draft: &mut Draft,
    rows: &Rows,
    named: u64,
    call_id: &str,
    digest: &str,
    answer: &Body,
) -> Result<Outcome, EngineError> {
    // The SDKs' dispatchers repeat a result that comes before its call, on exactly this text.
    let unknown = || EngineError::Invalid {
        param: None,
        message: format!("Unknown pending tool call: {call_id}"),
    };
    let input = draft.head.next.input;
    let Some(turn) = draft.head.turn.as_mut().filter(|turn| turn.number == named) else {
        return Err(unknown());
    };
    let Some(call) = turn.calls.iter_mut().find(|call| call.is(call_id)) else {
        return Err(unknown());
    };
    let (outcome, state) = match &call.digest {
        Some(given) if given == digest => {
            let result = NoOp::AlreadyAnswered;
            (
                Outcome::Nothing {
                    result,
                    turn: Some(named),
                },
                InputState::NoOp { result },
            )
        }
        Some(_) => {
            return Err(EngineError::Conflict(format!(
                "call {call_id} was answered already, otherwise"
            )));
        }
        None => {
            call.answer = Some(input);
            call.digest = Some(digest.to_owned());
            (Outcome::Answered { turn: named }, InputState::Accepted)
        }
    };
    let resumes = turn.status == TurnStatus::Waiting && !turn.awaits_answers();
    if resumes {
        resume(draft, rows, named)?;
    }
    let submission = Submission::ToolResult {
        call_id: call_id.to_owned(),
        digest: digest.to_owned(),
        answer: answer.clone(),
    };
    record(draft, submission, Some(named), state);
    Ok(outcome)
}

fn record(draft: &mut Draft, submission: Submission, turn: Option<u64>, state: InputState) {
    let number = draft.head.next.input;
    draft.head.next.input += 1;
    let row = InputRow {
        submission,
        turn,
        accepted_ms: draft.now_ms,
        state,
    };
    draft.insert(keys::input(number), &row);
}

/// The digest of a batch, over its canonical form: two clients that mean the same say the same.
pub fn digest_of(events: &[InputEvent]) -> String {
    let value = serde_json::to_value(events).unwrap_or_default();
    sha256_hex(&canonical_json(&value))
}

impl Core {
    /// Accepts a batch of inputs for a Session: whole or not at all, once per key (I1, I2).
    ///
    /// # Errors
    /// [`EngineError::KeyReused`] when the key was used with another body; refusals by the Session's state;
    /// [`EngineError::Unknown`] when the answer was lost, which the same call under the same key settles.
    pub async fn send(
        &self,
        owner: &str,
        session: &SessionId,
        key: &str,
        events: &[InputEvent],
    ) -> Result<Accepted, EngineError> {
        let digest = digest_of(events);
        let key_hash = keys::key_hash(key);
        let receipt_id = receipt_id(session, &key_hash);
        let mut loaded = self.load_owned(owner, session).await?;
        let batch = self.prepare(owner, session, &loaded.head, events).await?;
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
                loaded = self.load_owned(owner, session).await?;
            }
            let rows = self.rows_for(session, &loaded, &batch).await?;
            let mut draft = Draft::of(session, &loaded, self.clock.now_ms());
            let first_input = draft.head.next.input;
            let decided = decide(&mut draft, &rows, &batch);
            let receipt = match decided {
                Ok(outcomes) => ReceiptRow {
                    digest: digest.clone(),
                    first_input,
                    outcomes,
                    accepted_ms: draft.now_ms,
                },
                // What refuses now may be the echo of this very request, accepted earlier under its key.
                Err(refusal) => match self
                    .repeated(session, &key_hash, &digest, &receipt_id)
                    .await?
                {
                    Some(accepted) => return Ok(accepted),
                    None => return Err(refusal),
                },
            };
            draft.insert(keys::receipt(&key_hash), &receipt);
            let (commit, _) = draft.seal(&*self.ids);
            match self.commit_once(commit).await {
                Ok(()) => {
                    self.bell.ring(session.as_str());
                    return Ok(Accepted {
                        receipt,
                        receipt_id,
                        repeated: false,
                    });
                }
                Err(StoreError::Conflict(_)) => {
                    if let Some(accepted) = self
                        .repeated(session, &key_hash, &digest, &receipt_id)
                        .await?
                    {
                        return Ok(accepted);
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// What was accepted earlier under this key, if it was.
    async fn repeated(
        &self,
        session: &SessionId,
        key_hash: &str,
        digest: &str,
        receipt_id: &str,
    ) -> Result<Option<Accepted>, EngineError> {
        let Some(receipt) = self
            .row::<ReceiptRow>(session, keys::receipt(key_hash))
            .await?
        else {
            return Ok(None);
        };
        if receipt.digest != digest {
            return Err(EngineError::KeyReused {
                stored: receipt.digest,
                given: digest.to_owned(),
            });
        }
        Ok(Some(Accepted {
            receipt,
            receipt_id: receipt_id.to_owned(),
            repeated: true,
        }))
    }

    /// The rows that a batch needs: none, when it only brings messages and no Turn rests that they would wake.
    async fn rows_for(
        &self,
        session: &SessionId,
        loaded: &Loaded,
        batch: &[Prepared],
    ) -> Result<Rows, EngineError> {
        let mut rows = Rows::default();
        let wakes = loaded.head.turn.as_ref().is_some_and(rests);
        if !wakes && batch.iter().all(|p| matches!(p, Prepared::Message { .. })) {
            return Ok(rows);
        }
        if let Some(turn) = &loaded.head.turn {
            rows.active = Some((turn.number, self.attending(session, turn).await?));
        }
        for prepared in batch {
            if let Prepared::Cancel { turn: Some(named) } = prepared
                && loaded.head.queue.iter().any(|q| q.number == *named)
                && let Some(row) = self.row(session, keys::turn(*named)).await?
            {
                rows.queued.push((*named, row));
            }
        }
        Ok(rows)
    }

    /// The rows that the active Turn's next step needs.
    pub async fn attending(
        &self,
        session: &SessionId,
        turn: &ActiveTurn,
    ) -> Result<Attending, EngineError> {
        let numbers = Attending::item_numbers(turn);
        let partition = keys::session_partition(session);
        let mut wanted = vec![Key::new(partition.clone(), keys::turn(turn.number))];
        wanted.extend(
            numbers
                .iter()
                .map(|&n| Key::new(partition.clone(), keys::item(n))),
        );
        let mut records = self.store.get_many(&wanted).await?.into_iter();
        let missing = |key: &Key| EngineError::damaged(key, "it is missing");
        let row = records
            .next()
            .flatten()
            .ok_or_else(|| missing(&wanted[0]))?;
        let mut items = Vec::with_capacity(numbers.len());
        for ((number, record), key) in numbers.into_iter().zip(records).zip(&wanted[1..]) {
            items.push((
                number,
                super::core::decode(&record.ok_or_else(|| missing(key))?)?,
            ));
        }
        Ok(Attending {
            turn: super::core::decode(&row)?,
            items,
        })
    }
}

/// `rcpt_…` of a key in a Session.
pub fn receipt_id(session: &SessionId, key_hash: &str) -> String {
    let number = u64::from_str_radix(&key_hash[..16], 16).unwrap_or_default();
    ids::derived(Kind::Receipt, session, number)
}
