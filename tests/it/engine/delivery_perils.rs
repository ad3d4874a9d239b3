//! Senders die, come back and lose their store at every instant: nothing is sent again that may have arrived (I6).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rat_things::backend::memory::courier::ScriptedCourier;
use rat_things::engine::deliver::Policy;
use rat_things::engine::delivery::{DeliveryState, Notice};
use rat_things::engine::ids::SessionId;

use super::deliveries::{becomes, done, failed, notice, owe, row};
use super::ground::Ground;
use super::perils::{Fuse, NthCommit, Peril, Role, WAYS};
use super::world::{Setup, World, eventually, managed};

/// Three deliveries, one of which fails at first; something happens to the deliverer at one instant, and another one follows.
/// How many were uncertain, and how many are still when the first one has come back; `None` if the instant was not reached.
async fn peril_at(n: usize, peril: Peril) -> Option<(usize, usize)> {
    let world = World::new();
    let session = done(&world).await;
    let courier = Arc::new(ScriptedCourier::new());
    courier.will(failed("503", true));
    let fuse = Fuse::new(Role::Deliverer, n, peril);
    let first = world.start_delivering(courier.clone(), Policy::default(), &fuse);
    let notices: Vec<Notice> = (0..3).map(notice).collect();
    let ids = owe(&world, &session, &notices).await.expect("owed");
    let over = async || {
        let mut owed = false;
        for id in &ids {
            owed |= row(&world, &session, id).await.state.is_owed();
        }
        !owed
    };
    let mut second = None;
    tokio::select! {
        _ = fuse.victim(), if peril == Peril::Stops => {
            second = Some(world.start_delivering(courier.clone(), Policy::default(), &Fuse::none()));
            assert!(eventually(over).await);
        }
        ended = eventually(over) => assert!(ended),
    }
    let when = format!("instant {n} ({})", fuse.place());
    let uncertain = nothing_twice(&world, &session, &courier, &ids, &when).await;
    if !fuse.blown() {
        return None;
    }
    let mut after = uncertain;
    if peril == Peril::Stops {
        fuse.victim().await.thaw();
        tokio::time::sleep(Duration::from_secs(300)).await;
        after = nothing_twice(&world, &session, &courier, &ids, &when).await;
    }
    drop((first, second));
    Some((uncertain, after))
}

/// No delivery was sent again unless it had provably failed. How many are uncertain.
async fn nothing_twice(
    world: &World,
    session: &SessionId,
    courier: &ScriptedCourier,
    ids: &[String],
    when: &str,
) -> usize {
    world.sound();
    let mut sent: BTreeMap<String, usize> = BTreeMap::new();
    for parcel in courier.attempts() {
        *sent.entry(parcel.delivery_id).or_default() += 1;
    }
    let mut uncertain = 0;
    let mut arrived = 0;
    for id in ids {
        let row = row(world, session, id).await;
        let times = sent.get(id).copied().unwrap_or(0);
        assert!(
            times <= row.attempts as usize,
            "{when}: sent {times} times: {row:?}"
        );
        match row.state {
            DeliveryState::Delivered => assert!(times > 0, "{when}: {row:?}"),
            DeliveryState::Uncertain => {
                // A program that stands still has timers that do not.
                let lost =
                    |answer: &String| answer.contains("was lost") || answer.contains("in time");
                let lost = row.answer.as_ref().is_some_and(lost);
                assert!(lost, "{when}: {row:?}");
                uncertain += 1;
            }
            other => panic!("{when}: {other}"),
        }
        arrived += times;
    }
    // The first attempt of all failed: nothing else may be sent again.
    assert!(arrived <= ids.len() + 1, "{when}: {arrived} attempts");
    uncertain
}

#[tokio::test(start_paused = true)]
pub async fn a_sender_that_dies_at_any_instant_leaves_what_it_was_sending_uncertain_and_nothing_twice()
 {
    let (mut instants, mut lost, mut known_late) = (0, 0, 0);
    while let Some((uncertain, after)) = peril_at(instants, Peril::Stops).await {
        instants += 1;
        lost += uncertain;
        known_late += uncertain - after;
    }
    assert!(instants > 20, "only {instants} instants");
    assert!(lost > 5, "only {lost} were ever uncertain");
    // What a sender learns after its attempt was given up is still worth knowing.
    assert!(known_late > 5, "only {known_late} were settled late");
}

#[tokio::test(start_paused = true)]
pub async fn a_store_call_of_a_sender_that_fails_once_makes_nothing_uncertain() {
    let mut calls = 0;
    while let Some((uncertain, _)) = peril_at(calls, Peril::Fails).await {
        assert_eq!(uncertain, 0, "call {calls}");
        calls += 1;
    }
    assert!(calls > 10, "only {calls} calls");
}

#[tokio::test(start_paused = true)]
pub async fn a_commit_that_fails_once_in_any_way_sends_nothing_twice() {
    for way in WAYS {
        for n in 0.. {
            let plan = NthCommit::new(n, way.clone());
            let world = Setup {
                ground: Ground::over(plan.store()),
                ..Setup::default()
            }
            .build();
            let session = world.create_surely("create", managed("@say hello")).await;
            world.settled(&session).await;
            world.at_rest().await;
            let courier = Arc::new(ScriptedCourier::new());
            let running = world.start_delivering(courier.clone(), Policy::default(), &Fuse::none());
            let ids = owe(&world, &session, &[notice(1), notice(2)])
                .await
                .expect("owed");
            for id in &ids {
                becomes(&world, &session, id, DeliveryState::Delivered).await;
            }
            assert_eq!(courier.attempts().len(), 2, "commit {n}: {way:?}");
            drop(running);
            if !plan.happened() {
                break;
            }
        }
    }
}
