//! What is made of the news of a process.

use serde_json::{Value, json};

use super::calls::{Call, Stage};
use super::delegating::NAMESPACE;
use super::failure;
use super::mcp;
use super::rpc::Incoming;
use super::setup;
use super::story::{COMMENTARY, FINAL};
use super::talk::Talk;
use super::turn::{Halt, Turn};
use crate::api::{CallStatus, TurnErrorCode};
use crate::backend::harness::responses::{CALLED, ended_command, ended_trouble};
use crate::engine::ports::{Claim, Delta, Observation, Past, ToolEnd, ToolOutcome, TurnEnd};

/// Codex' name for the kind of item that is a command.
const COMMAND: &str = "commandExecution";

/// Codex' news of an MCP server. They are about a thread and not about a turn.
const SERVER_STATUS: &str = "mcpServer/startupStatus/updated";

impl Turn<'_> {
    /// Something was said. `Some`: the Turn ends.
    pub(super) async fn said(
        &mut self,
        talk: &mut Talk,
        said: Incoming,
    ) -> Result<Option<TurnEnd>, Halt> {
        match said {
            Incoming::Reply { .. } => Ok(None),
            Incoming::Request { id, method, params } => {
                self.asked(talk, id, &method, &params).await?;
                Ok(None)
            }
            Incoming::Notice { method, params } if method == SERVER_STATUS => {
                self.server_status(talk, &params);
                Ok(None)
            }
            Incoming::Notice { method, params } if !talk.is_about(&params) => {
                self.child_noticed(talk, &method, params).await?;
                Ok(None)
            }
            Incoming::Notice { method, params } => self.noticed(talk, &method, params).await,
        }
    }

    /// Answers what it asks for.
    async fn asked(
        &mut self,
        talk: &mut Talk,
        id: Value,
        method: &str,
        params: &Value,
    ) -> Result<(), Halt> {
        if method == "mcpServer/elicitation/request" {
            // A server that wants to know something of a person: nobody is there.
            let declined = json!({"action": "decline", "content": null});
            return Ok(talk.server.rpc.answer(id, Ok(declined)).await?);
        }
        if method != "item/tool/call" {
            // Nobody is there to approve or to fill in anything; unanswered, it would hold the turn.
            let refusal = Err("nobody can answer this here");
            return Ok(talk.server.rpc.answer(id, refusal).await?);
        }
        if params["threadId"] != talk.thread.as_str() {
            // It would have to wait for the client, and could not outlive its process meanwhile.
            let text = "only the agent that started this one can call this";
            let refused =
                json!({"contentItems": [{"type": "inputText", "text": text}], "success": false});
            return Ok(talk.server.rpc.answer(id, Ok(refused)).await?);
        }
        let tool = params["tool"].as_str().unwrap_or_default();
        if self.setup.is_background(tool) {
            let called =
                json!({"contentItems": [{"type": "inputText", "text": CALLED}], "success": true});
            talk.server.rpc.answer(id, Ok(called)).await?;
        }
        // Any other is answered by the client, to another process.
        Ok(())
    }

    /// A server that is not required is not there: the agent goes on without it, and whoever reads the log knows.
    fn server_status(&self, talk: &Talk, params: &Value) {
        if params["status"] != "failed" {
            return;
        }
        let label = params["name"].as_str().unwrap_or_default();
        let why = talk.mcp.trouble_of(label);
        let why = why.unwrap_or_else(|| params["error"].as_str().unwrap_or_default().to_owned());
        tracing::warn!(
            turn = self.turn,
            server = label,
            why,
            "an MCP server did not come up"
        );
    }

    async fn noticed(
        &mut self,
        talk: &mut Talk,
        method: &str,
        params: Value,
    ) -> Result<Option<TurnEnd>, Halt> {
        match method {
            "item/completed" => {
                self.item_complete(talk, &params["item"]).await?;
                talk.witness.told(&talk.thread, &params["item"]);
            }
            "turn/completed" => return self.turn_complete(talk, &params["turn"]).await,
            "error" if params["willRetry"] == true => {
                // What was read of an answer that broke off is asked for again.
                talk.held = None;
                self.saw(Observation::Delta(Delta::Void)).await?;
            }
            _ => {
                if let Some(delta) = delta(talk, method, &params) {
                    self.saw(Observation::Delta(delta)).await?;
                }
            }
        }
        Ok(None)
    }

    /// An item as the model wrote it, or as the model is given it.
    pub(super) async fn raw_item(&mut self, talk: &mut Talk, mut item: Value) -> Result<(), Halt> {
        match item["type"].as_str().unwrap_or_default() {
            "reasoning" => {
                if let Some(fields) = item.as_object_mut() {
                    fields.retain(|_, value| !value.is_null());
                }
                let parts = item["summary"].as_array().into_iter().flatten();
                let texts = parts.filter_map(|part| part["text"].as_str());
                let summary: Vec<String> = texts.map(str::to_owned).collect();
                self.progress += 1;
                self.story.add(Past::Reasoning {
                    summary: summary.clone(),
                    native: Some(item.clone()),
                });
                let native = Some(item);
                self.saw(Observation::Reasoning { summary, native }).await
            }
            "web_search_call" => {
                self.tell_held(talk, COMMENTARY).await?;
                self.progress += 1;
                let native = item.clone();
                self.story.add(Past::WebSearch { native });
                self.saw(Observation::WebSearch { native: item }).await
            }
            "function_call" | "custom_tool_call" => self.called(talk, &item).await,
            "function_call_output" | "custom_tool_call_output" => {
                match self.delegated(talk, &item).await? {
                    true => Ok(()),
                    false => self.output(talk, &item).await,
                }
            }
            "message" => self.heard(talk, &item).await.map(drop),
            _ => Ok(()),
        }
    }

    /// The model asked for something.
    async fn called(&mut self, talk: &mut Talk, item: &Value) -> Result<(), Halt> {
        self.tell_held(talk, COMMENTARY).await?;
        talk.response_complete = false;
        let field = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let id = field("call_id");
        let name = setup::flat_name(item["namespace"].as_str(), field("name"));
        let arguments = match item["type"] == "custom_tool_call" {
            true => field("input"),
            false => field("arguments"),
        };
        let recorded = self.unused(&id);
        if item["namespace"] == NAMESPACE {
            return self.delegates(talk, item, recorded).await;
        }
        let is_function = item["namespace"].is_null() && self.setup.is_function(&name);
        talk.calls.add(Call {
            id,
            recorded: recorded.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
            stage: match is_function {
                true => Stage::Over,
                false => Stage::Asked,
            },
        });
        if !is_function {
            return Ok(());
        }
        let background = self.setup.is_background(&name);
        talk.awaits_client |= !background;
        self.progress += 1;
        let (call_id, called, with) = (recorded.clone(), name.clone(), arguments.clone());
        self.story.add(match background {
            true => Past::Background {
                call_id,
                name: called,
                arguments: with,
                open: true,
            },
            false => Past::Function {
                call_id,
                name: called,
                arguments: with,
                output: None,
            },
        });
        self.saw(Observation::FunctionCall {
            call_id: recorded,
            name,
            arguments,
            background,
        })
        .await
    }

    /// The id itself, or one that is unique in the Session if the provider gave none or gave it before.
    fn unused(&self, id: &str) -> String {
        let mut unused = id.to_owned();
        let mut n = 1;
        while unused.is_empty() || self.story.is_used(&unused) {
            n += 1;
            unused = format!("{id:.40}_{n}");
        }
        unused
    }

    /// What the model is told about a call. Of commands and patches the end is known before, unless they go on in the background or never began.
    async fn output(&mut self, talk: &mut Talk, item: &Value) -> Result<(), Halt> {
        let id = item["call_id"].as_str().unwrap_or_default();
        let Some(call) = talk.calls.of(id).cloned() else {
            return Ok(());
        };
        if call.stage == Stage::Over {
            return Ok(());
        }
        if call.stage == Stage::Asked {
            if talk.calls.begun().is_some() {
                // One call at a time is open. This one had no effect and its end is not waited for by anybody.
                talk.calls.set(&call.recorded, Stage::Over);
                return Ok(());
            }
            self.link.claim(self.plain_claim(&call)).await?;
        }
        let ended = self.process_end(talk, &call.recorded);
        if let Some((end, told)) = ended.or_else(|| self.tool_end(talk, &call.recorded)) {
            return self.end_call(talk, &call.recorded, end, told).await;
        }
        let (end, told) = self.plain_end(&call, told_of(item));
        self.end_call(talk, &call.recorded, end, told).await
    }

    /// A call that Codex answered by itself, as it is recorded.
    pub(super) fn plain_claim(&self, call: &Call) -> Claim {
        let tool = self.setup.mcp_tool(&call.name);
        Claim {
            call_id: call.recorded.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            command: tool.map_or_else(|| call.name.clone(), |(_, tool)| tool.to_owned()),
            cwd: None,
            server_label: tool.map(|(label, _)| label.to_owned()),
        }
    }

    /// How it ended.
    pub(super) fn plain_end(&self, call: &Call, told: String) -> (ToolEnd, String) {
        if self.setup.mcp_tool(&call.name).is_some() {
            // Codex would not have it called.
            return self.recorded(mcp::Outcome::Unsent(told));
        }
        let end = ToolEnd {
            status: CallStatus::Completed,
            exit_code: None,
            output: self.bounded(&told),
            duration_ms: 0,
        };
        (end, told)
    }

    /// A call is over.
    pub(super) async fn end_call(
        &mut self,
        talk: &mut Talk,
        recorded: &str,
        end: ToolEnd,
        told: String,
    ) -> Result<(), Halt> {
        let Some(call) = talk.calls.recorded(recorded).cloned() else {
            return Ok(());
        };
        talk.calls.set(recorded, Stage::Over);
        talk.unrecorded_ends = true;
        self.progress += 1;
        self.story.add(Past::Tool {
            call_id: call.recorded.clone(),
            name: call.name,
            arguments: call.arguments,
            outcome: ToolOutcome::Done {
                output: told.clone(),
            },
        });
        self.saw(Observation::ToolEnded {
            call_id: call.recorded,
            end,
            output: told,
        })
        .await?;
        self.check_environment(talk)
    }

    /// An item as Codex shows it is complete.
    async fn item_complete(&mut self, talk: &mut Talk, item: &Value) -> Result<(), Halt> {
        match item["type"].as_str().unwrap_or_default() {
            "userMessage" => {
                if let Some(call_id) = setup::answer_of(&item["clientId"]) {
                    talk.untaken_answers.remove(call_id);
                }
                let Some(input) = setup::input_of(&item["clientId"]) else {
                    return Ok(());
                };
                let taken = self.story.took(input);
                if taken.is_empty() {
                    return Ok(());
                }
                self.progress += 1;
                self.saw(Observation::Took(taken)).await
            }
            "agentMessage" => {
                self.tell_held(talk, COMMENTARY).await?;
                let text = item["text"].as_str().unwrap_or_default();
                let phase = item["phase"].as_str().map(str::to_owned);
                if !text.is_empty() {
                    talk.held = Some((text.to_owned(), phase));
                }
                Ok(())
            }
            COMMAND => {
                let Some(call) = self.begun(talk, item) else {
                    return Ok(());
                };
                let (end, told) = self.command_end(talk, &call, item);
                self.end_call(talk, &call, end, told).await
            }
            "fileChange" => {
                let Some(call) = self.begun(talk, item) else {
                    return Ok(());
                };
                let (end, told) = self.patch_end(item);
                self.end_call(talk, &call, end, told).await
            }
            "mcpToolCall" => {
                let Some(call) = self.begun(talk, item) else {
                    return Ok(());
                };
                let (end, told) = self.shown_end(talk, &call, item);
                self.end_call(talk, &call, end, told).await
            }
            "collabAgentToolCall" => self.delegation_shown(talk, item).await,
            _ => Ok(()),
        }
    }

    /// How the call of an MCP tool ended, if it was passed on and is over.
    pub(super) fn tool_end(&self, talk: &Talk, recorded: &str) -> Option<(ToolEnd, String)> {
        let end = talk.mcp.calls.end(recorded)?;
        Some(mcp::recorded(&end, self.options.output_limit_bytes))
    }

    /// How the call of an MCP tool ended that Codex shows as complete.
    pub(super) fn shown_end(&self, talk: &Talk, recorded: &str, item: &Value) -> (ToolEnd, String) {
        self.tool_end(talk, recorded).unwrap_or_else(|| {
            let why = item["error"]["message"].as_str();
            let why = why.unwrap_or("the server did not answer");
            self.recorded(mcp::Outcome::Unknown(why.to_owned()))
        })
    }

    fn recorded(&self, outcome: mcp::Outcome) -> (ToolEnd, String) {
        let end = mcp::CallEnd {
            outcome,
            duration_ms: 0,
        };
        mcp::recorded(&end, self.options.output_limit_bytes)
    }

    /// The recorded id of an item's call, if it is begun and not over.
    fn begun(&self, talk: &Talk, item: &Value) -> Option<String> {
        let call = talk.calls.of(item["id"].as_str()?)?;
        (call.stage == Stage::Begun).then(|| call.recorded.clone())
    }

    /// How a command ended, as the environment says. Codex knows less of it.
    pub(super) fn command_end(
        &self,
        talk: &Talk,
        recorded: &str,
        item: &Value,
    ) -> (ToolEnd, String) {
        self.process_end(talk, recorded).unwrap_or_else(|| {
            let output = self.bounded(item["aggregatedOutput"].as_str().unwrap_or_default());
            let told = format!("it ended before it was over\n{output}");
            let end = ToolEnd {
                status: CallStatus::Incomplete,
                exit_code: None,
                output,
                duration_ms: 0,
            };
            (end, told)
        })
    }

    /// How the command of this call ended, if it ran and is over.
    pub(super) fn process_end(&self, talk: &Talk, recorded: &str) -> Option<(ToolEnd, String)> {
        let ended = match talk.place.as_ref()?.processes.ended(recorded)? {
            Ok(end) => ended_command(end, self.options.command_timeout_ms),
            Err(error) => ended_trouble(&error),
        };
        Some((ended.end, ended.told))
    }

    pub(super) fn patch_end(&self, item: &Value) -> (ToolEnd, String) {
        let changes = item["changes"].as_array().into_iter().flatten();
        let shown: Vec<String> = changes.map(change).collect();
        let output = self.bounded(&shown.join("\n"));
        let (status, exit_code, first) = match item["status"].as_str() {
            Some("completed") => (CallStatus::Completed, Some(0), "the patch was applied"),
            _ => (
                CallStatus::Failed,
                Some(1),
                "the patch was not applied, or not all of it: look at the files",
            ),
        };
        let told = format!("{first}\n{output}");
        let end = ToolEnd {
            status,
            exit_code,
            output,
            duration_ms: 0,
        };
        (end, told)
    }

    /// The beginning and the end of a long text.
    pub(super) fn bounded(&self, text: &str) -> String {
        mcp::bounded(text, self.options.output_limit_bytes)
    }

    /// Reports a message whose meaning is clear now.
    async fn tell_held(&mut self, talk: &mut Talk, usual_phase: &str) -> Result<(), Halt> {
        let Some((text, phase)) = talk.held.take() else {
            return Ok(());
        };
        let phase = Some(phase.unwrap_or_else(|| usual_phase.to_owned()));
        self.progress += 1;
        self.story.add(Past::Assistant {
            text: text.clone(),
            phase: phase.clone(),
        });
        self.saw(Observation::Message {
            text,
            phase,
            incomplete: false,
        })
        .await
    }

    pub(super) async fn response_complete(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        self.tell_held(talk, FINAL).await?;
        talk.response_complete = true;
        Ok(())
    }

    async fn turn_complete(
        &mut self,
        talk: &mut Talk,
        turn: &Value,
    ) -> Result<Option<TurnEnd>, Halt> {
        self.tell_held(talk, FINAL).await?;
        match turn["status"].as_str() {
            // What the agent was not seen to take is told to another process: it may or may not be in this one's queue.
            Some("completed")
                if !self.story.waiting().is_empty() || !talk.untaken_answers.is_empty() =>
            {
                Err(Halt::Again)
            }
            Some("completed") => Ok(Some(self.at_rest())),
            Some("failed") => {
                let (code, message) = match talk.refused.take() {
                    // In the provider's own words, and not in Codex' about them.
                    Some(error) => (error.code, error.message),
                    None => failure::read(&turn["error"]),
                };
                let too_long = code == TurnErrorCode::ContextLengthExceeded.to_string();
                if too_long && self.shorten(talk.sent_bytes) {
                    return Err(Halt::Again);
                }
                Err(Halt::End(TurnEnd::Failed { code, message }))
            }
            _ => Err(Halt::Lost("it interrupted its turn by itself".to_owned())),
        }
    }
}

/// What the model is told about a call.
pub(super) fn told_of(item: &Value) -> String {
    match &item["output"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// One changed file.
fn change(change: &Value) -> String {
    let path = change["path"].as_str().unwrap_or_default();
    let diff = change["diff"].as_str().unwrap_or_default();
    match change["kind"]["type"].as_str() {
        Some("add") => format!("added {path}\n{diff}"),
        Some("delete") => format!("deleted {path}\n{diff}"),
        _ => match change["kind"]["move_path"].as_str() {
            Some(to) => format!("changed {path}, now {to}\n{diff}"),
            None => format!("changed {path}\n{diff}"),
        },
    }
}

/// Live text.
fn delta(talk: &Talk, method: &str, params: &Value) -> Option<Delta> {
    let text = params["delta"].as_str()?.to_owned();
    match method {
        "item/agentMessage/delta" => Some(Delta::Text {
            ahead: u64::from(talk.held.is_some()),
            text,
        }),
        "item/reasoning/summaryTextDelta" => Some(Delta::Reasoning {
            ahead: 0,
            summary: params["summaryIndex"].as_u64().unwrap_or(0),
            text,
        }),
        "item/commandExecution/outputDelta" => {
            let call = talk.calls.of(params["itemId"].as_str()?)?;
            Some(Delta::Command {
                call_id: call.recorded.clone(),
                text,
            })
        }
        _ => None,
    }
}
