//! What a Run hands to its harness: messages that it claimed, and answers that the agent did not wait for.

use super::core::decode;
use super::error::EngineError;
use super::input::{InputRow, Submission};
use super::item::ItemBody;
use super::keys;
use super::open_call::OpenCall;
use super::ports::{Feed, FunctionAnswer, Key, Steer};
use super::run::{Live, Stop, patiently};
use super::settle::{Attending, CALLS_PER_COMMIT, take_answers};
use super::work::Desk;

impl Live {
    /// Messages of the Turn that this Run has claimed and that no agent has confirmed. The Turn's row is read with them: its end
    /// needs it.
    pub(super) async fn claimed_feed(&mut self, turn: u64) -> Result<Vec<Feed>, Stop> {
        let generation = self.grant.generation;
        let mine = self
            .loaded
            .head
            .pending
            .iter()
            .filter(|p| p.turn == turn && p.claimed == generation);
        let inputs: Vec<u64> = mine.map(|p| p.input).collect();
        let partition = keys::session_partition(&self.session);
        let sorts = std::iter::once(keys::turn(turn)).chain(inputs.iter().map(|&n| keys::input(n)));
        let wanted: Vec<Key> = sorts
            .map(|sort| Key::new(partition.clone(), sort))
            .collect();
        let core = &self.worker.core;
        let records = patiently(|| async { Ok(core.store.get_many(&wanted).await?) }).await?;
        let found = wanted
            .iter()
            .zip(records)
            .map(|(key, record)| record.ok_or_else(|| EngineError::damaged(key, "it is missing")));
        let mut found = found.collect::<Result<Vec<_>, _>>()?.into_iter();
        if let Some(row) = found.next() {
            self.turn_row = Some((turn, decode(&row)?));
        }
        let rows = found.map(|record| decode(&record));
        self.feeds_of(&inputs, rows.collect::<Result<_, _>>()?)
            .await
    }

    pub(super) async fn feeds(&self, inputs: &[u64]) -> Result<Vec<Feed>, Stop> {
        let core = &self.worker.core;
        let rows =
            patiently(|| core.rows(&self.session, inputs.iter().map(|&n| keys::input(n)))).await?;
        self.feeds_of(inputs, rows).await
    }

    /// The messages among these inputs, as an agent gets them.
    async fn feeds_of(&self, inputs: &[u64], rows: Vec<InputRow>) -> Result<Vec<Feed>, Stop> {
        let core = &self.worker.core;
        let scope = core.scope(&self.loaded.head.owner, &self.session);
        let mut feeds = Vec::with_capacity(rows.len());
        for (&input, row) in inputs.iter().zip(rows) {
            if let Submission::Message { content } = row.submission {
                let content = patiently(|| core.fetch(&scope, &content)).await?;
                feeds.push(Feed {
                    input,
                    content: super::history::as_list(content),
                });
            }
        }
        Ok(feeds)
    }

    /// Hands over the answers to calls that the agent did not wait for. They are recorded as given first: should the harness not
    /// take them any more, the history of whoever goes on has them.
    pub(super) async fn hand_over_answers(&mut self, desk: &mut Desk) -> Result<(), Stop> {
        loop {
            let given = |call: &&OpenCall| call.is_background() && call.answer.is_some();
            let calls = self.loaded.head.turn.iter().flat_map(|turn| &turn.calls);
            let chosen: Vec<OpenCall> = calls
                .filter(given)
                .take(CALLS_PER_COMMIT)
                .cloned()
                .collect();
            if chosen.is_empty() {
                return Ok(());
            }
            let Some(attending) = self.attending(&[]).await? else {
                return Ok(());
            };
            // It was read for this, and the Turn's end needs it again.
            self.turn_row = self
                .loaded
                .head
                .turn
                .as_ref()
                .map(|turn| (turn.number, attending.turn.clone()));
            let answers = self.answers_of(&chosen, &attending).await?;
            let is_chosen = |call: &OpenCall| chosen.iter().any(|one| one.item == call.item);
            self.change(|draft| Ok(take_answers(draft, &attending, is_chosen)))
                .await?;
            self.answers_handed = true;
            self.texts.move_on();
            desk.hand_over(answers);
        }
    }

    async fn answers_of(
        &self,
        calls: &[OpenCall],
        attending: &Attending,
    ) -> Result<Vec<Steer>, Stop> {
        let core = &self.worker.core;
        let scope = core.scope(&self.loaded.head.owner, &self.session);
        let inputs = calls.iter().filter_map(|call| call.answer);
        let rows: Vec<InputRow> =
            patiently(|| core.rows(&self.session, inputs.clone().map(keys::input))).await?;
        let mut answers = Vec::with_capacity(calls.len());
        for (call, row) in calls.iter().zip(rows) {
            let item = attending
                .items
                .iter()
                .find(|(number, _)| *number == call.item);
            let (Some((_, item)), Submission::ToolResult { answer, .. }) = (item, row.submission)
            else {
                continue;
            };
            let ItemBody::Function { call_id, name, .. } = &item.body else {
                continue;
            };
            let answer = patiently(|| core.fetch(&scope, &answer)).await?;
            let Ok(answer) = serde_json::from_value::<FunctionAnswer>(answer) else {
                continue;
            };
            answers.push(Steer::Answer {
                call_id: call_id.clone(),
                name: name.clone(),
                answer,
            });
        }
        Ok(answers)
    }
}
