//! One Session over the engine's pure functions alone: no runtime, no ports, no time but what a test sets. What the stages do
//! with ports around it is done here by hand, in the same order.

use std::collections::BTreeMap;
use std::sync::Arc;

use rat_things::api::SessionAgent;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::engine::accept::{Rows, decide, rests};
use rat_things::engine::claim::{begin_turn, claim};
use rat_things::engine::core::{Loaded, Settings, encode};
use rat_things::engine::deliver::{Attempt, Policy, answer_event, is_due, sweep};
use rat_things::engine::delivery::{DeliveryRow, Notice, change_delivery, enqueue_delivery};
use rat_things::engine::draft::Draft;
use rat_things::engine::error::EngineError;
use rat_things::engine::fence::RunRow;
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::Body;
use rat_things::engine::item::{CallState, ItemRow};
use rat_things::engine::keys;
use rat_things::engine::observe::{Op, apply};
use rat_things::engine::ports::{
    Change, Claim, Commit, ExecutionId, Guard, Key, MAX_COMMIT_ROWS, Record, Sent,
};
use rat_things::engine::prepare::Prepared;
use rat_things::engine::receipt::{Outcome, ReceiptRow};
use rat_things::engine::recover::release_lost;
use rat_things::engine::session::{ActiveTurn, Head};
use rat_things::engine::sessions::Config;
use rat_things::engine::settle::{
    Attending, CALLS_PER_COMMIT, Ending, close_some_calls, end_turn, pause_turn, take_answers,
};
use rat_things::engine::turn::Capture;
use serde::de::DeserializeOwned;

/// The owner of the bench's Session.
pub const OWNER: &str = "0123456789abcdef0123456789abcdef";
/// Where time starts. Unix ms.
pub const START_MS: u64 = 1_780_000_000_000;

/// See the module.
#[derive(Clone)]
pub struct Bench {
    /// The Session.
    pub session: SessionId,
    /// The time. Unix ms.
    pub now_ms: u64,
    /// Numbers.
    pub settings: Settings,
    rows: BTreeMap<Key, Record>,
    commits: u64,
}

impl Bench {
    /// A Session that was created and has no input yet.
    pub fn new() -> Bench {
        let session = SessionId::parse(&format!("sess_{}", "b".repeat(26))).expect("well formed");
        let mut bench = Bench {
            session,
            now_ms: START_MS,
            settings: Settings::default(),
            rows: BTreeMap::new(),
            commits: 0,
        };
        let head = Head::new(OWNER.into(), START_MS);
        let mut draft = Draft::create(&bench.session, head, START_MS);
        for sort in [
            keys::session_by_time(START_MS, bench.session.as_str()),
            keys::session_by_id(bench.session.as_str()),
        ] {
            let key = Key::new(keys::owner_partition(OWNER), sort);
            draft.write(key, Guard::Absent, Change::Put(encode(&START_MS)));
        }
        let config = Config {
            agent: Arc::new(SessionAgent::of_model("agent_a", "demo")),
            environment: None,
            variables: None,
            tool_secrets: None,
            metadata: BTreeMap::new(),
            vault_ids: Vec::new(),
            files: Vec::new(),
        };
        draft.insert(keys::CONFIG.to_owned(), &config);
        bench.apply(draft);
        bench
    }

    /// The head.
    pub fn head(&self) -> Head {
        self.loaded().head
    }

    /// Bytes of the head's record.
    pub fn head_bytes(&self) -> usize {
        self.rows[&self.key(keys::HEAD)].value.len()
    }

    /// All records, in order.
    pub fn records(&self) -> Vec<Record> {
        self.rows.values().cloned().collect()
    }

    /// One row of the Session.
    pub fn row<T: DeserializeOwned>(&self, sort: &str) -> Option<T> {
        let record = self.rows.get(&self.key(sort))?;
        Some(serde_json::from_slice(&record.value).expect("a row of its kind"))
    }

    fn key(&self, sort: &str) -> Key {
        Key::new(keys::session_partition(&self.session), sort)
    }

    fn loaded(&self) -> Loaded {
        let record = &self.rows[&self.key(keys::HEAD)];
        Loaded {
            head: serde_json::from_slice(&record.value).expect("a head"),
            version: record.version,
        }
    }

    /// The rows of the active Turn.
    pub fn attending(&self) -> Option<Attending> {
        let turn = self.head().turn?;
        let items = Attending::item_numbers(&turn)
            .into_iter()
            .map(|n| (n, self.row(&keys::item(n)).expect("an item of the head")))
            .collect();
        Some(Attending {
            turn: self.row(&keys::turn(turn.number)).expect("a turn row"),
            items,
        })
    }

    /// One change, decided and committed.
    pub fn change<T>(
        &mut self,
        f: impl FnOnce(&mut Draft) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let mut draft = Draft::of(&self.session, &self.loaded(), self.now_ms);
        let answer = f(&mut draft)?;
        self.apply(draft);
        Ok(answer)
    }

    /// Seals and stores, by the rules of a store.
    fn apply(&mut self, draft: Draft) {
        let rows = draft.rows();
        self.commits += 1;
        let (commit, _) = draft.seal(&SeededIds::new(self.commits));
        assert!(
            commit.writes.len() <= rows,
            "sealing added more than it said"
        );
        let size = commit.writes.len();
        assert!(size <= MAX_COMMIT_ROWS, "{size} rows: {commit:#?}");
        commit.check_rules().expect("a commit by the rules");
        self.store(commit);
    }

    fn store(&mut self, commit: Commit) {
        for write in commit.writes.iter() {
            let version = self.rows.get(&write.key).map(|record| record.version);
            let holds = match write.guard {
                Guard::Any => true,
                Guard::Absent => version.is_none(),
                Guard::Version(wanted) => version == Some(wanted),
            };
            assert!(holds, "{} is at {version:?}: {:?}", write.key, write.guard);
        }
        for write in Arc::unwrap_or_clone(commit.writes) {
            match write.change {
                Change::Put(value) => {
                    let version = self.rows.get(&write.key).map_or(0, |r| r.version) + 1;
                    let key = write.key;
                    let record = Record {
                        key: key.clone(),
                        version,
                        value,
                    };
                    self.rows.insert(key, record);
                }
                Change::Delete => {
                    self.rows.remove(&write.key);
                }
                Change::Check => {}
            }
        }
    }
}

/// What clients do.
impl Bench {
    /// Accepts a batch, whole or not at all.
    pub fn accept(&mut self, batch: &[Prepared]) -> Result<Vec<Outcome>, EngineError> {
        let head = self.head();
        let mut rows = Rows::default();
        let wakes = head.turn.as_ref().is_some_and(rests);
        if wakes || batch.iter().any(|p| !matches!(p, Prepared::Message { .. })) {
            rows.active = head
                .turn
                .as_ref()
                .map(|turn| turn.number)
                .zip(self.attending());
            for prepared in batch {
                if let Prepared::Cancel { turn: Some(named) } = prepared
                    && head.queue.iter().any(|q| q.number == *named)
                {
                    rows.queued
                        .extend(self.row(&keys::turn(*named)).map(|row| (*named, row)));
                }
            }
        }
        let receipt_key = keys::receipt(&format!("{:032}", self.commits));
        self.change(|draft| {
            let first_input = draft.head.next.input;
            let outcomes = decide(draft, &rows, batch)?;
            let receipt = ReceiptRow {
                digest: String::new(),
                first_input,
                outcomes: outcomes.clone(),
                accepted_ms: draft.now_ms,
            };
            draft.insert(receipt_key, &receipt);
            Ok(outcomes)
        })
    }

    /// One message.
    pub fn say(&mut self, text: &str) -> Outcome {
        self.accept(&[steer(text)]).expect("accepted").remove(0)
    }

    /// One message for the next Turn.
    pub fn queue(&mut self, text: &str) -> Outcome {
        self.accept(&[queued(text)]).expect("accepted").remove(0)
    }

    /// One cancel.
    pub fn cancel(&mut self, turn: Option<u64>) -> Outcome {
        self.accept(&[Prepared::Cancel { turn }])
            .expect("accepted")
            .remove(0)
    }

    /// Deletes the Session.
    pub fn delete(&mut self) {
        let owner = keys::owner_partition(OWNER);
        let sorts = [
            keys::session_by_time(START_MS, self.session.as_str()),
            keys::session_by_id(self.session.as_str()),
        ];
        self.change(|draft| {
            draft.head.fence.shut(draft.now_ms);
            draft.head.deleted_ms = Some(draft.now_ms);
            draft.move_agenda();
            for sort in sorts {
                draft.write(Key::new(owner.clone(), sort), Guard::Any, Change::Delete);
            }
            Ok(())
        })
        .expect("never refused");
    }
}

/// What dispatchers and Runs do.
impl Bench {
    /// Claims the next generation, and gives the agent the answers it waited for.
    pub fn claim(&mut self) -> Result<u64, EngineError> {
        let attending = self
            .attending()
            .ok_or_else(|| EngineError::Conflict("no turn".into()))?;
        let lease_ms = self.settings.lease_ms;
        let execution = ExecutionId(format!("bench:{}", self.commits));
        let generation = self.change(|draft| claim(draft, &attending, execution, lease_ms))?;
        self.take_answers();
        Ok(generation)
    }

    /// A change under the lease, renewing it, as every commit of a Run does.
    pub fn run<T>(
        &mut self,
        f: impl FnOnce(&mut Draft) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let lease_ms = self.settings.lease_ms;
        self.change(|draft| {
            let renewed = draft.head.fence.renew(draft.now_ms + lease_ms);
            renewed.map_err(|e| EngineError::Conflict(e.to_string()))?;
            f(draft)
        })
    }

    /// The Run takes the Turn that was promoted while it runs.
    pub fn begin(&mut self) {
        let Some(attending) = self.attending() else {
            return;
        };
        let head = self.head();
        if head.turn.as_ref().is_some_and(|turn| !turn.begun) {
            let generation = head.fence.generation;
            self.run(|draft| begin_turn(draft, &attending, generation))
                .expect("a queued turn begins");
        }
        self.take_answers();
    }

    fn take_answers(&mut self) {
        let answered = |turn: &ActiveTurn| turn.calls.iter().any(|call| call.answer.is_some());
        while self.head().turn.as_ref().is_some_and(answered) {
            let Some(attending) = self.attending() else {
                return;
            };
            self.run(|draft| Ok(take_answers(draft, &attending, |_| true)))
                .expect("leased");
        }
    }

    /// The Run claims the steers that came, and the agent takes everything.
    pub fn take_all(&mut self) {
        let head = self.head();
        let (generation, Some(turn)) = (head.fence.generation, head.turn) else {
            return;
        };
        let mine = |turn: u64| move |p: &&rat_things::engine::session::Pending| p.turn == turn;
        let inputs: Vec<u64> = head
            .pending
            .iter()
            .filter(mine(turn.number))
            .map(|p| p.input)
            .collect();
        self.run(|draft| {
            for pending in &mut draft.head.pending {
                if pending.turn == turn.number {
                    pending.claimed = generation;
                }
            }
            Ok(())
        })
        .expect("leased");
        for some in inputs.chunks(5) {
            self.observe(&[Op::Took(some.to_vec())]);
        }
    }

    /// Commits observations.
    pub fn observe(&mut self, ops: &[Op]) {
        let generation = self.head().fence.generation;
        self.run(|draft| {
            for op in ops {
                apply(draft, op, generation);
            }
            draft.head.active_ms = draft.now_ms;
            Ok(())
        })
        .expect("leased");
    }

    /// The agent calls a function.
    pub fn call(&mut self, call_id: &str) {
        self.observe(&[Op::Function {
            call_id: call_id.into(),
            name: "ask".into(),
            arguments: Body::Inline("{}".into()),
            background: false,
        }]);
    }

    /// A claimed command ends.
    pub fn command_ended(&mut self, item: u64) {
        let mut row: ItemRow = self.row(&keys::item(item)).expect("a claimed command");
        if let rat_things::engine::item::ItemBody::Call { state, .. } = &mut row.body {
            *state = CallState::Done {
                status: rat_things::api::CallStatus::Completed,
                exit_code: Some(0),
                output: Body::Inline("".into()),
                told: None,
                duration_ms: 1,
            };
        }
        self.observe(&[Op::Ended(item, Box::new(row))]);
    }

    /// The agent waits for its client: the Run pauses and leaves, unless something came meanwhile. Whether it left.
    pub fn pause(&mut self) -> bool {
        let Some(attending) = self.attending() else {
            return false;
        };
        let left = self.run(|draft| {
            let goes_on = |turn: &ActiveTurn| !turn.awaits_answers() || turn.cancel.is_some();
            if draft.head.turn.as_ref().is_none_or(goes_on) {
                return Ok(false);
            }
            let refused = |e: &dyn std::fmt::Display| EngineError::Conflict(e.to_string());
            pause_turn(draft, &attending).map_err(|e| refused(&e))?;
            draft.head.fence.release().map_err(|e| refused(&e))?;
            let generation = draft.head.fence.generation;
            draft.put(keys::run(generation), &ended_run(draft.now_ms));
            Ok(true)
        });
        left.expect("leased")
    }

    /// The Run ends the Turn, and itself if nothing is queued; otherwise it begins the next one.
    pub fn settle(&mut self, ending: &Ending) {
        self.end(ending);
        if self.head().turn.is_some() {
            self.begin();
        }
    }

    /// The Run ends the Turn, and itself if nothing is queued.
    pub fn end(&mut self, ending: &Ending) {
        while self
            .head()
            .turn
            .is_some_and(|turn| turn.calls.len() > CALLS_PER_COMMIT)
        {
            let attending = self.attending().expect("a turn");
            self.run(|draft| {
                close_some_calls(draft, &attending);
                Ok(())
            })
            .expect("leased");
        }
        let Some(attending) = self.attending() else {
            return;
        };
        let capture = self.head().environment_opened.then(Capture::default);
        let settled = self.run(|draft| {
            end_turn(draft, &attending, ending.clone(), capture)
                .map_err(|e| EngineError::Conflict(e.to_string()))?;
            if draft.head.turn.is_none() {
                draft.head.fence.release().expect("leased");
                let generation = draft.head.fence.generation;
                draft.put(keys::run(generation), &ended_run(draft.now_ms));
            }
            Ok(())
        });
        settled.expect("a turn that may end so");
    }

    /// The Run gives its lease back; the Turn stays.
    pub fn leave(&mut self) {
        self.run(|draft| {
            draft.head.fence.release().expect("leased");
            for pending in &mut draft.head.pending {
                pending.claimed = 0;
            }
            let generation = draft.head.fence.generation;
            draft.put(keys::run(generation), &ended_run(draft.now_ms));
            Ok(())
        })
        .expect("leased");
    }

    /// The world proves the worker gone.
    pub fn lose(&mut self) {
        let settings = self.settings.clone();
        self.change(|draft| {
            release_lost(draft, &settings, "the worker is gone");
            Ok(())
        })
        .expect("never refused");
    }

    /// The world can't tell about the worker.
    pub fn lose_sight(&mut self) {
        self.change(|draft| {
            let now_ms = draft.now_ms;
            let lost = draft.head.fence.lost_sight(now_ms);
            draft.move_agenda();
            lost.map_err(|e| EngineError::Conflict(e.to_string()))
        })
        .expect("leased");
    }
}

/// What deliverers do.
impl Bench {
    /// Owes a delivery about something new.
    pub fn owe(&mut self) {
        let notice = Notice {
            destination: "https://example.test".into(),
            event: "session.idle".into(),
            about: self.commits.to_string(),
            body: Body::Inline("{}".into()),
        };
        self.change(|draft| Ok(enqueue_delivery(draft, notice)))
            .expect("never refused");
    }

    /// Claims what is due, up to `limit`.
    pub fn claim_deliveries(&mut self, limit: usize) -> Vec<Attempt> {
        let owed = self.owed();
        let rest = owed.get(limit).map(|(_, row)| row.due_ms);
        let first: Vec<_> = owed.into_iter().take(limit).collect();
        let policy = Policy::default();
        self.change(|draft| {
            let now_ms = draft.now_ms;
            let is_due = |_: &str, row: &DeliveryRow| {
                is_due(row, now_ms, now_ms.saturating_sub(row.changed_ms), policy)
            };
            let swept = sweep(draft, &first, rest, policy, is_due);
            swept.map_err(|e| EngineError::Conflict(e.to_string()))
        })
        .expect("owed rows can be swept")
    }

    /// The courier answers an attempt; nothing happens if that is settled otherwise already.
    pub fn answer_delivery(&mut self, attempt: &Attempt, sent: Sent) {
        let row: DeliveryRow = self.row(&keys::delivery(&attempt.id)).expect("owed once");
        let (event, due_ms, answer) = answer_event(&row, sent, Policy::default(), self.now_ms);
        let others = self.owed().into_iter().filter(|(id, _)| *id != attempt.id);
        let others: Option<u64> = others.map(|(_, row)| row.due_ms).min();
        let _ = self.change(|draft| {
            let changed = change_delivery(draft, &attempt.id, &row, event, due_ms, answer)
                .map_err(|e| EngineError::Conflict(e.to_string()))?;
            let mine = changed.state.is_owed().then_some(due_ms);
            draft.head.deliveries_due_ms = others.into_iter().chain(mine).min();
            draft.move_deliveries();
            Ok(())
        });
    }

    /// Owed deliveries in the order of their due times.
    fn owed(&self) -> Vec<(String, DeliveryRow)> {
        let partition = keys::session_partition(&self.session);
        let keys = self.rows.keys().filter(|key| key.partition == partition);
        keys.filter_map(|key| keys::parse_owed(&key.sort))
            .map(|(_, id)| (id.to_owned(), self.row(&keys::delivery(id)).expect("owed")))
            .collect()
    }
}

/// A message that steers.
pub fn steer(text: &str) -> Prepared {
    Prepared::Message {
        content: content(text),
        next_turn: false,
        joins: false,
    }
}

/// A message for the next Turn.
pub fn queued(text: &str) -> Prepared {
    Prepared::Message {
        content: content(text),
        next_turn: true,
        joins: false,
    }
}

/// A function's answer.
pub fn answer(turn: u64, call_id: &str, text: &str) -> Prepared {
    Prepared::ToolResult {
        turn,
        call_id: call_id.into(),
        digest: rat_things::engine::open_call::short_hash(text.as_bytes()),
        answer: content(text),
    }
}

/// A claimed command.
pub fn began(text: &str) -> Op {
    Op::Began {
        claim: Claim {
            call_id: format!("call_{text}"),
            name: "shell".into(),
            arguments: "{}".into(),
            command: text.into(),
            cwd: None,
            server_label: None,
        },
        arguments: Body::Inline("{}".into()),
        delegates: None,
    }
}

fn content(text: &str) -> Body {
    Body::Inline(serde_json::json!([{ "type": "input_text", "text": text }]))
}

fn ended_run(now_ms: u64) -> RunRow {
    RunRow {
        execution: ExecutionId("bench".into()),
        turn: 1,
        started_ms: now_ms,
        ended_ms: Some(now_ms),
        end: Some("bench".into()),
        program: None,
        began_anew: None,
    }
}
