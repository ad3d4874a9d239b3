//! Models behind the engine's [`Model`](crate::engine::ports::Model) port: one Responses-API call, streamed.
//!
//! - [`http`] talks to any server that speaks the Responses API.
//! - [`demo`] needs no network and no key; it is what a newcomer meets first.
//! - [`scripted`] plays a list of prepared answers, for tests.
//!
//! Which of them a profile uses is decided where backends are composed, not here. Nothing here retries: that is the harness's
//! decision, because only the harness knows when its Turn must stop.

pub mod demo;
pub mod http;
pub mod scripted;
pub(in crate::backend) mod scrub;
