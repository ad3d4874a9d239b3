//! The action table: every key, what it does, and the words for it. Keys, footer, help screen and `docs/keys.md` are made from it
//! and from nothing else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::keymap::{self, Keymap};

mod table;

pub use table::BINDINGS;

/// Where a key is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On every screen, as long as no text is typed.
    Everywhere,
    /// The list of Sessions.
    Sessions,
    /// The line in which a filter is typed.
    Filter,
    /// One Session.
    Session,
    /// The line in which words are typed that are searched in a Session.
    Search,
    /// The message that is being written.
    Composer,
    /// The question before a Turn is cancelled.
    Cancel,
    /// What a Session waits for.
    Answer,
    /// The result of a function that is being written.
    AnswerText,
    /// A login that is filled in.
    Login,
    /// A Session that is about to be created.
    Create,
    /// The question before it is created.
    Confirm,
    /// The Turns of a Session.
    Turns,
    /// The subagents of a Session.
    Subagents,
    /// The transcript of a subagent.
    Story,
    /// One Item or Turn in full.
    Inspect,
    /// The Artifacts of a Session.
    Artifacts,
    /// One Artifact.
    Preview,
    /// The name of a file that is typed.
    Save,
    /// The question whether a file that is there goes.
    SaveTaken,
    /// A file that is being written.
    Saving,
    /// The Runs of a Session.
    Runs,
    /// The deliveries of a Session.
    Deliveries,
    /// What all Sessions owe.
    Owed,
    /// A page of words: an environment, or whether all is in order.
    Report,
    /// The question before something is settled.
    Settle,
    /// The question before the Turns of several Sessions are cancelled.
    SeveralTurns,
    /// What is typed before several Sessions are deleted or exported.
    SeveralText,
    /// What became of several Sessions.
    SeveralDone,
    /// The command palette.
    Palette,
    /// Wherever rows or lines are gone through in a screen of their own.
    List,
    /// Wherever text is typed.
    Text,
    /// The help.
    Help,
}

impl Place {
    /// All of them, in the order of the help.
    pub const ALL: [Place; 33] = [
        Place::Sessions,
        Place::Filter,
        Place::Session,
        Place::Search,
        Place::Composer,
        Place::Cancel,
        Place::Answer,
        Place::AnswerText,
        Place::Login,
        Place::Create,
        Place::Confirm,
        Place::Turns,
        Place::Subagents,
        Place::Story,
        Place::Inspect,
        Place::Artifacts,
        Place::Preview,
        Place::Save,
        Place::SaveTaken,
        Place::Saving,
        Place::Runs,
        Place::Deliveries,
        Place::Owed,
        Place::Report,
        Place::Settle,
        Place::SeveralTurns,
        Place::SeveralText,
        Place::SeveralDone,
        Place::Palette,
        Place::List,
        Place::Text,
        Place::Help,
        Place::Everywhere,
    ];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Place::Everywhere => "Everywhere",
            Place::Sessions => "Sessions",
            Place::Filter => "Filter",
            Place::Session => "Session",
            Place::Search => "Search in a Session",
            Place::Composer => "Message",
            Place::Cancel => "Cancel a Turn",
            Place::Answer => "What the Session waits for",
            Place::AnswerText => "Result of a function",
            Place::Login => "Login",
            Place::Create => "New Session",
            Place::Confirm => "Create a Session",
            Place::Turns => "Turns",
            Place::Subagents => "Subagents",
            Place::Story => "One subagent",
            Place::Inspect => "One Item or Turn",
            Place::Artifacts => "Artifacts",
            Place::Preview => "One Artifact",
            Place::Save => "Save an Artifact",
            Place::SaveTaken => "A file that is there already",
            Place::Saving => "A file that is being written",
            Place::Runs => "Runs",
            Place::Deliveries => "Deliveries",
            Place::Owed => "Outbox of all Sessions",
            Place::Report => "Environment and health",
            Place::Settle => "Settle a Run or a delivery",
            Place::SeveralTurns => "Cancel the Turns of several Sessions",
            Place::SeveralText => "Delete or export several Sessions",
            Place::SeveralDone => "What became of several Sessions",
            Place::Palette => "Command palette",
            Place::List => "In lists and long texts",
            Place::Text => "Text that is typed",
            Place::Help => "Help",
        }
    }

    /// Whether its footer has room for the keys of everywhere.
    fn has_everywhere(self) -> bool {
        matches!(self, Place::Sessions | Place::Session) || self.is_gone_through()
    }

    /// Whether rows or lines are gone through here, in a screen of its own.
    pub(super) fn is_gone_through(self) -> bool {
        matches!(
            self,
            Place::Turns
                | Place::Subagents
                | Place::Story
                | Place::Inspect
                | Place::Artifacts
                | Place::Preview
                | Place::Runs
                | Place::Deliveries
                | Place::Owed
                | Place::Report
                | Place::SeveralTurns
                | Place::SeveralDone
                | Place::List
        )
    }

    /// Whether letters are text here, so that keys for everywhere are none.
    pub fn takes_text(self) -> bool {
        matches!(
            self,
            Place::Filter
                | Place::Search
                | Place::Composer
                | Place::AnswerText
                | Place::Login
                | Place::Create
                | Place::Save
                | Place::Settle
                | Place::SeveralText
                | Place::Palette
                | Place::Text
        )
    }
}

/// What a key does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// One row or line up.
    Up,
    /// One row or line down.
    Down,
    /// One screen up.
    PageUp,
    /// One screen down.
    PageDown,
    /// To the first.
    First,
    /// To the last.
    Last,
    /// Opens what is selected.
    Open,
    /// Closes, or goes back.
    Back,
    /// Begins to type a filter.
    Filter,
    /// Takes what was typed.
    Accept,
    /// The other end of the list first.
    Sort,
    /// Begins to write a message.
    Write,
    /// Shows the newest, and stays there.
    Follow,
    /// Folds or unfolds the marked Item, or all commands and reasoning.
    Fold,
    /// Folds or unfolds all commands and reasoning.
    FoldAll,
    /// Marks the Item before.
    ItemBefore,
    /// Marks the next Item.
    ItemNext,
    /// To the start of this Turn, or of the one before.
    TurnBefore,
    /// To the start of the next Turn.
    TurnNext,
    /// Opens the list of Turns.
    Turns,
    /// Opens the list of subagents.
    Subagents,
    /// Shows all of one thing.
    Inspect,
    /// Shows it as it is on the wire, or as words; or its bytes.
    Json,
    /// To the list of Sessions.
    Sessions,
    /// Opens the deliveries, or what all Sessions owe.
    Deliveries,
    /// Opens the Runs.
    Runs,
    /// Opens the environment.
    Environment,
    /// Opens whether all is in order.
    Health,
    /// Opens why the Session does or does not move.
    Explain,
    /// Asks whether a quarantine is to end.
    Release,
    /// Asks whether a delivery has arrived.
    Arrived,
    /// Asks whether a delivery is to be sent.
    SendAgain,
    /// Asks whether a delivery is to be given up.
    GiveUp,
    /// Opens the Artifacts.
    Artifacts,
    /// Asks where to save.
    Save,
    /// Replaces the file that is there.
    Replace,
    /// Begins to type words to search.
    Search,
    /// To the next place upwards that has the words.
    FindUp,
    /// To the next one downwards.
    FindDown,
    /// To the message of the user before.
    AskedBefore,
    /// To the next message of the user.
    AskedNext,
    /// Copies the text that is meant.
    Copy,
    /// Copies the id of the Session.
    CopyId,
    /// Shows the Item that is meant in a pager.
    Pager,
    /// Takes the mouse, or leaves it to the terminal.
    Mouse,
    /// Asks whether the active Turn is to be cancelled.
    AskCancel,
    /// Cancels the Turn that was asked about.
    CancelTurn,
    /// Sends the message.
    Send,
    /// A new line in the message.
    Newline,
    /// Steers the active Turn, or starts the next one.
    Delivery,
    /// Writes the message in an editor.
    Editor,
    /// The character before the cursor goes.
    Backspace,
    /// The character behind the cursor goes.
    Delete,
    /// The word before the cursor goes.
    DeleteWord,
    /// What is before the cursor in its line goes.
    DeleteToStart,
    /// What is behind the cursor in its line goes.
    DeleteToEnd,
    /// The cursor one character back.
    Left,
    /// The cursor one character on.
    Right,
    /// The cursor to the start of its line.
    LineStart,
    /// The cursor to the end of its line.
    LineEnd,
    /// Asks how to answer what the Session waits for.
    Answer,
    /// Begins to write the result of a function.
    WriteResult,
    /// Begins to write why a function failed.
    WriteFailure,
    /// Begins to fill in a login.
    LogIn,
    /// Approves.
    Approve,
    /// Denies.
    Deny,
    /// Dismisses the question.
    Dismiss,
    /// To the next one.
    Next,
    /// To the one before.
    Previous,
    /// The next choice.
    Cycle,
    /// Begins to describe a new Session.
    Create,
    /// Creates it.
    CreateSession,
    /// Opens the command palette.
    Palette,
    /// Copies the command line that does the same.
    CopyCommand,
    /// Marks a row, or takes the mark away.
    Mark,
    /// Shows the Sessions that wait for somebody.
    Waiting,
    /// Opens the help.
    Help,
    /// Asks whether to delete Sessions.
    AskDelete,
    /// Asks where to export Sessions.
    AskExport,
    /// Closes what is typed; again soon, it leaves.
    Interrupt,
    /// Shows times in the next way.
    Times,
    /// Opens the files of the environment.
    Files,
    /// Gives what is read the whole width, or shows what stands beside it.
    Whole,
    /// Reads again.
    Refresh,
    /// Stops this program until the shell continues it.
    Suspend,
    /// Leaves.
    Quit,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    /// Where.
    pub place: Place,
    /// Keys, the one to show first.
    pub keys: &'static [&'static str],
    /// What they do.
    pub action: Action,
    /// For the footer; empty: it is not shown there.
    pub short: &'static str,
    /// For the help.
    pub long: &'static str,
    /// It changes something, so that read-only mode has no such key.
    pub changes: bool,
}

/// The name of a key as the table writes it; `None`: no key of the table could be it.
pub fn key_name(key: &KeyEvent) -> Option<String> {
    let name = match key.code {
        KeyCode::Char(' ') => "space".into(),
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".into(),
        KeyCode::Esc => "esc".into(),
        KeyCode::Tab => "tab".into(),
        KeyCode::BackTab => return Some("shift-tab".into()),
        KeyCode::Backspace => "backspace".into(),
        KeyCode::Delete => "delete".into(),
        KeyCode::Left => "left".into(),
        KeyCode::Right => "right".into(),
        KeyCode::Up => "up".into(),
        KeyCode::Down => "down".into(),
        KeyCode::Home => "home".into(),
        KeyCode::End => "end".into(),
        KeyCode::PageUp => "pgup".into(),
        KeyCode::PageDown => "pgdn".into(),
        _ => return None,
    };
    Some(match key.modifiers {
        with if with.contains(KeyModifiers::CONTROL) => format!("ctrl-{}", name.to_lowercase()),
        with if with.contains(KeyModifiers::ALT) => format!("alt-{name}"),
        _ => name,
    })
}

/// What a key does at a place by this table.
pub fn find(place: Place, key: &str, read_only: bool) -> Option<Action> {
    find_in(&Keymap::default(), place, key, read_only)
}

/// The same with what a person changed in it. While text is typed, only keys with Ctrl are those for everywhere.
pub fn find_in(keymap: &Keymap, place: Place, key: &str, read_only: bool) -> Option<Action> {
    let here = |of: Place| {
        BINDINGS
            .iter()
            .find(|b| b.place == of && keymap.has(b, key) && !(b.changes && read_only))
    };
    let everywhere = !place.takes_text() || key.starts_with("ctrl-");
    here(place)
        .or_else(|| here(Place::Text).filter(|_| place.takes_text()))
        .or_else(|| here(Place::List).filter(|_| place.is_gone_through()))
        .or_else(|| here(Place::Everywhere).filter(|_| everywhere))
        .map(|binding| binding.action)
}

/// The rows of a place that exist in this mode.
pub fn rows(place: Place, read_only: bool) -> impl Iterator<Item = &'static Binding> {
    BINDINGS
        .iter()
        .filter(move |b| b.place == place && !(b.changes && read_only))
}

/// The rows that the footer of a place shows, most important first.
pub fn footer(place: Place, read_only: bool) -> impl Iterator<Item = &'static Binding> {
    let everywhere = place.has_everywhere();
    rows(place, read_only)
        .chain(rows(Place::List, read_only).filter(move |_| place.is_gone_through()))
        .chain(rows(Place::Everywhere, read_only).filter(move |_| everywhere))
        .filter(|b| !b.short.is_empty())
}

/// The table as the page `docs/keys.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Keys of `rat-things tui`\n\nMade from the table that the program itself uses; `?` shows the same. The names are for other keys: `ui.keys` in [the configuration](configuration.md).\n",
    );
    for place in Place::ALL {
        page.push_str(&format!(
            "\n## {}\n\n| key | does | name |\n| --- | --- | --- |\n",
            place.name()
        ));
        for binding in rows(place, false) {
            let keys: Vec<String> = binding.keys.iter().map(|key| format!("`{key}`")).collect();
            let mark = if binding.changes {
                " · not in read-only mode"
            } else {
                ""
            };
            page.push_str(&format!(
                "| {} | {}{mark} | `{}` |\n",
                keys.join(" "),
                binding.long,
                keymap::name(binding)
            ));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things_at_one_place() {
        for place in Place::ALL {
            let mut seen = std::collections::BTreeSet::new();
            for key in rows(place, false).flat_map(|b| b.keys) {
                assert!(seen.insert(key), "{place:?}: {key} twice");
            }
        }
    }

    #[test]
    fn letters_are_text_where_text_is_typed() {
        assert_eq!(find(Place::Composer, "q", false), None);
        assert_eq!(find(Place::Composer, "?", false), None);
        assert_eq!(
            find(Place::Composer, "ctrl-c", false),
            Some(Action::Interrupt)
        );
        assert_eq!(find(Place::Session, "q", false), Some(Action::Quit));
    }

    #[test]
    fn read_only_mode_has_no_key_that_changes_something() {
        for key in ["i", "enter", "x"] {
            assert_eq!(find(Place::Session, key, true), None, "{key}");
        }
        assert!(footer(Place::Session, true).all(|b| !b.changes));
    }
}
