//! Two machines with a daemon each over one account, behind a network that loses and refuses: workers and daemons are killed at any
//! instant with `kill -9`, and nothing accepted is lost, nothing done is done twice.
//!
//! Commands run without a sandbox, so that they leave their lines in one file of the host, whichever machine's workspace they are in.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rat_things::engine::core::Core;
use rat_things::engine::ids::SessionId;
use rat_things::engine::input::{EndRow, InputState};
use rat_things::engine::keys;
use rat_things::engine::ports::Isolation;
use rat_things::engine::turn::TurnRow;
use serde_json::Value;

use super::account::{core, plain};
use super::emulators::Place;
use super::stand::proxy::{Fault, Proxy, Rule};
use super::stand::when::When;
use super::{place, sound};
use crate::kill::dice::{self, Dice};
use crate::kill::processes::{Process, Role};
use crate::kill::rat::{Rat, until};
use crate::kill::records::owes_nothing;
use crate::kill::transcript::commands;

/// Processes that are killed.
const KILLS: usize = 30;
/// Sessions that are worked on at the same time.
const SESSIONS: usize = 4;
/// Commands of each Turn.
const COMMANDS: usize = 8;
/// Longest time between two kills.
const BETWEEN_MS: u64 = 500;

/// Whom a kill is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Worker,
    Daemon,
    Both,
}

/// What goes wrong between the programs and the account, so many times in a thousand requests.
fn trouble(seed: u64) -> Vec<Rule> {
    let faults = [
        Fault::DropRequest,
        Fault::DropAnswer,
        Fault::Throttle,
        Fault::Internal,
    ];
    let rule = |(n, fault)| Rule {
        operation: "",
        when: When::Chance {
            per_thousand: 4,
            seed: seed ^ n,
        },
        fault,
    };
    (1..).zip(faults).map(rule).collect()
}

/// A machine with a profile of the account.
fn machine(place: &Place, dynamodb: &Proxy, s3: &Proxy) -> Rat {
    let (table, bucket) = (&place.places.table, &place.places.bucket);
    let profile = format!(
        "kind = \"aws\"\naws.table = \"{table}\"\naws.bucket = \"{bucket}\"\naws.region = \"eu-west-1\"\n\
         sandbox.isolation = \"unsafe-none\"\nlimits.turn_attempts = 1000\nlimits.lease_ms = 5000"
    );
    let environment = [
        ("AWS_ACCESS_KEY_ID", "test".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb.url()),
        ("AWS_ENDPOINT_URL", s3.url()),
    ];
    Rat::with(&profile).with_environment(environment)
}

/// A Session, what it was sent, and the file that its commands write to.
struct Told {
    session: SessionId,
    sent: Vec<String>,
    log: PathBuf,
}

impl Told {
    /// The n-th message: commands that say who they are, a little apart.
    fn message(log: &std::path::Path, n: usize, dice: &mut Dice) -> String {
        let mut text = String::new();
        for command in 1..=COMMANDS {
            let pause_ms = dice.below(60);
            let log = log.display();
            text +=
                &format!("@exec echo line-{n:02}-{command:02} >> {log} && sleep 0.{pause_ms:03}\n");
        }
        text + &format!("@say finished {n}")
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

/// What became of the kills.
#[derive(Debug, Default)]
struct Tally {
    workers: usize,
    daemons: usize,
    unknown: usize,
    missing: usize,
    turns: usize,
}

#[test]
fn two_daemons_over_one_account_lose_nothing_and_double_nothing_whoever_is_killed() {
    let seed = dice::seed();
    let mut dice = Dice::new(seed);
    let started = Instant::now();
    let place = place();
    let dynamodb = Proxy::before(place.dynamodb, trouble(seed)).expect("a port");
    let s3 = Proxy::before(place.others, trouble(seed + 1)).expect("a port");
    let machines = [(); 2].map(|()| machine(&place, &dynamodb, &s3));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    // Somebody whom nothing gets in the way of.
    let mut client = runtime.block_on(core(&place.options, &place.places));
    client.settings.isolation = Isolation::UnsafeNone;
    let dir = tempfile::tempdir().expect("a directory");
    let mut all: Vec<Told> = Vec::new();
    // The first one is created by the program, which says whose they are.
    let log = dir.path().join("log-0");
    let first = Told::message(&log, 1, &mut dice);
    let session = until_accepted(|| created(&machines[0], &first));
    let owner = runtime.block_on(client.load(&session)).expect("reads");
    let owner = owner.expect("it was created").head.owner;
    all.push(Told {
        session,
        sent: vec![first],
        log,
    });
    for n in 1..SESSIONS {
        let log = dir.path().join(format!("log-{n}"));
        let text = Told::message(&log, 1, &mut dice);
        let session = runtime.block_on(plain::create(&client, &owner, &text));
        all.push(Told {
            session,
            sent: vec![text],
            log,
        });
    }
    let mut tally = Tally::default();
    while tally.workers + tally.daemons < KILLS {
        for rat in &machines {
            if rat.program_by_note().is_none() {
                until_accepted(|| {
                    rat.output(&["daemon", "start"])
                        .status
                        .success()
                        .then_some(())
                });
            }
        }
        let pause_us = dice.below(BETWEEN_MS * 1_000);
        std::thread::sleep(Duration::from_micros(pause_us));
        // There is always something to do.
        for told in &mut all {
            let idle = runtime.block_on(client.load(&told.session)).expect("reads");
            if idle.is_some_and(|loaded| loaded.head.turn.is_none()) {
                let n = told.sent.len() + 1;
                let text = Told::message(&told.log, n, &mut dice);
                let key = n.to_string();
                runtime.block_on(plain::send(&client, &owner, &told.session, &key, &text));
                told.sent.push(text);
            }
        }
        strike(&machines, &mut dice, &mut tally);
    }
    for rat in &machines {
        until_accepted(|| {
            rat.output(&["daemon", "start"])
                .status
                .success()
                .then_some(())
        });
    }
    for told in &all {
        until(
            || {
                let head = runtime.block_on(client.load(&told.session));
                let logs = machines[0].logs() + &machines[1].logs();
                format!("seed {seed}: {} ends\n{head:#?}{logs}", told.session)
            },
            || {
                let loaded = runtime.block_on(client.load(&told.session)).expect("reads");
                owes_nothing(&loaded?.head).then_some(())
            },
        );
    }
    machines.iter().for_each(Rat::stop);
    for told in &all {
        let items = machines[0].items(told.session.as_str());
        check(told, &items, &mut tally);
        runtime.block_on(inputs_and_turns(&client, told, &items));
    }
    let sessions: Vec<SessionId> = all.iter().map(|told| told.session.clone()).collect();
    let now_ms = client.clock.now_ms();
    let broken = runtime.block_on(sound::broken(&client, &owner, &sessions, now_ms));
    assert_eq!(broken, [""; 0], "seed {seed}");
    let left = runtime.block_on(sound::agenda(&client));
    assert!(left.is_empty(), "seed {seed}: {left:?}");
    let took = started.elapsed().as_secs_f64();
    let refused = (dynamodb.applied(), s3.applied());
    let _ = writeln!(
        std::io::stderr(),
        "two daemons over one account: seed {seed}, {tally:?}, faults {refused:?}; all in {took:.1} s"
    );
}

/// Repeats until it works: between this and the account is the same network.
fn until_accepted<T>(attempt: impl FnMut() -> Option<T>) -> T {
    until(|| "the account answers".to_owned(), attempt)
}

fn created(rat: &Rat, text: &str) -> Option<SessionId> {
    let args = [
        "sessions",
        "create",
        "--input",
        text,
        "--no-wait",
        "-o",
        "id",
    ];
    let created = rat.output(&[&args[..], &["--idempotency-key", "first"]].concat());
    let id = String::from_utf8_lossy(&created.stdout).trim().to_owned();
    SessionId::parse(&id).filter(|_| created.status.success())
}

/// Kills one process or several, of one machine.
fn strike(machines: &[Rat; 2], dice: &mut Dice, tally: &mut Tally) {
    let rat = &machines[usize::from(dice.below(2) == 0)];
    let mut doomed = match dice.pick(&[Target::Worker, Target::Daemon, Target::Both]) {
        Target::Worker => rat.program(Role::Worker),
        Target::Daemon => rat.program(Role::Daemon),
        Target::Both => [rat.program(Role::Daemon), rat.program(Role::Worker)].concat(),
    };
    doomed.retain(Process::kill);
    doomed.iter().for_each(Process::wait_gone);
    let hit = |role| doomed.iter().filter(|process| process.role == role).count();
    tally.workers += hit(Role::Worker);
    tally.daemons += hit(Role::Daemon);
}

/// Each command is recorded once, in order; its line is there once, or its outcome is unknown and the line may be missing.
fn check(told: &Told, items: &[Value], tally: &mut Tally) {
    let ran = commands(items);
    let words: Vec<&str> = ran.iter().map(|ran| ran.word.as_str()).collect();
    let mut expected = Vec::new();
    for n in 1..=told.sent.len() {
        expected.extend((1..=COMMANDS).map(|command| format!("line-{n:02}-{command:02}")));
    }
    assert_eq!(words, expected, "{}", told.session);
    let mut lines: BTreeMap<String, usize> = BTreeMap::new();
    for line in told.lines() {
        *lines.entry(line).or_default() += 1;
    }
    for ran in &ran {
        match lines.remove(&ran.word) {
            Some(times) => assert_eq!(times, 1, "{}: {}", told.session, ran.word),
            None => {
                assert!(ran.unknown, "{}: {} is lost", told.session, ran.word);
                tally.missing += 1;
            }
        }
    }
    assert_eq!(
        lines,
        BTreeMap::new(),
        "{}: nobody asked for it",
        told.session
    );
    tally.unknown += ran.iter().filter(|ran| ran.unknown).count();
    tally.turns += told.sent.len();
}

/// Every message is in the transcript once and was delivered; every Turn is completed and counts what is unknown in it.
async fn inputs_and_turns(client: &Core, told: &Told, items: &[Value]) {
    let said = |role: &str| -> Vec<String> {
        let mine = |item: &&Value| item["type"] == "message" && item["role"] == role;
        let texts = items.iter().filter(mine);
        texts
            .filter_map(|item| item["content"][0]["text"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(said("user"), told.sent);
    let finished: Vec<String> = (1..=told.sent.len())
        .map(|n| format!("finished {n}"))
        .collect();
    assert_eq!(said("assistant"), finished);
    let mut unknown = 0;
    for n in 1..=told.sent.len() as u64 {
        let end: Option<EndRow> = client
            .row(&told.session, keys::input_end(n))
            .await
            .expect("reads");
        let state = end.map(|end| end.state);
        assert!(
            matches!(state, Some(InputState::Delivered { .. })),
            "input {n}: {state:?}"
        );
        let row: Option<TurnRow> = client
            .row(&told.session, keys::turn(n))
            .await
            .expect("reads");
        let row = row.expect("a turn of each input");
        assert_eq!(row.status, rat_things::api::TurnStatus::Completed);
        unknown += row.unknown_calls as usize;
    }
    let shown = commands(items).iter().filter(|ran| ran.unknown).count();
    assert_eq!(unknown, shown, "{}: as the turns count", told.session);
}
