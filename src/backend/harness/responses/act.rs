//! What a Turn does when the model calls something: a function of the client, a command, a patch, or what does not exist.

use bytes::Bytes;

use super::input::call_id;
use super::items::{self, Call};
use super::outcome::{self, Ended};
use super::turn::{Turn, failed, left};
use super::{exec, patch, tools};
use crate::engine::ports::{
    Claim, EnvironmentError, ExecSpec, Observation, Past, Program, ToolOutcome, TurnEnd,
};

/// Environment errors in a row after which the Turn ends: nothing the model does will mend them.
const ENVIRONMENT_ERRORS: u32 = 3;

/// A call that can be run.
struct Plan {
    shown: String,
    spec: ExecSpec,
}

impl Turn<'_> {
    /// Reports a call that the client answers.
    pub(super) async fn function(&mut self, mut call: Call) -> Result<(), TurnEnd> {
        call.call_id = self.unused(call.call_id);
        let background = self.setup.is_background(&call.name);
        let (call_id, name, arguments) = (
            call.call_id.clone(),
            call.name.clone(),
            call.arguments.clone(),
        );
        self.record(match background {
            true => Past::Background {
                call_id,
                name,
                arguments,
                open: true,
            },
            false => Past::Function {
                call_id,
                name,
                arguments,
                output: None,
            },
        });
        self.saw(Observation::FunctionCall {
            call_id: call.call_id,
            name: call.name,
            arguments: call.arguments,
            background,
        })
        .await
    }

    /// A call that the harness runs. One that can't be run is recorded in the same way, claim and end, though it has no effect:
    /// so it has a place in the history, and the model is told what was wrong with it after any restart too.
    pub(super) async fn tool(&mut self, mut call: Call) -> Result<(), TurnEnd> {
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
            server_label: None,
        };
        self.link.claim(claim).await.map_err(left)?;
        let ended = match planned {
            Ok(plan) => self.execute(plan, &call.call_id).await,
            Err(reason) => outcome::refused(&reason),
        };
        self.record(Past::Tool {
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
    fn unused(&self, call_id: String) -> String {
        let mut id = call_id;
        let mut n = self.history.len() + self.since.len();
        while id.is_empty() || id.len() > items::CALL_ID_BYTES || self.is_used(&id) {
            n += 1;
            id = format!("{:.32}_{n}", self.turn);
        }
        id
    }

    fn is_used(&self, id: &str) -> bool {
        let since = self.since.iter().rev().map(|entry| &**entry);
        let mut newest_first = since.chain(self.history.iter().rev());
        newest_first.any(|past| call_id(past) == Some(id))
    }
}
