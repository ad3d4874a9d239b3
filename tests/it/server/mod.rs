mod coverage;
mod journey;
mod keys;
mod once;
mod owners;
mod refusals;
mod streams;
mod world;
