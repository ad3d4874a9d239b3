//! What a stream without replay missed, found again in Turns and Items: their ends, which say everything that the events in between
//! did. Such events have ids of their own, because the server's are not known.

use std::collections::{HashMap, HashSet};

use super::Remote;
use super::lists::behind;
use crate::api::{
    CallStatus, Event, HasId, Item, ItemAddedEvent, ItemDoneEvent, SessionEvent, SessionStatus,
    Turn, TurnEndEvent, TurnStatus,
};
use crate::engine::ports::{Deployment, Told};
use crate::engine::read::ListQuery;

/// Elements read at once.
const PAGE: usize = 50;

/// What was told, and from where on to look for more.
#[derive(Default)]
pub(super) struct Missed {
    /// Items behind this one may have been missed.
    items_behind: Option<String>,
    /// Turns behind this one.
    turns_behind: Option<String>,
    /// Items whose end was told.
    told_items: HashSet<String>,
    /// Turns whose end was told.
    told_turns: HashSet<String>,
    /// The next place among a Turn's output.
    next_index: HashMap<String, u64>,
    breaks: u64,
}

impl Missed {
    /// From now on.
    pub(super) async fn begin(&mut self, remote: &Remote, session: &str) -> Told<()> {
        let newest = ListQuery {
            limit: PAGE,
            ..ListQuery::default()
        };
        for item in remote.list_items(session, None, &newest).await?.data {
            match (is_final(&item), &self.items_behind) {
                // An older one that is not final comes before everything that is newer.
                (false, _) => self.items_behind = None,
                (true, None) => self.items_behind = item.id().map(str::to_owned),
                (true, Some(_)) => {}
            }
        }
        for read in remote.list_turns(session, &newest).await?.data {
            match (read.turn.status.is_terminal(), &self.turns_behind) {
                (false, _) => self.turns_behind = None,
                (true, None) => self.turns_behind = Some(read.turn.id),
                (true, Some(_)) => {}
            }
        }
        Ok(())
    }

    /// An event was told.
    pub(super) fn tell(&mut self, event: &Event) {
        match event {
            Event::ItemAdded(added) if !added.item.is_output() => {
                self.told_items.extend(added.item.id().map(str::to_owned));
            }
            Event::ItemDone(done) => {
                self.told_items.extend(done.item.id().map(str::to_owned));
                let turn = done.item.turn_id().to_owned();
                let next = self.next_index.entry(turn).or_default();
                *next = (*next).max(done.output_index + 1);
            }
            Event::TurnCompleted(end) | Event::TurnFailed(end) | Event::TurnCancelled(end) => {
                self.told_turns.insert(end.turn_id.clone());
            }
            _ => {}
        }
    }

    /// The ends that were not told, in order; and where the Session rests by now, that.
    pub(super) async fn read_again(&mut self, remote: &Remote, session: &str) -> Told<Vec<Event>> {
        self.breaks += 1;
        // The Session is read before its Turns, and they before its Items: what is over has no later ones.
        let now = remote.session(session).await?;
        let ended = self.ended_turns(remote, session).await?;
        let mut events = self.items(remote, session).await?;
        let any = !events.is_empty() || !ended.is_empty();
        events.extend(ended.into_iter().map(|turn| end_of(turn, session)));
        let rests = now.status != SessionStatus::InProgress;
        if any && rests {
            let event = SessionEvent {
                event_id: format!("read_again_{session}_{}", self.breaks),
                session: Box::new(now),
                obfuscation: None,
            };
            events.push(match event.session.status {
                SessionStatus::Idle | SessionStatus::InProgress => Event::SessionIdle(event),
                SessionStatus::RequiresAction => Event::SessionRequiresAction(event),
                SessionStatus::Failed => Event::SessionFailed(event),
                SessionStatus::BudgetReached => Event::SessionBudgetReached(event),
            });
        }
        Ok(events)
    }

    async fn ended_turns(&mut self, remote: &Remote, session: &str) -> Told<Vec<Turn>> {
        let mut query = ListQuery {
            limit: PAGE,
            after: self.turns_behind.clone(),
            ascending: true,
        };
        let mut ended = Vec::new();
        loop {
            let page = remote.list_turns(session, &query).await?;
            query.after = behind(&page);
            for read in page.data {
                if !read.turn.status.is_terminal() {
                    return Ok(ended);
                }
                self.turns_behind = Some(read.turn.id.clone());
                if !self.told_turns.contains(&read.turn.id) {
                    ended.push(read.turn);
                }
            }
            if query.after.is_none() {
                return Ok(ended);
            }
        }
    }

    async fn items(&mut self, remote: &Remote, session: &str) -> Told<Vec<Event>> {
        let mut query = ListQuery {
            limit: PAGE,
            after: self.items_behind.clone(),
            ascending: true,
        };
        let mut events = Vec::new();
        loop {
            let page = remote.list_items(session, None, &query).await?;
            query.after = behind(&page);
            for item in page.data {
                if !is_final(&item) {
                    return Ok(events);
                }
                let Some(id) = item.id().map(str::to_owned) else {
                    continue;
                };
                if !self.told_items.contains(&id) {
                    events.push(self.event_of(item, &id, session));
                }
                self.items_behind = Some(id);
            }
            if query.after.is_none() {
                return Ok(events);
            }
        }
    }

    fn event_of(&mut self, item: Item, id: &str, session: &str) -> Event {
        let (event_id, session_id) = (format!("read_again_{id}"), session.to_owned());
        let turn_id = item.turn_id().to_owned();
        if !item.is_output() {
            return Event::ItemAdded(ItemAddedEvent {
                event_id,
                item: Box::new(item),
                output_index: None,
                session_id,
                turn_id: Some(turn_id),
                obfuscation: None,
            });
        }
        let next = self.next_index.entry(turn_id.clone()).or_default();
        let output_index = *next;
        *next += 1;
        Event::ItemDone(ItemDoneEvent {
            event_id,
            item: Box::new(item),
            output_index,
            session_id,
            turn_id: Some(turn_id),
            obfuscation: None,
        })
    }
}

fn end_of(turn: Turn, session: &str) -> Event {
    let status = turn.status;
    let end = TurnEndEvent {
        event_id: format!("read_again_{}", turn.id),
        session_id: session.to_owned(),
        turn_id: turn.id.clone(),
        usage: turn.usage,
        turn: Box::new(turn),
        obfuscation: None,
    };
    match status {
        TurnStatus::Failed => Event::TurnFailed(end),
        TurnStatus::Cancelled => Event::TurnCancelled(end),
        TurnStatus::Queued
        | TurnStatus::InProgress
        | TurnStatus::Waiting
        | TurnStatus::Completed => Event::TurnCompleted(end),
    }
}

/// Whether an Item stays as it is.
fn is_final(item: &Item) -> bool {
    match item {
        Item::CommandExecution(call) => call.status != CallStatus::InProgress,
        Item::McpCall(call) => call.status != CallStatus::InProgress,
        _ => true,
    }
}
