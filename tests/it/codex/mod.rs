//! The harness `codex`: the real Codex against a model provider on loopback.

/// What Codex keeps of a conversation, moved from home to home.
mod checkpoint;
/// Agents that name their harness.
mod choice;
/// Where Codex runs.
mod enclosure;
/// A home of Codex, and Turns in it without a harness.
mod exec;
/// The Codex that tests/codex/install puts below the target directory.
mod installed;
/// The kill table.
mod kills;
/// Codex or its worker is killed.
mod losses;
/// Cancels, steers and functions.
mod meanwhile;
/// A Session moves to another data directory.
mod migration;
/// Codex' own record of a conversation, from Turn to Turn.
mod native;
/// The model provider itself: what it keeps, how it fails, and that Codex takes what it says.
mod provider;
/// What stands between an agent and its provider.
mod proxy;
/// What does not work, and what must not leave.
mod refusals;
/// Search on the web.
mod search;
/// MCP servers.
mod servers;
/// The model provider.
mod stub;
/// Agents that the agent starts.
mod subagents;
/// Connections.
mod trace;
/// Turns that nothing disturbs.
mod turns;
/// The real program with the real Codex.
mod world;
