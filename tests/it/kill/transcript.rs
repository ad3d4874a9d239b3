//! The commands of a transcript beside the lines that they left in the workspace.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use rat_things::engine::view::UNKNOWN_OUTCOME;
use serde_json::Value;

/// One command.
#[derive(Debug)]
pub struct Ran {
    /// What it appends to the log.
    pub word: String,
    pub unknown: bool,
}

/// The commands of a transcript: each completed, or its outcome is unknown; nothing else.
pub fn commands(items: &[Value]) -> Vec<Ran> {
    let commands = items
        .iter()
        .filter(|item| item["type"] == "command_execution");
    commands
        .map(|item| {
            let command = item["command"].as_str().expect("a command");
            let (_, said) = command
                .split_once("echo ")
                .expect("each command says something");
            let word = said.split_whitespace().next().expect("a word").to_owned();
            let unknown = match item["status"].as_str() {
                Some("completed") => false,
                Some("incomplete") => true,
                _ => panic!("{item}"),
            };
            if unknown {
                assert_eq!(item["output"], UNKNOWN_OUTCOME);
            } else {
                assert_eq!(item["exit_code"], 0, "{item}");
            }
            Ran { word, unknown }
        })
        .collect()
}

/// No line is there twice, all are in the order of the commands, and none is missing but of unknown commands. Answers how many are
/// missing.
pub fn lines_agree_with_commands(ran: &[Ran], log: &[String]) -> usize {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    log.iter()
        .for_each(|line| *counts.entry(line).or_default() += 1);
    let there = |ran: &&Ran| counts.contains_key(ran.word.as_str());
    let missing: Vec<&Ran> = ran.iter().filter(|ran| !there(ran)).collect();
    assert!(
        missing.iter().all(|ran| ran.unknown),
        "lost effects: {missing:?}\n{log:?}"
    );
    let in_order: Vec<&String> = ran.iter().filter(there).map(|ran| &ran.word).collect();
    assert_eq!(
        log.iter().collect::<Vec<_>>(),
        in_order,
        "repeated or out of order"
    );
    missing.len()
}

/// A message of `n` commands, each appending a line of its own after a pause.
pub fn script(n: usize, pause_ms: u64) -> String {
    let (s, ms) = (pause_ms / 1_000, pause_ms % 1_000);
    let lines = (1..=n)
        .map(|n| format!("@exec sleep {s}.{ms:03}; echo line-{n:02} >> /workspace/log.txt\n"));
    lines.collect::<String>() + "@say finished"
}

/// How many Items of a kind a transcript has.
pub fn count(items: &[Value], what: impl Fn(&Value) -> bool) -> usize {
    items.iter().filter(|item| what(item)).count()
}
