//! What a line that is typed asks for. Pure: it does what the keys of the screen would do.

use super::tell::Told;
use crate::tui::action::{Action, Place};
use crate::tui::msg::{Effect, Msg};
use crate::tui::state::State;
use crate::tui::update::{act, open, update};

/// Said first.
pub const WELCOME: &str = "rat-things, in lines. A line with ? says what can be typed.";

const IN_LIST: [&str; 6] = [
    "a number    open the Session with this number",
    "n           the next Sessions",
    "r           read them again, from the first",
    "/WORDS      only Sessions with these words; / alone: all of them",
    "q           quit; agents go on working",
    "?           this list",
];

const IN_SESSION: [&str; 6] = [
    "m TEXT      write to the agent",
    "x           cancel the active Turn; asks first",
    "p           what came before",
    "b           back to the Sessions",
    "q           quit; agents go on working",
    "?           this list",
];

/// What follows from a line.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    /// What is told at once.
    pub says: Vec<String>,
    /// What is to be done.
    pub effects: Vec<Effect>,
}

fn says(lines: impl IntoIterator<Item = impl Into<String>>) -> Answer {
    Answer {
        says: lines.into_iter().map(Into::into).collect(),
        effects: Vec::new(),
    }
}

fn does(effects: Vec<Effect>) -> Answer {
    Answer {
        says: Vec::new(),
        effects,
    }
}

/// See the module.
pub fn typed(state: &mut State, told: &mut Told, line: &str) -> Answer {
    let line = line.trim();
    state.notice = None;
    match (state.place(), line) {
        (Place::Cancel, "c") => does(act(state, Action::CancelTurn)),
        (Place::Cancel, _) => does(act(state, Action::Back)),
        (_, "q") => does(quit(state)),
        (_, "") => Answer::default(),
        (Place::Sessions, line) => in_list(state, told, line),
        (Place::Session, line) => in_session(state, told, line),
        // No line leads anywhere else.
        (_, _) => does(act(state, Action::Back)),
    }
}

/// Whoever types `q` twice loses a message that was not sent, as on the screen.
fn quit(state: &mut State) -> Vec<Effect> {
    act(state, Action::Quit)
}

fn in_list(state: &mut State, told: &mut Told, line: &str) -> Answer {
    if let Some(words) = line.strip_prefix('/') {
        let mut effects = act(state, Action::Filter);
        effects.extend(act(state, Action::DeleteToStart));
        effects.extend(update(state, Msg::Paste(words.trim().to_owned())));
        effects.extend(act(state, Action::Accept));
        if let Some(mistake) = state.sessions.mistake.take() {
            act(state, Action::Back);
            return says([mistake]);
        }
        told.list_again();
        return does(effects);
    }
    match (line, line.parse::<usize>()) {
        ("n", _) => does(told.next_rows(state)),
        ("r", _) => {
            told.list_again();
            let mut effects = act(state, Action::First);
            effects.extend(act(state, Action::Refresh));
            does(effects)
        }
        ("?", _) => says(IN_LIST),
        (_, Ok(number)) => {
            let Some(id) = told.numbered(number) else {
                return says([format!("no Session {number} was told")]);
            };
            does(open(state, id.to_owned()))
        }
        (_, Err(_)) => says([unknown(line)]),
    }
}

fn in_session(state: &mut State, told: &mut Told, line: &str) -> Answer {
    let read_only = state.about.read_only;
    match line {
        "b" => does(act(state, Action::Back)),
        "?" => says(IN_SESSION),
        "p" => {
            let (says, effects) = told.earlier(state);
            Answer { says, effects }
        }
        "x" | "m" if read_only => says(["nothing can be changed: read-only mode is on"]),
        "x" => does(act(state, Action::AskCancel)),
        "m" => says(["a message is written behind m, in the same line"]),
        line => match line.strip_prefix("m ") {
            Some(_) if read_only => says(["nothing can be changed: read-only mode is on"]),
            Some(text) => {
                let mut effects = act(state, Action::Write);
                effects.extend(update(state, Msg::Paste(text.trim().to_owned())));
                effects.extend(act(state, Action::Send));
                effects.extend(act(state, Action::Back));
                does(effects)
            }
            None => says([unknown(line)]),
        },
    }
}

fn unknown(line: &str) -> String {
    let line = crate::text::SafeText::line(line);
    format!(
        "{:?} is nothing that can be typed here; ? says what can",
        line.as_str()
    )
}
