//! Operator: what only who has the records at hand may see and settle: Runs, what is owed and when, deliveries, the counters of an environment.
//!
//! A server of the Agents API has none of this, so whoever asks one has no operator at all. Beside [`Deployment`](super::Deployment) it says nothing twice.

use async_trait::async_trait;
use serde::Serialize;

use super::{HarnessProgram, Told, WorkspaceFiles};
use crate::api::{EnvironmentStatus, HasId, Page};
use crate::engine::delivery::DeliveryRow;
use crate::engine::outbox::Reconcile;
use crate::engine::read::ListQuery;

/// Where a Run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// It holds the lease.
    Live,
    /// Its worker is unaccounted for.
    Quarantined,
    /// It gave its lease back, or its worker was lost.
    Ended,
}

/// A Run with what the head says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunRead {
    /// `run_…`
    pub id: String,
    /// Always `rat_things.run`.
    pub object: &'static str,
    /// Its Session.
    pub session_id: String,
    /// Counts a Session's Runs; numbers may be left out.
    pub generation: u64,
    /// Where it is in its life.
    pub state: RunPhase,
    /// The Turn it was claimed for.
    pub turn_id: String,
    /// Where it executes.
    pub execution: String,
    /// Whether that process exists; null when it can't be told.
    pub process_alive: Option<bool>,
    /// Unix ms.
    pub started_ms: u64,
    /// Unix ms; null while it is not over, and when it was lost.
    pub ended_ms: Option<u64>,
    /// How it ended, in words.
    pub end: Option<String>,
    /// Presumed alive until then, unix ms.
    pub lease_until_ms: Option<u64>,
    /// Unaccounted for since, unix ms.
    pub quarantined_ms: Option<u64>,
    /// What drove its agent, where that is another program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<HarnessProgram>,
    /// The last time that its agent began from the recorded Items, though its harness had kept a state of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub began_anew: Option<AnewRead>,
}

/// An agent that began anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AnewRead {
    /// In which Turn.
    pub turn_id: String,
    /// Why, in words.
    pub reason: String,
}

/// A delivery with its id.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRead {
    /// `dlv_…`
    pub id: String,
    /// Its record.
    pub row: DeliveryRow,
}

/// Work that a Session owes, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwedRead {
    /// Tells it from the others: a Session owes once a group.
    pub id: String,
    /// The Session.
    pub session_id: String,
    /// Which work group: `execute` or `deliver`.
    pub group: &'static str,
    /// Unix ms.
    pub due_ms: u64,
    /// Why it is owed, in words.
    pub why: String,
}

/// What the records tell of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentRead {
    /// Times its files were lost.
    pub resets: u32,
    /// Its state as it was last told; `None`: it was not opened yet.
    pub status: Option<EnvironmentStatus>,
    /// Since when it is over for good (unix ms), and why.
    pub expiry: Option<(u64, String)>,
    /// Inputs that wait for the agent.
    pub pending_inputs: usize,
    /// Who may write now: the generation, and until when it is presumed alive, unix ms.
    pub lease: Option<(u64, u64)>,
}

impl HasId for RunRead {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl HasId for DeliveryRead {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl HasId for OwedRead {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// See the module.
#[async_trait]
pub trait Operator: Send + Sync {
    /// Runs of a Session by generation.
    async fn runs(&self, session: &str, query: &ListQuery) -> Told<Page<RunRead>>;
    /// Ends the quarantine of this Run: whoever asks vouches that its worker is gone.
    ///
    /// # Errors
    /// Conflict when this Run is not in quarantine (any more).
    async fn release(&self, session: &str, run: &str) -> Told<()>;
    /// Deliveries of a Session by id.
    async fn deliveries(&self, session: &str, query: &ListQuery) -> Told<Page<DeliveryRead>>;
    /// Settles a delivery that nobody else may settle.
    ///
    /// # Errors
    /// Conflict when its state does not allow that.
    async fn reconcile(&self, session: &str, delivery: &str, how: Reconcile) -> Told<DeliveryRead>;
    /// What the owner's Sessions owe, soonest first, at most `limit`.
    async fn owed(&self, limit: usize) -> Told<Vec<OwedRead>>;
    /// Files of an environment's workspace as they are now, by path, at most `limit`.
    ///
    /// # Errors
    /// The workspace is not there yet, or is somewhere else.
    async fn files(&self, environment: &str, limit: usize) -> Told<WorkspaceFiles>;
    /// What the records tell of a Session's environment.
    async fn environment(&self, session: &str) -> Told<EnvironmentRead>;
}
