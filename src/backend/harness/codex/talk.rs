//! The conversation with one process: what it is told, what it may do, and when it is over.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::calls::{Call, Calls, Stage};
use super::children::{Children, Who};
use super::config::WORKSPACE;
use super::exec::{Effect, Gate, Place};
use super::mcp::Mcp;
use super::process::AppServer;
use super::program::PINNED;
use super::proxy::FromProxy;
use super::rpc::{Incoming, RpcError};
use super::setup;
use super::story;
use super::turn::{Halt, Turn, failed};
use crate::api::TurnErrorCode;
use crate::backend::harness::responses::patch;
use crate::engine::ports::{Claim, Fenced, ModelError, Observation, Past, Steer, TurnEnd};
use crate::engine::weight::json_bytes;

/// How long an effect may be asked for before the model's call for it is known. Both come from Codex at the same time, on two ways.
const UNCALLED: Duration = Duration::from_secs(5);

/// How long the model may be told the end of a call before we are. Codex says it first to us, on another way.
const UNTOLD: Duration = Duration::from_secs(5);

/// Silence after which nothing more comes of a response whose function the client must answer first.
const QUIET: Duration = Duration::from_millis(500);

/// Silence after which a process that has something to do is given up. The model's own silence ends earlier.
const SILENT: Duration = Duration::from_secs(900);

/// Commands in a row that an environment may fail to run.
const TROUBLES: u32 = 3;

/// One conversation.
pub struct Talk {
    pub(super) server: AppServer,
    pub(super) place: Option<Place>,
    pub(super) mcp: Arc<Mcp>,
    gates: mpsc::Receiver<Gate>,
    from_proxy: mpsc::Receiver<FromProxy>,
    /// Why the provider did not answer last.
    pub(super) refused: Option<ModelError>,
    /// Effects that wait, and since when.
    queue: VecDeque<(Gate, Instant)>,
    /// Requests to the model that wait, and since when.
    asks: VecDeque<(Ask, Instant)>,
    /// Calls ended, and it is not known that they are recorded.
    pub(super) unrecorded_ends: bool,
    pub(super) thread: String,
    pub(super) codex_turn: String,
    pub(super) calls: Calls,
    pub(super) children: Children,
    /// A message of the agent whose meaning shows with what follows it.
    pub(super) held: Option<(String, Option<String>)>,
    /// A response is complete, and no other one began.
    pub(super) response_complete: bool,
    /// The model asked the client for something that it waits for.
    pub(super) awaits_client: bool,
    /// Late answers that the agent was not seen to take.
    pub(super) untaken_answers: HashSet<String>,
    /// About the history that the process was given.
    pub(super) sent_bytes: usize,
    last_event: Instant,
}

/// A request to the model that is held back.
struct Ask {
    /// The calls whose ends it tells.
    calls: Vec<String>,
    go: oneshot::Sender<Result<(), Fenced>>,
}

/// What happens next in a conversation.
enum Event {
    Stop(TurnEnd),
    Gate(Gate),
    Model(FromProxy),
    Steer(Steer),
    Said(Incoming),
    Gone,
    Time,
}

impl Talk {
    /// With a process that was just started.
    pub fn new(
        server: AppServer,
        place: Option<Place>,
        mcp: Arc<Mcp>,
        gates: mpsc::Receiver<Gate>,
        from_proxy: mpsc::Receiver<FromProxy>,
    ) -> Talk {
        Talk {
            server,
            place,
            mcp,
            gates,
            from_proxy,
            refused: None,
            queue: VecDeque::new(),
            asks: VecDeque::new(),
            unrecorded_ends: false,
            thread: String::new(),
            codex_turn: String::new(),
            calls: Calls::default(),
            children: Children::default(),
            held: None,
            response_complete: false,
            awaits_client: false,
            untaken_answers: HashSet::new(),
            sent_bytes: 0,
            last_event: Instant::now(),
        }
    }

    /// Whether news are of the turn that is followed. Those of what it was given of the past, and of threads that others began, are not.
    pub(super) fn is_about(&self, params: &Value) -> bool {
        let turn = params.get("turnId").unwrap_or(&params["turn"]["id"]);
        params["threadId"] == self.thread.as_str() && *turn == self.codex_turn.as_str()
    }

    /// When there is something to look at even if nothing happens.
    fn look_at(&self) -> Instant {
        let patience = match (self.awaits_client, self.queue.is_empty()) {
            (true, _) => QUIET,
            (false, false) => UNCALLED,
            (false, true) if !self.asks.is_empty() => UNTOLD,
            (false, true) => SILENT,
        };
        self.last_event + patience
    }
}

impl Turn<'_> {
    /// Feeds a process and follows it until it, or the Turn, is over.
    pub(super) async fn converse(
        &mut self,
        talk: &mut Talk,
        thread: Value,
    ) -> Result<TurnEnd, Halt> {
        tokio::select! {
            biased;
            end = self.stop.cancelled() => return Err(Halt::End(end)),
            begun = begin(&mut talk.server, thread, &talk.mcp) => talk.thread = begun?,
        }
        self.feed(talk).await?;
        let mut leaving = false;
        loop {
            if leaving && !talk.is_acting() {
                return Ok(TurnEnd::Left);
            }
            self.pass_gates(talk).await?;
            self.pass_asks(talk).await?;
            let stop = self.stop.clone();
            let asked = async {
                match leaving {
                    true => stop.cancelled().await,
                    false => stop.asked().await,
                }
            };
            let look_at = talk.look_at();
            let event = tokio::select! {
                biased;
                end = asked => Event::Stop(end),
                Some(gate) = talk.gates.recv() => Event::Gate(gate),
                // Told before Codex can know, so it is heard before Codex can say what came of it.
                Some(model) = talk.from_proxy.recv() => Event::Model(model),
                said = talk.server.rpc.next() => said.map_or(Event::Gone, Event::Said),
                Some(steer) = self.link.steer.recv() => Event::Steer(steer),
                () = tokio::time::sleep_until(look_at) => Event::Time,
            };
            if !matches!(event, Event::Time) {
                talk.last_event = Instant::now();
            }
            match event {
                Event::Stop(TurnEnd::Cancelled) => return Ok(TurnEnd::Cancelled),
                Event::Stop(_) if self.link.to_engine.is_closed() => return Ok(TurnEnd::Left),
                Event::Stop(_) => leaving = true,
                Event::Gate(gate) => talk.queue.push_back((gate, Instant::now())),
                Event::Model(model) => self.model(talk, model).await?,
                Event::Steer(steer) => self.steer(talk, steer).await?,
                Event::Said(said) => {
                    if let Some(end) = self.said(talk, said).await? {
                        return Ok(end);
                    }
                }
                Event::Gone => return Err(Halt::Lost("it ended".to_owned())),
                Event::Time => self.look(talk)?,
            }
        }
    }

    /// Gives the process the story so far, and the messages that wait.
    async fn feed(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        let items = self.story.items(self.budget_bytes);
        let mut items = self.setup.in_namespaces(items);
        talk.sent_bytes = items.iter().map(json_bytes).sum();
        // A turn begins with one message. All are confirmed with that one, which is the last.
        let (last, earlier) = match self.story.waiting().split_last() {
            Some((last, earlier)) => (Some(last.clone()), earlier),
            None => (None, &[][..]),
        };
        items.extend(earlier.iter().flat_map(|message| {
            story::items_of(Past::User {
                content: message.content.clone(),
            })
        }));
        items.extend(self.note_of_children());
        if !items.is_empty() {
            let params = json!({"threadId": talk.thread, "items": items});
            talk.server.rpc.ask("thread/inject_items", params).await?;
        }
        let params = self.setup.turn(&talk.thread, last.as_ref());
        let begun = talk.server.rpc.ask("turn/start", params).await?;
        talk.codex_turn = text(&begun["turn"]["id"])?;
        talk.last_event = Instant::now();
        Ok(())
    }

    /// What passed between Codex and its model.
    async fn model(&mut self, talk: &mut Talk, model: FromProxy) -> Result<(), Halt> {
        match model {
            FromProxy::Asked { outputs, go, .. } => {
                talk.refused = None;
                let ids = outputs
                    .iter()
                    .filter_map(|output| output["call_id"].as_str());
                let calls = ids.map(str::to_owned).collect();
                talk.asks.push_back((Ask { calls, go }, Instant::now()));
            }
            FromProxy::Call { go, .. } => {
                // Effects are recorded where they happen (`pass_gates`); here there is nothing to hold back.
                let _ = go.send(Ok(()));
            }
            // Codex tells the same.
            FromProxy::Reasoning { .. } => {}
            FromProxy::Usage { thread, usage } => {
                self.model_calls += 1;
                let spent = Observation::ModelCall(usage);
                self.spent(talk, thread.as_deref(), spent).await?;
            }
            FromProxy::Failed(error) => talk.refused = Some(error),
        }
        Ok(())
    }

    /// Hands over what came while the agent works. Whether it took it shows later.
    async fn steer(&mut self, talk: &mut Talk, steer: Steer) -> Result<(), Halt> {
        let params = match steer {
            Steer::Message(message) => {
                let params = setup::steer(&talk.thread, &talk.codex_turn, &message);
                self.story.hear(message);
                params
            }
            Steer::Answer {
                call_id,
                name,
                answer,
            } => {
                let said = story::items_of(Past::Answered {
                    call_id: call_id.clone(),
                    name: name.clone(),
                    answer: answer.clone(),
                });
                let params = setup::late_answer(&talk.thread, &talk.codex_turn, &call_id, &said);
                self.story.answered(call_id.clone(), name, answer);
                talk.untaken_answers.insert(call_id);
                params
            }
        };
        match talk.server.rpc.ask("turn/steer", params).await {
            // Its turn is just ending: what waits is looked at then.
            Ok(_) | Err(RpcError::Refused { .. }) => Ok(()),
            Err(gone) => Err(gone.into()),
        }
    }

    /// Lets effects happen that wait, those of one agent one after the other, each once it is recorded.
    async fn pass_gates(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        let mut at = 0;
        while let Some((gate, since)) = talk.queue.get(at) {
            let callers = talk.callers(&gate.effect);
            let uncalled = callers.is_empty();
            let busy = |(who, call): &(Who, Call)| {
                let begun = talk.begun_of(*who);
                begun.is_some_and(|begun| begun.recorded != call.recorded)
            };
            let waits = match uncalled {
                true => talk.calls.begun().is_some() || since.elapsed() < UNCALLED,
                false => callers.iter().any(busy),
            };
            if waits {
                at += 1;
                continue;
            }
            let mut passed = match uncalled {
                true => Err("no call asked for this; nothing was done".to_owned()),
                false => Ok(()),
            };
            for (who, call) in callers {
                match call.stage {
                    Stage::Asked => {
                        let Some((gate, _)) = talk.queue.get(at) else {
                            break;
                        };
                        let claim = claim(&call, &gate.effect);
                        self.claim_of(talk, who, claim).await?;
                        talk.set_of(who, &call.recorded, Stage::Begun);
                        self.progress += 1;
                    }
                    Stage::Begun => {}
                    Stage::Over => passed = Err("that call is over; nothing was done".to_owned()),
                }
            }
            if let Some((gate, _)) = talk.queue.remove(at) {
                // Whoever asked may be gone with the process; then it does not happen, and the call ends as unknown.
                let _ = gate.answer.send(passed);
            }
        }
        Ok(())
    }

    /// Lets requests to the model pass as soon as the ends that they tell are recorded: a worker that is lost after the model was told
    /// how a call ended leaves none of which nobody knows that.
    async fn pass_asks(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        let mut at = 0;
        while let Some((ask, since)) = talk.asks.get(at) {
            // Another agent of the process may be the one that asks next.
            if ask.calls.iter().any(|id| talk.is_open(id)) && since.elapsed() < UNTOLD {
                at += 1;
                continue;
            }
            if talk.unrecorded_ends {
                self.link.recorded().await?;
                talk.unrecorded_ends = false;
            }
            if let Some((ask, _)) = talk.asks.remove(at) {
                // Whoever asked may be gone.
                let _ = ask.go.send(Ok(()));
            }
        }
        Ok(())
    }

    /// Nothing happened for a while.
    fn look(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        if talk.is_acting() || (talk.awaits_client && talk.children.are_working()) {
            // A command may be silent as long as it likes, and agents that work have their own silence.
            talk.last_event = Instant::now();
            return Ok(());
        }
        if talk.awaits_client && talk.response_complete && talk.queue.is_empty() {
            return Err(Halt::End(TurnEnd::Waiting));
        }
        if talk.last_event.elapsed() >= SILENT {
            return Err(Halt::Lost("it did nothing any more".to_owned()));
        }
        if talk.awaits_client {
            talk.last_event = Instant::now();
        }
        Ok(())
    }

    /// Fails the Turn when commands can't be run.
    pub(super) fn check_environment(&self, talk: &Talk) -> Result<(), Halt> {
        let troubles = talk.place.as_ref().map(|place| place.processes.troubles());
        if troubles.is_some_and(|troubles| troubles >= TROUBLES) {
            let message = format!("the environment failed {TROUBLES} times in a row");
            return Err(failed(TurnErrorCode::SandboxError, message));
        }
        Ok(())
    }
}

/// Greets a process and has it start a thread, whose id it answers.
async fn begin(server: &mut AppServer, thread: Value, mcp: &Mcp) -> Result<String, Halt> {
    let greeting = json!({
        "clientInfo": {"name": "rat-things", "title": null, "version": env!("CARGO_PKG_VERSION")},
        "capabilities": {"experimentalApi": true, "requestAttestation": false},
    });
    let greeted = server.rpc.ask("initialize", greeting).await?;
    let agent = greeted["userAgent"].as_str().unwrap_or_default();
    let version = agent.split_once('/').map_or("", |(_, rest)| rest);
    let version = version.split(' ').next().unwrap_or_default();
    if version != PINNED {
        let message =
            format!("Codex is version {version:?}, and this harness speaks with {PINNED} only");
        return Err(failed(TurnErrorCode::ExecutorVersionIncompatible, message));
    }
    server.rpc.tell("initialized").await?;
    let started = server.rpc.ask("thread/start", thread).await;
    let started = started.map_err(|error| not_started(error, mcp))?;
    text(&started["thread"]["id"])
}

/// A thread that was not started. If that is because of an MCP server that the Agent requires, this says so.
fn not_started(error: RpcError, mcp: &Mcp) -> Halt {
    /// In Codex' words, before the servers that are missing.
    const MISSING: &str = "required MCP servers failed to initialize: ";
    let RpcError::Refused { refusal, .. } = &error else {
        return error.into();
    };
    let Some((_, missing)) = refusal.message.split_once(MISSING) else {
        return error.into();
    };
    let label = missing.split(':').next().unwrap_or_default();
    let why = mcp.trouble_of(label).unwrap_or_else(|| missing.to_owned());
    let message = format!("the MCP server {label} is required and did not come up: {why}");
    failed(TurnErrorCode::ConnectionFailed, message)
}

fn text(value: &Value) -> Result<String, Halt> {
    let odd = || Halt::Lost("it answered without what was asked for".to_owned());
    value.as_str().map(str::to_owned).ok_or_else(odd)
}

/// A call as it is recorded before it begins.
pub(super) fn claim(call: &Call, effect: &Effect) -> Claim {
    let (command, cwd, server_label) = match effect {
        Effect::Command { shown, cwd, .. } => (shown.clone(), Some(cwd.clone()), None),
        Effect::Files => {
            let shown = patch::summary(&call.arguments).unwrap_or_else(|_| call.name.clone());
            (shown, Some(WORKSPACE.to_owned()), None)
        }
        Effect::Tool {
            server_label, tool, ..
        } => (tool.clone(), None, Some(server_label.clone())),
    };
    Claim {
        call_id: call.recorded.clone(),
        name: call.name.clone(),
        arguments: call.arguments.clone(),
        command,
        cwd,
        server_label,
    }
}
