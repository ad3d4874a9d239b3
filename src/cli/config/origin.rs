//! Where a value came from, and how that is shown.

use std::fmt;

use serde_json::Value as Json;

/// From where a value came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Env(&'static str),
    /// A line of the chosen profile.
    Profile {
        /// Its name.
        name: String,
        /// File and line.
        at: String,
    },
    /// A line outside of every profile: file and line.
    File(String),
    /// Nobody chose it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "flag {flag}"),
            Origin::Env(name) => write!(f, "env {name}"),
            Origin::Profile { name, at } => write!(f, "profile {name}, {at}"),
            Origin::File(at) => write!(f, "file {at}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and from where it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved<T> {
    /// The value.
    pub value: T,
    /// From where it came.
    pub origin: Origin,
}

/// One line of `config show`. Holds no secret: a key's value is never part of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `provider.model`, `ui.color`, …
    pub key: String,
    /// `null` when it is not set.
    pub value: Json,
    /// From where it came.
    pub origin: Origin,
    /// What the key is for, in one sentence.
    pub meaning: &'static str,
}

impl Entry {
    /// The value in one line of text; nothing when it is not set.
    pub fn text(&self) -> String {
        match &self.value {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}
