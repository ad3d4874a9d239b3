//! A small engine around a harness: it records what is seen and claimed, answers claims, and turns what it recorded into the
//! history of a later run.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use rat_things::api::SessionAgent;
use rat_things::backend::harness::responses::{Options, ResponsesHarness, Retry, patch};
use rat_things::engine::ports::{
    CaptureLimits, Claim, Delta, Environment, EnvironmentError, ExecEnd, ExecHow, ExecSpec, Feed,
    Fenced, FromHarness, Harness, Model, Observation, Outputs, Past, Program, Signal, Steer,
    ToolOutcome, TurnEnd, TurnLink, TurnTask,
};
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

/// Long enough that only a hang reaches it.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the engine was told, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    Saw(Observation),
    Claimed(Claim),
}

/// A Turn to be run.
pub struct Setup {
    pub model: Arc<dyn Model>,
    pub options: Options,
    pub agent: SessionAgent,
    pub history: Vec<Past>,
    pub feed: Vec<Feed>,
    pub environment: Option<Arc<dyn Environment>>,
    pub model_calls: u32,
    pub fenced: bool,
}

impl Setup {
    pub fn new(model: Arc<dyn Model>) -> Setup {
        Setup {
            model,
            options: Options {
                retry: Retry {
                    base_ms: 1,
                    cap_ms: 2,
                    ..Retry::default()
                },
                ..Options::default()
            },
            agent: agent(&[]),
            history: Vec::new(),
            feed: Vec::new(),
            environment: None,
            model_calls: 0,
            fenced: false,
        }
    }

    pub fn told(mut self, text: &str) -> Setup {
        let input = self.feed.len() as u64 + 1;
        self.feed.push(message(input, text));
        self
    }

    pub fn within(mut self, environment: Arc<dyn Environment>) -> Setup {
        self.environment = Some(environment);
        self
    }

    pub fn with_functions(mut self, names: &[&str]) -> Setup {
        self.agent = agent(names);
        self
    }

    /// With a function that the agent does not wait for.
    pub fn with_background(mut self, name: &str) -> Setup {
        let mut agent = serde_json::to_value(agent(&[name])).expect("an Agent");
        agent["tools"][0]["async"] = true.into();
        self.agent = serde_json::from_value(agent).expect("an Agent");
        self
    }

    pub fn after(mut self, history: Vec<Past>) -> Setup {
        self.history = history;
        self
    }

    /// Starts it.
    pub fn start(self) -> Running {
        let (to_engine, from_harness) = mpsc::channel(4);
        let (steer, steered) = mpsc::channel(64);
        let (signal, signalled) = watch::channel(Signal::None);
        let (record, recorded) = watch::channel(Vec::new());
        let link = TurnLink {
            to_engine,
            steer: steered,
            signal: signalled,
        };
        let task = TurnTask {
            tool_secrets: Default::default(),
            session: "sess_test".to_owned(),
            turn: "turn_test".to_owned(),
            agent: Arc::new(self.agent),
            resumed: !self.history.is_empty(),
            history: Arc::new(self.history),
            feed: self.feed,
            environment: self.environment,
            model_calls: self.model_calls,
            checkpoint: None,
        };
        let harness = ResponsesHarness::new(self.model, self.options);
        let engine = tokio::spawn(engine(from_harness, record, self.fenced));
        Running {
            steer,
            signal,
            recorded,
            end: tokio::spawn(async move { harness.run(task, link).await }),
            engine,
        }
    }

    /// Runs it to its end.
    pub async fn run(self) -> (TurnEnd, Vec<Seen>) {
        self.start().end().await
    }
}

async fn engine(
    mut from: mpsc::Receiver<FromHarness>,
    record: watch::Sender<Vec<Seen>>,
    fenced: bool,
) {
    while let Some(what) = from.recv().await {
        match what {
            FromHarness::Saw(observation) => {
                record.send_modify(|all| all.push(Seen::Saw(observation)))
            }
            FromHarness::Claim(_, answer) if fenced => {
                let _ = answer.send(Err(Fenced));
            }
            FromHarness::Claim(claim, answer) => {
                record.send_modify(|all| all.push(Seen::Claimed(claim)));
                let _ = answer.send(Ok(()));
            }
            FromHarness::Record(answer) => {
                let _ = answer.send(());
            }
            // No agent of this harness starts another one.
            FromHarness::ClaimAs(_, answer) => drop(answer.send(Err(Fenced))),
        }
    }
}

/// A Turn that runs.
pub struct Running {
    pub steer: mpsc::Sender<Steer>,
    pub signal: watch::Sender<Signal>,
    recorded: watch::Receiver<Vec<Seen>>,
    end: JoinHandle<TurnEnd>,
    engine: JoinHandle<()>,
}

impl Running {
    /// Waits until the record fulfils this.
    pub async fn until(&mut self, enough: impl FnMut(&Vec<Seen>) -> bool) {
        tokio::time::timeout(PATIENCE, self.recorded.wait_for(enough))
            .await
            .expect("the harness reports in time")
            .expect("the engine lives");
    }

    /// Waits until text is streamed.
    pub async fn until_text(&mut self) {
        self.until(|seen| {
            seen.iter()
                .any(|seen| matches!(seen, Seen::Saw(Observation::Delta(Delta::Text { .. }))))
        })
        .await;
    }

    /// The engine goes away, as when a run is aborted.
    pub fn drop_engine(&self) {
        self.engine.abort();
    }

    /// Waits for the end.
    pub async fn end(self) -> (TurnEnd, Vec<Seen>) {
        let end = tokio::time::timeout(PATIENCE, self.end)
            .await
            .expect("the harness ends in time")
            .expect("the harness does not panic");
        // Its end of the link is gone with the harness, so the engine has read everything when it ends.
        drop(self.engine.await);
        let seen = self.recorded.borrow().clone();
        (end, seen)
    }
}

/// A message for the agent.
pub fn message(input: u64, text: &str) -> Feed {
    Feed {
        input,
        content: vec![json!({"type": "input_text", "text": text})],
    }
}

/// An Agent with these functions.
pub fn agent(functions: &[&str]) -> SessionAgent {
    let functions: Vec<Value> = functions
        .iter()
        .map(|name| {
            json!({"type": "function", "name": name, "description": "does things", "parameters": {"type": "object"},
                   "defer_loading": false})
        })
        .collect();
    serde_json::from_value(json!({
        "id": "agent_test",
        "instructions": null,
        "model": "demo",
        "multi_agent": {"enabled": false, "max_concurrent_subagents": null},
        "name": null,
        "reasoning": {"effort": null, "summary": null},
        "service_tier": "auto",
        "text": {"format": {"type": "text"}, "verbosity": "medium"},
        "tools": functions,
    }))
    .expect("this is an Agent's snapshot")
}

/// What a later run is given as history: the messages, then everything that was recorded. A claim without an end is unknown.
pub fn history(feed: &[Feed], seen: &[Seen]) -> Vec<Past> {
    let mut past: Vec<Past> = Vec::new();
    for seen in seen {
        match seen {
            Seen::Saw(Observation::Took(inputs)) => past.extend(
                feed.iter()
                    .filter(|message| inputs.contains(&message.input))
                    .map(|message| Past::User {
                        content: message.content.clone(),
                    }),
            ),
            Seen::Saw(Observation::Message { text, phase, .. }) => past.push(Past::Assistant {
                text: text.clone(),
                phase: phase.clone(),
            }),
            Seen::Saw(Observation::WebSearch { native }) => past.push(Past::WebSearch {
                native: native.clone(),
            }),
            Seen::Saw(Observation::Reasoning { summary, native }) => past.push(Past::Reasoning {
                summary: summary.clone(),
                native: native.clone(),
            }),
            Seen::Saw(Observation::FunctionCall {
                call_id,
                name,
                arguments,
                background,
            }) => {
                let (call_id, name) = (call_id.clone(), name.clone());
                let arguments = arguments.clone();
                past.push(match background {
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
            }
            Seen::Claimed(claim) => past.push(Past::Tool {
                call_id: claim.call_id.clone(),
                name: claim.name.clone(),
                arguments: claim.arguments.clone(),
                outcome: ToolOutcome::Unknown,
            }),
            Seen::Saw(Observation::ToolEnded {
                call_id, output, ..
            }) => {
                for entry in &mut past {
                    if let Past::Tool {
                        call_id: id,
                        outcome,
                        ..
                    } = entry
                        && id == call_id
                    {
                        *outcome = ToolOutcome::Done {
                            output: output.clone(),
                        };
                    }
                }
            }
            Seen::Saw(
                Observation::ModelCall(_)
                | Observation::Delta(_)
                | Observation::Checkpoint(_)
                | Observation::DrivenBy { .. }
                | Observation::Subagent { .. }
                | Observation::Heard { .. },
            ) => {}
        }
    }
    past
}

/// What a command does in [`FakeEnvironment`].
pub enum Act {
    Exit(i32, &'static str),
    /// Runs until it is cancelled.
    Hang,
    /// Runs until the test says so, then exits with 0.
    Wait(Arc<Notify>),
    /// Ends like this, without output.
    End(ExecHow),
    Error(EnvironmentError),
}

/// Runs nothing; says what each command does.
pub struct FakeEnvironment {
    act: Box<dyn Fn(&ExecSpec) -> Act + Send + Sync>,
    pub ran: Mutex<Vec<ExecSpec>>,
}

impl FakeEnvironment {
    pub fn new(act: impl Fn(&ExecSpec) -> Act + Send + Sync + 'static) -> Arc<FakeEnvironment> {
        Arc::new(FakeEnvironment {
            act: Box::new(act),
            ran: Mutex::default(),
        })
    }

    /// The shell commands that were run.
    pub fn commands(&self) -> Vec<String> {
        let ran = self.ran.lock().expect("no test panics while it holds this");
        ran.iter().map(|spec| shown(&spec.program)).collect()
    }
}

fn shown(program: &Program) -> String {
    match program {
        Program::Shell(text) => text.clone(),
        Program::Argv(words) => words.join(" "),
        Program::ApplyPatch => "apply_patch".to_owned(),
    }
}

#[async_trait]
impl Environment for FakeEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        mut cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let act = (self.act)(&spec);
        self.ran
            .lock()
            .expect("no test panics while it holds this")
            .push(spec);
        let (how, text) = match act {
            Act::Exit(code, text) => (ExecHow::Exited(code), text),
            Act::End(how) => (how, ""),
            Act::Error(error) => return Err(error),
            Act::Wait(told) => {
                told.notified().await;
                (ExecHow::Exited(0), "")
            }
            Act::Hang => {
                drop(output.try_send(Bytes::from_static(b"begun\n")));
                drop(cancel.wait_for(|cancelled| *cancelled).await);
                (ExecHow::Cancelled, "begun\n")
            }
        };
        if !text.is_empty() {
            drop(output.try_send(Bytes::from_static(text.as_bytes())));
        }
        Ok(ExecEnd {
            how,
            output: text.to_owned(),
            output_bytes: text.len() as u64,
            duration_ms: 7,
        })
    }

    async fn outputs(&self, _: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        Ok(Outputs {
            files: Vec::new(),
            left_out: Vec::new(),
        })
    }

    async fn close(&self) {}
}

/// Runs commands with `sh` in a temporary directory that stands for /workspace.
pub struct ShellEnvironment {
    workspace: tempfile::TempDir,
}

impl ShellEnvironment {
    pub fn new() -> ShellEnvironment {
        ShellEnvironment {
            workspace: tempfile::tempdir().expect("a temporary directory can be made"),
        }
    }

    pub fn put(&self, path: &str, content: &str) {
        std::fs::write(self.workspace.path().join(path), content).expect("it can be written");
    }

    pub fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.workspace.path().join(path)).expect("it was written")
    }

    fn exited(&self, code: i32, output: &str) -> ExecEnd {
        let inside = self.workspace.path().canonicalize().expect("it is there");
        let output = output.replace(&inside.display().to_string(), "/workspace");
        ExecEnd {
            how: ExecHow::Exited(code),
            output_bytes: output.len() as u64,
            output,
            duration_ms: 7,
        }
    }
}

#[async_trait]
impl Environment for ShellEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        _: mpsc::Sender<Bytes>,
        _: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let words = match spec.program {
            Program::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), text],
            Program::Argv(words) => words,
            Program::ApplyPatch => {
                let patch = String::from_utf8_lossy(&spec.stdin).into_owned();
                return Ok(match patch::run(&patch, self.workspace.path()) {
                    Ok(_) => self.exited(0, ""),
                    Err(error) => self.exited(1, &error.to_string()),
                });
            }
        };
        let relative = spec.cwd.strip_prefix("/workspace").unwrap_or_default();
        let output = tokio::process::Command::new(&words[0])
            .args(&words[1..])
            .current_dir(self.workspace.path().join(relative.trim_start_matches('/')))
            .stdin(std::process::Stdio::null())
            .output()
            .await
            .map_err(|error| EnvironmentError::Failed(error.to_string()))?;
        let text = [output.stdout, output.stderr].concat();
        let code = output.status.code().unwrap_or(-1);
        Ok(self.exited(code, &String::from_utf8_lossy(&text)))
    }

    async fn outputs(&self, _: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        Ok(Outputs {
            files: Vec::new(),
            left_out: Vec::new(),
        })
    }

    async fn close(&self) {}
}
