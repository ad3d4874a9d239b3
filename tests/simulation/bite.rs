//! The checker bites: each deliberate fault of the engine is found within 2,000 worlds.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::report::say;
use super::sabotage::{ALL, Sabotage};
use super::world::{Setup, random};

/// Worlds in which a fault must be found.
const WORLDS: u64 = 2_000;
/// The first of them.
const FIRST: u64 = 1_000_000;

/// After how many worlds a fault was found, and as what.
type Found = Option<(u64, String)>;

fn found(sabotage: Sabotage) -> Found {
    (0..WORLDS).find_map(|n| {
        let setup = Setup {
            sabotage,
            ..Setup::of(FIRST + n)
        };
        let first = random(&setup).failures.into_iter().next()?;
        Some((n + 1, first))
    })
}

#[test]
fn each_deliberate_fault_is_found() {
    let next = AtomicUsize::new(0);
    let all: Mutex<Vec<(usize, Found)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    let Some(sabotage) = ALL.get(at) else { return };
                    let found = found(*sabotage);
                    all.lock()
                        .expect("no test panics with it")
                        .push((at, found));
                }
            });
        }
    });
    let mut all = all.into_inner().expect("all threads are done");
    all.sort_by_key(|(at, _)| *at);
    let mut table = "deliberate fault | worlds | found as\n".to_owned();
    for (at, found) in &all {
        let (worlds, what) = match found {
            Some((worlds, what)) => (worlds.to_string(), what.as_str()),
            None => ("-".into(), "not found"),
        };
        let _ = writeln!(table, "{:?} | {worlds} | {what}", ALL[*at]);
    }
    say(&table);
    let missed: Vec<_> = all
        .iter()
        .filter(|(_, found)| found.is_none())
        .map(|(at, _)| ALL[*at])
        .collect();
    assert!(missed.is_empty(), "not found: {missed:?}");
}
