//! The Session as answers show it, and what it may wait for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::page::HasId;
use crate::api::words::{object_name, tagged, words};
use crate::api::{Environment, Metadata, SessionAgent, TokenUsage};

object_name!(
    SessionObject = "agent.session",
    SessionDeletedObject = "agent.session.deleted",
);

/// A durable conversation with one snapshotted Agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSession {
    /// `sess_…`
    pub id: String,
    /// The Agent's snapshot.
    pub agent: SessionAgent,
    /// Unix seconds.
    pub created_at: u64,
    /// Where commands run: the configuration, not the state.
    pub environment: Environment,
    /// Why it failed, in words.
    pub error: Option<String>,
    /// Unix seconds.
    pub last_active_at: u64,
    /// Never null in answers.
    pub metadata: Metadata,
    /// Always `agent.session`.
    pub object: SessionObject,
    /// What it waits for.
    pub required_actions: Vec<RequiredAction>,
    /// Where it stands.
    pub status: SessionStatus,
    /// Tokens so far; null when nothing is known.
    pub usage: Option<TokenUsage>,
    /// Vaults whose credentials it may use.
    pub vault_ids: Vec<String>,
    /// How long the provider keeps its prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_options: Option<PromptCacheOptions>,
    /// Who approves; absent when no one has to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// What it may spend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend_control: Option<SpendControl>,
}

/// The answer to deleting a Session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSessionDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `agent.session.deleted`.
    pub object: SessionDeletedObject,
}

impl AgentSessionDeleted {
    /// The answer for this Session.
    pub fn of(id: impl Into<String>) -> AgentSessionDeleted {
        AgentSessionDeleted {
            id: id.into(),
            deleted: true,
            object: SessionDeletedObject::Only,
        }
    }
}

/// How long the provider keeps its prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptCacheOptions {
    /// From the last use.
    pub ttl: PromptCacheTtl,
}

/// What a Session may spend and has spent, in cents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpendControl {
    /// Whole cents, rounded down; null when unknown.
    pub consumed: Option<u64>,
    /// Null: no limit.
    pub limit: Option<u64>,
}

words! {
    /// Where a Session stands.
    pub enum SessionStatus {
        /// No Turn.
        Idle = "idle",
        /// A Turn is queued or at work.
        InProgress = "in_progress",
        /// It waits for what `required_actions` lists.
        RequiresAction = "requires_action",
        /// It can't go on.
        Failed = "failed",
        /// Its budget is spent.
        BudgetReached = "budget_reached",
    }

    /// How long the provider keeps its prompt cache.
    pub enum PromptCacheTtl {
        /// Half an hour.
        HalfHour = "30m",
        /// Half a day.
        TwelveHours = "12h",
    }

    /// Who approves what the agent wants to do.
    pub enum Review {
        /// No one.
        None = "none",
        /// An automatic reviewer.
        AutoReview = "auto_review",
    }
}

/// Something a Session waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum RequiredAction {
    /// An MCP call is to be approved.
    McpApprovalRequest {
        /// The call.
        request: McpToolCallRequest,
        /// Repeated in the answer.
        request_id: String,
        /// The Turn that waits.
        turn_id: String,
    },
    /// Something in the browser is to be approved.
    ComputerUseApprovalRequest {
        /// What.
        request: ComputerUseRequest,
        /// Repeated in the answer.
        request_id: String,
        /// The Turn that waits.
        turn_id: String,
    },
    /// A function is to be called and its result sent.
    FunctionCall {
        /// JSON, or the text the model wrote when that is no JSON.
        arguments: Value,
        /// Repeated in the answer.
        call_id: String,
        /// The function.
        name: String,
        /// The Turn that waits.
        turn_id: String,
    },
    /// An executor is to be connected; there is no input for this.
    EnvironmentConnection {
        /// Which environment.
        environment_id: String,
    },
}

/// An MCP call that is to be approved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "mcp_tool_call")]
#[schemars(rename = "McpToolCallRequest", transform = tagged("mcp_tool_call"))]
pub struct McpToolCallRequest {
    /// What the tool would be given.
    pub arguments: Value,
    /// For the person who decides.
    pub message: String,
    /// The tool.
    pub name: Option<String>,
    /// Its server.
    pub server_label: String,
}

/// Something in the browser that is to be approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ComputerUseRequest {
    /// A login.
    BrowserAuthentication(BrowserAuthenticationForm),
    /// Access to an origin.
    BrowserOriginAccess {
        /// Scheme, host and port.
        origin: String,
        /// Why the agent wants it.
        reason: Option<String>,
    },
}

/// A login form that the client fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserAuthenticationForm {
    /// Whose credentials are asked for.
    pub credential_origin: Option<String>,
    /// All fields.
    pub fields: Vec<BrowserAuthenticationField>,
    /// Ways to log in, each with its fields.
    pub options: Vec<BrowserAuthenticationOption>,
    /// Why the agent wants it.
    pub reason: Option<String>,
}

/// A field of a login form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserAuthenticationField {
    /// Repeated in the answer.
    pub id: String,
    /// For people.
    pub label: String,
    /// Whether it must be filled in.
    pub required: bool,
    /// Such as `password`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// One way to log in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BrowserAuthenticationOption {
    /// Repeated in the answer.
    pub id: String,
    /// The fields it needs.
    pub field_ids: Vec<String>,
    /// For people.
    pub label: String,
}

impl HasId for AgentSession {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
