//! The loop of one Turn: take messages, call the model, do what it asks, until it asks for nothing more.

use std::collections::HashSet;
use std::sync::Arc;

use super::call::{self, NoResponse, Response};
use super::items::{self, Call, Output};
use super::outcome::{self, Ended};
use super::setup::Setup;
use super::stop::Stop;
use super::{Options, exec, input, patch, tools};
use crate::engine::ports::{
    Claim, Environment, EnvironmentError, ExecSpec, Feed, Fenced, Model, Observation, Past,
    Program, ToolOutcome, TurnEnd, TurnLink, TurnTask,
};
use bytes::Bytes;

/// Environment errors in a row after which the Turn ends: nothing the model does will mend them.
const ENVIRONMENT_ERRORS: u32 = 3;

/// Below this, leaving out more history is not tried when the model says that its context is too small.
const SMALLEST_BUDGET_BYTES: usize = 16 << 10;

/// One Turn that is being worked on.
pub struct Turn<'a> {
    model: &'a dyn Model,
    options: &'a Options,
    setup: Setup,
    environment: Option<Arc<dyn Environment>>,
    link: TurnLink,
    stop: Stop,
    turn: String,
    history: Arc<Vec<Past>>,
    /// What happened since the harness began, behind `history`.
    since: Vec<Past>,
    /// Inputs in `since` that no model call was given yet.
    untaken: Vec<u64>,
    call_ids: HashSet<String>,
    model_calls: u32,
    budget_bytes: usize,
    environment_errors: u32,
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
    /// Takes over a task.
    pub fn new(
        model: &'a dyn Model,
        options: &'a Options,
        task: TurnTask,
        link: TurnLink,
    ) -> Turn<'a> {
        let setup = Setup::new(
            &task.agent,
            &task.session,
            task.environment.is_some(),
            options,
        );
        let call_ids = task
            .history
            .iter()
            .filter_map(|past| match past {
                Past::Tool { call_id, .. } | Past::Function { call_id, .. } => {
                    Some(call_id.clone())
                }
                _ => None,
            })
            .collect();
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
            untaken: Vec::new(),
            call_ids,
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
                return Ok(TurnEnd::Completed);
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
                Next::Rest => return Ok(TurnEnd::Completed),
            }
        }
    }

    /// A safe point: stops here if a signal asks for it.
    fn go_on(&self) -> Result<(), TurnEnd> {
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

    fn is_answered(&self) -> bool {
        matches!(
            self.history.last(),
            Some(Past::Assistant { phase: Some(phase), .. }) if phase == items::FINAL
        )
    }

    /// Takes the messages that wait, without waiting for any; whether there were some.
    fn take_messages(&mut self) -> bool {
        let mut any = false;
        while let Ok(message) = self.link.steer.try_recv() {
            self.hear(message);
            any = true;
        }
        any
    }

    fn hear(&mut self, message: Feed) {
        self.untaken.push(message.input);
        self.since.push(Past::User {
            content: message.content,
        });
    }

    async fn saw(&self, what: Observation) -> Result<(), TurnEnd> {
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
        loop {
            let log: Vec<&Past> = self.history.iter().chain(&self.since).collect();
            let input = input::fitted_input(&log, self.budget_bytes);
            let sent_bytes: usize = input.iter().map(|item| item.to_string().len()).sum();
            let answer = call::complete(
                self.model,
                &self.setup.request(input),
                &self.options.retry,
                &self.link,
                &mut self.untaken,
            )
            .await;
            match answer {
                Ok(response) => {
                    self.model_calls += 1;
                    self.saw(Observation::ModelCall(response.usage.unwrap_or_default()))
                        .await?;
                    return Ok(response);
                }
                Err(NoResponse::End(end)) => return Err(end),
                // Only this Turn knows how small the model's context is: with less history a long Session stays usable.
                Err(NoResponse::Model(error))
                    if error.code == "context_length_exceeded"
                        && log.len() > 1
                        && sent_bytes / 2 >= SMALLEST_BUDGET_BYTES =>
                {
                    self.budget_bytes = self.budget_bytes.min(sent_bytes) / 2;
                }
                Err(NoResponse::Model(error)) => return Err(failed(&error.code, error.message)),
            }
        }
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
                    self.since.push(Past::Assistant {
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
                    self.since.push(Past::Reasoning {
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
                    self.function(call).await?;
                    next = Next::Wait;
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

    async fn function(&mut self, mut call: Call) -> Result<(), TurnEnd> {
        call.call_id = self.unused(call.call_id);
        self.since.push(Past::Function {
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            output: None,
        });
        self.saw(Observation::FunctionCall {
            call_id: call.call_id,
            name: call.name,
            arguments: call.arguments,
        })
        .await
    }

    /// A call that the harness runs. One that can't be run is recorded in the same way, claim and end, though it has no effect:
    /// so it has a place in the history, and the model is told what was wrong with it after any restart too.
    async fn tool(&mut self, mut call: Call) -> Result<(), TurnEnd> {
        call.call_id = self.unused(call.call_id);
        let planned = self.plan(&call);
        let (command, cwd) = match &planned {
            Ok(plan) => (plan.shown.clone(), Some(plan.spec.cwd.clone())),
            Err(_) => (call.name.clone(), None),
        };
        let claim = Claim {
            call_id: call.call_id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            command,
            cwd,
        };
        self.link.claim(claim).await.map_err(left)?;
        let ended = match planned {
            Ok(plan) => self.execute(plan, &call.call_id).await,
            Err(reason) => outcome::refused(&reason),
        };
        self.since.push(Past::Tool {
            call_id: call.call_id.clone(),
            name: call.name,
            arguments: call.arguments,
            outcome: ToolOutcome::Done {
                output: ended.told.clone(),
            },
        });
        self.saw(Observation::ToolEnded {
            call_id: call.call_id,
            end: ended.end,
            output: ended.told,
        })
        .await?;
        if self.stop.now() == Some(TurnEnd::Cancelled) {
            return Err(TurnEnd::Cancelled);
        }
        if self.environment_errors >= ENVIRONMENT_ERRORS {
            return Err(failed(
                "sandbox_error",
                format!("the environment failed {ENVIRONMENT_ERRORS} times in a row"),
            ));
        }
        Ok(())
    }

    fn plan(&self, call: &Call) -> Result<Plan, String> {
        let spec = |program, cwd, stdin, timeout_ms| ExecSpec {
            program,
            cwd,
            env: Default::default(),
            stdin,
            timeout_ms,
            output_limit_bytes: self.options.output_limit_bytes,
        };
        match call.name.as_str() {
            tools::SHELL if self.setup.has_environment() => {
                let shell = tools::read_shell(&call.arguments, self.options)?;
                Ok(Plan {
                    shown: shell.shown,
                    spec: spec(shell.program, shell.cwd, Bytes::new(), shell.timeout_ms),
                })
            }
            tools::APPLY_PATCH if self.setup.has_environment() => {
                let text = tools::read_patch(&call.arguments)?;
                let shown = patch::summary(&text)
                    .map_err(|error| format!("{error}. Nothing was changed."))?;
                let timeout_ms = self.options.shell_timeout_ms;
                let cwd = tools::WORKSPACE.to_owned();
                Ok(Plan {
                    shown,
                    spec: spec(Program::ApplyPatch, cwd, text.into(), timeout_ms),
                })
            }
            name => Err(format!(
                "there is no tool named `{name}` here. Nothing was run."
            )),
        }
    }

    async fn execute(&mut self, plan: Plan, call_id: &str) -> Ended {
        if self.stop.now() == Some(TurnEnd::Cancelled) {
            return outcome::never_begun();
        }
        let Some(environment) = &self.environment else {
            return outcome::refused("there is no environment. Nothing was run.");
        };
        let timeout_ms = plan.spec.timeout_ms;
        match exec::run(environment.as_ref(), plan.spec, call_id, &self.link).await {
            Ok(end) => {
                self.environment_errors = 0;
                outcome::command(end, timeout_ms)
            }
            Err(error) => {
                self.note(&error);
                outcome::environment(&error)
            }
        }
    }

    fn note(&mut self, error: &EnvironmentError) {
        tracing::warn!(%error, "a command could not be run to its end");
        self.environment_errors += 1;
    }

    /// The provider's call id, or one that is unique in the Session if the provider gave none or gave it before: some servers
    /// begin to count anew in each response.
    fn unused(&mut self, call_id: String) -> String {
        let mut id = call_id;
        let mut n = self.call_ids.len();
        while id.is_empty() || id.len() > items::CALL_ID_BYTES || !self.call_ids.insert(id.clone())
        {
            n += 1;
            id = format!("{:.32}_{n}", self.turn);
        }
        id
    }
}

struct Plan {
    shown: String,
    spec: ExecSpec,
}

fn left(_: Fenced) -> TurnEnd {
    TurnEnd::Left
}

fn failed(code: &str, message: String) -> TurnEnd {
    TurnEnd::Failed {
        code: code.to_owned(),
        message,
    }
}
