//! The question how to answer what a Session waits for.

use ratatui::layout::{Position, Rect};

use super::dialog::Dialog;
use super::paint::Paint;
use super::typed;
use crate::api::{ComputerUseRequest, RequiredAction};
use crate::tui::answer::{Answer, Writing, choices, identity};
use crate::tui::layers::waited_for;
use crate::tui::login::Login;
use crate::tui::state::State;
use crate::tui::transcript::{Role, tone_role};

/// Characters of the name of a field.
const LABEL: usize = 24;

/// Draws it; answers where the cursor is while text is written.
pub fn draw(state: &State, answer: &Answer, paint: &mut Paint, area: Rect) -> Option<Position> {
    let mut dialog = Dialog::new(area, paint.glyphs);
    let all = waited_for(state);
    let here = all
        .iter()
        .position(|of| identity(of) == identity(&answer.action));
    let count = match (here, all.len()) {
        (Some(at), n) if n > 1 => format!("  ({} of {n}, tab: next)", at + 1),
        _ => String::new(),
    };
    let most = match answer.writing {
        Some(_) => usize::from(area.height) / 5,
        None => usize::from(area.height) / 3,
    };
    head(&mut dialog, answer, &count, most);
    dialog.answers();
    if here.is_none() {
        dialog.say(
            Role::Bad,
            "It is not open any more: nothing can be answered.",
        );
    }
    if let Some((tone, words)) = &answer.says {
        dialog.say(tone_role(*tone), words);
    }
    let Some(writing) = answer.writing else {
        dialog.say(Role::Good, "enter, esc  leave it open");
        for (_, words) in choices(&answer.action) {
            dialog.say(Role::Warn, words);
        }
        dialog.draw(paint, area, 0);
        return None;
    };
    if let Some(login) = &answer.login {
        return Some(fill_in(dialog, login, paint, area));
    }
    let what = match writing {
        Writing::Result => "The result of the function, JSON or text:",
        Writing::Failure | Writing::Login => "Why the function failed:",
    };
    dialog.say(Role::Text, what);
    let rows = (area.height / 4).max(3);
    let mut place = dialog.draw(paint, area, rows);
    place.height -= 1;
    if let (Writing::Result, false) = (writing, answer.field.text().trim().is_empty()) {
        let is = match serde_json::from_str::<serde::de::IgnoredAny>(answer.field.text()) {
            Ok(_) => "it is valid JSON".to_owned(),
            Err(error) => format!("it is text; as JSON it fails: {error}"),
        };
        let (y, width) = (place.bottom(), usize::from(place.width));
        paint.words(place.x, y, width, &is, paint.dim());
    }
    Some(typed::draw(&answer.field, paint, place))
}

/// The fields of a login below the question; answers where the cursor is.
fn fill_in(mut dialog: Dialog, login: &Login, paint: &mut Paint, area: Rect) -> Position {
    if let Some((way, ways)) = login.way() {
        let more = match ways {
            1 => String::new(),
            n => format!("  (ctrl-n: another of {n} ways)"),
        };
        dialog.say(Role::Text, &format!("{}{more}", way.label));
    }
    let (fields, at) = login.shown();
    let place = dialog.draw(paint, area, fields.len() as u16);
    let mut cursor = Position::new(place.x, place.y);
    for (row, (field, value)) in fields.iter().enumerate() {
        let y = place.y + row as u16;
        if y >= place.bottom() {
            break;
        }
        let mark = if row == at { ">" } else { " " };
        let need = if field.required { "" } else { " (if any)" };
        let label: String = field.label.chars().take(LABEL).collect();
        let here = paint.field(place, y, &format!("{mark} {label}{need}: "), value);
        if row == at {
            cursor = here;
        }
    }
    cursor
}

/// What is asked, with whole ids.
fn head(dialog: &mut Dialog, answer: &Answer, count: &str, most: usize) {
    let title = |words: &str| format!("{words}{count}");
    match &answer.action {
        RequiredAction::FunctionCall {
            arguments,
            call_id,
            name,
            turn_id,
        } => {
            dialog.say(Role::Warn, &title("The agent waits for a function"));
            dialog.fact("call", call_id);
            dialog.fact("turn", turn_id);
            dialog.fact("session", &answer.session);
            dialog.fact("function", name);
            dialog.text(Role::Text, &pretty(arguments), most);
        }
        RequiredAction::McpApprovalRequest {
            request,
            request_id,
            turn_id,
        } => {
            dialog.say(
                Role::Warn,
                &title("The agent asks whether it may call a tool"),
            );
            dialog.fact("request", request_id);
            dialog.fact("turn", turn_id);
            dialog.fact("session", &answer.session);
            dialog.fact("server", &request.server_label);
            dialog.fact("tool", request.name.as_deref().unwrap_or("-"));
            dialog.text(Role::Text, &request.message, most / 2);
            dialog.text(Role::Text, &pretty(&request.arguments), most / 2);
        }
        RequiredAction::ComputerUseApprovalRequest {
            request,
            request_id,
            turn_id,
        } => {
            let (words, origin, reason) = match request {
                ComputerUseRequest::BrowserAuthentication(form) => (
                    "The agent asks for a login in its browser",
                    form.credential_origin.as_deref(),
                    &form.reason,
                ),
                ComputerUseRequest::BrowserOriginAccess { origin, reason } => (
                    "The agent asks whether its browser may open a site",
                    Some(origin.as_str()),
                    reason,
                ),
            };
            dialog.say(Role::Warn, &title(words));
            dialog.fact("request", request_id);
            dialog.fact("turn", turn_id);
            dialog.fact("session", &answer.session);
            dialog.fact("site", origin.unwrap_or("-"));
            if let Some(reason) = reason {
                dialog.text(Role::Text, reason, most);
            }
            if let ComputerUseRequest::BrowserAuthentication(_) = request {
                let words = "What is filled in is sent to this Session only; the screen keeps nothing of it.";
                dialog.say(Role::Dim, words);
            }
        }
        RequiredAction::EnvironmentConnection { environment_id } => {
            dialog.say(Role::Warn, &title("The Session waits for its environment"));
            dialog.fact("environment", environment_id);
            dialog.fact("session", &answer.session);
            let words = "It goes on when an executor connects to it. There is nothing to answer.";
            dialog.say(Role::Text, words);
        }
    }
}

fn pretty(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    }
}
