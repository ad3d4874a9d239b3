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

impl McpCallItem {
    /// What came of it, as text: why it failed, or what the tool returned. Empty while nothing is known.
    pub fn said(&self) -> String {
        if let Some(message) = self.error["message"].as_str() {
            return message.to_owned();
        }
        if !self.error.is_null() {
            return self.error.to_string();
        }
        let parts = self.output["content"].as_array().into_iter().flatten();
        let parts = parts.map(|part| match part["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", part["type"].as_str().unwrap_or("part")),
        });
        let said: Vec<String> = parts.collect();
        match (said.is_empty(), &self.output) {
            (false, _) => said.join("\n"),
            (true, Value::Null) => String::new(),
            (true, Value::String(text)) => text.clone(),
            (true, output) => output.to_string(),
        }
    }
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

impl WebSearchCallItem {
    /// What was looked for, in words; empty if that is not told.
    pub fn what(&self) -> String {
        match &self.action {
            Some(WebSearchAction::Search { queries, query }) => match (query, queries) {
                (Some(query), _) => query.clone(),
                (None, Some(queries)) => queries.join(", "),
                (None, None) => String::new(),
            },
            Some(WebSearchAction::OpenPage { url }) => url.clone().unwrap_or_default(),
            Some(WebSearchAction::FindInPage { pattern, url }) => {
                let pattern = pattern.as_deref().unwrap_or_default();
                match url {
                    Some(url) => format!("{pattern} in {url}"),
                    None => pattern.to_owned(),
                }
            }
            Some(WebSearchAction::Other) | None => String::new(),
        }
    }
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
