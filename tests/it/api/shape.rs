//! The check that every shape goes through.

use std::fmt::Debug;

use pretty_assertions::assert_eq;
use rat_things::api::Words;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Checks a type against the contract's field list and one full value.
///
/// `required` and `optional` are the contract's fields in its order; a union's `type` is written first all the same. The
/// full value survives a round trip byte by byte; each optional field may be absent and then stays absent; a required field
/// that may be null is written as null.
pub fn check<T>(required: &str, optional: &str, full: Value)
where
    T: Serialize + DeserializeOwned + Clone + Debug + PartialEq,
{
    let listed: Vec<&str> = required.split_whitespace().collect();
    let may_be_absent: Vec<&str> = optional.split_whitespace().collect();
    assert_eq!(
        ordered(listed.iter().chain(&may_be_absent).copied()),
        ordered(object(&full).keys().map(String::as_str)),
        "the contract's fields, in {full}"
    );
    let value: T = read(&full);
    assert_eq!(value.clone(), value);
    assert_eq!(write(&value), full.to_string());

    for name in may_be_absent {
        let mut without = full.clone();
        object_mut(&mut without).shift_remove(name);
        assert_eq!(write(&read::<T>(&without)), without.to_string());
    }
    for name in listed.into_iter().filter(|name| *name != "type") {
        let mut with_null = full.clone();
        object_mut(&mut with_null)[name] = Value::Null;
        if let Ok(value) = serde_json::from_value::<T>(with_null.clone()) {
            assert_eq!(write(&value), with_null.to_string());
        }
    }
}

/// Checks that a closed set has exactly these words, in this order, and that each survives a round trip.
pub fn check_words<W>(words: &str)
where
    W: Words + Serialize + DeserializeOwned + PartialEq,
{
    let spelled: Vec<&str> = W::ALL.iter().map(|word| word.as_str()).collect();
    assert_eq!(spelled, words.split_whitespace().collect::<Vec<_>>());
    for word in W::ALL {
        assert_eq!(write(word), format!("\"{}\"", word.as_str()));
        assert_eq!(read::<W>(&Value::from(word.as_str())), *word);
    }
    assert!(W::from_word("no such word").is_err());
}

fn ordered<'a>(names: impl Iterator<Item = &'a str>) -> (bool, Vec<&'a str>) {
    let (tag, rest): (Vec<&str>, Vec<&str>) = names.partition(|name| *name == "type");
    (!tag.is_empty(), rest)
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    match serde_json::from_value(value.clone()) {
        Ok(read) => read,
        Err(error) => panic!("{error}: {value}"),
    }
}

fn write<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("wire types serialise")
}

fn object(value: &Value) -> &serde_json::Map<String, Value> {
    value.as_object().expect("a JSON object")
}

fn object_mut(value: &mut Value) -> &mut serde_json::Map<String, Value> {
    value.as_object_mut().expect("a JSON object")
}
