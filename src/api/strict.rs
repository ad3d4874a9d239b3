//! The strict reader of request bodies.
//!
//! Derived deserialisation is for what this program wrote itself. A client's body goes through here instead: every object is
//! taken apart field by field, what is left over is refused, and each refusal names the field by its path, inside tagged
//! unions too (where derived code forgets both the path and the left-over fields).
//!
//! One surprising thing: reading consumes the value, so a large body is moved into its types, not copied.

use schemars::JsonSchema;
use serde_json::{Map, Value};

use self::form::{Form, Presence};
use crate::api::words::{self, Words};
use crate::api::{ApiError, Patch};

mod form;
mod values;

pub use form::Forms;
pub use values::MAX_WHOLE;

/// What can be read strictly from a request body.
pub trait Read: Sized + JsonSchema {
    /// Reads it, or says where and why not.
    fn read(node: Node) -> Result<Self, ApiError>;
}

/// One value of a body, and where it stands.
#[derive(Debug)]
pub struct Node {
    path: String,
    value: Value,
    form: Option<Form>,
}

impl Node {
    /// The whole body.
    pub fn root(value: Value) -> Node {
        Node {
            path: String::new(),
            value,
            form: None,
        }
    }

    /// No value: who reads it tells what it takes.
    fn form(form: Form) -> Node {
        Node {
            path: String::new(),
            value: Value::Null,
            form: Some(form),
        }
    }

    /// Whether this is no value; then it is written down what would be taken.
    fn tells(&self, schema: impl FnOnce() -> Value) -> bool {
        match &self.form {
            Some(form) => {
                form.is(schema());
                true
            }
            None => false,
        }
    }

    /// Where it stands, such as `environment.files[0].data`; empty for the body.
    pub fn path(&self) -> &str {
        &self.path
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
        if let Some(form) = &self.form {
            form.begin_object();
        }
        match self.value {
            Value::Object(map) => Ok(Fields {
                path: self.path,
                map,
                form: self.form,
            }),
            Value::Null if self.form.is_some() => Ok(Fields {
                path: self.path,
                map: Map::new(),
                form: self.form,
            }),
            _ => Err(self.wrong_type("an object")),
        }
    }

    /// Takes an array apart.
    pub fn elements<T: Read>(self) -> Result<Vec<T>, ApiError> {
        if let Some(form) = &self.form {
            return form.is_array_of().map(|element| vec![element]);
        }
        match self.value {
            Value::Array(values) => {
                let nodes = values.into_iter().enumerate().map(|(i, value)| Node {
                    path: format!("{}[{i}]", self.path),
                    value,
                    form: None,
                });
                nodes.map(T::read).collect()
            }
            _ => Err(self.wrong_type("an array")),
        }
    }

    /// Text, or an array.
    pub fn text_or_array<T, E: Read>(
        self,
        text: impl FnOnce(String) -> T,
        array: impl FnOnce(Vec<E>) -> T,
    ) -> Result<T, ApiError> {
        if let Some(form) = &self.form {
            return form
                .is_text_or_array_of()
                .map(|element| array(vec![element]));
        }
        match self.value {
            Value::String(_) => String::read(self).map(text),
            Value::Array(_) => self.elements().map(array),
            _ => Err(self.wrong_type("a string or an array")),
        }
    }

    /// A member of a closed set of words.
    pub fn word<W: Words>(self) -> Result<W, ApiError> {
        if self.tells(|| words::schema_of::<W>().to_value()) {
            return Ok(W::ALL[0]);
        }
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
    form: Option<Form>,
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
            form: None,
        })
    }

    fn missing(&self, name: &str) -> ApiError {
        let path = self.path_of(name);
        ApiError::invalid_request(&path, format!("Missing required parameter: '{path}'."))
    }

    /// A field that must be there and not be null.
    pub fn required<T: Read>(&mut self, name: &str) -> Result<T, ApiError> {
        if let Some(form) = &self.form {
            return form.field(name, Presence::Required);
        }
        match self.take(name) {
            Some(node) => T::read(node),
            None => Err(self.missing(name)),
        }
    }

    /// A field that must be there and may be null.
    pub fn required_nullable<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        if let Some(form) = &self.form {
            return form.field(name, Presence::RequiredNullable).map(Some);
        }
        match self.take(name) {
            Some(node) if node.value.is_null() => Ok(None),
            Some(node) => T::read(node).map(Some),
            None => Err(self.missing(name)),
        }
    }

    /// A field that may be absent and may not be null.
    pub fn optional<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        if let Some(form) = &self.form {
            return form.field(name, Presence::Optional).map(Some);
        }
        self.take(name).map(T::read).transpose()
    }

    /// A field that may be absent or null, both meaning the same.
    pub fn nullable<T: Read>(&mut self, name: &str) -> Result<Option<T>, ApiError> {
        if let Some(form) = &self.form {
            return form.field(name, Presence::Nullable).map(Some);
        }
        match self.take(name) {
            Some(node) if !node.value.is_null() => T::read(node).map(Some),
            _ => Ok(None),
        }
    }

    /// A field whose absence keeps, and whose null clears, what there is.
    pub fn patch<T: Read>(&mut self, name: &str) -> Result<Patch<T>, ApiError> {
        if let Some(form) = &self.form {
            return form.field(name, Presence::Nullable).map(Patch::Set);
        }
        match self.take(name) {
            None => Ok(Patch::Keep),
            Some(node) if node.value.is_null() => Ok(Patch::Clear),
            Some(node) => T::read(node).map(Patch::Set),
        }
    }

    /// A field that must be there and says which other fields there are. Of its word depends what is read next, and nothing else.
    pub fn tag<W: Words>(&mut self, name: &str) -> Result<W, ApiError> {
        let Some(form) = &self.form else {
            return match self.take(name) {
                Some(node) => node.word(),
                None => Err(self.missing(name)),
            };
        };
        let words: Vec<&str> = W::ALL.iter().map(|word| word.as_str()).collect();
        Ok(W::ALL[form.tag(name, &words)])
    }

    /// Refuses what nobody asked for.
    pub fn end(self) -> Result<(), ApiError> {
        if let Some(form) = &self.form {
            form.end_object();
            return Ok(());
        }
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
