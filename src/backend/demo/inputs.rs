//! What somebody does to the demo world: accepted, remembered for as long as the world is looked at, and seen in it from then on.

use super::items::{Saying, Stage};
use super::part::Part;
use super::play::{self, Play};
use super::words::chance;
use super::{Created, Here, Meanwhile, Shared, scenes};
use crate::api::{
    Became, Decision, Delivery, FunctionOutput, InputContent, InputEvent, InputMessage,
    NothingToDo, Receipt, ReceiptObject, SessionCreateParams, TurnStatus,
};
use crate::engine::error::EngineError;
use crate::engine::ids::{self, Kind};
use crate::engine::ports::{Goes, Submitted};

/// A message that is a mistake of ours: it shows what one leaves of a terminal.
const PANIC: &str = "@panic";

impl Shared {
    /// Submits inputs, once under their key.
    pub(super) fn submit(
        &self,
        session: &str,
        key: &str,
        events: &[InputEvent],
    ) -> Result<Submitted, EngineError> {
        let mut meanwhile = self.meanwhile();
        let number = self.number(&meanwhile, session)?;
        let name = (number, key.to_owned());
        if let Some(known) = meanwhile.receipts.get(&name) {
            let mut again = known.clone();
            again.receipt.repeated = Some(true);
            return Ok(again);
        }
        let here = self.here(&meanwhile, number);
        if matches!(here.part, Part::Failed | Part::Budget) {
            let status = here.status();
            return Err(EngineError::Conflict(format!(
                "the session is {status} and takes no input"
            )));
        }
        let mut plays = here.plays.clone();
        let mut outcomes = Vec::new();
        for event in events {
            outcomes.push(self.accept(&here, &mut plays, event)?);
        }
        let receipt = Receipt {
            id: ids::derived(
                Kind::Receipt,
                &here.id,
                chance(&[meanwhile.receipts.len() as u64]),
            ),
            object: ReceiptObject::Only,
            session_id: session.to_owned(),
            accepted_at: Some(here.now_ms / 1000),
            digest: None,
            repeated: Some(false),
            outcomes,
        };
        let goes = receipt
            .turn_id()
            .map_or(Goes::Nowhere, |turn| Goes::To(turn.to_owned()));
        let submitted = Submitted { receipt, goes };
        meanwhile.plays.insert(number, plays);
        meanwhile.receipts.insert(name, submitted.clone());
        drop(meanwhile);
        self.changed.notify_waiters();
        Ok(submitted)
    }

    fn accept(
        &self,
        here: &Here,
        plays: &mut Vec<Play>,
        event: &InputEvent,
    ) -> Result<Became, EngineError> {
        let now_ms = here.now_ms;
        match event {
            InputEvent::Message(message) => {
                let text = text_of(&message.input);
                assert!(text != PANIC, "a message asked for a mistake");
                let queued = message.delivery == Some(Delivery::NextTurn);
                Ok(self.take_message(here, plays, text, queued))
            }
            InputEvent::Cancel(cancel) => Ok(cancel_turn(here, plays, cancel.turn_id.as_deref())),
            InputEvent::ToolResult(result) => {
                let answer = match (&result.error, &result.output) {
                    (Some(error), _) => Err(error.clone()),
                    (None, Some(FunctionOutput::Text(text))) => Ok(text.clone()),
                    (None, Some(FunctionOutput::Parts(parts))) => Ok(parts_text(parts)),
                    (None, None) => Ok(String::new()),
                };
                answer_call(here, plays, &result.call_id, (now_ms, answer))
            }
            InputEvent::McpApprovalRequestResult(result) => {
                let answer = match result.response.decision {
                    Decision::Approve => Ok("approved".to_owned()),
                    Decision::Deny | Decision::Cancel => Err("not approved".to_owned()),
                };
                answer_call(here, plays, &result.request_id, (now_ms, answer))
            }
            InputEvent::ComputerUseApprovalRequestResult(result) => {
                Err(EngineError::not_found("request", &result.request_id))
            }
        }
    }

    fn take_message(
        &self,
        here: &Here,
        plays: &mut Vec<Play>,
        text: String,
        queued: bool,
    ) -> Became {
        let now_ms = here.now_ms;
        let active = active(plays, now_ms);
        if let (Some(at), false) = (active, queued)
            && let Some(play) = plays.get_mut(at)
        {
            play.steered.push((now_ms, text));
            return Became::Steered {
                turn_id: here.turn_id(here.past_turns + 1 + at as u64),
            };
        }
        let luck = chance(&[here.luck, plays.len() as u64]);
        let before = scenes(plays, now_ms);
        let waiting = before.iter().filter(|scene| !scene.status.is_terminal());
        let position = waiting.count() as u64;
        plays.push(Play::of(play::echo(luck, text), now_ms));
        let turn_id = here.turn_id(here.past_turns + plays.len() as u64);
        match position {
            0 => Became::Started { turn_id },
            position => Became::Queued { position, turn_id },
        }
    }

    /// Creates a Session, once under its key; its number.
    pub(super) fn create(
        &self,
        key: &str,
        params: &SessionCreateParams,
    ) -> Result<u64, EngineError> {
        let mut meanwhile = self.meanwhile();
        if let Some(at) = meanwhile.created.iter().position(|one| one.key == key) {
            return Ok(self.count + at as u64);
        }
        let agent = params.agent_id.as_deref().map(|id| self.agent_number(id));
        let agent = agent.transpose()?;
        let model = params.agent.as_ref().and_then(|agent| agent.model.clone());
        let now_ms = self.clock.now_ms();
        let number = self.end(&meanwhile);
        meanwhile.created.push(Created {
            key: key.to_owned(),
            agent,
            model: model.unwrap_or_else(|| "demo".to_owned()),
            at_ms: now_ms,
        });
        if let Some(metadata) = &params.metadata {
            meanwhile.metadata.insert(number, metadata.clone());
        }
        if let Some(input) = params.input.clone() {
            let text = text_of(&input.into_messages());
            let play = Play::of(play::echo(self.luck(number), text), now_ms);
            meanwhile.plays.insert(number, vec![play]);
        }
        Ok(number)
    }

    /// Changes what an update may change here: the metadata.
    pub(super) fn change(
        &self,
        session: &str,
        change: impl FnOnce(&mut Meanwhile, u64),
    ) -> Result<Here, EngineError> {
        let mut meanwhile = self.meanwhile();
        let number = self.number(&meanwhile, session)?;
        change(&mut meanwhile, number);
        let here = self.here(&meanwhile, number);
        drop(meanwhile);
        self.changed.notify_waiters();
        Ok(here)
    }
}

/// The Turn that is at work or waits.
fn active(plays: &[Play], now_ms: u64) -> Option<usize> {
    scenes(plays, now_ms)
        .iter()
        .position(|scene| !scene.status.is_terminal())
}

fn cancel_turn(here: &Here, plays: &mut [Play], wanted: Option<&str>) -> Became {
    let ids: Vec<String> = (1..=here.turns()).map(|turn| here.turn_id(turn)).collect();
    let active = active(plays, here.now_ms);
    let active_id = active.and_then(|at| ids.get(here.past_turns as usize + at).cloned());
    let place = match wanted {
        None => active,
        Some(id) => ids
            .iter()
            .position(|of| of == id)
            .and_then(|at| at.checked_sub(here.past_turns as usize)),
    };
    let turn_id = wanted.map(str::to_owned).or(active_id.clone());
    let play = place.and_then(|at| plays.get_mut(at).zip(here.scenes.get(at)));
    match play {
        Some((play, scene)) if !scene.status.is_terminal() => {
            play.cancelled_ms = Some(here.now_ms);
            Became::Cancelled {
                turn_id: turn_id.unwrap_or_default(),
            }
        }
        _ => Became::Nothing {
            result: match (wanted, active_id.is_some()) {
                (None, _) => NothingToDo::NoActiveTurn,
                (Some(_), true) => NothingToDo::AnotherTurnActive,
                (Some(_), false) => NothingToDo::AlreadyFinished,
            },
            turn_id: active_id.or(turn_id),
        },
    }
}

fn answer_call(
    here: &Here,
    plays: &mut [Play],
    call: &str,
    answer: (u64, Result<String, String>),
) -> Result<Became, EngineError> {
    for (at, (play, scene)) in plays.iter_mut().zip(&here.scenes).enumerate() {
        let turn = here.past_turns + 1 + at as u64;
        let is_open = scene.status == TurnStatus::Waiting
            && scene
                .items
                .iter()
                .any(|seen| seen.stage == Stage::Open && matches!(seen.says, Saying::Call { .. }));
        if here.call_id(turn) != call {
            continue;
        }
        if !is_open {
            return Err(EngineError::Conflict(format!(
                "call {call} does not wait for a result"
            )));
        }
        play.answered = Some(answer);
        return Ok(Became::Answered {
            turn_id: here.turn_id(turn),
        });
    }
    Err(EngineError::not_found("call", call))
}

fn text_of(messages: &[InputMessage]) -> String {
    let texts: Vec<String> = messages
        .iter()
        .map(|one| parts_text(&one.content))
        .collect();
    texts.join("\n")
}

fn parts_text(parts: &[InputContent]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .map(|part| match part {
            InputContent::InputText { text } => text.as_str(),
            InputContent::InputImage { .. } => "[image]",
        })
        .collect();
    texts.join("\n")
}
