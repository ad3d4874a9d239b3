//! The strict reader of request bodies.
//!
//! Derived deserialisation is for what this program wrote itself. A client's body goes through here instead: every object is
//! taken apart field by field, what is left over is refused, and each refusal names the field by its path, inside tagged
//! unions too (where derived code forgets both the path and the left-over fields).
//!
//! One surprising thing: reading consumes the value, so a large body is moved into its types, not copied.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::api::words::Words;
use crate::api::{ApiError, Patch, Secret};

/// What can be read strictly from a request body.
pub trait Read: Sized {
    /// Reads it, or says where and why not.
    fn read(node: Node) -> Result<Self, ApiError>;
}

/// One value of a body, and where it stands.
#[derive(Debug)]
pub struct Node {
    path: String,
    value: Value,
}

impl Node {
    /// The whole body.
    pub fn root(value: Value) -> Node {
        Node {
            path: String::new(),
            value,
        }
    }

    /// Where it stands, such as `environment.files[0].data`; empty for the body.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The value, unread.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The refusal of this value's type. `expected` reads like `a string`.
    pub fn wrong_type(&self, expected: &str) -> ApiError {
        let place = match self.path.as_str() {
            "" => "the request body".to_owned(),
            path => format!("'{path}'"),
        };
        let got = describe(&self.value);
        ApiError::invalid_request(
            &self.path,
            format!("Invalid type for {place}: expected {expected}, but got {got} instead."),
        )
    }

    /// Takes an object apart.
    pub fn fields(self) -> Result<Fields, ApiError> {
        match self.value {
            Value::Object(map) => Ok(Fields {
                path: self.path,
                map,
            }),
            _ => Err(self.wrong_type("an object")),
        }
    }

    /// Takes an array apart.
    pub fn elements(self) -> Result<impl Iterator<Item = Node>, ApiError> {
        match self.value {
            Value::Array(values) => {
                let path = self.path;
                Ok(values.into_iter().enumerate().map(move |(i, value)| Node {
                    path: format!("{path}[{i}]"),
                    value,
                }))
            }
            _ => Err(self.wrong_type("an array")),
        }
    }

    /// A member of a closed set of words.
    pub fn word<W: Words>(self) -> Result<W, ApiError> {
        let Value::String(word) = &self.value else {
            return Err(self.wrong_type("a string"));
        };
        W::from_word(word).map_err(|unknown| {
            let known: Vec<String> = unknown.known.iter().map(|w| format!("'{w}'")).collect();
            let supported = match known.as_slice() {
                [only] => format!("Supported value is: {only}."),
                all => format!("Supported values are: {}.", all.join(", ")),
            };
            ApiError::invalid_request(
                &self.path,
                format!("Invalid value: '{}'. {supported}", shortened(word)),
            )
        })
    }
}

/// The fields of one object that were not read yet.
#[derive(Debug)]
pub struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// The path of a field of this object.
    pub fn path_of(&self, name: &str) -> String {
        match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        }
    }

    fn take(&mut self, name: &str) -> Option<Node> {
        let value = self.map.shift_remove(name)?;
        Some(Node {
            path: self.path_of(name),
            value,
        })
    }

    fn missing(&self, name: &str) -> ApiError {
        let path = self.path_of(name);
        ApiError::invalid_request(&path, format!("Missing required parameter: '{path}'."))
    }

    /// A field that must be there and not be null.
    pub fn required<T: Read>(&mut self, name: &str) -> Result<T, ApiError> {
        match self.take(name) {
            Some(node) => T::read(node),
            None => Err(self.missing(name)),
        }
    }

    /// A field that must be there and may be null.
    pub fn required_nullable<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        match self.take(name) {
            Some(node) if node.value.is_null() => Ok(None),
            Some(node) => T::read(node).map(Some),
            None => Err(self.missing(name)),
        }
    }

    /// A field that may be absent and may not be null.
    pub fn optional<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        self.take(name).map(T::read).transpose()
    }

    /// A field that may be absent or null, both meaning the same.
    pub fn nullable<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        match self.take(name) {
            Some(node) if !node.value.is_null() => T::read(node).map(Some),
            _ => Ok(None),
        }
    }

    /// A field whose absence keeps, and whose null clears, what there is.
    pub fn patch<T: Read>(&mut self, name: &str) -> Result<Patch<T>, ApiError> {
        match self.take(name) {
            None => Ok(Patch::Keep),
            Some(node) if node.value.is_null() => Ok(Patch::Clear),
            Some(node) => T::read(node).map(Patch::Set),
        }
    }

    /// Refuses what nobody asked for.
    pub fn end(self) -> Result<(), ApiError> {
        match self.map.keys().next() {
            None => Ok(()),
            Some(name) => {
                let path = self.path_of(&shortened(name));
                Err(ApiError::invalid_request(
                    &path,
                    format!("Unknown parameter: '{path}'."),
                ))
            }
        }
    }
}

/// Echoed text is bounded: an answer need not repeat a megabyte.
fn shortened(text: &str) -> String {
    const MOST_CHARS: usize = 100;
    match text.char_indices().nth(MOST_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(n) if n.is_f64() => "a decimal number",
        Value::Number(n) if n.is_i64() && !n.is_u64() => "a negative integer",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl Read for Value {
    fn read(node: Node) -> Result<Self, ApiError> {
        Ok(node.value)
    }
}

impl Read for Map<String, Value> {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.fields().map(|fields| fields.map)
    }
}

impl Read for String {
    fn read(node: Node) -> Result<Self, ApiError> {
        match node.value {
            Value::String(text) => Ok(text),
            _ => Err(node.wrong_type("a string")),
        }
    }
}

impl Read for Secret {
    fn read(node: Node) -> Result<Self, ApiError> {
        String::read(node).map(Secret::new)
    }
}

impl Read for bool {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.value
            .as_bool()
            .ok_or_else(|| node.wrong_type("a boolean"))
    }
}

impl Read for u64 {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.value
            .as_u64()
            .ok_or_else(|| node.wrong_type("a non-negative integer"))
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.elements()?.map(T::read).collect()
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: Node) -> Result<Self, ApiError> {
        let fields = node.fields()?;
        let path = fields.path.clone();
        let entries = fields.map.into_iter().map(|(name, value)| {
            let node = Node {
                path: format!("{path}.{}", shortened(&name)),
                value,
            };
            T::read(node).map(|value| (name, value))
        });
        entries.collect()
    }
}

impl<T: Read> Read for Box<T> {
    fn read(node: Node) -> Result<Self, ApiError> {
        T::read(node).map(Box::new)
    }
}
