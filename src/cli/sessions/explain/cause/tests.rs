//! Every situation, and what is said of it.

use super::super::facts::{Call, Worker};
use super::*;
use crate::cli::daemon::Note;
use crate::engine::expire::Expiry;
use crate::engine::fence::BeganAnew;
use crate::engine::ids::SessionId;
use crate::engine::open_call::OpenCall;
use crate::engine::ports::ExecutionId;
use crate::engine::session::{Head, QueuedTurn};
use crate::engine::turn::{Failure, TurnRow};

const NOW_MS: u64 = 1_000_000;

fn facts(change: impl FnOnce(&mut Facts)) -> Facts {
    let mut facts = Facts {
        session: SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("an id"),
        title: None,
        now_ms: NOW_MS,
        head: Head::new("o".into(), 1),
        turn: None,
        calls: Vec::new(),
        waiting: Vec::new(),
        owner: None,
        missing: None,
        daemon: Attendance::Here(Note {
            identity: "proc:1:2:b".into(),
            version: "1".into(),
            started_ms: 1,
            listen: None,
            endpoint_url: None,
            tls: false,
        }),
        turn_attempts: 5,
        room: 64,
        began_anew: None,
    };
    change(&mut facts);
    facts
}

fn expire(facts: &mut Facts, erased: bool) {
    facts.head.expiry = Some(Expiry {
        at_ms: NOW_MS - 60_000,
        why: "the project is over".into(),
        erased,
    });
}

fn queued(facts: &mut Facts) {
    facts.head.turn = Some(ActiveTurn::queued(1));
    facts.head.agenda.execute = Some(NOW_MS);
}

fn leased(facts: &mut Facts, alive: Option<bool>, until_ms: u64) {
    queued(facts);
    let execution = "proc:77:5:b#1".to_owned();
    facts
        .head
        .fence
        .claim(ExecutionId(execution.clone()), until_ms)
        .expect("free");
    facts.owner = Some(Worker { execution, alive });
}

fn quarantined(facts: &mut Facts, alive: Option<bool>) {
    leased(facts, alive, 5);
    facts
        .head
        .fence
        .lost_sight(NOW_MS - 60_000)
        .expect("leased");
    facts.missing = facts.owner.take();
}

fn ended(facts: &mut Facts, status: TurnStatus) {
    let mut row = TurnRow::queued(1, 0, 1);
    row.status = status;
    row.error = Some(Failure {
        code: "rate_limit_exceeded".into(),
        message: "slow down".into(),
    });
    facts.turn = Some((1, row));
}

#[test]
fn every_situation_has_its_explanation() {
    let waits = |f: &mut Facts| {
        let mut turn = ActiveTurn::queued(1);
        turn.status = TurnStatus::Waiting;
        turn.calls.push(OpenCall::new("call_1", 1));
        f.head.turn = Some(turn);
        f.calls.push(Call {
            id: "call_1".into(),
            name: "lookup".into(),
            arguments: "{}".into(),
        });
    };
    let situations: Vec<(&str, Facts)> = vec![
        ("new", facts(|_| {})),
        ("completed", facts(|f| ended(f, TurnStatus::Completed))),
        ("failed", facts(|f| ended(f, TurnStatus::Failed))),
        ("due", facts(queued)),
        (
            "due, no daemon",
            facts(|f| {
                queued(f);
                f.daemon = Attendance::Nobody;
            }),
        ),
        (
            "due for long",
            facts(|f| {
                queued(f);
                f.head.agenda.execute = Some(1);
            }),
        ),
        (
            "pause",
            facts(|f| {
                queued(f);
                if let Some(turn) = &mut f.head.turn {
                    turn.begun = true;
                    turn.attempts = 2;
                    turn.not_before_ms = NOW_MS + 3_000;
                }
                f.head.queue.push(QueuedTurn {
                    number: 2,
                    input: 2,
                });
            }),
        ),
        (
            "cancel of a turn nobody works on",
            facts(|f| {
                queued(f);
                if let Some(turn) = &mut f.head.turn {
                    turn.cancel = Some(3);
                }
                f.daemon = Attendance::Nobody;
            }),
        ),
        ("waits for answers", facts(waits)),
        ("working", facts(|f| leased(f, Some(true), NOW_MS + 9))),
        (
            "cancelling",
            facts(|f| {
                leased(f, Some(true), NOW_MS + 9);
                if let Some(turn) = &mut f.head.turn {
                    turn.cancel = Some(3);
                }
            }),
        ),
        (
            "command running, queue, no daemon",
            facts(|f| {
                leased(f, Some(true), NOW_MS + 9);
                if let Some(turn) = &mut f.head.turn {
                    turn.running = vec![4];
                }
                f.head.queue.push(QueuedTurn {
                    number: 2,
                    input: 2,
                });
                f.daemon = Attendance::Nobody;
            }),
        ),
        ("worker unseen", facts(|f| leased(f, None, NOW_MS + 9_000))),
        ("worker gone", facts(|f| leased(f, Some(false), NOW_MS + 9))),
        (
            "worker gone, no daemon",
            facts(|f| {
                leased(f, Some(false), NOW_MS + 9);
                f.daemon = Attendance::Nobody;
            }),
        ),
        ("silent", facts(|f| leased(f, Some(true), NOW_MS - 9))),
        (
            "silent, no daemon",
            facts(|f| {
                leased(f, Some(true), NOW_MS - 9);
                f.daemon = Attendance::Nobody;
            }),
        ),
        ("quarantine, unknown", facts(|f| quarantined(f, None))),
        ("quarantine, alive", facts(|f| quarantined(f, Some(true)))),
        (
            "quarantine, being stopped",
            facts(|f| {
                quarantined(f, Some(true));
                f.now_ms -= 50_000;
            }),
        ),
        ("quarantine, gone", facts(|f| quarantined(f, Some(false)))),
        (
            "due, no daemon here",
            facts(|f| {
                queued(f);
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "due for long, no daemon here",
            facts(|f| {
                queued(f);
                f.head.agenda.execute = Some(1);
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "silent, no daemon here",
            facts(|f| {
                leased(f, None, NOW_MS - 9);
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "worker of this machine gone, no daemon here",
            facts(|f| {
                leased(f, Some(false), NOW_MS + 9);
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "machines that end before a word",
            facts(|f| {
                queued(f);
                if let Some(turn) = &mut f.head.turn {
                    turn.begun = true;
                    turn.attempts = 3;
                    turn.unheard = 3;
                    turn.not_before_ms = NOW_MS + 60_000;
                }
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "quarantine, gone, no daemon here",
            facts(|f| {
                quarantined(f, Some(false));
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "expired, erased",
            facts(|f| {
                expire(f, true);
                f.daemon = Attendance::Nobody;
            }),
        ),
        ("expired, not erased yet", facts(|f| expire(f, false))),
        (
            "expired, a turn open, daemons elsewhere",
            facts(|f| {
                queued(f);
                expire(f, false);
                f.daemon = Attendance::Unseen;
            }),
        ),
        (
            "expired, not erased, no daemon",
            facts(|f| {
                expire(f, false);
                f.daemon = Attendance::Nobody;
            }),
        ),
        (
            "quarantine, gone, no daemon",
            facts(|f| {
                quarantined(f, Some(false));
                f.daemon = Attendance::Nobody;
            }),
        ),
        (
            "completed, after the agent began anew",
            facts(|f| {
                ended(f, TurnStatus::Completed);
                f.began_anew = Some(BeganAnew::new(1, "it is damaged".into()));
            }),
        ),
        (
            "the agent began anew in an earlier turn",
            facts(|f| {
                ended(f, TurnStatus::Completed);
                f.began_anew = Some(BeganAnew::new(7, "it is damaged".into()));
            }),
        ),
    ];
    let mut page = String::new();
    for (name, facts) in &situations {
        let explained = explanation(facts);
        let person = if explained.needs_person {
            " [needs a person]"
        } else {
            ""
        };
        page.push_str(&format!("{name}{person}\n"));
        for Cause { code, message } in &explained.causes {
            page.push_str(&format!("    {code}: {message}\n"));
        }
        if let Some(next) = &explained.next {
            page.push_str(&format!("    $ {next}\n"));
        }
        // Whoever is needed is told what to do.
        assert!(
            !explained.needs_person || explained.next.is_some(),
            "{name}"
        );
    }
    insta::assert_snapshot!(page);
}
