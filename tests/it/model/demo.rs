//! The demo model under its harness: every example of `docs/demo-model.md`, and going on after crashes.

use std::collections::BTreeSet;
use std::sync::Arc;

use pretty_assertions::assert_eq;
use rat_things::backend::harness::responses::Options;
use rat_things::backend::model::demo::{DemoModel, HISTORY_BYTES};
use rat_things::engine::ports::{Environment, Observation, Past, TurnEnd};

use super::world::{Act, FakeEnvironment, Seen, Setup, ShellEnvironment, history, message};

const DOCS: &str = include_str!("../../../docs/demo-model.md");

/// What a reader of the transcript sees.
fn transcript(end: &TurnEnd, seen: &[Seen]) -> String {
    let mut lines = Vec::new();
    let mut commands = Vec::new();
    for seen in seen {
        match seen {
            Seen::Saw(Observation::Reasoning { summary, .. }) => {
                lines.push(format!("reasoning: {}", summary.concat()))
            }
            Seen::Saw(Observation::Message { text, phase, .. }) => {
                lines.push(format!(
                    "message ({}): {text}",
                    phase.as_deref().unwrap_or("-")
                ));
            }
            Seen::Saw(Observation::FunctionCall {
                name, arguments, ..
            }) => {
                lines.push(format!("function: {name} {arguments}"));
            }
            Seen::Claimed(claim) => commands.push(claim.command.clone()),
            Seen::Saw(Observation::ToolEnded { end, .. }) => {
                let command = commands.pop().expect("a call is claimed before it ends");
                let mut first = command.lines();
                let first = first.next().map_or(String::new(), |line| {
                    if command.lines().count() > 1 {
                        format!("{line} …")
                    } else {
                        line.to_owned()
                    }
                });
                lines.push(format!("command: {first} → {}", end.status));
            }
            Seen::Saw(_) => {}
        }
    }
    lines.push(match end {
        TurnEnd::Completed => "end: completed".to_owned(),
        TurnEnd::Waiting => "end: waiting".to_owned(),
        TurnEnd::Failed { code, message } => format!("end: failed {code}: {message}"),
        other => format!("end: {other:?}"),
    });
    lines.join("\n") + "\n"
}

/// Each ```message block of the documentation with the ```transcript block behind it.
fn examples() -> Vec<(&'static str, &'static str)> {
    let mut blocks = DOCS.split("```");
    let mut examples = Vec::new();
    let mut message = None;
    while let (Some(_), Some(block)) = (blocks.next(), blocks.next()) {
        let (kind, text) = block.split_once('\n').expect("a block names its kind");
        match kind {
            "message" => message = Some(text),
            "transcript" => examples.push((message.take().expect("a message comes first"), text)),
            other => panic!("unknown block {other}"),
        }
    }
    examples
}

fn demo(text: &str, environment: Arc<dyn Environment>) -> Setup {
    Setup::new(Arc::new(DemoModel))
        .with_functions(&["lookup"])
        .told(text)
        .within(environment)
}

#[tokio::test]
async fn every_example_of_the_documentation_is_true() {
    for (message, expect) in examples() {
        let (end, seen) = demo(message, Arc::new(ShellEnvironment::new())).run().await;
        assert_eq!(transcript(&end, &seen), expect, "{message}");
    }
}

#[test]
fn every_directive_is_documented_with_an_example() {
    let words = |text: &str| -> BTreeSet<String> {
        text.lines()
            .filter_map(|line| line.split_whitespace().next())
            .filter(|word| word.starts_with('@'))
            .map(str::to_owned)
            .collect()
    };
    let table: BTreeSet<String> = DOCS
        .lines()
        .filter_map(|line| line.strip_prefix("| `@"))
        .filter_map(|line| line.split([' ', '`']).next())
        .map(|word| format!("@{word}"))
        .collect();
    let shown: BTreeSet<String> = examples()
        .iter()
        .flat_map(|(message, _)| words(message))
        .collect();
    let known = [
        "@call", "@exec", "@fail", "@reason", "@say", "@sleep", "@slow",
    ];
    assert_eq!(table, known.map(str::to_owned).into());
    assert_eq!(shown, table);
}

#[tokio::test]
async fn the_report_says_what_was_asked_and_found() {
    let environment = Arc::new(ShellEnvironment::new());
    environment.put("notes.txt", "x");
    let (end, seen) = demo("What is here?\nEND_OF_REPORT", environment.clone())
        .run()
        .await;
    assert_eq!(end, TurnEnd::Completed);
    let report = environment.get("outputs/report.md");
    assert_eq!(
        report,
        "# Report\n\n## What was asked\n\n> What is here?\n> END_OF_REPORT\n\n## What was found\n\n    /workspace\n    notes.txt\n\n\
         Written by the offline demo model, which understands nothing of what it reads.\n"
    );
    assert!(transcript(&end, &seen).contains("/workspace holds one entry. The report is in"));
}

#[tokio::test]
async fn without_an_environment_ordinary_text_is_answered() {
    let (end, seen) = Setup::new(Arc::new(DemoModel)).told("hello").run().await;
    let transcript = transcript(&end, &seen);
    assert!(
        transcript.starts_with("message (final_answer): You wrote: hello"),
        "{transcript}"
    );
    assert_eq!(
        transcript
            .lines()
            .filter(|line| line.starts_with("message"))
            .count(),
        1
    );
}

#[tokio::test]
async fn equal_conversations_are_equal_to_the_byte() {
    let run = || async {
        let (end, seen) = demo(
            "@reason a\n@slow 1 b c\n@exec d\n@say e",
            FakeEnvironment::new(|_| Act::Exit(0, "x")),
        )
        .run()
        .await;
        format!("{end:?} {seen:?}")
    };
    assert_eq!(run().await, run().await);
}

/// A worker is lost after every single thing that it reported; another one goes on with what was recorded.
#[tokio::test]
async fn wherever_a_worker_is_lost_the_turn_goes_on_and_repeats_no_command() {
    let text = "@reason r\n@say a\n@exec c1\n@exec c2\n@say b\n@exec c3\n@say done";
    let feed = [message(1, text)];
    let environment = || FakeEnvironment::new(|_| Act::Exit(0, "ok"));
    let (_, whole) = demo(text, environment()).run().await;
    let whole: Vec<Seen> = whole
        .into_iter()
        .filter(|seen| !matches!(seen, Seen::Saw(Observation::Delta(_))))
        .collect();
    for lost_after in 0..whole.len() {
        let recorded = &whole[..lost_after];
        let past = history(&feed, recorded);
        let second = environment();
        let setup = demo(text, second.clone()).after(past.clone());
        let setup = if past.is_empty() {
            setup
        } else {
            Setup {
                feed: Vec::new(),
                ..setup
            }
        };
        let (end, seen) = setup.run().await;
        assert_eq!(end, TurnEnd::Completed, "{lost_after}");
        let claims = |seen: &[Seen]| -> Vec<String> {
            seen.iter()
                .filter_map(|seen| match seen {
                    Seen::Claimed(claim) => Some(claim.command.clone()),
                    _ => None,
                })
                .collect()
        };
        let all: Vec<String> = [claims(recorded), claims(&seen)].concat();
        assert_eq!(all, ["c1", "c2", "c3"], "{lost_after}");
        assert_eq!(second.commands(), claims(&seen), "{lost_after}");
        // The final message comes once, whoever says it.
        let said = |seen: &[Seen]| {
            seen.iter()
                .filter(|seen| matches!(seen, Seen::Saw(Observation::Message { text, .. }) if text == "done"))
                .count()
        };
        assert_eq!(said(recorded) + said(&seen), 1, "{lost_after}");
    }
}

#[tokio::test]
async fn calls_go_on_in_order_when_history_no_longer_fits() {
    let text: String = (1..=40).map(|n| format!("@exec c{n}\n")).collect();
    let output: &'static str = "x".repeat(50_000).leak();
    for budget_bytes in [HISTORY_BYTES, Options::default().history_budget_bytes] {
        let environment = FakeEnvironment::new(move |_| Act::Exit(0, output));
        let mut setup = demo(&text, environment.clone());
        setup.options.history_budget_bytes = budget_bytes;
        let (end, seen) = setup.run().await;
        assert_eq!(end, TurnEnd::Completed);
        let expect: Vec<String> = (1..=40).map(|n| format!("c{n}")).collect();
        assert_eq!(environment.commands(), expect);
        let ids: BTreeSet<&str> = seen
            .iter()
            .filter_map(|seen| match seen {
                Seen::Claimed(claim) => Some(claim.call_id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), 40);
    }
}

#[tokio::test]
async fn a_session_goes_on_after_a_turn_that_failed_or_was_cancelled() {
    for text in ["@say x\n@fail server_error y\n@say z", "@sleep 3600000"] {
        let past = vec![Past::User {
            content: message(1, text).content,
        }];
        let (end, seen) = Setup::new(Arc::new(DemoModel))
            .after(past)
            .told("@say well")
            .run()
            .await;
        assert_eq!(
            transcript(&end, &seen),
            "message (final_answer): well\nend: completed\n",
            "{text}"
        );
    }
}
