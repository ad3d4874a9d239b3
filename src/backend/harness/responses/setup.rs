//! What stays the same for every model call of a Turn: read once from the Session's Agent.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::api::{
    AgentReasoning, AgentText, AgentTool, FunctionTool, ServiceTier, SessionAgent, TextFormat,
    Verbosity,
};
use crate::engine::ports::{ModelItem, ModelRequest};

/// The unchanging part of a Turn's model calls.
#[derive(Clone, Debug)]
pub struct Setup {
    /// A request without input.
    request: ModelRequest,
    /// The Agent's own functions by name: the client answers them, and the agent does not wait for those that are `true`.
    functions: BTreeMap<String, bool>,
    /// Whether commands can run.
    has_environment: bool,
}

impl Setup {
    /// Reads the Agent's snapshot. `built_in` are the tools of the harness, which need an environment.
    pub fn new(
        agent: &SessionAgent,
        session: &str,
        has_environment: bool,
        built_in: &Arc<[Value]>,
    ) -> Setup {
        let mut offered = Vec::new();
        let mut functions = BTreeMap::new();
        for tool in &agent.tools {
            if let AgentTool::Function(function) = tool {
                functions.insert(function.name.clone(), function.is_async == Some(true));
                offered.push(function_tool(function));
            }
        }
        let tools = match (has_environment, offered.is_empty()) {
            (true, true) => Arc::clone(built_in),
            (true, false) => {
                // A function of the Agent with the same name was chosen by its author, so it replaces the built-in tool.
                let is_free = |tool: &&Value| {
                    let name = tool["name"].as_str();
                    name.is_some_and(|name| !functions.contains_key(name))
                };
                offered.extend(built_in.iter().filter(is_free).cloned());
                offered.into()
            }
            (false, _) => offered.into(),
        };
        Setup {
            request: ModelRequest {
                model: agent.model.clone(),
                instructions: agent.instructions.as_deref().map(Arc::from),
                input: Arc::default(),
                tools,
                reasoning: reasoning(agent.reasoning),
                text: text(&agent.text),
                service_tier: service_tier(agent.service_tier),
                prompt_cache_key: Some(session.to_owned()),
            },
            functions,
            has_environment,
        }
    }

    /// A request with this input.
    pub fn request(&self, input: Arc<Vec<ModelItem>>) -> ModelRequest {
        ModelRequest {
            input,
            ..self.request.clone()
        }
    }

    /// Whether the client answers calls of this name.
    pub fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Whether the agent goes on without the answer to calls of this name.
    pub fn is_background(&self, name: &str) -> bool {
        self.functions.get(name) == Some(&true)
    }

    /// Whether commands can run.
    pub fn has_environment(&self) -> bool {
        self.has_environment
    }
}

fn function_tool(tool: &FunctionTool) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "strict": false,
        "parameters": tool.parameters,
    })
}

// Settings that say no more than the default are left out of a request: not every server knows them.

fn text(text: &AgentText) -> Option<Value> {
    let mut said = Map::new();
    if let TextFormat::JsonSchema { schema } = &text.format {
        let format =
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": true});
        said.insert("format".to_owned(), format);
    }
    if text.verbosity != Verbosity::default() {
        said.insert("verbosity".to_owned(), text.verbosity.to_string().into());
    }
    (!said.is_empty()).then_some(Value::Object(said))
}

fn reasoning(reasoning: AgentReasoning) -> Option<Value> {
    let mut said = Map::new();
    if let Some(effort) = reasoning.effort {
        said.insert("effort".to_owned(), effort.to_string().into());
    }
    if let Some(summary) = reasoning.summary {
        said.insert("summary".to_owned(), summary.to_string().into());
    }
    (!said.is_empty()).then_some(Value::Object(said))
}

fn service_tier(tier: ServiceTier) -> Option<String> {
    match tier {
        ServiceTier::Auto => None,
        // The Responses API's word for it.
        ServiceTier::Fast => Some(ServiceTier::Priority.to_string()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::{Options, tools};
    use super::*;

    fn setup(changes: Value, has_environment: bool) -> Setup {
        let mut agent = json!({
            "id": "agent_x", "instructions": "be kind", "model": "m", "name": null,
            "multi_agent": {"enabled": false, "max_concurrent_subagents": null},
            "reasoning": {"effort": null, "summary": null},
            "service_tier": "auto",
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tools": [],
        });
        let changes = changes.as_object().expect("changes are an object").clone();
        for (name, value) in changes {
            agent[&name] = value;
        }
        let agent = serde_json::from_value(agent).expect("this is an Agent's snapshot");
        let built_in = tools::built_in(&Options::default());
        Setup::new(&agent, "sess_x", has_environment, &built_in)
    }

    fn function(name: &str) -> Value {
        json!({"type": "function", "name": name, "description": "d", "parameters": {"type": "object"}, "defer_loading": false})
    }

    fn tool_names(setup: &Setup) -> Vec<&str> {
        let tools = setup.request.tools.iter();
        tools.filter_map(|tool| tool["name"].as_str()).collect()
    }

    #[test]
    fn defaults_are_left_out_of_the_request() {
        let input = Arc::new(vec![ModelItem::Other(Arc::new(json!(1)))]);
        let request = setup(json!({}), false).request(Arc::clone(&input));
        assert_eq!(
            request,
            ModelRequest {
                model: "m".into(),
                instructions: Some("be kind".into()),
                input,
                tools: Arc::default(),
                reasoning: None,
                text: None,
                service_tier: None,
                prompt_cache_key: Some("sess_x".into()),
            }
        );
    }

    #[test]
    fn settings_are_passed_on_in_the_words_of_the_responses_api() {
        let request = setup(
            json!({
                "reasoning": {"effort": "high", "summary": "auto"},
                "service_tier": "fast",
                "text": {"format": {"type": "json_schema", "schema": {"type": "object"}}, "verbosity": "low"},
            }),
            false,
        )
        .request(Arc::default());
        assert_eq!(
            request.reasoning,
            Some(json!({"effort": "high", "summary": "auto"}))
        );
        assert_eq!(request.service_tier.as_deref(), Some("priority"));
        assert_eq!(
            request.text,
            Some(json!({
                "format": {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": true},
                "verbosity": "low",
            }))
        );
    }

    #[test]
    fn built_in_tools_need_an_environment_and_yield_to_functions_of_their_name() {
        assert!(tool_names(&setup(json!({}), false)).is_empty());
        assert_eq!(
            tool_names(&setup(json!({}), true)),
            ["shell", "apply_patch"]
        );
        let own = setup(
            json!({"tools": [function("shell"), {"type": "automations"}]}),
            true,
        );
        assert_eq!(tool_names(&own), ["shell", "apply_patch"]);
        assert!(own.is_function("shell") && !own.is_function("apply_patch"));
        assert_eq!(own.request.tools[0]["description"], "d");
    }
}
