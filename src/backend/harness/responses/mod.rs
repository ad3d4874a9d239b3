//! Harness `responses`: a loop over one Responses-API model with a shell, patches and the Agent's functions.
//!
//! Documented for operators in `docs/harness-responses.md`. In reading order: `turn` is the loop; `input` makes
//! model input of what was recorded, `call` makes one model call and repeats it, `items` reads what came back, `act`, `tools`
//! and `exec` run commands, `outcome` says how they ended, [`patch`] is the tool that runs inside the environment.
//!
//! It keeps no state of its own between Turns: its checkpoint is the recorded history. The surprising part is what that
//! allows: a resumed Turn takes the same path as a new one, it only starts with more behind it.

mod act;
mod call;
mod exec;
mod input;
mod items;
mod outcome;
pub mod patch;
mod retry;
mod setup;
mod stop;
mod tools;
mod turn;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

pub(super) use self::input::{CALLED, Input, Log, call_id};
pub use self::input::{LATE_RESULT, OUTCOME_UNKNOWN};
pub(super) use self::outcome::{command as ended_command, environment as ended_trouble};
pub use self::retry::Retry;
pub(super) use self::stop::Stop;
use crate::engine::ports::{Harness, Model, TurnEnd, TurnLink, TurnTask};

/// Bounds of a Turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Model calls of one Turn, over all its workers; one more fails the Turn with `usage_limit_exceeded`.
    pub max_model_calls: u32,
    /// How long a command may run if the model does not say.
    pub shell_timeout_ms: u64,
    /// How long it may run at most.
    pub shell_timeout_max_ms: u64,
    /// Output of one command that is kept, for its Item and for the model.
    pub output_limit_bytes: usize,
    /// How failed model calls are repeated.
    pub retry: Retry,
    /// History that the model is given, about; older entries are left out.
    pub history_budget_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            max_model_calls: 200,
            shell_timeout_ms: 120_000,
            shell_timeout_max_ms: 3_600_000,
            output_limit_bytes: 64 << 10,
            retry: Retry::default(),
            history_budget_bytes: 768 << 10,
        }
    }
}

/// Drives a model through Turns.
pub struct ResponsesHarness {
    model: Arc<dyn Model>,
    options: Options,
    /// Its own tools, as every request has them.
    built_in: Arc<[Value]>,
}

impl ResponsesHarness {
    /// A harness over this model.
    pub fn new(model: Arc<dyn Model>, options: Options) -> ResponsesHarness {
        ResponsesHarness {
            model,
            built_in: tools::built_in(&options),
            options,
        }
    }
}

#[async_trait]
impl Harness for ResponsesHarness {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        turn::Turn::new(
            self.model.as_ref(),
            &self.options,
            &self.built_in,
            task,
            link,
        )
        .run()
        .await
    }

    fn name(&self) -> &'static str {
        "responses"
    }

    fn useful_past_bytes(&self) -> usize {
        self.options.history_budget_bytes
    }
}
