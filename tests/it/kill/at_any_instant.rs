//! A hundred kills at random instants of a Turn of ten commands.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::dice::{self, Dice};
use super::instant::{Moment, Outcome, Plan, Target, play};

const ROUNDS: u64 = 100;
/// Rounds that are played at the same time; each waits most of the time.
const AT_ONCE: usize = 8;

#[test]
fn a_turn_completes_once_wherever_it_is_killed() {
    let seed = dice::seed();
    let started = Instant::now();
    let next = AtomicU64::new(0);
    let outcomes = Mutex::new(Vec::new());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= ROUNDS {
                        return;
                    }
                    let plan = Plan::draw(&mut Dice::of_round(seed, round));
                    match std::panic::catch_unwind(|| play(&plan)) {
                        Ok(outcome) => outcomes.lock().expect("held").push(outcome),
                        Err(_) => failures
                            .lock()
                            .expect("held")
                            .push(format!("round {round}: {plan:?}")),
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().expect("held");
    let took = started.elapsed().as_secs_f64();
    let _ = writeln!(
        std::io::stderr(),
        "{}; all in {took:.1} s",
        summary(seed, &outcomes)
    );
    let failures = failures.into_inner().expect("held");
    assert!(
        failures.is_empty(),
        "RAT_THINGS_TEST_SEED={seed}\n{}",
        failures.join("\n")
    );
}

/// One line that can be quoted.
fn summary(seed: u64, outcomes: &[Outcome]) -> String {
    let count = |what: &dyn Fn(&Outcome) -> bool| outcomes.iter().filter(|o| what(o)).count();
    let target = |target: Target| count(&|o| o.target == target && o.hits > 0);
    let moment = |moment: Moment| count(&|o| o.moment == moment && o.hits > 0);
    format!(
        "kill at any instant: seed {seed}, {} rounds; hit worker {}, daemon {}, both {}, nobody {}; \
         queued {}, between commands {}, in a command {}, in a later turn {}, afterwards {}; \
         unknown outcomes {} (of {} the effect is missing); steer became a turn of its own {}; \
         slowest end {:.1} s after its kill",
        outcomes.len(),
        target(Target::Worker),
        target(Target::Daemon),
        target(Target::Both),
        count(&|o| o.hits == 0),
        moment(Moment::Queued),
        moment(Moment::Between),
        moment(Moment::Command),
        moment(Moment::Later),
        moment(Moment::Over),
        outcomes.iter().map(|o| o.unknown).sum::<usize>(),
        outcomes.iter().map(|o| o.missing).sum::<usize>(),
        count(&|o| o.turns == 3),
        outcomes
            .iter()
            .map(|o| o.went_on.as_secs_f64())
            .fold(0.0, f64::max),
    )
}
