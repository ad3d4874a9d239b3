//! The conversation with one process: what it is told, what it may do, and when it is over.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
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
use super::witness::Witness;
use crate::api::TurnErrorCode;
use crate::backend::harness::responses::patch;
use crate::engine::ports::{Claim, ModelError, Past, Steer, TurnEnd};
use crate::engine::weight::json_bytes;

/// How long an effect may be asked for before the model's call for it is known. Both come from Codex at the same time, on two ways.
const UNCALLED: Duration = Duration::from_secs(5);

/// Silence after which something that waits for Codex is looked at again.
const LATE: Duration = Duration::from_secs(1);

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
    pub(super) witness: Witness,
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
            witness: Witness::default(),
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
            (false, true) if !self.witness.is_idle() => LATE,
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
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            end = stop.cancelled() => return Err(Halt::End(end)),
            begun = self.begin(talk, thread) => begun?,
        }
        self.feed(talk).await?;
        let mut leaving = false;
        loop {
            if leaving && !talk.is_acting() {
                return Ok(TurnEnd::Left);
            }
            self.pass_gates(talk).await?;
            self.pass_model(talk).await?;
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

    /// Greets the process and has it begin a thread, or go on with the one that was put into its home.
    async fn begin(&mut self, talk: &mut Talk, thread: Value) -> Result<(), Halt> {
        greet(&mut talk.server).await?;
        if self.native.is_none() {
            let started = talk.server.rpc.ask("thread/start", thread).await;
            let started = started.map_err(|error| {
                missing_server(&error, &talk.mcp).unwrap_or_else(|| error.into())
            })?;
            talk.thread = text(&started["thread"]["id"])?;
            return Ok(());
        }
        let resumed = talk.server.rpc.ask("thread/resume", thread.clone()).await;
        if let Err(error) = &resumed
            && let Some(missing) = missing_server(error, &talk.mcp)
        {
            // Another thread would miss it, too.
            return Err(missing);
        }
        let resumed = self.unless_refused(resumed)?;
        let has_environment = talk.place.is_some();
        if let Some(what) = self.setup.differs(&thread, &resumed, has_environment) {
            return Err(self.not_native(&format!("its {what} is not what was asked for")));
        }
        talk.thread = text(&resumed["thread"]["id"])?;
        Ok(())
    }

    /// What Codex answered; if it refused to go on with its own record, another process begins anew.
    fn unless_refused(&mut self, answer: Result<Value, RpcError>) -> Result<Value, Halt> {
        match answer {
            Err(RpcError::Refused { refusal, .. }) if self.native.is_some() => {
                Err(self.not_native(&refusal.message))
            }
            answer => Ok(answer?),
        }
    }

    /// Gives the process the story so far, and the messages that wait.
    async fn feed(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        let items = match &self.native {
            None => self.story.items(self.budget_bytes),
            Some(native) => match native.missing(&self.story, self.budget_bytes) {
                Some(missing) => missing,
                None => return Err(self.not_native("what is missing can't be told")),
            },
        };
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
            let told = talk.server.rpc.ask("thread/inject_items", params).await;
            self.unless_refused(told)?;
        }
        talk.witness.follow(&talk.thread, last.is_some());
        let params = self.setup.turn(&talk.thread, last.as_ref());
        let begun = talk.server.rpc.ask("turn/start", params).await?;
        talk.codex_turn = text(&begun["turn"]["id"])?;
        talk.last_event = Instant::now();
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
                self.answered(call_id.clone(), name, answer);
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
                false => Ok(String::new()),
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
                passed = passed.map(|_| call.recorded.clone());
            }
            if let Some((gate, _)) = talk.queue.remove(at) {
                // Whoever asked may be gone with the process; then it does not happen, and the call ends as unknown.
                let _ = gate.answer.send(passed);
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
        if talk.awaits_client
            && talk.response_complete
            && talk.queue.is_empty()
            && talk.witness.is_idle()
        {
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

/// Greets a process.
async fn greet(server: &mut AppServer) -> Result<(), Halt> {
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
    Ok(server.rpc.tell("initialized").await?)
}

/// Why there is no thread, if that is because of an MCP server that the Agent requires.
fn missing_server(error: &RpcError, mcp: &Mcp) -> Option<Halt> {
    /// In Codex' words, before the servers that are missing.
    const MISSING: &str = "required MCP servers failed to initialize: ";
    let RpcError::Refused { refusal, .. } = error else {
        return None;
    };
    let (_, missing) = refusal.message.split_once(MISSING)?;
    let label = missing.split(':').next().unwrap_or_default();
    let why = mcp.trouble_of(label).unwrap_or_else(|| missing.to_owned());
    let message = format!("the MCP server {label} is required and did not come up: {why}");
    Some(failed(TurnErrorCode::ConnectionFailed, message))
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
