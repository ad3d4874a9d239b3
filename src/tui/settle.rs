//! The question before something is settled that only an operator may settle: a quarantine, a delivery whose end nobody knows. Pure.
//!
//! The whole id has to be typed. Nothing else settles anything.

use super::action::{Action, Place};
use super::composer::Tone;
use super::field::Field;
use super::msg::Trouble;
use crate::engine::outbox::Reconcile;

/// What is settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matter {
    /// The quarantine of a Run ends: somebody vouches that its worker is gone.
    Release {
        /// The Session.
        session: String,
        /// The Run.
        run: String,
        /// Where it executed.
        execution: String,
    },
    /// A delivery gets another state.
    Delivery {
        /// The Session.
        session: String,
        /// The delivery.
        delivery: String,
        /// Where it goes.
        destination: String,
        /// Its state now, in words.
        state: String,
        /// Which.
        how: Reconcile,
    },
}

impl Matter {
    /// The id that has to be typed.
    pub fn id(&self) -> &str {
        match self {
            Matter::Release { run, .. } => run,
            Matter::Delivery { delivery, .. } => delivery,
        }
    }

    /// The Session.
    pub fn session(&self) -> &str {
        match self {
            Matter::Release { session, .. } | Matter::Delivery { session, .. } => session,
        }
    }

    /// The question.
    pub fn asks(&self) -> &'static str {
        match self {
            Matter::Release { .. } => "End the quarantine of this Run?",
            Matter::Delivery { how, .. } => match how {
                Reconcile::Arrived => "Has this delivery arrived?",
                Reconcile::SendAgain => "Send this delivery, again if need be?",
                Reconcile::GiveUp => "Give this delivery up?",
            },
        }
    }

    /// What follows.
    pub fn warns(&self) -> &'static str {
        match self {
            Matter::Release { .. } => {
                "You vouch that its worker is gone. If it still runs, its commands and those of the next worker can meet. What it saves is not seen in any case."
            }
            Matter::Delivery { how, .. } => match how {
                Reconcile::Arrived => "It counts as delivered and is never sent again.",
                Reconcile::SendAgain => {
                    "If it did arrive before, its receiver gets it twice, under the same id."
                }
                Reconcile::GiveUp => "It counts as failed. It can be sent again later.",
            },
        }
    }

    /// What it came to, in words.
    fn done(&self) -> String {
        match self {
            Matter::Release { run, .. } => format!("{run} is released; the Session goes on"),
            Matter::Delivery { delivery, how, .. } => {
                let is = match how {
                    Reconcile::Arrived => "counts as delivered",
                    Reconcile::SendAgain => "is to be sent",
                    Reconcile::GiveUp => "is given up",
                };
                format!("{delivery} {is}")
            }
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Settle {
    /// What is settled.
    pub matter: Matter,
    /// The id that is typed.
    pub field: Field,
    /// The answer to which request is wanted, while it is on its way.
    pub sending: Option<u64>,
    /// What there is to say.
    pub says: Option<(Tone, String)>,
}

/// What a key led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The question stays.
    Stay,
    /// It is left.
    Leave,
    /// It is to be settled.
    Settle,
}

impl Settle {
    /// The question.
    pub fn new(matter: Matter) -> Settle {
        Settle {
            matter,
            field: Field::default(),
            sending: None,
            says: None,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        Place::Settle
    }

    /// What a key leads to.
    pub fn act(&mut self, action: Action) -> Then {
        match action {
            Action::Back => return Then::Leave,
            _ if self.sending.is_some() => {}
            Action::Accept if self.field.text().trim() == self.matter.id() => return Then::Settle,
            Action::Accept => {
                let words = match self.field.text().trim() {
                    "" => "nothing happens before the whole id is typed",
                    _ => "this is not the id",
                };
                self.says = Some((Tone::Warn, words.to_owned()));
            }
            action => {
                self.field.edit(action);
            }
        }
        Then::Stay
    }

    /// Takes in what it came to. `Some`: it is settled, and this is what there is to say.
    pub fn settled(&mut self, result: &Result<(), Trouble>) -> Option<String> {
        self.sending = None;
        match result {
            Ok(()) => return Some(self.matter.done()),
            Err(trouble) if trouble.unknown => {
                let words = format!(
                    "not known whether it happened ({}); the list behind this shows it",
                    trouble.words
                );
                self.says = Some((Tone::Warn, words));
            }
            Err(trouble) => {
                self.says = Some((Tone::Bad, format!("not done: {}", trouble.words)));
            }
        }
        None
    }
}
