//! What an app-server is told of the Agent, of the past and of new messages. Pure.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::config::{ENVIRONMENT, PROVIDER, WORKSPACE};
use super::delegating::NAMESPACE;
use crate::api::{
    AgentTool, FunctionTool, MultiAgentConfig, ServiceTier, SessionAgent, TextFormat, Verbosity,
    WebSearchTool,
};
use crate::engine::ids::sha256_hex;
use crate::engine::ports::Feed;
use crate::engine::subagent::MAX_OPEN_SUBAGENTS;

/// Name of Codex' own tool for patches. Its input is no JSON.
pub const APPLY_PATCH: &str = "apply_patch";

/// What stays the same for all turns of a Turn.
pub struct Setup {
    /// The Agent's own functions: the client answers them, and the agent does not wait for those that are `true`.
    functions: BTreeMap<String, bool>,
    /// It may start other agents.
    delegates: bool,
    /// Labels of its MCP servers.
    servers: Vec<String>,
    /// What of each server is offered.
    offered: Vec<Value>,
    thread: Value,
    turn: Map<String, Value>,
}

impl Setup {
    /// Reads the Agent's snapshot. `retries`: how often a failed model call is repeated.
    pub fn new(agent: &SessionAgent, retries: u32) -> Setup {
        let mut functions = BTreeMap::new();
        let mut tools = Vec::new();
        let mut servers = Vec::new();
        let mut offered = Vec::new();
        for tool in &agent.tools {
            match tool {
                AgentTool::Function(function) => {
                    functions.insert(function.name.clone(), function.is_async == Some(true));
                    tools.push(dynamic_tool(function));
                }
                AgentTool::Mcp(server) => {
                    servers.push(server.server_label.clone());
                    offered.push(json!([server.server_label, server.allowed_tools]));
                }
                _ => {}
            }
        }
        let provider = json!({
            "name": PROVIDER,
            "wire_api": "responses",
            // Repetitions of the one are repeated by the other.
            "request_max_retries": 0,
            "stream_max_retries": retries,
            // Longer than the proxy waits, which knows why.
            "stream_idle_timeout_ms": 3_600_000,
            "supports_websockets": false,
        });
        let mut config = json!({"model_providers": {PROVIDER: provider}});
        if let Some(search) = agent.tools.iter().find_map(web_search) {
            config["web_search"] = search.mode.to_string().into();
            config["tools"] = json!({"web_search": searching(search)});
        }
        if let Some(summary) = agent.reasoning.summary {
            config["model_reasoning_summary"] = summary.to_string().into();
        }
        if agent.text.verbosity != Verbosity::default() {
            config["model_verbosity"] = agent.text.verbosity.to_string().into();
        }
        if let Some(most) = subagents(&agent.multi_agent) {
            config["features"] = json!({"multi_agent": true});
            // Those start none themselves.
            config["agents"] = json!({"max_threads": most, "max_depth": 1});
        }
        let mut thread = json!({
            "cwd": WORKSPACE,
            "model": agent.model,
            "modelProvider": PROVIDER,
            "approvalPolicy": "never",
            // Every command goes to the Session's environment, which isolates it; Codex has nowhere else to run one.
            "sandbox": "danger-full-access",
            "config": config,
            "dynamicTools": tools,
        });
        if let Some(instructions) = &agent.instructions {
            thread["baseInstructions"] = instructions.as_str().into();
        }
        if let Some(tier) = service_tier(agent.service_tier) {
            thread["serviceTier"] = tier.into();
        }
        let mut turn = Map::new();
        if let Some(effort) = agent.reasoning.effort {
            turn.insert("effort".to_owned(), effort.to_string().into());
        }
        if let TextFormat::JsonSchema { schema } = &agent.text.format {
            turn.insert("outputSchema".to_owned(), json!(schema));
        }
        Setup {
            functions,
            delegates: agent.multi_agent.enabled,
            servers,
            offered,
            thread,
            turn,
        }
    }

    /// Parameters of `thread/start`. The model is at `base_url`, for whoever shows `token`; `more` is added to the configuration.
    pub fn thread(&self, base_url: &str, token: &str, more: Map<String, Value>) -> Value {
        let mut thread = self.thread.clone();
        if let Some(config) = thread["config"].as_object_mut() {
            config.extend(more);
        }
        let provider = &mut thread["config"]["model_providers"][PROVIDER];
        provider["base_url"] = base_url.into();
        provider["experimental_bearer_token"] = token.into();
        thread
    }

    /// Parameters of `thread/resume`, which are all those of its beginning that can be told again.
    pub fn resumed(
        &self,
        id: &str,
        base_url: &str,
        token: &str,
        more: Map<String, Value>,
    ) -> Value {
        let mut thread = self.thread(base_url, token, more);
        if let Some(fields) = thread.as_object_mut() {
            fields.remove("dynamicTools");
        }
        thread["threadId"] = id.into();
        thread["excludeTurns"] = true.into();
        thread
    }

    /// Names all that a thread is begun with, but for the endpoint; of its servers what they may be asked for, and not where they are.
    pub fn digest(&self) -> String {
        let begun_with = json!([self.thread, self.offered]);
        sha256_hex(begun_with.to_string().as_bytes())
    }

    /// What of a thread that is gone on with is not as it was asked for; `None`: all of it is.
    pub fn differs(
        &self,
        asked: &Value,
        reply: &Value,
        has_environment: bool,
    ) -> Option<&'static str> {
        let environments = reply["thread"]["environments"].as_array();
        let environments = environments.into_iter().flatten();
        let environments: Vec<&Value> = environments.map(|one| &one["environmentId"]).collect();
        let expected: &[&str] = if has_environment { &[ENVIRONMENT] } else { &[] };
        [
            ("id", reply["thread"]["id"] == asked["threadId"]),
            ("model", reply["model"] == asked["model"]),
            (
                "model provider",
                reply["modelProvider"] == asked["modelProvider"],
            ),
            ("directory", reply["cwd"] == asked["cwd"]),
            (
                "approval policy",
                reply["approvalPolicy"] == asked["approvalPolicy"],
            ),
            // The same in the words of the answer.
            ("sandbox", reply["sandbox"]["type"] == "dangerFullAccess"),
            ("environments", environments == expected),
        ]
        .into_iter()
        .find_map(|(what, is_so)| (!is_so).then_some(what))
    }

    /// Parameters of `turn/start`: a message, or none to go on with what is there.
    pub fn turn(&self, thread: &str, message: Option<&Feed>) -> Value {
        let mut params = self.turn.clone();
        params.insert("threadId".to_owned(), thread.into());
        params.insert("input".to_owned(), input(message).into());
        if let Some(message) = message {
            params.insert(
                "clientUserMessageId".to_owned(),
                client_id(message.input).into(),
            );
        }
        Value::Object(params)
    }

    /// Whether the agent may start others.
    pub fn delegates(&self) -> bool {
        self.delegates
    }

    /// The MCP server and its tool that a call of this name is for, as far as the name says.
    pub fn mcp_tool<'a>(&self, name: &'a str) -> Option<(&str, &'a str)> {
        mcp_tool(&self.servers, name)
    }

    /// Items in which the tools of MCP servers are where Codex has them: in a namespace for each server.
    pub fn in_namespaces(&self, items: Vec<Value>) -> Vec<Value> {
        let placed = items.into_iter().map(|mut item| {
            let name = item["name"]
                .as_str()
                .filter(|_| item["type"] == "function_call");
            if let Some((label, tool)) = name.and_then(|name| self.mcp_tool(name)) {
                let (namespace, tool) = (format!("{SERVER}{}", visible(label)), tool.to_owned());
                item["name"] = tool.into();
                item["namespace"] = namespace.into();
            }
            item
        });
        placed.collect()
    }

    /// Whether the client answers calls of this name.
    pub fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    /// Whether the agent goes on without the answer to calls of this name.
    pub fn is_background(&self, name: &str) -> bool {
        self.functions.get(name) == Some(&true)
    }
}

/// Parameters of `turn/steer`.
pub fn steer(thread: &str, turn: &str, message: &Feed) -> Value {
    json!({
        "threadId": thread,
        "expectedTurnId": turn,
        "clientUserMessageId": client_id(message.input),
        "input": input(Some(message)),
    })
}

/// Parameters of `turn/steer` for an answer that the agent did not wait for; `said` is the message that tells it.
pub fn late_answer(thread: &str, turn: &str, call_id: &str, said: &[Value]) -> Value {
    let parts = said.iter().filter_map(|item| item["content"].as_array());
    let input: Vec<Value> = parts.flatten().map(part).collect();
    json!({
        "threadId": thread,
        "expectedTurnId": turn,
        "clientUserMessageId": format!("answer-{call_id}"),
        "input": input,
    })
}

/// The call whose late answer a message was.
pub fn answer_of(client_id: &Value) -> Option<&str> {
    client_id.as_str()?.strip_prefix("answer-")
}

/// How a message is called, so that it is known again.
pub fn client_id(input: u64) -> String {
    format!("input-{input}")
}

/// The number of the input that a message was.
pub fn input_of(client_id: &Value) -> Option<u64> {
    client_id.as_str()?.strip_prefix("input-")?.parse().ok()
}

fn input(message: Option<&Feed>) -> Vec<Value> {
    let parts = message.into_iter().flat_map(|message| &message.content);
    parts.map(part).collect()
}

/// A content part in Codex' words.
fn part(part: &Value) -> Value {
    match part["type"].as_str() {
        Some("input_image") => {
            let mut image = json!({"type": "image", "url": part["image_url"]});
            if let Some(detail) = part["detail"].as_str() {
                image["detail"] = detail.into();
            }
            image
        }
        _ => {
            let text = part["text"].as_str().unwrap_or_default();
            json!({"type": "text", "text": text, "text_elements": []})
        }
    }
}

/// Between the name of a tool and that of the namespace in which Codex has it.
const WITHIN: &str = "__";

/// Before the label of an MCP server, in the name of the namespace that its tools are in.
const SERVER: &str = "mcp__";

/// The one name of a tool that has its name within a namespace.
pub fn flat_name(namespace: Option<&str>, name: String) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}{WITHIN}{name}"),
        None => name,
    }
}

/// A label as the model sees it: Codex writes names that are names in programs, too.
fn visible(label: &str) -> String {
    label.replace('-', "_")
}

/// The MCP server, one of those with these labels, and its tool that a flat name is for.
fn mcp_tool<'a, 'b>(servers: &'b [String], name: &'a str) -> Option<(&'b str, &'a str)> {
    let rest = name.strip_prefix(SERVER)?;
    let of = |label: &'b String| {
        let tool = rest.strip_prefix(&visible(label))?.strip_prefix(WITHIN)?;
        Some((label.as_str(), tool))
    };
    // Of two labels that both fit, the longer one leaves nothing of itself to the tool.
    servers
        .iter()
        .filter_map(of)
        .max_by_key(|(label, _)| label.len())
}

/// The past as the model's own items, in which a patch is a tool of another kind than in ours.
pub fn items(input: Vec<Value>) -> Vec<Value> {
    let mut patches = Vec::new();
    input
        .into_iter()
        .map(|mut item| {
            let kind = item["type"].as_str().unwrap_or_default();
            if kind == "function_call" && item["name"] == APPLY_PATCH {
                patches.push(item["call_id"].clone());
                let patch = patch_of(item["arguments"].as_str().unwrap_or_default());
                item = json!({
                    "type": "custom_tool_call",
                    "call_id": item["call_id"],
                    "name": APPLY_PATCH,
                    "input": patch,
                });
            } else if kind == "function_call"
                && let Some(tool) = delegated(&item["name"])
            {
                item["name"] = tool.into();
                item["namespace"] = NAMESPACE.into();
            } else if kind == "function_call_output" && patches.contains(&item["call_id"]) {
                item["type"] = "custom_tool_call_output".into();
            }
            item
        })
        .collect()
}

/// The tool of a call that is about other agents.
fn delegated(name: &Value) -> Option<String> {
    let tool = name.as_str()?.strip_prefix(NAMESPACE)?.strip_prefix('.')?;
    Some(tool.to_owned())
}

/// How many agents an agent may have started at once; `None`: it may start none.
fn subagents(config: &MultiAgentConfig) -> Option<u64> {
    let most = config.max_concurrent_subagents;
    let most = most.unwrap_or(MultiAgentConfig::DEFAULT_SUBAGENTS);
    config
        .enabled
        .then(|| most.clamp(1, MAX_OPEN_SUBAGENTS as u64))
}

/// A patch out of arguments as they are put for models that know only JSON.
fn patch_of(arguments: &str) -> String {
    let fields: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = ["malformed", "input", "patch"]
        .iter()
        .find_map(|field| fields[field].as_str());
    text.unwrap_or(arguments).to_owned()
}

fn web_search(tool: &AgentTool) -> Option<&WebSearchTool> {
    match tool {
        AgentTool::WebSearch(search) => Some(search),
        _ => None,
    }
}

/// How the provider is to search.
fn searching(search: &WebSearchTool) -> Value {
    let mut how = json!({"context_size": search.context_size.to_string()});
    if let Some(domains) = &search.allowed_domains {
        how["allowed_domains"] = json!(domains);
    }
    if let Some(location) = &search.location {
        let fields = [
            ("city", &location.city),
            ("country", &location.country),
            ("region", &location.region),
            ("timezone", &location.timezone),
        ];
        let given = fields.iter().filter_map(|(name, value)| {
            let value = value.as_ref()?;
            Some(((*name).to_owned(), Value::from(value.as_str())))
        });
        how["location"] = given.collect::<Map<String, Value>>().into();
    }
    how
}

fn dynamic_tool(tool: &FunctionTool) -> Value {
    json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.parameters,
    })
}

fn service_tier(tier: ServiceTier) -> Option<String> {
    match tier {
        ServiceTier::Auto => None,
        ServiceTier::Fast => Some(ServiceTier::Priority.to_string()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::backend::harness::codex::story::items_of;
    use crate::engine::ports::{Past, ToolOutcome};

    #[test]
    fn a_call_of_the_past_is_of_its_kind_again() {
        let patch = "*** Begin Patch\n*** End Patch\n";
        let past = |name: &str, arguments: &str, id: &str| Past::Tool {
            call_id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            outcome: ToolOutcome::Done {
                output: "ok".into(),
            },
        };
        let history = [
            past(APPLY_PATCH, patch, "a"),
            past("exec_command", r#"{"cmd":"ls"}"#, "b"),
            past("multi_agent_v1.wait_agent", "{}", "c"),
        ];
        assert_eq!(
            history.into_iter().flat_map(items_of).collect::<Vec<_>>(),
            [
                json!({"type": "custom_tool_call", "call_id": "a", "name": "apply_patch", "input": patch}),
                json!({"type": "custom_tool_call_output", "call_id": "a", "output": "ok"}),
                json!({"type": "function_call", "call_id": "b", "name": "exec_command", "arguments": r#"{"cmd":"ls"}"#}),
                json!({"type": "function_call_output", "call_id": "b", "output": "ok"}),
                json!({"type": "function_call", "call_id": "c", "name": "wait_agent", "namespace": "multi_agent_v1", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": "c", "output": "ok"}),
            ]
        );
    }

    #[test]
    fn an_agent_that_may_ask_its_servers_for_something_else_is_another_one() {
        let digest = |allowed: Value| {
            let mut agent = SessionAgent::of_model("agent_1", "m");
            let transport = json!({"type": "http", "server_url": "https://mcp.example/"});
            let tool = json!({"type": "mcp", "allowed_tools": allowed, "connection_origin": "service", "credential_id": null,
                "request_metadata": {}, "required": true, "server_label": "web", "transport": transport});
            agent.tools = serde_json::from_value(json!([tool])).expect("it is a tool");
            Setup::new(&agent, 1).digest()
        };
        assert_eq!(digest(json!(["add"])), digest(json!(["add"])));
        assert_ne!(digest(json!(["add"])), digest(json!(["add", "remove"])));
        assert_ne!(digest(json!(["add"])), digest(Value::Null));
    }

    #[test]
    fn a_message_is_known_again_by_its_number() {
        let message = Feed {
            input: 17,
            content: vec![
                json!({"type": "input_text", "text": "look"}),
                json!({"type": "input_image", "image_url": "data:x", "detail": "low"}),
            ],
        };
        let params = steer("th", "tu", &message);
        assert_eq!(input_of(&params["clientUserMessageId"]), Some(17));
        assert_eq!(
            params["input"],
            json!([
                {"type": "text", "text": "look", "text_elements": []},
                {"type": "image", "url": "data:x", "detail": "low"},
            ])
        );
        assert_eq!(input_of(&json!("input-")), None);
        assert_eq!(input_of(&json!(null)), None);
    }
}
