//! Does what the screen asks of the place where Sessions live, and tells the answers as messages.
//!
//! There is one slot for each kind of reading: a newer request ends the older one, whose answer nobody waits for any more. Inputs are never
//! ended that way.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::filter::Filter;
use super::find::{FindAsk, Finding};
use super::msg::{Effect, Look, LookAsk, Msg, Trouble};
use super::reading::{Doctor, Question, look_into, read};
use super::save::{Files, NotSaved, SaveAsk, Saving};
use super::sessions::Order;
use super::settle::Matter;
use super::window::{Chunk, Where};
use crate::api::{AgentSession, HasId, InputEvent, Item, Page, SessionCreateParams, Turn};
use crate::engine::ports::{Deployment, Operator, Told};
use crate::engine::read::ListQuery;

/// Settles what only an operator may settle.
async fn settle(
    operator: Option<Arc<dyn Operator>>,
    ticket: u64,
    matter: Matter,
    tell: mpsc::Sender<Msg>,
) {
    let result = match (&operator, matter) {
        (None, _) => Err(Trouble {
            words: "the records are not at hand".to_owned(),
            unknown: false,
        }),
        (Some(operator), Matter::Release { session, run, .. }) => {
            let released = operator.release(&session, &run).await;
            released.map_err(Trouble::from)
        }
        (
            Some(operator),
            Matter::Delivery {
                session,
                delivery,
                how,
                ..
            },
        ) => {
            let settled = operator.reconcile(&session, &delivery, how).await;
            settled.map(drop).map_err(Trouble::from)
        }
    };
    let _ = tell.send(Msg::Settled { ticket, result }).await;
}

/// Saves an Artifact, and tells how far it is.
async fn save(
    of: Arc<dyn Deployment>,
    files: Option<Files>,
    ask: SaveAsk,
    tell: mpsc::Sender<Msg>,
) {
    let ticket = ask.ticket;
    let because = |words: String| Saving::Not(NotSaved::Because(words));
    let saving = match (of.artifact(&ask.session, &ask.artifact).await, files) {
        (Err(error), _) => because(error.to_string()),
        (Ok(_), None) => because("there is no place for files".to_owned()),
        (Ok(content), Some(files)) => {
            let (progress, mut progressed) = mpsc::channel(1);
            let mut saved = files(content, ask, progress);
            let result = loop {
                tokio::select! {
                    result = &mut saved => break result,
                    Some(bytes) = progressed.recv() => {
                        let saving = Saving::Bytes(bytes);
                        let _ = tell.send(Msg::Saving { ticket, saving }).await;
                    }
                }
            };
            result.map_or_else(Saving::Not, Saving::Done)
        }
    };
    let _ = tell.send(Msg::Saving { ticket, saving }).await;
}

/// Asks that somebody works on what was accepted; the answer is what a person should know of that.
pub type Workers = mpsc::Sender<oneshot::Sender<Option<String>>>;

/// Pages that one search looks at before it says how far it is.
const SEARCH_PAGES: usize = 10;
/// Pages that are read to find the Sessions that were active last.
pub const ACTIVE_PAGES: usize = 20;
/// So many of them are shown.
const ACTIVE_ROWS: usize = 400;
/// Items read at once.
const ITEMS: usize = 100;
/// Turns read at once.
const TURNS: usize = 20;

/// See the module.
pub struct World {
    of: Arc<dyn Deployment>,
    tell: mpsc::Sender<Msg>,
    workers: Workers,
    list: Slot,
    look: Slot,
    find: Slot,
    watch: Slot,
    read: Slot,
    save: Slot,
    files: Option<Files>,
    operator: Option<Arc<dyn Operator>>,
    doctor: Option<Doctor>,
}

/// One task at a time.
#[derive(Default)]
struct Slot(Option<AbortHandle>);

impl Slot {
    fn begin(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.end();
        self.0 = Some(tokio::spawn(task).abort_handle());
    }

    fn end(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.end();
    }
}

impl World {
    /// The world behind this port. Answers go to `tell`.
    pub fn new(of: Arc<dyn Deployment>, tell: mpsc::Sender<Msg>, workers: Workers) -> World {
        World {
            of,
            tell,
            workers,
            list: Slot::default(),
            look: Slot::default(),
            find: Slot::default(),
            watch: Slot::default(),
            read: Slot::default(),
            save: Slot::default(),
            files: None,
            operator: None,
            doctor: None,
        }
    }

    /// The same, with the records at hand, and with somebody who looks whether all is in order.
    pub fn with_operator(self, operator: Option<Arc<dyn Operator>>, doctor: Doctor) -> World {
        World {
            operator,
            doctor: Some(doctor),
            ..self
        }
    }

    /// The same, and Artifacts can be saved.
    pub fn with_files(self, files: Files) -> World {
        World {
            files: Some(files),
            ..self
        }
    }

    /// Begins to do it. Gives back what is the terminal's to do.
    pub fn perform(&mut self, effect: Effect) -> Option<Effect> {
        let (of, tell) = (Arc::clone(&self.of), self.tell.clone());
        match effect {
            Effect::List {
                ticket,
                at,
                limit,
                order,
                filter,
            } => self.list.begin(async move {
                let result = match order {
                    Order::Newest => list(&*of, at, limit, false, &filter).await,
                    Order::Oldest => list(&*of, at, limit, true, &filter).await,
                    Order::Active => by_activity(&*of, &filter).await,
                };
                let result = result.map_err(Trouble::from);
                // Nobody listens when the screen is being left.
                let _ = tell.send(Msg::Listed { ticket, result }).await;
            }),
            Effect::Look(ask) => self.look.begin(async move {
                let ticket = ask.ticket;
                let result = look(&*of, ask).await;
                let result = result.map(Box::new).map_err(Trouble::from);
                let _ = tell.send(Msg::Looked { ticket, result }).await;
            }),
            Effect::Find(ask) => self.find.begin(async move {
                let (ticket, session) = (ask.ticket, ask.session.clone());
                let result = find(&*of, ask).await;
                let result = result.map(Box::new).map_err(Trouble::from);
                let _ = tell
                    .send(Msg::Found {
                        session,
                        ticket,
                        result,
                    })
                    .await;
            }),
            Effect::Watch(session) => self.watch.begin(watch(of, session, tell)),
            Effect::Unwatch => {
                self.watch.end();
                self.look.end();
                self.find.end();
            }
            Effect::Send {
                session,
                key,
                event,
            } => {
                let workers = self.workers.clone();
                tokio::spawn(send(of, session, key, *event, tell, workers));
            }
            Effect::Create { key, params } => {
                let workers = self.workers.clone();
                tokio::spawn(create(of, key, *params, tell, workers));
            }
            Effect::Settle { ticket, matter } => {
                tokio::spawn(settle(self.operator.clone(), ticket, matter, tell));
            }
            Effect::Delete { session } => {
                let workers = self.workers.clone();
                tokio::spawn(delete(of, session, tell, workers));
            }
            Effect::Export { session, to } => {
                tokio::spawn(export(self.doctor.clone(), session, to, tell));
            }
            Effect::Read { ticket, ask } => {
                let (operator, doctor) = (self.operator.clone(), self.doctor.clone());
                self.read.begin(async move {
                    let result = read(&*of, operator.as_deref(), doctor.as_ref(), ask).await;
                    let result = result.map(Box::new).map_err(Trouble::from);
                    let _ = tell.send(Msg::Read { ticket, result }).await;
                })
            }
            Effect::Save(ask) => {
                let files = self.files.clone();
                self.save.begin(save(of, files, ask, tell));
            }
            Effect::StopSaving => self.save.end(),
            Effect::Edit(_)
            | Effect::Page(_)
            | Effect::Mouse(_)
            | Effect::Copy(_)
            | Effect::Suspend
            | Effect::Redraw
            | Effect::Profile(_)
            | Effect::Quit => return Some(effect),
        }
        None
    }
}

/// Watches until it breaks off.
async fn watch(of: Arc<dyn Deployment>, session: String, tell: mpsc::Sender<Msg>) {
    let mut watch = match of.watch(&session, true).await {
        Ok(watch) => watch,
        Err(error) => {
            let result = Err(error.into());
            let _ = tell.send(Msg::Signs { session, result }).await;
            return;
        }
    };
    loop {
        let result = watch.changed().await.map_err(Trouble::from);
        let over = result.is_err();
        let session = session.clone();
        let left = tell.send(Msg::Signs { session, result }).await.is_err();
        if over || left {
            return;
        }
    }
}

async fn send(
    of: Arc<dyn Deployment>,
    session: String,
    key: String,
    event: InputEvent,
    tell: mpsc::Sender<Msg>,
    workers: Workers,
) {
    let result = of
        .send(&session, &key, &[event])
        .await
        .map_err(Trouble::from);
    let note = match result.is_ok() {
        true => ensure(&workers).await,
        false => None,
    };
    let sent = Msg::Sent {
        session,
        key,
        result,
        note,
    };
    let _ = tell.send(sent).await;
}

async fn create(
    of: Arc<dyn Deployment>,
    key: String,
    params: SessionCreateParams,
    tell: mpsc::Sender<Msg>,
    workers: Workers,
) {
    let created = of.create_session(&key, &params).await;
    let result = created.map(Box::new).map_err(Trouble::from);
    let note = match result.is_ok() && params.input.is_some() {
        true => ensure(&workers).await,
        false => None,
    };
    let _ = tell.send(Msg::Created { key, result, note }).await;
}

async fn delete(
    of: Arc<dyn Deployment>,
    session: String,
    tell: mpsc::Sender<Msg>,
    workers: Workers,
) {
    let deleted = of.delete_session(&session).await;
    if deleted.is_ok() {
        // The erasing is work like any other.
        ensure(&workers).await;
    }
    let result = deleted.map(|()| "deleted".to_owned());
    let result = result.map_err(Trouble::from);
    let _ = tell.send(Msg::Deed { session, result }).await;
}

/// Where the records are somewhere else, whoever looks says so.
async fn export(doctor: Option<Doctor>, session: String, to: String, tell: mpsc::Sender<Msg>) {
    let question = Question::Export(session.clone(), to);
    let found = look_into(doctor.as_ref(), question).await;
    let result = found.map(|checks| {
        let files = checks.into_iter().map(|check| check.found);
        files.collect::<Vec<String>>().join("; ")
    });
    let result = result.map_err(Trouble::from);
    let _ = tell.send(Msg::Deed { session, result }).await;
}

/// Asks that somebody works on what was accepted. What a person should know of that.
async fn ensure(workers: &Workers) -> Option<String> {
    let (answer, answered) = oneshot::channel();
    workers.send(answer).await.ok()?;
    answered.await.unwrap_or_default()
}

/// The query for rows at a place, and whether they come the wrong way round.
pub(super) fn query(at: &Where, limit: usize, ascending: bool) -> (ListQuery, bool) {
    let (after, backwards) = match at {
        Where::Start => (None, false),
        Where::End => (None, true),
        Where::After(id) => (Some(id.clone()), false),
        Where::Before(id) => (Some(id.clone()), true),
    };
    let query = ListQuery {
        limit,
        after,
        ascending: ascending != backwards,
    };
    (query, backwards)
}

/// A page as rows in the order of the list.
pub(super) fn chunk<T: HasId>(at: Where, page: Page<T>, backwards: bool) -> Chunk<T> {
    let mut rows = page.data;
    let last = rows.iter().rev().find_map(HasId::id).map(str::to_owned);
    if backwards {
        rows.reverse();
    }
    Chunk {
        at,
        scanned: rows.len(),
        rows,
        more: page.has_more,
        cursor: page.last_id.or(last),
    }
}

/// Sessions at a place. For words it looks at several pages, and says how far it came.
///
/// # Errors
/// As the deployment says.
pub async fn list(
    of: &dyn Deployment,
    at: Where,
    limit: usize,
    oldest_first: bool,
    filter: &Filter,
) -> Told<Chunk<AgentSession>> {
    let (mut query, backwards) = query(&at, limit, oldest_first);
    let mut found = chunk(
        at.clone(),
        of.list_sessions(&query, &filter.asked).await?,
        backwards,
    );
    if !filter.searches() {
        return Ok(found);
    }
    found.rows.retain(|session| filter.matches(session));
    for _ in 1..SEARCH_PAGES {
        if !found.more || found.cursor.is_none() || found.rows.len() >= limit {
            break;
        }
        query.after = found.cursor.clone();
        let page = of.list_sessions(&query, &filter.asked).await?;
        let mut next = chunk(at.clone(), page, backwards);
        next.rows.retain(|session| filter.matches(session));
        match backwards {
            true => drop(found.rows.splice(..0, next.rows)),
            false => found.rows.append(&mut next.rows),
        }
        found.scanned += next.scanned;
        (found.more, found.cursor) = (next.more, next.cursor);
    }
    Ok(found)
}

/// The Sessions that were active last, of the newest [`ACTIVE_PAGES`] pages of them.
///
/// # Errors
/// As the deployment says.
pub async fn by_activity(of: &dyn Deployment, filter: &Filter) -> Told<Chunk<AgentSession>> {
    let (mut query, _) = query(&Where::Start, ITEMS, false);
    let (mut rows, mut scanned) = (Vec::new(), 0);
    for _ in 0..ACTIVE_PAGES {
        let page = of.list_sessions(&query, &filter.asked).await?;
        let page = chunk(Where::Start, page, false);
        scanned += page.scanned;
        rows.extend(page.rows.into_iter().filter(|row| filter.matches(row)));
        if !page.more || page.cursor.is_none() {
            break;
        }
        query.after = page.cursor;
    }
    // Of those that were active in the same second the newest comes first.
    rows.sort_by_key(|row| std::cmp::Reverse(row.last_active_at));
    rows.truncate(ACTIVE_ROWS);
    Ok(Chunk {
        at: Where::Start,
        rows,
        more: false,
        cursor: None,
        scanned,
    })
}

/// A Session, its newest Turns and Items at a place.
///
/// # Errors
/// As the deployment says.
pub async fn look(of: &dyn Deployment, ask: LookAsk) -> Told<Look> {
    // The Session is read before its Turns, and a Turn before its Items: what is over has no later ones.
    let session = of.session(&ask.session).await?;
    let newest = ListQuery {
        limit: TURNS,
        after: None,
        ascending: false,
    };
    let page = of.list_turns(&ask.session, &newest).await?;
    let mut turns: Vec<Turn> = page.data.into_iter().map(|read| read.turn).collect();
    turns.reverse();
    let newest: Vec<String> = turns.iter().map(|turn| turn.id.clone()).collect();
    let items: Option<Chunk<Item>> = match ask.items {
        Some(at) => {
            let (query, backwards) = query(&at, ITEMS, true);
            let page = of.list_items(&ask.session, None, &query).await?;
            Some(chunk(at, page, backwards))
        }
        None => None,
    };
    let mut known = ask.known;
    known.extend(newest.iter().cloned());
    let shown = items.iter().flat_map(|chunk| &chunk.rows);
    turns.extend(missing_turns(of, &ask.session, shown, &known).await?);
    Ok(Look {
        session: Some(session),
        turns,
        newest,
        items,
    })
}

/// The Turns of Items that are not known.
pub(super) async fn missing_turns(
    of: &dyn Deployment,
    session: &str,
    items: impl Iterator<Item = &Item>,
    known: &BTreeSet<String>,
) -> Told<Vec<Turn>> {
    let mut missing: BTreeSet<&str> = items.map(Item::turn_id).collect();
    missing.retain(|id| !known.contains(*id));
    let mut turns = Vec::new();
    for id in missing {
        turns.push(of.turn(session, id).await?.turn);
    }
    Ok(turns)
}

/// Searches some pages of Items, and says how far it came.
///
/// # Errors
/// As the deployment says.
pub async fn find(of: &dyn Deployment, ask: FindAsk) -> Told<Finding> {
    let (mut query, backwards) = query(&ask.at, ITEMS, true);
    let (mut looked, mut pages) = (0, 0);
    loop {
        let page = of.list_items(&ask.session, None, &query).await?;
        let mut chunk = chunk(ask.at.clone(), page, backwards);
        (looked, pages) = (looked + chunk.scanned, pages + 1);
        let is_it = |item: &Item| ask.wanted.is(item);
        let place = match backwards {
            true => chunk.rows.iter().rposition(is_it),
            false => chunk.rows.iter().position(is_it),
        };
        let is_over = !chunk.more || chunk.cursor.is_none() || pages == SEARCH_PAGES;
        if place.is_none() && !is_over {
            query.after = chunk.cursor;
            continue;
        }
        let turns = match place {
            Some(_) => missing_turns(of, &ask.session, chunk.rows.iter(), &ask.known).await?,
            None => Vec::new(),
        };
        chunk.scanned = looked;
        return Ok(Finding {
            place,
            chunk,
            turns,
        });
    }
}
