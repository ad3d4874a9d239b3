//! Many worlds at random: 2,000, or those that `SEED` (the first) and `SEEDS` (how many) choose.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::faults::ALL;
use super::report::say;
use super::sabotage::Sabotage;
use super::world::{Outcome, Setup, random};

/// Worlds without a word from outside.
const SEEDS: u64 = 2_000;
/// From so many worlds on, each kind of trouble must have happened.
const ENOUGH: u64 = 1_000;
/// Worlds that run at the same time.
const THREADS: usize = 2;

/// What must have happened beside the faults themselves, or nothing was tried.
const MUST_HAPPEN: &[&str] = &[
    "steps",
    "program deaths",
    "commits repeated under their id",
    "claims",
    "takeovers",
    "quarantines",
    "operators vouch",
    "zombie writes refused",
    "effects",
    "steers taken",
    "notifications arrived",
];

fn number(name: &str, without: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(without, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is no number: {text}"))
    })
}

#[test]
fn every_promise_is_kept_in_worlds_of_chance() {
    let (first, seeds) = (number("SEED", 0), number("SEEDS", SEEDS));
    let next = AtomicU64::new(first);
    let broken = AtomicBool::new(false);
    let counts: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let failing: Mutex<Vec<u64>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while !broken.load(Ordering::SeqCst) {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= first + seeds {
                        return;
                    }
                    let outcome = random(&Setup::of(seed));
                    let mut counts = counts.lock().expect("no other test panics with it");
                    for (what, times) in &outcome.counts {
                        *counts.entry(what.clone()).or_default() += times;
                    }
                    drop(counts);
                    if !outcome.failures.is_empty() {
                        broken.store(true, Ordering::SeqCst);
                        failing.lock().expect("as above").push(seed);
                    }
                }
            });
        }
    });
    let failing = failing.into_inner().expect("all threads are done");
    if let Some(seed) = failing.into_iter().min() {
        panic!("{}", told(seed, &smallest(&Setup::of(seed))));
    }
    let counts = counts.into_inner().expect("all threads are done");
    say(&table(seeds, &counts));
    if seeds >= ENOUGH {
        let faults = ALL.iter().map(|(fault, _)| format!("{fault:?}"));
        let all = faults.chain(MUST_HAPPEN.iter().map(|what| (*what).to_owned()));
        let never: Vec<String> = all.filter(|what| !counts.contains_key(what)).collect();
        assert!(never.is_empty(), "nothing of this ever happened: {never:?}");
    }
}

/// The same world with as little trouble as it still fails with.
fn smallest(setup: &Setup) -> (u64, Outcome) {
    let with = |budget| {
        random(&Setup {
            budget,
            ..setup.clone()
        })
    };
    let (mut fails_with, mut passes_with) = (u64::from(u32::MAX), 0);
    let mut outcome = with(fails_with);
    if !with(0).failures.is_empty() {
        return (0, with(0));
    }
    // First down to what it takes at most, then by halves.
    let struck: u64 = ALL
        .iter()
        .filter_map(|(fault, _)| outcome.counts.get(&format!("{fault:?}")))
        .sum();
    fails_with = fails_with.min(struck);
    while passes_with + 1 < fails_with {
        let budget = passes_with + (fails_with - passes_with) / 2;
        let tried = with(budget);
        match tried.failures.is_empty() {
            true => passes_with = budget,
            false => (fails_with, outcome) = (budget, tried),
        }
    }
    (fails_with, outcome)
}

fn told(seed: u64, (budget, outcome): &(u64, Outcome)) -> String {
    format!(
        "SEED={seed} SEEDS=1 fails; with its first {budget} faults:\n{}\n\nthe last steps:\n{}",
        outcome.failures.join("\n"),
        outcome.tail.join("\n")
    )
}

fn table(seeds: u64, counts: &BTreeMap<String, u64>) -> String {
    let mut table = format!("{seeds} worlds, and what happened in them:\n");
    for (what, times) in counts {
        let _ = writeln!(table, "{times:>10}  {what}");
    }
    table
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in 0..25 {
        let (one, two) = (random(&Setup::of(seed)), random(&Setup::of(seed)));
        assert_eq!(one.tail, two.tail, "seed {seed}");
        assert_eq!(one.hash, two.hash, "seed {seed}");
        assert_eq!(one.counts, two.counts, "seed {seed}");
    }
}

#[test]
fn a_world_that_fails_says_how_to_see_it_again_and_with_how_little() {
    let wrong = |seed| Setup {
        sabotage: Sabotage::TrustSilence,
        ..Setup::of(seed)
    };
    let mut worlds = (1_000_000..1_000_200).map(wrong);
    let found = worlds.find_map(|setup| {
        let whole = random(&setup);
        (!whole.failures.is_empty()).then_some((setup, whole))
    });
    let (setup, whole) = found.expect("this fault is found within a few worlds");
    let (budget, outcome) = smallest(&setup);
    let struck: u64 = ALL
        .iter()
        .filter_map(|(fault, _)| whole.counts.get(&format!("{fault:?}")))
        .sum();
    assert!(budget <= struck, "{budget} of {struck}");
    let fewer = Setup {
        budget: budget - 1,
        ..setup.clone()
    };
    assert!(random(&fewer).failures.is_empty());
    let told = told(setup.seed, &(budget, outcome));
    assert!(
        told.starts_with(&format!(
            "SEED={} SEEDS=1 fails; with its first",
            setup.seed
        )),
        "{told}"
    );
    assert!(told.contains("lives, and was taken for gone"), "{told}");
    assert!(told.lines().count() > 10, "{told}");
}
