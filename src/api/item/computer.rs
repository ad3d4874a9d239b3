//! Items of the browser.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::words::tagged;
use crate::api::{BrowserAuthenticationForm, CallStatus};

/// A step in the browser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseCallItem {
    /// Its id.
    pub id: String,
    /// What the browser showed.
    pub output: Option<ComputerScreenshot>,
    /// Where it stands.
    pub status: CallStatus,
    /// For people.
    pub title: Option<String>,
    /// Its Turn.
    pub turn_id: String,
}

/// What the browser showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "computer_screenshot")]
#[schemars(rename = "ComputerScreenshot", transform = tagged("computer_screenshot"))]
pub struct ComputerScreenshot {
    /// A JPEG as a `data:` URL.
    pub image_url: String,
}

/// The browser wants a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseApprovalRequestItem {
    /// Its id.
    pub id: String,
    /// The form.
    pub request: BrowserAuthenticationRequest,
    /// Repeated in the answer.
    pub request_id: String,
    /// Its Turn.
    pub turn_id: String,
}

/// A login form, tagged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BrowserAuthenticationRequest {
    /// The only kind that leaves an Item.
    BrowserAuthentication(BrowserAuthenticationForm),
}

/// What became of a login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ComputerUseApprovalRequestResultItem {
    /// Its id.
    pub id: String,
    /// The request.
    pub request_id: String,
    /// The answer, without what was filled in.
    pub response: BrowserAuthenticationResult,
    /// Its Turn.
    pub turn_id: String,
}

/// The answer to a login, without what was filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum BrowserAuthenticationResult {
    /// The only kind that leaves an Item.
    BrowserAuthentication(BrowserAuthenticationOutcome),
}

/// Whether a login form was filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum BrowserAuthenticationOutcome {
    /// It was.
    Submit {
        /// The way to log in that was chosen.
        selected_option: Option<String>,
    },
    /// It was dismissed.
    Cancel,
}
