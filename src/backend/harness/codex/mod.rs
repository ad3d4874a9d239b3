//! Harness `codex`: OpenAI's Codex agent, driven through its app-server, with our records as the only truth.
//!
//! Documented for operators in `docs/codex.md`. In reading order: `program` finds the binary, `ready` says whether it can be started, `config` and `home` make a directory for
//! one process, `process` starts it in an `enclosure` whose PID 1 is the [`warden`] and ends it, `rpc` speaks with it, `setup` says what it is told of the Agent and of the past, `turn`
//! drives one Turn through as many processes as it takes, `talk` is the conversation with one of them, `seen` what is made of its news, `witness` and `passing` what of its talk with the model;
//! `children` are the agents that the agent starts, `delegating` is what it does to them; `calls` keeps count of what the model asked for, `story` of what happened, and `failure` reads what the provider refused. [`exec`] is
//! where the agent's commands go, [`proxy`] where its model requests go, and [`checkpoint`] saves what a process keeps, which `native` puts before the next one.
//! `mcp` stands between it and the Agent's MCP servers.
//!
//! Codex never runs a command itself: it has no local environment. The only one that it knows is [`exec`], which asks the engine to record an effect
//! before it happens and then runs it in the Session's own environment. So a command is isolated, recorded, cancelled and recovered
//! exactly as with any other harness, and a killed app-server takes nothing with it that we do not know.
//!
//! The surprising part: what the engine recorded is enough to feed a process. What Codex keeps itself is a cache, in a directory that may vanish at any moment.

mod calls;
pub mod checkpoint;
mod children;
mod config;
mod delegating;
mod enclosure;
pub mod exec;
mod failure;
mod home;
mod mcp;
mod native;
mod passing;
mod process;
mod program;
pub mod proxy;
mod ready;
mod rpc;
mod seen;
mod setup;
mod story;
mod talk;
mod turn;
pub mod warden;
mod witness;

use std::path::PathBuf;

use async_trait::async_trait;
use tokio::sync::OnceCell;

pub use self::program::{NoProgram, PINNED, Program};
use self::proxy::ModelProxy;
use self::ready::Known;
pub use self::ready::NotReady;
use crate::api::{SessionAgent, TurnErrorCode};
use crate::backend::model::http::HttpOptions;
use crate::engine::ports::{Harness, HarnessProgram, Isolation, TurnEnd, TurnLink, TurnTask};

/// What a Turn may use.
#[derive(Clone, Debug)]
pub struct Options {
    /// The Codex binary, or its package; `None`: the one in `PATH`.
    pub program: Option<PathBuf>,
    /// Our own program, which Codex starts to reach [`exec`], and which is PID 1 of where Codex runs.
    pub own: PathBuf,
    /// Whether Codex has namespaces of its own. Where they can't be had it is not started.
    pub isolation: Isolation,
    /// bubblewrap; `None`: the one in `PATH` or in the usual places.
    pub bwrap: Option<PathBuf>,
    /// Where directories of processes are made. It belongs to this user alone.
    pub homes: PathBuf,
    /// Model calls of one Turn, over all its workers; one more fails the Turn with `usage_limit_exceeded`.
    pub max_model_calls: u32,
    /// How long a command may run.
    pub command_timeout_ms: u64,
    /// Output of one command that is kept for its Item.
    pub output_limit_bytes: usize,
    /// How often Codex repeats a model call that failed.
    pub model_retries: u32,
    /// History that the agent is given, about; older entries are left out.
    pub history_budget_bytes: usize,
    /// Hosts (`host`, `host:port`, `*.domain`) of MCP servers that may be asked though their addresses are not public.
    pub mcp_private_hosts: Vec<String>,
}

impl Options {
    /// The usual bounds.
    pub fn new(own: PathBuf, homes: PathBuf) -> Options {
        Options {
            program: None,
            own,
            isolation: Isolation::Sandbox,
            bwrap: None,
            homes,
            max_model_calls: 200,
            command_timeout_ms: 3_600_000,
            output_limit_bytes: 64 << 10,
            model_retries: 5,
            history_budget_bytes: 768 << 10,
            mcp_private_hosts: Vec::new(),
        }
    }
}

/// Finds out whether Codex can work here, without a model: what would drive agents.
///
/// # Errors
/// Why not, with what an operator can do.
pub async fn look(options: &Options) -> Result<HarnessProgram, NotReady> {
    let ready = ready::ready(options, &Known::default(), "none", true).await?;
    Ok(ready.info)
}

/// Whether a program is one that this harness was tried with.
pub use self::ready::is_tried;

/// Drives Codex through Turns.
pub struct CodexHarness {
    provider: HttpOptions,
    proxy: OnceCell<ModelProxy>,
    known: Known,
    options: Options,
}

impl CodexHarness {
    /// A harness whose agents reach the model of this provider, and nothing else of it. Nothing is opened before the first Turn.
    pub fn new(provider: HttpOptions, options: Options) -> CodexHarness {
        CodexHarness {
            provider,
            proxy: OnceCell::new(),
            known: Known::default(),
            options,
        }
    }
}

#[async_trait]
impl Harness for CodexHarness {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let start = || ModelProxy::start(self.provider.clone());
        match self.proxy.get_or_try_init(start).await {
            Ok(proxy) => {
                turn::Turn::new(proxy, &self.known, &self.options, task, link)
                    .run()
                    .await
            }
            Err(error) => TurnEnd::Failed {
                code: TurnErrorCode::InternalError.to_string(),
                message: error.to_string(),
            },
        }
    }

    fn name(&self) -> &'static str {
        native::HARNESS
    }

    fn keeps_checkpoints(&self, _agent: &SessionAgent) -> bool {
        true
    }

    fn useful_past_bytes(&self) -> usize {
        self.options.history_budget_bytes
    }
}
