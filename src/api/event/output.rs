//! Shapes of events that tell what a Turn makes: Items, and text as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Item, OutputText, SummaryText};

/// An Item began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutShort {
    /// It was cut short.
    Incomplete,
}

/// Text of a summary, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
