//! A field of an update: absent keeps, null clears, a value replaces.
//!
//! An own enum and not `Option<Option<T>>`, because its three names say what happens. On a struct it needs
//! `#[serde(default, skip_serializing_if = "Patch::is_keep")]`, so that "keep" is an absent field again.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What an update says about one field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patch<T> {
    /// The field was absent: leave it as it is.
    #[default]
    Keep,
    /// The field was null: back to nothing, or to its default.
    Clear,
    /// The field has this value from now on.
    Set(T),
}

impl<T> Patch<T> {
    /// Whether the field was absent.
    pub fn is_keep(&self) -> bool {
        matches!(self, Patch::Keep)
    }

    /// The new value, if one was given.
    pub fn as_set(&self) -> Option<&T> {
        match self {
            Patch::Set(value) => Some(value),
            Patch::Keep | Patch::Clear => None,
        }
    }

    /// Applies it to a field that may be empty.
    pub fn apply(self, field: &mut Option<T>) {
        match self {
            Patch::Keep => {}
            Patch::Clear => *field = None,
            Patch::Set(value) => *field = Some(value),
        }
    }

    /// Applies it to a field that is never empty; null brings back its default.
    pub fn apply_or_default(self, field: &mut T)
    where
        T: Default,
    {
        match self {
            Patch::Keep => {}
            Patch::Clear => *field = T::default(),
            Patch::Set(value) => *field = value,
        }
    }

    /// The same patch of something else.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Patch<U> {
        match self {
            Patch::Keep => Patch::Keep,
            Patch::Clear => Patch::Clear,
            Patch::Set(value) => Patch::Set(f(value)),
        }
    }
}

impl<T: Serialize> Serialize for Patch<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_set().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Option::deserialize(deserializer)? {
            None => Patch::Clear,
            Some(value) => Patch::Set(value),
        })
    }
}

/// The same as of an optional value.
impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Update {
        #[serde(default, skip_serializing_if = "Patch::is_keep")]
        name: Patch<String>,
    }

    #[test]
    fn absent_null_and_a_value_survive_a_round_trip() {
        for (json, name) in [
            ("{}", Patch::Keep),
            (r#"{"name":null}"#, Patch::Clear),
            (r#"{"name":"n"}"#, Patch::Set("n".to_owned())),
        ] {
            let update: Update = serde_json::from_str(json).expect("an update");
            assert_eq!(update.name, name);
            assert_eq!(serde_json::to_string(&update).ok().as_deref(), Some(json));
        }
    }

    #[test]
    fn a_patch_keeps_clears_or_replaces() {
        for (patch, optional, always) in [
            (Patch::Keep, Some(1), 1),
            (Patch::Clear, None, 0),
            (Patch::Set(2), Some(2), 2),
        ] {
            let mut field = Some(1);
            patch.apply(&mut field);
            assert_eq!(field, optional);
            let mut field = 1;
            patch.apply_or_default(&mut field);
            assert_eq!(field, always);
        }
    }
}
