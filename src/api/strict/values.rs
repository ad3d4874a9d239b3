//! Strict reading of what has no fields of its own: texts, numbers, lists, maps.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Node, Read, shortened};
use crate::api::{ApiError, Secret};

impl Read for Value {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.tells(|| json!({}));
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
        if node.tells(|| json!({"type": "string"})) {
            return Ok(String::new());
        }
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
        if node.tells(|| json!({"type": "boolean"})) {
            return Ok(false);
        }
        node.value
            .as_bool()
            .ok_or_else(|| node.wrong_type("a boolean"))
    }
}

impl Read for u64 {
    fn read(node: Node) -> Result<Self, ApiError> {
        if node.tells(|| json!({"type": "integer", "minimum": 0, "maximum": MAX_WHOLE})) {
            return Ok(0);
        }
        let number = whole(&node.value).ok_or_else(|| node.wrong_type("a non-negative integer"))?;
        if number > MAX_WHOLE {
            let path = node.path();
            let message = format!(
                "Invalid '{path}': integer above maximum value. Expected a value <= {MAX_WHOLE}, but got {} instead.",
                node.value
            );
            return Err(ApiError::invalid_request(path, message));
        }
        Ok(number)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.elements()
    }
}

impl<T: Read> Read for BTreeMap<String, T> {
    fn read(node: Node) -> Result<Self, ApiError> {
        if let Some(form) = &node.form {
            return form.is_map_of::<T>().map(|()| BTreeMap::new());
        }
        let fields = node.fields()?;
        let path = fields.path.clone();
        let entries = fields.map.into_iter().map(|(name, value)| {
            let node = Node {
                path: format!("{path}.{}", shortened(&name)),
                value,
                form: None,
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

/// The largest whole number that every client of JSON can tell from its neighbours.
pub const MAX_WHOLE: u64 = (1 << f64::MANTISSA_DIGITS) - 1;

/// A whole number that is not negative. `4.0` is one, as JSON Schema has it. One beyond [`MAX_WHOLE`] is some number all the same.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let decimal = value.as_f64()?;
        let is_whole = decimal >= 0.0 && decimal.fract() == 0.0;
        is_whole.then_some(decimal as u64)
    })
}
