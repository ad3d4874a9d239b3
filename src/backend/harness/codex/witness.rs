//! What passes between Codex and its model, in order: what the model says, and what it is told.
//!
//! The proxy sees it before Codex can act on it, and holds back what must be recorded first. Codex tells of the same on another way, and of what the
//! proxy can't know: that a message of the user was taken, how a patch ended. So what the proxy says waits in a line until Codex has told what comes before
//! it.
//!
//! Of a thread that it began itself Codex tells all of this, if it is asked to; of one that is gone on with it does not. So an agent that may start others
//! (`setup::is_told_all`) is listened to through Codex: then nothing waits here but requests, for the ends that they tell.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::calls::Stage;
use super::proxy::FromProxy;
use super::setup::{APPLY_PATCH, Setup};
use super::talk::Talk;
use super::turn::{Halt, Turn};
use crate::engine::ports::{Fenced, Observation};

/// How long the model may be told the end of a call before we are. Codex says it first to us, on another way.
const UNTOLD: Duration = Duration::from_secs(5);

/// How long Codex may take to tell of what the proxy has passed on to it.
const UNSEEN: Duration = Duration::from_secs(2);

type Go = oneshot::Sender<Result<(), Fenced>>;

/// What waits, oldest first, and what Codex has told.
#[derive(Default)]
pub struct Witness {
    /// Codex tells all of it.
    is_told_all: bool,
    /// Then: requests that wait, with the calls whose ends they tell.
    asks: VecDeque<(Vec<String>, Go, Instant)>,
    line: VecDeque<(Passed, Instant)>,
    /// Items of the model that Codex has told, by their ids.
    told: HashSet<String>,
    /// Messages of the user that Codex has told.
    messages: usize,
    /// Messages of the user that it must have told by now.
    expected: usize,
    /// Messages in the last request.
    asked: Option<usize>,
    /// The request that is being answered is none of the Turn: the history is shortened.
    aside: bool,
}

/// Something that passed.
enum Passed {
    /// The model is about to be told how calls ended.
    Ask { outputs: Vec<Value>, go: Go },
    /// A message of the model, by its id.
    Message(String),
    /// What the model thought, or its provider searched for it.
    Kept(Value),
    /// What the model asked for.
    Call { item: Value, go: Go },
    /// The model's answer is complete.
    Complete,
}

impl Witness {
    /// Of a process that is given a message at first, or none.
    pub fn new(is_given_message: bool, is_told_all: bool) -> Witness {
        Witness {
            is_told_all,
            expected: usize::from(is_given_message),
            ..Witness::default()
        }
    }

    /// Codex told of an item that is complete.
    pub fn told(&mut self, item: &Value) {
        if item["type"] == "userMessage" {
            self.messages += 1;
        }
        self.told.extend(id_of(item));
    }

    /// Whether Codex has told of all these items.
    pub fn has_told(&self, ids: impl IntoIterator<Item = impl AsRef<str>>) -> bool {
        ids.into_iter().all(|id| self.told.contains(id.as_ref()))
    }

    /// Whether nothing waits.
    pub fn is_idle(&self) -> bool {
        self.line.is_empty() && self.asks.is_empty()
    }

    fn push(&mut self, passed: Passed) {
        self.line.push_back((passed, Instant::now()));
    }

    /// A request with so many messages of the user. More than before are new ones.
    fn asks(&mut self, messages: usize) {
        let before = self.asked.replace(messages).unwrap_or(messages);
        self.expected += messages.saturating_sub(before);
    }

    /// Codex does not tell what it was waited for.
    fn give_up(&mut self) {
        self.messages = self.messages.max(self.expected);
    }
}

impl Turn<'_> {
    /// What passed between Codex and its model.
    pub(super) async fn model(&mut self, talk: &mut Talk, model: FromProxy) -> Result<(), Halt> {
        let is_told_all = talk.witness.is_told_all;
        let is_ours =
            |thread: &Option<String>| !is_told_all && thread.as_ref() == Some(&talk.thread);
        let witness = &mut talk.witness;
        match model {
            FromProxy::Asked {
                thread,
                outputs,
                messages,
                is_aside,
                go,
            } => {
                talk.refused = None;
                if witness.is_told_all {
                    let ids = outputs.iter().filter_map(|one| one["call_id"].as_str());
                    let calls = ids.map(str::to_owned).collect();
                    witness.asks.push_back((calls, go, Instant::now()));
                    return Ok(());
                }
                if !is_ours(&thread) {
                    let _ = go.send(Ok(()));
                    return Ok(());
                }
                witness.aside = is_aside;
                if !is_aside {
                    witness.asks(messages);
                }
                witness.push(Passed::Ask { outputs, go });
            }
            FromProxy::Call { thread, item, go } => match is_ours(&thread) && !witness.aside {
                true => witness.push(Passed::Call { item, go }),
                // Effects are recorded where they happen (`pass_gates`); here there is nothing to hold back.
                false => drop(go.send(Ok(()))),
            },
            FromProxy::Kept { thread, item } if is_ours(&thread) && !witness.aside => {
                witness.push(Passed::Kept(item));
            }
            FromProxy::Message { thread, item } if is_ours(&thread) && !witness.aside => {
                let id = id_of(&item);
                witness
                    .line
                    .extend(id.map(|id| (Passed::Message(id), Instant::now())));
            }
            FromProxy::Kept { .. } | FromProxy::Message { .. } => {}
            FromProxy::Usage { thread, usage } => {
                if is_ours(&thread) && !witness.aside {
                    witness.push(Passed::Complete);
                }
                self.model_calls += 1;
                let spent = Observation::ModelCall(usage);
                self.spent(talk, thread.as_deref(), spent).await?;
            }
            FromProxy::Failed(error) => {
                // What was passed on may never have arrived.
                witness
                    .line
                    .retain(|(passed, _)| !matches!(passed, Passed::Message(_)));
                talk.refused = Some(error);
            }
        }
        Ok(())
    }

    /// Takes what passed, as far as Codex has told what comes before it.
    pub(super) async fn pass_model(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        self.pass_asks(talk).await?;
        while let Some((passed, since)) = talk.witness.line.front() {
            let waited = since.elapsed();
            let is_told = |item: &Value| id_of(item).is_none_or(|id| talk.witness.has_told([id]));
            let is_next = match passed {
                Passed::Ask { outputs, .. } => {
                    let is_taken = talk.witness.messages >= talk.witness.expected;
                    (is_taken || waited >= UNSEEN)
                        && (waited >= UNTOLD || !talk.awaits_end(outputs, &self.setup))
                }
                Passed::Message(id) => talk.witness.has_told([id]) || waited >= UNSEEN,
                Passed::Kept(item) => is_told(item) || waited >= UNSEEN,
                Passed::Call { .. } | Passed::Complete => true,
            };
            if !is_next {
                return Ok(());
            }
            let Some((passed, _)) = talk.witness.line.pop_front() else {
                return Ok(());
            };
            match passed {
                Passed::Ask { outputs, go } => {
                    talk.witness.give_up();
                    self.ask(talk, &outputs).await?;
                    // Whoever asked may be gone.
                    let _ = go.send(Ok(()));
                }
                Passed::Message(_) => {}
                Passed::Kept(item) => self.raw_item(talk, item).await?,
                Passed::Call { item, go } => {
                    self.raw_item(talk, item).await?;
                    let _ = go.send(Ok(()));
                }
                Passed::Complete => self.response_complete(talk).await?,
            }
        }
        Ok(())
    }

    /// Lets requests of a process pass that tells all, as soon as the ends that they tell are recorded.
    async fn pass_asks(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        let mut at = 0;
        while let Some((calls, _, since)) = talk.witness.asks.get(at) {
            // Another agent of the process may be the one that asks next.
            if calls.iter().any(|id| talk.is_open(id)) && since.elapsed() < UNTOLD {
                at += 1;
                continue;
            }
            self.record_ends(talk).await?;
            if let Some((_, go, _)) = talk.witness.asks.remove(at) {
                // Whoever asked may be gone.
                let _ = go.send(Ok(()));
            }
        }
        Ok(())
    }

    /// The model is about to be told these outputs: how its calls ended is recorded before. A worker that is lost after the model was told
    /// leaves no call of which nobody knows that.
    async fn ask(&mut self, talk: &mut Talk, outputs: &[Value]) -> Result<(), Halt> {
        for output in newest(outputs) {
            self.raw_item(talk, output.clone()).await?;
        }
        self.record_ends(talk).await
    }

    async fn record_ends(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        if talk.unrecorded_ends {
            self.link.recorded().await?;
            talk.unrecorded_ends = false;
        }
        Ok(())
    }
}

impl Talk {
    /// Whether Codex is about to tell how one of these calls ended. Of a command that goes on in the background, and of what never began, it tells nothing.
    fn awaits_end(&self, outputs: &[Value], setup: &Setup) -> bool {
        newest(outputs).any(|output| {
            let id = output["call_id"].as_str().unwrap_or_default();
            let begun = self.calls.of(id).filter(|call| call.stage == Stage::Begun);
            let place = self.place.as_ref();
            let has_ended = || place.is_some_and(|place| place.processes.ended(id).is_some());
            let is_shown = |name: &str| name == APPLY_PATCH || setup.mcp_tool(name).is_some();
            begun.is_some_and(|call| is_shown(&call.name) || has_ended())
        })
    }
}

/// The last output of each call: an id may have been given to a call before.
fn newest(outputs: &[Value]) -> impl Iterator<Item = &Value> {
    let places = outputs.iter().enumerate();
    places.filter_map(|(at, output)| {
        let is_same = |later: &Value| later["call_id"] == output["call_id"];
        (!outputs[at + 1..].iter().any(is_same)).then_some(output)
    })
}

fn id_of(item: &Value) -> Option<String> {
    let id = item["id"].as_str().filter(|id| !id.is_empty());
    id.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_the_outputs_of_one_id_the_last_one_counts() {
        let output = |id: &str, text: &str| json!({"call_id": id, "output": text});
        let all = [output("a", "1"), output("b", "2"), output("a", "3")];
        let texts: Vec<&Value> = newest(&all).map(|output| &output["output"]).collect();
        assert_eq!(texts, ["2", "3"]);
    }

    #[test]
    fn a_request_waits_for_the_messages_that_are_new_in_it() {
        let message = json!({"type": "userMessage", "id": "u"});
        let mut witness = Witness::new(true, false);
        witness.asks(5);
        assert_eq!((witness.expected, witness.messages), (1, 0));
        witness.told(&message);
        witness.asks(5);
        assert_eq!(witness.expected, 1);
        witness.asks(7);
        assert_eq!(witness.expected, 3);
        // One of them was none that Codex tells of.
        witness.told(&message);
        witness.give_up();
        assert_eq!(witness.messages, 3);
        // Shortened.
        witness.asks(2);
        assert_eq!(witness.expected, 3);
        witness.asks(3);
        assert_eq!(witness.expected, 4);
    }
}
