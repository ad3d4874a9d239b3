//! Closed sets of words on the wire, and the fixed `object` names.
//!
//! `words!` turns a list of variants and their spelling into an enum that knows its spelling,
//! parses it, and refuses every other word with the list of those it knows. It is not for open sets: a word that may be
//! unknown (a model's name, an error code of another server) stays a `String`.

use std::fmt;

use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

/// A word that is not in its set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{word}' is none of: {}", .known.join(", "))]
pub struct UnknownWord {
    /// What was given.
    pub word: String,
    /// What would have been understood.
    pub known: Vec<&'static str>,
}

/// What every closed set of words can do; implemented by `words!`, and once by hand.
pub trait Words: Copy + Sized + fmt::Debug + 'static {
    /// All members, in the order of the contract.
    const ALL: &'static [Self];

    /// The spelling on the wire.
    fn as_str(self) -> &'static str;

    /// The member with this spelling.
    fn from_word(word: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|member| member.as_str() == word)
            .ok_or_else(|| UnknownWord {
                word: word.to_owned(),
                known: Self::ALL.iter().map(|member| member.as_str()).collect(),
            })
    }
}

/// A closed set of words as JSON Schema.
pub fn schema_of<W: Words>() -> Schema {
    let words: Vec<&str> = W::ALL.iter().map(|member| member.as_str()).collect();
    match words.as_slice() {
        [only] => json_schema!({"type": "string", "const": only}),
        all => json_schema!({"type": "string", "enum": all}),
    }
}

/// Adds to the schema of a struct the tag that its derived code writes before its fields.
pub fn tagged(word: &'static str) -> impl FnMut(&mut Schema) {
    move |schema| {
        let mut properties = Map::new();
        properties.insert("type".to_owned(), json!({"type": "string", "const": word}));
        if let Some(Value::Object(others)) = schema.remove("properties") {
            properties.extend(others);
        }
        schema.insert("properties".to_owned(), properties.into());
        let mut required = vec![json!("type")];
        if let Some(Value::Array(others)) = schema.remove("required") {
            required.extend(others);
        }
        schema.insert("required".to_owned(), required.into());
    }
}

/// Declares closed sets of words: `pub enum Color { Red = "red" }`.
macro_rules! words {
    ($(
        $(#[$meta:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$member_meta:meta])* $member:ident = $word:literal, )+
        }
    )+) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
        $vis enum $name {
            $( $(#[$member_meta])* #[serde(rename = $word)] $member, )+
        }

        impl $crate::api::words::Words for $name {
            const ALL: &'static [Self] = &[ $( $name::$member, )+ ];

            fn as_str(self) -> &'static str {
                match self { $( $name::$member => $word, )+ }
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::api::words::UnknownWord;

            fn from_str(word: &str) -> Result<Self, Self::Err> {
                $crate::api::words::Words::from_word(word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad($crate::api::words::Words::as_str(*self))
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $crate::api::words::schema_of::<$name>()
            }
        }

        impl $crate::api::strict::Read for $name {
            fn read(node: $crate::api::strict::Node) -> Result<Self, $crate::api::ApiError> {
                node.word()
            }
        }
    )+ };
}

/// Declares types with one value, the `object` field of a resource: `object_name!(AgentObject = "agent")`.
macro_rules! object_name {
    ($( $name:ident = $word:literal ),+ $(,)?) => { $(
        #[doc = concat!("The fixed `object` field `\"", $word, "\"`.")]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            #[doc = concat!("`\"", $word, "\"`.")]
            #[default]
            #[serde(rename = $word)]
            Only,
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "const": $word})
            }
        }
    )+ };
}

pub(crate) use object_name;
pub(crate) use words;
