//! A Session's events from a server, each once and in order, through broken connections and restarts.
//!
//! Where the server can go on behind an event, it is asked to. Where it can't, Turns and Items are read again after a break, and what
//! was missed is told from them ([`super::missed`]).

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::Remote;
use super::deployment::refused_past;
use super::feed::{Came, Ended, Feed};
use super::missed::Missed;
use crate::api::{Event, Extension, SessionStatus};
use crate::engine::ids::SessionId;
use crate::engine::ports::{Deployment, DeploymentError, EventStream, Step, Told};
use crate::engine::position::Position;

/// A silent stream is not trusted for longer: the Session is asked for.
const LOOK: Duration = Duration::from_secs(5);
/// A stream that ended is not opened again at once: the next one may end as soon.
const BETWEEN: Duration = Duration::from_millis(300);
/// Events read at once when the stream is over.
const REST: usize = 1_000;
/// Ids of events that are remembered, so that none is told twice.
const SEEN: usize = 4_096;

/// See the module.
pub(super) struct Streaming {
    remote: Remote,
    session: String,
    /// The last event that the server can go on behind; `None` where it can't.
    after: Option<String>,
    missed: Missed,
    feed: Option<Feed>,
    /// How the one before ended.
    lost: Option<Ended>,
    ready: VecDeque<Step>,
    seen: Seen,
    over: bool,
}

impl Streaming {
    pub(super) async fn begin(
        remote: Remote,
        session: String,
        after: Option<String>,
    ) -> Told<Streaming> {
        // Its answer also says what the server has.
        remote.session(&session).await?;
        let mut ready = VecDeque::new();
        let after = match (remote.has(Extension::EventsAfter), after) {
            (Some(true), Some(after)) => Some(after),
            (Some(true), None) => SessionId::parse(&session).map(|id| Position::START.id(&id)),
            (_, None) => None,
            (_, Some(_)) => {
                return Err(DeploymentError::Lacks {
                    message: "this server can't go on behind an event (--after)".to_owned(),
                    instead: "without --after, events are printed from now on".to_owned(),
                });
            }
        };
        if after.is_none() {
            let note = "this server tells no events that have happened: from now on";
            ready.push_back(Step::Note(note.to_owned()));
        }
        Ok(Streaming {
            remote,
            session,
            after,
            missed: Missed::default(),
            feed: None,
            lost: None,
            ready,
            seen: Seen::default(),
            over: false,
        })
    }

    /// Connects, and catches up with what there is.
    async fn open(&mut self) -> Told<()> {
        if self.lost.is_some() {
            tokio::time::sleep(BETWEEN).await;
        }
        let lost = self.lost.take();
        let is_told = lost.as_ref().is_some_and(|ended| *ended != Ended::Silent);
        match self.after.clone() {
            Some(after) => {
                if self.is_over().await? {
                    return self.tell_rest(&after).await;
                }
                let query = [("after", after.as_str())];
                let feed = self.remote.open_feed(&self.session, &query, None).await;
                let refused = |f| refused_past(&self.remote, f, &self.session, Some(&after));
                self.feed = Some(feed.map_err(refused)?);
                if is_told {
                    self.note("connected again, behind the last event".to_owned());
                }
                Ok(())
            }
            None => {
                let feed = self.remote.open_feed(&self.session, &[], None).await;
                self.feed = Some(feed.map_err(|failure| failure.about("session", &self.session))?);
                if is_told {
                    self.note(
                        "connected again; what was missed is told from turns and items".to_owned(),
                    );
                }
                match lost {
                    Some(_) => self.tell_missed().await?,
                    None => self.missed.begin(&self.remote, &self.session).await?,
                }
                self.end_if_over().await
            }
        }
    }

    fn note(&mut self, note: String) {
        self.ready.push_back(Step::Note(note));
    }

    fn take(&mut self, event: Event) {
        if !self.seen.is_new(event.event_id()) {
            return;
        }
        if let Some(after) = &mut self.after
            && !matches!(event, Event::Error(_))
        {
            event.event_id().clone_into(after);
        }
        self.missed.tell(&event);
        self.ready.push_back(Step::Event(Box::new(event)));
    }

    async fn is_over(&mut self) -> Told<bool> {
        let session = self.remote.session(&self.session).await?;
        Ok(session.status != SessionStatus::InProgress)
    }

    /// Ends when the Session's work is over, with everything told.
    async fn end_if_over(&mut self) -> Told<()> {
        if !self.is_over().await? {
            return Ok(());
        }
        match self.after.clone() {
            Some(after) => self.tell_rest(&after).await,
            None => {
                self.tell_missed().await?;
                self.over = true;
                Ok(())
            }
        }
    }

    async fn tell_rest(&mut self, after: &str) -> Told<()> {
        let mut after = after.to_owned();
        loop {
            let (events, more) = self
                .remote
                .list_events(&self.session, Some(&after), REST)
                .await?;
            if let Some(last) = events.last() {
                last.event_id().clone_into(&mut after);
            }
            events.into_iter().for_each(|event| self.take(event));
            if !more {
                self.over = true;
                return Ok(());
            }
        }
    }

    async fn tell_missed(&mut self) -> Told<()> {
        let missed = self.missed.read_again(&self.remote, &self.session).await?;
        missed.into_iter().for_each(|event| self.take(event));
        Ok(())
    }
}

#[async_trait]
impl EventStream for Streaming {
    async fn next(&mut self) -> Told<Option<Step>> {
        loop {
            if let Some(step) = self.ready.pop_front() {
                return Ok(Some(step));
            }
            if self.over {
                return Ok(None);
            }
            let Some(feed) = &mut self.feed else {
                self.open().await?;
                continue;
            };
            match feed.next(Instant::now() + LOOK).await {
                Came::Event(event) => {
                    let rests = rests(&event);
                    self.take(*event);
                    if rests {
                        self.end_if_over().await?;
                    }
                }
                Came::Quiet => self.end_if_over().await?,
                Came::Over(ended) => {
                    self.feed = None;
                    match &ended {
                        Ended::Silent => {}
                        Ended::Closed => {
                            self.note("the server ended the stream; connecting again".to_owned());
                        }
                        Ended::Broke(why) => {
                            self.note(format!("the stream broke: {why}; connecting again"));
                        }
                    }
                    self.lost = Some(ended);
                }
            }
        }
    }
}

/// Whether the Session may owe nothing any more.
fn rests(event: &Event) -> bool {
    matches!(
        event,
        Event::SessionIdle(_)
            | Event::SessionRequiresAction(_)
            | Event::SessionFailed(_)
            | Event::SessionBudgetReached(_)
    )
}

/// The newest ids of events that were told.
#[derive(Default)]
struct Seen {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Seen {
    fn is_new(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > SEEN
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}
