//! Short stories without chance, told once for every instant at which a program can be killed, for everything that can become of
//! a commit, and for pairs of these.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rat_things::engine::core::{Core, Settings};
use rat_things::engine::session::Head;
use tokio::time::Instant;

use super::client::Clients;
use super::ending;
use super::faults::{Fault, Rates};
use super::parts::Parts;
use super::report::{self, say};
use super::shared::{Plan, Shared, Way};
use super::stories::{STORIES, Story};
use super::world::{OWNER, Outcome, Setup, World, alone, outcome};

/// What may become of a commit.
const WAYS: [Way; 4] = [
    Way::Away,
    Way::AnswerLost,
    Way::CommitLost,
    Way::KilledAfter,
];
/// Time for a story, however much goes wrong in it.
const STORY_S: u64 = 600;

/// Tells a story, with this trouble in it.
fn told(story: &Story, plan: Plan) -> Outcome {
    let panics = report::panics();
    let apart = !story.clocks.is_empty();
    let plan = Plan {
        clocks: story.clocks,
        ..plan
    };
    let setup = Setup {
        plan: plan.clone(),
        ..Setup::of(7)
    };
    let rates = match apart {
        true => Rates::only(Fault::RingLost),
        false => Rates::none(),
    };
    alone(async {
        let shared = Shared::new(setup.seed, rates, plan, u64::MAX);
        let settings = Settings {
            lease_ms: 3_000,
            batch_ms: 20,
            inline_bytes: 200,
            ..Settings::default()
        };
        let mut parts = Parts::new(setup.seed, &shared, settings, setup.sabotage);
        parts.script = Some(story.script);
        let mut world = World::new(parts, false);
        world.start(if apart { 2 } else { 1 });
        // A worker that has stopped is out of sight, and a person vouches for its end: it comes back to a Session of others.
        world.fleet.blind.store(true, Ordering::SeqCst);
        let operator = tokio::spawn(vouch(world.clients.clone()));
        let until = Instant::now() + Duration::from_secs(STORY_S);
        let telling = (story.tell)(world.clients.clone(), Arc::clone(&world.fleet));
        if tokio::time::timeout_at(until, telling).await.is_err() {
            shared.broken("liveness", "the story does not come to its end");
        }
        let reached = shared.reached();
        operator.abort();
        ending::come_to_rest(&world).await;
        if !shared.failed() {
            (story.holds)(&world.clients);
        }
        Outcome {
            reached,
            ..outcome(&shared, panics)
        }
    })
}

/// A person ends every quarantine.
async fn vouch(clients: Clients) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let mut missed = Vec::new();
        clients.parts.watch.each(|id, watched| {
            let head = watched.facts.head();
            let quarantined = |head: &Head| head.fence.quarantine.is_some();
            missed.extend(head.filter(|head| quarantined(head)).map(|_| id.clone()));
        });
        for session in missed {
            // It may have ended by itself, or the Session may be deleted.
            let vouch = async |core: &Core| core.release_quarantine(OWNER, &session).await;
            drop(clients.command("vouch", vouch).await);
        }
    }
}

/// Tells a story with each of these plans; the first one that fails.
fn all_of(story: &Story, plans: &[Plan]) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let tell = || {
            while let Some(plan) = plans.get(next.fetch_add(1, Ordering::SeqCst)) {
                let outcome = told(story, plan.clone());
                let struck = [
                    "planned kills",
                    "planned stops",
                    "planned stalls",
                    "planned commit faults",
                    "planned read faults",
                ];
                let struck = struck.iter().any(|what| outcome.counts.contains_key(*what));
                assert!(struck, "{}: nothing came of {plan:?}", story.name);
                assert!(
                    outcome.failures.is_empty(),
                    "{} with {plan:?}:\n{}\n\nthe last steps:\n{}",
                    story.name,
                    outcome.failures.join("\n"),
                    outcome.tail.join("\n")
                );
            }
        };
        scope.spawn(tell);
        scope.spawn(tell);
    });
}

fn killed_at(instants: &[usize]) -> Plan {
    Plan {
        kills: instants.to_vec(),
        ..Plan::default()
    }
}

fn frozen_at(instant: usize) -> Plan {
    Plan {
        freezes: vec![instant],
        ..Plan::default()
    }
}

fn stalled_at(instants: &[usize]) -> Plan {
    Plan {
        stalls: instants.to_vec(),
        ..Plan::default()
    }
}

fn commits(ways: &[(usize, Way)]) -> Plan {
    Plan {
        commits: ways.to_vec(),
        ..Plan::default()
    }
}

fn unread(read: usize) -> Plan {
    Plan {
        reads: vec![read],
        ..Plan::default()
    }
}

#[test]
fn every_story_ends_well_whatever_is_killed_or_lost_in_it() {
    let mut table = String::from("story | instants | commits | reads | worlds\n");
    for story in STORIES {
        let calm = told(story, Plan::default());
        assert!(
            calm.failures.is_empty(),
            "{}: {:?}\n{}",
            story.name,
            calm.failures,
            calm.tail.join("\n")
        );
        let (instants, made, reads) = calm.reached;
        let mut plans: Vec<Plan> = (1..=instants).map(|n| killed_at(&[n])).collect();
        plans.extend((1..=instants).map(frozen_at));
        plans.extend((1..=instants).map(|n| stalled_at(&[n])));
        for first in 1..=instants {
            let pairs = (first + 1..=first + STALLED_PAIRS).step_by(2);
            plans.extend(pairs.map(|second| stalled_at(&[first, second])));
        }
        plans.extend((1..=reads).map(unread));
        for n in 1..=made {
            plans.extend(WAYS.iter().map(|way| commits(&[(n, *way)])));
        }
        // Pairs: of two commits each way, and of a commit and the death of whoever comes next.
        for first in 1..=made {
            for second in first + 1..=(first + PAIRED).min(made + 2) {
                for one in [Way::AnswerLost, Way::KilledAfter] {
                    for two in [Way::AnswerLost, Way::KilledAfter] {
                        plans.push(commits(&[(first, one), (second, two)]));
                    }
                }
            }
        }
        for first in (1..=instants).step_by(2) {
            plans.extend(
                [4, 11, 23, 40]
                    .iter()
                    .map(|behind| killed_at(&[first, first + behind])),
            );
        }
        all_of(story, &plans);
        table += &format!(
            "{} | {instants} | {made} | {reads} | {}\n",
            story.name,
            plans.len() + 1
        );
    }
    say(&table);
}

/// How far apart the waits of a pair are at most.
const STALLED_PAIRS: usize = 8;
/// How far apart the commits of a pair are at most.
const PAIRED: usize = 6;
