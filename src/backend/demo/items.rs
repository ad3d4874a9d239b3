//! Items from what they say, and those of Turns that were over before the world began. Pure.

use serde_json::json;

use super::part::{ITEMS_PER_TURN, Part};
use super::words::{self, HOSTILE, chance};
use crate::api::{
    CallStatus, CommandExecutionItem, FunctionCallItem, FunctionCallOutputItem, FunctionOutput,
    Item, MessageContent, MessageItem, OutputStatus, Phase, ReasoningItem, Role, SummaryText,
};
use crate::engine::ids::Kind;

/// What an Item says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Saying {
    /// The user.
    Asked(String),
    /// A summary of what the agent thinks.
    Thought(String),
    /// The agent, on the way.
    Note(String),
    /// The agent.
    Answer(String),
    /// A command.
    Command {
        /// Its line.
        line: String,
        /// What it prints, all of it.
        output: String,
        /// How it ends.
        exit_code: i32,
    },
    /// A function that somebody else has to run.
    Call {
        /// Its name.
        name: &'static str,
        /// Its arguments, JSON.
        arguments: serde_json::Value,
    },
    /// What it gave.
    Result(Result<String, String>),
}

/// How far an Item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is being made.
    Open,
    /// It is whole; it took so many milliseconds.
    Done(u64),
    /// It was cut off.
    CutOff,
}

impl Saying {
    /// The kind of its Item's id.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Saying::Asked(_) | Saying::Note(_) | Saying::Answer(_) => Kind::Message,
            Saying::Thought(_) => Kind::Reasoning,
            Saying::Command { .. } => Kind::Command,
            Saying::Call { .. } => Kind::FunctionCall,
            Saying::Result(_) => Kind::FunctionOutput,
        }
    }

    /// Its Item. `call_id` joins a call and its result.
    pub(super) fn item(self, id: String, turn_id: String, call_id: &str, stage: Stage) -> Item {
        let status = match stage {
            Stage::CutOff => OutputStatus::Incomplete,
            Stage::Open => OutputStatus::InProgress,
            Stage::Done(_) => OutputStatus::Completed,
        };
        let call_status = match stage {
            Stage::CutOff => CallStatus::Incomplete,
            Stage::Open => CallStatus::InProgress,
            Stage::Done(_) => CallStatus::Completed,
        };
        let message = |id, role, content, phase| {
            Item::Message(MessageItem {
                id: Some(id),
                content: vec![content],
                phase,
                role,
                status,
                turn_id: turn_id.clone(),
            })
        };
        match self {
            Saying::Asked(text) => {
                message(id, Role::User, MessageContent::InputText { text }, None)
            }
            Saying::Note(text) => message(
                id,
                Role::Assistant,
                MessageContent::OutputText { text },
                Some(Phase::Commentary),
            ),
            Saying::Answer(text) => message(
                id,
                Role::Assistant,
                MessageContent::OutputText { text },
                Some(Phase::FinalAnswer),
            ),
            Saying::Thought(text) => Item::Reasoning(ReasoningItem {
                id,
                status: Some(status),
                summary: vec![SummaryText { text }],
                turn_id,
            }),
            Saying::Command {
                line,
                output,
                exit_code,
            } => {
                let done = match stage {
                    Stage::Done(took_ms) => Some(took_ms),
                    Stage::Open | Stage::CutOff => None,
                };
                let status = match (done, exit_code) {
                    (Some(_), 1..) => CallStatus::Failed,
                    _ => call_status,
                };
                Item::CommandExecution(CommandExecutionItem {
                    id,
                    command: line,
                    cwd: Some("/workspace".into()),
                    duration_ms: done,
                    exit_code: done.map(|_| exit_code),
                    output: done.map(|_| output),
                    status,
                    turn_id,
                })
            }
            Saying::Call { name, arguments } => Item::FunctionCall(FunctionCallItem {
                id,
                arguments,
                call_id: call_id.to_owned(),
                name: name.to_owned(),
                status: call_status,
                turn_id,
            }),
            Saying::Result(result) => Item::FunctionCallOutput(FunctionCallOutputItem {
                id,
                call_id: call_id.to_owned(),
                status: match result {
                    Ok(_) => CallStatus::Completed,
                    Err(_) => CallStatus::Failed,
                },
                error: result.as_ref().err().cloned(),
                output: result.ok().map(FunctionOutput::Text),
                turn_id,
            }),
        }
    }
}

/// Item `at` (from 0) of Turn `turn` (from 1), which was over before the world began, and how long it took, milliseconds.
pub(super) fn past(seed: u64, session: u64, part: Part, turn: u64, at: u64) -> (Saying, u64) {
    let luck = chance(&[seed, session, turn, at]);
    let saying = match (at % ITEMS_PER_TURN, part) {
        (0, Part::Hostile) => Saying::Asked(HOSTILE.into()),
        (0, Part::Long) => Saying::Asked(format!("step {turn}: {}", words::title(luck))),
        (0, _) => Saying::Asked(words::title(luck)),
        (1, Part::Hostile) => Saying::Thought(HOSTILE.into()),
        (1, _) => Saying::Thought(words::sentences(luck, 2 + luck % 4)),
        (2, _) => {
            let good = !luck.is_multiple_of(8);
            Saying::Command {
                line: words::command(luck).into(),
                output: words::output(luck, 1 + (luck >> 8) % 30, good),
                exit_code: i32::from(!good),
            }
        }
        (3, Part::Hostile) => Saying::Command {
            line: HOSTILE.into(),
            output: HOSTILE.into(),
            exit_code: 0,
        },
        (3, Part::Large) => Saying::Command {
            line: "cat /workspace/build.log".into(),
            output: words::output(luck, 60_000, true),
            exit_code: 0,
        },
        (3, _) => Saying::Call {
            name: "lookup",
            arguments: json!({"ticket": luck % 10_000}),
        },
        (4, Part::Hostile) => Saying::Answer(HOSTILE.into()),
        (4, Part::Large) => {
            let line = "0123456789abcdef".repeat(20_000);
            Saying::Answer(format!("One line of 320,000 characters:\n{line}"))
        }
        (_, _) => Saying::Answer(words::sentences(luck, 1 + luck % 6)),
    };
    (saying, 300 + luck % 20_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_open_has_no_outcome_and_one_that_is_done_has_all() {
        let (saying, took_ms) = past(1, 7, Part::Quiet, 1, 2);
        let open = saying
            .clone()
            .item("cmd_1".into(), "turn_1".into(), "", Stage::Open);
        let done = saying.item("cmd_1".into(), "turn_1".into(), "", Stage::Done(took_ms));
        let (Item::CommandExecution(open), Item::CommandExecution(done)) = (open, done) else {
            panic!("commands");
        };
        assert_eq!((open.exit_code, open.output), (None, None));
        assert_eq!(done.duration_ms, Some(took_ms));
        assert!(done.output.is_some() && done.exit_code.is_some());
    }

    #[test]
    fn a_large_session_has_an_output_of_more_than_two_mebibytes() {
        let (Saying::Command { output, .. }, _) = past(1, 7, Part::Large, 1, 3) else {
            panic!("a command");
        };
        assert!(output.len() > 2 << 20, "{}", output.len());
    }
}
