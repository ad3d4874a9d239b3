//! The loop of one Turn: take messages, call the model, do what it asks, until it asks for nothing more.

use std::sync::Arc;

use serde_json::Value;

use super::Options;
use super::call::{self, NoResponse, Response};
use super::input::{Input, Log};
use super::items::{self, Output};
use super::setup::Setup;
use super::stop::Stop;
use crate::engine::ports::{
    Environment, Feed, Fenced, Model, ModelError, ModelItem, Observation, Past, PastEntry, Steer,
    TurnEnd, TurnLink, TurnTask,
};

/// One Turn that is being worked on.
pub struct Turn<'a> {
    model: &'a dyn Model,
    pub(super) options: &'a Options,
    pub(super) setup: Setup,
    pub(super) environment: Option<Arc<dyn Environment>>,
    pub(super) link: TurnLink,
    pub(super) stop: Stop,
    pub(super) turn: String,
    pub(super) history: Arc<Vec<Past>>,
    /// What happened since the harness began, behind `history`.
    pub(super) since: Vec<PastEntry>,
    /// What the model is given of both; it grows as they do.
    input: Input,
    /// Inputs in `since` that no model call was given yet.
    untaken: Vec<u64>,
    model_calls: u32,
    budget_bytes: usize,
    pub(super) environment_errors: u32,
}

/// What follows a response.
enum Next {
    /// The model is called again.
    Call,
    /// The Turn ends, unless messages wait.
    Rest,
    /// The client must answer first.
    Wait,
}

impl<'a> Turn<'a> {
    /// Takes over a task. `built_in` are the tools of the harness.
    pub fn new(
        model: &'a dyn Model,
        options: &'a Options,
        built_in: &Arc<[Value]>,
        task: TurnTask,
        link: TurnLink,
    ) -> Turn<'a> {
        let setup = Setup::new(
            &task.agent,
            &task.session,
            task.environment.is_some(),
            built_in,
        );
        let mut turn = Turn {
            model,
            options,
            setup,
            environment: task.environment,
            stop: Stop::new(&link),
            link,
            turn: task.turn,
            history: task.history,
            since: Vec::new(),
            input: Input::default(),
            untaken: Vec::new(),
            model_calls: task.model_calls,
            budget_bytes: options.history_budget_bytes,
            environment_errors: 0,
        };
        for message in task.feed {
            turn.hear(message);
        }
        turn
    }

    /// Works until the Turn ends, waits or must be left.
    pub async fn run(mut self) -> TurnEnd {
        match self.work().await {
            Ok(end) | Err(end) => end,
        }
    }

    async fn work(&mut self) -> Result<TurnEnd, TurnEnd> {
        self.go_on()?;
        if self.nothing_new() {
            if self.awaits_answers() {
                return Ok(TurnEnd::Waiting);
            }
            // The worker was lost between the last answer and the Turn's end.
            if self.is_answered() && !self.take_messages() {
                return Ok(self.at_rest());
            }
        }
        loop {
            self.go_on()?;
            self.take_messages();
            let response = self.call_model().await?;
            match self.follow(response).await? {
                Next::Call => {}
                Next::Wait => return Ok(TurnEnd::Waiting),
                Next::Rest if self.take_messages() => {}
                Next::Rest => return Ok(self.at_rest()),
            }
        }
    }

    /// A safe point: stops here if a signal asks for it.
    pub(super) fn go_on(&self) -> Result<(), TurnEnd> {
        self.stop.now().map_or(Ok(()), Err)
    }

    fn nothing_new(&self) -> bool {
        self.since.is_empty()
    }

    /// Whether the client still owes an answer to a call behind the last message.
    fn awaits_answers(&self) -> bool {
        let recent = self.history.iter().rev();
        recent
            .take_while(|past| !matches!(past, Past::User { .. }))
            .any(|past| matches!(past, Past::Function { output: None, .. }))
    }

    /// How the Turn ends when the agent has nothing more to do: it waits, if answers are still to come that the agent did not wait for.
    fn at_rest(&self) -> TurnEnd {
        let past = || {
            self.history
                .iter()
                .chain(self.since.iter().map(|entry| &**entry))
        };
        let is_answered = |id: &String| {
            let answers =
                |past: &Past| matches!(past, Past::Answered { call_id, .. } if call_id == id);
            past().any(answers)
        };
        let awaits = |past: &Past| matches!(past, Past::Background { call_id, open: true, .. } if !is_answered(call_id));
        match past().any(awaits) {
            true => TurnEnd::Waiting,
            false => TurnEnd::Completed,
        }
    }

    fn is_answered(&self) -> bool {
        matches!(
            self.history.last(),
            Some(Past::Assistant { phase: Some(phase), .. }) if phase == items::FINAL
        )
    }

    /// Takes the messages and answers that wait, without waiting for any; whether there were some.
    fn take_messages(&mut self) -> bool {
        let mut any = false;
        while let Ok(steer) = self.link.steer.try_recv() {
            match steer {
                Steer::Message(message) => self.hear(message),
                Steer::Answer {
                    call_id,
                    name,
                    answer,
                } => self.record(Past::Answered {
                    call_id,
                    name,
                    answer,
                }),
            }
            any = true;
        }
        any
    }

    fn hear(&mut self, message: Feed) {
        self.untaken.push(message.input);
        self.record(Past::User {
            content: message.content,
        });
    }

    /// From now on it is a part of what the model is given.
    pub(super) fn record(&mut self, past: Past) {
        self.since.push(PastEntry::new(past));
    }

    pub(super) async fn saw(&self, what: Observation) -> Result<(), TurnEnd> {
        self.link.saw(what).await.map_err(left)
    }

    async fn call_model(&mut self) -> Result<Response, TurnEnd> {
        if self.model_calls >= self.options.max_model_calls {
            return Err(failed(
                "usage_limit_exceeded",
                format!(
                    "the turn made {} model calls, which is the most it may make",
                    self.model_calls
                ),
            ));
        }
        let messages = self.untaken.len();
        let input = self.input(messages);
        let mut request = self.setup.request(input);
        loop {
            let answer = call::complete(
                self.model,
                &request,
                &self.options.retry,
                &self.link,
                &mut self.untaken,
            );
            match answer.await {
                Ok(response) => {
                    self.model_calls += 1;
                    self.saw(Observation::ModelCall(response.usage.unwrap_or_default()))
                        .await?;
                    return Ok(response);
                }
                Err(NoResponse::End(end)) => return Err(end),
                // How small a model's context is shows only now; with less history a long Session stays usable.
                Err(NoResponse::Model(error)) => {
                    match self.shorter(&error, &request.input, messages) {
                        Some(input) => request.input = input,
                        None => return Err(failed(&error.code, error.message)),
                    }
                }
            }
        }
    }

    /// The model's input now, of which `messages` messages are new to it.
    fn input(&mut self, messages: usize) -> Arc<Vec<ModelItem>> {
        let log = Log {
            history: &self.history,
            since: &self.since,
        };
        self.input.fitted(log, self.budget_bytes, messages)
    }

    /// About half of what was sent, if that was too long and can be shortened.
    fn shorter(
        &mut self,
        error: &ModelError,
        sent: &[ModelItem],
        messages: usize,
    ) -> Option<Arc<Vec<ModelItem>>> {
        if error.code != "context_length_exceeded" {
            return None;
        }
        let bytes = |input: &[ModelItem]| input.iter().map(ModelItem::size_bytes).sum::<usize>();
        self.budget_bytes = self.budget_bytes.min(bytes(sent)) / 2;
        let input = self.input(messages);
        (bytes(&input) < bytes(sent)).then_some(input)
    }

    /// Reports a complete response's items and does what they ask for, in order.
    async fn follow(&mut self, response: Response) -> Result<Next, TurnEnd> {
        let outputs = items::read(
            response.items,
            response.incomplete.is_some(),
            &response.loose_text,
        );
        let mut next = Next::Rest;
        for output in outputs {
            match output {
                Output::Message {
                    text,
                    phase,
                    incomplete,
                } => {
                    self.record(Past::Assistant {
                        text: text.clone(),
                        phase: phase.clone(),
                    });
                    self.saw(Observation::Message {
                        text,
                        phase,
                        incomplete,
                    })
                    .await?;
                }
                Output::Reasoning { summary, native } => {
                    self.record(Past::Reasoning {
                        summary: summary.clone(),
                        native: Some(native.clone()),
                    });
                    self.saw(Observation::Reasoning {
                        summary,
                        native: Some(native),
                    })
                    .await?;
                }
                // A call whose arguments may be cut off is not made.
                Output::Call(_) if response.incomplete.is_some() => {}
                Output::Call(call) if self.setup.is_function(&call.name) => {
                    let background = self.setup.is_background(&call.name);
                    self.function(call).await?;
                    if !background {
                        next = Next::Wait;
                    } else if !matches!(next, Next::Wait) {
                        next = Next::Call;
                    }
                }
                Output::Call(call) => {
                    self.go_on()?;
                    self.tool(call).await?;
                    if !matches!(next, Next::Wait) {
                        next = Next::Call;
                    }
                }
            }
        }
        match response.incomplete.as_deref() {
            None => Ok(next),
            Some("content_filter") => Err(failed(
                "invalid_request",
                "the provider's content filter stopped the answer".to_owned(),
            )),
            Some(reason) => Err(failed(
                "max_output_tokens",
                format!("the model's answer stopped early: {reason}"),
            )),
        }
    }
}

/// The engine does not want this worker any more.
pub(super) fn left(_: Fenced) -> TurnEnd {
    TurnEnd::Left
}

/// The Turn can't go on.
pub(super) fn failed(code: &str, message: String) -> TurnEnd {
    TurnEnd::Failed {
        code: code.to_owned(),
        message,
    }
}
