//! Ports: everything the engine needs from outside, and the promise of each that matters.
//!
//! Implementations live in `backend`. One contract suite per port (`tests/it/contract`) runs against every implementation.
//! Errors say who must act and whether it happened, did not happen, or may have happened; the last is never folded into the
//! other two.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;
use tokio::sync::{mpsc, oneshot, watch};

// ───────────────────────────── Store ─────────────────────────────

/// Where a record is: rows of one partition are ordered by `sort` (bytewise) and can be read in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// `S/<session id>`, `O/<owner>` or `A/<group>/<shard>`.
    pub partition: String,
    /// Unique in its partition.
    pub sort: String,
}

impl Key {
    /// A key from its two parts.
    pub fn new(partition: impl Into<String>, sort: impl Into<String>) -> Key {
        Key {
            partition: partition.into(),
            sort: sort.into(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.partition, self.sort)
    }
}

/// A stored row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it is.
    pub key: Key,
    /// 1 when first put; one more with every put since. A row that was deleted and put again starts at 1.
    pub version: u64,
    /// Opaque to the store.
    pub value: Vec<u8>,
}

/// What must hold for a write to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// There is no such row.
    Absent,
    /// The row exists with exactly this version.
    Version(u64),
    /// Anything: the row may or may not exist.
    Any,
}

/// What a write does once its guard holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Store these bytes; the version becomes 1, or one more than it was.
    Put(Vec<u8>),
    /// Remove the row. Removing an absent row is no error (unless guarded).
    Delete,
    /// Only check the guard.
    Check,
}

/// One row of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Which row. A commit names each row at most once.
    pub key: Key,
    /// What must hold.
    pub guard: Guard,
    /// What happens then.
    pub change: Change,
}

/// 128 random bits that name one commit. Repeating a commit under its id is how a lost acknowledgement is settled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommitId(pub [u8; 16]);

impl CommitId {
    /// A new random id.
    pub fn random(ids: &dyn Ids) -> CommitId {
        let mut bytes = [0; 16];
        ids.fill(&mut bytes);
        CommitId(bytes)
    }
}

impl fmt::Debug for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CommitId({})", data_encoding::HEXLOWER.encode(&self.0))
    }
}

/// Rows one commit may write. DynamoDB would take 100; a smaller bound keeps commits small everywhere.
pub const MAX_COMMIT_ROWS: usize = 25;

/// An atomic, conditional change of up to [`MAX_COMMIT_ROWS`] rows: all of it, or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Names this commit; see [`Store::commit`].
    pub id: CommitId,
    /// The rows, each named once.
    pub writes: Vec<Write>,
}

impl Commit {
    /// Whether the commit keeps the port's rules: 1 to [`MAX_COMMIT_ROWS`] rows, each named once. Every store asks this first.
    pub fn check_rules(&self) -> Result<(), StoreError> {
        let rows = self.writes.len();
        if rows == 0 || rows > MAX_COMMIT_ROWS {
            return Err(StoreError::Invalid(format!(
                "{rows} rows, where 1 to {MAX_COMMIT_ROWS} are allowed"
            )));
        }
        for (i, write) in self.writes.iter().enumerate() {
            if self.writes[..i].iter().any(|w| w.key == write.key) {
                return Err(StoreError::Invalid(format!("{} is named twice", write.key)));
            }
        }
        Ok(())
    }
}

/// The answer to a commit that is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed {
    /// This id had been applied before; nothing was written now.
    pub repeated: bool,
}

/// An ordered read of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The partition to read.
    pub partition: String,
    /// First sort key that may be returned (inclusive).
    pub from: String,
    /// First sort key that may not be returned any more (exclusive); `None` reads to the partition's end.
    pub until: Option<String>,
    /// Highest first instead of lowest first.
    pub reverse: bool,
    /// Rows at most; at least 1.
    pub limit: usize,
}

impl Range {
    /// All rows whose sort key starts with `prefix`, lowest first. `prefix` must be ASCII and not empty.
    pub fn prefix(partition: impl Into<String>, prefix: &str, limit: usize) -> Range {
        let mut until = prefix.as_bytes().to_vec();
        if let Some(last) = until.last_mut() {
            *last += 1;
        }
        Range {
            partition: partition.into(),
            from: prefix.to_owned(),
            until: String::from_utf8(until).ok(),
            reverse: false,
            limit,
        }
    }

    /// Whether the range keeps the port's rules. Every store asks this first.
    pub fn check_rules(&self) -> Result<(), StoreError> {
        if self.limit == 0 {
            return Err(StoreError::Invalid("a range of no rows".to_owned()));
        }
        Ok(())
    }

    /// The same rows, highest first.
    pub fn reversed(mut self) -> Range {
        self.reverse = true;
        self
    }
}

/// The rows of a range read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order asked for.
    pub records: Vec<Record>,
    /// Whether rows remain behind the last one.
    pub more: bool,
}

/// Why a store call did not answer as asked. Only [`StoreError::Unknown`] may have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A guard did not hold, for this row among others. Nothing was written. Read again and decide again.
    #[error("the record changed meanwhile: {0}")]
    Conflict(Key),
    /// The store is saturated. Nothing was written. Try again later.
    #[error("the store is saturated")]
    Throttled,
    /// The store can't be reached or is busy beyond its patience. Nothing was written. Try again later.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
    /// The commit may or may not have been applied. Repeat the same commit under the same id to find out.
    #[error("it is unknown whether the commit was applied: {0}")]
    Unknown(String),
    /// An operator must act before this can work. Nothing was written.
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words, with the path and the way out.
        message: String,
    },
    /// The request breaks the port's rules (too many rows, a row named twice): our fault. Nothing was written.
    #[error("the request breaks the store's rules: {0}")]
    Invalid(String),
}

/// What an operator must mend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFault {
    /// No space left.
    DiskFull,
    /// The file, directory or mount can't be written, or permission is missing.
    ReadOnly,
    /// Not a database, or damaged.
    Corrupt,
    /// Written by a newer version of this program.
    NewerSchema,
    /// The files under an open store were removed or replaced.
    Replaced,
}

/// Rows with versions, and commits that happen whole or not at all.
///
/// Promises: reads are strongly consistent with every acknowledged commit of any process; a commit that was acknowledged
/// survives power loss; a commit repeated under its id is a no-op that answers `repeated: true`, as long as at least one row it
/// put still carries that commit (insert-only rows such as receipts and journal rows always do); no call keeps a thread of the
/// async runtime waiting for another process, for a sync or for a queue (a short read may touch the disk).
#[async_trait]
pub trait Store: Send + Sync {
    /// One row.
    async fn get(&self, key: &Key) -> Result<Option<Record>, StoreError>;

    /// Several rows, in the order of `keys`.
    async fn get_many(&self, keys: &[Key]) -> Result<Vec<Option<Record>>, StoreError>;

    /// Rows of one partition, in order.
    async fn range(&self, range: &Range) -> Result<Page, StoreError>;

    /// Applies all writes or none.
    async fn commit(&self, commit: Commit) -> Result<Committed, StoreError>;
}

// ───────────────────────────── Blobs ─────────────────────────────

/// The namespace of content: owner and Session. Deleting a Session deletes its scope.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlobScope {
    /// Owner namespace (lower-case base32).
    pub owner: String,
    /// Session id.
    pub session: String,
}

/// Names immutable bytes by their content.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    /// Lower-case hex.
    pub sha256: String,
    /// Exact length.
    pub size_bytes: u64,
}

/// Bytes to store.
pub enum BlobSource {
    /// In memory.
    Bytes(Bytes),
    /// A stream of at most `limit_bytes`; one more byte is [`BlobError::TooLarge`] and nothing is kept.
    Stream {
        /// Where the bytes come from.
        from: Box<dyn AsyncRead + Send + Unpin>,
        /// The most it may yield.
        limit_bytes: u64,
    },
}

/// Why a blob call failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// There is no such blob.
    #[error("no stored bytes with digest {0}")]
    Missing(String),
    /// What was read back does not have its digest or length.
    #[error("stored bytes with digest {0} are damaged")]
    Corrupt(String),
    /// The stream had more bytes than allowed.
    #[error("more than {limit_bytes} bytes")]
    TooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// The source failed while it was read; nothing was kept.
    #[error("the source could not be read: {0}")]
    Source(String),
    /// Passing trouble: nothing is promised to be stored; put again.
    #[error("the blob store is unavailable: {0}")]
    Unavailable(String),
    /// The request breaks the port's rules (a scope that can't be a name): our fault. Nothing was kept.
    #[error("the blob request breaks the store's rules: {0}")]
    Invalid(String),
    /// An operator must act (disk full, read-only).
    #[error("{message}")]
    Broken {
        /// What is wrong.
        fault: StoreFault,
        /// In words.
        message: String,
    },
}

/// Immutable bytes by content, under owner and Session. Once `put` answers, the bytes survive power loss.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Stores bytes if they are absent; the same bytes in the same scope are stored once.
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError>;

    /// All bytes, verified. For content known to be small.
    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError>;

    /// A stream of the bytes from `offset`. Read whole (offset 0), a digest mismatch surfaces as an error at its end.
    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError>;

    /// Whether the bytes are there (no digest check).
    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError>;

    /// Removes everything in the scope. Repeating it, or resuming it after a crash, is fine.
    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError>;
}

// ───────────────────────────── Compute ─────────────────────────────

/// Names one execution of a worker, in a form the backend can find again after any crash (for a process: pid, start time and
/// boot id).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExecutionId(pub String);

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The authority a worker is given: which Session, under which generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGrant {
    /// Session id.
    pub session: String,
    /// The generation that was claimed for this run.
    pub generation: u64,
    /// The execution it was claimed for.
    pub execution: ExecutionId,
}

/// What is known of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It exists.
    Running,
    /// It is proven not to exist any more.
    Gone,
    /// Neither could be established. Never treated as gone.
    Unknown,
}

/// Why compute did not do as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// No room now; nothing was started.
    #[error("no worker has room now")]
    Full,
    /// It did not happen.
    #[error("the worker could not be started: {0}")]
    Failed(String),
    /// It may have happened: inspect before anything else.
    #[error("it is unknown whether the worker started: {0}")]
    Unknown(String),
}

/// Where workers run.
#[async_trait]
pub trait Compute: Send + Sync {
    /// Chooses where a run of `session` would execute, before anything is claimed for it. A worker that already holds the
    /// Session's environment is preferred. What was reserved and is never launched costs nothing.
    async fn reserve(&self, session: &str) -> Result<ExecutionId, ComputeError>;

    /// Hands a claimed run to the reserved execution. Idempotent for the same grant.
    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError>;

    /// What is known of an execution, of this or any earlier life of this program.
    async fn inspect(&self, execution: &ExecutionId) -> Liveness;

    /// Ends an execution. Answers once it is proven gone, or with [`ComputeError::Unknown`].
    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError>;

    /// Executions that ended by themselves, as they end: the death notice. May lose notices; recovery does not depend on it.
    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId>;
}

// ───────────────────────────── Environments ─────────────────────────────

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentSpec {
    /// `env_…`
    pub id: String,
    /// How commands are isolated.
    pub isolation: Isolation,
    /// What they may reach.
    pub network: Network,
    /// Variables that commands see, beside the fixed allow-list.
    pub env: BTreeMap<String, String>,
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

    /// Opens what is under /workspace/outputs now. Never follows a link.
    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError>;

    /// Ends every process in it and waits until they are gone. Files stay.
    async fn close(&self);
}

/// Makes and finds environments. One process holds an environment at a time: opening waits for, or ends, an earlier holder.
#[async_trait]
pub trait Environments: Send + Sync {
    /// Opens the environment, starting it if needed. `fresh` in the answer says that files of an earlier life were lost.
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError>;

    /// Ends an environment if this process holds it; its files stay. Idempotent, and never starts one.
    async fn close(&self, id: &str);

    /// Removes an environment's files for good. Idempotent.
    async fn remove(&self, id: &str) -> Result<(), EnvironmentError>;

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

// ───────────────────────────── Model ─────────────────────────────

/// One call of a Responses-API model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRequest {
    /// Model name, passed through.
    pub model: String,
    /// System instructions.
    pub instructions: Option<String>,
    /// Responses-API input items, oldest first.
    pub input: Vec<serde_json::Value>,
    /// Responses-API tools.
    pub tools: Vec<serde_json::Value>,
    /// Responses-API `reasoning` object.
    pub reasoning: Option<serde_json::Value>,
    /// Responses-API `text` object.
    pub text: Option<serde_json::Value>,
    /// Responses-API `service_tier`.
    pub service_tier: Option<String>,
    /// The same for every call of one Session: lets a provider reuse its cache.
    pub prompt_cache_key: Option<String>,
}

/// What a model stream yields.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Text of the message that is being written.
    TextDelta(String),
    /// Text of the reasoning summary that is being written.
    ReasoningDelta(String),
    /// A finished output item, exactly as the provider sent it.
    Item(serde_json::Value),
    /// The call is complete. Nothing follows.
    Done {
        /// The provider's id of the response.
        response_id: Option<String>,
        /// Tokens of this call.
        usage: Option<ModelUsage>,
        /// Why the output stops early (`max_output_tokens`, `content_filter`), if it does.
        incomplete: Option<String>,
    },
}

/// Tokens of one or more model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelUsage {
    /// Tokens read.
    pub input: u64,
    /// Of those, from the provider's cache.
    pub cached_input: u64,
    /// Tokens written.
    pub output: u64,
    /// Of those, reasoning.
    pub reasoning: u64,
}

impl std::ops::AddAssign for ModelUsage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.cached_input += other.cached_input;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}

/// Why a model call failed. `retryable` ones have been retried by nobody yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// One of the Agents API's turn error codes (`rate_limit_exceeded`, `server_overloaded`, `authentication_error`, …).
    pub code: String,
    /// In words; never holds a key.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// What the provider asked to wait.
    pub retry_after_ms: Option<u64>,
}

/// Events of one call, ending with [`ModelEvent::Done`] or an error.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model. Dropping the stream stops the call.
#[async_trait]
pub trait Model: Send + Sync {
    /// Starts one call.
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;

    /// Shown beside the Turn: `demo`, or the provider's base URL.
    fn name(&self) -> String;
}

// ───────────────────────────── Harness ─────────────────────────────

/// What is asked of the harness and the run while a Turn goes on. Later values replace earlier ones; none is lost that matters,
/// because each is stronger than the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Signal {
    /// Go on.
    #[default]
    None,
    /// Stop at the next safe point (between calls); the Turn will be resumed elsewhere.
    Leave,
    /// Stop now: end the model stream and every process of this Turn.
    Cancel,
}

/// A message for the agent that was claimed for this Turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Feed {
    /// The accepted input's number.
    pub input: u64,
    /// Its content parts, as the wire has them (`input_text`, `input_image`).
    pub content: Vec<serde_json::Value>,
}

/// One entry of the history that the engine gives a harness: what it recorded, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Past {
    /// A message of the user.
    User {
        /// Content parts.
        content: Vec<serde_json::Value>,
    },
    /// A message of the agent.
    Assistant {
        /// Its text.
        text: String,
        /// `commentary` or `final_answer`, if the model said.
        phase: Option<String>,
    },
    /// Reasoning, with what the provider wants back.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The provider's item, given back unchanged (holds `encrypted_content`).
        native: Option<serde_json::Value>,
    },
    /// A tool that the harness ran itself.
    Tool {
        /// The model's call id.
        call_id: String,
        /// Tool name as the model called it.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// How it ended.
        outcome: ToolOutcome,
    },
    /// A function tool of the Agent, answered by the client.
    Function {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
        /// The client's answer; `None` while it is awaited or if its Turn ended without one.
        output: Option<FunctionAnswer>,
    },
}

/// How a tool call that the harness ran ended, as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It is over and this is what the model is told.
    Done {
        /// The text for the model.
        output: String,
    },
    /// It was claimed, then the worker was lost. It may have happened. It is never run again by itself.
    Unknown,
}

/// A client's answer to a function call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionAnswer {
    /// Whether the function succeeded.
    pub success: bool,
    /// Text, or content parts.
    pub output: serde_json::Value,
    /// The error's text when it did not succeed.
    pub error: Option<String>,
}

/// Everything a harness needs for one Turn, or for the rest of one that was interrupted.
pub struct TurnTask {
    /// Session id.
    pub session: String,
    /// Turn id.
    pub turn: String,
    /// The Agent's snapshot: model, instructions, tools, reasoning, text, service tier.
    pub agent: Arc<crate::api::SessionAgent>,
    /// What was recorded so far, oldest first; it ends with what this Turn already did when it is resumed.
    pub history: Arc<Vec<Past>>,
    /// The messages that start (or continue) this Turn, in acceptance order.
    pub feed: Vec<Feed>,
    /// Where commands run; `None` for environment `none`.
    pub environment: Option<Arc<dyn Environment>>,
    /// Whether an earlier worker had begun this Turn.
    pub resumed: bool,
    /// Model calls that this Turn already made; the harness stops a Turn that makes too many.
    pub model_calls: u32,
}

/// What a harness saw. The engine makes Items and Turn states of it; nothing here is visible before it is committed.
#[derive(Clone, Debug, PartialEq)]
pub enum Observation {
    /// The model has been given these inputs (their numbers): they are delivered.
    Took(Vec<u64>),
    /// A message of the agent is complete.
    Message {
        /// Its text.
        text: String,
        /// `commentary` or `final_answer`.
        phase: Option<String>,
        /// Whether the output stopped early.
        incomplete: bool,
    },
    /// A reasoning item is complete.
    Reasoning {
        /// Summary texts.
        summary: Vec<String>,
        /// The provider's item.
        native: Option<serde_json::Value>,
    },
    /// The model called a function tool of the Agent. The harness then returns [`TurnEnd::Waiting`].
    FunctionCall {
        /// The model's call id.
        call_id: String,
        /// Function name.
        name: String,
        /// Arguments exactly as the model wrote them.
        arguments: String,
    },
    /// A claimed tool call ended.
    ToolEnded {
        /// The call.
        call_id: String,
        /// How the command ended, for the Item.
        end: ToolEnd,
        /// What the model is told.
        output: String,
    },
    /// A model call ended, with its tokens.
    ModelCall(ModelUsage),
    /// Text as it is being written: shown live, never stored.
    Delta(Delta),
}

/// How a tool call ended, for its Item.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnd {
    /// The Item's status: completed, failed or incomplete.
    pub status: crate::api::CallStatus,
    /// Exit code, if the command exited.
    pub exit_code: Option<i32>,
    /// Output shown in the Item.
    pub output: String,
    /// Wall time.
    pub duration_ms: u64,
}

/// Live text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// Of the message being written.
    Text(String),
    /// Of the reasoning summary being written.
    Reasoning(String),
    /// Of a command's output.
    Command {
        /// The call.
        call_id: String,
        /// Lossy text of the chunk.
        text: String,
    },
}

/// An effect that is about to happen. It is recorded as claimed first (I6).
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The model's call id; one call is claimed once.
    pub call_id: String,
    /// Tool name as the model called it.
    pub name: String,
    /// Arguments exactly as the model wrote them.
    pub arguments: String,
    /// The command as an operator should read it.
    pub command: String,
    /// Its working directory.
    pub cwd: Option<String>,
}

/// What a harness sends while it works.
pub enum FromHarness {
    /// Something it saw, in order.
    Saw(Observation),
    /// It wants to begin an effect and waits for the answer. `Err` means: stop, you are not the live Run any more.
    Claim(Claim, oneshot::Sender<Result<(), Fenced>>),
}

/// This worker's authority ended; whatever it still does is invisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a newer generation owns this Session")]
pub struct Fenced;

/// A harness's two-way link to the engine for one Turn.
pub struct TurnLink {
    /// To the engine; bounded, so that a fast harness waits for commits.
    pub to_engine: mpsc::Sender<FromHarness>,
    /// Messages that arrive while the Turn runs (steering), in acceptance order. Those not taken before the Turn ends become
    /// the next Turn.
    pub steer: mpsc::Receiver<Feed>,
    /// What is asked of the harness.
    pub signal: watch::Receiver<Signal>,
}

impl TurnLink {
    /// Reports something. `Err` when the engine is gone: stop.
    pub async fn saw(&self, what: Observation) -> Result<(), Fenced> {
        self.to_engine
            .send(FromHarness::Saw(what))
            .await
            .map_err(|_| Fenced)
    }

    /// Claims an effect; after `Ok` it is recorded durably and may happen, once.
    pub async fn claim(&self, claim: Claim) -> Result<(), Fenced> {
        let (answer, answered) = oneshot::channel();
        self.to_engine
            .send(FromHarness::Claim(claim, answer))
            .await
            .map_err(|_| Fenced)?;
        answered.await.unwrap_or(Err(Fenced))
    }
}

/// How a harness's work on a Turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    /// The agent is done.
    Completed,
    /// Function calls are pending; go on when they are answered.
    Waiting,
    /// It can't go on.
    Failed {
        /// One of the Agents API's turn error codes.
        code: String,
        /// In words.
        message: String,
    },
    /// It stopped because of [`Signal::Cancel`].
    Cancelled,
    /// It stopped at a safe point because of [`Signal::Leave`], or because it was fenced.
    Left,
}

/// Drives an agent through one Turn.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Works until the Turn ends, waits or must be left. Everything that matters goes through `link` first.
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd;

    /// `responses`, `codex`, …
    fn name(&self) -> &'static str;
}

// ───────────────────────────── Courier ─────────────────────────────

/// One notification to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Stable over all attempts.
    pub delivery_id: String,
    /// Where to.
    pub destination: String,
    /// The same bytes in every attempt.
    pub body: Bytes,
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The destination confirmed it.
    Delivered,
    /// It provably did not arrive, or was refused.
    Failed {
        /// In words.
        message: String,
        /// Whether another attempt may succeed.
        retryable: bool,
    },
    /// It may have arrived. Never repeated by itself.
    Uncertain(String),
}

/// Carries results out.
#[async_trait]
pub trait Courier: Send + Sync {
    /// One attempt.
    async fn send(&self, parcel: &Parcel) -> Sent;
}

// ───────────────────────────── Identity, secrets, clock, ids, bell ─────────────────────────────

/// Who is asking, as proven.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// `local:1000`, an STS caller, or a key's name.
    pub name: String,
}

/// Why the caller is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Log in first: the message names the command.
    #[error("{0}")]
    Expired(String),
    /// It could not be found out now.
    #[error("{0}")]
    Unavailable(String),
}

/// Who the caller is.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The proven caller.
    async fn caller(&self) -> Result<Principal, IdentityError>;
}

/// The only source of wall-clock time.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The only source of randomness.
pub trait Ids: Send + Sync {
    /// Fills `bytes` with random bits.
    fn fill(&self, bytes: &mut [u8]);
}

/// A wake-up that may be lost: nothing depends on it but promptness (I13).
#[async_trait]
pub trait Bell: Send + Sync {
    /// Tells every listener, here and in other processes, that this Session may owe work. Never blocks.
    fn ring(&self, session: &str);

    /// Tells those who follow Sessions that something about this one changed. Never blocks.
    fn ring_change(&self, session: &str);

    /// Session ids as they are rung for either reason, from the moment of the call. A slow listener loses rings.
    fn listen(&self) -> mpsc::Receiver<String>;

    /// The same, only for rings about work.
    fn listen_work(&self) -> mpsc::Receiver<String>;
}
