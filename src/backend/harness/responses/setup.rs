//! What stays the same for every model call of a Turn: read once from the Session's Agent.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Options, tools};
use crate::api::SessionAgent;
use crate::engine::ports::ModelRequest;

/// The unchanging part of a Turn's model calls.
#[derive(Clone, Debug)]
pub struct Setup {
    /// A request without input.
    request: ModelRequest,
    /// Names of the Agent's own functions: the client answers them.
    functions: BTreeSet<String>,
    /// Whether commands can run.
    has_environment: bool,
}

impl Setup {
    /// Reads the Agent's snapshot.
    pub fn new(
        agent: &SessionAgent,
        session: &str,
        has_environment: bool,
        options: &Options,
    ) -> Setup {
        // The snapshot is plain data, so this can't fail; a default keeps the Turn alive even if it did.
        let agent = serde_json::to_value(agent).unwrap_or_default();
        let declared: Vec<Value> = agent["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|tool| tool["type"] == "function")
            .map(function_tool)
            .collect();
        let functions: BTreeSet<String> = declared
            .iter()
            .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
            .collect();
        let mut offered = declared;
        if has_environment {
            // A function of the Agent with the same name was chosen by its author, so it replaces the built-in tool.
            let built_in = tools::built_in(options).into_iter();
            offered.extend(built_in.filter(|tool| {
                tool["name"]
                    .as_str()
                    .is_none_or(|name| !functions.contains(name))
            }));
        }
        Setup {
            request: ModelRequest {
                model: agent["model"].as_str().unwrap_or_default().to_owned(),
                instructions: agent["instructions"].as_str().map(str::to_owned),
                input: Vec::new(),
                tools: offered,
                reasoning: without_nulls(&agent["reasoning"]),
                text: text(&agent["text"]),
                service_tier: service_tier(&agent["service_tier"]),
                prompt_cache_key: Some(session.to_owned()),
            },
            functions,
            has_environment,
        }
    }

    /// A request with this input.
    pub fn request(&self, input: Vec<Value>) -> ModelRequest {
        ModelRequest {
            input,
            ..self.request.clone()
        }
    }

    /// Whether the client answers calls of this name.
    pub fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Whether commands can run.
    pub fn has_environment(&self) -> bool {
        self.has_environment
    }
}

fn function_tool(tool: &Value) -> Value {
    json!({
        "type": "function",
        "name": tool["name"],
        "description": tool["description"],
        "strict": false,
        "parameters": tool["parameters"],
    })
}

/// Settings that say no more than the default are left out: not every server knows them.
fn text(text: &Value) -> Option<Value> {
    let mut said = Map::new();
    if text["format"]["type"] == "json_schema" {
        let format = json!({
            "type": "json_schema",
            "name": "answer",
            "schema": text["format"]["schema"],
            "strict": true,
        });
        said.insert("format".to_owned(), format);
    }
    if let Some(verbosity) = text["verbosity"].as_str().filter(|word| *word != "medium") {
        said.insert("verbosity".to_owned(), verbosity.into());
    }
    (!said.is_empty()).then_some(Value::Object(said))
}

fn without_nulls(object: &Value) -> Option<Value> {
    let mut object = object.as_object()?.clone();
    object.retain(|_, value| !value.is_null());
    (!object.is_empty()).then_some(Value::Object(object))
}

fn service_tier(tier: &Value) -> Option<String> {
    match tier.as_str()? {
        "auto" => None,
        // The Responses API's word for it.
        "fast" => Some("priority".to_owned()),
        other => Some(other.to_owned()),
    }
}
