//! MCP servers that are processes in the environment: lines from Codex to the server and back, of which each call of a tool is recorded first.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use super::processes::{Process, Written};
use super::serve::Server;
use crate::backend::harness::codex::mcp::message::{self, ToolCall};
use crate::backend::harness::codex::mcp::{Mcp, Place, StdioServer, bounded};
use crate::backend::harness::codex::rpc::LINE_LIMIT_BYTES;
use crate::engine::ports::{Conversation, EnvironmentError, ExecEnd, ExecHow, ExecSpec, Program};

/// Messages that may wait on their way.
const WAITING: usize = 64;

/// What a server complains about is kept up to this, to explain its end.
const COMPLAINT_BYTES: usize = 4 << 10;

/// It runs until it ends or the process of Codex is not wanted any more.
const FOREVER_MS: u64 = u64::MAX;

/// One server and the process that stands for it.
struct Hosted {
    mcp: Arc<Mcp>,
    /// Its place among the servers.
    place: usize,
    /// As Codex calls the process.
    id: String,
    process: Arc<Process>,
    tell: mpsc::UnboundedSender<Value>,
}

/// Runs the server at a place. What it does is told over `tell`, in Codex' words.
pub fn run(
    server: Server,
    place: usize,
    (id, process): (String, Arc<Process>),
    tell: mpsc::UnboundedSender<Value>,
) {
    let hosted = Arc::new(Hosted {
        mcp: Arc::clone(&server.mcp),
        place,
        id,
        process,
        tell,
    });
    tokio::spawn(async move {
        let ended = hosted.host(&server).await;
        let why = reason(&ended);
        tracing::debug!(place, why, "an MCP server ended");
        hosted.mcp.trouble(place, why.clone());
        hosted.mcp.calls.server_gone(place, &why);
        // What it complained about is not for the model.
        let quiet = ended.map(|end| ExecEnd {
            output: String::new(),
            ..end
        });
        hosted.process.end(&hosted.id, quiet, &hosted.tell);
    });
}

/// Why a server is gone.
fn reason(ended: &Result<ExecEnd, EnvironmentError>) -> String {
    let end = match ended {
        Err(error) => return error.to_string(),
        Ok(end) => end,
    };
    let how = match &end.how {
        ExecHow::Exited(code) => format!("it ended with exit code {code}"),
        ExecHow::Signalled(signal) => format!("it was ended by signal {signal}"),
        ExecHow::TimedOut | ExecHow::Cancelled => "it was ended with the process".to_owned(),
        ExecHow::NotStarted(why) => format!("it could not be started: {why}"),
    };
    match end.output.trim() {
        "" => how,
        said => format!("{how}: {}", bounded(said, COMPLAINT_BYTES)),
    }
}

impl Hosted {
    async fn host(self: &Arc<Hosted>, server: &Server) -> Result<ExecEnd, EnvironmentError> {
        let of = self.mcp.servers.get(self.place).map(|server| &server.place);
        let (Some(Place::Stdio(stdio)), Some(writes)) = (of, self.process.writes()) else {
            return Err(EnvironmentError::Failed(
                "there is no such server".to_owned(),
            ));
        };
        let (to_server, input) = mpsc::channel(WAITING);
        let (output, from_server) = mpsc::channel(WAITING);
        let passing = tokio::spawn({
            let hosted = Arc::clone(self);
            async move { hosted.pass_on(writes, to_server).await }
        });
        let hearing = tokio::spawn({
            let hosted = Arc::clone(self);
            async move { hosted.hear(from_server).await }
        });
        let conversation = Conversation {
            input,
            output,
            variables: stdio.variables.clone(),
        };
        let cancelled = self.process.cancelled();
        let environment = &server.environment;
        let ended = environment
            .converse(spec(stdio), conversation, cancelled)
            .await;
        // The environment let go of its ends, so this is over as soon as all is heard.
        let _ = hearing.await;
        passing.abort();
        ended
    }

    /// Passes lines on to the server, each call of a tool once it is recorded.
    async fn pass_on(
        &self,
        mut writes: mpsc::UnboundedReceiver<Written>,
        to_server: mpsc::Sender<Bytes>,
    ) {
        let mut lines = Lines::default();
        while let Some(Written { chunk, done }) = writes.recv().await {
            for line in lines.push(&chunk) {
                let line = match self.admitted(&line).await {
                    Ok(line) => line,
                    Err((call, why)) => {
                        self.say(&message::refusal(&call.rpc_id, &why));
                        continue;
                    }
                };
                if to_server.send(line).await.is_err() {
                    return;
                }
            }
            if lines.is_too_long() {
                return;
            }
            // Codex may not wait for it any more.
            let _ = done.send(());
        }
    }

    /// A line as the server is given it, or the call that it may not be given, with the reason.
    async fn admitted(&self, line: &[u8]) -> Result<Bytes, (ToolCall, String)> {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return Ok(Bytes::new());
        };
        if !message.is_object() {
            // Several at once could hide a call, and Codex sends none.
            return Ok(Bytes::new());
        }
        if let Some(call) = message::tool_call(&message)
            && let Err(why) = self.mcp.pass(self.place, &call).await
        {
            return Err((call, why));
        }
        let server = self.mcp.servers.get(self.place);
        let metadata = server.map(|server| server.metadata.clone());
        let message = message::outbound(message, &metadata.unwrap_or_default());
        Ok(Bytes::from(format!("{message}\n")))
    }

    /// Hears what the server says, and passes it on to Codex line by line.
    async fn hear(&self, mut from_server: mpsc::Receiver<Bytes>) {
        let mut lines = Lines::default();
        while let Some(chunk) = from_server.recv().await {
            for line in lines.push(&chunk) {
                // First for ourselves: whatever Codex is told, it may answer with the end of its turn.
                if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                    self.mcp.heard(self.place, &message);
                    self.say(&message);
                }
            }
            if lines.is_too_long() {
                tracing::warn!(place = self.place, "an MCP server wrote a line over 8 MiB");
                self.process.cancel();
                return;
            }
        }
    }

    fn say(&self, message: &Value) {
        let line = Bytes::from(format!("{message}\n"));
        self.process.wrote(&self.id, line, &self.tell);
    }
}

fn spec(stdio: &StdioServer) -> ExecSpec {
    let revealed =
        |(name, value): (&String, &crate::api::Secret)| (name.clone(), value.reveal().to_owned());
    ExecSpec {
        program: Program::Argv(stdio.argv.clone()),
        cwd: stdio.cwd.clone(),
        env: stdio.env.iter().map(revealed).collect(),
        stdin: Bytes::new(),
        timeout_ms: FOREVER_MS,
        output_limit_bytes: COMPLAINT_BYTES,
    }
}

/// Bytes as lines.
#[derive(Default)]
struct Lines {
    open: Vec<u8>,
}

impl Lines {
    /// Takes bytes, gives the lines that are complete, without their ends and without empty ones.
    fn push(&mut self, mut bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            self.open.extend_from_slice(&bytes[..at]);
            bytes = &bytes[at + 1..];
            let mut line = std::mem::take(&mut self.open);
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if !line.is_empty() {
                lines.push(line);
            }
        }
        self.open.extend_from_slice(bytes);
        lines
    }

    /// Whether nobody would read the line that is not complete.
    fn is_too_long(&self) -> bool {
        self.open.len() > LINE_LIMIT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_out_whole_however_they_are_cut() {
        let mut lines = Lines::default();
        let text = b"one\r\n\ntwo\nthree";
        let whole: Vec<Vec<u8>> = text.iter().flat_map(|byte| lines.push(&[*byte])).collect();
        assert_eq!(whole, [b"one".to_vec(), b"two".to_vec()]);
        assert_eq!(lines.push(b"\n"), [b"three".to_vec()]);
        lines.push(&vec![b'x'; LINE_LIMIT_BYTES + 1]);
        assert!(lines.is_too_long());
    }

    #[test]
    fn the_end_of_a_server_is_told_with_what_it_complained_about() {
        let ended = |how, output: &str| {
            reason(&Ok(ExecEnd {
                how,
                output: output.into(),
                output_bytes: 0,
                duration_ms: 0,
            }))
        };
        assert_eq!(
            ended(ExecHow::Exited(1), "no license\n"),
            "it ended with exit code 1: no license"
        );
        assert_eq!(
            ended(ExecHow::NotStarted("no such file".into()), ""),
            "it could not be started: no such file"
        );
        let lost = Err(EnvironmentError::Lost("killed".into()));
        assert_eq!(reason(&lost), "the environment was lost: killed");
    }
}
