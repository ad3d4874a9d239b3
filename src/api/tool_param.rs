//! Tools as requests give them: to a Session ([`AgentToolParam`]) and to a saved Agent ([`PersistedAgentToolParam`]).
//!
//! Only here are there secrets of tools: MCP authorization, headers and variables, each a [`Secret`]. `shown` makes the form
//! for answers and leaves them behind.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::{
    ConnectionOrigin, Secret, WebSearchContextSize, WebSearchLocation, WebSearchMode,
};

mod read;
mod shown;

/// A tool given to a Session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentToolParam {
    /// A function that the client answers.
    Function(FunctionToolParam),
    /// Tools are found when they are needed.
    ToolSearch,
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingToolParam),
    /// Tools of an MCP server.
    Mcp(McpToolParam<McpTransportParam>),
    /// Search on the web.
    WebSearch(WebSearchToolParam),
    /// A browser.
    ComputerUse(ComputerUseToolParam),
    /// Work at a later time.
    Automations,
}

/// A tool given to a saved Agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedAgentToolParam {
    /// A function that the client answers.
    Function(FunctionToolParam),
    /// Tools are found when they are needed.
    ToolSearch,
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingToolParam),
    /// Tools of an MCP server.
    Mcp(McpToolParam<PersistedMcpTransportParam>),
    /// Search on the web.
    WebSearch(WebSearchToolParam),
    /// A browser.
    ComputerUse(ComputerUseToolParam),
    /// Work at a later time.
    Automations,
}

/// A function that the client answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionToolParam {
    /// For the model.
    pub description: String,
    /// `[a-zA-Z0-9_-]{1,64}`, unique in its list.
    pub name: String,
    /// A JSON Schema.
    pub parameters: Map<String, Value>,
    /// The agent goes on without waiting for the result.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
    /// Kept from the model until it is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_loading: Option<bool>,
}

/// Tools called from code that the model writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgrammaticToolCallingToolParam {
    /// Whether it may; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Tools of an MCP server, reached by `T`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpToolParam<T> {
    /// Names the server in tool calls.
    pub server_label: String,
    /// How it is reached.
    pub transport: T,
    /// Absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Who connects; the service if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_origin: Option<ConnectionOrigin>,
    /// The credential of a vault, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_id: Option<String>,
    /// Sent along with every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<Map<String, Value>>,
    /// Without this server the Session can't start; false if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// How a Session's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpTransportParam {
    /// Streamable HTTP.
    Http {
        /// Absolute URL.
        server_url: String,
        /// Value of the `Authorization` header; write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorization: Option<Secret>,
        /// Further headers; write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<BTreeMap<String, Secret>>,
    },
    /// A process in the environment.
    Stdio {
        /// What is executed.
        command: String,
        /// Where.
        cwd: String,
        /// Arguments of the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Vec<String>>,
        /// Variables for it; the values are write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<BTreeMap<String, Secret>>,
        /// Names of environment variables that it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env_vars: Option<Vec<String>>,
    },
}

/// How a saved Agent's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedMcpTransportParam {
    /// Streamable HTTP.
    Http {
        /// Absolute URL.
        server_url: String,
        /// Further headers, shown to every reader of the Agent; those that carry credentials are refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<BTreeMap<String, String>>,
    },
    /// A process in the environment.
    Stdio {
        /// What is executed.
        command: String,
        /// Where.
        cwd: String,
        /// Arguments of the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Vec<String>>,
        /// Names of environment variables that it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env_vars: Option<Vec<String>>,
    },
}

/// Search on the web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSearchToolParam {
    /// Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// How much of the results the model is given; medium if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_size: Option<WebSearchContextSize>,
    /// Where the searcher seems to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<WebSearchLocation>,
    /// Whether, and how fresh; live if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WebSearchMode>,
}

/// A browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseToolParam {
    /// Whether Items show what the browser showed; false if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_screenshots: Option<bool>,
}
