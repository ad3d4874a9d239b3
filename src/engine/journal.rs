//! The journal: what each revision changed, as compact public events that refer to rows.

use serde::{Deserialize, Serialize};

use super::subagent::SubagentState;
use crate::api::{EnvironmentStatus, SessionStatus, TurnStatus};

/// One public event. It carries the little that its row may no longer say by the time it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "e", rename_all = "snake_case")]
pub enum Entry {
    /// The Session was created.
    Created,
    /// The Session's public status is now this.
    Session {
        /// The status.
        s: SessionStatus,
    },
    /// A Turn's status is now this (`queued` is its creation).
    Turn {
        /// Turn number.
        t: u64,
        /// The status.
        s: TurnStatus,
    },
    /// An Item appeared; it may still change.
    Added {
        /// Item number.
        i: u64,
    },
    /// An Item has its final form.
    Done {
        /// Item number.
        i: u64,
    },
    /// Something is told of a subagent.
    Subagent {
        /// Its number.
        n: u64,
        /// What.
        s: SubagentState,
    },
    /// The environment was seen to be in another state.
    Environment {
        /// The state.
        s: EnvironmentStatus,
        /// The Turn at work.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        t: Option<u64>,
        /// Why it failed: for programs, and for people.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        w: Option<(String, String)>,
    },
    /// The environment was replaced and its files are gone.
    Reset {
        /// How often so far.
        n: u32,
    },
}

/// Row `journal/<revision>`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalRow {
    /// Committed at. Unix ms.
    #[serde(rename = "at", alias = "at_ms")]
    pub at_ms: u64,
    /// In order.
    #[serde(rename = "v", alias = "events")]
    pub events: Vec<Entry>,
}
