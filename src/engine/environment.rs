//! The Session's environment as the engine last saw it: told when it changes, in the commit that follows what was seen.
//!
//! It is not asked for and never the reason of a commit: what nobody saw (a sandbox that ends between two Turns) is not told. Pure.

use super::draft::Draft;
use super::expire::Expiry;
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
/// Code of the reason for which one has expired.
const EXPIRED: &str = "environment_expired";

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
    if draft.head.expiry.is_some() {
        return;
    }
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

/// The machine that held it ends, and its files with it.
pub fn ended(draft: &mut Draft) {
    use EnvironmentStatus::{Connected, Ready, Suspended};
    if matches!(
        draft.head.environment_status,
        Some(Connected | Ready | Suspended)
    ) {
        turned(draft, EnvironmentStatus::Disconnected, None);
    }
}

/// It is over for good: the last that is told of it.
pub fn expired(draft: &mut Draft, expiry: &Expiry) {
    let why = Some((EXPIRED.to_owned(), expiry.why.clone()));
    turned(draft, EnvironmentStatus::Expired, why);
}

fn turned(draft: &mut Draft, status: EnvironmentStatus, why: Option<(String, String)>) {
    // Nobody reads a deleted Session's journal, and nothing is written behind its end (I14).
    if draft.head.deleted_ms.is_some() || draft.head.expiry.is_some() {
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::core::Loaded;
    use crate::engine::keys;
    use crate::engine::ports::Ids;
    use crate::engine::session::Head;

    /// Every id is the same.
    struct Zeros;

    impl Ids for Zeros {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(0);
        }
    }

    /// Sort keys that one change writes.
    fn written(deleted_ms: Option<u64>, change: impl FnOnce(&mut Draft)) -> Vec<String> {
        let session = SessionId::parse(&format!("sess_{}", "b".repeat(26))).expect("well formed");
        let mut head = Head::new("o".into(), 1);
        head.deleted_ms = deleted_ms;
        head.environment_status = Some(EnvironmentStatus::Connected);
        let loaded = Loaded { head, version: 1 };
        let mut draft = Draft::of(&session, &loaded, 2);
        change(&mut draft);
        let (commit, _) = draft.seal(&Zeros);
        commit.writes.iter().map(|w| w.key.sort.clone()).collect()
    }

    #[test]
    fn a_deleted_session_tells_nothing_of_its_environment() {
        let journal = keys::journal(1);
        for change in [abandoned, suspended] {
            assert!(written(None, change).contains(&journal));
            assert!(!written(Some(2), change).contains(&journal));
        }
    }
}
