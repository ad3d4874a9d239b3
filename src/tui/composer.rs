//! The message that is being written to an agent, and the inputs that leave the screen. Pure.
//!
//! A message keeps its key until it is known to be accepted or is changed: sending it again after a doubt can't send it twice.

use super::field::Field;
use super::msg::Trouble;
use super::session::{Cancelling, Open};
use super::transcript::turn_word;
use crate::api::{
    Became, CancelInput, Delivery, InputEvent, InputMessage, MessageInput, NothingToDo, TurnStatus,
};
use crate::engine::ports::{Goes, Submitted};

/// A cancel that did not end its Turn after so long is said to have no answer yet.
const CANCEL_PATIENCE_MS: u64 = 10_000;

/// How something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As a matter of course.
    Plain,
    /// It is as it was wanted.
    Good,
    /// It needs a look.
    Warn,
    /// It did not work.
    Bad,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    /// The text.
    pub field: Field,
    /// Keys go here.
    pub focused: bool,
    /// The message starts a Turn of its own instead of steering the one at work.
    pub queue: bool,
    /// The key under which it is being sent.
    pub sending: Option<String>,
    /// The key under which it was sent without a clear answer.
    doubtful: Option<String>,
    /// The receipt of the last message, and the Turn that it went to.
    accepted: Option<(String, Option<String>)>,
}

impl Composer {
    /// What was written changed, so that it is another message.
    pub fn changed(&mut self) {
        self.doubtful = None;
    }

    /// The message as an input, and its key; `None`: there is nothing to send now.
    pub fn send(&mut self, spare_key: &str) -> Option<(String, InputEvent)> {
        if self.sending.is_some() || self.field.text().trim().is_empty() {
            return None;
        }
        let key = self
            .doubtful
            .clone()
            .unwrap_or_else(|| spare_key.to_owned());
        self.sending = Some(key.clone());
        let event = InputEvent::Message(MessageInput {
            input: vec![InputMessage::text(self.field.text())],
            delivery: self.queue.then_some(Delivery::NextTurn),
        });
        Some((key, event))
    }

    /// Takes in the answer to the message, and says it.
    pub fn answered(&mut self, key: &str, result: &Result<Submitted, Trouble>) -> (Tone, String) {
        self.sending = None;
        match result {
            Ok(submitted) => {
                let turn = match &submitted.goes {
                    Goes::To(turn) => Some(turn.clone()),
                    Goes::Behind(_) | Goes::Nowhere => None,
                };
                let receipt = receipt_words(submitted);
                self.accepted = Some((receipt.clone(), turn));
                self.field = Field::default();
                self.changed();
                (Tone::Good, format!("accepted: {receipt}"))
            }
            Err(trouble) if trouble.unknown => {
                self.doubtful = Some(key.to_owned());
                let words = &trouble.words;
                (
                    Tone::Warn,
                    format!(
                        "not known whether it was accepted ({words}); sending it again can't send it twice"
                    ),
                )
            }
            Err(trouble) => (Tone::Bad, format!("not sent: {}", trouble.words)),
        }
    }
}

/// A receipt's id, and what became of what it is for.
pub fn receipt_words(submitted: &Submitted) -> String {
    let outcomes = submitted.receipt.outcomes.iter();
    let words: Vec<String> = outcomes.map(ToString::to_string).collect();
    let words = match words.is_empty() {
        true => "accepted".to_owned(),
        false => words.join("; "),
    };
    format!("{} {words}", submitted.receipt.id)
}

/// The cancel of a Turn.
pub fn cancel_input(turn: &str) -> InputEvent {
    InputEvent::Cancel(CancelInput {
        turn_id: Some(turn.to_owned()),
    })
}

impl Open {
    /// Takes in the answer to an input.
    pub fn sent(&mut self, key: &str, result: Result<Submitted, Trouble>, now_ms: u64) {
        if self.composer.sending.as_deref() == Some(key) {
            self.trace = Some(self.composer.answered(key, &result));
            return;
        }
        let Some(Cancelling::Sending { turn, key: sent }) = &self.cancelling else {
            return;
        };
        if sent != key {
            return;
        }
        let turn = turn.clone();
        self.cancelling = None;
        self.trace = Some(match result {
            Err(trouble) if trouble.unknown => (
                Tone::Warn,
                format!("cancel unknown: {} ({turn})", trouble.words),
            ),
            Err(trouble) => (
                Tone::Bad,
                format!("not cancelled: {} ({turn})", trouble.words),
            ),
            Ok(submitted) => match submitted.receipt.outcomes.first() {
                Some(Became::Cancelled { turn_id }) => {
                    (Tone::Good, format!("cancelled: {turn_id}"))
                }
                Some(Became::Nothing {
                    result: NothingToDo::AnotherTurnActive,
                    turn_id,
                }) => {
                    let active = turn_id.as_deref().unwrap_or("not told which");
                    (
                        Tone::Warn,
                        format!("another turn is active: {active}; nothing was done"),
                    )
                }
                Some(Became::Nothing { .. }) => {
                    let how = self.turns.get(&turn).map(|turn| turn_word(turn.status));
                    (
                        Tone::Plain,
                        format!("already finished: {} ({turn})", how.unwrap_or("over")),
                    )
                }
                _ => {
                    self.cancelling = Some(Cancelling::Accepted {
                        turn: turn.clone(),
                        since_ms: now_ms,
                    });
                    (Tone::Plain, format!("cancelling {turn}"))
                }
            },
        });
        self.settle(now_ms);
    }

    /// Says what became of inputs by what is known of their Turns now. Whether anything that is shown changed.
    pub fn settle(&mut self, now_ms: u64) -> bool {
        let before = self.trace.clone();
        if let Some(Cancelling::Accepted { turn, since_ms }) = self.cancelling.clone() {
            let status = self.turns.get(&turn).map(|turn| turn.status);
            let waited_ms = now_ms.saturating_sub(since_ms);
            self.trace = Some(match status {
                Some(TurnStatus::Cancelled) => (Tone::Good, format!("cancelled: {turn}")),
                Some(status) if status.is_terminal() => (
                    Tone::Plain,
                    format!("already finished: {} ({turn})", turn_word(status)),
                ),
                _ if waited_ms >= CANCEL_PATIENCE_MS => (
                    Tone::Warn,
                    format!("no answer yet: the cancel is accepted, {turn} has not ended"),
                ),
                _ => (
                    Tone::Plain,
                    format!("cancelling {turn}, {}s", waited_ms / 1000),
                ),
            });
            if status.is_some_and(TurnStatus::is_terminal) {
                self.cancelling = None;
            }
            self.composer.accepted = None;
        } else if let Some((receipt, Some(turn))) = &self.composer.accepted
            && self.composer.sending.is_none()
            && let Some(turn) = self.turns.get(turn)
        {
            let (word, tone) = match turn.status {
                TurnStatus::Failed => ("failed", Tone::Bad),
                status => (turn_word(status), Tone::Good),
            };
            self.trace = Some((tone, format!("{word}: {receipt}")));
            if turn.status.is_terminal() {
                self.composer.accepted = None;
            }
        }
        self.trace != before
    }
}
