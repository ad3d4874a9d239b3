//! Random lives of a Session over the pure functions: nothing panics, every commit keeps its bounds, the records stay sound, and
//! what inputs promise holds.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use rat_things::api::TurnStatus;
use rat_things::engine::deliver::Attempt;
use rat_things::engine::error::EngineError;
use rat_things::engine::fence::RunState;
use rat_things::engine::input::{Body, EndRow, InputState};
use rat_things::engine::item::{ItemBody, ItemRow};
use rat_things::engine::keys;
use rat_things::engine::observe::Op;
use rat_things::engine::ports::{ModelUsage, Sent};
use rat_things::engine::prepare::{MAX_BATCH, Prepared};
use rat_things::engine::receipt::Outcome;
use rat_things::engine::session::{Head, MAX_PENDING};
use rat_things::engine::settle::Ending;
use rat_things::engine::turn::{Failure, TurnRow};

use super::bench::{Bench, answer, began, queued, steer};
use super::records::{HEAD_BYTES, assert_sound};

/// One thing that happens. What is not possible at the moment does not happen.
#[derive(Clone, Debug)]
enum Event {
    Batch(Vec<Piece>),
    Claim,
    Observe(Vec<Seen>),
    Take,
    CommandEnds,
    Pause,
    Settle(How),
    Leave,
    Lose,
    LoseSight,
    OperatorRelease,
    Owe,
    ClaimDeliveries,
    Answer(Index, Answered),
    Later(u64),
}

/// What a courier says.
#[derive(Clone, Copy, Debug)]
enum Answered {
    Delivered,
    Failed { retryable: bool },
    Uncertain,
}

/// One input of a batch.
#[derive(Clone, Debug)]
enum Piece {
    Steer { joins: bool },
    Queue,
    Cancel,
    CancelTurn(Index),
    Result(Index, bool),
}

#[derive(Clone, Debug)]
enum Seen {
    Message,
    Call,
    Command,
    ModelCall,
    Opened,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Completed,
    Failed,
    Cancelled,
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        6 => any::<bool>().prop_map(|joins| Piece::Steer { joins }),
        5 => Just(Piece::Queue),
        2 => Just(Piece::Cancel),
        3 => any::<Index>().prop_map(Piece::CancelTurn),
        4 => (any::<Index>(), prop::bool::weighted(0.9)).prop_map(|(at, same)| Piece::Result(at, same)),
    ]
}

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        1 => Just(Seen::Message),
        4 => Just(Seen::Call),
        1 => Just(Seen::Command),
        1 => Just(Seen::ModelCall),
        1 => Just(Seen::Opened),
    ]
}

fn answered() -> impl Strategy<Value = Answered> {
    prop_oneof![
        Just(Answered::Delivered),
        Just(Answered::Uncertain),
        any::<bool>().prop_map(|retryable| Answered::Failed { retryable }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => prop::collection::vec(piece(), 1..=MAX_BATCH).prop_map(Event::Batch),
        4 => piece().prop_map(|piece| Event::Batch(vec![piece])),
        6 => Just(Event::Claim),
        6 => prop::collection::vec(seen(), 1..8).prop_map(Event::Observe),
        4 => Just(Event::Take),
        2 => Just(Event::CommandEnds),
        3 => Just(Event::Pause),
        3 => prop_oneof![Just(How::Completed), Just(How::Failed), Just(How::Cancelled)]
            .prop_map(Event::Settle),
        1 => Just(Event::Leave),
        2 => Just(Event::Lose),
        1 => Just(Event::LoseSight),
        1 => Just(Event::OperatorRelease),
        2 => Just(Event::Owe),
        2 => Just(Event::ClaimDeliveries),
        3 => (any::<Index>(), answered()).prop_map(|(at, answer)| Event::Answer(at, answer)),
        2 => (0u64..90_000).prop_map(Event::Later),
    ]
}

/// A Session and what is needed to play on.
struct Life {
    bench: Bench,
    calls: u64,
    attempts: Vec<Attempt>,
}

impl Life {
    fn happens(&mut self, event: &Event) {
        self.bench.now_ms += 1;
        let head = self.bench.head();
        let state = head.fence.state();
        let working = state == RunState::Leased && head.turn.is_some();
        let ends = head
            .turn
            .as_ref()
            .is_some_and(|turn| turn.cancel.is_some() || turn.doomed.is_some());
        match event {
            Event::Batch(pieces) => self.batch(pieces),
            Event::Claim if is_due(&head, self.bench.now_ms) => {
                let free = state == RunState::Free && head.turn.is_some();
                assert_eq!(self.bench.claim().is_ok(), free);
            }
            Event::Observe(seen) if working && !ends => self.observe(seen),
            Event::Take if working && !ends => self.bench.take_all(),
            Event::CommandEnds if working => {
                if let Some(item) = head.turn.and_then(|turn| turn.running.first().copied()) {
                    self.bench.command_ended(item);
                }
            }
            Event::Pause
                if working
                    && !ends
                    && head
                        .turn
                        .as_ref()
                        .is_some_and(|turn| turn.awaits_answers() && turn.running.is_empty()) =>
            {
                self.bench.pause();
            }
            Event::Settle(how) if working => self.settle(*how),
            Event::Leave if working => self.bench.leave(),
            Event::Lose if state != RunState::Free => self.bench.lose(),
            Event::LoseSight if state == RunState::Leased => self.bench.lose_sight(),
            Event::OperatorRelease if state == RunState::Quarantined => {
                let released = self.bench.change(|draft| {
                    draft.head.fence.operator_release().expect("quarantined");
                    draft.move_agenda();
                    Ok(())
                });
                released.expect("never refused");
            }
            Event::Owe => self.bench.owe(),
            Event::ClaimDeliveries => self.attempts.extend(self.bench.claim_deliveries(6)),
            Event::Answer(at, answer) if !self.attempts.is_empty() => {
                let attempt = self.attempts.remove(at.index(self.attempts.len()));
                let sent = match answer {
                    Answered::Delivered => Sent::Delivered,
                    Answered::Failed { retryable } => Sent::Failed {
                        message: "no".into(),
                        retryable: *retryable,
                    },
                    Answered::Uncertain => Sent::Uncertain("cut off".into()),
                };
                let agenda = head.agenda.execute;
                self.bench.answer_delivery(&attempt, sent);
                assert_eq!(
                    self.bench.head().agenda.execute,
                    agenda,
                    "of the other group"
                );
            }
            Event::Later(by_ms) => self.bench.now_ms += by_ms,
            _ => {}
        }
        let size_bytes = self.bench.head_bytes();
        assert!(
            size_bytes < HEAD_BYTES,
            "{size_bytes} bytes: {:#?}",
            self.bench.head()
        );
    }

    fn settle(&mut self, how: How) {
        let Some(turn) = self.bench.head().turn else {
            return;
        };
        let failed = |message: &str| {
            Ending::Failed(Failure {
                code: "internal_error".into(),
                message: message.into(),
            })
        };
        let ending = match how {
            _ if turn.cancel.is_some() => Ending::Cancelled,
            _ if turn.doomed.is_some() => failed("doomed"),
            How::Completed => Ending::Completed,
            How::Failed => failed("the model failed"),
            How::Cancelled => Ending::Cancelled,
        };
        self.bench.settle(&ending);
    }

    fn observe(&mut self, seen: &[Seen]) {
        let mut ops = Vec::new();
        for seen in seen {
            self.calls += 1;
            ops.push(match seen {
                Seen::Message => Op::Item(ItemBody::Message {
                    text: Body::Inline("said".into()),
                    phase: None,
                    incomplete: false,
                }),
                Seen::Call => Op::Function {
                    // As long as the harness lets them be.
                    call_id: format!("{:064}", self.calls),
                    name: "ask".into(),
                    arguments: Body::Inline("{}".into()),
                    background: self.calls.is_multiple_of(2),
                },
                Seen::ModelCall => Op::ModelCall(ModelUsage::default()),
                Seen::Opened => Op::Opened { lost: false },
                // A harness claims one command at a time, and it is the last of its commit.
                Seen::Command => continue,
            });
        }
        self.bench.observe(&ops);
        let idle = self
            .bench
            .head()
            .turn
            .is_some_and(|turn| turn.running.is_empty());
        if idle && seen.iter().any(|seen| matches!(seen, Seen::Command)) {
            self.bench.observe(&[began(&format!("c{}", self.calls))]);
        }
    }

    fn batch(&mut self, pieces: &[Piece]) {
        let head = self.bench.head();
        let mut batch: Vec<Prepared> = Vec::new();
        for piece in pieces {
            let follows = matches!(batch.last(), Some(Prepared::Message { .. }));
            batch.push(match piece {
                Piece::Steer { joins } if *joins && follows => joined(&batch),
                Piece::Steer { .. } => steer("m"),
                Piece::Queue => queued("m"),
                Piece::Cancel => Prepared::Cancel { turn: None },
                Piece::CancelTurn(at) => {
                    let turn = at.index(head.next.turn as usize) as u64;
                    Prepared::Cancel { turn: Some(turn) }
                }
                Piece::Result(at, same) => self.result(at, *same),
            });
        }
        let before = self.turns();
        let records = self.bench.records();
        let full = head.pending.len() + batch.len() > MAX_PENDING / 2;
        match self.bench.accept(&batch) {
            Ok(outcomes) => {
                assert_eq!(outcomes.len(), batch.len());
                for (input, outcome) in batch.iter().zip(&outcomes) {
                    fits(input, outcome);
                }
                if let [Prepared::Cancel { .. }] = batch[..] {
                    self.only_this(&before, &outcomes[0]);
                }
            }
            Err(error) => {
                let known = matches!(
                    error,
                    EngineError::Conflict(_) | EngineError::Invalid { .. }
                );
                assert!(known, "{error:?}");
                assert_eq!(self.bench.records(), records, "a refusal changed something");
                let messages = batch.iter().all(|p| matches!(p, Prepared::Message { .. }));
                assert!(!messages || full, "messages were refused: {error:?}");
            }
        }
    }

    fn result(&self, at: &Index, same: bool) -> Prepared {
        let calls = self
            .bench
            .attending()
            .map(|rows| rows.items)
            .unwrap_or_default();
        let turn = self.bench.head().turn.map_or(0, |turn| turn.number);
        let open: Vec<String> = calls
            .iter()
            .filter_map(|(_, row)| match &row.body {
                ItemBody::Function { call_id, .. } => Some(call_id.clone()),
                _ => None,
            })
            .collect();
        let id = match open.is_empty() {
            true => "none".to_owned(),
            false => at.get(&open).clone(),
        };
        answer(turn, &id, if same { "a" } else { "b" })
    }

    fn turns(&self) -> Vec<TurnRow> {
        (1..self.bench.head().next.turn)
            .map(|n| self.bench.row(&keys::turn(n)).expect("a turn"))
            .collect()
    }

    /// A cancel touches the Turn that it says, and no other (I5).
    fn only_this(&self, before: &[TurnRow], outcome: &Outcome) {
        let touched = match outcome {
            Outcome::Cancelled { turn } => *turn,
            _ => 0,
        };
        for (at, (was, is)) in before.iter().zip(self.turns()).enumerate() {
            let number = at as u64 + 1;
            if number == touched {
                assert_eq!(is.status, TurnStatus::Cancelled, "turn {number}");
            } else {
                assert_eq!(*was, is, "turn {number} was touched");
            }
        }
        let asked = self.bench.head().turn.filter(|turn| turn.cancel.is_some());
        if let Outcome::Cancelling { turn } = outcome {
            assert_eq!(asked.map(|active| active.number), Some(*turn));
        }
    }

    /// The agent is given messages in the order of their acceptance: within a Turn, and Turn after Turn by what started them.
    fn in_order(&self) {
        let head = self.bench.head();
        let mut given: Vec<(u64, u64)> = Vec::new();
        for number in 1..head.next.item {
            let row: ItemRow = self.bench.row(&keys::item(number)).expect("an item");
            let ItemBody::User { input } = row.body else {
                continue;
            };
            let end: Option<EndRow> = self.bench.row(&keys::input_end(input));
            if end.is_some_and(|end| matches!(end.state, InputState::Delivered { .. })) {
                given.push((row.turn, input));
            }
        }
        for turn in 1..head.next.turn {
            let mine: Vec<u64> = given
                .iter()
                .filter(|(t, _)| *t == turn)
                .map(|(_, i)| *i)
                .collect();
            assert!(mine.is_sorted(), "turn {turn} was given {mine:?}");
        }
        let mut ran: Vec<TurnRow> = self.turns();
        ran.retain(|row| row.runs.is_some());
        ran.sort_by_key(|row| row.first_item);
        assert!(ran.is_sorted_by(|a, b| a.input < b.input), "{ran:#?}");
    }
}

fn is_due(head: &Head, now_ms: u64) -> bool {
    head.execution_due(now_ms).is_some_and(|due| due <= now_ms)
}

fn joined(batch: &[Prepared]) -> Prepared {
    let next_turn = matches!(
        batch.last(),
        Some(Prepared::Message {
            next_turn: true,
            ..
        })
    );
    let Prepared::Message { content, .. } = steer("m") else {
        unreachable!("a message")
    };
    Prepared::Message {
        content,
        next_turn,
        joins: true,
    }
}

/// What an input may become.
fn fits(input: &Prepared, outcome: &Outcome) {
    use Outcome::{Answered, Cancelled, Cancelling, Nothing, Queued, Started, Steered};
    let fits = match input {
        Prepared::Message { joins: true, .. } => matches!(outcome, Steered { .. }),
        Prepared::Message { .. } => {
            matches!(outcome, Started { .. } | Steered { .. } | Queued { .. })
        }
        Prepared::Cancel { .. } => {
            matches!(
                outcome,
                Cancelled { .. } | Cancelling { .. } | Nothing { .. }
            )
        }
        Prepared::ToolResult { .. } => matches!(outcome, Answered { .. } | Nothing { .. }),
    };
    assert!(fits, "{input:?} became {outcome:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 160, rng_seed: RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_session_stays_sound_whatever_happens(events in prop::collection::vec(event(), 1..120)) {
        let mut life = Life { bench: Bench::new(), calls: 0, attempts: Vec::new() };
        for (at, event) in events.iter().enumerate() {
            life.happens(event);
            if at % 4 == 3 || at + 1 == events.len() {
                assert_sound(&life.bench.records(), life.bench.now_ms);
            }
        }
        life.in_order();
    }
}
