//! The Session's environment as the engine last saw it: told when it changes, in the commit that follows what was seen.
//!
//! It is not asked for and never the reason of a commit: what nobody saw (a sandbox that ends between two Turns) is not told. Pure.

use super::draft::Draft;
use super::ids::SessionId;
use super::journal::Entry;
use super::ports::EnvironmentError;
use super::view;
use crate::api::{
    EnvironmentError as ApiError, EnvironmentEvent, EnvironmentState, EnvironmentStatus, Event,
};

/// Who runs the environments that this engine makes, in the words of the wire.
const MANAGED: &str = "openai_hosted";
/// Family of the errors of an environment.
const ERROR_FAMILY: &str = "environment_error";

/// Trouble that a command met in its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It ended under the command.
    Lost,
    /// It could not be opened: a word for programs, and words for people.
    Failed {
        /// For programs.
        code: &'static str,
        /// For people.
        message: String,
    },
}

impl Trouble {
    /// Of an environment that could not be opened.
    pub fn of_opening(error: &EnvironmentError) -> Trouble {
        let code = match error {
            EnvironmentError::Refused { .. } => "isolation_unavailable",
            EnvironmentError::Lost(_) | EnvironmentError::Failed(_) => "environment_failed",
        };
        Trouble::Failed {
            code,
            message: error.to_string(),
        }
    }
}

/// The environment was opened for a command; `lost` says that files of its earlier life are gone.
pub fn opened(draft: &mut Draft, lost: bool) {
    let first = !std::mem::replace(&mut draft.head.environment_opened, true);
    if lost {
        draft.head.resets += 1;
        draft.note(Entry::Reset {
            n: draft.head.resets,
        });
    }
    if first || lost {
        turned(draft, EnvironmentStatus::Ready, None);
    }
    turned(draft, EnvironmentStatus::Connected, None);
}

/// A command met trouble in it.
pub fn troubled(draft: &mut Draft, trouble: &Trouble) {
    match trouble {
        Trouble::Lost => turned(draft, EnvironmentStatus::Disconnected, None),
        Trouble::Failed { code, message } => {
            let why = Some(((*code).to_owned(), message.clone()));
            turned(draft, EnvironmentStatus::Failed, why);
        }
    }
}

/// Its processes were ended by the worker that held it; files stay.
pub fn suspended(draft: &mut Draft) {
    if draft.head.environment_status == Some(EnvironmentStatus::Connected) {
        turned(draft, EnvironmentStatus::Suspended, None);
    }
}

/// The worker that held it is gone, and its processes with it.
pub fn abandoned(draft: &mut Draft) {
    if draft.head.environment_status == Some(EnvironmentStatus::Connected) {
        turned(draft, EnvironmentStatus::Disconnected, None);
    }
}

fn turned(draft: &mut Draft, status: EnvironmentStatus, why: Option<(String, String)>) {
    if draft.head.environment_status.replace(status) != Some(status) {
        let turn = draft.head.turn.as_ref().map(|turn| turn.number);
        draft.note(Entry::Environment {
            s: status,
            t: turn,
            w: why,
        });
    }
}

/// An entry as an event of the wire.
pub(super) fn event(
    session: &SessionId,
    environment_id: String,
    event_id: String,
    (status, turn, why): (EnvironmentStatus, Option<u64>, Option<&(String, String)>),
) -> Event {
    let event = EnvironmentEvent {
        environment: EnvironmentState {
            id: environment_id,
            error: why.map(|(code, message)| ApiError {
                code: code.clone(),
                message: message.clone(),
                kind: ERROR_FAMILY.to_owned(),
            }),
            status,
            kind: MANAGED.to_owned(),
        },
        event_id,
        session_id: session.to_string(),
        turn_id: turn.map(|turn| view::turn_id(session, turn)),
        obfuscation: None,
    };
    match status {
        EnvironmentStatus::Pending => Event::EnvironmentPending(event),
        EnvironmentStatus::Ready => Event::EnvironmentReady(event),
        EnvironmentStatus::Connected => Event::EnvironmentConnected(event),
        EnvironmentStatus::Disconnected => Event::EnvironmentDisconnected(event),
        EnvironmentStatus::Suspended => Event::EnvironmentSuspended(event),
        EnvironmentStatus::Expired => Event::EnvironmentExpired(event),
        EnvironmentStatus::Failed => Event::EnvironmentFailed(event),
    }
}
