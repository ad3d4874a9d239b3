//! The simulation: the real engine in a world of chance, whose every commit is checked. The index of its modules.

/// The harness: an agent with a plan.
mod agent;
/// Who may write.
mod authority;
/// Each deliberate fault is found.
mod bite;
/// What clients are told.
mod client;
/// What users of such programs complain about: inputs, duplicates, order.
mod complaints_inputs;
/// What they complain about: zombies, fencing, recovery.
mod complaints_recovery;
/// What they complain about: stuck work, cancels, questions.
mod complaints_stuck;
/// Destinations of notifications.
mod courier;
/// Daemons.
mod daemon;
/// The end of a world.
mod ending;
/// Stories, told once for every place at which something can go wrong.
mod exhaustive;
/// What an operator would be told.
mod explain;
/// Every kind of trouble.
mod faults;
/// Workers.
mod fleet;
/// One life of a program.
mod life;
/// A model for the real harness.
mod model;
/// The world outside.
mod outside;
/// What programs are made of.
mod parts;
/// What an agent does.
mod plan;
/// Blobs, bell and environments.
mod ports;
/// Many worlds at random.
mod random;
/// What a run says.
mod report;
/// Requests of several clients.
mod requests;
/// Deliberate faults of the engine.
mod sabotage;
/// Scenes without chance.
mod scene;
/// Chance, time, trouble and trace.
mod shared;
/// The store.
mod store;
/// The canonical stories.
mod stories;
/// How stories are told.
mod tell;
/// Users.
mod user;
/// The check of every commit.
mod watch;
/// One world.
mod world;
