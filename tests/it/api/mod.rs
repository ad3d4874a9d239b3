//! The wire types from outside: their shape against the contract's field lists, strict reading, limits, defaults, and what
//! never leaves.

/// Request bodies with every field there is.
mod bodies;
/// Rules of environments that need only the body.
mod environment_limits;
/// Shapes of stream events, and the list of their types.
mod events;
/// Shapes of Items, and the list of their types.
mod items;
/// Rules that need only the body.
mod kept_resources;
mod limits;
/// Right bodies changed at one place.
mod mutations;
/// Checks that a body is refused, and how.
mod refusal;
/// Defaults, updates and snapshots of Agents.
mod resolve;
/// Shapes of resources.
mod resources;
/// Whole resources for other tests.
mod samples;
/// Bounds that are published are those of the reader.
mod schema;
/// What is in a request and never in an answer.
mod secrets;
/// The check that every shape goes through.
mod shape;
/// What the strict reader refuses, and which field it names.
mod strict;
