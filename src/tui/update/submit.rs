//! What becomes of what is written: sent, answered, changed in an editor, and a Turn that is to be cancelled.

use super::TOO_LONG;
use crate::engine::ports::Submitted;
use crate::tui::action::Action;
use crate::tui::composer::{Tone, cancel_input};
use crate::tui::field::Field;
use crate::tui::layers;
use crate::tui::msg::{Effect, Trouble};
use crate::tui::session::Cancelling;
use crate::tui::state::State;

pub(super) fn sent(
    state: &mut State,
    session: &str,
    key: &str,
    result: Result<Submitted, Trouble>,
) -> Vec<Effect> {
    let now_ms = state.now_ms;
    if let Some(effects) = layers::cancel_sent(state, key, &result) {
        return effects;
    }
    if layers::sent(state, key, &result) {
        let open = state.open.as_mut().filter(|open| open.id == session);
        return open.map_or_else(Vec::new, |open| open.look_at_news(now_ms));
    }
    match state.open.as_mut().filter(|open| open.id == session) {
        Some(open) => {
            open.sent(key, result, now_ms);
            open.look_at_news(now_ms)
        }
        None => {
            left_behind(state, session, key, &result);
            Vec::new()
        }
    }
}

pub(super) fn edited(state: &mut State, result: Result<String, String>) {
    let mut field = Field::default();
    match result {
        Err(why) => state.notice = Some(why),
        Ok(text) if !field.insert(text.trim_end_matches('\n')) => {
            state.notice = Some(TOO_LONG.into());
        }
        Ok(_) => {
            let field = layers::edited(state, field);
            if let (Some(field), Some(open)) = (field, &mut state.open) {
                open.composer.field = field;
                open.composer.changed();
            }
        }
    }
}

/// The answer to an input of a Session that was left meanwhile: its draft goes if it was accepted, and stays if it was not.
fn left_behind(state: &mut State, session: &str, key: &str, result: &Result<Submitted, Trouble>) {
    let draft = state.drafts.get_mut(session);
    let words = match draft.filter(|draft| draft.sending.as_deref() == Some(key)) {
        Some(draft) => {
            let (_, words) = draft.answered(key, result);
            if draft.field.text().is_empty() {
                state.drafts.remove(session);
            }
            words
        }
        None => match result {
            Ok(submitted) => format!("accepted: {}", submitted.receipt.id),
            Err(trouble) => trouble.words.clone(),
        },
    };
    state.notice = Some(format!("{session}: {words}"));
}

pub(super) fn in_composer(state: &mut State, action: Action) -> Vec<Effect> {
    let key = state.keys.spare();
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    let composer = &mut open.composer;
    if action == Action::Back {
        composer.focused = false;
        return Vec::new();
    }
    if composer.sending.is_some() {
        state.notice = Some("the message is being sent".into());
        return Vec::new();
    }
    match action {
        Action::Send => match composer.send(&key) {
            Some((key, event)) => {
                state.keys.used();
                open.trace = Some((Tone::Plain, "sending".to_owned()));
                return vec![Effect::Send {
                    session: open.id.clone(),
                    key,
                    event: Box::new(event),
                }];
            }
            None => state.notice = Some("there is nothing to send".into()),
        },
        Action::Delivery => {
            composer.queue = !composer.queue;
            composer.changed();
        }
        Action::Editor => return vec![Effect::Edit(composer.field.text().to_owned())],
        action => {
            let before = composer.field.text().len();
            composer.field.edit(action);
            if composer.field.text().len() != before {
                composer.changed();
            }
        }
    }
    Vec::new()
}

pub(super) fn in_cancel(state: &mut State, action: Action) -> Vec<Effect> {
    let Some(open) = &mut state.open else {
        return Vec::new();
    };
    let Some(Cancelling::Asked(turn)) = open.cancelling.take() else {
        return Vec::new();
    };
    let is_over = open
        .turns
        .get(&turn)
        .is_some_and(|turn| turn.status.is_terminal());
    match action {
        Action::CancelTurn if is_over => {
            let status = open.turns.get(&turn).map(|turn| turn.status);
            let word = status.map_or("over", crate::tui::transcript::turn_word);
            open.trace = Some((Tone::Plain, format!("already finished: {word} ({turn})")));
            Vec::new()
        }
        Action::CancelTurn => {
            let key = state.keys.spare();
            state.keys.used();
            open.trace = Some((Tone::Plain, format!("cancelling {turn}")));
            open.cancelling = Some(Cancelling::Sending {
                turn: turn.clone(),
                key: key.clone(),
            });
            vec![Effect::Send {
                session: open.id.clone(),
                key,
                event: Box::new(cancel_input(&turn)),
            }]
        }
        Action::Back => {
            state.notice = Some(format!("{turn} goes on"));
            Vec::new()
        }
        _ => {
            // Scrolling and the like have no meaning here; the question stays.
            open.cancelling = Some(Cancelling::Asked(turn));
            Vec::new()
        }
    }
}
