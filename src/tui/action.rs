//! The action table: every key, what it does, and the words for it. Keys, footer, help screen and `docs/keys.md` are made from it
//! and from nothing else.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

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
    /// The help.
    Help,
}

impl Place {
    /// All of them, in the order of the help.
    pub const ALL: [Place; 8] = [
        Place::Sessions,
        Place::Filter,
        Place::Session,
        Place::Search,
        Place::Composer,
        Place::Cancel,
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
            Place::Help => "Help",
        }
    }

    /// Whether letters are text here, so that keys for everywhere are none.
    fn takes_text(self) -> bool {
        matches!(self, Place::Filter | Place::Search | Place::Composer)
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
    /// Folds or unfolds commands and reasoning.
    Fold,
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
    /// Opens the help.
    Help,
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

const fn row(
    place: Place,
    keys: &'static [&'static str],
    action: Action,
    short: &'static str,
    long: &'static str,
) -> Binding {
    Binding {
        place,
        keys,
        action,
        short,
        long,
        changes: false,
    }
}

const fn change(
    place: Place,
    keys: &'static [&'static str],
    action: Action,
    short: &'static str,
    long: &'static str,
) -> Binding {
    Binding {
        changes: true,
        ..row(place, keys, action, short, long)
    }
}

/// The table. Within a place the most important key comes first: the footer is cut from the right.
#[rustfmt::skip]
pub const BINDINGS: &[Binding] = &[
    row(Place::Sessions, &["enter", "l", "right"], Action::Open, "open", "open the selected Session"),
    row(Place::Sessions, &["/"], Action::Filter, "filter", "type a filter"),
    row(Place::Sessions, &["s"], Action::Sort, "order", "newest first, or oldest first"),
    row(Place::Sessions, &["j", "down"], Action::Down, "", "one row down"),
    row(Place::Sessions, &["k", "up"], Action::Up, "", "one row up"),
    row(Place::Sessions, &["pgdn", "ctrl-d"], Action::PageDown, "", "one screen down"),
    row(Place::Sessions, &["pgup", "ctrl-u"], Action::PageUp, "", "one screen up"),
    row(Place::Sessions, &["g", "home"], Action::First, "", "to the first Session"),
    row(Place::Sessions, &["G", "end"], Action::Last, "", "to the last Session"),
    row(Place::Sessions, &["y", "Y"], Action::CopyId, "", "copy the id of the selected Session"),
    row(Place::Sessions, &["esc"], Action::Back, "", "clear the filter"),
    row(Place::Filter, &["enter"], Action::Accept, "filter", "take the filter"),
    row(Place::Filter, &["esc"], Action::Back, "leave it", "leave the filter as it was"),
    row(Place::Filter, &["backspace"], Action::Backspace, "", "delete a character"),
    row(Place::Filter, &["ctrl-w"], Action::DeleteWord, "", "delete a word"),
    row(Place::Filter, &["ctrl-u"], Action::DeleteToStart, "", "delete what is before the cursor"),
    row(Place::Filter, &["ctrl-k"], Action::DeleteToEnd, "", "delete what is behind the cursor"),
    row(Place::Filter, &["delete"], Action::Delete, "", "delete the next character"),
    row(Place::Filter, &["left", "ctrl-b"], Action::Left, "", "one character back"),
    row(Place::Filter, &["right", "ctrl-f"], Action::Right, "", "one character on"),
    row(Place::Filter, &["ctrl-a", "home"], Action::LineStart, "", "to the start"),
    row(Place::Filter, &["ctrl-e", "end"], Action::LineEnd, "", "to the end"),
    row(Place::Session, &["esc", "h", "left"], Action::Back, "back", "end a search, or back to the Sessions"),
    change(Place::Session, &["i", "enter"], Action::Write, "write", "write to the agent"),
    change(Place::Session, &["x"], Action::AskCancel, "cancel turn", "cancel the active Turn (asks first)"),
    row(Place::Session, &["z"], Action::Fold, "unfold", "unfold or fold commands and reasoning"),
    row(Place::Session, &["/"], Action::Search, "search", "type words to search in the transcript"),
    row(Place::Session, &["F", "G", "end"], Action::Follow, "follow", "show the newest, and stay there"),
    row(Place::Session, &["j", "down"], Action::Down, "", "one line down"),
    row(Place::Session, &["k", "up"], Action::Up, "", "one line up"),
    row(Place::Session, &["pgdn", "ctrl-d"], Action::PageDown, "", "one screen down"),
    row(Place::Session, &["pgup", "ctrl-u"], Action::PageUp, "", "one screen up"),
    row(Place::Session, &["g", "home"], Action::First, "", "to the first Item"),
    row(Place::Session, &["n"], Action::FindUp, "", "to the next place upwards that has the words"),
    row(Place::Session, &["N"], Action::FindDown, "", "to the next place downwards that has the words"),
    row(Place::Session, &["{"], Action::AskedBefore, "", "to the message of the user before"),
    row(Place::Session, &["}"], Action::AskedNext, "", "to the next message of the user"),
    row(Place::Session, &["y"], Action::Copy, "", "copy the text of what was found, or of the agent's newest message"),
    row(Place::Session, &["Y"], Action::CopyId, "", "copy the id of the Session"),
    row(Place::Search, &["enter"], Action::Accept, "search", "search upwards for the words"),
    row(Place::Search, &["esc"], Action::Back, "leave it", "search nothing"),
    row(Place::Search, &["backspace"], Action::Backspace, "", "delete a character"),
    row(Place::Search, &["ctrl-w"], Action::DeleteWord, "", "delete a word"),
    row(Place::Search, &["ctrl-u"], Action::DeleteToStart, "", "delete what is before the cursor"),
    row(Place::Search, &["ctrl-k"], Action::DeleteToEnd, "", "delete what is behind the cursor"),
    row(Place::Search, &["delete"], Action::Delete, "", "delete the next character"),
    row(Place::Search, &["left", "ctrl-b"], Action::Left, "", "one character back"),
    row(Place::Search, &["right", "ctrl-f"], Action::Right, "", "one character on"),
    row(Place::Search, &["ctrl-a", "home"], Action::LineStart, "", "to the start"),
    row(Place::Search, &["ctrl-e", "end"], Action::LineEnd, "", "to the end"),
    change(Place::Composer, &["enter"], Action::Send, "send", "send the message"),
    change(Place::Composer, &["tab"], Action::Delivery, "steer or queue", "steer the active Turn, or queue a Turn of its own"),
    change(Place::Composer, &["ctrl-j", "alt-enter"], Action::Newline, "new line", "begin a new line"),
    change(Place::Composer, &["ctrl-g"], Action::Editor, "editor", "write it in $VISUAL or $EDITOR"),
    change(Place::Composer, &["esc"], Action::Back, "keep as draft", "leave; the draft is kept"),
    change(Place::Composer, &["backspace"], Action::Backspace, "", "delete a character"),
    change(Place::Composer, &["ctrl-w"], Action::DeleteWord, "", "delete a word"),
    change(Place::Composer, &["ctrl-u"], Action::DeleteToStart, "", "delete what is before the cursor in its line"),
    change(Place::Composer, &["ctrl-k"], Action::DeleteToEnd, "", "delete what is behind the cursor in its line"),
    change(Place::Composer, &["delete"], Action::Delete, "", "delete the next character"),
    change(Place::Composer, &["left", "ctrl-b"], Action::Left, "", "one character back"),
    change(Place::Composer, &["right", "ctrl-f"], Action::Right, "", "one character on"),
    change(Place::Composer, &["up"], Action::Up, "", "one line up"),
    change(Place::Composer, &["down"], Action::Down, "", "one line down"),
    change(Place::Composer, &["ctrl-a", "home"], Action::LineStart, "", "to the start of the line"),
    change(Place::Composer, &["ctrl-e", "end"], Action::LineEnd, "", "to the end of the line"),
    change(Place::Cancel, &["k", "enter", "esc"], Action::Back, "keep running", "let the Turn go on"),
    change(Place::Cancel, &["c"], Action::CancelTurn, "cancel this turn", "cancel the Turn that is named"),
    row(Place::Help, &["esc", "?"], Action::Back, "close", "close the help"),
    row(Place::Help, &["j", "down"], Action::Down, "down", "one line down"),
    row(Place::Help, &["k", "up"], Action::Up, "up", "one line up"),
    row(Place::Everywhere, &["?"], Action::Help, "help", "this help"),
    row(Place::Everywhere, &["q"], Action::Quit, "quit", "quit; agents go on working"),
    row(Place::Everywhere, &["ctrl-r"], Action::Refresh, "", "read again, and draw anew"),
    row(Place::Everywhere, &["ctrl-z"], Action::Suspend, "", "suspend to the shell; agents go on working"),
    row(Place::Everywhere, &["ctrl-c"], Action::Quit, "", "quit; agents go on working"),
];

/// The name of a key as the table writes it; `None`: no key of the table could be it.
pub fn key_name(key: &KeyEvent) -> Option<String> {
    let name = match key.code {
        KeyCode::Char(c) => c.to_string(),
        KeyCode::Enter => "enter".into(),
        KeyCode::Esc => "esc".into(),
        KeyCode::Tab => "tab".into(),
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

/// What a key does at a place. While text is typed, only keys with Ctrl are those for everywhere.
pub fn find(place: Place, key: &str, read_only: bool) -> Option<Action> {
    let here = |of: Place| {
        BINDINGS
            .iter()
            .find(|b| b.place == of && b.keys.contains(&key) && !(b.changes && read_only))
    };
    let everywhere = !place.takes_text() || key.starts_with("ctrl-");
    here(place)
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
    let everywhere = matches!(place, Place::Sessions | Place::Session);
    rows(place, read_only)
        .chain(rows(Place::Everywhere, read_only).filter(move |_| everywhere))
        .filter(|b| !b.short.is_empty())
}

/// The table as the page `docs/keys.md`.
pub fn page() -> String {
    let mut page = String::from(
        "# Keys of `rat-things tui`\n\nMade from the table that the program itself uses; `?` shows the same.\n",
    );
    for place in Place::ALL {
        page.push_str(&format!(
            "\n## {}\n\n| key | does |\n| --- | --- |\n",
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
                "| {} | {}{mark} |\n",
                keys.join(" "),
                binding.long
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
        assert_eq!(find(Place::Composer, "ctrl-c", false), Some(Action::Quit));
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
