//! The records of a data directory, read and changed behind the program's back: for states that only an accident brings about.

use std::path::Path;

use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::identity::LocalIdentity;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::local::store::{SqliteStore, StoreOptions};
use rat_things::engine::core::{decode, encode};
use rat_things::engine::fence::RunRow;
use rat_things::engine::ids::SessionId;
use rat_things::engine::keys;
use rat_things::engine::ports::{
    Change, Clock, Commit, CommitId, ExecutionId, Guard, Identity, Key, Range, Store, Write,
};
use rat_things::engine::session::Head;

fn open(data: &Path) -> SqliteStore {
    SqliteStore::open(&data.join("store.db"), StoreOptions::default()).expect("opens")
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(work)
}

/// Rows of the user's lists: Sessions and Agents.
pub fn rows(data: &Path) -> usize {
    block_on(async {
        let principal = LocalIdentity.caller().await.expect("somebody");
        let range = Range {
            partition: keys::owner_partition(&keys::owner_of(&principal)),
            from: String::new(),
            until: None,
            reverse: false,
            limit: 10_000,
        };
        open(data).range(&range).await.expect("reads").records.len()
    })
}

/// A row, if there is one.
pub fn row(data: &Path, key: &Key) -> Option<Vec<u8>> {
    let record = block_on(async { open(data).get(key).await.expect("reads") });
    record.map(|record| record.value)
}

/// Puts a row, or removes it.
pub fn set_row(data: &Path, key: Key, value: Option<Vec<u8>>) {
    let change = value.map_or(Change::Delete, Change::Put);
    block_on(async {
        let commit = Commit {
            id: CommitId::random(&SystemIds),
            writes: vec![Write {
                key,
                guard: Guard::Any,
                change,
            }]
            .into(),
        };
        open(data).commit(commit).await.expect("is stored");
    });
}

/// The key of a Session's row.
pub fn key(session: &str, sort: &str) -> Key {
    let session = SessionId::parse(session).expect("an id");
    Key::new(keys::session_partition(&session), sort)
}

/// Puts the Session, which owes work and which nobody works on, into the state that `change` leaves, with a Run for it.
fn change(data: &Path, session: &str, execution: &str, change: impl FnOnce(&mut Head, u64)) {
    block_on(async {
        let store = open(data);
        let session = SessionId::parse(session).expect("an id");
        let partition = keys::session_partition(&session);
        let key = Key::new(partition.clone(), keys::HEAD);
        let record = store.get(&key).await.expect("reads").expect("is there");
        let mut head: Head = decode(&record).expect("a head");
        let due = head.agenda.execute.expect("it owes work");
        let now_ms = SystemClock.now_ms();
        let row = RunRow {
            execution: ExecutionId(execution.into()),
            turn: head.turn.as_ref().map_or(1, |turn| turn.number),
            started_ms: now_ms,
            ended_ms: None,
            end: None,
            program: None,
            began_anew: None,
        };
        change(&mut head, now_ms);
        let next = head.execution_due(now_ms);
        head.agenda.execute = next;
        head.revision += 1;
        let generation = head.fence.generation - u64::from(head.fence.quarantine.is_some());
        let mut writes = vec![
            Write {
                key,
                guard: Guard::Version(record.version),
                change: Change::Put(encode(&head)),
            },
            Write {
                key: Key::new(partition, keys::run(generation)),
                guard: Guard::Absent,
                change: Change::Put(encode(&row)),
            },
        ];
        if next != Some(due) {
            writes.push(Write {
                key: keys::agenda(keys::Group::Execute, &session, due),
                guard: Guard::Any,
                change: Change::Delete,
            });
            if let Some(next) = next {
                writes.push(Write {
                    key: keys::agenda(keys::Group::Execute, &session, next),
                    guard: Guard::Any,
                    change: Change::Put(Vec::new()),
                });
            }
        }
        let id = CommitId::random(&SystemIds);
        store
            .commit(Commit {
                id,
                writes: writes.into(),
            })
            .await
            .expect("commits");
    });
}

/// The Session's Run is held by this execution, until then.
pub fn lease(data: &Path, session: &str, execution: &str, for_ms: u64) {
    change(data, session, execution, |head, now_ms| {
        let claimed = head
            .fence
            .claim(ExecutionId(execution.into()), now_ms + for_ms);
        claimed.expect("is free");
    });
}

/// The Session's Run was held by this execution, which nobody can vouch for.
pub fn quarantine(data: &Path, session: &str, execution: &str) {
    change(data, session, execution, |head, now_ms| {
        head.fence
            .claim(ExecutionId(execution.into()), now_ms)
            .expect("is free");
        head.fence.lost_sight(now_ms).expect("is leased");
        head.last_error = Some(format!("worker {execution} can't be accounted for"));
    });
}

/// A process that can't be seen from here: of this boot, and of another pid namespace.
pub fn unseen() -> String {
    let boot =
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("there is a /proc");
    format!("proc:4242:17:{}:99", boot.trim())
}

/// A process that is gone: of an earlier boot.
pub fn gone() -> String {
    "proc:4242:17:00000000-0000-0000-0000-000000000000".to_owned()
}

/// This very process, as a daemon would name itself.
pub fn identity_of_this_process() -> String {
    rat_things::cli::compose::process_identity().expect("there is a /proc")
}

/// Makes the store one that a later version of the program wrote.
pub fn make_newer(data: &Path) {
    let conn = rusqlite::Connection::open(data.join("store.db")).expect("opens");
    conn.pragma_update(None, "user_version", 9_999)
        .expect("writes");
}
