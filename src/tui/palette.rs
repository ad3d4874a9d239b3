//! The command palette: everything that has a key where it was opened, found by a few letters, and Sessions by their ids. Pure.

use super::action::{Action, Binding, Place, rows};
use super::field::Field;
use super::fuzzy::fits;
use super::state::State;

/// Bytes of the longest id that is looked for.
const ID_BYTES: usize = 64;

/// What an entry does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Does {
    /// An action of the place where it was opened.
    Act(Action),
    /// Opens this Session.
    Open(String),
    /// Shows the Sessions of this profile.
    Profile(String),
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it does.
    pub does: Does,
    /// The words.
    pub words: String,
    /// The key that does the same.
    pub key: String,
    /// The command that does the same, if there is one.
    pub command: Option<String>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Palette {
    /// What is typed.
    pub field: Field,
    /// Place of the selected entry among those that fit.
    pub selected: usize,
    /// All entries.
    all: Vec<Entry>,
}

/// What moves within a screen is not looked for by name.
fn is_worth_a_name(binding: &Binding) -> bool {
    !matches!(
        binding.action,
        Action::Up
            | Action::Down
            | Action::PageUp
            | Action::PageDown
            | Action::First
            | Action::Last
            | Action::Left
            | Action::Right
            | Action::Palette
    )
}

/// The key to show; empty where a person took it away.
fn shown_key(state: &State, binding: &'static Binding) -> String {
    let key = state.keymap.keys(binding).first().copied();
    key.unwrap_or_default().to_owned()
}

/// The other profiles, each as an entry.
fn profiles(state: &State) -> impl Iterator<Item = Entry> {
    let is_plain = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        name.chars().all(is_plain)
    };
    state.profiles.iter().map(move |name| Entry {
        does: Does::Profile(name.clone()),
        words: format!("the Sessions of profile {name}"),
        key: String::new(),
        command: is_plain(name).then(|| format!("rat-things --profile {name} tui")),
    })
}

impl Palette {
    /// The entries of the place where keys go now.
    pub fn new(state: &State) -> Palette {
        let place = state.place();
        let read_only = state.about.read_only;
        let here = rows(place, read_only);
        let list = rows(Place::List, read_only).filter(|_| place.is_gone_through());
        let everywhere = rows(Place::Everywhere, read_only);
        let all = here
            .chain(list)
            .chain(everywhere)
            .filter(|binding| is_worth_a_name(binding))
            .map(|binding| Entry {
                does: Does::Act(binding.action),
                words: binding.long.to_owned(),
                key: shown_key(state, binding),
                command: command(state, binding.action),
            });
        Palette {
            field: Field::default(),
            selected: 0,
            all: all.chain(profiles(state)).collect(),
        }
    }

    /// The entries that fit what is typed, the best first; all of them in the order of the table while nothing is.
    pub fn fitting(&self) -> Vec<Entry> {
        let typed = self.field.text().trim();
        let mut fitting: Vec<(u32, &Entry)> = self
            .all
            .iter()
            .filter_map(|entry| {
                let by_words = fits(typed, &entry.words);
                let by_command = entry.command.as_deref().and_then(|text| fits(typed, text));
                Some((by_words.max(by_command)?, entry))
            })
            .collect();
        if !typed.is_empty() {
            fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
        let id = (typed.starts_with("sess_") && typed.len() <= ID_BYTES).then(|| Entry {
            does: Does::Open(typed.to_owned()),
            words: format!("open {typed}"),
            key: String::new(),
            command: Some(format!("rat-things tui {typed}")),
        });
        let entries = fitting.into_iter().map(|(_, entry)| entry.clone());
        id.into_iter().chain(entries).collect()
    }

    /// How many entries there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Moves among the entries, or edits what is typed.
    pub fn act(&mut self, action: Action) {
        match action {
            Action::Up => self.selected = self.selected.saturating_sub(1),
            Action::Down => self.selected += 1,
            action => {
                self.field.edit(action);
                self.selected = 0;
            }
        }
        let last = self.fitting().len().saturating_sub(1);
        self.selected = self.selected.min(last);
    }
}

/// The command line for what an action does to what is open or selected.
pub fn command(state: &State, action: Action) -> Option<String> {
    let open = state.open.as_ref().map(|open| open.id.as_str());
    let selected = state.sessions.current().map(|session| session.id.as_str());
    // An id of another make could be anything, and what is copied is run by a shell.
    let is_plain = |id: &&str| id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let session = open.or(selected).filter(is_plain);
    let of = |words: &str| Some(format!("rat-things {words} {}", session?));
    match action {
        Action::Create => Some("rat-things sessions create --input TEXT".to_owned()),
        Action::Health => Some("rat-things doctor".to_owned()),
        Action::Sessions | Action::Filter => Some("rat-things sessions list".to_owned()),
        Action::Deliveries => Some("rat-things outbox list".to_owned()),
        Action::Open if state.layers.is_empty() => of("tui"),
        Action::Turns => of("sessions turns"),
        Action::Subagents => of("sessions subagents"),
        Action::Runs => of("runs list"),
        Action::Release => of("runs release"),
        Action::Explain => of("sessions explain"),
        Action::Artifacts => of("sessions artifacts"),
        Action::Inspect if state.layers.is_empty() => of("sessions items"),
        Action::AskDelete => of("sessions delete"),
        Action::AskExport => of("sessions export --to ."),
        Action::Follow => of("sessions items --follow"),
        Action::AskCancel => of("sessions cancel"),
        Action::Answer => of("sessions answer --result TEXT"),
        Action::Write => of("sessions send --input TEXT"),
        _ => None,
    }
}
