//! One connection of Codex to its environment: requests in, answers and news out, all at the same time.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::wire::{self, Fault};
use super::{Bounds, Effect, Gate, Processes, files, servers};
use crate::backend::harness::codex::config::WORKSPACE;
use crate::backend::harness::codex::mcp::{self, Mcp};
use crate::backend::harness::codex::rpc::{Incoming, parse, read_line};
use crate::engine::ports::{Environment, ExecSpec, Program};

/// A request is as long as the largest file that it writes.
const REQUEST_LIMIT_BYTES: usize = 64 << 20;

/// What connections share.
#[derive(Clone)]
pub struct Server {
    pub(super) environment: Arc<dyn Environment>,
    pub(super) bounds: Bounds,
    pub(super) gates: mpsc::Sender<Gate>,
    pub(super) processes: Arc<Processes>,
    pub(super) mcp: Arc<Mcp>,
}

impl Server {
    /// Serves until either side ends. What runs then goes on.
    pub async fn serve(&self, stream: UnixStream) {
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::with_capacity(64 << 10, from);
        let (tell, mut told) = mpsc::unbounded_channel::<Value>();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Some(message) = told.recv().await {
                let mut line = message.to_string();
                line.push('\n');
                if to.write_all(line.as_bytes()).await.is_err() {
                    return;
                }
            }
        });
        let mut line = Vec::new();
        while read_line(&mut from, &mut line, REQUEST_LIMIT_BYTES).await {
            let Some(Incoming::Request { id, method, params }) = parse(&line) else {
                continue;
            };
            while tasks.try_join_next().is_some() {}
            let (server, tell) = (self.clone(), tell.clone());
            if method == "process/write" {
                // Taken here, so that what is written stays in its order.
                let written = self.write(params);
                tasks.spawn(async move {
                    let message = match written.await {
                        Ok(result) => json!({"id": id, "result": result}),
                        Err(fault) => fault.answer(&id),
                    };
                    let _ = tell.send(message);
                });
                continue;
            }
            tasks.spawn(async move {
                let message = match server.answer(&method, params, &tell).await {
                    Ok(Answer { result, then }) => {
                        let _ = tell.send(json!({"id": id, "result": result}));
                        if let Some(then) = then {
                            then();
                        }
                        return;
                    }
                    Err(fault) => fault.answer(&id),
                };
                let _ = tell.send(message);
            });
        }
    }

    async fn answer(
        &self,
        method: &str,
        params: Value,
        tell: &mpsc::UnboundedSender<Value>,
    ) -> Result<Answer, Fault> {
        let result = match method {
            "initialize" => json!({"sessionId": "session", "environmentInfo": info()}),
            "environment/info" => info(),
            "process/start" => return self.start(wire::read(params)?, tell).await,
            "process/read" => {
                let read: wire::Read = wire::read(params)?;
                let process = self.processes.of(&read.process_id);
                let process = process.ok_or_else(|| Fault::failed("there is no such process"))?;
                let after = read.after_seq.unwrap_or(0);
                process.read(after, read.wait_ms.unwrap_or(0)).await
            }
            "process/signal" => {
                let which: wire::Which = wire::read(params)?;
                if let Some(process) = self.processes.of(&which.process_id) {
                    process.cancel();
                }
                json!({})
            }
            "process/terminate" => {
                let which: wire::Which = wire::read(params)?;
                let running = self.processes.of(&which.process_id);
                let running = running.is_some_and(|process| process.cancel());
                if !running {
                    self.processes.forget_output(&which.process_id);
                }
                json!({"running": running})
            }
            _ if method.starts_with("fs/") => {
                let request = wire::read(params)?;
                if files::changes(method) {
                    self.pass(Effect::Files).await?;
                }
                files::access(self.environment.as_ref(), method, request).await?
            }
            _ => return Err(Fault::invalid(format!("there is no {method} here"))),
        };
        Ok(Answer { result, then: None })
    }

    async fn start(
        &self,
        start: wire::Start,
        tell: &mpsc::UnboundedSender<Value>,
    ) -> Result<Answer, Fault> {
        if let [program, ..] = start.argv.as_slice()
            && let Some(place) = mcp::place_of_program(program)
        {
            return Ok(self.start_server(place, start.process_id, tell));
        }
        let cwd = wire::path(&start.cwd)?;
        let call_id = start.metadata.tool_call_id;
        let call_id = call_id.ok_or_else(|| Fault::failed("no call asked for this command"))?;
        let effect = Effect::Command {
            call_id,
            shown: wire::shown(&start.argv),
            cwd: cwd.clone(),
        };
        let recorded = self.pass(effect).await?;
        let spec = ExecSpec {
            program: Program::Argv(start.argv),
            cwd,
            env: start.env,
            stdin: bytes::Bytes::new(),
            timeout_ms: self.bounds.timeout_ms,
            output_limit_bytes: self.bounds.output_limit_bytes,
        };
        let result = json!({"processId": start.process_id});
        let processes = Arc::clone(&self.processes);
        let (environment, tell) = (Arc::clone(&self.environment), tell.clone());
        let then = Box::new(move || {
            processes.start((start.process_id, recorded), environment, spec, tell);
        });
        Ok(Answer {
            result,
            then: Some(then),
        })
    }

    /// Starts an MCP server. It does nothing before it is spoken with.
    fn start_server(
        &self,
        place: usize,
        process_id: String,
        tell: &mpsc::UnboundedSender<Value>,
    ) -> Answer {
        let result = json!({"processId": process_id});
        let (server, tell) = (self.clone(), tell.clone());
        let process = server.processes.host(process_id.clone());
        Answer {
            result,
            then: Some(Box::new(move || {
                servers::run(server, place, (process_id, process), tell);
            })),
        }
    }

    /// Takes what is written to a process; what it answers is what became of it.
    fn write(&self, params: Value) -> impl Future<Output = Result<Value, Fault>> + use<> {
        let taken = wire::read::<wire::Write>(params).and_then(|write| {
            let chunk = STANDARD.decode(&write.chunk);
            let chunk = chunk.map_err(|_| Fault::invalid("the chunk is not base64"))?;
            let process = self.processes.of(&write.process_id);
            Ok(process.map(|process| process.write(chunk)))
        });
        async move {
            let status = match taken? {
                None => "unknownProcess",
                Some(written) => match written.await {
                    Ok(()) => "accepted",
                    Err(_) => "stdinClosed",
                },
            };
            Ok(json!({"status": status}))
        }
    }

    /// Has an effect recorded before it happens; under which id its call is.
    async fn pass(&self, effect: Effect) -> Result<String, Fault> {
        let refused = || Fault::failed("the turn is over; nothing was done");
        let (answer, answered) = oneshot::channel();
        let gate = Gate { effect, answer };
        self.gates.send(gate).await.map_err(|_| refused())?;
        match answered.await {
            Ok(passed) => passed.map_err(Fault::failed),
            Err(_) => Err(refused()),
        }
    }
}

/// What is answered, and what begins once it was.
struct Answer {
    result: Value,
    then: Option<Box<dyn FnOnce() + Send>>,
}

fn info() -> Value {
    let bash = ["/bin/bash", "/usr/bin/bash"]
        .into_iter()
        .find(|path| std::path::Path::new(path).exists());
    let shell = match bash {
        Some(path) => json!({"name": "bash", "path": path}),
        None => json!({"name": "sh", "path": "/bin/sh"}),
    };
    json!({"shell": shell, "cwd": format!("file://{WORKSPACE}")})
}
