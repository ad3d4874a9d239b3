//! A Turn that happens while the world is looked at: what there is to see of it at an instant. Pure.
//!
//! Nothing runs between two looks: a Turn is a list of steps with their lengths, and what was done to it meanwhile.

use super::items::{Saying, Stage};
use super::words::{self, chance};
use crate::api::TurnStatus;

/// Number of the Item of the first message that steered a Turn; steps have lower ones.
const STEERED: u64 = 2_000;

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    /// What its Item says when it is whole.
    pub(super) says: Saying,
    /// How long it takes, milliseconds. A call takes until it is answered.
    pub(super) takes_ms: u64,
}

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Play {
    /// What happens, in order.
    pub(super) steps: Vec<Step>,
    /// Since when it is owed, Unix milliseconds.
    pub(super) accepted_ms: u64,
    /// Messages that came while it ran: when, what.
    pub(super) steered: Vec<(u64, String)>,
    /// It was cancelled then.
    pub(super) cancelled_ms: Option<u64>,
    /// What it waited for came then.
    pub(super) answered: Option<(u64, Result<String, String>)>,
}

/// What can be seen of an Item.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Seen {
    /// Its number in the Turn; it stays.
    pub(super) number: u64,
    /// What it says when it is whole.
    pub(super) says: Saying,
    /// How far it is.
    pub(super) stage: Stage,
    /// When it began.
    pub(super) began_ms: u64,
    /// Bytes that are written of its text, while it is open.
    pub(super) written_bytes: usize,
}

/// A Turn at an instant.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    /// Where it stands.
    pub(super) status: TurnStatus,
    /// When it began; `None` while it is queued.
    pub(super) started_ms: Option<u64>,
    /// When it ended.
    pub(super) ended_ms: Option<u64>,
    /// Its Items so far.
    pub(super) items: Vec<Seen>,
}

impl Play {
    /// A Turn of these steps, owed since then.
    pub(super) fn of(steps: Vec<Step>, accepted_ms: u64) -> Play {
        Play {
            steps,
            accepted_ms,
            steered: Vec::new(),
            cancelled_ms: None,
            answered: None,
        }
    }

    /// How it looks at `now_ms`, if the Turn before it ended at `free_ms` (`None`: it has not ended).
    pub(super) fn scene(&self, free_ms: Option<u64>, now_ms: u64) -> Scene {
        let start_ms = free_ms.map(|free_ms| free_ms.max(self.accepted_ms));
        let start_ms = start_ms.filter(|start_ms| *start_ms <= now_ms);
        let mut scene = Scene {
            status: TurnStatus::Queued,
            started_ms: start_ms,
            ended_ms: None,
            items: Vec::new(),
        };
        let until_ms = self.cancelled_ms.unwrap_or(now_ms).min(now_ms);
        let is_cancelled = self.cancelled_ms.is_some_and(|at_ms| at_ms <= now_ms);
        if is_cancelled {
            (scene.status, scene.ended_ms) = (TurnStatus::Cancelled, Some(until_ms));
        }
        let Some(start_ms) = start_ms.filter(|start_ms| *start_ms <= until_ms) else {
            return scene;
        };
        let mut at_ms = Some(start_ms);
        for (number, step) in self.steps.iter().enumerate() {
            let Some(began_ms) = at_ms.filter(|at_ms| *at_ms <= until_ms) else {
                break;
            };
            let end_ms = self.end_ms(step, began_ms);
            let is_done = end_ms.is_some_and(|end_ms| end_ms <= until_ms);
            scene.items.push(Seen {
                number: number as u64,
                says: self.said(step),
                stage: match (is_done, is_cancelled) {
                    (true, _) => Stage::Done(step.takes_ms),
                    (false, true) => Stage::CutOff,
                    (false, false) => Stage::Open,
                },
                began_ms,
                written_bytes: written_bytes(step, until_ms - began_ms),
            });
            at_ms = end_ms;
        }
        self.add_steered(&mut scene.items);
        if is_cancelled {
            // What was being written is not kept.
            scene.items.retain(|seen| {
                seen.stage != Stage::CutOff
                    || matches!(seen.says.kind(), crate::engine::ids::Kind::Command)
            });
            return scene;
        }
        let is_waiting = matches!(
            scene.items.last(),
            Some(Seen {
                says: Saying::Call { .. },
                stage: Stage::Open,
                ..
            })
        );
        let end_ms = at_ms.filter(|end_ms| {
            *end_ms <= now_ms && !scene.items.iter().any(|seen| seen.stage == Stage::Open)
        });
        (scene.status, scene.ended_ms) = match (end_ms, is_waiting) {
            (Some(end_ms), _) => (TurnStatus::Completed, Some(end_ms)),
            (None, true) => (TurnStatus::Waiting, None),
            (None, false) => (TurnStatus::InProgress, None),
        };
        scene
    }

    /// When a step that began then ends; `None`: it waits for somebody.
    fn end_ms(&self, step: &Step, began_ms: u64) -> Option<u64> {
        match step.says {
            Saying::Call { .. } => self
                .answered
                .as_ref()
                .map(|(at_ms, _)| (*at_ms).max(began_ms)),
            _ => Some(began_ms + step.takes_ms),
        }
    }

    /// A result is what was answered.
    fn said(&self, step: &Step) -> Saying {
        match (&step.says, &self.answered) {
            (Saying::Result(_), Some((_, answer))) => Saying::Result(answer.clone()),
            (says, _) => says.clone(),
        }
    }

    /// Messages that steered it stand behind what had begun when they came.
    fn add_steered(&self, items: &mut Vec<Seen>) {
        for (at, (came_ms, text)) in self.steered.iter().enumerate() {
            let place = items.partition_point(|seen| seen.began_ms <= *came_ms);
            items.insert(
                place,
                Seen {
                    number: STEERED + at as u64,
                    says: Saying::Asked(text.clone()),
                    stage: Stage::Done(0),
                    began_ms: *came_ms,
                    written_bytes: 0,
                },
            );
        }
    }
}

/// The text of what is being written, with the bytes that may be shown of it.
pub(super) fn text(says: &Saying) -> Option<&str> {
    match says {
        Saying::Thought(text) | Saying::Note(text) | Saying::Answer(text) => Some(text),
        Saying::Command { output, .. } => Some(output),
        Saying::Asked(_) | Saying::Call { .. } | Saying::Result(_) => None,
    }
}

fn written_bytes(step: &Step, passed_ms: u64) -> usize {
    let Some(text) = text(&step.says) else {
        return 0;
    };
    let share = text.len() as u128 * u128::from(passed_ms) / u128::from(step.takes_ms.max(1));
    text.floor_char_boundary(usize::try_from(share).unwrap_or(usize::MAX).min(text.len()))
}

fn step(says: Saying, takes_ms: u64) -> Step {
    Step { says, takes_ms }
}

/// Half an hour of writing: thoughts, commands and notes.
pub(super) fn writing(luck: u64) -> Vec<Step> {
    let mut steps = vec![step(
        Saying::Asked("write the report of the quarter, chapter by chapter".into()),
        0,
    )];
    for chapter in 1..=120 {
        let luck = chance(&[luck, chapter]);
        steps.push(step(Saying::Thought(words::sentences(luck, 2)), 3_000));
        steps.push(command(luck, 3_000));
        let text = format!("Chapter {chapter}. {}", words::sentences(luck, 6));
        steps.push(step(Saying::Note(text), 9_000));
    }
    steps.push(step(Saying::Answer("The report is written.".into()), 500));
    steps
}

/// Ten commands, and what was found out.
pub(super) fn ten_commands(luck: u64) -> Vec<Step> {
    let asked = "find out why the nightly build is slow".into();
    let mut steps = vec![step(Saying::Asked(asked), 0)];
    steps.push(step(Saying::Thought(words::sentences(luck, 2)), 4_000));
    for at in 0..10 {
        steps.push(command(chance(&[luck, at]), 20_000));
    }
    steps.push(step(Saying::Answer(words::sentences(luck, 4)), 6_000));
    steps
}

/// A question to somebody else, and what follows from the answer.
pub(super) fn question(luck: u64) -> Vec<Step> {
    vec![
        step(Saying::Asked(words::title(luck)), 0),
        step(Saying::Thought(words::sentences(luck, 2)), 200),
        step(
            Saying::Call {
                name: "lookup_account",
                arguments: serde_json::json!({"ticket": luck % 10_000, "region": "eu"}),
            },
            0,
        ),
        step(Saying::Result(Ok(String::new())), 0),
        step(Saying::Answer(words::sentences(luck, 2)), 3_000),
    ]
}

/// What an agent of this world answers to a message.
pub(super) fn echo(luck: u64, asked: String) -> Vec<Step> {
    let answer = format!(
        "Nobody works in a made-up world, but this is how an answer comes. {}",
        words::sentences(luck, 3)
    );
    vec![
        step(Saying::Asked(asked), 0),
        step(Saying::Thought(words::sentences(luck, 1)), 1_000),
        command(luck, 1_500),
        step(Saying::Answer(answer), 4_000),
    ]
}

fn command(luck: u64, takes_ms: u64) -> Step {
    let good = !luck.is_multiple_of(5);
    let says = Saying::Command {
        line: words::command(luck).into(),
        output: words::output(luck, 4 + (luck >> 8) % 12, good),
        exit_code: i32::from(!good),
    };
    step(says, takes_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages(scene: &Scene) -> Vec<(u64, Stage)> {
        scene
            .items
            .iter()
            .map(|seen| (seen.number, seen.stage))
            .collect()
    }

    #[test]
    fn a_turn_goes_from_step_to_step_and_ends() {
        let play = Play::of(echo(1, "hello".into()), 1_000);
        assert_eq!(play.scene(None, 2_000).status, TurnStatus::Queued);
        let early = play.scene(Some(0), 1_500);
        assert_eq!(early.status, TurnStatus::InProgress);
        assert_eq!(stages(&early), [(0, Stage::Done(0)), (1, Stage::Open)]);
        let late = play.scene(Some(0), 100_000);
        assert_eq!(
            (late.status, late.ended_ms),
            (TurnStatus::Completed, Some(7_500))
        );
        assert_eq!(late.items.len(), 4);
    }

    #[test]
    fn a_turn_that_waits_goes_on_from_its_answer() {
        let mut play = Play::of(question(1), 0);
        let waits = play.scene(Some(0), 1_000_000);
        assert_eq!(waits.status, TurnStatus::Waiting);
        assert_eq!(waits.items.last().map(|seen| seen.number), Some(2));
        play.answered = Some((1_000_000, Ok("42".into())));
        let over = play.scene(Some(0), 1_010_000);
        assert_eq!(over.ended_ms, Some(1_003_000));
        assert_eq!(over.items[3].says, Saying::Result(Ok("42".into())));
    }

    #[test]
    fn a_cancelled_turn_keeps_what_was_whole_and_the_command_that_was_cut_off() {
        let mut play = Play::of(echo(1, "hello".into()), 0);
        play.cancelled_ms = Some(1_200);
        let over = play.scene(Some(0), 60_000);
        assert_eq!(
            (over.status, over.ended_ms),
            (TurnStatus::Cancelled, Some(1_200))
        );
        let expected = [
            (0, Stage::Done(0)),
            (1, Stage::Done(1_000)),
            (2, Stage::CutOff),
        ];
        assert_eq!(stages(&over), expected);
    }

    #[test]
    fn a_message_that_steers_stands_behind_what_had_begun_and_keeps_its_number() {
        let mut play = Play::of(echo(1, "hello".into()), 0);
        play.steered.push((1_100, "wait".into()));
        for now_ms in [1_200, 60_000] {
            let items = play.scene(Some(0), now_ms).items;
            assert_eq!(items[3].number, STEERED, "{now_ms}");
        }
    }
}
