//! What drives agents: both harnesses, of which the profile names the usual one.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Places, isolation, model, provider};
use crate::api::HarnessChoice;
use crate::backend::harness::by_agent::ByAgent;
use crate::backend::harness::codex::{self, CodexHarness};
use crate::backend::harness::responses::{self, ResponsesHarness};
use crate::backend::model::demo;
use crate::cli::config::{ProviderKind, Settings};
use crate::cli::out::CliError;
use crate::engine::ports::Harness;

/// The harnesses of a worker.
///
/// # Errors
/// The provider is configured wrongly.
pub fn harness(settings: &Settings) -> Result<Arc<dyn Harness>, CliError> {
    Ok(Arc::new(ByAgent {
        usual: settings.harness.usual,
        responses: responses_harness(settings)?,
        codex: match settings.provider.kind {
            ProviderKind::Responses => Ok(codex_harness(settings)),
            ProviderKind::Demo => Err(
                "this Agent's harness is \"codex\", and the model of the worker's profile is the offline demo, which Codex can't use: set provider.kind = \"responses\""
                    .to_owned(),
            ),
        },
    }))
}

/// Codex, if agents of this profile are driven by it: what was found and whether it is as tried, or why it can't work here.
pub async fn codex_found(settings: &Settings) -> Option<Result<(String, bool), String>> {
    if settings.harness.usual != HarnessChoice::Codex {
        return None;
    }
    let found = codex::look(&codex_options(settings)).await;
    let found = found.map_err(|error| error.to_string());
    Some(found.map(|program| {
        let is_tried = codex::is_tried(&program);
        let text = format!(
            "{} {}, sha256 {}",
            program.name, program.version, program.sha256
        );
        (text, is_tried)
    }))
}

fn codex_harness(settings: &Settings) -> Arc<dyn Harness> {
    let options = codex_options(settings);
    Arc::new(CodexHarness::new(provider(settings), options))
}

fn codex_options(settings: &Settings) -> codex::Options {
    let places = Places {
        root: settings.data_dir.value.clone(),
    };
    // This very program, also when another one was put in its place meanwhile.
    let own = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    let mut options = codex::Options::new(own, places.codex());
    options.program = settings.harness.codex.clone();
    options.isolation = isolation(settings);
    options.bwrap = settings.sandbox.bwrap.clone();
    options.max_model_calls = settings.limits.model_calls_per_turn;
    options.model_retries = settings.provider.max_retries;
    options
        .mcp_private_hosts
        .clone_from(&settings.mcp_private_hosts);
    options
}

fn responses_harness(settings: &Settings) -> Result<Arc<dyn Harness>, CliError> {
    let mut options = responses::Options {
        max_model_calls: settings.limits.model_calls_per_turn,
        ..responses::Options::default()
    };
    options.retry.attempts = settings.provider.max_retries + 1;
    if settings.provider.kind == ProviderKind::Demo {
        // It reads nothing of what lies far back, so a late Turn must not pay for it.
        options.history_budget_bytes = demo::HISTORY_BYTES;
    }
    Ok(Arc::new(ResponsesHarness::new(model(settings)?, options)))
}
