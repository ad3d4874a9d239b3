//! The Environments port: places where commands run, and what they left behind.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, watch};

use super::workspace::{FilesQuery, WorkspaceError, WorkspaceFiles};

/// How commands are isolated. Only [`Isolation::Sandbox`] is ever chosen without the operator naming it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Namespaces, our PID 1, seccomp, rlimits.
    #[default]
    Sandbox,
    /// Process groups and rlimits only: the agent's commands can do what the operator can.
    UnsafeNone,
}

/// Which hosts commands may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "access")]
pub enum Network {
    /// Nothing but the sandbox's own loopback.
    #[default]
    Disabled,
    /// Through the engine's proxy, to these hosts only (`host`, `host:port`, `*.domain`).
    Restricted {
        /// Lower-case host patterns.
        allowed_domains: Vec<String>,
    },
    /// Through the engine's proxy, to any public address.
    Enabled,
}

/// What an environment is made of.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentSpec {
    /// `env_…`
    pub id: String,
    /// How commands are isolated.
    pub isolation: Isolation,
    /// What they may reach.
    pub network: Network,
    /// Variables that commands see, beside the fixed allow-list. Their values are nobody else's business: a record holds none (but
    /// for Sessions of old), and they are added where the environment is opened.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

impl fmt::Debug for EnvironmentSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EnvironmentSpec")
            .field("id", &self.id)
            .field("isolation", &self.isolation)
            .field("network", &self.network)
            .field("env", &self.env.keys())
            .finish()
    }
}

/// One command to run.
#[derive(Clone, Debug)]
pub struct ExecSpec {
    /// What to execute.
    pub program: Program,
    /// Absolute path inside the environment; `/workspace` by default.
    pub cwd: String,
    /// Variables beside the environment's own.
    pub env: BTreeMap<String, String>,
    /// Bytes for its standard input; then end of file.
    pub stdin: Bytes,
    /// After this the whole process tree is ended.
    pub timeout_ms: u64,
    /// Bytes of output kept: the first and last half of this, with a note of what was left out between.
    pub output_limit_bytes: usize,
}

/// What to execute in an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// `bash -c` (or `sh -c` where there is no bash) with this text.
    Shell(String),
    /// Program and arguments, looked up in the environment's PATH.
    Argv(Vec<String>),
    /// Applies the patch on standard input inside the environment (our own binary, run there).
    ApplyPatch,
}

/// What is said with a program while it runs.
pub struct Conversation {
    /// To its standard input, in order; once the sender is gone, end of file.
    pub input: mpsc::Receiver<Bytes>,
    /// From its standard output, whole and in order: the program waits while nobody takes it.
    pub output: mpsc::Sender<Bytes>,
    /// Names of the environment's own variables that it is given; of the others it sees none.
    pub variables: Vec<String>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExecEnd {
    /// Why it ended.
    pub how: ExecHow,
    /// Standard output and error as they came, bounded; bytes that are not UTF-8 replaced.
    pub output: String,
    /// Bytes that were written in all.
    pub output_bytes: u64,
    /// Wall time.
    pub duration_ms: u64,
}

/// Why a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecHow {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// Its time was over; the tree was ended.
    TimedOut,
    /// It was cancelled; the tree was ended.
    Cancelled,
    /// It never started (no such program, no such directory), with the reason.
    NotStarted(String),
}

/// Why an environment can't do as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvironmentError {
    /// Isolation is not available on this machine: the cause and the remedy, in words.
    #[error("{cause}; {remedy}")]
    Refused {
        /// What failed.
        cause: String,
        /// What an operator can do.
        remedy: String,
    },
    /// The environment ended under us; commands that were running have an unknown outcome.
    #[error("the environment was lost: {0}")]
    Lost(String),
    /// It could not be set up or used; nothing ran.
    #[error("the environment failed: {0}")]
    Failed(String),
}

/// A file under /workspace/outputs, open for reading.
pub struct OutputFile {
    /// Absolute path as the agent sees it, `/workspace/outputs/…`.
    pub path: String,
    /// Length when it was opened.
    pub size_bytes: u64,
    /// Its bytes.
    pub content: Box<dyn AsyncRead + Send + Unpin>,
}

/// Something under /workspace/outputs that is not kept, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Absolute path as the agent sees it.
    pub path: String,
    /// Why, in words (`symbolic link`, `more than 200 MiB`, …).
    pub reason: String,
}

/// Bounds of one capture.
#[derive(Clone, Copy, Debug)]
pub struct CaptureLimits {
    /// Per file.
    pub file_bytes: u64,
    /// All files of one Turn.
    pub turn_bytes: u64,
    /// Files of one Turn.
    pub files: usize,
}

impl Default for CaptureLimits {
    fn default() -> Self {
        CaptureLimits {
            file_bytes: 200 << 20,
            turn_bytes: 500 << 20,
            files: 1_000,
        }
    }
}

/// What a capture found, in path order.
pub struct Outputs {
    /// Regular files within the limits.
    pub files: Vec<OutputFile>,
    /// Everything else.
    pub left_out: Vec<LeftOut>,
}

/// One live place where commands run.
#[async_trait]
pub trait Environment: Send + Sync {
    /// Runs one command to its end. Output goes to `output` as it comes (a full or closed channel loses live output, never the
    /// result). `cancel` turning true ends the whole process tree, daemons included, before this returns; what earlier
    /// commands left running in the background stays.
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError>;

    /// Runs a program with which its caller speaks, to its end. The spec's own standard input is not used, and the answer's output is what it
    /// wrote to standard error. What it leaves running in the background is ended with it.
    async fn converse(
        &self,
        _spec: ExecSpec,
        _conversation: Conversation,
        _cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let why = "nothing that has to be spoken with runs here";
        Err(EnvironmentError::Failed(why.to_owned()))
    }

    /// What commands in it may reach.
    fn network(&self) -> Network {
        Network::Disabled
    }

    /// Opens what is under /workspace/outputs now. Never follows a link.
    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError>;

    /// Whether anything under /workspace/outputs may differ from what [`Environment::outputs`] found last. Reads no file's content.
    async fn has_new_outputs(&self) -> bool {
        true
    }

    /// Ends every process in it and waits until they are gone. Files stay.
    async fn close(&self);
}

/// Makes and finds environments. One process holds an environment at a time: opening waits for, or ends, an earlier holder.
#[async_trait]
pub trait Environments: Send + Sync {
    /// Opens the environment, starting it if needed. `fresh` in the answer says that files of an earlier life were lost.
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError>;

    /// The environment, if this process holds it and it is alive. Never starts or waits for one.
    async fn held(&self, _id: &str) -> Option<Arc<dyn Environment>> {
        None
    }

    /// Ends an environment if this process holds it; its files stay. Idempotent, and never starts one.
    async fn close(&self, id: &str);

    /// Removes an environment's files for good. Idempotent.
    async fn remove(&self, id: &str) -> Result<(), EnvironmentError>;

    /// Regular files of a workspace as they are now, whoever holds the environment. No link is followed.
    async fn list_files(
        &self,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, WorkspaceError>;

    /// Puts a file of at most `limit_bytes` into a workspace, whoever holds the environment; how long it is. It appears whole under
    /// `path` (absolute, below `/workspace`), in place of a regular file. Directories on the way are made; no link is followed.
    async fn put_file(
        &self,
        id: &str,
        path: &str,
        from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<u64, WorkspaceError>;

    /// Whether [`Environments::set_furnished`] was called since the workspace was made. What can't be told counts as no.
    async fn is_furnished(&self, id: &str) -> bool;

    /// Remembers, as long as the workspace lives, that the files which it starts with were put there.
    async fn set_furnished(&self, id: &str) -> Result<(), WorkspaceError>;

    /// Whether this isolation works here; the refusal names cause and remedy.
    async fn check(&self, isolation: Isolation) -> Result<(), EnvironmentError>;
}

/// An environment that was opened.
pub struct Opened {
    /// The environment.
    pub environment: Arc<dyn Environment>,
    /// Its workspace was created by this call.
    pub created: bool,
    /// Processes of an earlier Turn may still run in it (it was open in this process already).
    pub warm: bool,
}
