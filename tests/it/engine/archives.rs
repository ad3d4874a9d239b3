//! Archives: what is carried from one store to another, what arrives, and that nothing else ever does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use rat_things::api::{SessionStatus, TurnStatus};
use rat_things::backend::memory::MemoryStore;
use rat_things::backend::memory::bell::MemoryBell;
use rat_things::backend::memory::blobs::{BlobFault, BlobOp, MemoryBlobs};
use rat_things::backend::memory::clock::ManualClock;
use rat_things::backend::memory::environments::Scripted;
use rat_things::backend::memory::ids::SeededIds;
use rat_things::backend::memory::store::{Fault, Faults};
use rat_things::engine::archive::ArchiveError;
use rat_things::engine::core::{Core, Settings};
use rat_things::engine::delivery::{DeliveryRow, DeliveryState};
use rat_things::engine::error::EngineError;
use rat_things::engine::fence::RunState;
use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{BlobScope, Change, Commit, CommitId, Guard, StoreError, Write};
use rat_things::engine::read::{ListQuery, SessionFilter};
use serde_json::json;

use super::bench::{Bench, START_MS};
use super::checker::eventful;
use super::entries::{Entries, Read, Written, manifest};
use super::ground::{Ground, Rows, Shelves};
use super::records::broken;
use super::world::{OWNER, Setup, World, eventually, managed};

/// Whoever imports.
pub const IMPORTER: &str = "fedcba9876543210fedcba9876543210";

/// A store to import into, with nothing in it and nobody at work.
pub struct Target {
    pub core: Core,
    pub store: Arc<dyn Rows>,
    blobs: Arc<dyn Shelves>,
}

impl Target {
    pub fn new() -> Target {
        Target::on(Ground::here())
    }

    fn failing(faults: Faults) -> Target {
        Target::on(Ground::over(MemoryStore::with_faults(faults)))
    }

    fn on(ground: Ground) -> Target {
        let (store, blobs) = (ground.rows, ground.shelves);
        let core = Core {
            store: store.clone(),
            blobs: blobs.clone(),
            clock: Arc::new(ManualClock::new(START_MS + 1_000_000)),
            ids: Arc::new(SeededIds::new(ground.seed + 6)),
            bell: Arc::new(MemoryBell::new()),
            secrets: ground.values,
            settings: Settings::default(),
        };
        Target { core, store, blobs }
    }

    pub async fn import(&self, entries: &Entries) -> Result<bool, ArchiveError> {
        import(&self.core, IMPORTER, entries).await
    }

    pub async fn sees(&self, session: &SessionId) -> bool {
        let listed = self
            .core
            .list_sessions(IMPORTER, &ListQuery::default(), &SessionFilter::default())
            .await
            .expect("lists")
            .data
            .iter()
            .any(|s| s.id == session.as_str());
        let got = self.core.get_session(IMPORTER, session).await.is_ok();
        assert_eq!(listed, got, "listed and got are one");
        got
    }

    pub fn stored(&self, session: &SessionId) -> usize {
        let scope = BlobScope {
            owner: IMPORTER.to_owned(),
            session: session.to_string(),
        };
        self.blobs.stored(&scope).len()
    }

    pub fn assert_sound(&self) {
        let broken = broken(&self.store.records(), self.core.clock.now_ms());
        assert_eq!(broken, Vec::<String>::new());
    }
}

pub async fn import(core: &Core, owner: &str, entries: &Entries) -> Result<bool, ArchiveError> {
    let imported = core
        .import_session(
            owner,
            &mut Read::new(entries),
            &mut Read::new(entries),
            &|_, _| {},
        )
        .await?;
    Ok(imported.resumed)
}

pub async fn export(core: &Core, owner: &str, session: &SessionId) -> Entries {
    let mut written = Written::default();
    let exported = core
        .export_session(owner, session, "test", &mut written, &|_, _| {})
        .await
        .expect("exports");
    assert_eq!(exported.unsound, []);
    written.entries
}

/// Turns of [`busy_life`].
const TURNS: usize = 6;

/// A Session that did a lot in small pieces: many blobs, output files, a few Turns.
pub async fn busy_life() -> (World, SessionId, Entries) {
    busy_life_on(Ground::here()).await
}

async fn busy_life_on(ground: Ground) -> (World, SessionId, Entries) {
    let world = Setup {
        ground,
        settings: Settings {
            inline_bytes: 8,
            batch_ms: 5,
            ..Settings::default()
        },
        script: Box::new(|_, files| {
            files.insert("/workspace/outputs/a".into(), "made here".into());
            Scripted::ok("some output that is long enough for a blob")
        }),
        ..Setup::default()
    }
    .build();
    let session = world
        .create(managed("@exec one\n@exec two\n@say done with the first"))
        .await;
    world.settled(&session).await;
    for n in 0..TURNS - 2 {
        let (key, text) = (format!("early {n}"), "@exec more\n@say and more");
        world.say(&session, &key, text).await;
        world.settled(&session).await;
    }
    world
        .say(&session, "k", "@reason deeply\n@say done with the last")
        .await;
    world.settled(&session).await;
    world.at_rest().await;
    let entries = export(&world.core, OWNER, &session).await;
    (world, session, entries)
}

/// Leaves an import unfinished; the Session that is not there yet.
pub async fn half_import(core: &Core, owner: &str) -> SessionId {
    let id = format!("sess_{}", "h".repeat(26));
    let (_, _, mut entries) = busy_life().await;
    manifest(&mut entries, |m| m["session"] = json!(id));
    let cut = entries[..entries.len() - 1].to_vec();
    let (mut first, mut again) = (Read::new(&entries), Read::new(&cut));
    let import = core.import_session(owner, &mut first, &mut again, &|_, _| {});
    import.await.expect_err("is broken off");
    SessionId::parse(&id).expect("well formed")
}

/// The bench's records in a store of their own, exported.
async fn exported(bench: &Bench) -> Entries {
    let source = Target::new();
    for records in bench.records().chunks(20) {
        let writes = records.iter().map(|record| Write {
            key: record.key.clone(),
            guard: Guard::Any,
            change: Change::Put(record.value.clone()),
        });
        let id = CommitId::random(&*source.core.ids);
        let commit = Commit {
            id,
            writes: Arc::new(writes.collect()),
        };
        source.store.commit(commit).await.expect("stored");
    }
    export(&source.core, super::bench::OWNER, &bench.session).await
}

#[tokio::test(start_paused = true)]
pub async fn a_session_arrives_as_it_was_and_belongs_to_whoever_imported_it() {
    let (there, session, entries) = busy_life().await;
    let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..2], ["manifest.json", "head.json"]);
    let blobs = names.iter().filter(|name| name.starts_with("blobs/"));
    assert!(blobs.count() > 5, "{names:?}");
    let here = Target::new();
    assert_eq!(here.import(&entries).await, Ok(false));
    here.assert_sound();
    assert!(matches!(
        here.core.load_owned(OWNER, &session).await,
        Err(EngineError::NotFound { .. })
    ));
    let read = here
        .core
        .read_session(IMPORTER, &session)
        .await
        .expect("is there");
    let query = ListQuery {
        limit: 100,
        ascending: true,
        after: None,
    };
    let items = here.core.list_items(&read, None, &query).await;
    assert_eq!(items.expect("listed").data, there.items(&session).await);
    let artifacts = here.core.list_artifacts(&read, None, &query).await;
    let artifacts = artifacts.expect("listed").data;
    assert_eq!(artifacts.len(), TURNS - 1);
    let (_, artifact) = here
        .core
        .get_artifact(&read, &artifacts[0].id)
        .await
        .expect("is there");
    let scope = here.core.scope(IMPORTER, &session);
    let bytes = here.core.blobs.get(&scope, &artifact.blob).await;
    assert_eq!(bytes.expect("verified"), "made here");
    // What is exported from here is what was exported there, but for the import's own revision.
    let again = export(&here.core, IMPORTER, &session).await;
    let content = |entries: &Entries, prefix: &str| -> Entries {
        let some = entries.iter().filter(|(name, _)| name.starts_with(prefix));
        some.cloned().collect()
    };
    for prefix in ["records/", "blobs/"] {
        assert_eq!(content(&again, prefix), content(&entries, prefix));
    }
}

#[tokio::test(start_paused = true)]
pub async fn an_imported_session_goes_on_like_any_other() {
    let (_, session, entries) = busy_life().await;
    let here = World::new();
    import(&here.core, OWNER, &entries).await.expect("imports");
    here.say(&session, "k2", "@exec three\n@say done with the third")
        .await;
    here.settled(&session).await;
    assert_eq!(
        here.turns(&session).await,
        [TurnStatus::Completed; TURNS + 1]
    );
    assert_eq!(here.commands(), ["three"]);
    let read = here.read(&session).await;
    assert_eq!(
        read.head.resets, 1,
        "its files stayed behind, and that is told"
    );
    // The same key still means the same input.
    let repeated = here
        .say(&session, "k", "@reason deeply\n@say done with the last")
        .await;
    assert!(repeated.repeated);
}

#[tokio::test(start_paused = true)]
pub async fn a_turn_that_was_going_on_is_interrupted_and_goes_on_under_a_new_generation() {
    let there = World::with(|_, _| Scripted::Hangs {
        output: String::new(),
    });
    let session = there.create(managed("@exec once\n@say and then?")).await;
    let begun = async || !there.environments.log().is_empty();
    assert!(eventually(begun).await);
    let entries = export(&there.core, OWNER, &session).await;
    let old = there.read(&session).await.head.fence;
    assert_eq!(old.state(), RunState::Leased);
    let here = World::new();
    import(&here.core, OWNER, &entries).await.expect("imports");
    here.settled(&session).await;
    assert_eq!(here.turns(&session).await, [TurnStatus::Completed]);
    let commands = here.commands();
    assert!(
        !commands.contains(&"once".to_owned()),
        "a call in flight is never repeated: {commands:?}"
    );
    let read = here.read(&session).await;
    assert!(read.head.fence.generation > old.generation);
    let (_, turn) = here.core.get_turn(&read, 1).await.expect("is there");
    assert_eq!(turn.unknown_calls, 1);
    let broken = broken(&here.store.records(), here.core.clock.now_ms());
    assert_eq!(broken, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
pub async fn nobody_here_sends_what_was_owed_elsewhere_and_no_run_is_live() {
    let bench = eventful();
    let entries = exported(&bench).await;
    let here = Target::new();
    here.import(&entries).await.expect("imports");
    here.assert_sound();
    let head = here
        .core
        .load(&bench.session)
        .await
        .expect("reads")
        .expect("is there")
        .head;
    assert_eq!(head.fence.state(), RunState::Free);
    assert!(head.pending.iter().all(|pending| pending.claimed == 0));
    assert_eq!(head.agenda.deliver, None);
    assert!(head.agenda.execute.is_some());
    assert_eq!(head.owner, IMPORTER);
    let deliveries: Vec<DeliveryRow> = here
        .store
        .records()
        .iter()
        .filter(|record| record.key.sort.starts_with("delivery/"))
        .map(|record| serde_json::from_slice(&record.value).expect("reads"))
        .collect();
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].state, DeliveryState::Uncertain);
}

#[tokio::test(start_paused = true)]
pub async fn values_of_variables_stay_in_their_store() {
    let there = World::new();
    let mut request = managed("@say hello");
    request["environment"]["env"] = json!({"TOKEN": "hunter2-planted"});
    let session = there.create(request).await;
    there.settled(&session).await;
    let mut written = Written::default();
    let exported = there
        .core
        .export_session(OWNER, &session, "test", &mut written, &|_, _| {})
        .await
        .expect("exports");
    assert!(exported.without_variables);
    for (name, content) in &written.entries {
        let text = String::from_utf8_lossy(content);
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
    let here = World::new();
    import(&here.core, OWNER, &written.entries)
        .await
        .expect("imports");
    here.say(&session, "k", "@exec env\n@say done").await;
    here.settled(&session).await;
    assert_eq!(here.turns(&session).await, [TurnStatus::Completed; 2]);
}

#[tokio::test(start_paused = true)]
pub async fn what_belongs_to_somebody_else_is_not_found_and_what_exists_is_not_replaced() {
    let (there, session, entries) = busy_life().await;
    let mut written = Written::default();
    let refused = there
        .core
        .export_session(IMPORTER, &session, "test", &mut written, &|_, _| {})
        .await;
    assert!(
        matches!(
            refused,
            Err(ArchiveError::Engine(EngineError::NotFound { .. }))
        ),
        "{refused:?}"
    );
    assert!(written.entries.is_empty());
    let before = there.store.records();
    for owner in [OWNER, IMPORTER] {
        let refused = import(&there.core, owner, &entries).await;
        let conflict = matches!(refused, Err(ArchiveError::Engine(EngineError::Conflict(_))));
        assert!(conflict, "{refused:?}");
    }
    assert_eq!(there.store.records(), before);
}

#[tokio::test(start_paused = true)]
pub async fn a_session_that_changes_while_it_is_read_is_read_again() {
    let (there, session, _) = busy_life().await;
    there.stop_dispatching();
    let sent = Arc::new(AtomicUsize::new(0));
    let (core, id) = (there.core.clone(), session.clone());
    let mut written = Written::default();
    written.meanwhile = Some(Box::new(move || {
        let (core, id, sent) = (core.clone(), id.clone(), sent.clone());
        Box::pin(async move {
            let n = sent.fetch_add(1, Ordering::Relaxed);
            if n < 3 {
                let body = json!({"events": [super::world::message("more")]}).to_string();
                let events = rat_things::api::parse_events(body.as_bytes()).expect("valid");
                core.send(OWNER, &id, &format!("m{n}"), &events.events)
                    .await
                    .expect("accepted");
            }
        })
    }));
    there
        .core
        .export_session(OWNER, &session, "test", &mut written, &|_, _| {})
        .await
        .expect("exports");
    assert_eq!(written.begun_anew, 1);
    let here = Target::new();
    here.import(&written.entries).await.expect("imports");
    here.assert_sound();
    let head = here.core.load(&session).await.expect("reads");
    assert_eq!(head.expect("is there").head.pending.len(), 3);
}

/// Where an import is broken off, and how.
fn breaking(at: usize, fault: Fault) -> (Faults, Arc<AtomicBool>) {
    let broken = Arc::new(AtomicBool::new(true));
    let (count, works) = (AtomicUsize::new(0), broken.clone());
    let faults = move |_: &Commit| {
        let n = count.fetch_add(1, Ordering::Relaxed);
        match works.load(Ordering::Relaxed) && n >= at {
            true => fault.clone(),
            false => Fault::None,
        }
    };
    (Box::new(faults), broken)
}

#[tokio::test(start_paused = true)]
pub async fn an_import_that_is_broken_off_anywhere_shows_nothing_and_goes_on_or_is_given_up() {
    let (_, session, entries) = busy_life().await;
    let whole = Target::new();
    whole.import(&entries).await.expect("imports");
    let rows = |target: &Target| -> Vec<(String, Vec<u8>)> {
        let records = target.store.records();
        let rows = records.into_iter().filter(|r| r.key.sort != "head");
        rows.map(|r| (r.key.to_string(), r.value)).collect()
    };
    let mut seen = 0;
    for at in 0.. {
        let away = Fault::FailBefore(StoreError::Unavailable("away".into()));
        let (faults, broken) = breaking(at, away);
        let here = Target::failing(faults);
        if here.import(&entries).await.is_ok() {
            break;
        }
        seen += 1;
        assert!(!here.sees(&session).await, "commit {at}");
        broken.store(false, Ordering::Relaxed);
        // The same archive goes on and ends whole.
        assert_eq!(here.import(&entries).await, Ok(at > 0), "commit {at}");
        assert!(here.sees(&session).await);
        here.assert_sound();
        assert_eq!(rows(&here), rows(&whole), "commit {at}");
        assert_eq!(here.stored(&session), whole.stored(&session));
    }
    assert!(seen > 5, "only {seen} commits");
    for at in 1..seen {
        let away = Fault::FailBefore(StoreError::Unavailable("away".into()));
        let (faults, broken) = breaking(at, away);
        let here = Target::failing(faults);
        assert!(here.import(&entries).await.is_err());
        broken.store(false, Ordering::Relaxed);
        assert_eq!(here.core.abandon_import(OWNER, &session).await, Ok(false));
        assert_eq!(here.core.abandon_import(IMPORTER, &session).await, Ok(true));
        assert_eq!(here.store.records(), [], "commit {at}");
        assert_eq!(here.stored(&session), 0);
        assert_eq!(
            here.core.abandon_import(IMPORTER, &session).await,
            Ok(false)
        );
        assert_eq!(
            here.import(&entries).await,
            Ok(false),
            "and it can begin anew"
        );
    }
}

#[tokio::test(start_paused = true)]
pub async fn giving_up_that_is_broken_off_is_finished_by_whoever_comes_next() {
    let (_, session, entries) = busy_life().await;
    let away = || Fault::FailBefore(StoreError::Unavailable("away".into()));
    let half = 4;
    for at in half.. {
        let (faults, broken) = breaking(half, away());
        let (later, again) = breaking(at, away());
        let both = move |commit: &Commit| match faults(commit) {
            Fault::None => later(commit),
            fault => fault,
        };
        again.store(false, Ordering::Relaxed);
        let here = Target::failing(Box::new(both));
        assert!(here.import(&entries).await.is_err());
        broken.store(false, Ordering::Relaxed);
        again.store(true, Ordering::Relaxed);
        let given_up = here.core.abandon_import(IMPORTER, &session).await.is_ok();
        again.store(false, Ordering::Relaxed);
        assert!(!here.sees(&session).await);
        // As long as giving up has not begun, the import goes on.
        let resumed = at == half;
        assert_eq!(here.import(&entries).await, Ok(resumed), "commit {at}");
        here.assert_sound();
        if given_up {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
pub async fn bytes_that_could_not_be_stored_are_stored_when_the_import_goes_on() {
    let (there, session, entries) = busy_life().await;
    let whole = there.blobs.stored(&there.core.scope(OWNER, &session));
    for fault in [
        BlobFault::Unavailable,
        BlobFault::Torn,
        BlobFault::LostAnswer,
    ] {
        for at in [0, 1, whole.len() / 2, whole.len() - 1] {
            let puts = AtomicUsize::new(0);
            let blobs = MemoryBlobs::with_faults(move |call| {
                let is_put = call.op == BlobOp::Put;
                (is_put && puts.fetch_add(1, Ordering::Relaxed) == at).then_some(fault)
            });
            let here = Target::on(Ground {
                shelves: Arc::new(blobs),
                ..Ground::over(MemoryStore::new())
            });
            assert!(here.import(&entries).await.is_err(), "{fault:?} {at}");
            assert!(!here.sees(&session).await);
            assert_eq!(here.import(&entries).await, Ok(true), "{fault:?} {at}");
            let stored = here.blobs.stored(&here.core.scope(IMPORTER, &session));
            assert!(stored == whole, "{fault:?} {at}");
        }
    }
}

#[tokio::test(start_paused = true)]
pub async fn bytes_that_are_damaged_are_not_exported() {
    let blobs = MemoryBlobs::new();
    let ground = Ground {
        shelves: Arc::new(blobs.clone()),
        ..Ground::here()
    };
    let (there, session, _) = busy_life_on(ground).await;
    let scope = there.core.scope(OWNER, &session);
    let stored = blobs.stored(&scope);
    let (digest, bytes) = stored.first_key_value().expect("has bytes");
    let mut flipped = bytes.to_vec();
    flipped[0] ^= 1;
    for damage in [None, Some(flipped.into()), Some(bytes.slice(1..))] {
        blobs.damage(&scope, digest, damage);
        let mut written = Written::default();
        let refused = there
            .core
            .export_session(OWNER, &session, "test", &mut written, &|_, _| {})
            .await
            .expect_err("refused");
        let damaged = matches!(
            &refused,
            ArchiveError::Engine(EngineError::Damaged { key, .. }) if key.contains(digest)
        );
        assert!(damaged, "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
pub async fn lost_answers_change_nothing() {
    let (_, session, entries) = busy_life().await;
    let every_third = AtomicUsize::new(0);
    let here = Target::failing(Box::new(move |_| {
        match every_third.fetch_add(1, Ordering::Relaxed) % 3 {
            0 => Fault::ApplyThenUnknown,
            _ => Fault::None,
        }
    }));
    assert_eq!(here.import(&entries).await, Ok(false));
    assert!(here.sees(&session).await);
    here.assert_sound();
}

#[tokio::test(start_paused = true)]
pub async fn of_two_imports_at_once_one_is_whole_and_the_other_writes_nothing_more() {
    let (_, session, entries) = busy_life().await;
    for place in 1..entries.len() {
        let here = Target::new();
        let (core, other) = (here.core.clone(), entries.clone());
        let hook = Box::new(move || {
            let (core, other) = (core.clone(), other.clone());
            let run = async move {
                let resumed = import(&core, IMPORTER, &other).await;
                assert_eq!(resumed, Ok(true), "the later one takes over");
            };
            Box::pin(run) as futures_util::future::BoxFuture<'static, ()>
        });
        let slow = here
            .core
            .import_session(
                IMPORTER,
                &mut Read::new(&entries),
                &mut Read::interrupted(&entries, place, hook),
                &|_, _| {},
            )
            .await;
        let overtaken = matches!(slow, Err(ArchiveError::Engine(EngineError::Conflict(_))));
        assert!(overtaken, "{slow:?}");
        assert!(here.sees(&session).await);
        here.assert_sound();
    }
}

#[tokio::test(start_paused = true)]
pub async fn another_archive_of_a_half_imported_session_is_refused() {
    let (there, session, entries) = busy_life().await;
    let (faults, broken) = breaking(4, Fault::FailBefore(StoreError::Throttled));
    let here = Target::failing(faults);
    assert!(here.import(&entries).await.is_err());
    broken.store(false, Ordering::Relaxed);
    there.say(&session, "later", "@say more").await;
    there.settled(&session).await;
    let newer = export(&there.core, OWNER, &session).await;
    let refused = here.import(&newer).await.expect_err("refused").to_string();
    assert!(refused.contains("sessions delete sess_"), "{refused}");
    let other = import(&here.core, OWNER, &entries).await;
    assert!(other.is_err(), "nor by somebody else");
    assert_eq!(here.import(&entries).await, Ok(true));
}

#[tokio::test(start_paused = true)]
pub async fn a_session_that_was_deleted_can_come_back() {
    let (here, session, entries) = busy_life().await;
    here.delete_surely(&session).await;
    let gone = async || here.core.load(&session).await.is_ok_and(|l| l.is_none());
    assert!(eventually(gone).await);
    import(&here.core, OWNER, &entries).await.expect("imports");
    here.say(&session, "k3", "@say back").await;
    here.settled(&session).await;
    assert_eq!(
        here.turns(&session).await,
        [TurnStatus::Completed; TURNS + 1]
    );
    let status = here.core.get_session(OWNER, &session).await;
    assert_eq!(status.expect("is there").status, SessionStatus::Idle);
}
