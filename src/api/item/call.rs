//! Items of calls: functions, MCP tools, web searches, commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::{CallStatus, FunctionOutput, OutputStatus};

/// A function that the client is to call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCallItem {
    /// `fc_…`
    pub id: String,
    /// JSON, or the text the model wrote when that is no JSON.
    pub arguments: Value,
    /// Names the call in its answer.
    pub call_id: String,
    /// The function.
    pub name: String,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// The client's answer to a function call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCallOutputItem {
    /// Its id.
    pub id: String,
    /// The call.
    pub call_id: String,
    /// Why the function failed.
    pub error: Option<String>,
    /// What it returned.
    pub output: Option<FunctionOutput>,
    /// Completed, or failed.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// A call of an MCP tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct McpCallItem {
    /// Its id.
    pub id: String,
    /// What the tool was given.
    pub arguments: Value,
    /// Why it failed; null if it did not.
    pub error: Value,
    /// The tool.
    pub name: String,
    /// What it returned; null if nothing.
    pub output: Value,
    /// Its server.
    pub server_label: String,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// A search on the web.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSearchCallItem {
    /// Its id.
    pub id: String,
    /// What was done.
    pub action: Option<WebSearchAction>,
    /// Where it stands.
    pub status: OutputStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// A step of a web search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WebSearchAction {
    /// A search.
    Search {
        /// Several at once.
        queries: Option<Vec<String>>,
        /// One.
        query: Option<String>,
    },
    /// A page was opened.
    OpenPage {
        /// Which.
        url: Option<String>,
    },
    /// A page was searched.
    FindInPage {
        /// For what.
        pattern: Option<String>,
        /// Which.
        url: Option<String>,
    },
    /// Something else.
    Other,
}

/// A command in the environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandExecutionItem {
    /// `cmd_…`
    pub id: String,
    /// As an operator should read it.
    pub command: String,
    /// Working directory.
    pub cwd: Option<String>,
    /// Wall time; null until it is over.
    pub duration_ms: Option<u64>,
    /// Null until it is over, and when it did not exit by itself.
    pub exit_code: Option<i32>,
    /// What it wrote; null until something is known.
    pub output: Option<String>,
    /// Where it stands.
    pub status: CallStatus,
    /// Its Turn.
    pub turn_id: String,
}

/// The `arguments` of a call as the wire shows them: the JSON that the model wrote, or its text when that is no JSON.
pub fn call_arguments(written: &str) -> Value {
    serde_json::from_str(written).unwrap_or_else(|_| Value::String(written.to_owned()))
}
