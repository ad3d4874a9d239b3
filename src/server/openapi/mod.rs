//! `GET /openapi.json`: the API as this server speaks it, in OpenAPI 3.1, made from the code that answers.
//!
//! Paths come from the table of routes, bodies from the readers that read them ([`crate::api::strict::Forms`]), answers from the types that are written,
//! and what ties them together from [`mod@describe`]. Nothing here is a second description that has to be kept true.

mod describe;
mod operation;
mod parameter;

use std::sync::OnceLock;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use serde_json::{Map, Value, json};

pub(super) use self::describe::describe;
use self::operation::Schemas;
pub(super) use self::parameter::Parameter;
use super::answer::Asked;
use super::refusal::Answered;
use super::routes::ROUTES;

/// Says what there is.
pub(super) async fn show(mut asked: Asked) -> Answered {
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    asked.no_more_query()?;
    let document = DOCUMENT.get_or_init(|| Bytes::from(document().to_string()));
    let mut response = Response::new(Body::from(document.clone()));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

/// The document.
pub fn document() -> Value {
    let mut schemas = Schemas::new();
    let mut paths = Map::new();
    for route in ROUTES {
        let operation = schemas.operation(route);
        let verb = route.verb.name().to_ascii_lowercase();
        paths.entry(route.path).or_insert_with(|| json!({}))[verb] = operation;
    }
    let envelope = schemas.envelope();
    let refusals: Map<String, Value> = REFUSALS
        .iter()
        .map(|(status, words)| (status.to_string(), refusal(*status, words, &envelope)))
        .collect();
    let mut named = schemas.named();
    plain_words(&mut named);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "rat-things",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The Agents API as this server speaks it. Routes with the tag `not built` are known and answer 501.",
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An access key, which must have the scopes that an operation names. A daemon that was told to do without keys asks for none.",
                },
            },
            "headers": {
                "x-request-id": {
                    "description": "Names the request in the server's log.",
                    "required": true,
                    "schema": {"type": "string"},
                },
                "retry-after": {
                    "description": "Seconds after which the same is let in.",
                    "required": true,
                    "schema": {"type": "integer", "minimum": 1},
                },
                "retry-after-ms": {
                    "description": "The same in milliseconds, more exactly.",
                    "required": true,
                    "schema": {"type": "integer", "minimum": 1},
                },
                "x-should-retry": {
                    "description": "`false`: repeating the request does not help, or may do it twice.",
                    "schema": {"type": "string", "const": "false"},
                },
            },
            "responses": refusals,
            "schemas": named,
        },
    })
}

/// Every status of a refusal, in words.
const REFUSALS: &[(u16, &str)] = &[
    (
        400,
        "The request is wrong; `param` names what of it. Nothing happened.",
    ),
    (401, "The access key is missing, wrong, expired or revoked."),
    (403, "The caller may not do this."),
    (404, "There is no such thing, or it is somebody else's."),
    (408, "The body did not arrive in time."),
    (409, "What there is does not allow it. Nothing happened."),
    (413, "The body is too large."),
    (
        429,
        "Too many requests a second. Nothing happened; a header says when to try again.",
    ),
    (
        500,
        "The server is at fault, or does not know whether it happened.",
    ),
    (501, "This server does not have this route."),
    (503, "Not now; nothing happened. Try again later."),
];

fn refusal(status: u16, words: &str, envelope: &Value) -> Value {
    let mut told = json!({
        "description": words,
        "headers": {
            "x-request-id": {"$ref": "#/components/headers/x-request-id"},
            "x-should-retry": {"$ref": "#/components/headers/x-should-retry"},
        },
        "content": {"application/json": {"schema": envelope}},
    });
    if status == 429 {
        for name in ["retry-after", "retry-after-ms"] {
            told["headers"][name] = json!({"$ref": format!("#/components/headers/{name}")});
        }
    }
    told
}

/// Descriptions are comments of the code: what is a link there is plain here.
fn plain_words(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::String(words)) = map.get_mut("description") {
                *words = words.replace("[`", "`").replace("`]", "`");
            }
            map.values_mut().for_each(plain_words);
        }
        Value::Array(all) => all.iter_mut().for_each(plain_words),
        _ => {}
    }
}
