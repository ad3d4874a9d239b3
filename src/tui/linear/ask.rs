//! What a line that is typed asks for. Pure: it does what the keys of the screen would do.

use super::tell::Told;
use crate::tui::action::{Action, Place};
use crate::tui::answer::choices;
use crate::tui::create::Part;
use crate::tui::layers::Layer;
use crate::tui::msg::{Effect, Msg};
use crate::tui::state::State;
use crate::tui::update::{act, open, update};

/// Said first.
pub const WELCOME: &str = "rat-things, in lines. A line with ? says what can be typed.";

const IN_LIST: [&str; 8] = [
    "a number    open the Session with this number",
    "c           describe a new Session; asks before it is created",
    "y NUMBER    copy the id of the Session with this number",
    "n           the next Sessions",
    "r           read them again, from the first",
    "/WORDS      only Sessions with these words; / alone: all of them",
    "q           quit; agents go on working",
    "?           this list",
];

const IN_SESSION: [&str; 9] = [
    "m TEXT      write to the agent",
    "a           answer what the Session waits for; asks first",
    "x           cancel the active Turn; asks first",
    "y           copy the text of the agent's newest message",
    "Y           copy the id of the Session",
    "p           what came before",
    "b           back to the Sessions",
    "q           quit; agents go on working",
    "?           this list",
];

const IN_CREATE: [&str; 7] = [
    "message TEXT   the first message",
    "title TEXT     a title for lists",
    "model TEXT     the model",
    "agent          the next saved Agent",
    "commands       in a sandbox, or nowhere",
    "ok             show what will be created, and ask",
    "b              leave; what was written is kept",
];

const READ_ONLY: &str = "nothing can be changed: read-only mode is on";

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
        (Place::Answer | Place::AnswerText, line) => in_answer(state, line),
        (Place::Create, line) => in_create(state, line),
        (Place::Confirm, "c") => does(act(state, Action::CreateSession)),
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
    if let Some(number) = line.strip_prefix("y ") {
        let number = number.trim().parse().ok();
        let id = number.and_then(|number: usize| told.numbered(number));
        return match id.map(str::to_owned) {
            Some(id) => does(state.copy(&id)),
            None => says(["no Session with this number was told"]),
        };
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
        ("c", _) if state.about.read_only => says([READ_ONLY]),
        ("c", _) => does(act(state, Action::Create)),
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
        "x" | "m" | "a" if read_only => says([READ_ONLY]),
        "a" => does(act(state, Action::Answer)),
        "y" => does(act(state, Action::Copy)),
        "Y" => does(act(state, Action::CopyId)),
        "x" => does(act(state, Action::AskCancel)),
        "m" => says(["a message is written behind m, in the same line"]),
        line => match line.strip_prefix("m ") {
            Some(_) if read_only => says([READ_ONLY]),
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

/// The word that a line begins with, and what follows.
fn parted(line: &str) -> (&str, &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    (word, rest.trim())
}

fn in_answer(state: &mut State, line: &str) -> Answer {
    let (word, rest) = parted(line);
    let action = match (state.place(), word) {
        (Place::AnswerText, "s") => return does(act(state, Action::Send)),
        (Place::AnswerText, _) => return does(act(state, Action::Back)),
        (_, "r") => Action::WriteResult,
        (_, "f") => Action::WriteFailure,
        (_, "a") => Action::Approve,
        (_, "d") => Action::Deny,
        (_, "x") => Action::Dismiss,
        (_, "n") => Action::Next,
        _ => Action::Back,
    };
    let fits = match state.layers.last() {
        Some(Layer::Answer(answer)) => choices(&answer.action).iter().any(|(of, _)| *of == action),
        _ => false,
    };
    match action {
        Action::Next => does(act(state, action)),
        Action::WriteResult | Action::WriteFailure if fits && rest.is_empty() => {
            says(["what is answered is written behind the letter, in the same line"])
        }
        Action::WriteResult | Action::WriteFailure if fits => {
            let mut effects = act(state, action);
            effects.extend(act(state, Action::DeleteToStart));
            effects.extend(update(state, Msg::Paste(rest.to_owned())));
            effects.extend(act(state, Action::Send));
            does(effects)
        }
        action if fits => does(act(state, action)),
        _ => {
            let left = act(state, Action::Back);
            Answer {
                says: vec!["it is left open".to_owned()],
                effects: left,
            }
        }
    }
}

fn in_create(state: &mut State, line: &str) -> Answer {
    let (word, rest) = parted(line);
    let part = match word {
        "?" => return says(IN_CREATE),
        "ok" => return does(act(state, Action::Accept)),
        "b" => return does(act(state, Action::Back)),
        "message" => Part::Message,
        "title" => Part::Title,
        "model" => Part::Model,
        "agent" => Part::Agent,
        "commands" => Part::Environment,
        _ => return says([unknown(line)]),
    };
    if let Some(Layer::Create(create)) = state.layers.last_mut() {
        create.part = part;
    }
    match part {
        Part::Agent | Part::Environment => does(act(state, Action::Cycle)),
        Part::Message | Part::Title | Part::Model => {
            let mut effects = act(state, Action::LineEnd);
            effects.extend(act(state, Action::DeleteToStart));
            effects.extend(update(state, Msg::Paste(rest.to_owned())));
            does(effects)
        }
    }
}

fn unknown(line: &str) -> String {
    let line = crate::text::SafeText::line(line);
    format!(
        "{:?} is nothing that can be typed here; ? says what can",
        line.as_str()
    )
}
