//! Wire types of the Agents API: the only promises this project makes in JSON.

/// Placeholder for the module's real types.
#[derive(Clone, Debug)]
pub struct SessionAgent;
/// Placeholder for the module's real types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// Running.
    InProgress,
}
