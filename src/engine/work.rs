//! One Turn in a worker's hands: give it to the harness, commit what it sees, and settle it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::checkpoint;
use super::claim::begin_turn;
use super::driven::Driven;
use super::error::EngineError;
use super::fence::BeganAnew;
use super::heed::raise;
use super::ids::{self, Kind};
use super::input::Body;
use super::item::{ItemBody, ItemRow};
use super::lazy::LazyEnvironment;
use super::live::Place;
use super::observe::{Op, apply};
use super::open_call::MAX_OPEN_CALLS;
use super::ports::{
    Delta, Environment, FromHarness, LivePart, Observation, Signal, Steer, TakenCheckpoint,
    TurnEnd, TurnLink, TurnTask,
};
use super::run::{Leaving, Live, Stop, patiently};
use super::session::{ActiveTurn, MAX_PENDING};
use super::settle::{Ending, take_answers};
use super::start_files::Placing;
use super::subagent::Closing;
use super::subagents::Subagents;
use super::turn::Failure;
use crate::api::TurnStatus;

/// Messages between harness and engine that may wait.
const LINK: usize = 64;
/// Rows that are gathered before they are committed anyway. With one more operation and what every commit has, a commit stays
/// within its bound.
const BATCH_ROWS: usize = 8;
/// Inputs confirmed in one operation.
const TOOK_AT_ONCE: usize = 5;

/// What a Turn's work leaves behind while it goes on.
pub(super) struct Desk {
    pub(super) ops: Vec<Op>,
    /// When the oldest gathered operation must be committed.
    flush_at: Option<Instant>,
    /// Claimed tool calls: item number and row as claimed.
    pub(super) calls: HashMap<String, (u64, ItemRow)>,
    pub(super) subagents: Subagents,
    environment: Option<Arc<LazyEnvironment>>,
    /// Rows that the gathered operations come to.
    weight: usize,
    /// When a cancelled harness is not waited for any longer.
    pub(super) force_at: Option<Instant>,
    pub(super) steer: mpsc::Sender<Steer>,
    /// Answers that were handed over.
    answers: usize,
    /// Digests of what is stored of checkpoints, and not superseded.
    checkpointed: HashSet<String>,
    /// Why there was a checkpoint and the harness was not given it.
    unusable: Option<String>,
    pub(super) signal: watch::Sender<Signal>,
}

impl Desk {
    /// Hands answers over that are recorded as given. A checkpoint that was taken before and is not committed yet would pass for one that holds them.
    pub(super) fn hand_over(&mut self, answers: Vec<Steer>) {
        let (dropped, kept) = std::mem::take(&mut self.ops)
            .into_iter()
            .partition(|op| matches!(op, Op::Checkpoint(_)));
        self.ops = kept;
        for op in dropped {
            if let Op::Checkpoint(kept) = op {
                self.checkpointed.extend(kept.superseded);
            }
        }
        for answer in answers {
            self.answers += 1;
            let _ = self.steer.try_send(answer);
        }
    }
}

/// Where a commit stored its last Item.
pub(super) struct Placed {
    pub(super) item: u64,
    pub(super) turn: u64,
    pub(super) output_index: Option<u64>,
    pub(super) at_ms: u64,
}

impl Live {
    /// Works on the active Turn. `true`: there is another one.
    pub(super) async fn turn(&mut self) -> Result<bool, Stop> {
        self.begin().await?;
        let Some(turn) = self.loaded.head.turn.clone() else {
            return self.nothing_left().await;
        };
        let scope = self
            .worker
            .core
            .scope(&self.loaded.head.owner, &self.session);
        let placing = Placing {
            files: self.config.files.clone(),
            scope: scope.clone(),
            blobs: std::sync::Arc::clone(&self.worker.core.blobs),
        };
        let variables = self.config.variables.clone().map(|at| (scope, at));
        let environment = self.environment.clone().map(|spec| {
            LazyEnvironment::new(spec, variables, placing, &self.worker, &self.session)
        });
        let (ending, last_ops) = if turn.cancel.is_some() {
            (Some(Ending::Cancelled), Vec::new())
        } else if let Some(failure) = turn.doomed.clone() {
            (Some(Ending::Failed(failure)), Vec::new())
        } else {
            self.drive(&turn, environment.clone()).await?
        };
        match ending {
            Some(ending) => self.settle(ending, environment, last_ops).await,
            None => {
                self.paused = Some(turn.number);
                self.pause(last_ops).await
            }
        }
    }

    /// Claims the next queued Turn under this Run, and gives the agent the answers it waited for.
    async fn begin(&mut self) -> Result<(), Stop> {
        let generation = self.grant.generation;
        // The Turn at the front may be cancelled at any moment before it began: then there is another one, or none.
        while let Some(number) = self.not_begun() {
            let Some(attending) = self.attending(&[]).await? else {
                return Ok(());
            };
            self.turn_row = None;
            self.change(|draft| match &draft.head.turn {
                Some(turn) if turn.number == number => begin_turn(draft, &attending, generation),
                _ => Ok(()),
            })
            .await?;
        }
        loop {
            let answered = |turn: &ActiveTurn| turn.calls.iter().any(|call| call.answer.is_some());
            if !self.loaded.head.turn.as_ref().is_some_and(answered) {
                return Ok(());
            }
            let Some(attending) = self.attending(&[]).await? else {
                return Ok(());
            };
            self.change(|draft| Ok(take_answers(draft, &attending, |_| true)))
                .await?;
        }
    }

    /// The active Turn, while no Run has begun it.
    fn not_begun(&self) -> Option<u64> {
        let turn = self.loaded.head.turn.as_ref()?;
        (turn.status == TurnStatus::Queued && !turn.begun).then_some(turn.number)
    }

    /// The harness works until the Turn ends (`Some`) or waits for a client (`None`). With it come the operations that the
    /// commit of that end takes along.
    async fn drive(
        &mut self,
        turn: &ActiveTurn,
        environment: Option<Arc<LazyEnvironment>>,
    ) -> Result<(Option<Ending>, Vec<Op>), Stop> {
        self.answers_handed = false;
        // Whoever is open still was with a process that is gone.
        self.close_subagents(Closing::Lost).await?;
        let (to_engine, from_harness) = mpsc::channel(LINK);
        let (steer, steered) = mpsc::channel(MAX_PENDING + MAX_OPEN_CALLS);
        let (signal, signalled) = watch::channel(Signal::None);
        let feed = self.claimed_feed(turn.number).await?;
        self.offered = feed.iter().map(|feed| feed.input).max().unwrap_or(0);
        let worker = Arc::clone(&self.worker);
        let head = self.loaded.head.clone();
        let told = patiently(|| {
            let (core, generation) = (&worker.core, self.grant.generation);
            let useful_bytes = worker.harness.useful_past_bytes();
            let histories = &worker.histories;
            histories.load(core, &self.session, &head, generation, useful_bytes)
        })
        .await?;
        let scope = worker.core.scope(&head.owner, &self.session);
        let read = || worker.core.tool_secrets(&head.owner, &scope, &self.config);
        let tool_secrets = match patiently(read).await? {
            Ok(tool_secrets) => tool_secrets,
            Err(failure) => return Ok((Some(Ending::Failed(failure)), Vec::new())),
        };
        worker.histories.handed_over(&self.session, &head, &feed);
        let kept = match worker.harness.keeps_checkpoints(&self.config.agent) {
            true => checkpoint::load(&worker.core, &self.session, &head, &told).await?,
            false => checkpoint::Found::default(),
        };
        let task = TurnTask {
            session: self.session.to_string(),
            turn: ids::derived(Kind::Turn, &self.session, turn.number),
            agent: Arc::clone(&self.config.agent),
            tool_secrets,
            history: told.past,
            feed,
            environment: environment.clone().map(|lazy| lazy as Arc<dyn Environment>),
            resumed: turn.outputs > 0,
            model_calls: turn.model_calls,
            checkpoint: kept.saved,
        };
        let link = TurnLink {
            to_engine,
            steer: steered,
            signal: signalled,
        };
        let harness = Arc::clone(&worker.harness);
        let mut running = Driven::start(async move { harness.run(task, link).await });
        let mut desk = Desk {
            ops: Vec::new(),
            flush_at: None,
            calls: HashMap::new(),
            subagents: Subagents::default(),
            environment,
            weight: 0,
            force_at: None,
            steer,
            answers: 0,
            checkpointed: kept.stored,
            unusable: kept.unusable,
            signal,
        };
        let end = self.attend(&mut desk, &mut running, from_harness).await;
        // Whatever comes next, it comes after the last thing that the harness did.
        running.stop().await;
        let end = end?;
        self.note_environment(&mut desk);
        if matches!(end, TurnEnd::Left) {
            self.flush(&mut desk).await?;
        }
        Ok((self.conclude(end).await?, desk.ops))
    }

    /// Between harness and store, until the harness is done. What it saw last may still wait in `desk`.
    async fn attend(
        &mut self,
        desk: &mut Desk,
        running: &mut Driven,
        mut from_harness: mpsc::Receiver<FromHarness>,
    ) -> Result<TurnEnd, Stop> {
        let settings = self.worker.core.settings.clone();
        let renew = Duration::from_millis((settings.lease_ms / 3).max(1));
        let mut renew_at = Instant::now() + renew;
        let mut leaving = self.worker.leaving();
        // It may have been asked to leave since this Run last looked.
        leaving.mark_changed();
        let mut leave_at = None;
        let rung = Arc::clone(&self.rung);
        self.look_at_head(desk).await?;
        loop {
            let far = Instant::now() + Duration::from_secs(3_600);
            tokio::select! {
                biased;
                said = from_harness.recv() => match said {
                    Some(FromHarness::Saw(seen)) => self.gather(desk, seen).await?,
                    Some(FromHarness::Claim(claim, answer)) => {
                        self.claim_effect(desk, claim, None, answer).await?;
                        renew_at = Instant::now() + renew;
                    }
                    Some(FromHarness::ClaimAs(claim, answer)) => {
                        self.claim_as(desk, *claim, answer).await?;
                        renew_at = Instant::now() + renew;
                    }
                    Some(FromHarness::Record(answer)) => {
                        if self.flush(desk).await?.is_some() {
                            renew_at = Instant::now() + renew;
                        }
                        // A harness that is gone has nothing to go on with.
                        let _ = answer.send(());
                    }
                    // The harness dropped its end: it is done, and its task has the answer.
                    None => return Ok(running.join().await),
                },
                () = rung.notified() => {
                    self.refresh().await?;
                    self.look_at_head(desk).await?;
                }
                () = tokio::time::sleep_until(self.texts.due().unwrap_or(far)) => {
                    self.texts.tell(&*self.worker.core.bell);
                }
                () = tokio::time::sleep_until(desk.flush_at.unwrap_or(far)) => {
                    self.flush(desk).await?;
                    renew_at = Instant::now() + renew;
                }
                () = tokio::time::sleep_until(renew_at) => {
                    self.change(|_| Ok(())).await?;
                    self.look_at_head(desk).await?;
                    renew_at = Instant::now() + renew;
                }
                Ok(()) = leaving.changed() => {
                    let Leaving { asked, grace_ms } = *leaving.borrow();
                    if asked {
                        raise(&desk.signal, Signal::Leave);
                        leave_at = Some(Instant::now() + Duration::from_millis(grace_ms));
                    }
                }
                () = tokio::time::sleep_until(desk.force_at.unwrap_or(far)), if desk.force_at.is_some() => {
                    self.end_environment().await;
                    return Ok(TurnEnd::Cancelled);
                }
                () = tokio::time::sleep_until(leave_at.unwrap_or(far)), if leave_at.is_some() => {
                    // The grace is over. A command that still runs is ended; its outcome will be unknown.
                    self.end_environment().await;
                    return Ok(TurnEnd::Left);
                }
            }
        }
    }

    /// Ends every process in the Session's environment.
    pub(super) async fn end_environment(&self) {
        if let Some(spec) = &self.environment {
            self.worker.environments.close(&spec.id).await;
        }
    }

    /// Text that is live only: whoever follows may be shown it, no record holds it.
    fn write_live(&mut self, desk: &Desk, delta: Delta) {
        let place = |ahead| Place::next(&self.loaded.head, &desk.ops, self.grant.generation, ahead);
        let (place, part, text) = match delta {
            Delta::Text { ahead, text } => (place(ahead), LivePart::Message, text),
            Delta::Reasoning {
                ahead,
                summary,
                text,
            } => (place(ahead), LivePart::Summary(summary), text),
            Delta::Command { call_id, text } => {
                let claimed = desk.calls.get(&call_id);
                let place = claimed.map(|(item, row)| Place::of(*item, row));
                (place, LivePart::Output, text)
            }
            Delta::Void => return self.texts.void(),
        };
        if let Some(place) = place {
            self.texts.add(place, part, &text);
        }
        // A harness that writes without a pause must not keep it from being told.
        if self.texts.due().is_some_and(|due| due <= Instant::now()) {
            self.texts.tell(&*self.worker.core.bell);
        }
    }

    /// Turns an observation into operations that wait for the next commit.
    async fn gather(&mut self, desk: &mut Desk, seen: Observation) -> Result<(), Stop> {
        if !matches!(seen, Observation::Delta(_)) {
            // What was written belongs before what it leads to.
            self.texts.tell(&*self.worker.core.bell);
        }
        if let Observation::Message { .. } | Observation::Reasoning { .. } = &seen {
            self.texts.complete();
        }
        let op = match seen {
            Observation::Took(inputs) => {
                for some in inputs.chunks(TOOK_AT_ONCE) {
                    self.push(desk, Op::Took(some.to_vec())).await?;
                }
                return Ok(());
            }
            Observation::Message {
                text,
                phase,
                incomplete,
            } => Op::Item(ItemBody::Message {
                text: self.keep(text.into()).await?,
                phase,
                incomplete,
            }),
            Observation::Reasoning { summary, native } => {
                let native = match native {
                    Some(native) => Some(self.keep(native).await?),
                    None => None,
                };
                Op::Item(ItemBody::Reasoning { summary, native })
            }
            Observation::WebSearch { native } => Op::Item(ItemBody::WebSearch {
                native: self.keep(native).await?,
            }),
            Observation::FunctionCall {
                call_id,
                name,
                arguments,
                background,
            } => Op::Function {
                call_id,
                name,
                arguments: self.keep(arguments.into()).await?,
                background,
            },
            Observation::ToolEnded {
                call_id,
                end,
                output,
            } => match self.tool_ended(desk, &call_id, end, output).await? {
                Some(op) => op,
                None => return Ok(()),
            },
            Observation::ModelCall(usage) => Op::ModelCall(usage),
            Observation::DrivenBy { program, anew } => {
                let turn = self.loaded.head.turn.as_ref().map_or(0, |turn| turn.number);
                let anew = anew.or_else(|| desk.unusable.clone());
                let anew = anew.map(|why| BeganAnew::new(turn, why));
                if !self.row.driven_by(program, anew) {
                    return Ok(());
                }
                Op::Run(Box::new(self.row.clone()))
            }
            Observation::Checkpoint(taken) => match self.store_checkpoint(desk, *taken).await? {
                Some(op) => op,
                None => return Ok(()),
            },
            Observation::Subagent { key, news } => return self.of_subagent(desk, key, news).await,
            Observation::Heard { from, text } => return self.heard(desk, &from, text).await,
            Observation::Delta(delta) => {
                self.write_live(desk, delta);
                return Ok(());
            }
        };
        self.push(desk, op).await
    }

    /// Stores what a checkpoint is made of, and keeps the lease meanwhile.
    async fn store_checkpoint(
        &mut self,
        desk: &mut Desk,
        taken: TakenCheckpoint,
    ) -> Result<Option<Op>, Stop> {
        if taken.answers != desk.answers {
            // One is handed over at this moment. It is recorded already, and not in this.
            return Ok(None);
        }
        let core = self.worker.core.clone();
        let scope = core.scope(&self.loaded.head.owner, &self.session);
        let mut stored = std::mem::take(&mut desk.checkpointed);
        let storing = async move {
            let kept = checkpoint::store(&core, &scope, taken, &mut stored).await;
            (kept, stored)
        };
        let (kept, stored) = self.tending(storing).await?;
        desk.checkpointed = stored;
        Ok(kept.map(|kept| Op::Checkpoint(Box::new(kept))))
    }

    pub(super) async fn push(&mut self, desk: &mut Desk, op: Op) -> Result<(), Stop> {
        desk.weight += match &op {
            Op::Took(inputs) => 2 * inputs.len(),
            Op::Opened { .. } | Op::Troubled(_) | Op::ModelCall(_) => 0,
            Op::Item(_)
            | Op::Function { .. }
            | Op::Began { .. }
            | Op::Ended(..)
            | Op::Run(_)
            | Op::Heard { .. } => 1,
            // Its row, and the chore of what it takes the place of.
            Op::Checkpoint(_) => 2,
            // The subagent's, its Turn's and an Item's.
            Op::Subagent(_) => 3,
        };
        let settings = &self.worker.core.settings;
        let patience_ms = match op {
            Op::Ended(..) => settings.batch_ms.min(settings.end_batch_ms),
            _ => settings.batch_ms,
        };
        desk.ops.push(op);
        let latest = Instant::now() + Duration::from_millis(patience_ms);
        desk.flush_at = Some(desk.flush_at.map_or(latest, |at| at.min(latest)));
        if desk.weight >= BATCH_ROWS {
            self.flush(desk).await?;
        }
        Ok(())
    }

    /// Adds to what is gathered what was seen of the environment since.
    fn note_environment(&self, desk: &mut Desk) {
        let Some(environment) = &desk.environment else {
            return;
        };
        let seen = environment.seen(&self.loaded.head);
        desk.ops.splice(0..0, seen);
    }

    /// Commits what was gathered, and answers where its last Item is: in that very commit, since others add Items, too.
    pub(super) async fn flush(&mut self, desk: &mut Desk) -> Result<Option<Placed>, Stop> {
        self.note_environment(desk);
        desk.flush_at = None;
        desk.weight = 0;
        if desk.ops.is_empty() {
            return Ok(None);
        }
        let generation = self.grant.generation;
        let ops = std::mem::take(&mut desk.ops);
        let placed = self
            .change(|draft| {
                for op in &ops {
                    apply(draft, op, generation);
                }
                draft.head.active_ms = draft.now_ms;
                // What was observed must not be counted twice because an answer was lost.
                draft.anchor();
                let turn = draft.head.turn.as_ref();
                Ok(Placed {
                    item: draft.head.next.item - 1,
                    turn: turn.map_or(0, |turn| turn.number),
                    output_index: turn.map(|turn| turn.outputs.saturating_sub(1)),
                    at_ms: draft.now_ms,
                })
            })
            .await?;
        self.texts.forget_complete(&self.loaded.head);
        self.look_at_head(desk).await?;
        Ok(Some(placed))
    }

    pub(super) async fn keep(&self, value: serde_json::Value) -> Result<Body, Stop> {
        let core = &self.worker.core;
        let scope = core.scope(&self.loaded.head.owner, &self.session);
        patiently(|| core.keep(&scope, value.clone())).await
    }

    /// What the harness's end means for the Turn.
    async fn conclude(&mut self, end: TurnEnd) -> Result<Option<Ending>, Stop> {
        if matches!(end, TurnEnd::Failed { .. } | TurnEnd::Left) {
            self.refresh().await?;
        }
        let cancelled = self
            .loaded
            .head
            .turn
            .as_ref()
            .is_some_and(|turn| turn.cancel.is_some());
        match end {
            // A Turn that was done before the cancel reached it is done; the cancel finds it so.
            TurnEnd::Completed => Ok(Some(Ending::Completed)),
            TurnEnd::Failed { .. } if cancelled => Ok(Some(Ending::Cancelled)),
            TurnEnd::Failed { code, message } => {
                Ok(Some(Ending::Failed(Failure { code, message })))
            }
            TurnEnd::Cancelled => Ok(Some(Ending::Cancelled)),
            TurnEnd::Waiting => Ok(None),
            TurnEnd::Left if cancelled => Ok(Some(Ending::Cancelled)),
            TurnEnd::Left if self.worker.leaving().borrow().asked => Err(Stop::Left),
            // Nobody asked it to: an attempt that came to nothing, and these are bounded.
            TurnEnd::Left => {
                let why = "the harness left the turn by itself".to_owned();
                Err(EngineError::Unavailable(why).into())
            }
        }
    }
}
