//! Bodies that were right and then changed at one place: each is read or refused, never a panic, and what is read survives a
//! round trip.

use proptest::prelude::*;
use rat_things::api::*;
use serde_json::{Value, json};

use super::bodies::{full_agent, full_events, full_session};

/// All places of a value, as JSON pointers.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                places(value, &format!("{at}/{i}"), into);
            }
        }
        Value::Object(map) => {
            for (name, value) in map {
                places(value, &format!("{at}/{name}"), into);
            }
        }
        _ => {}
    }
}

fn strange() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("")),
        Just(json!("none")),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(1.5)),
        Just(json!(true)),
        Just(json!([])),
        Just(json!([null])),
        Just(json!({})),
        Just(json!({"type": "text"})),
        ".{0,20}".prop_map(Value::from),
    ]
}

fn changed(mut body: Value, place: prop::sample::Index, value: Value) -> Vec<u8> {
    let mut all = Vec::new();
    places(&body, "", &mut all);
    let place: &String = place.get(&all);
    if let Some(target) = body.pointer_mut(place) {
        *target = value;
    }
    body.to_string().into_bytes()
}

fn check<T>(body: &[u8], parse: fn(&[u8]) -> Result<T, ApiError>) -> Result<(), TestCaseError>
where
    T: serde::Serialize + PartialEq + std::fmt::Debug,
{
    match parse(body) {
        Err(error) => prop_assert_eq!(error.status, 400),
        Ok(params) => {
            let written = serde_json::to_vec(&params).expect("requests serialise");
            prop_assert_eq!(parse(&written), Ok(params));
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn changed_bodies_are_read_or_refused(place: prop::sample::Index, value in strange()) {
        check(&changed(full_agent(), place, value.clone()), parse_agent_create)?;
        check(&changed(full_agent(), place, value.clone()), parse_agent_update)?;
        check(&changed(full_session(), place, value.clone()), parse_session_create)?;
        check(&changed(full_events(), place, value), parse_events)?;
    }
}
