//! What a harness keeps of its own: it is given to whoever goes on, with what came later; and without it nothing is lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use pretty_assertions::assert_eq;
use rat_things::api::{SessionAgent, SessionStatus, TurnStatus};
use rat_things::engine::checkpoint::CheckpointRow;
use rat_things::engine::core::{Loaded, Settings, decode, encode};
use rat_things::engine::draft::Draft;
use rat_things::engine::fence::{BeganAnew, RunRow};
use rat_things::engine::ids::{SessionId, sha256_hex};
use rat_things::engine::keys;
use rat_things::engine::ports::{
    BlobRef, Change, Checkpoint, Commit, CommitId, ExecutionId, Guard, Harness, HarnessProgram,
    Key, Observation, Range, TakenCheckpoint, TurnEnd, TurnLink, TurnTask, Write,
};
use serde_json::json;
use tokio::sync::Notify;

use super::archives::{IMPORTER, Target, export};
use super::entries::Written;
use super::world::{OWNER, Setup, World, answer_to, ask, lines, managed};

type Act = dyn Fn(usize, TurnTask, TurnLink) -> BoxFuture<'static, TurnEnd> + Send + Sync;

/// What a Turn was given: places of what came later, and the bytes.
type Given = Option<(Vec<usize>, Vec<String>)>;

/// A harness that keeps state of its own, and does what a test says.
struct Keeps {
    act: Box<Act>,
    starts: AtomicUsize,
    given: Arc<Mutex<Vec<Given>>>,
}

#[async_trait]
impl Harness for Keeps {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        let given = match &task.checkpoint {
            Some(saved) => {
                let mut texts = Vec::new();
                for blob in &saved.checkpoint.blobs {
                    let bytes = saved.read(blob).await.expect("it is stored");
                    texts.push(String::from_utf8(bytes.to_vec()).expect("text"));
                }
                Some((saved.later.clone(), texts))
            }
            None => None,
        };
        self.given
            .lock()
            .expect("no test panics with it")
            .push(given);
        let started = self.starts.fetch_add(1, Ordering::SeqCst);
        (self.act)(started, task, link).await
    }

    fn name(&self) -> &'static str {
        "keeps"
    }

    fn keeps_checkpoints(&self, _agent: &SessionAgent) -> bool {
        true
    }
}

/// A world in which such a harness works, and what it was given.
fn world_of<F>(
    act: impl Fn(usize, TurnTask, TurnLink) -> F + Send + Sync + 'static,
) -> (World, Arc<Mutex<Vec<Given>>>)
where
    F: Future<Output = TurnEnd> + Send + 'static,
{
    world_of_settings(Settings::default(), act)
}

fn world_of_settings<F>(
    settings: Settings,
    act: impl Fn(usize, TurnTask, TurnLink) -> F + Send + Sync + 'static,
) -> (World, Arc<Mutex<Vec<Given>>>)
where
    F: Future<Output = TurnEnd> + Send + 'static,
{
    let given = Arc::new(Mutex::new(Vec::new()));
    let harness = Keeps {
        act: Box::new(move |started, task, link| Box::pin(act(started, task, link))),
        starts: AtomicUsize::new(0),
        given: Arc::clone(&given),
    };
    let world = Setup {
        harness: Some(Arc::new(harness)),
        settings,
        ..Setup::default()
    };
    (world.build(), given)
}

fn blob(text: &str) -> BlobRef {
    BlobRef {
        sha256: sha256_hex(text.as_bytes()),
        size_bytes: text.len() as u64,
    }
}

/// A checkpoint that names these texts, of which the last ones are new.
fn taken(names: &[&str], new: &[&str]) -> TakenCheckpoint {
    TakenCheckpoint {
        checkpoint: Checkpoint {
            harness: "keeps".into(),
            version: "1".into(),
            manifest: json!({"of": names.len()}),
            blobs: names.iter().map(|text| blob(text)).collect(),
        },
        new: new
            .iter()
            .map(|text| Bytes::from((*text).to_owned()))
            .collect(),
        answers: 0,
    }
}

async fn keeps(link: &TurnLink, taken: TakenCheckpoint) {
    let seen = Observation::Checkpoint(Box::new(taken));
    link.saw(seen).await.expect("live");
}

async fn takes_and_says(task: &TurnTask, link: &TurnLink, text: &str) {
    let inputs = task.feed.iter().map(|feed| feed.input).collect();
    link.saw(Observation::Took(inputs)).await.expect("live");
    let said = Observation::Message {
        text: text.into(),
        phase: None,
        incomplete: false,
    };
    link.saw(said).await.expect("live");
}

/// One Session, with so many messages after the first, each once it owes nothing more.
async fn plays(world: &World, more: usize) -> SessionId {
    let session = world.create(managed("go")).await;
    world.settled(&session).await;
    for n in 0..more {
        world.say(&session, &format!("k{n}"), "more").await;
        world.settled(&session).await;
    }
    world.sound();
    session
}

async fn row(world: &World, session: &SessionId) -> Option<CheckpointRow> {
    let sort = keys::CHECKPOINT.to_owned();
    world.core.row(session, sort).await.expect("readable")
}

fn all(given: &Arc<Mutex<Vec<Given>>>) -> Vec<Given> {
    given.lock().expect("no test panics with it").clone()
}

fn some(later: &[usize], texts: &[&str]) -> Given {
    let texts = texts.iter().map(|text| (*text).to_owned());
    Some((later.to_vec(), texts.collect()))
}

#[tokio::test(start_paused = true)]
pub async fn a_checkpoint_is_given_to_the_next_turn_with_what_came_later() {
    let (world, given) = world_of(|started, task, link| async move {
        takes_and_says(&task, &link, "so").await;
        match started {
            0 => keeps(&link, taken(&["a"], &["a"])).await,
            2 => keeps(&link, taken(&["a", "b"], &["b"])).await,
            _ => {}
        }
        TurnEnd::Completed
    });
    let session = plays(&world, 3).await;
    let expect = [
        None,
        some(&[], &["a"]),
        // The second Turn kept nothing: its message and answer are not in it.
        some(&[2, 3], &["a"]),
        some(&[], &["a", "b"]),
    ];
    assert_eq!(all(&given), expect);
    let row = row(&world, &session).await.expect("there is one");
    assert_eq!((row.generation, row.position.item), (3, 7));
}

#[tokio::test(start_paused = true)]
pub async fn what_can_not_be_kept_fails_no_turn_and_leaves_what_was_there() {
    let (world, given) = world_of(|started, task, link| async move {
        takes_and_says(&task, &link, "so").await;
        match started {
            0 => keeps(&link, taken(&["a"], &["a"])).await,
            // Its bytes are nowhere.
            1 => keeps(&link, taken(&["a", "b"], &[])).await,
            // It is larger than a row may be.
            2 => {
                let mut large = taken(&["a"], &[]);
                large.checkpoint.manifest = json!("x".repeat(100_000));
                keeps(&link, large).await;
            }
            _ => {}
        }
        TurnEnd::Completed
    });
    let session = plays(&world, 3).await;
    assert_eq!(world.turns(&session).await, [TurnStatus::Completed; 4]);
    assert_eq!(all(&given)[3], some(&[2, 3, 4, 5], &["a"]));
}

#[tokio::test(start_paused = true)]
pub async fn a_message_that_was_not_taken_is_not_in_it() {
    let (world, given) = world_of(|started, _, link| async move {
        if started == 0 {
            keeps(&link, taken(&["a"], &["a"])).await;
        }
        TurnEnd::Completed
    });
    let session = plays(&world, 1).await;
    assert_eq!(all(&given), [None, some(&[0], &["a"])]);
    let row = row(&world, &session).await.expect("there is one");
    assert_eq!(row.position.waiting, [1]);
}

#[tokio::test(start_paused = true)]
pub async fn late_checkpoint_from_superseded_run_is_refused() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (at, until) = (Arc::clone(&begun), Arc::clone(&go_on));
    let (world, _) = world_of(move |_, task, link| {
        let (begun, go_on) = (Arc::clone(&at), Arc::clone(&until));
        async move {
            begun.notify_one();
            go_on.notified().await;
            // Nobody may take it any more; that is the test.
            let seen = Observation::Checkpoint(Box::new(taken(&["a"], &["a"])));
            let _ = link.saw(seen).await;
            let inputs = task.feed.iter().map(|feed| feed.input).collect();
            let _ = link.saw(Observation::Took(inputs)).await;
            TurnEnd::Completed
        }
    });
    let session = world.create(managed("go")).await;
    begun.notified().await;
    world.stop_dispatching();
    let key = Key::new(keys::session_partition(&session), keys::HEAD);
    let record = world.core.store.get(&key).await.expect("read");
    let record = record.expect("there");
    let loaded = Loaded {
        head: decode(&record).expect("a head"),
        version: record.version,
    };
    let now_ms = world.core.clock.now_ms();
    let mut draft = Draft::of(&session, &loaded, now_ms);
    draft.head.fence.release().expect("leased");
    let other = ExecutionId("somebody else".into());
    draft
        .head
        .fence
        .claim(other, now_ms + 60_000)
        .expect("free");
    let (commit, _) = draft.seal(&*world.core.ids);
    world.core.commit_once(commit).await.expect("committed");
    go_on.notify_one();
    world.at_rest().await;
    assert_eq!(row(&world, &session).await, None);
}

#[tokio::test(start_paused = true)]
pub async fn a_checkpoint_without_an_answer_that_was_handed_over_is_not_kept() {
    for told in [0, 1] {
        let (world, _) = world_of(move |_, task, mut link| async move {
            takes_and_says(&task, &link, "so").await;
            let called = Observation::FunctionCall {
                call_id: "c1".into(),
                name: "ask".into(),
                arguments: "{}".into(),
                background: true,
            };
            link.saw(called).await.expect("live");
            link.steer.recv().await.expect("an answer");
            let mut taken = taken(&["a"], &["a"]);
            taken.answers = told;
            keeps(&link, taken).await;
            TurnEnd::Completed
        });
        let mut ask = ask();
        ask["async"] = true.into();
        let request = json!({
            "environment": { "type": "none" },
            "agent": { "model": "demo", "tools": [ask] },
            "input": "go",
        });
        let session = world.create(request).await;
        let asked = |s: &rat_things::api::AgentSession| !s.required_actions.is_empty();
        world.until(&session, asked).await;
        let answer = answer_to(&world, &session, "42").await;
        world.send_surely(&session, "answer", answer).await;
        world.settled(&session).await;
        world.sound();
        assert_eq!(row(&world, &session).await.is_some(), told == 1);
    }
}

#[tokio::test(start_paused = true)]
pub async fn what_is_kept_while_a_client_is_awaited_is_there_when_it_answers() {
    let (world, given) = world_of(|started, task, link| async move {
        if started > 0 {
            takes_and_says(&task, &link, "thanks").await;
            return TurnEnd::Completed;
        }
        takes_and_says(&task, &link, "wait").await;
        let called = Observation::FunctionCall {
            call_id: "c1".into(),
            name: "ask".into(),
            arguments: "{}".into(),
            background: false,
        };
        link.saw(called).await.expect("live");
        keeps(&link, taken(&["a"], &["a"])).await;
        TurnEnd::Waiting
    });
    let session = world.create(managed("go")).await;
    world
        .until(&session, |s| s.status == SessionStatus::RequiresAction)
        .await;
    let answer = answer_to(&world, &session, "42").await;
    world.send_surely(&session, "answer", answer).await;
    world.settled(&session).await;
    world.sound();
    // The answer stands with its call, which it holds.
    assert_eq!(all(&given), [None, some(&[], &["a"])]);
    assert_eq!(
        lines(&world.items(&session).await)
            .last()
            .map(String::as_str),
        Some("Assistant: thanks")
    );
}

#[tokio::test(start_paused = true)]
pub async fn why_a_checkpoint_was_not_used_is_kept_with_the_run() {
    let (world, given) = world_of(|started, task, link| async move {
        let program = HarnessProgram {
            name: "keeps".into(),
            version: "1".into(),
            sha256: String::new(),
        };
        // The harness has a reason of its own once.
        let anew = (started == 3).then(|| "it does not like it".to_owned());
        let driven = Observation::DrivenBy { program, anew };
        link.saw(driven).await.expect("live");
        takes_and_says(&task, &link, "so").await;
        keeps(&link, taken(&["a"], &["a"])).await;
        TurnEnd::Completed
    });
    let session = plays(&world, 1).await;
    assert_eq!(began_anew(&world, &session).await, None);
    let mut ahead = row(&world, &session).await.expect("there is one");
    ahead.position.item += 7;
    for (value, turn, why) in [
        (encode(&ahead), 3, "it is ahead of the records"),
        (
            encode(&row(&world, &session).await),
            4,
            "it does not like it",
        ),
        (b"{}".to_vec(), 5, "its row can't be read"),
    ] {
        let key = Key::new(keys::session_partition(&session), keys::CHECKPOINT);
        let write = Write {
            key,
            guard: Guard::Any,
            change: Change::Put(value),
        };
        let id = CommitId::random(&*world.core.ids);
        let writes = vec![write];
        let put = world
            .core
            .commit_once(Commit {
                id,
                writes: writes.into(),
            })
            .await;
        put.expect("committed");
        world.say(&session, why, "more").await;
        world.settled(&session).await;
        let anew = began_anew(&world, &session).await.expect("it is told");
        assert_eq!(anew.turn, turn);
        assert!(anew.why.contains(why), "{}", anew.why);
    }
    world.sound();
    let was_given: Vec<bool> = all(&given).iter().map(Option::is_some).collect();
    assert_eq!(was_given, [false, true, false, true, false]);
}

/// What the last Run says of a new beginning.
async fn began_anew(world: &World, session: &SessionId) -> Option<BeganAnew> {
    let generation = world.read(session).await.head.fence.generation;
    let run: Option<RunRow> = world
        .core
        .row(session, keys::run(generation))
        .await
        .expect("readable");
    run.expect("there is one").began_anew
}

/// Lets two days pass in which nothing is done but chores; none is left.
async fn two_days_pass(world: &World) {
    world.stop_dispatching();
    let early = Duration::from_secs(23 * 3_600);
    tokio::time::sleep(early).await;
    let before = chores(world).await;
    world.core.do_chores().await.expect("does");
    assert_eq!(chores(world).await, before, "nothing goes within a day");
    tokio::time::sleep(Duration::from_secs(48 * 3_600) - early).await;
    world.core.do_chores().await.expect("does");
    assert_eq!(chores(world).await, 0);
    world.sound();
}

async fn chores(world: &World) -> usize {
    let range = Range {
        partition: keys::CHORES.to_owned(),
        from: String::new(),
        until: None,
        reverse: false,
        limit: 100,
    };
    let page = world.core.store.range(&range).await.expect("reads");
    page.records.len()
}

/// Which of these texts are stored in the Session.
async fn stored<'a>(world: &World, session: &SessionId, texts: &[&'a str]) -> Vec<&'a str> {
    let scope = world.core.scope(OWNER, session);
    let mut there = Vec::new();
    for text in texts {
        if world.core.blobs.has(&scope, &blob(text)).await == Ok(true) {
            there.push(*text);
        }
    }
    there
}

#[tokio::test(start_paused = true)]
pub async fn superseded_bytes_go_a_day_later_unless_something_else_names_them() {
    /// The bytes of what the agent says, as an Item has them.
    const SAID: &str = "\"said\"";
    let (world, given) = world_of_settings(
        Settings {
            inline_bytes: 0,
            ..Settings::default()
        },
        |started, task, link| async move {
            // An Item has the same bytes as one of the checkpoints.
            takes_and_says(&task, &link, "said").await;
            match started {
                0 => keeps(&link, taken(&["a", "b", SAID], &["a", "b", SAID])).await,
                1 => keeps(&link, taken(&["a", "c"], &["c"])).await,
                2 => keeps(&link, taken(&["a", "d"], &["d"])).await,
                _ => {}
            }
            TurnEnd::Completed
        },
    );
    let session = plays(&world, 2).await;
    let all_texts = ["a", "b", "c", "d", SAID];
    assert_eq!(stored(&world, &session, &all_texts).await, all_texts);
    assert_eq!(chores(&world).await, 2);
    two_days_pass(&world).await;
    assert_eq!(stored(&world, &session, &all_texts).await, ["a", "d", SAID]);
    world.start_dispatching();
    world.say(&session, "after", "more").await;
    world.settled(&session).await;
    assert_eq!(all(&given).pop(), Some(some(&[], &["a", "d"])));
}

#[tokio::test(start_paused = true)]
pub async fn bytes_that_are_kept_again_stay() {
    let (world, given) = world_of(|started, task, link| async move {
        takes_and_says(&task, &link, "so").await;
        match started {
            0 => keeps(&link, taken(&["a"], &["a"])).await,
            1 => {
                keeps(&link, taken(&["b"], &["b"])).await;
                // What was superseded just now is stored anew, or not kept.
                keeps(&link, taken(&["a", "b"], &[])).await;
                keeps(&link, taken(&["c"], &["c"])).await;
                keeps(&link, taken(&["a"], &["a"])).await;
            }
            _ => {}
        }
        TurnEnd::Completed
    });
    let session = plays(&world, 1).await;
    two_days_pass(&world).await;
    assert_eq!(stored(&world, &session, &["a", "b", "c"]).await, ["a"]);
    world.start_dispatching();
    world.say(&session, "after", "more").await;
    world.settled(&session).await;
    assert_eq!(all(&given).pop(), Some(some(&[], &["a"])));
}

#[tokio::test(start_paused = true)]
pub async fn a_session_travels_without_a_checkpoint_that_lacks_bytes() {
    let (world, _) = world_of(|_, task, link| async move {
        takes_and_says(&task, &link, "so").await;
        keeps(&link, taken(&["a", "b"], &["a", "b"])).await;
        TurnEnd::Completed
    });
    let session = plays(&world, 0).await;
    let scope = world.core.scope(OWNER, &session);
    let lost = blob("b").sha256;
    let removed = world.core.blobs.remove(&scope, &lost, u64::MAX).await;
    assert!(removed.expect("it can be removed"));
    let mut written = Written::default();
    let exported = world
        .core
        .export_session(OWNER, &session, "test", &mut written, &|_, _| {})
        .await
        .expect("it is a cache");
    let why = exported.without_checkpoint.expect("it is left out");
    assert!(
        why.contains(&lost) && why.contains("are not stored"),
        "{why}"
    );
    let carried = exported.manifest.blobs.iter().map(|blob| &blob.sha256);
    assert_eq!(
        carried
            .filter(|sha256| [&lost, &blob("a").sha256].contains(sha256))
            .count(),
        0
    );
    let target = Target::new();
    target.import(&written.entries).await.expect("imports");
    target.assert_sound();
    assert!(target.sees(&session).await);
    let sort = keys::CHECKPOINT.to_owned();
    let there: Option<CheckpointRow> = target.core.row(&session, sort).await.expect("readable");
    assert_eq!(there, None);
}

#[tokio::test(start_paused = true)]
pub async fn a_checkpoint_travels_with_its_session() {
    let (world, _) = world_of(|_, task, link| async move {
        takes_and_says(&task, &link, "so").await;
        keeps(&link, taken(&["a", "b", "a"], &["a", "b"])).await;
        TurnEnd::Completed
    });
    let session = plays(&world, 0).await;
    let entries = export(&world.core, OWNER, &session).await;
    let target = Target::new();
    target.import(&entries).await.expect("imports");
    target.assert_sound();
    let sort = keys::CHECKPOINT.to_owned();
    let there: Option<CheckpointRow> = target.core.row(&session, sort).await.expect("readable");
    assert_eq!(there, row(&world, &session).await);
    let scope = target.core.scope(IMPORTER, &session);
    for text in ["a", "b"] {
        let bytes = target.core.blobs.get(&scope, &blob(text)).await;
        assert_eq!(bytes.expect("it is stored"), Bytes::from(text));
    }
}
