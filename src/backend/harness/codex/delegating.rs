//! What the agent does to those that it starts: its calls, what comes of them, and what it is told when they are gone.

use serde_json::{Value, json};

use super::calls::{Call, Calls, Stage};
use super::children::{Child, Who};
use super::rpc::RpcError;
use super::seen::told_of;
use super::talk::Talk;
use super::turn::{Halt, Turn};
use crate::api::CallStatus;
use crate::engine::ports::{
    Claim, ClaimAs, Delegates, Observation, Past, SubagentNews, ToolEnd, ToolOutcome,
};

/// Codex' name for the tools that are about other agents.
pub const NAMESPACE: &str = "multi_agent_v1";

/// What Codex begins a message with in which it tells an agent that one of its own has something to say.
const NOTIFICATION: &str = "<subagent_notification>";

/// What an agent is told of a call that was open when its process ended.
const GONE: &str = "the agents are gone: they ended with the process that they were in. What they had not reported is not known to be done: verify before repeating it";

/// What an agent is told that goes on without those that it had.
const CLOSED: &str = "All agents that you spawned before this are closed: they can't be written to or waited for. What they had not reported to you is not known to be done: verify before repeating it.";

/// The name under which a call is recorded that starts one.
const SPAWN: &str = "multi_agent_v1.spawn_agent";

/// A call that is about other agents, and that is not over.
pub(super) struct Delegated {
    /// As Codex knows it.
    pub(super) id: String,
    /// As it is recorded.
    recorded: String,
    tool: String,
    arguments: String,
    /// How those are that it is about, if Codex showed that it is over. What the model is told of it is not known yet.
    shown: Option<Value>,
}

impl Turn<'_> {
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
            server_label: None,
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
        talk.calls.add(Call {
            id: id.clone(),
            recorded: recorded.clone(),
            name: named,
            arguments: arguments.clone(),
            // It is followed here, and has no effect that asks.
            stage: Stage::Over,
        });
        talk.children.open.push(Delegated {
            id,
            recorded,
            tool,
            arguments,
            shown: None,
        });
        Ok(())
    }

    /// Codex shows that such a call is over. That it did something to others is known then, and what the model will be told of one that it started.
    pub(super) async fn delegation_shown(
        &mut self,
        talk: &mut Talk,
        item: &Value,
    ) -> Result<(), Halt> {
        if item["status"] != "completed" {
            return Ok(());
        }
        let mut open = talk.children.open.iter();
        let Some(at) = open.position(|call| item["id"] == call.id.as_str()) else {
            return Ok(());
        };
        let about = &item["receiverThreadIds"][0];
        match item["tool"].as_str().unwrap_or_default() {
            "spawnAgent" => {
                let said = json!({"agent_id": about, "nickname": nickname(talk, about).await?});
                let call = talk.children.open.remove(at);
                return self.delegation_over(talk, call, said.to_string()).await;
            }
            "closeAgent" => self.child_closed(talk, about, true).await?,
            "resumeAgent" => self.child_closed(talk, about, false).await?,
            _ => {}
        }
        if let Some(call) = talk.children.open.get_mut(at) {
            call.shown = Some(item["agentsStates"].clone());
        }
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
        self.delegation_over(talk, call, told_of(item)).await?;
        Ok(true)
    }

    /// Such a call is over, of which the model is told this.
    async fn delegation_over(
        &mut self,
        talk: &mut Talk,
        call: Delegated,
        told: String,
    ) -> Result<(), Halt> {
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
        Ok(())
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
        self.of_child(&thread, opened).await?;
        talk.children.all.push(Child {
            thread: thread.clone(),
            calls: Calls::default(),
            held: None,
            is_open: true,
            works: false,
        });
        // What it was started with is a message.
        talk.witness.follow(&thread, true);
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
            // It is of an earlier process: Codex has nothing of it.
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
                place.processes.cancel_of(&call.recorded);
                place.processes.end_of(&call.recorded).await;
            }
            self.end_child_call(talk, at).await?;
        }
        let news = match closed {
            true => SubagentNews::Closed,
            false => SubagentNews::Reopened,
        };
        self.of_child(thread, news).await
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

    /// The process is gone, and so are those that the open calls are about.
    pub(super) async fn end_delegations(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        for mut call in std::mem::take(&mut talk.children.open) {
            let (status, told) = match call.shown.take() {
                Some(states) => (CallStatus::Completed, states.to_string()),
                None => (CallStatus::Incomplete, GONE.to_owned()),
            };
            self.end_delegated(call, status, told).await?;
        }
        Ok(())
    }

    /// What an agent is told that goes on in another process than the one in which it started others; nothing if it started none, or was told it.
    pub(super) fn note_of_children(&self) -> Option<Value> {
        let has_started = match &self.native {
            None => self.story.has_called(SPAWN),
            Some(native) => native.had_agents() || native.has_called(&self.story, SPAWN),
        };
        has_started.then(|| {
            json!({
                "type": "message",
                "role": "developer",
                "content": [{"type": "input_text", "text": CLOSED}],
            })
        })
    }
}

/// The name that Codex gave to one; `None`: it says none.
async fn nickname(talk: &mut Talk, thread: &Value) -> Result<Option<String>, Halt> {
    let params = json!({"threadId": thread});
    match talk.server.rpc.ask("thread/read", params).await {
        Ok(read) => Ok(read["thread"]["agentNickname"].as_str().map(str::to_owned)),
        Err(RpcError::Refused { .. }) => Ok(None),
        Err(gone) => Err(gone.into()),
    }
}

/// Whether a message is what one agent lets another one know.
pub(super) fn is_note(item: &Value) -> bool {
    let text = item["content"][0]["text"].as_str();
    item["type"] == "message"
        && item["role"] == "user"
        && text.is_some_and(|text| text.starts_with(NOTIFICATION))
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
