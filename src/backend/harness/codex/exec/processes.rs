//! Commands of the agent: what each wrote, as Codex reads it, and how it ended, as we need it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot, watch};

use crate::engine::ports::{Environment, EnvironmentError, ExecEnd, ExecHow, ExecSpec};

/// Output of one command that Codex is given, as it comes.
const GIVEN_BYTES: usize = 4 << 20;

/// Output of one command that is kept for Codex to read again.
const KEPT_BYTES: usize = 1 << 20;

/// Chunks that may wait for being given.
const CHUNKS: usize = 4_096;

/// How a command ended.
pub type Ended = Result<ExecEnd, EnvironmentError>;

/// All commands of one place.
#[derive(Default)]
pub struct Processes {
    all: Mutex<HashMap<String, Arc<Process>>>,
    /// Commands in a row that the environment could not run to their end.
    troubles: AtomicU32,
}

/// One command.
pub struct Process {
    /// The model's call, as it is recorded: a provider may give an id twice. `None` for what no call asked for.
    call_id: Option<String>,
    /// Of its output that Codex is given, and that is kept for Codex to read again.
    limits: Limits,
    /// Where what is written to it goes; `None`: it has no input.
    input: Option<mpsc::UnboundedSender<Written>>,
    /// What is written to it, until somebody takes it.
    writes: Mutex<Option<mpsc::UnboundedReceiver<Written>>>,
    cancel: watch::Sender<bool>,
    state: Mutex<State>,
    /// Changes with every change of the state.
    version: watch::Sender<u64>,
    ended: watch::Sender<Option<Ended>>,
}

/// Bounds of output, in bytes.
#[derive(Clone, Copy, Debug)]
struct Limits {
    given: usize,
    kept: usize,
}

/// Of a command.
const COMMAND: Limits = Limits {
    given: GIVEN_BYTES,
    kept: KEPT_BYTES,
};

/// Of a program that is spoken with: Codex is given all of it, as it comes.
const HOSTED: Limits = Limits {
    given: usize::MAX,
    kept: GIVEN_BYTES,
};

/// Something that was written to a process.
pub struct Written {
    /// What.
    pub chunk: Vec<u8>,
    /// Told when it is on its way; dropped: it never will be.
    pub done: oneshot::Sender<()>,
}

#[derive(Default)]
struct State {
    last_seq: u64,
    chunks: Vec<(u64, Bytes)>,
    kept_bytes: usize,
    given_bytes: usize,
    exit_code: Option<i32>,
    closed: bool,
}

impl Processes {
    /// Starts a command, for the call that is recorded under this id. What it does is told over `tell`, in Codex' words.
    pub fn start(
        self: &Arc<Self>,
        (id, call_id): (String, String),
        environment: Arc<dyn Environment>,
        spec: ExecSpec,
        tell: mpsc::UnboundedSender<Value>,
    ) {
        let process = Arc::new(Process::new(Some(call_id), COMMAND));
        self.lock().insert(id.clone(), Arc::clone(&process));
        let processes = Arc::clone(self);
        let cancelled = process.cancel.subscribe();
        tokio::spawn(async move {
            let (output, mut chunks) = mpsc::channel::<Bytes>(CHUNKS);
            let giving = {
                let (process, tell, id) = (Arc::clone(&process), tell.clone(), id.clone());
                tokio::spawn(async move {
                    while let Some(chunk) = chunks.recv().await {
                        process.wrote(&id, chunk, &tell);
                    }
                })
            };
            let ended = environment.exec(spec, output, cancelled).await;
            // The environment let go of its end, so this is over as soon as all is given.
            let _ = giving.await;
            match &ended {
                Ok(_) => processes.troubles.store(0, Ordering::Relaxed),
                Err(error) => {
                    tracing::warn!(%error, "a command could not be run to its end");
                    processes.troubles.fetch_add(1, Ordering::Relaxed);
                }
            }
            process.end(&id, ended, &tell);
        });
    }

    /// A program that no call asked for and that is spoken with.
    pub fn host(&self, id: String) -> Arc<Process> {
        let (input, writes) = mpsc::unbounded_channel();
        let process = Arc::new(Process {
            input: Some(input),
            writes: Mutex::new(Some(writes)),
            ..Process::new(None, HOSTED)
        });
        self.lock().insert(id, Arc::clone(&process));
        process
    }

    /// The process of this id.
    pub fn of(&self, id: &str) -> Option<Arc<Process>> {
        self.lock().get(id).cloned()
    }

    /// Codex needs nothing more of its output. How it ended is still ours to tell.
    pub fn forget_output(&self, id: &str) {
        if let Some(process) = self.of(id) {
            let mut state = process.lock();
            state.chunks.clear();
            state.kept_bytes = 0;
        }
    }

    /// Waits until the command of this call is over. Returns at once if none ran here.
    pub async fn end_of(&self, call_id: &str) {
        if let Some(process) = self.called(call_id) {
            let _ = process.ended.subscribe().wait_for(Option::is_some).await;
        }
    }

    /// Asks the command of this call to end, with all it started.
    pub fn cancel_of(&self, call_id: &str) {
        if let Some(process) = self.called(call_id) {
            process.cancel();
        }
    }

    /// How the command of this call ended, if it ran here and is over.
    pub fn ended(&self, call_id: &str) -> Option<Ended> {
        self.called(call_id)?.ended.borrow().clone()
    }

    fn called(&self, call_id: &str) -> Option<Arc<Process>> {
        let all = self.lock();
        let mut all = all.values();
        all.find(|one| one.call_id.as_deref() == Some(call_id))
            .cloned()
    }

    /// How many commands in a row the environment could not run to their end.
    pub fn troubles(&self) -> u32 {
        self.troubles.load(Ordering::Relaxed)
    }

    /// Asks every command to end, with all it started.
    pub fn cancel_all(&self) {
        for process in self.lock().values() {
            process.cancel();
        }
    }

    /// Ends every command and waits until they are gone, at most so long.
    pub async fn end_all(&self, patience: Duration) {
        self.cancel_all();
        let all: Vec<Arc<Process>> = self.lock().values().cloned().collect();
        let gone = async {
            for process in all {
                let _ = process.ended.subscribe().wait_for(Option::is_some).await;
            }
        };
        let _ = tokio::time::timeout(patience, gone).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Process>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    fn new(call_id: Option<String>, limits: Limits) -> Process {
        Process {
            call_id,
            limits,
            input: None,
            writes: Mutex::default(),
            cancel: watch::Sender::new(false),
            state: Mutex::default(),
            version: watch::Sender::new(0),
            ended: watch::Sender::new(None),
        }
    }

    /// Takes what is written to it. The answer comes when it is on its way, and is an error if it never will be.
    pub fn write(&self, chunk: Vec<u8>) -> oneshot::Receiver<()> {
        let (done, told) = oneshot::channel();
        if let Some(input) = &self.input {
            // If nobody takes it any more, that is told by what is dropped.
            let _ = input.send(Written { chunk, done });
        }
        told
    }

    /// What is written to it, for who passes it on. `None` if that is somebody else.
    pub fn writes(&self) -> Option<mpsc::UnboundedReceiver<Written>> {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.take()
    }

    /// Turns true when it shall end.
    pub fn cancelled(&self) -> watch::Receiver<bool> {
        self.cancel.subscribe()
    }

    /// Asks it to end, with all it started. Whether it still ran.
    pub fn cancel(&self) -> bool {
        self.cancel.send_replace(true);
        self.ended.borrow().is_none()
    }

    /// What it did after `after_seq`; waits for something new, at most so long.
    pub async fn read(&self, after_seq: u64, wait_ms: u64) -> Value {
        let mut version = self.version.subscribe();
        version.mark_unchanged();
        if wait_ms > 0 && self.lock().last_seq <= after_seq {
            let _ = tokio::time::timeout(Duration::from_millis(wait_ms), version.changed()).await;
        }
        let state = self.lock();
        let new = state.chunks.iter().filter(|(seq, _)| *seq > after_seq);
        let chunks: Vec<Value> = new.map(|(seq, chunk)| shown(*seq, chunk)).collect();
        json!({
            "chunks": chunks,
            "nextSeq": state.last_seq + 1,
            "exited": state.exit_code.is_some(),
            "exitCode": state.exit_code,
            "closed": state.closed,
            "failure": null,
        })
    }

    /// It wrote something.
    pub fn wrote(&self, id: &str, chunk: Bytes, tell: &mpsc::UnboundedSender<Value>) {
        let mut state = self.lock();
        if state.given_bytes > self.limits.given {
            return;
        }
        state.given_bytes = state.given_bytes.saturating_add(chunk.len());
        let chunk = match state.given_bytes > self.limits.given {
            true => Bytes::from_static(b"\n[more output was left out]\n"),
            false => chunk,
        };
        state.last_seq += 1;
        let seq = state.last_seq;
        let mut output = shown(seq, &chunk);
        output["processId"] = id.into();
        let _ = tell.send(json!({"method": "process/output", "params": output}));
        state.kept_bytes += chunk.len();
        state.chunks.push((seq, chunk));
        while state.kept_bytes > self.limits.kept && state.chunks.len() > 1 {
            let (_, oldest) = state.chunks.remove(0);
            state.kept_bytes -= oldest.len();
        }
        drop(state);
        self.version.send_modify(|version| *version += 1);
    }

    /// It is over.
    pub fn end(&self, id: &str, ended: Ended, tell: &mpsc::UnboundedSender<Value>) {
        let (exit_code, note) = outcome(&ended);
        if let Some(note) = note {
            self.wrote(id, Bytes::from(note), tell);
        }
        // First for ourselves: whatever Codex is told, by news or when it reads, it may answer with the end of its turn.
        self.ended.send_replace(Some(ended));
        let mut state = self.lock();
        state.exit_code = Some(exit_code);
        state.closed = true;
        let (exited, closed) = (state.last_seq + 1, state.last_seq + 2);
        state.last_seq = closed;
        drop(state);
        let exit = json!({"processId": id, "seq": exited, "exitCode": exit_code});
        let _ = tell.send(json!({"method": "process/exited", "params": exit}));
        let close = json!({"processId": id, "seq": closed});
        let _ = tell.send(json!({"method": "process/closed", "params": close}));
        self.version.send_modify(|version| *version += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown(seq: u64, chunk: &Bytes) -> Value {
    json!({"seq": seq, "stream": "stdout", "chunk": STANDARD.encode(chunk)})
}

/// An exit code for Codex, which knows nothing else, and what it can't say.
fn outcome(ended: &Ended) -> (i32, Option<String>) {
    match ended {
        Ok(end) => match &end.how {
            ExecHow::Exited(code) => (*code, None),
            ExecHow::Signalled(signal) => (128 + signal, None),
            ExecHow::TimedOut => (
                124,
                Some("\n[its time was over: it and all it started were ended]\n".to_owned()),
            ),
            ExecHow::Cancelled => (
                137,
                Some("\n[it and all it started were ended]\n".to_owned()),
            ),
            ExecHow::NotStarted(reason) => (127, Some(format!("not started: {reason}\n"))),
        },
        Err(EnvironmentError::Lost(why)) => (
            137,
            Some(format!(
                "\n[outcome unknown: the environment was lost: {why}. Verify before repeating.]\n"
            )),
        ),
        Err(error) => (126, Some(format!("{error}. Nothing was run.\n"))),
    }
}
