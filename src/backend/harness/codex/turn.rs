//! One Turn, through as many processes as it takes: each is fed from the story so far and goes on where the last one ended.

use std::sync::Arc;
use std::time::Duration;

use super::Options;
use super::exec::{Bounds, Place};
use super::home::Home;
use super::mcp::http::Relay;
use super::mcp::reach::{Clients, Policy};
use super::mcp::{self, Mcp};
use super::native::{self, Native};
use super::process::AppServer;
use super::proxy::{Budget, ModelProxy};
use super::ready::{Known, NotReady, Ready, ready};
use super::rpc::RpcError;
use super::setup::Setup;
use super::story::Story;
use super::talk::Talk;
use crate::api::{CallStatus, TurnErrorCode};
use crate::backend::harness::responses::{OUTCOME_UNKNOWN, Stop};
use crate::backend::local::sandbox::proxy::Reach;
use crate::engine::ports::{
    Environment, Fenced, FunctionAnswer, Observation, Steer, ToolEnd, TurnEnd, TurnLink, TurnTask,
};

/// Processes in a row that may be lost without anything having come of them.
const LOSSES: u32 = 3;

/// How long commands may take to end once they are told to. The engine waits a little longer for the harness.
const ENDING: Duration = Duration::from_secs(4);

/// Less history than this is not tried.
const HISTORY_LEAST_BYTES: usize = 16 << 10;

/// One Turn that is being worked on.
pub struct Turn<'a> {
    proxy: &'a ModelProxy,
    session: String,
    known: &'a Known,
    pub(super) options: &'a Options,
    pub(super) setup: Setup,
    model: String,
    environment: Option<Arc<dyn Environment>>,
    /// Its MCP servers, or what can't be used of one.
    servers: Result<Vec<mcp::Server>, String>,
    pub(super) link: TurnLink,
    pub(super) stop: Stop,
    pub(super) turn: String,
    pub(super) story: Story,
    /// Codex' own record, if there is one and it was of use so far.
    pub(super) native: Option<Native>,
    /// Why it was of no use, if it was not.
    anew: Option<String>,
    /// Late answers that were handed over.
    answers: usize,
    pub(super) model_calls: u32,
    pub(super) budget_bytes: usize,
    /// Counts what came of the processes.
    pub(super) progress: u64,
}

/// Why a conversation with a process is over.
pub enum Halt {
    /// The Turn ends with it.
    End(TurnEnd),
    /// The process is gone or of no use any more; another one can go on.
    Lost(String),
    /// Another one is needed, though nothing went wrong.
    Again,
}

impl From<Fenced> for Halt {
    fn from(_: Fenced) -> Halt {
        Halt::End(TurnEnd::Left)
    }
}

impl From<NotReady> for Halt {
    fn from(error: NotReady) -> Halt {
        match error {
            NotReady::Ended(why) => Halt::Lost(why),
            other => failed(other.code(), other.to_string()),
        }
    }
}

impl From<RpcError> for Halt {
    fn from(error: RpcError) -> Halt {
        match error {
            RpcError::Gone(why) => Halt::Lost(why.to_owned()),
            RpcError::Refused { .. } => failed(TurnErrorCode::InternalError, error.to_string()),
        }
    }
}

/// The Turn fails.
pub fn failed(code: TurnErrorCode, message: String) -> Halt {
    Halt::End(TurnEnd::Failed {
        code: code.to_string(),
        message,
    })
}

impl<'a> Turn<'a> {
    /// Takes over a task.
    pub fn new(
        proxy: &'a ModelProxy,
        known: &'a Known,
        options: &'a Options,
        task: TurnTask,
        link: TurnLink,
    ) -> Turn<'a> {
        let setup = Setup::new(&task.agent, options.model_retries);
        let read = |saved| Native::read(saved, &setup.digest());
        let (native, unfit) = match task.checkpoint.map(read) {
            Some(Ok(native)) => (Some(native), None),
            Some(Err(why)) => (None, Some(why)),
            None => (None, None),
        };
        let mut turn = Turn {
            options,
            known,
            proxy,
            session: task.session,
            setup,
            native,
            anew: None,
            answers: 0,
            model: task.agent.model.clone(),
            environment: task.environment,
            servers: mcp::of_agent(&task.agent, &task.tool_secrets),
            stop: Stop::new(&link),
            link,
            turn: task.turn,
            story: Story::new(task.history, task.feed),
            model_calls: task.model_calls,
            budget_bytes: options.history_budget_bytes,
            progress: 0,
        };
        if let Some(why) = unfit {
            turn.begin_anew(&why);
        }
        turn
    }

    /// Works until the Turn ends, waits or must be left.
    pub async fn run(mut self) -> TurnEnd {
        let mut losses = 0;
        loop {
            if let Some(end) = self.stop.now().or_else(|| self.over_already()) {
                return end;
            }
            let before = self.progress;
            let why = match self.attempt().await {
                Ok(end) | Err(Halt::End(end)) => return end,
                Err(Halt::Again) => continue,
                Err(Halt::Lost(why)) => why,
            };
            losses = if self.progress > before {
                1
            } else {
                losses + 1
            };
            tracing::warn!(turn = self.turn, why, losses, "lost a Codex process");
            if self.progress == before && self.native.is_some() {
                // Nobody knows what was in its way.
                self.begin_anew(&format!("the process that had it was lost: {why}"));
            }
            if losses >= LOSSES {
                let message = format!("Codex ended {LOSSES} times in a row: {why}");
                return TurnEnd::Failed {
                    code: TurnErrorCode::InternalError.to_string(),
                    message,
                };
            }
        }
    }

    /// How the Turn ends if there is nothing left to do in it.
    fn over_already(&mut self) -> Option<TurnEnd> {
        while let Ok(steer) = self.link.steer.try_recv() {
            self.hear(steer);
        }
        if !self.story.waiting().is_empty() {
            return None;
        }
        if self.story.awaits_answers() {
            return Some(TurnEnd::Waiting);
        }
        // The worker was lost between the last answer and the Turn's end.
        self.story.is_answered().then(|| self.at_rest())
    }

    /// Takes what came while no process was there to be told.
    fn hear(&mut self, steer: Steer) {
        match steer {
            Steer::Message(message) => self.story.hear(message),
            Steer::Answer {
                call_id,
                name,
                answer,
            } => self.answered(call_id, name, answer),
        }
    }

    /// The client answered a call that the agent did not wait for.
    pub(super) fn answered(&mut self, call_id: String, name: String, answer: FunctionAnswer) {
        self.answers += 1;
        self.story.answered(call_id, name, answer);
    }

    /// How the Turn ends when the agent has nothing more to do.
    pub(super) fn at_rest(&self) -> TurnEnd {
        match self.story.awaits_late_answers() {
            true => TurnEnd::Waiting,
            false => TurnEnd::Completed,
        }
    }

    /// Works with one process until it or the Turn is over.
    async fn attempt(&mut self) -> Result<TurnEnd, Halt> {
        let has_environment = self.environment.is_some();
        let Ready {
            program,
            enclosure,
            home,
            info,
        } = ready(self.options, self.known, &self.model, has_environment).await?;
        let driven = Observation::DrivenBy {
            program: info,
            anew: self.anew.clone(),
        };
        self.saw(driven).await?;
        if let Some(native) = &self.native
            && let Err(why) = native.put_back(home.path()).await
        {
            return Err(self.not_native(&why));
        }
        let (gates, asked) = tokio::sync::mpsc::channel(16);
        let servers = self.servers.clone();
        let servers = servers.map_err(|why| failed(TurnErrorCode::InvalidRequest, why))?;
        let mcp = Arc::new(Mcp::new(servers, gates.clone()));
        let bounds = Bounds {
            timeout_ms: self.options.command_timeout_ms,
            output_limit_bytes: self.options.output_limit_bytes,
        };
        let servers = Arc::clone(&mcp);
        let open = |environment| Place::open(home.path(), environment, bounds, gates, servers);
        let place = self.environment.clone().map(open);
        let place = place.transpose().map_err(NotReady::NotStarted)?;
        let server =
            AppServer::start(&program, &home, enclosure.as_ref()).map_err(NotReady::NotStarted)?;
        let model_calls = self
            .options
            .max_model_calls
            .saturating_sub(self.model_calls);
        let over_http = Arc::new(Relay::new(Arc::clone(&mcp), Clients::new(self.policy())));
        let (admission, from_proxy) = self.proxy.admit_with(
            &self.session,
            Budget { model_calls },
            Arc::clone(&over_http),
        );
        let endpoint = mcp::Endpoint {
            url: &self.proxy.mcp_url(),
            token: admission.token(),
        };
        let tool_timeout_s = self.options.command_timeout_ms / 1_000;
        let servers = mcp::config(&mcp.servers, endpoint, tool_timeout_s);
        let (base_url, token) = (self.proxy.base_url(), admission.token());
        let thread = match &self.native {
            Some(native) => {
                let id = native.thread();
                self.setup.resumed(id, &base_url, token, servers)
            }
            None => self.setup.thread(&base_url, token, servers),
        };
        let mut talk = Talk::new(server, place, mcp, asked, from_proxy);
        let end = self.converse(&mut talk, thread).await;
        // First its model is taken away, so that nothing is spent on an answer that nobody hears.
        drop(admission);
        talk.server.kill().await;
        let end = match end {
            Err(Halt::Lost(why)) => {
                let complaint = talk.server.complaint();
                let refusal = enclosure.and_then(|enclosure| enclosure.refusal(&complaint));
                Err(match refusal {
                    Some(refusal) => NotReady::NotEnclosed(refusal).into(),
                    None => Halt::Lost(format!("{why}; {complaint}")),
                })
            }
            end => end,
        };
        let closed = self.close_calls(&mut talk, &end).await;
        over_http.end();
        closed?;
        self.keep(&mut talk, &home, &end).await?;
        // Not before: it has the socket that commands are asked for on.
        drop(home);
        end
    }

    /// Hands over what Codex wrote down, where it is known what that stands for.
    async fn keep(
        &mut self,
        talk: &mut Talk,
        home: &Home,
        end: &Result<TurnEnd, Halt>,
    ) -> Result<(), Halt> {
        let (Ok(end) | Err(Halt::End(end))) = end else {
            return Ok(());
        };
        let is_whole = matches!(end, TurnEnd::Completed | TurnEnd::Waiting | TurnEnd::Left);
        if !is_whole {
            return Ok(());
        }
        let (home, before) = (home.path().to_owned(), self.native.as_ref());
        let setup = self.setup.digest();
        let taken = native::take(home, talk, before, &self.story, &setup, self.answers).await;
        match taken {
            Ok(taken) => self.saw(Observation::Checkpoint(Box::new(taken))).await,
            Err(why) => {
                tracing::debug!(turn = self.turn, why, "Codex' own record is not kept");
                Ok(())
            }
        }
    }

    /// Codex' own record is of no use: another process begins anew from what was recorded.
    pub(super) fn not_native(&mut self, why: &str) -> Halt {
        self.begin_anew(why);
        Halt::Again
    }

    /// From here on Codex is given what was recorded; the Run says why.
    fn begin_anew(&mut self, why: &str) {
        tracing::warn!(
            turn = self.turn,
            why,
            "Codex' own record is not gone on with"
        );
        self.native = None;
        self.anew = Some(why.to_owned());
    }

    /// Nothing of this process goes on when it is gone, but for a command whose end the next one is told.
    async fn close_calls(
        &mut self,
        talk: &mut Talk,
        end: &Result<TurnEnd, Halt>,
    ) -> Result<(), Halt> {
        if let (Err(Halt::Lost(_)), Some(call)) = (end, talk.calls.begun()) {
            let over = async {
                if let Some(place) = &talk.place {
                    place.processes.end_of(&call.recorded).await;
                }
                talk.mcp.calls.end_of(&call.recorded).await;
            };
            tokio::select! {
                biased;
                () = over => {}
                _ = self.stop.asked() => {}
            }
        }
        if let Some(place) = &talk.place {
            place.processes.end_all(ENDING).await;
        }
        self.end_children(talk).await?;
        let Some(call) = talk.calls.begun().cloned() else {
            return Ok(());
        };
        let ended = self.process_end(talk, &call.recorded);
        let (end, told) = match ended.or_else(|| self.tool_end(talk, &call.recorded)) {
            Some(ended) => ended,
            None => {
                let end = ToolEnd {
                    status: CallStatus::Incomplete,
                    exit_code: None,
                    output: OUTCOME_UNKNOWN.to_owned(),
                    duration_ms: 0,
                };
                (end, OUTCOME_UNKNOWN.to_owned())
            }
        };
        self.end_call(talk, &call.recorded, end, told).await
    }

    /// Which MCP servers over HTTP it may reach.
    fn policy(&self) -> Policy {
        let network = self.environment.as_ref().map(|own| own.network());
        Policy {
            private_hosts: self.options.mcp_private_hosts.clone(),
            network: network.unwrap_or_default(),
            reach: Reach::default(),
        }
    }

    pub(super) async fn saw(&mut self, what: Observation) -> Result<(), Halt> {
        Ok(self.link.saw(what).await?)
    }

    /// Whether a shorter history can be tried.
    pub(super) fn shorten(&mut self, sent_bytes: usize) -> bool {
        if self.native.is_some() {
            self.begin_anew("the provider says that it is too long");
            return true;
        }
        self.budget_bytes = self.budget_bytes.min(sent_bytes) / 2;
        self.budget_bytes >= HISTORY_LEAST_BYTES
    }
}
