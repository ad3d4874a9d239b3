//! Events of a Session's stream.
//!
//! Many types share a shape, so a shape is one struct and the type is the variant. Names are not regular: the output of
//! commands is `agent.output.…`, and the last one is plain `error`.

use serde::{Deserialize, Serialize};

use crate::api::{
    AgentSession, EnvironmentState, Item, OutputText, Subagent, SummaryText, TokenUsage, Turn,
};

/// Declares the enum from (variant, shape, type) rows, with what every event can be asked.
macro_rules! events {
    ($( $(#[$meta:meta])* $variant:ident($shape:ty) = $kind:literal, )+) => {
        /// One event of a Session's stream.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "type")]
        pub enum Event {
            $( $(#[$meta])* #[serde(rename = $kind)] $variant($shape), )+
        }

        impl Event {
            /// Every `type` there is, in the order of the contract.
            pub const KINDS: &'static [&'static str] = &[ $( $kind, )+ ];

            /// The `type` on the wire.
            pub fn kind(&self) -> &'static str {
                match self { $( Event::$variant(_) => $kind, )+ }
            }

            /// Unique among all events; a reader drops an id it has seen.
            pub fn event_id(&self) -> &str {
                match self { $( Event::$variant(event) => &event.event_id, )+ }
            }

            /// Random padding for this event, or none.
            pub fn set_obfuscation(&mut self, padding: Option<String>) {
                match self { $( Event::$variant(event) => event.obfuscation = padding, )+ }
            }
        }
    };
}

events! {
    /// The Session exists; first on the stream that answers a creation.
    SessionCreated(SessionEvent) = "agent.session.created",
    /// A Turn is at work.
    SessionInProgress(SessionEvent) = "agent.session.in_progress",
    /// No Turn; always behind the end of the last one.
    SessionIdle(SessionEvent) = "agent.session.idle",
    /// It waits for what `required_actions` lists.
    SessionRequiresAction(SessionEvent) = "agent.session.requires_action",
    /// It can't go on.
    SessionFailed(SessionEvent) = "agent.session.failed",
    /// Its budget is spent.
    SessionBudgetReached(SessionEvent) = "agent.session.budget_reached",
    /// A Turn was accepted.
    TurnCreated(TurnEvent) = "agent.session.turn.created",
    /// A Turn is at work.
    TurnInProgress(TurnEvent) = "agent.session.turn.in_progress",
    /// A Turn is done.
    TurnCompleted(TurnEndEvent) = "agent.session.turn.completed",
    /// A Turn could not go on.
    TurnFailed(TurnEndEvent) = "agent.session.turn.failed",
    /// A Turn was ended by someone.
    TurnCancelled(TurnEndEvent) = "agent.session.turn.cancelled",
    /// An Item began.
    ItemAdded(ItemAddedEvent) = "agent.session.turn.item.added",
    /// An output Item is whole.
    ItemDone(ItemDoneEvent) = "agent.session.turn.item.done",
    /// A part of a message began.
    ContentPartAdded(ContentPartEvent) = "agent.session.turn.content_part.added",
    /// A part of a message is whole.
    ContentPartDone(ContentPartEvent) = "agent.session.turn.content_part.done",
    /// Text of a message, as it is written.
    OutputTextDelta(OutputTextDeltaEvent) = "agent.session.turn.output_text.delta",
    /// The whole text; it replaces the deltas.
    OutputTextDone(OutputTextDoneEvent) = "agent.session.turn.output_text.done",
    /// A summary of reasoning began.
    ReasoningSummaryPartAdded(ReasoningSummaryPartAddedEvent) = "agent.session.turn.reasoning_summary_part.added",
    /// A summary of reasoning is whole.
    ReasoningSummaryPartDone(ReasoningSummaryPartDoneEvent) = "agent.session.turn.reasoning_summary_part.done",
    /// Text of a summary, as it is written.
    ReasoningSummaryTextDelta(ReasoningSummaryTextDeltaEvent) = "agent.session.turn.reasoning_summary_text.delta",
    /// The whole text of a summary; it replaces the deltas.
    ReasoningSummaryTextDone(ReasoningSummaryTextDoneEvent) = "agent.session.turn.reasoning_summary_text.done",
    /// Output of a command, as it is written.
    CommandExecutionOutputDelta(CommandOutputDeltaEvent) = "agent.output.command_execution_output.delta",
    /// The environment is being made.
    EnvironmentPending(EnvironmentEvent) = "agent.session.environment.pending",
    /// The environment is made.
    EnvironmentReady(EnvironmentEvent) = "agent.session.environment.ready",
    /// The environment is in use.
    EnvironmentConnected(EnvironmentEvent) = "agent.session.environment.connected",
    /// The environment can't be reached now.
    EnvironmentDisconnected(EnvironmentEvent) = "agent.session.environment.disconnected",
    /// The environment is stopped and can go on.
    EnvironmentSuspended(EnvironmentEvent) = "agent.session.environment.suspended",
    /// The environment is gone.
    EnvironmentExpired(EnvironmentEvent) = "agent.session.environment.expired",
    /// The environment could not be made.
    EnvironmentFailed(EnvironmentEvent) = "agent.session.environment.failed",
    /// The environment was replaced: its files and processes are gone.
    EnvironmentReset(EnvironmentResetEvent) = "agent.session.environment.reset",
    /// A subagent was started.
    SubagentCreated(SubagentEvent) = "agent.session.subagent.created",
    /// A subagent is at work.
    SubagentActive(SubagentEvent) = "agent.session.subagent.active",
    /// A subagent is over.
    SubagentClosed(SubagentEvent) = "agent.session.subagent.closed",
    /// Something went wrong.
    Error(ErrorEvent) = "error",
}

/// An event with the whole Session, as it is behind the change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Unique.
    pub event_id: String,
    /// Its `required_actions` are correct in every event.
    pub session: Box<AgentSession>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A Turn began or goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEvent {
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// As it is behind the change.
    pub turn: Box<Turn>,
    /// The same as in `turn`.
    pub turn_id: String,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A Turn is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnEndEvent {
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// As it stays.
    pub turn: Box<Turn>,
    /// The same as in `turn`.
    pub turn_id: String,
    /// The root agent's tokens.
    pub usage: Option<TokenUsage>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// An Item began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemAddedEvent {
    /// Unique.
    pub event_id: String,
    /// As it is now.
    pub item: Box<Item>,
    /// Its place among the Turn's output; null for what the agent did not make.
    pub output_index: Option<u64>,
    /// The Session.
    pub session_id: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// An output Item is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemDoneEvent {
    /// Unique.
    pub event_id: String,
    /// As it stays; only what [`Item::is_output`] holds for.
    pub item: Box<Item>,
    /// Its place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A part of a message began or is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentPartEvent {
    /// The part's place in its Item.
    pub content_index: u64,
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The part.
    pub part: OutputText,
    /// The Session.
    pub session_id: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// Text of a message, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTextDeltaEvent {
    /// The part's place in its Item.
    pub content_index: u64,
    /// To append.
    pub delta: String,
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The whole text of a part of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputTextDoneEvent {
    /// The part's place in its Item.
    pub content_index: u64,
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// All of it.
    pub text: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A summary of reasoning began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningSummaryPartAddedEvent {
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The part.
    pub part: SummaryText,
    /// The Session.
    pub session_id: String,
    /// The summary's place in its Item.
    pub summary_index: u64,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A summary of reasoning is whole, or was cut short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningSummaryPartDoneEvent {
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The part.
    pub part: SummaryText,
    /// The Session.
    pub session_id: String,
    /// Null when it is whole.
    pub status: Option<CutShort>,
    /// The summary's place in its Item.
    pub summary_index: u64,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The only status of a finished summary that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// It was cut short.
    Incomplete,
}

/// Text of a summary, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningSummaryTextDeltaEvent {
    /// To append.
    pub delta: String,
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// The summary's place in its Item.
    pub summary_index: u64,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The whole text of a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningSummaryTextDoneEvent {
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// The summary's place in its Item.
    pub summary_index: u64,
    /// All of it.
    pub text: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// Output of a command, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutputDeltaEvent {
    /// To append.
    pub delta: String,
    /// Unique.
    pub event_id: String,
    /// The Item.
    pub item_id: String,
    /// The Item's place among the Turn's output.
    pub output_index: u64,
    /// The Session.
    pub session_id: String,
    /// The Turn.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The environment changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentEvent {
    /// As it is now.
    pub environment: EnvironmentState,
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// The Turn at work, if any.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// The environment was replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentResetEvent {
    /// It keeps its id.
    pub environment_id: String,
    /// Unique.
    pub event_id: String,
    /// How often it was replaced; a repeated notice carries the same number.
    pub reset_count: u64,
    /// The Session.
    pub session_id: String,
    /// The Turn at work, if any.
    pub turn_id: Option<String>,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// A subagent changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubagentEvent {
    /// Unique.
    pub event_id: String,
    /// As it is now; it names its Session.
    pub subagent: Subagent,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// Something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorEvent {
    /// What.
    pub error: SessionError,
    /// Unique.
    pub event_id: String,
    /// The Session.
    pub session_id: String,
    /// Random padding.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub obfuscation: Option<String>,
}

/// What went wrong in a Session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionError {
    /// For programs.
    pub code: Option<String>,
    /// For people.
    pub message: String,
    /// The request field at fault.
    pub param: Option<String>,
    /// Its family.
    #[serde(rename = "type")]
    pub kind: String,
}
