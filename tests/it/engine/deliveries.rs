//! Deliveries over a scripted courier: every answer, operators, many senders, and that none of it touches the work of agents
//! (I9).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rat_things::backend::memory::courier::ScriptedCourier;
use rat_things::engine::core::encode;
use rat_things::engine::deliver::Policy;
use rat_things::engine::delivery::{DeliveryRow, DeliveryState, Notice, enqueue_delivery};
use rat_things::engine::draft::Draft;
use rat_things::engine::error::EngineError;
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::Body;
use rat_things::engine::keys::{self, Group};
use rat_things::engine::outbox::Reconcile;
use rat_things::engine::ports::{
    Change, Commit, CommitId, Courier, Guard, Parcel, Sent, StoreError, Write,
};
use tokio::sync::{Mutex, Notify};

use super::perils::Fuse;
use super::world::{OWNER, World, eventually, lines, managed};

/// Something to tell; another `n` is another destination.
pub fn notice(n: usize) -> Notice {
    Notice {
        destination: format!("https://example.test/{n}"),
        event: "session.idle".into(),
        about: "turn 1".into(),
        body: Body::Inline(format!("{{\"n\": {n}, \"text\": \"é\"}}").into()),
    }
}

/// A Session that has done its work.
pub async fn done(world: &World) -> SessionId {
    let session = world.create(managed("@say hello")).await;
    world.settled(&session).await;
    world.at_rest().await;
    session
}

/// Owes deliveries, as the end of a Turn would.
pub async fn owe(
    world: &World,
    session: &SessionId,
    notices: &[Notice],
) -> Result<Vec<String>, StoreError> {
    loop {
        let loaded = world
            .core
            .load(session)
            .await
            .expect("readable")
            .expect("there");
        let mut draft = Draft::of(session, &loaded, world.core.clock.now_ms());
        let ids = notices
            .iter()
            .map(|notice| enqueue_delivery(&mut draft, notice.clone()))
            .collect();
        let (commit, _) = draft.seal(&*world.core.ids);
        match world.core.commit_once(commit).await {
            Ok(()) => {
                world.core.bell.ring(session.as_str());
                return Ok(ids);
            }
            Err(StoreError::Throttled | StoreError::Unavailable(_)) => {}
            Err(StoreError::Conflict(key)) if key.sort == keys::HEAD => {}
            Err(error) => return Err(error),
        }
    }
}

/// A delivery's row.
pub async fn row(world: &World, session: &SessionId, id: &str) -> DeliveryRow {
    let row = world.core.row(session, keys::delivery(id)).await;
    row.expect("readable").expect("there")
}

/// Waits until a delivery is as asked.
pub async fn becomes(
    world: &World,
    session: &SessionId,
    id: &str,
    state: DeliveryState,
) -> DeliveryRow {
    let so = async || row(world, session, id).await.state == state;
    assert!(eventually(so).await, "{:?}", row(world, session, id).await);
    world.sound();
    row(world, session, id).await
}

/// A courier's answer: it did not arrive.
pub fn failed(message: &str, retryable: bool) -> Sent {
    Sent::Failed {
        message: message.into(),
        retryable,
    }
}

struct Scene {
    world: World,
    session: SessionId,
    courier: Arc<ScriptedCourier>,
    id: String,
}

/// One delivery whose attempts are answered so.
async fn scene(policy: Policy, answers: Vec<Sent>) -> Scene {
    let world = World::new();
    let session = done(&world).await;
    let courier = Arc::new(ScriptedCourier::new());
    for answer in answers {
        courier.will(answer);
    }
    let (stop, _) = world.start_delivering(courier.clone(), policy, &Fuse::none());
    // It lives as long as the test.
    std::mem::forget(stop);
    let ids = owe(&world, &session, &[notice(1)]).await.expect("owed");
    Scene {
        world,
        session,
        courier,
        id: ids[0].clone(),
    }
}

#[tokio::test(start_paused = true)]
pub async fn what_arrives_is_delivered_once() {
    let scene = scene(Policy::default(), vec![]).await;
    let row = becomes(
        &scene.world,
        &scene.session,
        &scene.id,
        DeliveryState::Delivered,
    )
    .await;
    assert_eq!((row.attempts, row.answer), (1, None));
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    let attempts = scene.courier.attempts();
    assert_eq!(attempts.len(), 1);
    assert_eq!(attempts[0].delivery_id, scene.id);
    assert_eq!(
        &attempts[0].body[..],
        "{\"n\": 1, \"text\": \"é\"}".as_bytes()
    );
}

#[tokio::test(start_paused = true)]
pub async fn p09_every_attempt_has_the_same_id_and_the_same_bytes() {
    let answers = vec![failed("503", true); 3];
    let scene = scene(Policy::default(), answers).await;
    let row = becomes(
        &scene.world,
        &scene.session,
        &scene.id,
        DeliveryState::Delivered,
    )
    .await;
    assert_eq!((row.attempts, row.answer.as_deref()), (4, Some("503")));
    let attempts = scene.courier.attempts();
    assert_eq!(attempts, vec![attempts[0].clone(); 4]);
}

#[tokio::test(start_paused = true)]
pub async fn pauses_between_attempts_grow_and_attempts_end() {
    let policy = Policy {
        tries: 4,
        first_pause_ms: 1_000,
        longest_pause_ms: 3_000,
        ..Policy::default()
    };
    let scene = scene(policy, vec![failed("503", true); 10]).await;
    let begun_ms = scene.world.core.clock.now_ms();
    let row = becomes(
        &scene.world,
        &scene.session,
        &scene.id,
        DeliveryState::Failed,
    )
    .await;
    assert_eq!((row.attempts, row.answer.as_deref()), (4, Some("503")));
    let took_ms = row.changed_ms - begun_ms;
    assert!((6_000..10_000).contains(&took_ms), "{took_ms} ms");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(scene.courier.attempts().len(), 4);
}

#[tokio::test(start_paused = true)]
pub async fn a_refusal_is_not_repeated() {
    let scene = scene(Policy::default(), vec![failed("410 gone", false)]).await;
    let row = becomes(
        &scene.world,
        &scene.session,
        &scene.id,
        DeliveryState::Failed,
    )
    .await;
    assert_eq!((row.attempts, row.answer.as_deref()), (1, Some("410 gone")));
}

#[tokio::test(start_paused = true)]
pub async fn what_may_have_arrived_is_never_repeated_by_itself() {
    let scene = scene(Policy::default(), vec![Sent::Uncertain("cut off".into())]).await;
    let row = becomes(
        &scene.world,
        &scene.session,
        &scene.id,
        DeliveryState::Uncertain,
    )
    .await;
    assert_eq!(row.answer.as_deref(), Some("cut off"));
    tokio::time::sleep(Duration::from_secs(2 * 3_600)).await;
    assert_eq!(scene.courier.attempts().len(), 1);
    let head = scene.world.read(&scene.session).await.head;
    assert_eq!(head.agenda.deliver, None);
}

#[tokio::test(start_paused = true)]
pub async fn an_operator_settles_what_is_uncertain() {
    for (how, state) in [
        (Reconcile::Arrived, DeliveryState::Delivered),
        (Reconcile::GiveUp, DeliveryState::Failed),
        (Reconcile::SendAgain, DeliveryState::Delivered),
    ] {
        let scene = scene(Policy::default(), vec![Sent::Uncertain("cut off".into())]).await;
        let Scene {
            world, session, id, ..
        } = &scene;
        becomes(world, session, id, DeliveryState::Uncertain).await;
        let core = &world.core;
        core.reconcile_delivery(OWNER, session, id, how)
            .await
            .expect("uncertain");
        becomes(world, session, id, state).await;
        let sent = 1 + usize::from(how == Reconcile::SendAgain);
        assert_eq!(scene.courier.attempts().len(), sent, "{how:?}");
        let again = core
            .reconcile_delivery(OWNER, session, id, Reconcile::Arrived)
            .await;
        assert!(matches!(again, Err(EngineError::Conflict(_))), "{again:?}");
    }
}

#[tokio::test(start_paused = true)]
pub async fn operators_are_refused_what_does_not_exist_or_is_not_theirs() {
    let scene = scene(Policy::default(), vec![]).await;
    let Scene {
        world, session, id, ..
    } = &scene;
    becomes(world, session, id, DeliveryState::Delivered).await;
    let core = &world.core;
    let missing = format!("dlv_{}", "a".repeat(26));
    let asked = core
        .reconcile_delivery(OWNER, session, &missing, Reconcile::GiveUp)
        .await;
    assert!(
        matches!(
            asked,
            Err(EngineError::NotFound {
                what: "delivery",
                ..
            })
        ),
        "{asked:?}"
    );
    let stranger = "f".repeat(32);
    let asked = core
        .reconcile_delivery(&stranger, session, id, Reconcile::GiveUp)
        .await;
    assert!(
        matches!(
            asked,
            Err(EngineError::NotFound {
                what: "session",
                ..
            })
        ),
        "{asked:?}"
    );
    let asked = core
        .reconcile_delivery(OWNER, session, id, Reconcile::SendAgain)
        .await;
    let told = asked.expect_err("delivered").to_string();
    assert_eq!(
        told,
        "this delivery is delivered, which does not allow that"
    );
}

#[tokio::test(start_paused = true)]
pub async fn the_same_notice_is_owed_once() {
    let world = World::new();
    let session = done(&world).await;
    let first = owe(&world, &session, &[notice(1), notice(2)])
        .await
        .expect("owed");
    let again = owe(&world, &session, &[notice(1)]).await;
    assert!(matches!(again, Err(StoreError::Conflict(_))), "{again:?}");
    let other = Notice {
        about: "turn 2".into(),
        ..notice(1)
    };
    let other = owe(&world, &session, &[other]).await.expect("owed");
    assert!(!first.contains(&other[0]));
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn many_deliveries_are_listed_page_by_page_and_each_is_sent_once() {
    let world = World::new();
    let session = done(&world).await;
    let courier = Arc::new(ScriptedCourier::new());
    // Two of them: they need no leader.
    let one = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
    let two = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
    let mut ids = Vec::new();
    for some in (0..60).collect::<Vec<usize>>().chunks(6) {
        let notices: Vec<Notice> = some.iter().map(|n| notice(*n)).collect();
        ids.extend(owe(&world, &session, &notices).await.expect("owed"));
    }
    for id in &ids {
        becomes(&world, &session, id, DeliveryState::Delivered).await;
    }
    let mut sent: Vec<String> = courier
        .attempts()
        .into_iter()
        .map(|p| p.delivery_id)
        .collect();
    sent.sort();
    ids.sort();
    assert_eq!(sent, ids);
    let read = world.read(&session).await;
    let mut listed = Vec::new();
    let mut more = true;
    while more {
        let after = listed.last().map(String::as_str);
        let (page, goes_on) = world
            .core
            .list_deliveries(&read, after, 7)
            .await
            .expect("listed");
        listed.extend(page.into_iter().map(|(id, _)| id));
        more = goes_on;
    }
    assert_eq!(listed, ids);
    drop((one, two));
}

/// Answers one destination only when it is told to.
struct Slow {
    opened: Notify,
    begun: Mutex<Vec<String>>,
}

#[async_trait]
impl Courier for Slow {
    async fn send(&self, parcel: &Parcel) -> Sent {
        self.begun.lock().await.push(parcel.destination.clone());
        if parcel.destination.ends_with("/0") {
            self.opened.notified().await;
        }
        Sent::Delivered
    }
}

fn slow() -> Arc<Slow> {
    Arc::new(Slow {
        opened: Notify::new(),
        begun: Mutex::default(),
    })
}

#[tokio::test(start_paused = true)]
pub async fn a_destination_that_is_slow_holds_up_no_other() {
    let world = World::new();
    let session = done(&world).await;
    let courier = slow();
    let _running = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
    let notices: Vec<Notice> = (0..6).map(notice).collect();
    let ids = owe(&world, &session, &notices).await.expect("owed");
    let late = owe(&world, &session, &[notice(7)]).await.expect("owed");
    let begun_ms = world.core.clock.now_ms();
    for id in ids[1..].iter().chain(&late) {
        becomes(&world, &session, id, DeliveryState::Delivered).await;
    }
    assert!(world.core.clock.now_ms() - begun_ms < 5_000);
    assert_eq!(
        row(&world, &session, &ids[0]).await.state,
        DeliveryState::Sending
    );
    let back = world
        .core
        .reconcile_delivery(OWNER, &session, &ids[0], Reconcile::GiveUp)
        .await;
    assert!(
        matches!(back, Err(EngineError::Conflict(_))),
        "it is on its way: {back:?}"
    );
    courier.opened.notify_one();
    becomes(&world, &session, &ids[0], DeliveryState::Delivered).await;
}

#[tokio::test(start_paused = true)]
pub async fn a_destination_that_never_answers_is_uncertain() {
    let world = World::new();
    let session = done(&world).await;
    let courier = slow();
    let _running = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
    let ids = owe(&world, &session, &[notice(0)]).await.expect("owed");
    let row = becomes(&world, &session, &ids[0], DeliveryState::Uncertain).await;
    assert!(row.answer.is_some_and(|answer| answer.contains("in time")));
    assert_eq!(courier.begun.lock().await.len(), 1);
}

#[tokio::test(start_paused = true)]
pub async fn a_failed_notification_never_touches_the_work_of_agents() {
    let policy = Policy {
        tries: 5,
        ..Policy::default()
    };
    let scene = scene(policy, vec![failed("503", true); 12]).await;
    let Scene {
        world, session, id, ..
    } = &scene;
    let runs = world.compute.granted().len();
    let told = lines(&world.items(session).await);
    let row = becomes(world, session, id, DeliveryState::Failed).await;
    assert_eq!(row.attempts, policy.tries);
    assert_eq!(world.compute.granted().len(), runs);
    assert_eq!(lines(&world.items(session).await), told);
    let head = world.read(session).await.head;
    assert_eq!(
        (head.turn, head.agenda.execute, head.last_error),
        (None, None, None)
    );
}

#[tokio::test(start_paused = true)]
pub async fn agents_work_while_their_notifications_fail() {
    let scene = scene(Policy::default(), vec![failed("503", true); 12]).await;
    let Scene {
        world, session, id, ..
    } = &scene;
    for n in 0..5 {
        let notice = Notice {
            about: format!("later {n}"),
            ..notice(n)
        };
        owe(world, session, &[notice]).await.expect("owed");
        world
            .say(session, &format!("k{n}"), &format!("@exec c{n}\n@say done"))
            .await;
        world.settled(session).await;
    }
    assert_eq!(world.commands().len(), 5);
    let over = async || !row(world, session, id).await.state.is_owed();
    assert!(eventually(over).await);
    world.sound();
}

#[tokio::test(start_paused = true)]
pub async fn a_deleted_session_sends_nothing_more() {
    let world = World::new();
    let session = done(&world).await;
    let courier = Arc::new(ScriptedCourier::new());
    let ids = owe(&world, &session, &[notice(1), notice(2)])
        .await
        .expect("owed");
    assert_eq!(ids.len(), 2);
    world
        .core
        .delete_session(OWNER, &session)
        .await
        .expect("deleted");
    let _running = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
    let gone = async || world.store.records().is_empty();
    assert!(eventually(gone).await, "{:#?}", world.store.records());
    assert_eq!(courier.attempts(), []);
}

#[tokio::test(start_paused = true)]
pub async fn an_entry_of_the_agenda_that_no_head_knows_is_removed() {
    let world = World::new();
    let session = done(&world).await;
    let unknown = SessionId::parse(&format!("sess_{}", "q".repeat(26))).expect("well formed");
    for session in [&session, &unknown] {
        let write = Write {
            key: keys::agenda(Group::Deliver, session, 5),
            guard: Guard::Absent,
            change: Change::Put(encode(&())),
        };
        let commit = Commit {
            id: CommitId::random(&*world.core.ids),
            writes: vec![write].into(),
        };
        world.store.commit(commit).await.expect("stored");
    }
    let _running = world.start_delivering(
        Arc::new(ScriptedCourier::new()),
        Policy::default(),
        &Fuse::none(),
    );
    let clean = async || {
        let records = world.store.records();
        !records
            .iter()
            .any(|record| record.key.partition.starts_with("A/"))
    };
    assert!(eventually(clean).await, "{:#?}", world.store.records());
    world.sound();
}

#[test]
fn pauses_never_overflow() {
    let policy = Policy {
        first_pause_ms: u64::MAX / 2,
        longest_pause_ms: u64::MAX,
        ..Policy::default()
    };
    assert_eq!(policy.pause_ms(u32::MAX), u64::MAX);
    let default = Policy::default();
    assert_eq!(default.pause_ms(1), default.first_pause_ms);
    assert_eq!(default.pause_ms(u32::MAX), default.longest_pause_ms);
}
