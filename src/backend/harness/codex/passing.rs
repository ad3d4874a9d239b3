//! What passes between Codex and its model is recorded, and let go on.

use std::time::Duration;

use serde_json::Value;

use super::calls::{Call, Stage};
use super::children::Who;
use super::proxy::FromProxy;
use super::setup::{APPLY_PATCH, Setup};
use super::story::FINAL;
use super::talk::Talk;
use super::turn::{Halt, Turn};
use super::witness::{Line, Passed, Request, id_of, newest};
use crate::engine::ports::Observation;

/// How long the model may be told the end of a call before we are, and how long an agent may speak of which nobody was told. Codex says it
/// first to us, on another way.
const UNTOLD: Duration = Duration::from_secs(5);

/// How long Codex may take to tell of what the proxy has passed on to it.
const UNSEEN: Duration = Duration::from_secs(2);

impl Turn<'_> {
    /// What passed between Codex and its model.
    pub(super) async fn model(&mut self, talk: &mut Talk, model: FromProxy) -> Result<(), Halt> {
        let others = self.setup.delegates();
        match model {
            FromProxy::Asked {
                thread,
                news,
                messages,
                is_aside,
                go,
            } => {
                if talk.is_own(thread.as_deref()) {
                    talk.refused = None;
                }
                match talk.line(thread.as_deref(), others) {
                    Some(line) => line.asks(
                        Request {
                            news,
                            messages,
                            is_aside,
                        },
                        go,
                    ),
                    // Effects are recorded where they happen (`pass_gates`); here there is nothing to hold back.
                    None => drop(go.send(Ok(()))),
                }
            }
            FromProxy::Call { thread, item, go } => match talk.line(thread.as_deref(), others) {
                Some(line) => line.wrote(Passed::Call { item, go }),
                None => drop(go.send(Ok(()))),
            },
            FromProxy::Kept { thread, item } => {
                if let Some(line) = talk.line(thread.as_deref(), others) {
                    line.wrote(Passed::Kept(item));
                }
            }
            FromProxy::Message { thread, item } => {
                if let (Some(line), Some(id)) = (talk.line(thread.as_deref(), others), id_of(&item))
                {
                    line.wrote(Passed::Message(id));
                }
            }
            FromProxy::Usage { thread, usage } => {
                if let Some(line) = talk.line(thread.as_deref(), others) {
                    line.wrote(Passed::Complete);
                }
                self.model_calls += 1;
                let spent = Observation::ModelCall(usage);
                self.spent(talk, thread.as_deref(), spent).await?;
            }
            FromProxy::Failed { thread, error } => {
                if let Some(line) = talk.line(thread.as_deref(), others) {
                    line.broke_off();
                }
                if talk.is_own(thread.as_deref()) {
                    talk.refused = Some(error);
                }
            }
        }
        Ok(())
    }

    /// Takes what passed, as far as Codex has told what comes before it.
    pub(super) async fn pass_model(&mut self, talk: &mut Talk) -> Result<(), Halt> {
        loop {
            let mut has_passed = false;
            for thread in talk.witness.waiting() {
                while self.pass_next(talk, &thread).await? {
                    has_passed = true;
                }
            }
            // What one agent was told may be what another one waits for.
            if !has_passed {
                return Ok(());
            }
        }
    }

    /// Takes the oldest of one conversation. `false`: it must wait, or there is none.
    async fn pass_next(&mut self, talk: &mut Talk, thread: &str) -> Result<bool, Halt> {
        let who = talk.who(thread);
        if !talk.is_next(thread, who, &self.setup) {
            return Ok(false);
        }
        let line = talk.witness.line(thread);
        let Some(passed) = line.pop() else {
            return Ok(false);
        };
        match passed {
            Passed::Ask { news, go } => {
                line.give_up();
                let news = line.new_of(news);
                self.ask(talk, who, news).await?;
                // Whoever asked may be gone.
                let _ = go.send(Ok(()));
            }
            Passed::Message(_) => {}
            Passed::Kept(item) => self.item_of(talk, who, item).await?,
            Passed::Call { item, go } => {
                self.item_of(talk, who, item).await?;
                let _ = go.send(Ok(()));
            }
            Passed::Complete => match who {
                Some(Who::Root) => self.response_complete(talk).await?,
                Some(Who::Child(at)) => self.child_says(talk, at, FINAL).await?,
                None => {}
            },
        }
        Ok(true)
    }

    /// The model is about to be told this: how its calls ended is recorded before. A worker that is lost after the model was told
    /// leaves no call of which nobody knows that.
    async fn ask(
        &mut self,
        talk: &mut Talk,
        who: Option<Who>,
        news: Vec<Value>,
    ) -> Result<(), Halt> {
        for item in news {
            self.item_of(talk, who, item).await?;
        }
        if talk.unrecorded_ends {
            self.link.recorded().await?;
            talk.unrecorded_ends = false;
        }
        Ok(())
    }

    /// An item as an agent's model wrote it, or as that model is given it. Of an agent that nobody knows nothing is recorded, and nothing that it does happens.
    async fn item_of(
        &mut self,
        talk: &mut Talk,
        who: Option<Who>,
        item: Value,
    ) -> Result<(), Halt> {
        match who {
            Some(Who::Root) => self.raw_item(talk, item).await,
            Some(Who::Child(at)) => self.child_item(talk, at, item).await,
            None => Ok(()),
        }
    }
}

impl Talk {
    /// Whether a conversation is the agent's own. One without a name is.
    fn is_own(&self, thread: Option<&str>) -> bool {
        thread.is_none_or(|thread| thread == self.thread)
    }

    /// Where a conversation waits; `None`: nobody follows it. `others`: the agent may start others.
    fn line(&mut self, thread: Option<&str>, others: bool) -> Option<&mut Line> {
        let thread = thread.filter(|thread| others || *thread == self.thread)?;
        Some(self.witness.line(thread))
    }

    /// Whose conversation it is; `None`: that is not known, or not yet.
    fn who(&self, thread: &str) -> Option<Who> {
        match thread == self.thread {
            true => Some(Who::Root),
            false => self.children.of(thread).map(Who::Child),
        }
    }

    /// Whether the oldest of a conversation can be taken.
    fn is_next(&self, thread: &str, who: Option<Who>, setup: &Setup) -> bool {
        let line = self.witness.of(thread);
        let Some((line, (passed, waited))) = line.and_then(|line| Some((line, line.front()?)))
        else {
            return false;
        };
        let Some(who) = who else {
            return waited >= UNTOLD;
        };
        match passed {
            Passed::Ask { news, .. } => {
                (line.is_taken() || waited >= UNSEEN)
                    && (waited >= UNTOLD || !self.awaits_end(who, news, setup))
            }
            Passed::Message(id) => line.has_told([id]) || waited >= UNSEEN,
            Passed::Kept(item) => line.has_told(id_of(item)) || waited >= UNSEEN,
            Passed::Call { .. } | Passed::Complete => true,
        }
    }

    /// Whether Codex is about to tell how one of these calls ended. Of a command that goes on in the background, and of what never began, it tells nothing.
    fn awaits_end(&self, who: Who, news: &[Value], setup: &Setup) -> bool {
        let Some(calls) = self.calls_of(who) else {
            return false;
        };
        let mut newest = news
            .iter()
            .zip(newest(news))
            .filter(|(_, is_newest)| *is_newest);
        newest.any(|(output, _)| {
            let id = output["call_id"].as_str().unwrap_or_default();
            let begun = calls.of(id).filter(|call| call.stage == Stage::Begun);
            let place = self.place.as_ref();
            let has_ended = |call: &Call| {
                let ended = place.and_then(|place| place.processes.ended(&call.recorded));
                ended.is_some()
            };
            let is_shown = |name: &str| name == APPLY_PATCH || setup.mcp_tool(name).is_some();
            begun.is_some_and(|call| is_shown(&call.name) || has_ended(call))
        })
    }
}
