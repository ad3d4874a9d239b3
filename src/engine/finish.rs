//! The end of a Turn in a worker's hands: capture what it made, then settle or pause it, and give the lease back when nothing is
//! left to do.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::artifact::ArtifactRow;
use super::core::Core;
use super::error::EngineError;
use super::keys;
use super::lazy::LazyEnvironment;
use super::observe::{Op, apply};
use super::ports::{BlobScope, BlobSource, CaptureLimits, Environment, LeftOut};
use super::run::{Live, Stop};
use super::session::ActiveTurn;
use super::settle::{CALLS_PER_COMMIT, Ending, close_some_calls, end_turn, pause_turn};
use super::subagent::Closing;
use super::turn::{Capture, Failure};

/// Artifact rows that fit the commit that ends the Turn; more are stored before it and become visible with it.
const ARTIFACTS_IN_LAST_COMMIT: usize = 4;
/// Artifact rows of one commit before the last.
const ARTIFACTS_PER_COMMIT: usize = 16;
/// What was left out is listed up to here; the rest is counted.
const LEFT_OUT_LISTED: usize = 20;

impl Live {
    /// Ends the active Turn. `true`: there is another one, and this Run goes on with it.
    pub(super) async fn settle(
        &mut self,
        ending: Ending,
        environment: Option<Arc<LazyEnvironment>>,
        mut last_ops: Vec<Op>,
    ) -> Result<bool, Stop> {
        let Some(turn) = self.loaded.head.turn.clone() else {
            return self.nothing_left().await;
        };
        // The end closes open calls, and has to read them for that.
        let opens = last_ops
            .iter()
            .any(|op| matches!(op, Op::Function { .. } | Op::Subagent(_)));
        if opens || !turn.calls.is_empty() || !turn.subagents.is_empty() {
            self.commit_ops(std::mem::take(&mut last_ops)).await?;
        }
        self.close_subagents(Closing::WithTurn).await?;
        let (capture, artifacts) = self.capture(turn.number, environment.clone()).await?;
        // Whoever only looked for outputs may have found that all files are gone: that is told now, or never.
        let seen = environment.map(|environment| environment.seen(&self.loaded.head));
        let lost = |op: &Op| matches!(op, Op::Opened { lost: true });
        last_ops.extend(seen.unwrap_or_default().into_iter().filter(lost));
        let last = artifacts.len().saturating_sub(ARTIFACTS_IN_LAST_COMMIT);
        for (at, some) in artifacts[..last].chunks(ARTIFACTS_PER_COMMIT).enumerate() {
            let first = at * ARTIFACTS_PER_COMMIT;
            self.change(|draft| {
                for (n, row) in some.iter().enumerate() {
                    draft.put(keys::artifact(turn.number, (first + n) as u64), row);
                }
                Ok(())
            })
            .await?;
        }
        let ended = ended_items(&last_ops);
        while self
            .loaded
            .head
            .turn
            .as_ref()
            .is_some_and(|t| t.calls.len() > CALLS_PER_COMMIT)
        {
            let Some(attending) = self.attending(&ended).await? else {
                break;
            };
            self.change(|draft| {
                close_some_calls(draft, &attending);
                Ok(())
            })
            .await?;
        }
        let Some(attending) = self.attending(&ended).await? else {
            return self.nothing_left().await;
        };
        let run = self.ended("settled");
        let generation = self.grant.generation;
        self.change(|draft| {
            if draft.head.turn.as_ref().map(|t| t.number) == Some(turn.number) {
                for op in &last_ops {
                    apply(draft, op, generation);
                }
                for (n, row) in artifacts.iter().enumerate().skip(last) {
                    draft.put(keys::artifact(turn.number, n as u64), row);
                }
                end_turn(draft, &attending, ending.clone(), capture.clone())
                    .map_err(|e| EngineError::Conflict(e.to_string()))?;
                draft.head.last_error = None;
            }
            let more = draft.head.turn.is_some();
            if !more {
                draft
                    .head
                    .fence
                    .release()
                    .map_err(|e| EngineError::Conflict(e.to_string()))?;
                draft.put(keys::run(generation), &run);
            }
            Ok(more)
        })
        .await
    }

    /// The Turn waits for a client. `true`: the answers came meanwhile, or it was cancelled, and the Run goes on.
    pub(super) async fn pause(&mut self, last_ops: Vec<Op>) -> Result<bool, Stop> {
        self.commit_ops(last_ops).await?;
        self.close_subagents(Closing::WithTurn).await?;
        let Some(attending) = self.attending(&[]).await? else {
            return self.nothing_left().await;
        };
        // A harness may wait for an answer that it was just handed: whoever goes on finds it in the history.
        let answered = std::mem::take(&mut self.answers_handed);
        let waits_for_none = |turn: &ActiveTurn| turn.calls.is_empty();
        if !answered && self.loaded.head.turn.as_ref().is_some_and(waits_for_none) {
            let message = "the harness waits, but no function call is open".to_owned();
            let failure = Failure {
                code: "internal_error".into(),
                message,
            };
            return self.settle(Ending::Failed(failure), None, Vec::new()).await;
        }
        let run = self.ended("waiting");
        let offered = self.offered;
        let generation = self.grant.generation;
        self.change(|draft| {
            let head = &draft.head;
            // A message that came too late for the harness; one that it was given and left is not offered again and again.
            let is_new = |turn: &ActiveTurn| {
                let mut pending = head.pending.iter();
                pending.any(|message| message.turn == turn.number && message.input > offered)
            };
            let goes_on = |turn: &ActiveTurn| {
                let hears = turn.awaits_only_background() && is_new(turn);
                !turn.awaits_answers() || turn.cancel.is_some() || hears
            };
            if head.turn.as_ref().is_none_or(goes_on) {
                return Ok(true);
            }
            pause_turn(draft, &attending).map_err(|e| EngineError::Conflict(e.to_string()))?;
            draft
                .head
                .fence
                .release()
                .map_err(|e| EngineError::Conflict(e.to_string()))?;
            draft.put(keys::run(generation), &run);
            Ok(false)
        })
        .await
    }

    /// Commits what was still gathered, ahead of an end that needs to see it committed.
    async fn commit_ops(&mut self, ops: Vec<Op>) -> Result<(), Stop> {
        if ops.is_empty() {
            return Ok(());
        }
        let generation = self.grant.generation;
        self.change(|draft| {
            for op in &ops {
                apply(draft, op, generation);
            }
            // What was observed must not be counted twice because an answer was lost.
            draft.anchor();
            Ok(())
        })
        .await
    }

    /// Somebody else ended the Turn: the lease is given back.
    pub(super) async fn nothing_left(&mut self) -> Result<bool, Stop> {
        let run = self.ended("nothing to do");
        let generation = self.grant.generation;
        self.change(|draft| {
            if draft.head.turn.is_some() {
                return Ok(true);
            }
            draft
                .head
                .fence
                .release()
                .map_err(|e| EngineError::Conflict(e.to_string()))?;
            draft.put(keys::run(generation), &run);
            Ok(false)
        })
        .await
    }

    /// Stores the output files of the Turn, if it can have any. The lease is kept meanwhile, however large they are.
    ///
    /// A Turn that ran nothing looks too, where what an earlier one left running may have made something since; for that no
    /// environment is opened.
    async fn capture(
        &mut self,
        turn: u64,
        environment: Option<Arc<LazyEnvironment>>,
    ) -> Result<(Option<Capture>, Vec<ArtifactRow>), Stop> {
        let (Some(spec), Some(environment)) = (self.environment.clone(), environment) else {
            return Ok((None, Vec::new()));
        };
        // Commands may have run in an earlier Run of this Turn, or before it paused in this one; otherwise a Turn that opened
        // nothing made nothing.
        let opened = environment.opened().is_some()
            || (self.loaded.head.environment_opened
                && (self.paused == Some(turn) || self.resumed(turn).await?));
        let environment: Arc<dyn Environment> = match opened {
            true => environment,
            false => match self.worker.environments.held(&spec.id).await {
                Some(held) if held.has_new_outputs().await => held,
                Some(_) | None => return Ok((None, Vec::new())),
            },
        };
        let core = self.worker.core.clone();
        let scope = core.scope(&self.loaded.head.owner, &self.session);
        let limits = self.worker.limits;
        let storing =
            async move { store_outputs(&core, &scope, limits, &spec.id, &*environment).await };
        let (capture, rows) = self.tending(storing).await?;
        Ok((Some(capture), rows))
    }

    /// Does something that may take long, and keeps the lease.
    pub(super) async fn tending<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Stop> {
        let renew = Duration::from_millis((self.worker.core.settings.lease_ms / 3).max(1));
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = tokio::time::sleep(renew) => self.change(|_| Ok(())).await?,
            }
        }
    }

    /// Whether an earlier Run worked on this Turn.
    async fn resumed(&mut self, turn: u64) -> Result<bool, Stop> {
        let generation = self.grant.generation;
        let attending = self.attending(&[]).await?;
        let active = self.loaded.head.turn.as_ref();
        Ok(active.is_some_and(|active| active.number == turn)
            && attending.is_some_and(|a| a.turn.runs.is_some_and(|(first, _)| first < generation)))
    }
}

/// Items whose final row is among these operations.
fn ended_items(ops: &[Op]) -> Vec<u64> {
    let ended = ops.iter().filter_map(|op| match op {
        Op::Ended(number, _) => Some(*number),
        _ => None,
    });
    ended.collect()
}

/// Puts what is under /workspace/outputs into blobs. Whatever goes wrong is recorded beside the Turn, never as its end (I8).
async fn store_outputs(
    core: &Core,
    scope: &BlobScope,
    limits: CaptureLimits,
    environment_id: &str,
    environment: &dyn Environment,
) -> (Capture, Vec<ArtifactRow>) {
    let mut capture = Capture::default();
    let outputs = match environment.outputs(limits).await {
        Ok(outputs) => outputs,
        Err(error) => {
            capture.problem = Some(error.to_string());
            return (capture, Vec::new());
        }
    };
    let mut left_out = outputs.left_out;
    let mut rows = Vec::new();
    for file in outputs.files {
        let source = BlobSource::Stream {
            from: file.content,
            limit_bytes: limits.file_bytes,
        };
        match core.blobs.put(scope, source).await {
            Ok(blob) => rows.push(ArtifactRow {
                path: file.path,
                blob,
                environment: environment_id.to_owned(),
                at_ms: core.clock.now_ms(),
            }),
            Err(error) => left_out.push(LeftOut {
                path: file.path,
                reason: error.to_string(),
            }),
        }
    }
    if left_out.len() > LEFT_OUT_LISTED {
        let more = left_out.split_off(LEFT_OUT_LISTED).len();
        left_out.push(LeftOut {
            path: "/workspace/outputs".into(),
            reason: format!("and {more} more"),
        });
    }
    capture.artifacts = rows.len() as u64;
    capture.left_out = left_out;
    (capture, rows)
}
