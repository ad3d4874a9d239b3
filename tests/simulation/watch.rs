//! What is checked the moment a commit has happened: the records of the Session as they are now, and what no record alone can
//! show, namely that history only grows and that whoever wrote was allowed to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::FutureExt;
use rat_things::backend::memory::MemoryStore;
use rat_things::engine::check::{Around, OwnerFacts, SessionFacts};
use rat_things::engine::ids::SessionId;
use rat_things::engine::item::{ItemBody, ItemRow};
use rat_things::engine::keys::{self, Group};
use rat_things::engine::ports::{Change, Commit, Record, RunGrant, Store};
use rat_things::engine::session::Head;

use super::life::Life;
use super::shared::Shared;

/// A Session as it is known from its commits.
#[derive(Default)]
pub struct Watched {
    /// Its records.
    pub facts: SessionFacts,
    /// What is around them.
    pub around: Around,
    /// Calls that were claimed, by Turn and call id.
    claimed: BTreeSet<(u64, String)>,
    /// What the agent said, each of which it says once.
    said: BTreeSet<String>,
    /// Commands of tool calls, with how often each was recorded as claimed.
    pub commands: BTreeMap<String, u64>,
    /// It was deleted at some time.
    pub deleted: bool,
    /// Its live Run, how often that has renewed its lease, and when it did so last: virtual time since the beginning.
    renewed: Option<(u64, u64, u64)>,
}

impl Watched {
    /// For how long its Run has shown nothing new. Milliseconds.
    fn silent_ms(&self, now_ms: u64) -> u64 {
        self.renewed.map_or(0, |(_, _, at_ms)| now_ms - at_ms)
    }

    fn show(&mut self, now_ms: u64) {
        let fence = self.facts.head().map(|head| &head.fence);
        let live = fence.and_then(|fence| Some((fence.generation, fence.lease.as_ref()?.renewals)));
        let known = self
            .renewed
            .map(|(generation, renewals, _)| (generation, renewals));
        if live != known {
            self.renewed = live.map(|(generation, renewals)| (generation, renewals, now_ms));
        }
    }
}

#[derive(Default)]
struct State {
    sessions: BTreeMap<SessionId, Watched>,
    owners: BTreeMap<String, OwnerFacts>,
    /// The lives of workers that were given a Session, by generation.
    workers: BTreeMap<(String, u64), Arc<Life>>,
}

/// See the module.
pub struct Watch {
    /// The agents of this world may say the same twice.
    pub words_repeat: AtomicBool,
    lease_ms: u64,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

/// The rows of a commit as they were before it.
pub struct Before(Option<(SessionId, Option<Head>)>);

impl Watch {
    /// Of an empty store, in a world whose leases last so long.
    pub fn new(shared: &Arc<Shared>, lease_ms: u64) -> Arc<Watch> {
        Arc::new(Watch {
            words_repeat: AtomicBool::new(false),
            lease_ms,
            shared: Arc::clone(shared),
            state: Mutex::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no program panics with it")
    }

    /// A worker was given a Session.
    pub fn given(&self, life: &Arc<Life>, grant: &RunGrant) {
        let place = (grant.session.clone(), grant.generation);
        self.state().workers.insert(place, Arc::clone(life));
    }

    /// Looks at every Session there ever was.
    pub fn each(&self, mut look: impl FnMut(&SessionId, &Watched)) {
        for (id, watched) in &self.state().sessions {
            look(id, watched);
        }
    }

    /// A Session's head as it is now.
    pub fn head(&self, session: &SessionId) -> Option<Head> {
        self.state().sessions.get(session)?.facts.head().cloned()
    }

    /// Whether the effect of this call is recorded as claimed.
    pub fn is_claimed(&self, session: &str, call_id: &str) -> bool {
        let id = SessionId::parse(session);
        let state = self.state();
        let watched = id.and_then(|id| state.sessions.get(&id));
        watched.is_some_and(|w| w.claimed.iter().any(|(_, claimed)| claimed == call_id))
    }

    /// Whether this worker has no authority over the Session that the commit is about.
    pub fn is_fenced(&self, life: &Life, commit: &Commit) -> bool {
        let Some(session) = session_of(commit) else {
            return false;
        };
        let head = self.head(&session);
        head.is_none_or(|head| head.fence.lease.is_none_or(|l| l.execution.0 != life.name))
    }

    /// Remembers what a commit is about to change.
    pub fn before(&self, commit: &Commit) -> Before {
        Before(session_of(commit).map(|session| {
            let head = self.head(&session);
            (session, head)
        }))
    }

    /// Checks what a commit has changed.
    pub fn committed(&self, life: &Life, commit: &Commit, before: &Before, store: &MemoryStore) {
        let mut state = self.state();
        let mut touched = BTreeSet::new();
        for write in commit.writes.iter() {
            if write.change == Change::Check {
                continue;
            }
            let partition = &write.key.partition;
            let now = store.get(&write.key).now_or_never();
            let now: Option<Record> = now.and_then(Result::ok).flatten();
            if let Some(id) = partition.strip_prefix("S/").and_then(SessionId::parse) {
                let watched = state.sessions.entry(id.clone()).or_default();
                self.row(watched, &id, &write.key.sort, now.as_ref());
                touched.insert(id);
            } else if let Some(owner) = partition.strip_prefix("O/") {
                let facts = state.owners.entry(owner.to_owned()).or_default();
                match now {
                    Some(record) => facts.take(&record),
                    None => facts.forget(&write.key.sort),
                }
                let listed = write.key.sort.rsplit('/').next();
                touched.extend(listed.and_then(SessionId::parse));
            } else if let Some((due_ms, id)) = keys::parse_agenda(&write.key.sort) {
                let group = match partition.starts_with("A/execute/") {
                    true => Group::Execute,
                    false => Group::Deliver,
                };
                let around = &mut state.sessions.entry(id.clone()).or_default().around;
                match now {
                    Some(_) => around.agenda.insert((group, due_ms)),
                    None => around.agenda.remove(&(group, due_ms)),
                };
                touched.insert(id);
            }
        }
        if let Before(Some((session, head))) = before {
            let after = state
                .sessions
                .get(session)
                .and_then(|w| w.facts.head())
                .cloned();
            let guard = super::authority::Commit {
                life,
                session,
                before: head.as_ref(),
                after: after.as_ref(),
                silent_ms: state
                    .sessions
                    .get(session)
                    .map_or(0, |w| w.silent_ms(self.shared.elapsed_ms())),
                lease_ms: self.lease_ms,
            };
            guard.check(&self.shared, |generation| {
                let run = (session.to_string(), generation);
                state.workers.get(&run).is_some_and(|life| !life.is_dead())
            });
            if let Some(watched) = state.sessions.get_mut(session) {
                watched.deleted |= after.is_none_or(|head| head.deleted_ms.is_some());
                watched.show(self.shared.elapsed_ms());
            }
        }
        for id in touched {
            self.sound(&mut state, &id);
        }
    }

    /// Checks the records of one Session.
    fn sound(&self, state: &mut State, id: &SessionId) {
        let Some(watched) = state.sessions.get_mut(id) else {
            return;
        };
        let head = watched.facts.head();
        let owner = head.map_or(super::world::OWNER, |head| head.owner.as_str());
        let created_ms = head.map_or(0, |head| head.created_ms);
        let owner = state.owners.get(owner);
        watched.around.listed_by_id = owner.is_some_and(|o| o.lists_by_id(id.as_str()));
        watched.around.listed_by_time =
            owner.is_some_and(|o| o.lists_by_time(id.as_str(), created_ms));
        let now_ms = self.shared.latest_ms();
        // Rows of a Session are erased before its head, and its last bytes may be on their way.
        for finding in watched.facts.findings(id, &watched.around, now_ms) {
            let what = format!("{}: {}", finding.key, finding.what);
            self.shared.broken(finding.invariant.code(), &what);
        }
    }

    /// One row of a Session has changed.
    fn row(&self, watched: &mut Watched, id: &SessionId, sort: &str, now: Option<&Record>) {
        let alive = watched
            .facts
            .head()
            .is_some_and(|head| head.deleted_ms.is_none());
        let known = watched.facts.knows(sort);
        let kind = sort.split('/').next().unwrap_or_default();
        let broken = |promise: &str, what: &str| {
            self.shared.broken(promise, &format!("{id} {sort}: {what}"));
        };
        if alive && now.is_none() && known && !matches!(sort, keys::HEAD) {
            broken("I1", "it was removed");
        }
        if alive && now.is_some() && watched.facts.is_history(sort) {
            let promise = match kind {
                "turn" => "I8",
                "item" => "I7",
                "journal" => "I16",
                _ => "I1",
            };
            broken(promise, "it is history, and was written again");
        }
        if watched.deleted && now.is_some() && sort != keys::HEAD {
            broken("I14", "it was written after the session was deleted");
        }
        match now {
            Some(record) => {
                if kind == "item" && !known {
                    self.item(watched, id, sort, record);
                }
                watched.facts.take(record);
            }
            None => watched.facts.forget(sort),
        }
    }

    /// A new Item.
    fn item(&self, watched: &mut Watched, id: &SessionId, sort: &str, record: &Record) {
        let Ok(row) = serde_json::from_slice::<ItemRow>(&record.value) else {
            return;
        };
        if let ItemBody::Call { command, .. } = &row.body {
            *watched.commands.entry(command.clone()).or_default() += 1;
        }
        match &row.body {
            ItemBody::Call { call_id, .. } | ItemBody::Function { call_id, .. } => {
                if !watched.claimed.insert((row.turn, call_id.clone())) {
                    let what = format!("{id} {sort}: call {call_id} is recorded twice");
                    self.shared.broken("I7", &what);
                }
            }
            ItemBody::Message { text, .. } => {
                let text = serde_json::to_string(text).unwrap_or_default();
                let again = !watched.said.insert(text.clone());
                if again && !self.words_repeat.load(Ordering::SeqCst) {
                    let what = format!("{id} {sort}: {text} is recorded twice");
                    self.shared.broken("I12", &what);
                }
            }
            ItemBody::User { .. }
            | ItemBody::Reasoning { .. }
            | ItemBody::FromAgent { .. }
            | ItemBody::WebSearch { .. }
            | ItemBody::FunctionOutput { .. } => {}
        }
    }
}

/// The Session whose head a commit writes.
fn session_of(commit: &Commit) -> Option<SessionId> {
    let mut writes = commit.writes.iter();
    writes.find_map(|write| {
        let head = write.key.sort == keys::HEAD && write.change != Change::Check;
        SessionId::parse(write.key.partition.strip_prefix("S/")?).filter(|_| head)
    })
}
