//! Everything that can happen to the screen, and everything that it can ask for. Both are plain data, so that a test can be the world.

use std::collections::BTreeSet;

use crossterm::event::KeyEvent;

use super::filter::Filter;
use super::find::{FindAsk, Finding};
use super::reading::{ReadAsk, Seen};
use super::save::{SaveAsk, Saving};
use super::sessions::Order;
use super::settle::Matter;
use super::window::{Chunk, Where};
use crate::api::{AgentSession, InputEvent, Item, SessionCreateParams, Turn};
use crate::engine::error::EngineError;
use crate::engine::ports::{DeploymentError, Signs, Submitted};

/// Something happened.
#[derive(Clone, Debug)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The wheel was turned: upwards, or downwards.
    Wheel(bool),
    /// The mouse was pressed in this row of the screen.
    Click(u16),
    /// The pager was left.
    Paged(Result<(), String>),
    /// The terminal has this size now: columns, rows.
    Resize(u16, u16),
    /// It is so late; once a second.
    Tick(u64),
    /// Sessions were read.
    Listed {
        /// Which request this answers.
        ticket: u64,
        /// The rows.
        result: Result<Chunk<AgentSession>, Trouble>,
    },
    /// A Session was looked at.
    Looked {
        /// Which request this answers.
        ticket: u64,
        /// What was seen.
        result: Result<Box<Look>, Trouble>,
    },
    /// A search came so far.
    Found {
        /// The Session.
        session: String,
        /// Which request this answers.
        ticket: u64,
        /// How far.
        result: Result<Box<Finding>, Trouble>,
    },
    /// What was watched may have changed.
    Signs {
        /// The Session.
        session: String,
        /// What came, or why watching broke off.
        result: Result<Signs, Trouble>,
    },
    /// A submission was answered.
    Sent {
        /// The Session.
        session: String,
        /// Its key.
        key: String,
        /// The receipt.
        result: Result<Submitted, Trouble>,
        /// What a person should know of who works on it.
        note: Option<String>,
    },
    /// A Session was created, or not.
    Created {
        /// Its key.
        key: String,
        /// It.
        result: Result<Box<AgentSession>, Trouble>,
        /// What a person should know of who works on it.
        note: Option<String>,
    },
    /// Something was read for a screen beside the list and the transcript.
    Read {
        /// Which request this answers.
        ticket: u64,
        /// What.
        result: Result<Box<Seen>, Trouble>,
    },
    /// Something was settled, or not.
    Settled {
        /// Which request this answers.
        ticket: u64,
        /// Whether.
        result: Result<(), Trouble>,
    },
    /// A Session was deleted or exported, or not.
    Deed {
        /// The Session.
        session: String,
        /// In words how.
        result: Result<String, Trouble>,
    },
    /// How far an Artifact is saved.
    Saving {
        /// Which request this answers.
        ticket: u64,
        /// How far.
        saving: Saving,
    },
    /// The editor was left.
    Edited(Result<String, String>),
}

/// The screen wants something done.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Read Sessions; a newer request replaces this one.
    List {
        /// Repeated in the answer.
        ticket: u64,
        /// Which rows.
        at: Where,
        /// At most so many.
        limit: usize,
        /// In which order.
        order: Order,
        /// Which of them.
        filter: Filter,
    },
    /// Look at a Session; a newer request replaces this one.
    Look(LookAsk),
    /// Search Items that are not held; a newer request replaces this one.
    Find(FindAsk),
    /// Let the terminal take this into its clipboard.
    Copy(String),
    /// Watch this Session, and no other.
    Watch(String),
    /// Watch none.
    Unwatch,
    /// Submit an input.
    Send {
        /// The Session.
        session: String,
        /// Under this key.
        key: String,
        /// The input.
        event: Box<InputEvent>,
    },
    /// Create a Session.
    Create {
        /// Under this key.
        key: String,
        /// The request.
        params: Box<SessionCreateParams>,
    },
    /// Read something for a screen beside the list and the transcript; a newer request replaces this one.
    Read {
        /// Repeated in the answer.
        ticket: u64,
        /// What.
        ask: ReadAsk,
    },
    /// Settle what only an operator may settle.
    Settle {
        /// Repeated in the answer.
        ticket: u64,
        /// What.
        matter: Matter,
    },
    /// Delete this Session.
    Delete {
        /// The Session.
        session: String,
    },
    /// Write this Session to an archive.
    Export {
        /// The Session.
        session: String,
        /// The directory as it was typed.
        to: String,
    },
    /// Save an Artifact in a file.
    Save(SaveAsk),
    /// Give up saving.
    StopSaving,
    /// Show this in a pager.
    Page(String),
    /// Take the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Let a person write in an editor, beginning with this.
    Edit(String),
    /// Stop until the shell continues this program.
    Suspend,
    /// Draw all of the screen.
    Redraw,
    /// Leave, and show the Sessions of this profile.
    Profile(String),
    /// Leave.
    Quit,
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookAsk {
    /// Repeated in the answer.
    pub ticket: u64,
    /// The Session.
    pub session: String,
    /// Which Items.
    pub items: Option<Where>,
    /// Turns that are over and known.
    pub known: BTreeSet<String>,
}

/// What was seen of a Session, or of a subagent.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// The Session; a subagent is none.
    pub session: Option<AgentSession>,
    /// Its newest Turns and those of the Items.
    pub turns: Vec<Turn>,
    /// Ids of the newest Turns, oldest first.
    pub newest: Vec<String>,
    /// Items.
    pub items: Option<Chunk<Item>>,
}

/// Why something did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// In words.
    pub words: String,
    /// It may have happened all the same.
    pub unknown: bool,
}

impl From<DeploymentError> for Trouble {
    fn from(error: DeploymentError) -> Self {
        Trouble {
            words: error.to_string(),
            unknown: matches!(
                error,
                DeploymentError::Uncertain { .. }
                    | DeploymentError::Engine(EngineError::Unknown(_))
            ),
        }
    }
}
