//! Roles of text and the terminal's own sixteen colours. Colour only repeats what a word says already.

use crate::text::SafeText;

/// What a piece of text is; decides its colour where there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    #[default]
    Plain,
    /// Headers and labels.
    Heading,
    /// Finished well.
    Good,
    /// Failed.
    Bad,
    /// Needs attention, or is not known.
    Warn,
    /// Less important.
    Dim,
    /// At work.
    Active,
}

impl Role {
    fn parameters(self) -> Option<&'static str> {
        match self {
            Role::Plain => None,
            Role::Heading => Some("1"),
            Role::Good => Some("32"),
            Role::Bad => Some("31"),
            Role::Warn => Some("33"),
            Role::Dim => Some("2"),
            Role::Active => Some("36"),
        }
    }
}

/// `text` in the colour of `role`, if colours are on.
pub(super) fn paint(text: &SafeText, role: Role, colour: bool) -> String {
    match role.parameters().filter(|_| colour && !text.is_empty()) {
        Some(parameters) => format!("\x1b[{parameters}m{text}\x1b[0m"),
        None => text.as_str().to_owned(),
    }
}
