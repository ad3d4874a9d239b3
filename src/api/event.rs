//! Events of a Session's stream.
//!
//! Many types share a shape, so a shape is one struct and the type is the variant. Names are not regular: the output of
//! commands is `agent.output.…`, and the last one is plain `error`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod output;
mod state;

pub use output::*;
pub use state::*;

/// Declares the enum from (variant, shape, type) rows, with what every event can be asked.
macro_rules! events {
    ($( $(#[$meta:meta])* $variant:ident($shape:ty) = $kind:literal, )+) => {
        /// One event of a Session's stream.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
