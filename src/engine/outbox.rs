//! The outbox of a Session: what it owes, how one delivery changes, what an operator settles, and what there is to be seen.

use super::core::{Core, backoff, decode};
use super::delivery::{DeliveryEvent, DeliveryRow, DeliveryState, change_delivery};
use super::draft::Draft;
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::keys;
use super::ports::{Range, StoreError};
use super::read::SessionRead;

/// An event of a delivery, when it is due then if it is owed then, and what came of it, in words.
pub(super) type Change = (DeliveryEvent, u64, Option<String>);

/// What an operator found out about a delivery, or wants done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconcile {
    /// It did arrive.
    Arrived,
    /// Send it, again if need be.
    SendAgain,
    /// Give it up.
    GiveUp,
}

impl Core {
    /// Settles a delivery that nobody else may settle.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] when its state does not allow it: what is being sent can't be called back, and what was
    /// delivered stays delivered.
    pub async fn reconcile_delivery(
        &self,
        owner: &str,
        session: &SessionId,
        id: &str,
        how: Reconcile,
    ) -> Result<DeliveryRow, EngineError> {
        self.load_owned(owner, session).await?;
        let event = match how {
            Reconcile::Arrived => DeliveryEvent::Arrived,
            Reconcile::SendAgain => DeliveryEvent::SendAgain,
            Reconcile::GiveUp => DeliveryEvent::GiveUp,
        };
        let missing = || EngineError::not_found("delivery", id);
        let words = "settled by an operator".to_owned();
        let decide = |row: &DeliveryRow, now_ms| {
            let sending = row.state == DeliveryState::Sending;
            match sending {
                true => None,
                false => Some((event, now_ms, Some(words.clone()))),
            }
        };
        let changed = self.change_owed(session, id, decide).await?;
        match changed.ok_or_else(missing)? {
            Changed::Done(row) => Ok(row),
            Changed::Refused(row) => Err(EngineError::Conflict(format!(
                "this delivery is {}, which does not allow that",
                row.state
            ))),
        }
    }

    /// A Session's deliveries in the order of their ids, at most `limit`, behind `after`; and whether there are more.
    pub async fn list_deliveries(
        &self,
        read: &SessionRead,
        after: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<(String, DeliveryRow)>, bool), EngineError> {
        let partition = keys::session_partition(&read.id);
        let mut range = Range::prefix(partition, &keys::delivery(""), limit.max(1));
        if let Some(after) = after {
            if !ids::well_formed(Kind::Delivery, after) {
                return Err(EngineError::not_found("delivery", after));
            }
            range.from = format!("{}\0", keys::delivery(after));
        }
        let page = self.store.range(&range).await?;
        let rows = page.records.iter().map(|record| {
            let id = record.key.sort.trim_start_matches("delivery/").to_owned();
            Ok((id, decode(record)?))
        });
        Ok((rows.collect::<Result<_, EngineError>>()?, page.more))
    }

    /// The Session's first owed deliveries, at most `limit`, and when the first one behind them is due.
    pub(super) async fn owed(
        &self,
        session: &SessionId,
        limit: usize,
    ) -> Result<(Vec<(String, DeliveryRow)>, Option<u64>), EngineError> {
        let partition = keys::session_partition(session);
        let page = self
            .store
            .range(&Range::prefix(partition, "owed/", limit + 1))
            .await?;
        let all: Vec<(u64, String)> = page
            .records
            .iter()
            .filter_map(|record| keys::parse_owed(&record.key.sort))
            .map(|(due_ms, id)| (due_ms, id.to_owned()))
            .collect();
        let rest = all.get(limit).map(|(due_ms, _)| *due_ms);
        let ids: Vec<String> = all.into_iter().take(limit).map(|(_, id)| id).collect();
        let rows = self
            .rows(session, ids.iter().map(|id| keys::delivery(id)))
            .await?;
        Ok((ids.into_iter().zip(rows).collect(), rest))
    }

    /// Changes one delivery as `decide` says of its row, until it is committed. `None`: there is none.
    pub(super) async fn change_owed(
        &self,
        session: &SessionId,
        id: &str,
        decide: impl Fn(&DeliveryRow, u64) -> Option<Change>,
    ) -> Result<Option<Changed>, EngineError> {
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            let Some(loaded) = self.load(session).await? else {
                return Ok(None);
            };
            let row: Option<DeliveryRow> = self.row(session, keys::delivery(id)).await?;
            let (Some(row), None) = (row, loaded.head.deleted_ms) else {
                return Ok(None);
            };
            let now_ms = self.clock.now_ms();
            let Some((event, due_ms, answer)) = decide(&row, now_ms) else {
                return Ok(Some(Changed::Refused(row)));
            };
            let mut draft = Draft::of(session, &loaded, now_ms);
            let Ok(changed) = change_delivery(&mut draft, id, &row, event, due_ms, answer) else {
                return Ok(Some(Changed::Refused(row)));
            };
            let others = self.owed_beside(session, id).await?;
            let mine = changed.state.is_owed().then_some(due_ms);
            draft.head.deliveries_due_ms = others.into_iter().chain(mine).min();
            draft.move_deliveries();
            let (commit, _) = draft.seal(&*self.ids);
            match self.commit_once(commit).await {
                Ok(()) => {
                    match mine {
                        Some(_) => self.bell.ring(session.as_str()),
                        None => self.bell.ring_change(session.as_str()),
                    }
                    return Ok(Some(Changed::Done(changed)));
                }
                Err(StoreError::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// When the first owed delivery but this one is due.
    async fn owed_beside(&self, session: &SessionId, id: &str) -> Result<Option<u64>, EngineError> {
        let partition = keys::session_partition(session);
        let page = self
            .store
            .range(&Range::prefix(partition, "owed/", 2))
            .await?;
        let mut owed = page
            .records
            .iter()
            .filter_map(|record| keys::parse_owed(&record.key.sort));
        Ok(owed
            .find(|(_, other)| *other != id)
            .map(|(due_ms, _)| due_ms))
    }
}

/// What became of a change.
pub(super) enum Changed {
    /// It is committed; the row as it is now.
    Done(DeliveryRow),
    /// It does not apply; the row as it is.
    Refused(DeliveryRow),
}
