//! What may be typed behind `/`: words that a Session's title, id or model must contain, and `state:` and `agent:` terms, which the place
//! where Sessions live answers itself.

use crate::api::{AgentSession, SessionStatus, Words};
use crate::engine::read::SessionFilter;

/// A filter as it was understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// As it was typed.
    pub typed: String,
    /// What is asked of the place where Sessions live.
    pub asked: SessionFilter,
    /// Lower-case words; all must occur.
    words: Vec<String>,
}

/// Words of screens for the states of the wire.
const STATES: [(&str, SessionStatus); 3] = [
    ("running", SessionStatus::InProgress),
    ("waiting", SessionStatus::RequiresAction),
    ("budget", SessionStatus::BudgetReached),
];

/// The word that a screen has for a state.
pub fn state_word(status: SessionStatus) -> &'static str {
    STATES
        .iter()
        .find(|(_, of)| *of == status)
        .map_or(status.as_str(), |(word, _)| word)
}

impl Filter {
    /// Understands what was typed.
    ///
    /// # Errors
    /// A state that is none; the message lists those that are.
    pub fn parse(typed: &str) -> Result<Filter, String> {
        let mut filter = Filter {
            typed: typed.trim().to_owned(),
            ..Filter::default()
        };
        for term in typed.split_whitespace() {
            match term.split_once(':') {
                Some(("state", names)) => {
                    for name in names.split(',') {
                        filter.asked.status.push(state(name)?);
                    }
                }
                Some(("agent", id)) => filter.asked.agent_id = Some(id.to_owned()),
                _ => filter.words.push(term.to_lowercase()),
            }
        }
        Ok(filter)
    }

    /// Whether Sessions must be looked at one by one.
    pub fn searches(&self) -> bool {
        !self.words.is_empty()
    }

    /// Whether a Session has all words.
    pub fn matches(&self, session: &AgentSession) -> bool {
        let texts = [
            session.metadata.get("title").map(|t| t.to_lowercase()),
            Some(session.id.clone()),
            Some(session.agent.model.to_lowercase()),
        ];
        self.words
            .iter()
            .all(|word| texts.iter().flatten().any(|text| text.contains(word)))
    }
}

fn state(name: &str) -> Result<SessionStatus, String> {
    let by_word = STATES.iter().find(|(word, _)| *word == name);
    let by_wire = || SessionStatus::ALL.iter().find(|s| s.as_str() == name);
    by_word
        .map(|(_, status)| *status)
        .or_else(|| by_wire().copied())
        .ok_or_else(|| {
            let all: Vec<&str> = SessionStatus::ALL.iter().map(|s| state_word(*s)).collect();
            format!("state:{name} is none of {}", all.join(", "))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_their_words_of_the_screen_and_of_the_wire() {
        let filter =
            Filter::parse("state:running,requires_action Deploy agent:agent_1").expect("good");
        assert_eq!(
            filter.asked.status,
            [SessionStatus::InProgress, SessionStatus::RequiresAction]
        );
        assert_eq!(filter.asked.agent_id.as_deref(), Some("agent_1"));
        assert_eq!(filter.words, ["deploy"]);
        let error = Filter::parse("state:runing").expect_err("no such state");
        assert_eq!(
            error,
            "state:runing is none of idle, running, waiting, failed, budget"
        );
    }
}
