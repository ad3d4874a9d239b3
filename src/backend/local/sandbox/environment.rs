//! One live environment: its control socket, the process behind it, and its workspace.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::process::Child;
use tokio::sync::{Notify, mpsc, watch};

use super::capture::Mark;
use super::control::Control;
use super::exec::{Exec, Streams};
use super::launch::kill_half_started;
use super::proxy::Proxy;
use super::wire::Command;
use super::witness::Witness;
use super::{capture, variables};
use crate::engine::ports::{
    CaptureLimits, Conversation, Environment, EnvironmentError, EnvironmentSpec, ExecEnd, ExecHow,
    ExecSpec, Isolation, Network, Outputs, Program,
};

/// How long a sandbox may take to end by itself once its control socket is closed.
const CLOSING: Duration = Duration::from_secs(3);

/// Between two looks at a PID 1 whose launcher was killed.
const WITNESS_POLL: Duration = Duration::from_millis(2);

/// A running sandbox, or the bare process tree that stands for one.
pub(super) struct LocalEnvironment {
    /// What it was made of.
    pub(super) spec: EnvironmentSpec,
    /// The conversation with PID 1.
    pub(super) control: Arc<Control>,
    /// The workspace on the host.
    pub(super) workspace: PathBuf,
    /// Variables of every command.
    pub(super) variables: BTreeMap<String, String>,
    /// What its outputs looked like when they were captured last.
    pub(super) captured: Mutex<Option<Mark>>,
    /// Its way out, while it is open.
    pub(super) proxy: Mutex<Option<Proxy>>,
    /// Its end.
    pub(super) end: End,
}

impl LocalEnvironment {
    /// Whether commands can be sent to it.
    pub(super) fn is_alive(&self) -> bool {
        self.control.is_open() && !*self.end.gone.borrow()
    }

    fn captured(&self) -> MutexGuard<'_, Option<Mark>> {
        self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The agent's path, as the process that executes the command has to spell it.
    fn host_path(&self, path: &str) -> String {
        match self.spec.isolation {
            Isolation::Sandbox => path.to_owned(),
            Isolation::UnsafeNone => match path.strip_prefix("/workspace") {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                    format!("{}{rest}", self.workspace.display())
                }
                _ => path.to_owned(),
            },
        }
    }

    /// `own`: the names of the environment's own variables that it is given; `None`: all of them.
    fn command(&self, spec: &ExecSpec, own: Option<&[String]>) -> Result<Command, String> {
        let mut env = self.variables.clone();
        let given = |name: &String| own.is_none_or(|own| own.contains(name));
        let variables = self.spec.env.iter().filter(|(name, _)| given(name));
        env.extend(variables.map(|(name, value)| (name.clone(), value.clone())));
        env.extend(spec.env.clone());
        if let Some(refusal) = variables::refusal(&env) {
            return Err(refusal);
        }
        let texts: Vec<&str> = match &spec.program {
            Program::Shell(script) => vec![script],
            Program::Argv(argv) => argv.iter().map(String::as_str).collect(),
            Program::ApplyPatch => Vec::new(),
        };
        if texts.iter().any(|text| text.contains('\0')) || spec.cwd.contains('\0') {
            return Err("no command can hold a NUL character".to_owned());
        }
        if matches!(&spec.program, Program::Argv(argv) if argv.first().is_none_or(String::is_empty))
        {
            return Err("the command names no program".to_owned());
        }
        if !spec.cwd.starts_with('/') {
            return Err(format!(
                "the working directory is not an absolute path: {}",
                spec.cwd
            ));
        }
        let cwd = self.host_path(&spec.cwd);
        env.insert("PWD".to_owned(), cwd.clone());
        Ok(Command {
            program: spec.program.clone(),
            cwd,
            env,
        })
    }
}

#[async_trait]
impl Environment for LocalEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let command = match self.command(&spec, None) {
            Ok(command) => command,
            Err(reason) => return Ok(not_started(reason)),
        };
        let exec = Exec {
            command,
            streams: Streams::Plain(spec.stdin),
            alone: false,
            timeout_ms: spec.timeout_ms,
            output_limit_bytes: spec.output_limit_bytes,
            live: output,
            cancel,
        };
        exec.run(&self.control).await
    }

    async fn converse(
        &self,
        spec: ExecSpec,
        conversation: Conversation,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let command = match self.command(&spec, Some(&conversation.variables)) {
            Ok(command) => command,
            Err(reason) => return Ok(not_started(reason)),
        };
        let exec = Exec {
            command,
            streams: Streams::of(conversation),
            alone: true,
            timeout_ms: spec.timeout_ms,
            output_limit_bytes: spec.output_limit_bytes,
            live: mpsc::channel(1).0,
            cancel,
        };
        exec.run(&self.control).await
    }

    fn network(&self) -> Network {
        self.spec.network.clone()
    }

    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        let (outputs, mark) = capture::outputs(&self.workspace, limits).await?;
        *self.captured() = Some(mark);
        Ok(outputs)
    }

    async fn has_new_outputs(&self) -> bool {
        let known = *self.captured();
        known.is_none() || capture::mark(&self.workspace).await != known
    }

    async fn close(&self) {
        self.control.hang_up();
        *self.proxy.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.end.wait().await;
    }
}

impl Drop for LocalEnvironment {
    fn drop(&mut self) {
        self.control.hang_up();
    }
}

/// A command that can't be one.
fn not_started(reason: String) -> ExecEnd {
    ExecEnd {
        how: ExecHow::NotStarted(reason),
        output: String::new(),
        output_bytes: 0,
        duration_ms: 0,
    }
}

/// How an environment's process ends, seen from its users.
pub(super) struct End {
    gone: watch::Receiver<bool>,
    kill: Arc<Notify>,
}

impl End {
    /// Watches the process, and lets go of the environment's lock once it is gone.
    ///
    /// bubblewrap leaves only after the kernel has ended every process of the sandbox. If it was killed itself, `witness` is what
    /// proves that.
    pub(super) fn of(
        mut child: Child,
        witness: Option<Witness>,
        lock: OwnedFd,
        control: Arc<Control>,
    ) -> End {
        let (told, gone) = watch::channel(false);
        let kill = Arc::new(Notify::new());
        let killed = Arc::clone(&kill);
        tokio::spawn(async move {
            tokio::select! {
                _ = child.wait() => {}
                () = killed.notified() => kill_half_started(&mut child).await,
            }
            control.hang_up();
            while witness.as_ref().is_some_and(Witness::is_there) {
                tokio::time::sleep(WITNESS_POLL).await;
            }
            drop(lock);
            told.send_replace(true);
        });
        End { gone, kill }
    }

    /// Waits until it is gone; kills it if that takes too long.
    pub(super) async fn wait(&self) {
        let mut gone = self.gone.clone();
        let mut wait = async || gone.wait_for(|gone| *gone).await.is_ok();
        if tokio::time::timeout(CLOSING, wait()).await.is_err() {
            self.kill.notify_one();
            let _ = tokio::time::timeout(CLOSING, wait()).await;
        }
    }
}
