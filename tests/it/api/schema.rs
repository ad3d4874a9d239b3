//! What `/openapi.json` says of values is where the reader stops: each bound is gone to, and one step beyond.

use serde_json::{Value, json};

use rat_things::api::limits::{BOUNDS, Bound};
use rat_things::api::strict::MAX_WHOLE;
use rat_things::api::{
    ApiError, parse_agent_create, parse_agent_update, parse_events, parse_session_create,
    parse_session_update,
};
use rat_things::server::document;

/// A body's type, one that is taken, and what reads it.
type Body = (&'static str, Value, fn(&[u8]) -> Result<(), ApiError>);

fn bodies() -> [Body; 5] {
    let session = json!({"agent": {"model": "m"}, "environment": {"type": "none"}, "input": "x"});
    [
        ("AgentCreateParams", json!({"model": "m"}), |body| {
            parse_agent_create(body).map(drop)
        }),
        ("AgentUpdateParams", json!({}), |body| {
            parse_agent_update(body).map(drop)
        }),
        ("SessionCreateParams", session, |body| {
            parse_session_create(body).map(drop)
        }),
        ("SessionUpdateParams", json!({}), |body| {
            parse_session_update(body).map(drop)
        }),
        ("EventCreateParams", json!({"events": []}), |body| {
            parse_events(body).map(drop)
        }),
    ]
}

/// The schemas of a document, as a way to make values.
struct Schemas(Value);

impl Schemas {
    /// The schema, and the name it has if it has one.
    fn resolved<'a>(&'a self, schema: &'a Value) -> (Option<&'a str>, &'a Value) {
        let name = schema["$ref"].as_str().and_then(|to| to.rsplit('/').next());
        (name, name.map_or(schema, |name| &self.0[name]))
    }

    /// The alternatives of a union, or the schema alone.
    fn runs(schema: &Value) -> Vec<&Value> {
        let union = schema.get("oneOf").or(schema.get("anyOf"));
        match union.and_then(Value::as_array) {
            Some(runs) => runs.iter().collect(),
            None => vec![schema],
        }
    }

    /// A small value that is taken.
    fn small(&self, schema: &Value) -> Value {
        let (_, schema) = self.resolved(schema);
        let run = Schemas::runs(schema)[0];
        if run != schema {
            return self.small(run);
        }
        if let Some(word) = schema.get("const").or(schema.pointer("/enum/0")) {
            return word.clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[0].as_str(),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => {
                let names = schema["required"].as_array().into_iter().flatten();
                let names = names.filter_map(Value::as_str);
                let fields = names.map(|name| {
                    let value = self.small(&schema["properties"][name]);
                    (name.to_owned(), value)
                });
                Value::Object(fields.collect())
            }
            Some("array") => match schema.get("minItems") {
                Some(_) => json!([self.small(&schema["items"])]),
                None => json!([]),
            },
            Some("string") => match schema["pattern"].as_str() {
                Some(path) if path.starts_with("^/workspace/") => "/workspace/x".into(),
                Some(path) if path.starts_with("^/") => "/x".into(),
                Some(_) | None => "x".into(),
            },
            Some("integer") => schema["minimum"].clone(),
            Some("boolean") => false.into(),
            _ => json!({}),
        }
    }

    /// A small value that is taken if this value is, with it as this field of this type; `None` if the type has no place in it.
    fn with(&self, schema: &Value, of: &str, field: &str, value: &Value) -> Option<Value> {
        let (name, schema) = self.resolved(schema);
        for run in Schemas::runs(schema) {
            if run != schema && run.get("$ref").is_some() {
                if let Some(found) = self.with(run, of, field, value) {
                    return Some(found);
                }
                continue;
            }
            if let Some(items) = run.get("items")
                && let Some(found) = self.with(items, of, field, value)
            {
                return Some(json!([found]));
            }
            let properties = run["properties"].as_object().into_iter().flatten();
            for (property, schema) in properties {
                let found = match name == Some(of) && property == field {
                    true => Some(value.clone()),
                    false => self.with(schema, of, field, value),
                };
                if let Some(found) = found {
                    let mut whole = self.small(run);
                    whole[property] = found;
                    if field == "blocked_domains" && of == "NetworkParam" && name == Some(of) {
                        whole["access"] = "restricted".into();
                    }
                    return Some(whole);
                }
            }
        }
        None
    }

    /// So many different values that are taken as elements of this field.
    fn elements(&self, of: &str, field: &str, count: usize) -> Value {
        let schema = Schemas::runs(&self.0[of]).into_iter();
        let mut items = schema.map(|run| &run["properties"][field]["items"]);
        let one = self.small(items.find(|items| !items.is_null()).expect("an array"));
        let mut all = vec![one; count];
        for (i, element) in all.iter_mut().enumerate() {
            if element.get("path").is_some() {
                element["path"] = format!("/workspace/{i}").into();
            }
        }
        all.into()
    }

    /// Values of this field that are within the bound, and beyond it.
    fn around(&self, of: &str, field: &str, bound: Bound) -> (Vec<Value>, Vec<Value>) {
        // `A` is a letter of base64 as well.
        let text = |chars: usize| Value::from("A".repeat(chars));
        let pairs = |count: usize| -> Value {
            (0..count)
                .map(|i| (i.to_string(), "v".into()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let some = || match of {
            "EventCreateParams" | "InputEventParam" | "InputMessageParam" => {
                self.elements(of, field, 1)
            }
            _ => "x".into(),
        };
        match bound {
            Bound::NotEmpty => (vec![text(1)], vec![text(0)]),
            Bound::Chars(max) => (vec![text(max)], vec![text(max + 1)]),
            Bound::Name(max) => (
                vec![text(max), "a-_9".into()],
                vec![text(max + 1), text(0), "a b".into()],
            ),
            Bound::Below(start) => (
                vec![format!("{start}x").into()],
                vec!["x".into(), "".into(), format!("{start}\0").into()],
            ),
            Bound::Count(max) => (
                vec![self.elements(of, field, max)],
                vec![self.elements(of, field, max + 1)],
            ),
            Bound::Some => (vec![some()], vec![json!([])]),
            Bound::TextOrSome => (vec![some()], vec![json!([]), json!("")]),
            Bound::Positive => (vec![json!(1), json!(1.0)], vec![json!(0), json!(0.5)]),
            Bound::Metadata => (
                vec![pairs(16), json!({"k".repeat(64): "é".repeat(512)})],
                vec![
                    pairs(17),
                    json!({"k".repeat(65): "v"}),
                    json!({"k": "v".repeat(513)}),
                ],
            ),
            Bound::Variables => (
                vec![json!({"_A1": "v"})],
                vec![json!({"1A": "v"}), json!({"": "v"}), json!({"A-B": "v"})],
            ),
        }
    }
}

/// What `small` needs not say: fields of the first are laid over the second.
fn over(mut base: Value, top: Value) -> Value {
    match (&mut base, top) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                let below = fields.remove(&name).unwrap_or_default();
                let keep = name == "agent";
                fields.insert(name, if keep { over(below, value) } else { value });
            }
            base
        }
        (_, top) => top,
    }
}

#[test]
fn every_bound_is_where_the_reader_stops() {
    let schemas = Schemas(document()["components"]["schemas"].take());
    for (of, field, bound) in BOUNDS {
        let (within, beyond) = schemas.around(of, field, *bound);
        let mut places = 0;
        for (body, base, read) in bodies() {
            let root = json!({"$ref": format!("#/components/schemas/{body}")});
            let read = |value: &Value| {
                let made = schemas.with(&root, of, field, value)?;
                let sent = over(base.clone(), made).to_string();
                Some((
                    read(sent.as_bytes()),
                    sent.chars().take(300).collect::<String>(),
                ))
            };
            for value in &within {
                let Some((taken, sent)) = read(value) else {
                    continue;
                };
                assert_eq!(taken, Ok(()), "{of} {field} within {bound:?}: {sent}");
                places += 1;
            }
            for value in &beyond {
                let Some((taken, sent)) = read(value) else {
                    continue;
                };
                let error = taken.expect_err(&format!("{of} {field} beyond {bound:?}: {sent}"));
                let param = error.param.unwrap_or_default();
                assert!(param.contains(field), "{of} {field}: {param} of {sent}");
            }
        }
        assert!(places > 0, "{of} {field} is in no body");
    }
}

#[test]
fn whole_numbers_are_read_as_they_are_published() {
    let limit = |limit: &str| {
        let body = format!(r#"{{"spend_control": {{"limit": {limit}}}}}"#);
        let read = parse_session_update(body.as_bytes());
        read.map(|params| {
            params
                .spend_control
                .as_set()
                .and_then(|control| control.limit)
        })
    };
    let schemas = document()["components"]["schemas"].take();
    let max = schemas["SpendControlParam"]["properties"]["limit"]["maximum"].clone();
    assert_eq!(max, json!(MAX_WHOLE));
    for (text, number) in [
        ("7", 7),
        ("7.0", 7),
        ("7e2", 700),
        ("9007199254740991", MAX_WHOLE),
    ] {
        assert_eq!(limit(text), Ok(Some(number)), "{text}");
    }
    for text in ["9007199254740992", "1e16", "18446744073709551616", "1e300"] {
        let error = limit(text).expect_err("is too large");
        assert!(error.message.contains("above maximum"), "{text}: {error}");
    }
    for text in ["-1", "-1.0", "0.5", "\"7\""] {
        let error = limit(text).expect_err("is no whole number");
        assert!(error.message.contains("Invalid type"), "{text}: {error}");
    }
}
