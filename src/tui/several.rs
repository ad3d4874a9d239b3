//! One thing done to several Sessions: what is asked first, with all their ids, and what became of each. Pure.
//!
//! They are gone through one after the other. Nothing is done before it was asked for, and what was not begun yet can be stopped.

use super::action::{Action, Place};
use super::composer::Tone;
use super::field::Field;
use super::msg::Trouble;
use super::transcript::turn_word;
use crate::api::{Became, NothingToDo, Turn};
use crate::engine::ports::Submitted;
use crate::text::count;

/// Sessions at once, at most.
pub const MOST: usize = 100;
/// A cancel that did not end its Turn after so long is said to have no answer yet.
const PATIENCE_MS: u64 = 10_000;

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The active Turn of each is cancelled.
    Cancel,
    /// Each is deleted.
    Delete,
    /// Each is written to an archive.
    Export,
}

impl Deed {
    /// The question.
    pub fn asks(self, sessions: usize) -> String {
        let of = match sessions {
            1 => "this Session".to_owned(),
            n => format!("these {} Sessions", count(n as u64)),
        };
        match self {
            Deed::Cancel if sessions == 1 => format!("Cancel the active Turn of {of}?"),
            Deed::Cancel => format!("Cancel the active Turns of {of}?"),
            Deed::Delete => format!("Delete {of}?"),
            Deed::Export => format!("Export {of}?"),
        }
    }

    /// What follows.
    pub fn warns(self) -> &'static str {
        match self {
            Deed::Cancel => {
                "Kept: transcripts, files that were written, queued turns. Nothing is undone."
            }
            Deed::Delete => {
                "Transcripts, Artifacts and workspaces are deleted; a Turn at work ends."
            }
            Deed::Export => "Each is written to SESSION.tar.zst; a file that is there is kept.",
        }
    }
}

/// What becomes of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is not known yet what is to be done.
    Looking,
    /// It is to be done.
    Waits,
    /// There is nothing to be done.
    Nothing(String),
    /// It is being done.
    Doing,
    /// It is accepted, and not done yet, since then (Unix milliseconds).
    Accepted(u64),
    /// It is done.
    Done(String),
    /// It is not done.
    Failed(String),
    /// It is not known whether it is done.
    Unknown(String),
}

impl Fate {
    /// In words.
    pub fn words(&self) -> (Tone, String) {
        match self {
            Fate::Looking => (Tone::Plain, "is looked at".into()),
            Fate::Waits => (Tone::Plain, String::new()),
            Fate::Nothing(why) => (Tone::Plain, why.clone()),
            Fate::Doing => (Tone::Plain, "is being done".into()),
            Fate::Accepted(_) => (Tone::Plain, "cancelling".into()),
            Fate::Done(how) => (Tone::Good, how.clone()),
            Fate::Failed(why) => (Tone::Bad, format!("not done: {why}")),
            Fate::Unknown(why) => (Tone::Warn, format!("not known: {why}")),
        }
    }
}

/// One of the Sessions.
#[derive(Clone, Debug)]
pub struct One {
    /// Its id.
    pub session: String,
    /// Its title, where it is known.
    pub title: String,
    /// The Turn that is cancelled.
    pub turn: Option<String>,
    /// The key of its cancel.
    key: Option<String>,
    /// What becomes of it.
    pub fate: Fate,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It is asked about.
    Asked,
    /// They are gone through.
    Going,
    /// No other is begun.
    Over,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Several {
    /// What is done.
    pub deed: Deed,
    /// To these.
    pub all: Vec<One>,
    /// How far it is.
    pub stage: Stage,
    /// What is typed: the words that a deletion needs, or a directory.
    pub field: Field,
    /// The first one on the screen.
    pub top: usize,
    /// The answer to which reading of Turns is wanted.
    pub ticket: u64,
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
    /// The first of them is to be done.
    Begin,
    /// What became of them is to be copied.
    Copy,
}

impl Several {
    /// The question about Sessions with their titles.
    pub fn new(deed: Deed, sessions: Vec<(String, String)>) -> Several {
        let fate = match deed {
            Deed::Cancel => Fate::Looking,
            Deed::Delete | Deed::Export => Fate::Waits,
        };
        let all = sessions.into_iter().map(|(session, title)| One {
            session,
            title,
            turn: None,
            key: None,
            fate: fate.clone(),
        });
        Several {
            deed,
            all: all.collect(),
            stage: Stage::Asked,
            field: Field::default(),
            top: 0,
            ticket: 0,
            says: None,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        match (self.stage, self.deed) {
            (Stage::Asked, Deed::Cancel) => Place::SeveralTurns,
            (Stage::Asked, _) => Place::SeveralText,
            (Stage::Going | Stage::Over, _) => Place::SeveralDone,
        }
    }

    /// The words that have to be typed before anything is deleted.
    pub fn wanted(&self) -> String {
        match self.all.as_slice() {
            [one] => one.session.clone(),
            all => format!("delete {}", all.len()),
        }
    }

    /// What a key leads to, with so many of them on the screen.
    pub fn act(&mut self, action: Action, height: usize) -> Then {
        let last = self.all.len().saturating_sub(height);
        match (self.stage, action) {
            (Stage::Asked | Stage::Over, Action::Back) => return Then::Leave,
            (Stage::Going, Action::Back) => {
                self.stage = Stage::Over;
                self.says = Some((Tone::Plain, "no other is begun".into()));
            }
            (_, Action::Down) => self.top = (self.top + 1).min(last),
            (_, Action::Up) => self.top = self.top.saturating_sub(1),
            (_, Action::PageDown) => self.top = (self.top + height).min(last),
            (_, Action::PageUp) => self.top = self.top.saturating_sub(height),
            (_, Action::First) => self.top = 0,
            (_, Action::Last) => self.top = last,
            (_, Action::Copy) => return Then::Copy,
            (Stage::Asked, Action::CancelTurn) if self.deed == Deed::Cancel => {
                return self.begin();
            }
            (Stage::Asked, Action::Accept) => match (self.deed, self.field.text().trim()) {
                (Deed::Delete, typed) if typed == self.wanted() => return self.begin(),
                (Deed::Delete, _) => {
                    let words =
                        format!("nothing is deleted before this is typed: {}", self.wanted());
                    self.says = Some((Tone::Warn, words));
                }
                (Deed::Export, "") => {
                    self.says = Some((Tone::Warn, "a directory is typed first".into()));
                }
                (Deed::Export, _) => return self.begin(),
                (Deed::Cancel, _) => {}
            },
            (Stage::Asked, action) => {
                self.field.edit(action);
            }
            (Stage::Going | Stage::Over, _) => {}
        }
        Then::Stay
    }

    fn begin(&mut self) -> Then {
        let is_looking = |one: &One| one.fate == Fate::Looking;
        if self.all.iter().any(is_looking) {
            self.says = Some((Tone::Plain, "it is being looked what is active".into()));
            return Then::Stay;
        }
        (self.stage, self.says) = (Stage::Going, None);
        Then::Begin
    }

    /// The next one that is to be done; it is being done from now on, under this key if it needs one. `None`: there is none, and all is over.
    pub fn next(&mut self, spare_key: &str) -> Option<One> {
        if self.stage != Stage::Going {
            return None;
        }
        let next = self.all.iter_mut().find(|one| one.fate == Fate::Waits);
        let Some(one) = next else {
            self.stage = Stage::Over;
            return None;
        };
        (one.fate, one.key) = (Fate::Doing, Some(spare_key.to_owned()));
        Some(one.clone())
    }

    /// Which Turns are to be read: those that are active, and later those that were cancelled.
    pub fn unsettled(&self) -> Vec<(String, Option<String>)> {
        let is_open = |one: &&One| matches!(one.fate, Fate::Looking | Fate::Accepted(_));
        let open = self.all.iter().filter(is_open);
        open.map(|one| (one.session.clone(), one.turn.clone()))
            .collect()
    }

    /// Takes in how Turns stand.
    pub fn turns_read(&mut self, read: &[(String, Result<Option<Turn>, String>)], now_ms: u64) {
        for (session, turn) in read {
            let Some(one) = self.all.iter_mut().find(|one| one.session == *session) else {
                continue;
            };
            one.fate = match (&one.fate, turn) {
                (Fate::Looking, Ok(Some(turn))) => {
                    one.turn = Some(turn.id.clone());
                    Fate::Waits
                }
                (Fate::Looking, Ok(None)) => Fate::Nothing("no turn is active".into()),
                (Fate::Looking, Err(why)) => Fate::Failed(why.clone()),
                (Fate::Accepted(_), Ok(Some(turn))) if turn.status.is_terminal() => {
                    Fate::Done(match turn_word(turn.status) {
                        "cancelled" => "cancelled".into(),
                        word => format!("already finished: {word}"),
                    })
                }
                (Fate::Accepted(since_ms), _) if now_ms >= since_ms + PATIENCE_MS => {
                    Fate::Unknown("the cancel is accepted, the turn has not ended".into())
                }
                (fate, _) => fate.clone(),
            };
        }
    }

    /// The Turns could not be read at all.
    pub fn turns_unread(&mut self, why: &str) {
        for one in &mut self.all {
            if one.fate == Fate::Looking {
                one.fate = Fate::Failed(why.to_owned());
            }
        }
    }

    /// Takes in the answer to a cancel; `false`: it is none of these.
    pub fn sent(&mut self, key: &str, result: &Result<Submitted, Trouble>, now_ms: u64) -> bool {
        let mut doing = self.all.iter_mut().filter(|one| one.fate == Fate::Doing);
        let Some(one) = doing.find(|one| one.key.as_deref() == Some(key)) else {
            return false;
        };
        one.fate = match result {
            Err(trouble) if trouble.unknown => Fate::Unknown(trouble.words.clone()),
            Err(trouble) => Fate::Failed(trouble.words.clone()),
            Ok(submitted) => match submitted.receipt.outcomes.first() {
                Some(Became::Cancelled { .. }) => Fate::Done("cancelled".into()),
                Some(Became::Nothing {
                    result: NothingToDo::AnotherTurnActive,
                    ..
                }) => Fate::Failed("another turn is active".into()),
                Some(Became::Nothing { .. }) => Fate::Done("already finished".into()),
                _ => Fate::Accepted(now_ms),
            },
        };
        true
    }

    /// Takes in what became of a deletion or an export; `false`: it is none of these.
    pub fn done(&mut self, session: &str, result: &Result<String, Trouble>) -> bool {
        let mut doing = self.all.iter_mut().filter(|one| one.fate == Fate::Doing);
        let Some(one) = doing.find(|one| one.session == session) else {
            return false;
        };
        one.fate = match result {
            Ok(how) => Fate::Done(how.clone()),
            Err(trouble) if trouble.unknown => Fate::Unknown(trouble.words.clone()),
            Err(trouble) => Fate::Failed(trouble.words.clone()),
        };
        true
    }

    /// How many came to what.
    pub fn summary(&self) -> String {
        let of = |is: fn(&Fate) -> bool| self.all.iter().filter(|one| is(&one.fate)).count();
        let mut parts = vec![format!(
            "{} of {} done",
            of(|fate| matches!(fate, Fate::Done(_) | Fate::Nothing(_))),
            self.all.len()
        )];
        for (n, word) in [
            (of(|fate| matches!(fate, Fate::Failed(_))), "not done"),
            (of(|fate| matches!(fate, Fate::Unknown(_))), "not known"),
            (of(|fate| matches!(fate, Fate::Accepted(_))), "cancelling"),
            (of(|fate| matches!(fate, Fate::Waits)), "not begun"),
        ] {
            if n > 0 {
                parts.push(format!("{n} {word}"));
            }
        }
        parts.join(", ")
    }

    /// What became of each, a line each.
    pub fn report(&self) -> String {
        let lines = self.all.iter().map(|one| {
            let turn = one.turn.as_deref().unwrap_or("-");
            format!("{}\t{turn}\t{}\n", one.session, one.fate.words().1)
        });
        lines.collect()
    }
}
