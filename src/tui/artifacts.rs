//! The Artifacts of a Session: as a list, and one of them as far as it can be shown. Pure.

use super::action::Action;
use super::msg::Effect;
use super::picture::Pictures;
use super::preview::{Shown, show};
use super::reading::{Head, ReadAsk};
use super::rows::Rows;
use super::state::State;
use super::times::Times;
use super::transcript::Look;
use super::window::Where;
use crate::api::SessionArtifact;
use crate::text::{count, size};

/// Artifacts as a list, newest first.
#[derive(Clone, Debug)]
pub struct Artifacts {
    /// The Session.
    pub session: String,
    /// The rows.
    pub rows: Rows<SessionArtifact>,
    /// The selected one as far as it can be shown, where there is room beside the list.
    pub beside: Option<Box<Preview>>,
}

impl Artifacts {
    /// A list that nothing was read for yet.
    pub fn new(session: String) -> Artifacts {
        Artifacts {
            session,
            rows: Rows::default(),
            beside: None,
        }
    }

    /// Asks for rows.
    pub fn read(&mut self, state: &mut State, at: Where) -> Effect {
        let ask = ReadAsk::Artifacts {
            session: self.session.clone(),
            at: at.clone(),
        };
        let (ticket, effect) = state.reading(ask);
        self.rows.asked(at, ticket, state.now_ms);
        effect
    }

    /// Asks for the first bytes of the selected one, where they are shown beside the list and are not there or on their way.
    pub fn peek(&mut self, state: &mut State) -> Option<Effect> {
        let current = self.rows.current().filter(|_| state.told_beside() > 0);
        let Some(artifact) = current.cloned() else {
            self.beside = None;
            return None;
        };
        let is_there = self.beside.as_ref().is_some_and(|preview| {
            let is_it = preview.artifact == artifact;
            is_it && (!preview.is_reading() || preview.ticket == state.newest_ticket())
        });
        if is_there {
            return None;
        }
        let (ticket, effect) = state.reading(ReadAsk::Head {
            session: artifact.session_id.clone(),
            artifact: artifact.id.clone(),
            rests: true,
            picture: state.about.pictures != Pictures::Words,
        });
        self.beside = Some(Box::new(Preview::new(artifact, ticket)));
        Some(effect)
    }
}

/// What there is to know of an Artifact, a name and a value each.
pub fn artifact_facts(artifact: &SessionArtifact, times: &Times) -> Vec<(&'static str, String)> {
    let at_ms = artifact.created_at * 1000;
    let bytes = count(artifact.size_bytes);
    vec![
        ("artifact", artifact.id.clone()),
        ("path", artifact.path.clone()),
        (
            "size",
            format!("{}  ({bytes} bytes)", size(artifact.size_bytes)),
        ),
        ("made", times.full(at_ms)),
        ("turn", artifact.turn_id.clone()),
        ("environment", artifact.environment_id.clone()),
    ]
}

/// One Artifact as far as it can be shown.
#[derive(Clone, Debug)]
pub struct Preview {
    /// Which.
    pub artifact: SessionArtifact,
    /// The answer to which request is wanted.
    pub ticket: u64,
    /// Its bytes are shown, whatever they are.
    pub as_bytes: bool,
    /// Why its bytes are not known.
    pub problem: Option<String>,
    /// Its first bytes.
    pub head: Option<Head>,
    /// The lines made of them.
    pub shown: Option<Shown>,
}

impl Preview {
    /// One whose bytes are being read.
    pub fn new(artifact: SessionArtifact, ticket: u64) -> Preview {
        Preview {
            artifact,
            ticket,
            as_bytes: false,
            problem: None,
            head: None,
            shown: None,
        }
    }

    /// Whether its bytes are not there yet.
    pub fn is_reading(&self) -> bool {
        self.shown.is_none() && self.problem.is_none()
    }

    /// Takes in its first bytes.
    pub fn read(&mut self, head: Result<Head, String>) {
        match head {
            Ok(head) => {
                (self.head, self.problem) = (Some(head), None);
                self.show();
            }
            Err(why) => self.problem = Some(why),
        }
    }

    fn show(&mut self) {
        self.shown = self.head.as_ref().map(|head| {
            let path = &self.artifact.path;
            show(path, &head.bytes, head.whole, self.as_bytes)
        });
    }

    /// Scrolls, or shows it the other way.
    pub fn act(&mut self, action: Action, look: Look, height: usize) {
        if action == Action::Json {
            self.as_bytes = !self.as_bytes;
            self.show();
        } else if let Some(shown) = &mut self.shown {
            shown.reader.act(action, look.width, height, look.glyphs);
        }
    }
}
