//! Parts of messages, in the sets that each place allows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::ApiError;
use crate::api::strict::{Node, Read};
use crate::api::words::{tagged, words};

/// A part of a message in history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessageContent {
    /// Text of the user.
    InputText {
        /// The text.
        text: String,
    },
    /// A picture of the user.
    InputImage {
        /// URL, possibly `data:`.
        image_url: String,
    },
    /// Text of the agent.
    OutputText {
        /// The text.
        text: String,
    },
}

/// A part of a message or tool result that a client sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum InputContent {
    /// Text.
    InputText {
        /// The text.
        text: String,
    },
    /// A picture.
    InputImage {
        /// URL, possibly `data:`.
        image_url: String,
    },
}

/// A part of what agents tell one another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentContent {
    /// Text.
    OutputText {
        /// The text.
        text: String,
    },
    /// Text that only the provider can read.
    EncryptedContent {
        /// Opaque.
        encrypted_content: String,
    },
}

/// Text of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "output_text")]
#[schemars(rename = "OutputText", transform = tagged("output_text"))]
pub struct OutputText {
    /// The text.
    pub text: String,
}

/// A summary of reasoning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "summary_text")]
#[schemars(rename = "SummaryText", transform = tagged("summary_text"))]
pub struct SummaryText {
    /// The text.
    pub text: String,
}

/// What a function answered: text, or parts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FunctionOutput {
    /// Text.
    Text(String),
    /// Parts.
    Parts(Vec<InputContent>),
}

impl From<InputContent> for MessageContent {
    fn from(part: InputContent) -> Self {
        match part {
            InputContent::InputText { text } => MessageContent::InputText { text },
            InputContent::InputImage { image_url } => MessageContent::InputImage { image_url },
        }
    }
}

words! {
    /// The `type` of a part that a client sends.
    enum InputContentKind {
        InputText = "input_text",
        InputImage = "input_image",
    }
}

impl Read for InputContent {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let part = match fields.tag("type")? {
            InputContentKind::InputText => InputContent::InputText {
                text: fields.required("text")?,
            },
            InputContentKind::InputImage => InputContent::InputImage {
                image_url: fields.required("image_url")?,
            },
        };
        fields.end()?;
        Ok(part)
    }
}

impl Read for FunctionOutput {
    fn read(node: Node) -> Result<Self, ApiError> {
        node.text_or_array(FunctionOutput::Text, FunctionOutput::Parts)
    }
}
