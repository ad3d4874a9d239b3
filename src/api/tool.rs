//! Tools as answers show them: of a Session ([`AgentTool`]) and of a saved Agent ([`PersistedAgentTool`]).
//!
//! Requests are in `tool_param`. The two forms differ in two places: a Session's form has no `tool_search` (accepted in a
//! request, never shown) and no MCP headers. Neither has a field for an MCP authorization or an environment variable's value.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::words::words;

/// A tool of a Session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentTool {
    /// A function that the client answers.
    Function(FunctionTool),
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingTool),
    /// Tools of an MCP server.
    Mcp(McpTool<McpTransport>),
    /// Search on the web.
    WebSearch(WebSearchTool),
    /// A browser.
    ComputerUse(ComputerUseTool),
    /// Work at a later time.
    Automations,
}

/// A tool of a saved Agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedAgentTool {
    /// A function that the client answers.
    Function(FunctionTool),
    /// Tools are found when they are needed.
    ToolSearch,
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingTool),
    /// Tools of an MCP server.
    Mcp(McpTool<PersistedMcpTransport>),
    /// Search on the web.
    WebSearch(WebSearchTool),
    /// A browser.
    ComputerUse(ComputerUseTool),
    /// Work at a later time.
    Automations,
}

/// A function that the client answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionTool {
    /// Kept from the model until it is searched for.
    pub defer_loading: bool,
    /// For the model.
    pub description: String,
    /// `[a-zA-Z0-9_-]{1,64}`, unique in its list.
    pub name: String,
    /// A JSON Schema.
    pub parameters: Map<String, Value>,
    /// The agent goes on without waiting for the result.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
}

/// Tools called from code that the model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgrammaticToolCallingTool {
    /// Whether it may.
    pub enabled: bool,
}

/// Tools of an MCP server, reached by `T`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "McpToolOver{T}")]
pub struct McpTool<T> {
    /// Null: all of them.
    pub allowed_tools: Option<Vec<String>>,
    /// Who connects.
    pub connection_origin: ConnectionOrigin,
    /// The credential of a vault, by its id.
    pub credential_id: Option<String>,
    /// Sent along with every request.
    pub request_metadata: Map<String, Value>,
    /// Without this server the Session can't start.
    pub required: bool,
    /// Names the server in tool calls.
    pub server_label: String,
    /// How it is reached.
    pub transport: T,
}

/// How a Session's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpTransport {
    /// Streamable HTTP.
    Http {
        /// Absolute URL.
        server_url: String,
    },
    /// A process in the environment.
    Stdio(McpStdio),
}

/// How a saved Agent's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedMcpTransport {
    /// Streamable HTTP.
    Http {
        /// Shown to every reader of the Agent: headers that carry credentials are refused when it is saved.
        headers: BTreeMap<String, String>,
        /// Absolute URL.
        server_url: String,
    },
    /// A process in the environment.
    Stdio(McpStdio),
}

/// An MCP server that is a process in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpStdio {
    /// Arguments of the command.
    pub args: Vec<String>,
    /// What is executed.
    pub command: String,
    /// Where.
    pub cwd: String,
    /// Names of environment variables that it is given.
    pub env_vars: Vec<String>,
}

/// Search on the web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSearchTool {
    /// Null: all.
    pub allowed_domains: Option<Vec<String>>,
    /// How much of the results the model is given.
    pub context_size: WebSearchContextSize,
    /// Where the searcher seems to be.
    pub location: Option<WebSearchLocation>,
    /// Whether, and how fresh.
    pub mode: WebSearchMode,
}

/// Where the searcher seems to be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSearchLocation {
    /// City, free text.
    pub city: Option<String>,
    /// Two-letter country code.
    pub country: Option<String>,
    /// Region, free text.
    pub region: Option<String>,
    /// IANA time zone.
    pub timezone: Option<String>,
}

/// A browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseTool {
    /// Whether Items show what the browser showed.
    pub include_screenshots: bool,
}

words! {
    /// Who connects to an MCP server.
    #[derive(Default)]
    pub enum ConnectionOrigin {
        /// The service itself.
        #[default]
        Service = "service",
        /// The Session's environment.
        Environment = "environment",
    }

    /// How much of the search results the model is given.
    #[derive(Default)]
    pub enum WebSearchContextSize {
        /// Little.
        Low = "low",
        /// The middle.
        #[default]
        Medium = "medium",
        /// Much.
        High = "high",
    }

    /// Whether the web is searched, and how fresh the results are.
    #[derive(Default)]
    pub enum WebSearchMode {
        /// Not at all.
        Disabled = "disabled",
        /// From an index.
        Cached = "cached",
        /// From the web itself.
        #[default]
        Live = "live",
    }
}
