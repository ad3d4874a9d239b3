//! A Delivery: one result on its way to one destination, from its Turn's end to its one outcome.
//!
//! What makes it differ from a Turn: it may arrive without anybody here learning of it. Then it is `uncertain`, and is never
//! sent again by itself (I6).

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::draft::Draft;
use super::ids::{self, Kind, SessionId};
use super::input::Body;
use super::keys;

/// Where a delivery is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It is to be sent.
    Pending,
    /// An attempt was claimed and is not known to be over.
    Sending,
    /// The destination has it.
    Delivered,
    /// It did not arrive and is not tried again.
    Failed,
    /// It may have arrived. Somebody has to find out.
    Uncertain,
}

/// What can happen to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryEvent {
    /// A sender takes it in hand; the attempt is recorded before it is made.
    Claim,
    /// It is known to have arrived.
    Arrived,
    /// The attempt provably came to nothing, and another one may not.
    TryLater,
    /// The attempt provably came to nothing, and others would too.
    Refused,
    /// Nobody knows what became of the attempt.
    LostSight,
    /// An operator wants it sent, again if need be.
    SendAgain,
    /// An operator gives it up.
    GiveUp,
}

/// Why an event does not apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a delivery that is {state} refuses {event:?}")]
pub struct DeliveryRefusal {
    /// The state that refused.
    pub state: DeliveryState,
    /// What it refused.
    pub event: DeliveryEvent,
}

/// The life of a delivery: total over state and event.
pub fn next(state: DeliveryState, event: DeliveryEvent) -> Result<DeliveryState, DeliveryRefusal> {
    use DeliveryEvent::{Arrived, Claim, GiveUp, LostSight, Refused, SendAgain, TryLater};
    use DeliveryState::{Delivered, Failed, Pending, Sending, Uncertain};
    let refused = Err(DeliveryRefusal { state, event });
    match (state, event) {
        (Pending, Claim) => Ok(Sending),
        (Pending, GiveUp) => Ok(Failed),
        (Pending, Arrived | TryLater | Refused | LostSight | SendAgain) => refused,
        // What the sender learns late is as good as what it learns in time.
        (Sending | Uncertain, Arrived) => Ok(Delivered),
        (Sending | Uncertain, TryLater) => Ok(Pending),
        (Sending | Uncertain, Refused) => Ok(Failed),
        (Sending | Uncertain, LostSight) => Ok(Uncertain),
        // On its way: it can't be called back, and a second one beside it is what nobody wants.
        (Sending, Claim | SendAgain | GiveUp) => refused,
        // Only a person repeats what may have arrived.
        (Uncertain, SendAgain) => Ok(Pending),
        (Uncertain, GiveUp) => Ok(Failed),
        (Uncertain, Claim) => refused,
        (Failed, SendAgain) => Ok(Pending),
        (Failed, Claim | Arrived | TryLater | Refused | LostSight | GiveUp) => refused,
        (Delivered, Claim | Arrived | TryLater | Refused | LostSight | SendAgain | GiveUp) => {
            refused
        }
    }
}

impl fmt::Display for DeliveryState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeliveryState::Pending => "pending",
            DeliveryState::Sending => "sending",
            DeliveryState::Delivered => "delivered",
            DeliveryState::Failed => "failed",
            DeliveryState::Uncertain => "uncertain",
        })
    }
}

impl DeliveryState {
    /// Whether it has an entry among what is owed.
    pub fn is_owed(self) -> bool {
        match self {
            DeliveryState::Pending | DeliveryState::Sending => true,
            DeliveryState::Delivered | DeliveryState::Failed | DeliveryState::Uncertain => false,
        }
    }
}

/// Row `delivery/<id>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRow {
    /// Where it goes.
    pub destination: String,
    /// What it tells, by its public name.
    pub event: String,
    /// Text; the same bytes in every attempt.
    pub body: Body,
    /// Where it is.
    pub state: DeliveryState,
    /// Attempts that were claimed.
    pub attempts: u32,
    /// Attempts that were claimed since somebody last wanted it sent: these are bounded.
    pub tries: u32,
    /// While it is owed: when it is to be sent, or when the claimed attempt is given up. Unix ms.
    pub due_ms: u64,
    /// Owed since. Unix ms.
    pub created_ms: u64,
    /// Its state since. Unix ms.
    pub changed_ms: u64,
    /// What the last attempt came to, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// Something that a destination is to be told, once.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Where it goes.
    pub destination: String,
    /// What it tells, by its public name.
    pub event: String,
    /// What it is about: the same destination is told the same event about the same thing once.
    pub about: String,
    /// Text, stored already if it is large.
    pub body: Body,
}

impl Notice {
    /// The delivery's id: the same for the same notice, however often it is derived.
    pub fn id(&self, session: &SessionId) -> String {
        let mut hash = Sha256::new();
        for part in [&self.destination, &self.event, &self.about] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        let mut number = [0; 8];
        number.copy_from_slice(&hash.finalize()[..8]);
        ids::derived(Kind::Delivery, session, u64::from_be_bytes(number))
    }
}

/// Owes a delivery from the commit of this draft on, and answers its id. Nothing of it touches the work group of execution
/// (I9). A commit that would owe the same twice is refused by the store.
pub fn enqueue_delivery(draft: &mut Draft, notice: Notice) -> String {
    let id = notice.id(&draft.session);
    let now_ms = draft.now_ms;
    let row = DeliveryRow {
        destination: notice.destination,
        event: notice.event,
        body: notice.body,
        state: DeliveryState::Pending,
        attempts: 0,
        tries: 0,
        due_ms: now_ms,
        created_ms: now_ms,
        changed_ms: now_ms,
        answer: None,
    };
    draft.insert(keys::delivery(&id), &row);
    draft.insert(keys::owed(now_ms, &id), &());
    draft.head.owe_delivery(now_ms);
    // All of these rows change soon, perhaps before a lost answer is settled.
    draft.anchor();
    id
}

/// Moves a delivery to what `event` makes of it, with its entry among what is owed. `due_ms` counts while it is owed; the head's
/// due time is the caller's to set, who knows what else is owed.
///
/// # Errors
/// The refusal, and nothing is changed.
pub fn change_delivery(
    draft: &mut Draft,
    id: &str,
    row: &DeliveryRow,
    event: DeliveryEvent,
    due_ms: u64,
    answer: Option<String>,
) -> Result<DeliveryRow, DeliveryRefusal> {
    let state = next(row.state, event)?;
    let mut row = row.clone();
    if row.state.is_owed() {
        draft.remove(keys::owed(row.due_ms, id));
    }
    match event {
        DeliveryEvent::Claim => {
            row.attempts += 1;
            row.tries += 1;
        }
        DeliveryEvent::SendAgain => row.tries = 0,
        DeliveryEvent::Arrived
        | DeliveryEvent::TryLater
        | DeliveryEvent::Refused
        | DeliveryEvent::LostSight
        | DeliveryEvent::GiveUp => {}
    }
    row.state = state;
    row.due_ms = due_ms;
    row.changed_ms = draft.now_ms;
    if answer.is_some() {
        row.answer = answer;
    }
    if state.is_owed() {
        draft.put(keys::owed(due_ms, id), &());
    }
    draft.put(keys::delivery(id), &row);
    Ok(row)
}
