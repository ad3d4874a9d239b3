//! What is told of the state: everything once, in the order in which it came. Pure.

use std::collections::BTreeMap;

use super::question::question;
use crate::api::{AgentSession, HasId, TurnStatus};
use crate::text::{SafeText, ago, count};
use crate::tui::action::Action;
use crate::tui::filter::state_word;
use crate::tui::msg::Effect;
use crate::tui::session::Open;
use crate::tui::state::State;
use crate::tui::transcript::{Line, Role, entry, turn_word};
use crate::tui::update::act;

/// Sessions, and Items, that are told at once.
const AT_ONCE: usize = 10;

/// What was told so far.
#[derive(Debug)]
pub struct Told {
    /// Ids of Sessions by the numbers under which they were told.
    numbers: Vec<String>,
    /// Sessions that are to be told as soon as they are there.
    owed: usize,
    session: Option<Known>,
    notice: Option<String>,
    problem: Option<String>,
    asked: Vec<String>,
}

/// What was told of the open Session.
#[derive(Debug, Default)]
struct Known {
    id: String,
    headed: bool,
    first: Option<String>,
    last: Option<String>,
    turns: BTreeMap<String, TurnStatus>,
    trace: Option<String>,
    waits: Vec<String>,
}

impl Default for Told {
    fn default() -> Self {
        Told {
            numbers: Vec::new(),
            owed: AT_ONCE,
            session: None,
            notice: None,
            problem: None,
            asked: Vec::new(),
        }
    }
}

impl Told {
    /// What is new.
    pub fn news(&mut self, state: &State) -> Vec<String> {
        let mut says = Vec::new();
        let problem = match &state.open {
            Some(open) => &open.problem,
            None => &state.sessions.problem,
        };
        let problem = problem.as_ref().map(|(why, _)| safe(why));
        if problem != self.problem {
            says.push(match &problem {
                Some(why) => format!("not read: {why}; it is tried again"),
                None => "read again".to_owned(),
            });
            self.problem = problem;
        }
        match &state.open {
            Some(open) => self.of_session(state, open, &mut says),
            None => {
                if self.session.take().is_some() {
                    self.list_again();
                }
                self.of_list(state, &mut says);
            }
        }
        if state.notice != self.notice {
            says.extend(state.notice.as_deref().map(safe));
            self.notice = state.notice.clone();
        }
        self.question(state, &mut says);
        says
    }

    /// Sessions are told from the first on.
    pub fn list_again(&mut self) {
        self.numbers.clear();
        self.owed = AT_ONCE;
    }

    /// The id of the Session that was told under this number.
    pub fn numbered(&self, number: usize) -> Option<&str> {
        let id = self.numbers.get(number.checked_sub(1)?)?;
        Some(id)
    }

    /// The next Sessions are to be told.
    pub fn next_rows(&mut self, state: &mut State) -> Vec<Effect> {
        self.owed = AT_ONCE;
        let last = self.numbers.last();
        let place = last.and_then(|id| state.sessions.window.place_of(id));
        state.sessions.selected = place.unwrap_or_default();
        // Reads on where the end of what is held is near.
        act(state, Action::PageDown)
    }

    fn of_list(&mut self, state: &State, says: &mut Vec<String>) {
        let sessions = &state.sessions;
        if self.owed == 0 || !sessions.loaded {
            return;
        }
        let last = self.numbers.last();
        let from = last.map_or(Some(0), |id| Some(sessions.window.place_of(id)? + 1));
        let rows = sessions.window.rows();
        let fresh = from.and_then(|from| rows.get(from..)).unwrap_or_default();
        for session in fresh.iter().take(self.owed) {
            self.numbers.push(session.id.clone());
            says.push(row(session, self.numbers.len(), state.now_ms));
        }
        let told = fresh.len().min(self.owed);
        self.owed -= told;
        let more = sessions.window.behind().is_some();
        if self.owed > 0 && (more || sessions.is_reading()) {
            return;
        }
        self.owed = 0;
        says.push(match (self.numbers.len(), fresh.len() > told || more) {
            (0, _) => "no Session matches; none may be there".to_owned(),
            (told, true) => format!("{} so far; n tells the next", count(told as u64)),
            (told, false) => format!("{}, and that is all", count(told as u64)),
        });
    }

    fn of_session(&mut self, state: &State, open: &Open, says: &mut Vec<String>) {
        let mut known = match self.session.take() {
            Some(known) if known.id == open.id => known,
            _ => Known {
                id: open.id.clone(),
                ..Known::default()
            },
        };
        known.tell(state, open, says);
        self.session = Some(known);
    }

    /// What came before the first Item that was told.
    pub fn earlier(&mut self, state: &mut State) -> (Vec<String>, Vec<Effect>) {
        let mut says = Vec::new();
        let look = state.look();
        let known = self.session.as_mut();
        let Some((known, open)) = known.zip(state.open.as_ref()) else {
            return (says, Vec::new());
        };
        let first = known.first.as_ref();
        let end = first.and_then(|id| open.items.place_of(id)).unwrap_or(0);
        let begin = end.saturating_sub(AT_ONCE);
        for place in begin..end {
            says.extend(spoken(entry(open, place, look)));
        }
        if let Some(id) = open.items.rows().get(begin).and_then(HasId::id) {
            known.first = Some(id.to_owned());
        }
        says.push(match (begin, open.items.before().is_some()) {
            (0, false) => "that is the beginning".to_owned(),
            _ => "p tells more".to_owned(),
        });
        // Reads what is before, where the beginning of what is held is near.
        let effects = match begin < 2 * AT_ONCE {
            true => act(state, Action::PageUp),
            false => Vec::new(),
        };
        (says, effects)
    }

    /// What is new in the question that is open.
    fn question(&mut self, state: &State, says: &mut Vec<String>) {
        let asked = question(state);
        let is_new = |line: &&String| !self.asked.contains(line);
        says.extend(asked.iter().filter(is_new).cloned());
        self.asked = asked;
    }
}

impl Known {
    fn tell(&mut self, state: &State, open: &Open, says: &mut Vec<String>) {
        let Some(session) = &open.session else {
            return;
        };
        if !std::mem::replace(&mut self.headed, true) {
            let title = session.metadata.get("title").map(|title| safe(title));
            let title = title.unwrap_or_else(|| "without a title".to_owned());
            let word = state_word(session.status);
            says.push(format!("Session {}, {title}, {word}", open.id));
        }
        let rows = open.items.rows();
        let from = match &self.last {
            Some(id) => open.items.place_of(id).map(|place| place + 1),
            None => Some(rows.len().saturating_sub(AT_ONCE)),
        };
        // What is not held any more can't be told from where it was left: it is told from the newest on.
        let from = from.unwrap_or_else(|| rows.len().saturating_sub(AT_ONCE));
        for (place, item) in rows.iter().enumerate().skip(from) {
            if !open.is_final(item) {
                break;
            }
            says.extend(spoken(entry(open, place, state.look())));
            self.last = item.id().map(str::to_owned).or(self.last.take());
            if self.first.is_none() {
                self.first = self.last.clone();
            }
        }
        for turn in open.newest.iter().filter_map(|id| open.turns.get(id)) {
            let before = self.turns.insert(turn.id.clone(), turn.status);
            if before.is_some_and(|before| before != turn.status) {
                says.push(format!("turn {} is {}", turn.id, turn_word(turn.status)));
            }
        }
        let waits: Vec<String> = entry(open, rows.len(), state.look())
            .into_iter()
            .filter(|line| line.role == Role::Warn && !line.mark)
            .map(|line| one(&line))
            .collect();
        if waits != self.waits {
            says.extend(waits.iter().cloned());
            self.waits = waits;
        }
        let trace = open.trace.as_ref().map(|(_, words)| safe(words));
        // How long something takes is counted on the screen; here it is said once.
        let settled = |words: &String| !words.starts_with("cancelling ");
        if trace != self.trace {
            says.extend(trace.clone().filter(settled));
            self.trace = trace;
        }
    }
}

/// A Session in one line.
fn row(session: &AgentSession, number: usize, now_ms: u64) -> String {
    let title = session.metadata.get("title").map(|title| safe(title));
    let title = title.unwrap_or_else(|| "without a title".to_owned());
    format!(
        "{number}. {}, {title}, active {}, {}",
        state_word(session.status),
        ago(session.last_active_at * 1000, now_ms),
        session.id
    )
}

fn safe(words: &str) -> String {
    SafeText::line(words).as_str().to_owned()
}

fn spoken(lines: Vec<Line>) -> impl Iterator<Item = String> {
    let lines = lines.into_iter();
    lines
        .filter(|line| !line.text.is_empty())
        .map(|line| one(&line))
}

fn one(line: &Line) -> String {
    match line.label {
        "" => line.text.as_str().to_owned(),
        label => format!("{label}: {}", line.text.as_str()),
    }
}
