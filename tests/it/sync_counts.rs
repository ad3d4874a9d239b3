//! What a commit costs, in counts that no busy machine can change: syncs, and pages appended to the write-ahead log.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rat_things::api::{self, CancelInput, InputEvent, InputMessage, MessageInput};
use rat_things::backend::harness::responses::{Options, ResponsesHarness};
use rat_things::backend::local::clock::SystemClock;
use rat_things::backend::local::compute::InProcessCompute;
use rat_things::backend::local::ids::SystemIds;
use rat_things::backend::local::store::{Durability, SqliteStore, StoreOptions, StoreStats};
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::backend::memory::environments::{Scripted, ScriptedEnvironments};
use rat_things::backend::memory::secrets::MemorySecrets;
use rat_things::backend::model::demo::DemoModel;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::dispatch::Dispatcher;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{Committed, RunGrant, Store, StoreError};
use rat_things::engine::run::Worker;
use tokio::sync::watch;

use crate::store_child::skip;
use crate::workload::{Heads, Random, SESSIONS};

/// Tells the traced child where its database is.
const TRACED: &str = "RAT_THINGS_TEST_TRACED";

/// Commits that are counted.
const COUNTED: usize = 50;

/// Paths that the traced child looks for, to mark where counting begins and ends.
const MARKS: [&str; 2] = ["/rat-things/counting/begins", "/rat-things/counting/ends"];

async fn accept(store: &SqliteStore, heads: &Heads, session: usize, random: &mut Random) {
    let answer = store.commit(heads.accept(session, random)).await;
    assert_eq!(answer, Ok(Committed { repeated: false }));
}

#[tokio::test]
async fn each_lone_commit_is_one_sync() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path, StoreOptions::default()).expect("a new database");
    let (heads, mut random) = (Heads::new(), Random(1));
    for session in 0..COUNTED {
        accept(&store, &heads, session, &mut random).await;
    }
    let stats = store.stats();
    assert_eq!(
        (stats.commits, stats.syncs),
        (COUNTED as u64, COUNTED as u64)
    );
}

/// What a repeat finds may be the work of a process that was killed before its sync, so the answer waits for one.
#[tokio::test]
async fn a_repeat_is_synced_and_a_conflict_is_not() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("store.db");
    let store = SqliteStore::open(&path, StoreOptions::default()).expect("a new database");
    let once = Heads::new().accept(1, &mut Random(1));
    let late = Heads::new().accept(1, &mut Random(2));
    assert_eq!(
        store.commit(once.clone()).await,
        Ok(Committed { repeated: false })
    );
    assert_eq!(store.commit(once).await, Ok(Committed { repeated: true }));
    assert_eq!((store.stats().syncs, store.stats().repeats), (2, 1));
    let conflict = store.commit(late).await;
    assert!(
        matches!(conflict, Err(StoreError::Conflict(_))),
        "{conflict:?}"
    );
    assert_eq!((store.stats().syncs, store.stats().commits), (2, 1));
}

/// What the child of the next test does: commits one by one, with marks around those that count.
#[tokio::test]
async fn traced_role() {
    let Ok(path) = std::env::var(TRACED) else {
        return;
    };
    let store = SqliteStore::open(Path::new(&path), StoreOptions::default()).expect("it opens");
    let (heads, mut random) = (Heads::new(), Random(1));
    // The first commit of a new log syncs its directory entry as well.
    accept(&store, &heads, COUNTED, &mut random).await;
    let _ = std::fs::metadata(MARKS[0]);
    for session in 0..COUNTED {
        accept(&store, &heads, session, &mut random).await;
    }
    let _ = std::fs::metadata(MARKS[1]);
}

#[test]
fn the_system_sees_one_fdatasync_for_each_commit_and_no_fsync() {
    let test = "the_system_sees_one_fdatasync_for_each_commit_and_no_fsync";
    let dir = tempfile::tempdir().expect("a temporary directory");
    let trace = dir.path().join("trace");
    let strace = |child: &mut Command| {
        child
            .args([
                "-f",
                "-qq",
                "-e",
                "trace=fsync,fdatasync,sync_file_range,/^(stat|statx|newfstatat)$",
            ])
            .arg("-o")
            .arg(&trace);
    };
    let mut probe = Command::new("strace");
    strace(&mut probe);
    match probe.arg("true").output() {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            return skip(test, &format!("strace can't trace here ({})", why.trim()));
        }
        Err(_) => return skip(test, "strace is not installed"),
    }
    let mut child = Command::new("strace");
    strace(&mut child);
    let status = child
        .arg(std::env::current_exe().expect("this test binary"))
        .args(["sync_counts::traced_role", "--exact"])
        .env(TRACED, dir.path().join("store.db"))
        .status()
        .expect("strace ran just before");
    assert!(status.success(), "{status}");
    let trace = std::fs::read_to_string(&trace).expect("the trace");
    let (before, counted) = trace.split_once(MARKS[0]).expect("the first mark");
    let (counted, _) = counted.split_once(MARKS[1]).expect("the last mark");
    // Another thread makes room ahead of the log, and syncs that. Before the mark only one has synced: the one that commits.
    let syncs = |line: &&str| line.contains(" fdatasync(");
    let thread = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let writer = before.lines().rfind(syncs).and_then(thread);
    let by_writer = counted.lines().filter(syncs);
    let by_writer = by_writer.filter(|line| thread(line) == writer).count();
    let all_fsyncs = counted.matches(" fsync(").count();
    assert_eq!((by_writer, all_fsyncs), (COUNTED, 0), "{counted}");
    // Had anybody been told when the log was changed last, the next sync would write that time, too.
    let mut looks = counted.lines().filter(|line| line.contains(".db-wal"));
    assert!(looks.all(|line| line.contains("STATX_INO,")), "{counted}");
}

/// On a store with 20,000 Sessions that each have accepted two inputs, accepting a third writes at most six pages.
#[tokio::test(flavor = "multi_thread")]
async fn a_commit_of_five_rows_appends_at_most_six_pages() {
    const BESIDE: usize = 64;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = StoreOptions {
        // Filling needs no syncs, and pages are counted, not time.
        durability: Durability::ProcessOnly,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(&dir.path().join("store.db"), options).expect("a new database");
    let (store, heads) = (Arc::new(store), Arc::new(Heads::new()));
    for round in 0..2u64 {
        let tasks: Vec<_> = (0..BESIDE)
            .map(|task| {
                let (store, heads) = (Arc::clone(&store), Arc::clone(&heads));
                tokio::spawn(async move {
                    let mut random = Random(round << 32 | task as u64);
                    for session in (task..SESSIONS).step_by(BESIDE) {
                        accept(&store, &heads, session, &mut random).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no commit fails");
        }
    }
    let before = store.stats();
    let mut random = Random(u64::MAX);
    for _ in 0..1000 {
        let session = random.below(SESSIONS as u64) as usize;
        accept(&store, &heads, session, &mut random).await;
    }
    let after = store.stats();
    assert_eq!(after.syncs - before.syncs, 1000);
    let pages = (after.wal_pages - before.wal_pages) as f64 / 1000.0;
    assert!(pages <= 6.0, "{pages} pages a commit");
}

const OWNER: &str = "0123456789abcdef0123456789abcdef";

/// An engine whose records are on disk. Filling needs no syncs, and pages are counted, not time.
fn on_disk(dir: &Path) -> (Core, Arc<SqliteStore>) {
    let options = StoreOptions {
        durability: Durability::ProcessOnly,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(&dir.join("store.db"), options).expect("a new database");
    let store = Arc::new(store);
    let core = Core {
        store: store.clone(),
        blobs: Arc::new(MemoryBlobs::new()),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bell: Arc::new(MemoryBell::new()),
        secrets: Arc::new(MemorySecrets::new()),
        settings: Settings::default(),
    };
    (core, store)
}

/// What the engine itself writes for a message of 1,000 bytes that begins a Turn, in a store with 4,000 Sessions of which each had a
/// Turn before. Sessions that were created one after the other are neighbours in the file, and share the cost of pages that split.
#[tokio::test]
async fn a_message_that_begins_a_turn_appends_six_pages_or_a_little_more() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (core, store) = on_disk(dir.path());
    let request = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
    let request = api::parse_session_create(request).expect("a request");
    let message = [InputEvent::Message(MessageInput {
        input: vec![InputMessage::text("word ".repeat(200))],
        delivery: None,
    })];
    let cancel = [InputEvent::Cancel(CancelInput { turn_id: None })];
    let mut sessions = Vec::new();
    for _ in 0..4000 {
        let created = core.create_session(OWNER, None, &request).await;
        sessions.push(created.expect("a session").session);
    }
    for session in &sessions {
        for (key, events) in [("first", &message), ("cancel", &cancel)] {
            let sent = core.send(OWNER, session, key, events).await;
            sent.expect("accepted");
        }
    }
    let near = |n: usize| n;
    let far = |n: usize| 1000 + n * 1867 % 3000;
    for (key, order, most) in [
        ("near", near as fn(usize) -> usize, 6.0),
        ("far", far as fn(usize) -> usize, 7.0),
    ] {
        let before = store.stats();
        for n in 0..1000 {
            let sent = core.send(OWNER, &sessions[order(n)], key, &message).await;
            sent.expect("accepted");
        }
        let after = store.stats();
        let count = |of: fn(&StoreStats) -> u64| (of(&after) - of(&before)) as f64 / 1000.0;
        assert_eq!((count(|s| s.commits), count(|s| s.syncs)), (1.0, 1.0));
        let pages = count(|s| s.wal_pages);
        assert!(pages <= most, "{key}: {pages} pages for a message");
    }
}

/// Turns of one tool step, one after the other, in each of these Sessions: the pages that one appends. No two calls have the same `name`.
async fn pages_of_turns(
    (core, store): (&Core, &SqliteStore),
    name: &str,
    sessions: &[&SessionId],
) -> f64 {
    let message = [InputEvent::Message(MessageInput {
        input: vec![InputMessage::text("@exec ls -l\n@say done")],
        delivery: None,
    })];
    let mut rings = core.bell.listen_work();
    let before = store.stats().wal_pages;
    for (n, session) in sessions.iter().enumerate() {
        let key = format!("{name} {n}");
        let sent = core.send(OWNER, session, &key, &message).await;
        sent.expect("accepted");
        // It rings when it is accepted, and when its lease was given back.
        while let Some(_ring) = rings.recv().await {
            let loaded = core.load(session).await.expect("a read");
            if loaded.is_some_and(|loaded| loaded.head.turn.is_none()) {
                break;
            }
        }
    }
    (store.stats().wal_pages - before) as f64 / sessions.len() as f64
}

/// What a Session has behind it is not where its next Turn writes: the rows of a long one are moved away, many at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_turn_of_a_session_appends_few_pages_more_than_a_first_one() {
    const TURNS: usize = 40;
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (core, store) = on_disk(dir.path());
    let environments = Arc::new(ScriptedEnvironments::new(|_, _| Scripted::ok("a file\n")));
    let harness = ResponsesHarness::new(Arc::new(DemoModel), Options::default());
    let worker = Worker::new(core.clone(), Arc::new(harness), environments.clone());
    worker.listen();
    let run = move |grant: RunGrant| {
        let worker = Arc::clone(&worker);
        Box::pin(async move { worker.run(grant).await }) as _
    };
    let compute = InProcessCompute::new(Arc::new(run), 10).expect("there is a /proc");
    let dispatcher = Dispatcher::new(core.clone(), Arc::new(compute), environments);
    let (_stop, stopped) = watch::channel(false);
    tokio::spawn(dispatcher.run(stopped));

    let request = br#"{"environment":{"type":"openai_hosted"},"agent":{"model":"demo"}}"#;
    let request = api::parse_session_create(request).expect("a request");
    let mut sessions = Vec::new();
    for _ in 0..=TURNS {
        let created = core.create_session(OWNER, None, &request).await;
        sessions.push(created.expect("a session").session);
    }
    let (old, new) = sessions.split_last().expect("there are some");
    let world = (&core, &*store);
    pages_of_turns(world, "early", &[old; 150]).await;
    let late = pages_of_turns(world, "late", &[old; TURNS]).await;
    let first = pages_of_turns(world, "first", &new.iter().collect::<Vec<_>>()).await;
    assert!(late <= first + 8.0, "{late} pages against {first}");
    assert!(late <= 26.0, "{late} pages against {first}");
}
