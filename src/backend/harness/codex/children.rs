//! The agents that the agent starts: Codex gives each a thread of its own in the same process, and tells what it does under that thread's name.
//!
//! They live no longer than their process, and so no longer than the Turn. What they do happens as the agent's own deeds do: in the same environment, each recorded before
//! it begins; of theirs, too, only one happens at a time, but those of several agents happen side by side. Their tokens and model calls are the Turn's.

use serde_json::{Value, json};

use super::calls::{Call, Calls, Stage};
use super::exec::Effect;
use super::failure;
use super::seen::told_of;
use super::setup::APPLY_PATCH;
use super::story::{COMMENTARY, FINAL};
use super::talk::Talk;
use super::turn::{Halt, Turn};
use crate::api::CallStatus;
use crate::backend::harness::responses::OUTCOME_UNKNOWN;
use crate::engine::ports::{
    Claim, ClaimAs, Delegates, Observation, Past, SubagentEnd, SubagentNews, ToolEnd, ToolOutcome,
};

/// Codex' name for the tools that are about other agents.
pub const NAMESPACE: &str = "multi_agent_v1";

/// What Codex begins a message with in which it tells an agent that one of its own has something to say.
const NOTIFICATION: &str = "<subagent_notification>";

/// News of threads that are not known yet; more are forgotten.
const EARLY: usize = 1_000;

/// What an agent is told of a call that was open when its process ended.
const GONE: &str = "the agents are gone: they ended with the process that they were in. What they had not reported is not known to be done: verify before repeating it";

/// What an agent is told that goes on without those that it had.
const CLOSED: &str = "All agents that you spawned before this are closed, and can't be resumed, written to or waited for. What they had not reported to you is not known to be done: verify before repeating it.";

/// A call that is about other agents, and that is not over.
struct Delegated {
    /// As Codex knows it.
    id: String,
    /// As it is recorded.
    recorded: String,
    tool: String,
    arguments: String,
}

/// One agent that was started.
pub(super) struct Child {
    thread: String,
    calls: Calls,
    /// A message whose meaning shows with what follows it.
    held: Option<(String, Option<String>)>,
    is_open: bool,
    works: bool,
}

/// All agents that the agent of a conversation started.
#[derive(Default)]
pub(super) struct Children {
    all: Vec<Child>,
    open: Vec<Delegated>,
    /// What was said of threads that are not known yet.
    early: Vec<(String, Value)>,
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
    fn of(&self, thread: &str) -> Option<usize> {
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
            Effect::Command { call_id, .. } => {
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

    /// The call of this agent that is begun and not over.
    pub(super) fn begun_of(&self, who: Who) -> Option<&Call> {
        match who {
            Who::Root => self.calls.begun(),
            Who::Child(at) => self.children.all.get(at)?.calls.begun(),
        }
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

    /// Whether a call of this id has not ended, whosever it is.
    pub(super) fn is_open(&self, id: &str) -> bool {
        let children = self.children.all.iter().map(|child| &child.calls);
        let mut calls = std::iter::once(&self.calls).chain(children);
        let is_open = |call: Option<&Call>| call.is_some_and(|call| call.stage != Stage::Over);
        calls.any(|calls| is_open(calls.of(id)))
            || self.children.open.iter().any(|call| call.id == id)
    }

    /// Whether an effect goes on, whosever it is.
    pub(super) fn is_acting(&self) -> bool {
        self.calls.begun().is_some() || self.children.are_acting()
    }

    fn child(&mut self, at: usize) -> Result<&mut Child, Halt> {
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

    /// The model called a tool that is about other agents; `recorded` is the id of that call.
    pub(super) async fn delegates(
        &mut self,
        talk: &mut Talk,
        item: &Value,
        recorded: String,
    ) -> Result<(), Halt> {
        let field = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let (id, tool, arguments) = (field("call_id"), field("name"), field("arguments"));
        let named = format!("{NAMESPACE}.{tool}");
        let claim = Claim {
            call_id: recorded.clone(),
            name: named.clone(),
            arguments: arguments.clone(),
            command: tool.clone(),
            cwd: None,
        };
        let delegates = delegation(&tool, &arguments);
        let by = None;
        self.link
            .claim_as(ClaimAs {
                by,
                delegates,
                claim,
            })
            .await?;
        self.progress += 1;
        talk.children.open.push(Delegated {
            id,
            recorded,
            tool,
            arguments,
        });
        Ok(())
    }

    /// The model is told how such a call ended. `false`: it is of another kind.
    pub(super) async fn delegated(&mut self, talk: &mut Talk, item: &Value) -> Result<bool, Halt> {
        let open = &mut talk.children.open;
        let Some(at) = open
            .iter()
            .position(|call| item["call_id"] == call.id.as_str())
        else {
            return Ok(false);
        };
        let call = open.remove(at);
        let told = told_of(item);
        let said: Value = serde_json::from_str(&told).unwrap_or_default();
        // What did not work is told in words.
        let status = match said.is_object() {
            true => CallStatus::Completed,
            false => CallStatus::Failed,
        };
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        let tool = call.tool.clone();
        talk.unrecorded_ends = true;
        self.end_delegated(call, status, told).await?;
        if status == CallStatus::Completed {
            match tool.as_str() {
                "spawn_agent" => self.child_began(talk, &said, &arguments).await?,
                "close_agent" => self.child_closed(talk, &arguments["target"], true).await?,
                "resume_agent" => self.child_closed(talk, &arguments["id"], false).await?,
                _ => {}
            }
        }
        Ok(true)
    }

    async fn end_delegated(
        &mut self,
        call: Delegated,
        status: CallStatus,
        told: String,
    ) -> Result<(), Halt> {
        self.progress += 1;
        self.story.add(Past::Tool {
            call_id: call.recorded.clone(),
            name: format!("{NAMESPACE}.{}", call.tool),
            arguments: call.arguments,
            outcome: ToolOutcome::Done {
                output: told.clone(),
            },
        });
        let end = ToolEnd {
            status,
            exit_code: None,
            output: told.clone(),
            duration_ms: 0,
        };
        self.saw(Observation::ToolEnded {
            call_id: call.recorded,
            end,
            output: told,
        })
        .await
    }

    async fn child_began(
        &mut self,
        talk: &mut Talk,
        said: &Value,
        arguments: &Value,
    ) -> Result<(), Halt> {
        let Some(thread) = said["agent_id"].as_str() else {
            return Ok(());
        };
        let thread = thread.to_owned();
        if talk.children.of(&thread).is_some() {
            return Ok(());
        }
        let text = text_of(arguments);
        let opened = SubagentNews::Opened {
            parent: None,
            name: said["nickname"].as_str().map(str::to_owned),
            instructions: (!text.is_empty()).then_some(text),
        };
        self.of(&thread, opened).await?;
        talk.children.all.push(Child {
            thread: thread.clone(),
            calls: Calls::default(),
            held: None,
            is_open: true,
            works: false,
        });
        let early = std::mem::take(&mut talk.children.early);
        let (mine, others) = early
            .into_iter()
            .partition(|(_, params)| params["threadId"] == thread.as_str());
        talk.children.early = others;
        for (method, params) in mine {
            self.child_noticed(talk, &method, params).await?;
        }
        Ok(())
    }

    async fn child_closed(
        &mut self,
        talk: &mut Talk,
        thread: &Value,
        closed: bool,
    ) -> Result<(), Halt> {
        let thread = thread.as_str().unwrap_or_default();
        let Some(at) = talk.children.of(thread) else {
            return Ok(());
        };
        let child = talk.child(at)?;
        if child.is_open != closed {
            return Ok(());
        }
        child.is_open = !closed;
        child.works = false;
        if closed {
            // Nothing of it goes on, whatever Codex left running.
            if let (Some(call), Some(place)) = (talk.begun_of(Who::Child(at)), &talk.place) {
                place.processes.cancel_of(&call.id);
                place.processes.end_of(&call.id).await;
            }
            self.end_child_call(talk, at).await?;
        }
        let news = match closed {
            true => SubagentNews::Closed,
            false => SubagentNews::Reopened,
        };
        self.of(thread, news).await
    }

    /// What the agent is told by those that it started comes as a message among its own. `false`: this is none.
    pub(super) async fn heard(&mut self, talk: &mut Talk, item: &Value) -> Result<bool, Halt> {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        let Some(rest) = text.strip_prefix(NOTIFICATION) else {
            return Ok(false);
        };
        let said = rest.lines().find(|line| line.starts_with('{'));
        let said: Value = serde_json::from_str(said.unwrap_or_default()).unwrap_or_default();
        let from = said["agent_path"].as_str().unwrap_or_default();
        if item["role"] != "user" || talk.children.of(from).is_none() {
            return Ok(false);
        }
        self.story.add(Past::User {
            content: vec![json!({"type": "input_text", "text": text})],
        });
        self.saw(Observation::Heard {
            from: from.to_owned(),
            text: text.to_owned(),
        })
        .await?;
        Ok(true)
    }

    /// Something was said of another thread.
    pub(super) async fn child_noticed(
        &mut self,
        talk: &mut Talk,
        method: &str,
        mut params: Value,
    ) -> Result<(), Halt> {
        let thread = params["threadId"].as_str().unwrap_or_default().to_owned();
        if thread == talk.thread || thread.is_empty() || !self.setup.delegates() {
            return Ok(());
        }
        let Some(at) = talk.children.of(&thread) else {
            let known = matches!(
                method,
                "turn/started"
                    | "rawResponseItem/completed"
                    | "rawResponse/completed"
                    | "item/completed"
                    | "turn/completed"
            );
            if known && talk.children.early.len() < EARLY {
                talk.children.early.push((method.to_owned(), params));
            }
            return Ok(());
        };
        match method {
            "turn/started" => {
                talk.child(at)?.works = true;
                self.of(&thread, SubagentNews::Began).await
            }
            "rawResponseItem/completed" => self.child_item(talk, at, params["item"].take()).await,
            "rawResponse/completed" => self.child_says(talk, at, FINAL).await,
            "item/completed" => self.child_shows(talk, at, &params["item"]).await,
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
                self.of(&thread, SubagentNews::Ended(end)).await
            }
            _ => Ok(()),
        }
    }

    /// An item as a child's model wrote it, or as that model is given it.
    async fn child_item(
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
                self.did(
                    talk,
                    at,
                    Observation::Reasoning {
                        summary,
                        native: None,
                    },
                )
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
                    name: text(&item["name"]),
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
            let claim = Claim {
                call_id: call.recorded.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
                command: call.name.clone(),
                cwd: None,
            };
            self.claim_of(talk, Who::Child(at), claim).await?;
        }
        let told = told_of(item);
        let (end, told) = self.process_end(talk, id).unwrap_or_else(|| {
            let end = ToolEnd {
                status: CallStatus::Completed,
                exit_code: None,
                output: self.bounded(&told),
                duration_ms: 0,
            };
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
                self.of(&thread, told).await
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
            "commandExecution" | "fileChange" => {
                let id = item["id"].as_str().unwrap_or_default();
                let call = talk.child(at)?.calls.of(id);
                let Some(call) = call.filter(|call| call.stage == Stage::Begun).cloned() else {
                    return Ok(());
                };
                let (end, told) = match kind {
                    "fileChange" => self.patch_end(item),
                    _ => self.command_end(talk, item),
                };
                self.child_call_ended(talk, at, &call, end, told).await
            }
            _ => Ok(()),
        }
    }

    /// Reports a message of a child whose meaning is clear now.
    async fn child_says(
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
        self.of(&thread, SubagentNews::Did(Box::new(what))).await
    }

    async fn of(&mut self, thread: &str, news: SubagentNews) -> Result<(), Halt> {
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
            Some(child) => self.of(child, SubagentNews::Did(Box::new(spent))).await,
            None => self.saw(spent).await,
        }
    }

    /// The call of a child that is begun is over with it.
    async fn end_child_call(&mut self, talk: &mut Talk, at: usize) -> Result<(), Halt> {
        let Some(call) = talk.begun_of(Who::Child(at)).cloned() else {
            return Ok(());
        };
        let (end, told) = self.process_end(talk, &call.id).unwrap_or_else(|| {
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
                self.of(&thread, SubagentNews::Closed).await?;
            }
        }
        for call in std::mem::take(&mut talk.children.open) {
            self.end_delegated(call, CallStatus::Incomplete, GONE.to_owned())
                .await?;
        }
        Ok(())
    }

    /// What an agent is told that goes on in another process than the one in which it started others; nothing if it started none.
    pub(super) fn note_of_children(&self) -> Option<Value> {
        let spawn = format!("{NAMESPACE}.spawn_agent");
        self.story.has_called(&spawn).then(|| {
            json!({
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": CLOSED}],
            })
        })
    }
}

/// What a call does to other agents; `None`: it is of no kind that is known.
fn delegation(tool: &str, arguments: &str) -> Option<Delegates> {
    let given: Value = serde_json::from_str(arguments).unwrap_or_default();
    let field = |name: &str| given[name].as_str().map(str::to_owned);
    let to = |name: &str| field(name).unwrap_or_default();
    match tool {
        "spawn_agent" => Some(Delegates::Create {
            text: text_of(&given),
            model: field("model"),
            effort: field("reasoning_effort"),
        }),
        "send_input" => Some(Delegates::Send {
            to: to("target"),
            text: text_of(&given),
        }),
        "resume_agent" => Some(Delegates::Resume { to: to("id") }),
        "close_agent" => Some(Delegates::Close { to: to("target") }),
        "wait_agent" => {
            let targets = given["targets"].as_array().into_iter().flatten();
            let named = targets.filter_map(|target| target.as_str());
            Some(Delegates::Wait {
                to: named.map(str::to_owned).collect(),
            })
        }
        _ => None,
    }
}

/// What another agent is told by a call.
fn text_of(arguments: &Value) -> String {
    if let Some(message) = arguments["message"].as_str() {
        return message.to_owned();
    }
    let items = arguments["items"].as_array().into_iter().flatten();
    let texts: Vec<&str> = items.filter_map(|item| item["text"].as_str()).collect();
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn calls_that_are_about_other_agents_are_told_apart() {
        let spawn = r#"{"items": [{"type": "text", "text": "a"}, {"text": "b"}], "model": "m"}"#;
        let create = Delegates::Create {
            text: "a\nb".into(),
            model: Some("m".into()),
            effort: None,
        };
        assert_eq!(delegation("spawn_agent", spawn), Some(create));
        let wait = delegation("wait_agent", r#"{"targets": ["x", 7, "y"]}"#);
        let to = vec!["x".to_owned(), "y".to_owned()];
        assert_eq!(wait, Some(Delegates::Wait { to }));
        // Whatever a model writes is a call.
        let close = Delegates::Close { to: String::new() };
        assert_eq!(delegation("close_agent", "not JSON"), Some(close));
        assert_eq!(delegation("another_tool", "{}"), None);
    }
}
