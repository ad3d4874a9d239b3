//! The records behind the program, read by this process beside everyone else that uses the data directory.

use rat_things::cli::compose::{self, Local};
use rat_things::cli::config::{Overrides, Settings, Vars};
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys::{self, Group};
use rat_things::engine::ports::{ExecutionId, Range, Record};
use rat_things::engine::session::Head;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::runtime::Runtime;

use super::rat::{Rat, text, until};

/// An open store.
pub struct Records {
    pub local: Local,
    pub runtime: Runtime,
}

impl Records {
    pub fn open(rat: &Rat) -> Records {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let settings = Settings::load(&Vars::fixed(rat.variables()), &Overrides::default());
        let settings = settings.unwrap_or_else(|e| panic!("{e}"));
        let local = runtime
            .block_on(compose::open(&settings))
            .unwrap_or_else(|e| panic!("{e}"));
        Records { local, runtime }
    }

    /// `None` once the Session is erased.
    pub fn head(&self, session: &str) -> Option<Head> {
        let loaded = self.runtime.block_on(self.local.core.load(&id(session)));
        loaded
            .unwrap_or_else(|e| panic!("{e}"))
            .map(|loaded| loaded.head)
    }

    /// The head of a Session that exists.
    pub fn alive(&self, session: &str) -> Head {
        self.head(session).expect("the session exists")
    }

    /// Who holds the lease of a Session.
    pub fn owner(&self, session: &str) -> Option<ExecutionId> {
        self.alive(session).fence.lease.map(|lease| lease.execution)
    }

    /// One row of a Session.
    pub fn row<T: DeserializeOwned>(&self, session: &str, sort: String) -> Option<T> {
        let row = self
            .runtime
            .block_on(self.local.core.row(&id(session), sort));
        row.unwrap_or_else(|e| panic!("{e}"))
    }

    /// The rows of a partition, up to a bound that none here reaches.
    pub fn partition(&self, partition: String) -> Vec<Record> {
        let range = Range {
            partition,
            from: String::new(),
            until: None,
            reverse: false,
            limit: 100_000,
        };
        let page = self.runtime.block_on(self.local.core.store.range(&range));
        page.unwrap_or_else(|e| panic!("{e}")).records
    }

    /// Entries that some Session owes work under.
    pub fn agenda(&self) -> Vec<Record> {
        let groups = [Group::Execute, Group::Deliver];
        let shards = groups
            .iter()
            .flat_map(|group| (0..keys::AGENDA_SHARDS).map(|n| keys::agenda_partition(*group, n)));
        shards.flat_map(|shard| self.partition(shard)).collect()
    }

    /// The bytes of an Artifact, as text.
    pub fn artifact(&self, session: &str, artifact: &Value) -> String {
        let core = &self.local.core;
        let artifact = artifact["id"].as_str().expect("an id");
        let bytes = self.runtime.block_on(async {
            let read = core.read_session(&self.local.owner, &id(session)).await?;
            let (_, row) = core.get_artifact(&read, artifact).await?;
            let scope = core.scope(&self.local.owner, &read.id);
            Ok::<_, EngineError>(core.blobs.get(&scope, &row.blob).await?)
        });
        text(&bytes.unwrap_or_else(|e| panic!("{e}")))
    }

    /// Waits until a Session owes nothing; its head then.
    pub fn until_idle(&self, session: &str, rat: &Rat) -> Head {
        let what = || {
            format!(
                "{session} becomes idle\n{:#?}{}",
                self.head(session),
                rat.logs()
            )
        };
        until(what, || Some(self.alive(session)).filter(owes_nothing))
    }
}

/// Nothing of it waits, runs or is due.
pub fn owes_nothing(head: &Head) -> bool {
    head.turn.is_none()
        && head.queue.is_empty()
        && head.pending.is_empty()
        && head.fence.lease.is_none()
        && head.fence.quarantine.is_none()
        && head.agenda.execute.is_none()
        && head.agenda.deliver.is_none()
}

pub fn id(session: &str) -> SessionId {
    SessionId::parse(session).expect("a session's id")
}
