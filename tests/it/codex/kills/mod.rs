//! The kill table: Codex, the worker with it, or everything is killed with `kill -9` at each moment of a Turn, and at any other. The same Turn
//! completes, its command has run at most once, and the model is told of each input exactly once.
//!
//! The table is printed, and docs/codex.md has one of many rounds: `RAT_THINGS_TEST_CODEX_KILLS=20` plays each moment so often.

mod moment;
mod round;
mod scene;
mod table;

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::moment::Moment;
use self::round::{Plan, World};
use self::table::Table;
use crate::kill::dice::{self, Dice};

/// Data directories in which rounds are played at the same time.
const AT_ONCE: usize = 3;
/// Of each moment, and twice as many at random instants.
fn rounds() -> usize {
    match std::env::var("RAT_THINGS_TEST_CODEX_KILLS") {
        Ok(text) => text
            .parse()
            .expect("RAT_THINGS_TEST_CODEX_KILLS is a number"),
        Err(_) => 2,
    }
}

/// The rounds, in an order that the dice decide about, so that no row has the machine to itself.
fn plans(dice: &mut Dice, rounds: usize) -> Vec<Plan> {
    let mut plans = Vec::new();
    for moment in Moment::ALL {
        let targets = moment.targets().iter().cycle().take(rounds);
        plans.extend(targets.map(|target| Plan {
            moment,
            target: *target,
        }));
    }
    plans.extend((0..2 * rounds).map(|_| Plan::at_random(dice)));
    for at in (1..plans.len()).rev() {
        let other = dice.below(at as u64 + 1);
        plans.swap(at, usize::try_from(other).expect("an index"));
    }
    plans
}

#[test]
fn the_same_turn_completes_and_nothing_is_done_or_told_twice_whenever_codex_is_killed() {
    let seed = dice::seed();
    let plans = plans(&mut Dice::new(seed), rounds());
    let next = AtomicUsize::new(0);
    let table = Mutex::new(Table::default());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(plans.len()) {
            scope.spawn(|| {
                let mut world = None;
                while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        world.get_or_insert_with(World::new).play(plan)
                    }));
                    match played {
                        Ok(outcome) => table.lock().expect("held").add(plan, &outcome),
                        Err(_) => {
                            failures.lock().expect("held").push(format!("{plan:?}"));
                            // What it left behind is nobody else's beginning.
                            world = None;
                        }
                    }
                }
                if let Some(world) = world {
                    world.stop();
                }
            });
        }
    });
    let table = table.into_inner().expect("held");
    let _ = writeln!(std::io::stderr(), "kills of Codex: seed {seed}\n{table}");
    let failures = failures.into_inner().expect("held");
    assert!(
        failures.is_empty(),
        "RAT_THINGS_TEST_SEED={seed}\n{}",
        failures.join("\n")
    );
}
