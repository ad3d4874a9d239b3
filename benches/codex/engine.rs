//! As much of an engine as a harness needs: it remembers what was seen, and keeps one checkpoint.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rat_things::api::SessionAgent;
use rat_things::backend::harness::codex::{CodexHarness, Options};
use rat_things::backend::key::KeySource;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::model::http::HttpOptions;

use rat_things::engine::ports::{
    BlobScope, BlobSource, Blobs, Checkpoint, Claim, Environment, EnvironmentSpec, Environments,
    Feed, FromHarness, Harness, Isolation, Network, Observation, Past, SavedCheckpoint, Signal,
    TakenCheckpoint, ToolOutcome, TurnEnd, TurnLink, TurnTask,
};
use serde_json::json;
use tokio::sync::{mpsc, watch};

use super::Asked;
use super::installed::codex;

/// What one Turn came to.
pub struct Turn {
    /// From its beginning to the first call of the model.
    pub asked: Duration,
    /// From the last thing that was seen of the agent to its checkpoint.
    pub taken: Duration,
    /// All of it.
    pub whole: Duration,
    /// New bytes of its checkpoint, with the row.
    pub stored_bytes: usize,
    /// Of the row.
    pub row_bytes: usize,
    /// All bytes that its checkpoint names.
    pub named_bytes: usize,
}

/// One Session.
pub struct Engine {
    harness: CodexHarness,
    environment: Arc<dyn Environment>,
    agent: Arc<SessionAgent>,
    blobs: Arc<MemoryBlobs>,
    scope: BlobScope,
    past: Arc<Vec<Past>>,
    kept: Option<Checkpoint>,
    asked: Asked,
    _homes: tempfile::TempDir,
}

impl Engine {
    /// Nothing was said yet.
    pub async fn new(base_url: &str, asked: Asked) -> io::Result<Engine> {
        let homes = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let relay = PathBuf::from(env!("CARGO_BIN_EXE_rat-things"));
        let options = Options {
            program: Some(codex()),
            ..Options::new(relay, homes.path().to_owned())
        };
        let environments =
            ScriptedEnvironments::new(|_, _| Scripted::ok("drwxr-xr-x root root\n".repeat(24)));
        let spec = EnvironmentSpec {
            id: "env_bench".into(),
            isolation: Isolation::Sandbox,
            network: Network::Disabled,
            env: BTreeMap::new(),
        };
        let opened = environments.open(&spec).await.map_err(io::Error::other)?;
        Ok(Engine {
            harness: CodexHarness::new(HttpOptions::new(base_url, KeySource::None), options),
            environment: opened.environment,
            agent: Arc::new(SessionAgent::of_model("agent_bench", "stub-model")),
            blobs: Arc::new(MemoryBlobs::new()),
            scope: BlobScope {
                owner: "owner".into(),
                session: "sess_bench".into(),
            },
            past: Arc::default(),
            kept: None,
            asked,
            _homes: homes,
        })
    }

    /// One more Turn.
    pub async fn turn(&mut self, number: usize) -> io::Result<Turn> {
        let kept = self.kept.take();
        let (seen, turn, taken) = self.play(number, kept).await?;
        Arc::make_mut(&mut self.past).extend(seen);
        self.kept = taken;
        Ok(turn)
    }

    /// A Turn that is begun anew from what is remembered, and forgotten: how long it takes until the model is asked.
    pub async fn turn_anew(&mut self) -> io::Result<Duration> {
        let (_, turn, _) = self.play(0, None).await?;
        Ok(turn.asked)
    }

    async fn play(
        &self,
        number: usize,
        kept: Option<Checkpoint>,
    ) -> io::Result<(Vec<Past>, Turn, Option<Checkpoint>)> {
        let text = format!("Look again, for the time {number}.");
        let message = Feed {
            input: number as u64 + 1,
            content: vec![json!({"type": "input_text", "text": text})],
        };
        let (to_engine, mut from_harness) = mpsc::channel(64);
        let (_steer, steered) = mpsc::channel(1);
        let (_signal, signalled) = watch::channel(Signal::None);
        let task = TurnTask {
            session: self.scope.session.clone(),
            tool_secrets: BTreeMap::new(),
            turn: format!("turn_{number}"),
            agent: Arc::clone(&self.agent),
            history: Arc::clone(&self.past),
            feed: vec![message.clone()],
            environment: Some(Arc::clone(&self.environment)),
            resumed: false,
            model_calls: 0,
            checkpoint: kept.map(|checkpoint| SavedCheckpoint {
                checkpoint,
                later: Vec::new(),
                scope: self.scope.clone(),
                bytes: self.blobs.clone(),
            }),
        };
        let link = TurnLink {
            to_engine,
            steer: steered,
            signal: signalled,
        };
        let started = Instant::now();
        let mut seen = Seen::new(started);
        let listening = async {
            while let Some(what) = from_harness.recv().await {
                match what {
                    FromHarness::Claim(claim, answer) => {
                        seen.claims.insert(claim.call_id.clone(), claim);
                        let _ = answer.send(Ok(()));
                    }
                    // This agent has no others.
                    FromHarness::ClaimAs(_, answer) => drop(answer.send(Ok(()))),
                    FromHarness::Record(answer) => drop(answer.send(())),
                    FromHarness::Saw(what) => seen.saw(what, &message),
                }
            }
        };
        let (end, ()) = tokio::join!(self.harness.run(task, link), listening);
        let whole = started.elapsed();
        if end != TurnEnd::Completed {
            return Err(io::Error::other(format!("a Turn ended as {end:?}")));
        }
        let asked = self.asked.since(started);
        let mut turn = Turn {
            asked: asked.ok_or_else(|| io::Error::other("the model was not asked"))?,
            taken: seen.taken,
            whole,
            stored_bytes: 0,
            row_bytes: 0,
            named_bytes: 0,
        };
        let mut kept = None;
        if let Some(TakenCheckpoint {
            checkpoint, new, ..
        }) = seen.checkpoint
        {
            turn.row_bytes = serde_json::to_vec(&checkpoint)?.len();
            turn.stored_bytes = turn.row_bytes + new.iter().map(|bytes| bytes.len()).sum::<usize>();
            let named = checkpoint.blobs.iter().map(|blob| blob.size_bytes as usize);
            turn.named_bytes = named.sum();
            for bytes in new {
                let put = self.blobs.put(&self.scope, BlobSource::Bytes(bytes)).await;
                put.map_err(io::Error::other)?;
            }
            kept = Some(checkpoint);
        }
        Ok((seen.past, turn, kept))
    }
}

/// What was seen of a Turn.
struct Seen {
    past: Vec<Past>,
    claims: HashMap<String, Claim>,
    checkpoint: Option<TakenCheckpoint>,
    last: Instant,
    taken: Duration,
}

impl Seen {
    fn new(started: Instant) -> Seen {
        Seen {
            past: Vec::new(),
            claims: HashMap::new(),
            checkpoint: None,
            last: started,
            taken: Duration::ZERO,
        }
    }

    fn saw(&mut self, what: Observation, message: &Feed) {
        match what {
            Observation::Checkpoint(taken) => {
                self.taken = self.last.elapsed();
                self.checkpoint = Some(*taken);
            }
            Observation::Took(_) => self.past.push(Past::User {
                content: message.content.clone(),
            }),
            Observation::Message { text, phase, .. } => {
                self.past.push(Past::Assistant { text, phase });
            }
            Observation::ToolEnded {
                call_id, output, ..
            } => {
                if let Some(claim) = self.claims.remove(&call_id) {
                    self.past.push(Past::Tool {
                        call_id,
                        name: claim.name,
                        arguments: claim.arguments,
                        outcome: ToolOutcome::Done { output },
                    });
                }
            }
            _ => {}
        }
        self.last = Instant::now();
    }
}
