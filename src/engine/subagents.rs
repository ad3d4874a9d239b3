//! The subagents of one Turn in a worker's hands: what a harness says of them becomes rows, and whoever is open at the end is closed.

use std::collections::HashMap;

use tokio::sync::oneshot;

use super::core::{Core, decode};
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::input::Body;
use super::item::{CallState, Delegation, ItemBody, ItemRow};
use super::keys;
use super::observe::Op;
use super::ports::{
    Claim, ClaimAs, Delegates, Fenced, Key, Observation, SubagentEnd, SubagentNews,
};
use super::run::{Live, Stop, patiently};
use super::session::Head;
use super::subagent::{
    self, Closing, Ended, MAX_OPEN_SUBAGENTS, OpenSubagent, SubagentRow, SubagentRows,
    SubagentState, within,
};
use super::turn::{Failure, TurnRow};
use super::work::Desk;

/// What a call may have named that is no subagent, in the Item: so much of it.
const NAMED_BYTES: usize = 64;

/// The subagents of the process that works now, by the harness's names.
#[derive(Default)]
pub(super) struct Subagents {
    all: HashMap<String, One>,
    /// The newest number that was given.
    last: u64,
}

struct One {
    number: u64,
    row: SubagentRow,
    turn: Option<TurnRow>,
}

impl One {
    /// Its rows as they are, with what is told of it and an Item.
    fn rows(&self, told: Vec<SubagentState>, item: Option<(u64, ItemRow)>) -> Op {
        let turn = self.turn.clone();
        let turn = turn.map(|turn| (within(self.number, self.row.turns), turn));
        Op::Subagent(Box::new(SubagentRows {
            number: self.number,
            row: self.row.clone(),
            told,
            turn,
            item,
        }))
    }

    /// The number and row of its next Item, in its Turn.
    fn item(&mut self, body: ItemBody, is_output: bool, now_ms: u64) -> (u64, ItemRow) {
        self.row.items += 1;
        let output_index = is_output.then_some(self.row.outputs);
        self.row.outputs += u64::from(is_output);
        let row = ItemRow {
            turn: within(self.number, self.row.turns),
            output_index,
            at_ms: now_ms,
            body,
        };
        (within(self.number, self.row.items), row)
    }

    fn begin(&mut self, now_ms: u64) {
        self.row.turns += 1;
        self.row.outputs = 0;
        self.row.working = true;
        self.turn = Some(subagent::begin(&self.row, self.number, now_ms));
    }

    fn end(&mut self, how: Ended, now_ms: u64) {
        if let Some(turn) = self.turn.as_mut().filter(|_| self.row.working) {
            subagent::end(turn, &self.row, self.number, how, now_ms);
        }
        self.row.working = false;
    }
}

impl Subagents {
    fn number_of(&self, key: Option<&str>) -> u64 {
        key.and_then(|key| self.all.get(key))
            .map_or(0, |one| one.number)
    }

    fn open(&self) -> usize {
        let open = self.all.values();
        open.filter(|one| one.row.closed_ms.is_none()).count()
    }

    /// The id of the subagent that an agent named, or the beginning of that name.
    fn id_of(&self, session: &SessionId, named: String) -> String {
        match self.all.get(&named) {
            Some(one) => ids::derived(Kind::Subagent, session, one.number),
            None => named[..named.floor_char_boundary(NAMED_BYTES)].to_owned(),
        }
    }
}

impl Live {
    /// Something is said of a subagent.
    pub(super) async fn of_subagent(
        &mut self,
        desk: &mut Desk,
        key: String,
        news: SubagentNews,
    ) -> Result<(), Stop> {
        let now_ms = self.worker.core.clock.now_ms();
        if let SubagentNews::Opened {
            parent,
            name,
            instructions,
        } = news
        {
            return self.opened(desk, key, (parent, name, instructions)).await;
        }
        // Bodies are stored before a row names them.
        let (item, is_output) = match &news {
            SubagentNews::Told { from, text } => {
                let from = desk.subagents.number_of(from.as_deref());
                let text = self.keep(text.clone().into()).await?;
                (Some(ItemBody::FromAgent { from, text }), false)
            }
            SubagentNews::Did(what) => (self.did(desk, what).await?, true),
            _ => (None, false),
        };
        let Some(one) = desk.subagents.all.get_mut(&key) else {
            tracing::warn!(session = %self.session, key, "something is said of an unknown subagent");
            return Ok(());
        };
        let mut told = Vec::new();
        match &news {
            SubagentNews::Reopened if one.row.closed_ms.is_none() => return Ok(()),
            SubagentNews::Reopened => {
                one.row.closed_ms = None;
                told.push(SubagentState::Active);
            }
            SubagentNews::Began => {
                one.end(Ended::Cancelled, now_ms);
                one.begin(now_ms);
                told.push(SubagentState::Active);
            }
            SubagentNews::Ended(how) => {
                let how = match how {
                    SubagentEnd::Completed => Ended::Completed,
                    SubagentEnd::Interrupted => Ended::Cancelled,
                    SubagentEnd::Failed { code, message } => Ended::Failed(Failure {
                        code: code.clone(),
                        message: message.clone(),
                    }),
                };
                one.end(how, now_ms);
            }
            SubagentNews::Closed if one.row.closed_ms.is_some() => return Ok(()),
            SubagentNews::Closed => {
                one.end(Ended::Cancelled, now_ms);
                one.row.closed_ms = Some(now_ms);
                told.push(SubagentState::Closed);
            }
            SubagentNews::Did(what) => {
                if let (Observation::ModelCall(usage), Some(turn)) = (&**what, &mut one.turn) {
                    *turn.usage.get_or_insert_default() += *usage;
                    turn.model_calls += 1;
                    return Ok(());
                }
            }
            SubagentNews::Told { .. } | SubagentNews::Opened { .. } => {}
        }
        if item.is_none() && matches!(news, SubagentNews::Did(_)) {
            return Ok(());
        }
        if item.is_some() && !one.row.working {
            one.begin(now_ms);
            told.push(SubagentState::Active);
        }
        let item = item.map(|body| one.item(body, is_output, now_ms));
        let op = one.rows(told, item);
        self.push(desk, op).await
    }

    async fn opened(
        &mut self,
        desk: &mut Desk,
        key: String,
        (parent, name, instructions): (Option<String>, Option<String>, Option<String>),
    ) -> Result<(), Stop> {
        let Some(root_turn) = self.loaded.head.turn.as_ref().map(|turn| turn.number) else {
            return Ok(());
        };
        if desk.subagents.open() >= MAX_OPEN_SUBAGENTS || desk.subagents.all.contains_key(&key) {
            tracing::warn!(session = %self.session, key, "a subagent too many, or twice");
            return Ok(());
        }
        let instructions = match instructions {
            Some(text) => Some(self.keep(text.into()).await?),
            None => None,
        };
        let next = self.loaded.head.next.subagent;
        let number = next.max(desk.subagents.last + 1);
        desk.subagents.last = number;
        let one = One {
            number,
            row: SubagentRow {
                key: key.clone(),
                parent: desk.subagents.number_of(parent.as_deref()),
                root_turn,
                name,
                instructions,
                opened_ms: self.worker.core.clock.now_ms(),
                closed_ms: None,
                turns: 0,
                items: 0,
                outputs: 0,
                working: false,
            },
            turn: None,
        };
        let op = one.rows(vec![SubagentState::Created], None);
        desk.subagents.all.insert(key, one);
        self.push(desk, op).await
    }

    /// What a subagent did, as the content of an Item; `None` where there is no new one.
    async fn did(&mut self, desk: &mut Desk, what: &Observation) -> Result<Option<ItemBody>, Stop> {
        Ok(match what {
            Observation::Message {
                text,
                phase,
                incomplete,
            } => Some(ItemBody::Message {
                text: self.keep(text.clone().into()).await?,
                phase: phase.clone(),
                incomplete: *incomplete,
            }),
            Observation::Reasoning { summary, native } => Some(ItemBody::Reasoning {
                summary: summary.clone(),
                native: match native {
                    Some(native) => Some(self.keep(native.clone()).await?),
                    None => None,
                },
            }),
            Observation::WebSearch { native } => Some(ItemBody::WebSearch {
                native: self.keep(native.clone()).await?,
            }),
            Observation::ToolEnded {
                call_id,
                end,
                output,
            } => {
                let ended = self.tool_ended(desk, call_id, end.clone(), output.clone());
                if let Some(op) = ended.await? {
                    self.push(desk, op).await?;
                }
                None
            }
            Observation::ModelCall(usage) => {
                // Whoever spends it, it is the Turn's.
                self.push(desk, Op::ModelCall(*usage)).await?;
                None
            }
            other => {
                tracing::warn!(session = %self.session, ?other, "no subagent does this");
                None
            }
        })
    }

    /// Another agent told the Turn's own agent something.
    pub(super) async fn heard(
        &mut self,
        desk: &mut Desk,
        from: &str,
        text: String,
    ) -> Result<(), Stop> {
        let from = desk.subagents.number_of(Some(from));
        let text = self.keep(text.into()).await?;
        self.push(desk, Op::Heard { from, text }).await
    }

    /// Records a call of a subagent, or one that is about others, as claimed.
    pub(super) async fn claim_as(
        &mut self,
        desk: &mut Desk,
        ClaimAs {
            by,
            delegates,
            claim,
        }: ClaimAs,
        answer: oneshot::Sender<Result<(), Fenced>>,
    ) -> Result<(), Stop> {
        let delegates = match delegates {
            Some(delegates) => Some(Box::new(self.delegation(desk, delegates).await?)),
            None => None,
        };
        let Some(by) = by else {
            return self.claim_effect(desk, claim, delegates, answer).await;
        };
        let arguments = self.keep(claim.arguments.clone().into()).await?;
        let now_ms = self.worker.core.clock.now_ms();
        let Some(one) = desk.subagents.all.get_mut(&by) else {
            tracing::warn!(session = %self.session, by, "an unknown subagent wants to act");
            return Ok(());
        };
        if !one.row.working {
            one.begin(now_ms);
        }
        let call_id = claim.call_id.clone();
        let body = call_body(claim, arguments, delegates);
        let (number, row) = one.item(body, true, now_ms);
        let op = one.rows(Vec::new(), Some((number, row.clone())));
        desk.ops.push(op);
        self.flush(desk).await?;
        desk.calls.insert(call_id, (number, row));
        // A harness that is gone does not run the effect; the call stays claimed and ends as unknown.
        let _ = answer.send(Ok(()));
        Ok(())
    }

    async fn delegation(&self, desk: &Desk, what: Delegates) -> Result<Delegation, Stop> {
        let id = |named| desk.subagents.id_of(&self.session, named);
        Ok(match what {
            Delegates::Create {
                text,
                model,
                effort,
            } => Delegation::Create {
                text: self.keep(text.into()).await?,
                model,
                effort,
            },
            Delegates::Send { to, text } => Delegation::Send {
                to: id(to),
                text: self.keep(text.into()).await?,
            },
            Delegates::Resume { to } => Delegation::Resume { to: id(to) },
            Delegates::Wait { to } => Delegation::Wait {
                to: to.into_iter().map(id).collect(),
            },
            Delegates::Interrupt { to } => Delegation::Interrupt { to: id(to) },
            Delegates::Close { to } => Delegation::Close { to: id(to) },
        })
    }

    /// Closes the subagents that are open: their process is gone.
    pub(super) async fn close_subagents(&mut self, why: Closing) -> Result<(), Stop> {
        loop {
            if subagent::next_to_close(&self.loaded.head).is_empty() {
                return Ok(());
            }
            let (core, session) = (self.worker.core.clone(), self.session.clone());
            let head = self.loaded.head.clone();
            let open = patiently(|| core.open_subagents(&session, &head)).await?;
            self.change(|draft| {
                subagent::close(draft, &open, why);
                Ok(())
            })
            .await?;
        }
    }
}

/// A call that was claimed, as the content of its Item.
pub(super) fn call_body(
    claim: Claim,
    arguments: Body,
    delegates: Option<Box<Delegation>>,
) -> ItemBody {
    ItemBody::Call {
        call_id: claim.call_id,
        tool: claim.name,
        arguments,
        command: claim.command,
        cwd: claim.cwd,
        delegates,
        server_label: claim.server_label,
        state: CallState::Running,
    }
}

impl Core {
    /// The open subagents that the next commit closes, with what they do.
    pub(super) async fn open_subagents(
        &self,
        session: &SessionId,
        head: &Head,
    ) -> Result<Vec<OpenSubagent>, EngineError> {
        let numbers = subagent::next_to_close(head);
        let sorts = numbers.iter().map(|&number| keys::subagent(number));
        let rows: Vec<SubagentRow> = self.whole_rows(session, sorts.collect()).await?;
        let mut open = Vec::with_capacity(rows.len());
        for (number, row) in numbers.into_iter().zip(rows) {
            let mut turn = None;
            if let Some(at) = row.turn(number) {
                let rows = self.whole_rows(session, vec![keys::turn(at)]).await?;
                turn = rows.into_iter().next().map(|row| (at, row));
            }
            let items = subagent::running_of(head, number);
            let sorts = items.iter().map(|&item| keys::item(item));
            let rows: Vec<ItemRow> = self.whole_rows(session, sorts.collect()).await?;
            open.push(OpenSubagent {
                number,
                row,
                turn,
                running: items.into_iter().zip(rows).collect(),
            });
        }
        Ok(open)
    }

    /// Rows of a Session, each of which must be there.
    async fn whole_rows<T: serde::de::DeserializeOwned>(
        &self,
        session: &SessionId,
        sorts: Vec<String>,
    ) -> Result<Vec<T>, EngineError> {
        if sorts.is_empty() {
            return Ok(Vec::new());
        }
        let partition = keys::session_partition(session);
        let wanted = sorts
            .into_iter()
            .map(|sort| Key::new(partition.clone(), sort));
        let wanted: Vec<Key> = wanted.collect();
        let records = self.store.get_many(&wanted).await?;
        let pairs = records.into_iter().zip(&wanted);
        let rows = pairs.map(|(record, key)| {
            let missing = || EngineError::damaged(key, "it is missing");
            decode(&record.ok_or_else(missing)?)
        });
        rows.collect()
    }
}
