//! The Turn, and why one failed.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::{self, Words, object_name, words};
use crate::api::{PromptCacheOptions, TokenUsage};

object_name!(TurnObject = "agent.session.turn");

/// One period of agent work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// `turn_…`
    pub id: String,
    /// The Agent that works.
    pub agent_id: String,
    /// Unix seconds; null until it is over.
    pub completed_at: Option<u64>,
    /// Unix seconds.
    pub created_at: u64,
    /// Only when it failed.
    pub error: Option<TurnError>,
    /// Always `agent.session.turn`.
    pub object: TurnObject,
    /// Its Session.
    pub session_id: String,
    /// Unix seconds; null while it is queued.
    pub started_at: Option<u64>,
    /// Where it stands.
    pub status: TurnStatus,
    /// Null for a Turn of the root agent.
    pub subagent_id: Option<String>,
    /// Tokens so far; null when nothing is known.
    pub usage: Option<TokenUsage>,
    /// How long the provider keeps its prompt cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_options: Option<PromptCacheOptions>,
}

/// Why a Turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnError {
    /// For programs.
    pub code: TurnErrorCode,
    /// For people.
    pub message: String,
}

words! {
    /// Where a Turn stands. The last three are for ever.
    pub enum TurnStatus {
        /// Accepted; another Turn is before it, or no worker has it yet.
        Queued = "queued",
        /// A worker has it.
        InProgress = "in_progress",
        /// It waits for something from outside.
        Waiting = "waiting",
        /// Done.
        Completed = "completed",
        /// It could not go on.
        Failed = "failed",
        /// Someone ended it.
        Cancelled = "cancelled",
    }
}

impl TurnStatus {
    /// Whether it never changes again.
    pub fn is_terminal(self) -> bool {
        match self {
            TurnStatus::Queued | TurnStatus::InProgress | TurnStatus::Waiting => false,
            TurnStatus::Completed | TurnStatus::Failed | TurnStatus::Cancelled => true,
        }
    }
}

/// The published codes of a failed Turn. A code that is not one of them reads as [`TurnErrorCode::InternalError`], because a
/// client knows only these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "&'static str")]
pub enum TurnErrorCode {
    /// The history no longer fits the model.
    ContextLengthExceeded,
    /// The model's output limit was reached.
    MaxOutputTokens,
    /// The Session's budget is spent.
    SessionBudgetExceeded,
    /// A usage limit was reached.
    UsageLimitExceeded,
    /// The project's spend limit was reached.
    ProjectSpendLimitExceeded,
    /// The organization's spend limit was reached.
    OrganizationSpendLimitExceeded,
    /// The organization's usage limit was reached.
    OrganizationUsageLimitExceeded,
    /// The account can't pay.
    BillingNotActive,
    /// No credit left.
    CreditBalanceExhausted,
    /// Too many requests, even after waiting.
    RateLimitExceeded,
    /// No room in the flex tier.
    FlexUnavailable,
    /// The provider is overloaded, even after waiting.
    ServerOverloaded,
    /// Refused by a policy on attacks.
    CyberPolicy,
    /// Refused by a policy on misalignment.
    MisalignmentPolicyViolation,
    /// The provider could not be reached.
    ConnectionFailed,
    /// The provider failed.
    ServerError,
    /// The provider does not know the key.
    AuthenticationError,
    /// The provider refused the request.
    InvalidRequest,
    /// The model, or something else that was named, does not exist.
    ResourceNotFound,
    /// The environment failed.
    SandboxError,
    /// The executor is too old.
    ExecutorVersionIncompatible,
    /// Input came at a moment that takes none.
    ActiveTurnNotSteerable,
    /// The provider did not answer in time.
    RequestTimeout,
    /// Anything else.
    InternalError,
}

impl Words for TurnErrorCode {
    const ALL: &'static [Self] = &[
        TurnErrorCode::ContextLengthExceeded,
        TurnErrorCode::MaxOutputTokens,
        TurnErrorCode::SessionBudgetExceeded,
        TurnErrorCode::UsageLimitExceeded,
        TurnErrorCode::ProjectSpendLimitExceeded,
        TurnErrorCode::OrganizationSpendLimitExceeded,
        TurnErrorCode::OrganizationUsageLimitExceeded,
        TurnErrorCode::BillingNotActive,
        TurnErrorCode::CreditBalanceExhausted,
        TurnErrorCode::RateLimitExceeded,
        TurnErrorCode::FlexUnavailable,
        TurnErrorCode::ServerOverloaded,
        TurnErrorCode::CyberPolicy,
        TurnErrorCode::MisalignmentPolicyViolation,
        TurnErrorCode::ConnectionFailed,
        TurnErrorCode::ServerError,
        TurnErrorCode::AuthenticationError,
        TurnErrorCode::InvalidRequest,
        TurnErrorCode::ResourceNotFound,
        TurnErrorCode::SandboxError,
        TurnErrorCode::ExecutorVersionIncompatible,
        TurnErrorCode::ActiveTurnNotSteerable,
        TurnErrorCode::RequestTimeout,
        TurnErrorCode::InternalError,
    ];

    fn as_str(self) -> &'static str {
        match self {
            TurnErrorCode::ContextLengthExceeded => "context_length_exceeded",
            TurnErrorCode::MaxOutputTokens => "max_output_tokens",
            TurnErrorCode::SessionBudgetExceeded => "session_budget_exceeded",
            TurnErrorCode::UsageLimitExceeded => "usage_limit_exceeded",
            TurnErrorCode::ProjectSpendLimitExceeded => "project_spend_limit_exceeded",
            TurnErrorCode::OrganizationSpendLimitExceeded => "organization_spend_limit_exceeded",
            TurnErrorCode::OrganizationUsageLimitExceeded => "organization_usage_limit_exceeded",
            TurnErrorCode::BillingNotActive => "billing_not_active",
            TurnErrorCode::CreditBalanceExhausted => "credit_balance_exhausted",
            TurnErrorCode::RateLimitExceeded => "rate_limit_exceeded",
            TurnErrorCode::FlexUnavailable => "flex_unavailable",
            TurnErrorCode::ServerOverloaded => "server_overloaded",
            TurnErrorCode::CyberPolicy => "cyber_policy",
            TurnErrorCode::MisalignmentPolicyViolation => "misalignment_policy_violation",
            TurnErrorCode::ConnectionFailed => "connection_failed",
            TurnErrorCode::ServerError => "server_error",
            TurnErrorCode::AuthenticationError => "authentication_error",
            TurnErrorCode::InvalidRequest => "invalid_request",
            TurnErrorCode::ResourceNotFound => "resource_not_found",
            TurnErrorCode::SandboxError => "sandbox_error",
            TurnErrorCode::ExecutorVersionIncompatible => "executor_version_incompatible",
            TurnErrorCode::ActiveTurnNotSteerable => "active_turn_not_steerable",
            TurnErrorCode::RequestTimeout => "request_timeout",
            TurnErrorCode::InternalError => "internal_error",
        }
    }
}

impl JsonSchema for TurnErrorCode {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TurnErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        words::schema_of::<TurnErrorCode>()
    }
}

impl FromStr for TurnErrorCode {
    type Err = Infallible;

    fn from_str(code: &str) -> Result<Self, Infallible> {
        Ok(TurnErrorCode::from_word(code).unwrap_or(TurnErrorCode::InternalError))
    }
}

impl From<String> for TurnErrorCode {
    fn from(code: String) -> Self {
        TurnErrorCode::from_word(&code).unwrap_or(TurnErrorCode::InternalError)
    }
}

impl From<TurnErrorCode> for &'static str {
    fn from(code: TurnErrorCode) -> &'static str {
        code.as_str()
    }
}

impl fmt::Display for TurnErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl HasId for Turn {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
