//! The checker bites: each kind of damage to sound records is found, under the promise that it breaks.

use rat_things::engine::check::{Around, Finding, Repair, SessionFacts};
use rat_things::engine::item::ItemBody;
use rat_things::engine::keys::{self, Group};
use rat_things::engine::observe::Op;
use rat_things::engine::ports::{Key, Record};
use rat_things::engine::settle::Ending;
use serde_json::{Value, json};

use super::bench::{Bench, answer, began};
use super::records::violations;

/// A Session with something of everything: a Turn that ended, with an answered call, a command and words; one that is being worked
/// on, with a command that runs and a call that waits; one that waits in the queue; and a delivery that is owed.
pub fn eventful() -> Bench {
    let mut bench = Bench::new();
    bench.say("first");
    bench.claim().expect("due");
    bench.take_all();
    bench.observe(&[began("one")]);
    bench.command_ended(2);
    bench.call("c1");
    bench.pause();
    bench.accept(&[answer(1, "c1", "yes")]).expect("accepted");
    bench.claim().expect("due");
    bench.begin();
    bench.observe(&[Op::Item(ItemBody::Message {
        text: rat_things::engine::input::Body::Inline("done".into()),
        phase: None,
        incomplete: false,
    })]);
    bench.settle(&Ending::Completed);
    bench.say("second");
    bench.claim().expect("due");
    bench.take_all();
    bench.call("c2");
    bench.observe(&[began("two")]);
    bench.queue("third");
    bench.say("steers");
    bench.owe();
    bench
}

/// What is done to the records.
enum Damage {
    /// A row is lost.
    Lost(String),
    /// A field of a row is set; a path of names and numbers, with dots between.
    Set(String, &'static str, Value),
    /// A row appears.
    Extra(Key, Value),
}
use Damage::{Extra, Lost, Set};

impl Damage {
    fn is_done_to(&self, bench: &Bench, records: &mut Vec<Record>) {
        let partition = keys::session_partition(&bench.session);
        match self {
            Lost(sort) => {
                let before = records.len();
                records.retain(|r| r.key.sort != *sort);
                assert!(records.len() < before, "{sort} was never there");
            }
            Set(sort, path, to) => {
                let row = records
                    .iter_mut()
                    .find(|r| r.key.partition == partition && r.key.sort == *sort)
                    .unwrap_or_else(|| panic!("{sort} was never there"));
                let mut value: Value = serde_json::from_slice(&row.value).expect("JSON");
                let mut place = &mut value;
                for step in path.split('.') {
                    place = match step.parse::<usize>() {
                        Ok(at) => &mut place[at],
                        Err(_) => &mut place[step],
                    };
                }
                *place = to.clone();
                row.value = value.to_string().into_bytes();
            }
            Extra(key, value) => records.push(Record {
                key: key.clone(),
                version: 1,
                value: value.to_string().into_bytes(),
            }),
        }
    }
}

#[test]
fn each_kind_of_damage_is_found_under_the_promise_it_breaks() {
    let bench = eventful();
    let now_ms = bench.now_ms;
    let sound = bench.records();
    assert_eq!(violations(&sound, now_ms), Vec::<String>::new());
    let head = || keys::HEAD.to_owned();
    let mine = |sort: String| Key::new(keys::session_partition(&bench.session), sort);
    let id = bench.session.as_str();
    let due_ms = bench.head().agenda.execute.expect("leased");
    let delivery = sound
        .iter()
        .find_map(|r| r.key.sort.strip_prefix("delivery/"))
        .expect("owed");
    let receipts = sound.iter().map(|r| r.key.sort.clone());
    let mut receipts = receipts.filter(|sort| sort.starts_with("receipt/"));
    let last_receipt = receipts.next_back().expect("inputs were sent");
    let cases = [
        ("form", Lost(keys::CONFIG.into())),
        ("form", Set(keys::turn(1), "s", json!("perhaps"))),
        ("form", Extra(mine("other/1".into()), json!({}))),
        ("I1", Lost(keys::input(1))),
        ("I1", Lost(keys::input_end(1))),
        ("I1", Set(head(), "pend", json!([]))),
        ("I1", Set(keys::input_end(1), "state", json!("accepted"))),
        ("I2", Set(last_receipt.clone(), "n", json!(1))),
        ("I2", Set(last_receipt.clone(), "o.0.turn", json!(1))),
        ("I3", Set(keys::turn(1), "i", json!(4))),
        ("I4", Lost(keys::run(3))),
        ("I4", Set(head(), "fence.g", json!(1))),
        ("I4", Set(keys::turn(2), "r", json!([1, 1]))),
        ("I5", Set(keys::input(2), "meant_for", json!(2))),
        ("I6", Set(keys::item(2), "state", json!("unknown"))),
        ("I6", Set(head(), "turn.r", json!([]))),
        ("I7", Set(keys::item(3), "status", json!("in_progress"))),
        ("I7", Set(keys::item(4), "call", json!(2))),
        ("I7", Set(head(), "turn.c", json!([]))),
        ("I8", Set(keys::turn(1), "s", json!("failed"))),
        ("I8", Set(keys::turn(2), "s", json!("completed"))),
        ("I8", Set(keys::turn(1), "cap", json!({"artifacts": 1}))),
        ("I9", Lost(keys::delivery(delivery))),
        (
            "I9",
            Set(keys::delivery(delivery), "state", json!("delivered")),
        ),
        (
            "I10",
            Set(head(), "fence.q", json!({"execution": "x", "since_ms": 1})),
        ),
        ("I11", Lost(keys::session_by_id(id))),
        ("I13", Lost(format!("{due_ms:015}/{id}"))),
        ("I13", Set(head(), "due", json!({}))),
        ("I13", Set(head(), "out", json!(null))),
        ("I14", Set(head(), "gone", json!(5))),
        (
            "I15",
            Extra(keys::agenda(Group::Execute, &bench.session, 5), json!({})),
        ),
        ("I16", Lost(keys::journal(3))),
        ("I16", Set(keys::journal(3), "v", json!([]))),
        ("I16", Set(head(), "next.m", json!(99))),
    ];
    for (at, (code, damage)) in cases.iter().enumerate() {
        let mut records = sound.clone();
        damage.is_done_to(&bench, &mut records);
        let found = violations(&records, now_ms);
        let named = found
            .iter()
            .any(|line| line.starts_with(&format!("{code} ")));
        assert!(named, "case {at} should break {code}; found: {found:#?}");
    }
}

fn facts_of(records: &[Record]) -> SessionFacts {
    let mut facts = SessionFacts::new();
    let rows = records.iter().filter(|r| r.key.partition.starts_with("S/"));
    rows.for_each(|record| facts.take(record));
    facts
}

#[test]
fn a_lost_agenda_row_and_one_that_nobody_knows_can_be_repaired_by_a_program() {
    let bench = eventful();
    let records = bench.records();
    let facts = facts_of(&records);
    let head = bench.head();
    let mut around = Around {
        listed_by_time: true,
        listed_by_id: true,
        ..Around::default()
    };
    around.agenda.insert((Group::Execute, 7));
    let found = facts.findings(&bench.session, &around, bench.now_ms);
    let repairs: Vec<&Repair> = found.iter().map(|finding| &finding.repair).collect();
    let (execute, deliver) = (head.agenda.execute, head.agenda.deliver);
    assert_eq!(
        repairs,
        [
            &Repair::PutEntry {
                group: Group::Execute,
                due_ms: execute.expect("leased")
            },
            &Repair::PutEntry {
                group: Group::Deliver,
                due_ms: deliver.expect("owed")
            },
            &Repair::RemoveEntry {
                group: Group::Execute,
                due_ms: 7
            },
        ]
    );
    assert!(found.iter().all(|finding| finding.repair.is_safe()));
}

#[test]
fn rows_that_are_left_without_a_head_can_be_removed_and_a_head_that_cannot_be_read_is_left_alone() {
    let bench = eventful();
    let mut records = bench.records();
    let around = Around::default();
    let mut facts = facts_of(&records);
    facts.forget(keys::HEAD);
    let found = facts.findings(&bench.session, &around, bench.now_ms);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].repair, Repair::RemoveRows);
    let head = records.iter_mut().find(|r| r.key.sort == keys::HEAD);
    head.expect("there").value.truncate(40);
    let found = facts_of(&records).findings(&bench.session, &around, bench.now_ms);
    let by_hand = |finding: &Finding| finding.repair == Repair::ByHand;
    assert!(found.len() == 1 && found.iter().all(by_hand), "{found:#?}");
}

#[test]
fn facts_that_are_brought_up_to_date_row_by_row_are_those_of_a_fresh_reading() {
    let bench = eventful();
    let records = bench.records();
    let mut facts = facts_of(&records);
    let rows = || records.iter().filter(|r| r.key.partition.starts_with("S/"));
    for record in rows() {
        facts.forget(&record.key.sort);
    }
    assert!(facts.is_empty());
    rows().for_each(|record| facts.take(record));
    rows().for_each(|record| facts.take(record));
    assert_eq!(format!("{facts:?}"), format!("{:?}", facts_of(&records)));
}
