//! A row as an item of the table, and back.
//!
//! An item has its key in `p` and `s`, its version in `v`, the id of the commit that put it in `c`, and its value in `b`, or where that is:
//! the object in `o`, the first byte in `f` and their number in `n`. DynamoDB takes no empty key: sort keys begin with a dot, and so
//! do partitions that are empty or begin with one.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::content::Place;
use crate::engine::ports::{CommitId, Key};

/// An item as the client has it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// A row whose value may still be elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) key: Key,
    pub(super) version: u64,
    pub(super) value: Value,
}

/// A value, or where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Here(Vec<u8>),
    There(Place),
}

/// The stored form of a sort key.
pub(super) fn stored_sort(sort: &str) -> String {
    format!(".{sort}")
}

/// The stored form of a partition.
pub(super) fn stored_partition(partition: &str) -> String {
    match partition.is_empty() || partition.starts_with('.') {
        true => format!(".{partition}"),
        false => partition.to_owned(),
    }
}

/// The key of an item.
pub(super) fn key(key: &Key) -> Item {
    HashMap::from([
        ("p".to_owned(), text(stored_partition(&key.partition))),
        ("s".to_owned(), text(stored_sort(&key.sort))),
    ])
}

/// Text as an attribute.
pub(super) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number as an attribute.
pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Bytes as an attribute.
pub(super) fn bytes(bytes: impl Into<Vec<u8>>) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

/// The attributes of a value.
pub(super) fn attributes(value: &Value) -> Vec<(&'static str, AttributeValue)> {
    match value {
        Value::Here(value) => vec![("b", bytes(value.clone()))],
        Value::There(place) => vec![
            ("o", text(place.object.clone())),
            ("f", number(place.from_byte)),
            ("n", number(place.size_bytes)),
        ],
    }
}

/// Whether the item was put by this commit.
pub(super) fn is_of(item: &Item, id: CommitId) -> bool {
    matches!(item.get("c"), Some(AttributeValue::B(mark)) if mark.as_ref() == id.0)
}

/// The partition of an item.
pub(super) fn partition(item: &mut Item) -> Option<String> {
    let partition = take_text(item, "p")?;
    Some(read_partition(&partition).to_owned())
}

/// The object that an item's value is in, if it is in one.
pub(super) fn object(item: &mut Item) -> Option<String> {
    take_text(item, "o")
}

fn read_partition(stored: &str) -> &str {
    stored.strip_prefix('.').unwrap_or(stored)
}

/// Reads an item; nothing, if it is none of ours.
pub(super) fn row(mut item: Item) -> Option<Row> {
    let partition = take_text(&mut item, "p")?;
    let key = Key::new(
        read_partition(&partition),
        take_text(&mut item, "s")?.strip_prefix('.')?,
    );
    let version = take_number(&mut item, "v")?;
    let value = match item.remove("b") {
        Some(AttributeValue::B(value)) => Value::Here(value.into_inner()),
        Some(_) => return None,
        None => Value::There(Place {
            object: take_text(&mut item, "o")?,
            from_byte: take_number(&mut item, "f")?,
            size_bytes: take_number(&mut item, "n")?,
        }),
    };
    Some(Row {
        key,
        version,
        value,
    })
}

fn take_text(item: &mut Item, name: &str) -> Option<String> {
    match item.remove(name)? {
        AttributeValue::S(text) => Some(text),
        _ => None,
    }
}

fn take_number(item: &mut Item, name: &str) -> Option<u64> {
    match item.remove(name)? {
        AttributeValue::N(number) => number.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(version: u64, value: &Value) -> Item {
        let mut item = key(&Key::new("S/a", "turn/1"));
        item.insert("v".to_owned(), number(version));
        item.insert("c".to_owned(), bytes([7; 16]));
        let named = attributes(value).into_iter();
        item.extend(named.map(|(name, value)| (name.to_owned(), value)));
        item
    }

    #[test]
    fn a_row_is_read_back_wherever_its_value_is() {
        let there = Value::There(Place {
            object: "ab".to_owned(),
            from_byte: 3,
            size_bytes: 9,
        });
        for value in [Value::Here(Vec::new()), Value::Here(vec![0, 255]), there] {
            let row = row(item(4, &value));
            let key = Key::new("S/a", "turn/1");
            let version = 4;
            assert_eq!(
                row,
                Some(Row {
                    key,
                    version,
                    value
                })
            );
        }
    }

    #[test]
    fn what_is_no_row_is_none() {
        let whole = item(1, &Value::Here(vec![1]));
        for missing in ["p", "s", "v", "b"] {
            let mut less = whole.clone();
            less.remove(missing);
            assert_eq!(row(less), None, "without {missing}");
        }
    }

    #[test]
    fn the_commit_that_put_a_row_is_known() {
        let item = item(1, &Value::Here(Vec::new()));
        assert!(is_of(&item, CommitId([7; 16])));
        assert!(!is_of(&item, CommitId([8; 16])));
    }
}
