//! The agents that the agent starts: Codex gives each a thread of its own in the same process. What it does is told under that thread's name, by Codex and by the proxy.
//!
//! They live no longer than their process, and so no longer than the Turn. What they do happens as the agent's own deeds do: in the same environment, each recorded before
//! it begins; of theirs, too, only one happens at a time, but those of several agents happen side by side. Their tokens and model calls are the Turn's.

use serde_json::Value;

use super::calls::{Call, Calls, Stage};
use super::delegating::Delegated;
use super::exec::Effect;
use super::failure;
use super::seen::told_of;
use super::setup::{APPLY_PATCH, flat_name};
use super::story::{COMMENTARY, FINAL};
use super::talk::Talk;
use super::turn::{Halt, Turn};
use crate::api::CallStatus;
use crate::backend::harness::responses::OUTCOME_UNKNOWN;
use crate::engine::ports::{Claim, ClaimAs, Observation, SubagentEnd, SubagentNews, ToolEnd};

/// News of threads that are not known yet; more are forgotten.
const EARLY: usize = 1_000;

/// One agent that was started.
pub(super) struct Child {
    pub(super) thread: String,
    pub(super) calls: Calls,
    /// A message whose meaning shows with what follows it.
    pub(super) held: Option<(String, Option<String>)>,
    pub(super) is_open: bool,
    pub(super) works: bool,
}

/// All agents that the agent of a conversation started.
#[derive(Default)]
pub(super) struct Children {
    pub(super) all: Vec<Child>,
    /// Calls about them that are not over.
    pub(super) open: Vec<Delegated>,
    /// What was said of threads that are not known yet.
    pub(super) early: Vec<(String, Value)>,
}

/// Whose a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The agent's own.
    Root,
    /// The one's with this place.
    Child(usize),
}

impl Children {
    pub(super) fn of(&self, thread: &str) -> Option<usize> {
        self.all.iter().position(|child| child.thread == thread)
    }

    /// Whether an effect of one of them goes on.
    pub(super) fn are_acting(&self) -> bool {
        self.all.iter().any(|child| child.calls.begun().is_some())
    }

    /// Whether one of them has something to do.
    pub(super) fn are_working(&self) -> bool {
        self.all.iter().any(|child| child.works)
    }
}

impl Talk {
    /// The calls that an effect may be of, with their agents. It is one at most, unless several agents patch at the same time: Codex does not say whose
    /// patch it is.
    pub(super) fn callers(&self, effect: &Effect) -> Vec<(Who, Call)> {
        let children = self.children.all.iter().enumerate();
        let children = children.map(|(at, child)| (Who::Child(at), &child.calls));
        let agents = std::iter::once((Who::Root, &self.calls)).chain(children);
        match effect {
            Effect::Command { call_id, .. } | Effect::Tool { call_id, .. } => {
                let mut of = agents.filter_map(|(who, calls)| Some((who, calls.of(call_id)?)));
                // Ids are the provider's; should it give one twice, it is the call that nothing happened for.
                let first = of.next();
                let found = match first {
                    Some((_, call)) if call.stage != Stage::Asked => {
                        of.find(|(_, call)| call.stage == Stage::Asked).or(first)
                    }
                    other => other,
                };
                found
                    .map(|(who, call)| (who, call.clone()))
                    .into_iter()
                    .collect()
            }
            Effect::Files => agents
                .filter_map(|(who, calls)| Some((who, calls.open_of_tool(APPLY_PATCH)?.clone())))
                .collect(),
        }
    }

    /// The calls of this agent.
    pub(super) fn calls_of(&self, who: Who) -> Option<&Calls> {
        match who {
            Who::Root => Some(&self.calls),
            Who::Child(at) => Some(&self.children.all.get(at)?.calls),
        }
    }

    /// The call of this agent that is begun and not over.
    pub(super) fn begun_of(&self, who: Who) -> Option<&Call> {
        self.calls_of(who)?.begun()
    }

    /// A call of this agent moved on.
    pub(super) fn set_of(&mut self, who: Who, recorded: &str, stage: Stage) {
        match who {
            Who::Root => self.calls.set(recorded, stage),
            Who::Child(at) => {
                if let Some(child) = self.children.all.get_mut(at) {
                    child.calls.set(recorded, stage);
                }
            }
        }
    }

    /// Whether an effect goes on, whosever it is.
    pub(super) fn is_acting(&self) -> bool {
        self.calls.begun().is_some() || self.children.are_acting()
    }

    pub(super) fn child(&mut self, at: usize) -> Result<&mut Child, Halt> {
        let gone = || Halt::Lost("an agent is gone that was there".to_owned());
        self.children.all.get_mut(at).ok_or_else(gone)
    }
}

impl Turn<'_> {
    /// Has an effect of this agent recorded.
    pub(super) async fn claim_of(
        &mut self,
        talk: &mut Talk,
        who: Who,
        claim: Claim,
    ) -> Result<(), Halt> {
        let by = match who {
            Who::Root => return Ok(self.link.claim(claim).await?),
            Who::Child(at) => talk.children.all.get(at).map(|child| child.thread.clone()),
        };
        let delegates = None;
        let claim = ClaimAs {
            by,
            delegates,
            claim,
        };
        Ok(self.link.claim_as(claim).await?)
    }

    /// Something was said of another thread.
    pub(super) async fn child_noticed(
        &mut self,
        talk: &mut Talk,
        method: &str,
        params: Value,
    ) -> Result<(), Halt> {
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        if thread == talk.thread || thread.is_empty() || !self.setup.delegates() {
            return Ok(());
        }
        let Some(at) = talk.children.of(&thread) else {
            let known = matches!(method, "turn/started" | "item/completed" | "turn/completed");
            if known && talk.children.early.len() < EARLY {
                talk.children.early.push((method.to_owned(), params));
            }
            return Ok(());
        };
        match method {
            "turn/started" => {
                talk.child(at)?.works = true;
                self.of_child(&thread, SubagentNews::Began).await
            }
            "item/completed" => {
                self.child_shows(talk, at, &params["item"]).await?;
                talk.witness.told(&thread, &params["item"]);
                Ok(())
            }
            "turn/completed" => {
                self.child_says(talk, at, FINAL).await?;
                talk.child(at)?.works = false;
                let end = match params["turn"]["status"].as_str() {
                    Some("completed") => SubagentEnd::Completed,
                    Some("failed") => {
                        let (code, message) = failure::read(&params["turn"]["error"]);
                        SubagentEnd::Failed { code, message }
                    }
                    _ => SubagentEnd::Interrupted,
                };
                self.of_child(&thread, SubagentNews::Ended(end)).await
            }
            _ => Ok(()),
        }
    }

    /// An item as a child's model wrote it, or as that model is given it.
    pub(super) async fn child_item(
        &mut self,
        talk: &mut Talk,
        at: usize,
        mut item: Value,
    ) -> Result<(), Halt> {
        match item["type"].as_str().unwrap_or_default() {
            "reasoning" => {
                let parts = item["summary"].as_array().into_iter().flatten();
                let texts = parts.filter_map(|part| part["text"].as_str());
                let summary = texts.map(str::to_owned).collect();
                let native = None;
                let thought = Observation::Reasoning { summary, native };
                self.did(talk, at, thought).await
            }
            "web_search_call" => {
                self.child_says(talk, at, COMMENTARY).await?;
                self.did(talk, at, Observation::WebSearch { native: item })
                    .await
            }
            "function_call" | "custom_tool_call" => {
                self.child_says(talk, at, COMMENTARY).await?;
                let arguments = match item["type"] == "custom_tool_call" {
                    true => item["input"].take(),
                    false => item["arguments"].take(),
                };
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let child = talk.child(at)?;
                let id = text(&item["call_id"]);
                // Ids of several agents may be the same.
                let mut recorded = format!("{}/{id}", &child.thread);
                while child.calls.recorded(&recorded).is_some() {
                    recorded.push('+');
                }
                child.calls.add(Call {
                    id,
                    recorded,
                    name: flat_name(item["namespace"].as_str(), text(&item["name"])),
                    arguments: text(&arguments),
                    stage: Stage::Asked,
                });
                Ok(())
            }
            "function_call_output" | "custom_tool_call_output" => {
                self.child_told(talk, at, &item).await
            }
            _ => Ok(()),
        }
    }

    /// What a child's model is told about a call.
    async fn child_told(&mut self, talk: &mut Talk, at: usize, item: &Value) -> Result<(), Halt> {
        let child = talk.child(at)?;
        let id = item["call_id"].as_str().unwrap_or_default();
        let Some(call) = child.calls.of(id).cloned() else {
            return Ok(());
        };
        if call.stage == Stage::Over {
            return Ok(());
        }
        if call.stage == Stage::Asked {
            if child.calls.begun().is_some() {
                // One call of an agent is open at a time. This one had no effect and its end is not waited for by anybody.
                child.calls.set(&call.recorded, Stage::Over);
                return Ok(());
            }
            let claim = self.plain_claim(&call);
            self.claim_of(talk, Who::Child(at), claim).await?;
        }
        let told = told_of(item);
        let ended = self.process_end(talk, &call.recorded);
        let ended = ended.or_else(|| self.tool_end(talk, &call.recorded));
        let (end, told) = ended.unwrap_or_else(|| {
            let (mut end, told) = self.plain_end(&call, told);
            if self.setup.is_function(&call.name) {
                // A function of the Agent was refused.
                end.status = CallStatus::Failed;
            }
            (end, told)
        });
        self.child_call_ended(talk, at, &call, end, told).await
    }

    /// An item of a child as Codex shows it is complete.
    async fn child_shows(&mut self, talk: &mut Talk, at: usize, item: &Value) -> Result<(), Halt> {
        let kind = item["type"].as_str().unwrap_or_default();
        match kind {
            "userMessage" => {
                let parts = item["content"].as_array().into_iter().flatten();
                let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                let told = SubagentNews::Told {
                    from: None,
                    text: texts.join("\n"),
                };
                let thread = talk.child(at)?.thread.clone();
                self.of_child(&thread, told).await
            }
            "agentMessage" => {
                self.child_says(talk, at, COMMENTARY).await?;
                let text = item["text"].as_str().unwrap_or_default();
                let phase = item["phase"].as_str().map(str::to_owned);
                if !text.is_empty() {
                    talk.child(at)?.held = Some((text.to_owned(), phase));
                }
                Ok(())
            }
            "commandExecution" | "fileChange" | "mcpToolCall" => {
                let id = item["id"].as_str().unwrap_or_default();
                let call = talk.child(at)?.calls.of(id);
                let Some(call) = call.filter(|call| call.stage == Stage::Begun).cloned() else {
                    return Ok(());
                };
                let (end, told) = match kind {
                    "fileChange" => self.patch_end(item),
                    "mcpToolCall" => self.shown_end(talk, &call.recorded, item),
                    _ => self.command_end(talk, &call.recorded, item),
                };
                self.child_call_ended(talk, at, &call, end, told).await
            }
            _ => Ok(()),
        }
    }

    /// Reports a message of a child whose meaning is clear now.
    pub(super) async fn child_says(
        &mut self,
        talk: &mut Talk,
        at: usize,
        usual_phase: &str,
    ) -> Result<(), Halt> {
        let Some((text, phase)) = talk.child(at)?.held.take() else {
            return Ok(());
        };
        let phase = Some(phase.unwrap_or_else(|| usual_phase.to_owned()));
        let said = Observation::Message {
            text,
            phase,
            incomplete: false,
        };
        self.did(talk, at, said).await
    }

    async fn child_call_ended(
        &mut self,
        talk: &mut Talk,
        at: usize,
        call: &Call,
        end: ToolEnd,
        output: String,
    ) -> Result<(), Halt> {
        talk.set_of(Who::Child(at), &call.recorded, Stage::Over);
        talk.unrecorded_ends = true;
        let ended = Observation::ToolEnded {
            call_id: call.recorded.clone(),
            end,
            output,
        };
        self.did(talk, at, ended).await?;
        self.check_environment(talk)
    }

    async fn did(&mut self, talk: &mut Talk, at: usize, what: Observation) -> Result<(), Halt> {
        self.progress += 1;
        let thread = talk.child(at)?.thread.clone();
        self.of_child(&thread, SubagentNews::Did(Box::new(what)))
            .await
    }

    pub(super) async fn of_child(&mut self, thread: &str, news: SubagentNews) -> Result<(), Halt> {
        let key = thread.to_owned();
        self.saw(Observation::Subagent { key, news }).await
    }

    /// Tokens were spent in this conversation of the process.
    pub(super) async fn spent(
        &mut self,
        talk: &mut Talk,
        thread: Option<&str>,
        spent: Observation,
    ) -> Result<(), Halt> {
        match thread.filter(|thread| talk.children.of(thread).is_some()) {
            Some(child) => {
                self.of_child(child, SubagentNews::Did(Box::new(spent)))
                    .await
            }
            None => self.saw(spent).await,
        }
    }

    /// The call of a child that is begun is over with it.
    pub(super) async fn end_child_call(&mut self, talk: &mut Talk, at: usize) -> Result<(), Halt> {
        let Some(call) = talk.begun_of(Who::Child(at)).cloned() else {
            return Ok(());
        };
        let ended = self.process_end(talk, &call.recorded);
        let ended = ended.or_else(|| self.tool_end(talk, &call.recorded));
        let (end, told) = ended.unwrap_or_else(|| {
            let end = ToolEnd {
                status: CallStatus::Incomplete,
                exit_code: None,
                output: OUTCOME_UNKNOWN.to_owned(),
                duration_ms: 0,
            };
            (end, OUTCOME_UNKNOWN.to_owned())
        });
        talk.set_of(Who::Child(at), &call.recorded, Stage::Over);
        let ended = Observation::ToolEnded {
            call_id: call.recorded,
            end,
            output: told,
        };
        self.did(talk, at, ended).await
    }

    /// The process is gone, what ran in it has ended: nobody that it held is left.
    pub(super) async fn end_children(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        for at in 0..talk.children.all.len() {
            self.child_says(talk, at, COMMENTARY).await?;
            self.end_child_call(talk, at).await?;
            let child = talk.child(at)?;
            if std::mem::take(&mut child.is_open) {
                let thread = child.thread.clone();
                self.of_child(&thread, SubagentNews::Closed).await?;
            }
        }
        self.end_delegations(talk).await
    }
}
