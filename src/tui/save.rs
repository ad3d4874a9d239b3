//! Saving an Artifact in a file: where, whether one that is there already goes, and how far it is. Pure.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use super::action::{Action, Place};
use super::composer::Tone;
use super::field::Field;
use crate::api::SessionArtifact;
use crate::engine::ports::Content;
use crate::text::{is_control, is_hidden, size};

/// Puts bytes into a new file, and tells how many are written so far. Answers the file's path.
pub type Files = Arc<
    dyn Fn(Content, SaveAsk, mpsc::Sender<u64>) -> BoxFuture<'static, Result<String, NotSaved>>
        + Send
        + Sync,
>;

/// What is to be saved where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaveAsk {
    /// Repeated in the answers.
    pub ticket: u64,
    /// The Session.
    pub session: String,
    /// The Artifact.
    pub artifact: String,
    /// The file as it was typed; a directory takes the Artifact's own name.
    pub to: String,
    /// A file that has the name already goes.
    pub replace: bool,
}

/// Why nothing was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSaved {
    /// A file has the name already.
    Taken,
    /// In words.
    Because(String),
}

/// How far saving is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saving {
    /// So many bytes are written.
    Bytes(u64),
    /// The file is there, under this path.
    Done(String),
    /// It is not.
    Not(NotSaved),
}

/// Where the question is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The file's name is typed.
    Where,
    /// A file has that name: whether it goes.
    Taken,
    /// So many bytes are written.
    Writing(u64),
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Save {
    /// What is saved.
    pub artifact: SessionArtifact,
    /// The file's name.
    pub field: Field,
    /// Where the question is.
    pub stage: Stage,
    /// What there is to say.
    pub says: Option<(Tone, String)>,
    /// Which answers are wanted.
    pub ticket: u64,
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// The question stays.
    Stay,
    /// It is left; nothing is saved.
    Leave,
    /// Writing is given up.
    Stop,
    /// It is to be saved; whether a file that is there goes.
    Save(bool),
}

impl Save {
    /// The question, with the Artifact's own name if it is a good one.
    pub fn new(artifact: SessionArtifact) -> Save {
        let name = artifact.path.rsplit('/').next().unwrap_or_default();
        let is_odd =
            name == "." || name == ".." || name.chars().any(|c| is_control(c) || is_hidden(c));
        Save {
            field: Field::new(if is_odd { "" } else { name }),
            artifact,
            stage: Stage::Where,
            says: None,
            ticket: 0,
        }
    }

    /// Where keys go.
    pub fn place(&self) -> Place {
        match self.stage {
            Stage::Where => Place::Save,
            Stage::Taken => Place::SaveTaken,
            Stage::Writing(_) => Place::Saving,
        }
    }

    /// What a key leads to.
    pub fn act(&mut self, action: Action) -> Then {
        match (self.stage, action) {
            (Stage::Where, Action::Back) => return Then::Leave,
            (Stage::Where, Action::Accept) if self.field.text().trim().is_empty() => {
                self.says = Some((Tone::Plain, "name a file".to_owned()));
            }
            (Stage::Where, Action::Accept) => return Then::Save(false),
            (Stage::Where, action) => {
                self.field.edit(action);
            }
            (Stage::Taken, Action::Replace) => return Then::Save(true),
            (Stage::Taken, Action::Back) => (self.stage, self.says) = (Stage::Where, None),
            (Stage::Writing(_), Action::Back) => {
                self.stage = Stage::Where;
                self.says = Some((Tone::Plain, "given up; nothing is left of it".to_owned()));
                return Then::Stop;
            }
            (Stage::Taken | Stage::Writing(_), _) => {}
        }
        Then::Stay
    }

    /// Takes in how far it is. `Some`: it is over, and this is what there is to say.
    pub fn saving(&mut self, saving: &Saving) -> Option<String> {
        match saving {
            Saving::Bytes(bytes) => self.stage = Stage::Writing(*bytes),
            Saving::Done(path) => {
                return Some(format!("saved {path}, {}", size(self.artifact.size_bytes)));
            }
            Saving::Not(NotSaved::Taken) => (self.stage, self.says) = (Stage::Taken, None),
            Saving::Not(NotSaved::Because(why)) => {
                self.stage = Stage::Where;
                self.says = Some((Tone::Bad, format!("not saved: {why}")));
            }
        }
        None
    }
}
