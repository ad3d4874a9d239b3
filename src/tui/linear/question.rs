//! What is asked of a person, in lines, and what lines answer it. Pure.

use crate::api::{ComputerUseRequest, RequiredAction};
use crate::text::{SafeBlock, SafeText};
use crate::tui::action::{Action, Place};
use crate::tui::answer::{Answer, Writing, choices};
use crate::tui::create::{Agents, Create, Part};
use crate::tui::layers::Layer;
use crate::tui::session::Cancelling;
use crate::tui::state::State;

/// Lines of arguments that are told.
const ARGUMENT_LINES: usize = 20;

/// The question that is open, if one is.
pub fn question(state: &State) -> Vec<String> {
    if let (Place::Cancel, Some(open)) = (state.place(), &state.open)
        && let Some(Cancelling::Asked(turn)) = &open.cancelling
    {
        return vec![
            format!("cancel {turn} of {}?", open.id),
            "c cancels this Turn; any other line lets it go on".to_owned(),
        ];
    }
    match state.layers.last() {
        Some(Layer::Answer(answer)) => of_answer(answer),
        Some(Layer::Create(create)) => of_create(create),
        _ => Vec::new(),
    }
}

fn of_answer(answer: &Answer) -> Vec<String> {
    let mut says = head(answer);
    says.extend(answer.says.as_ref().map(|(_, words)| line(words)));
    match answer.writing {
        _ if answer.sending.is_some() => {}
        Some(Writing::Result | Writing::Failure) => {
            says.push("s sends it again; any other line goes back to the question".to_owned());
        }
        Some(Writing::Login) | None => {
            let all = choices(&answer.action);
            says.extend(all.iter().filter_map(|(action, words)| {
                match action {
                    Action::WriteResult => {
                        Some("r RESULT    what the function returned".to_owned())
                    }
                    Action::WriteFailure => Some("f WHY       why it failed".to_owned()),
                    // What is typed here is echoed by the terminal.
                    Action::LogIn => None,
                    _ => words
                        .split_once("  ")
                        .map(|(key, does)| format!("{key}           {does}")),
                }
            }));
            if all.iter().any(|(action, _)| *action == Action::LogIn) {
                says.push(
                    "a login is filled in on the screen: lines are seen by who stands behind you"
                        .to_owned(),
                );
            }
            says.push("n           the next thing that is waited for".to_owned());
            says.push("any other line leaves it open".to_owned());
        }
    }
    says
}

fn head(answer: &Answer) -> Vec<String> {
    let mut says = Vec::new();
    match &answer.action {
        RequiredAction::FunctionCall {
            arguments,
            call_id,
            name,
            turn_id,
        } => {
            says.push(format!("the agent waits for the function {}", line(name)));
            says.push(format!(
                "call {}, {turn_id} of {}",
                line(call_id),
                answer.session
            ));
            says.extend(arguments_lines(arguments));
        }
        RequiredAction::McpApprovalRequest {
            request,
            request_id,
            turn_id,
        } => {
            let tool = request.name.as_deref().unwrap_or("a tool");
            says.push(format!(
                "the agent asks whether it may call {} of {}",
                line(tool),
                line(&request.server_label)
            ));
            says.push(format!(
                "request {}, {turn_id} of {}",
                line(request_id),
                answer.session
            ));
            says.push(line(&request.message));
            says.extend(arguments_lines(&request.arguments));
        }
        RequiredAction::ComputerUseApprovalRequest {
            request,
            request_id,
            turn_id,
        } => {
            let (words, origin, reason) = match request {
                ComputerUseRequest::BrowserAuthentication(form) => (
                    "the agent asks for a login at",
                    form.credential_origin.as_deref(),
                    &form.reason,
                ),
                ComputerUseRequest::BrowserOriginAccess { origin, reason } => (
                    "the agent asks whether its browser may open",
                    Some(origin.as_str()),
                    reason,
                ),
            };
            says.push(format!("{words} {}", line(origin.unwrap_or("a site"))));
            says.push(format!(
                "request {}, {turn_id} of {}",
                line(request_id),
                answer.session
            ));
            says.extend(reason.as_deref().map(line));
        }
        RequiredAction::EnvironmentConnection { environment_id } => {
            says.push(format!(
                "the Session waits for its environment {environment_id}"
            ));
        }
    }
    says
}

fn arguments_lines(value: &serde_json::Value) -> Vec<String> {
    let text = match value {
        serde_json::Value::String(text) => text.clone(),
        value => serde_json::to_string_pretty(value).unwrap_or_default(),
    };
    let block = SafeBlock::block(&text);
    let lines = block.as_str().lines();
    let mut says: Vec<String> = lines.take(ARGUMENT_LINES).map(str::to_owned).collect();
    let more = block.as_str().lines().count().saturating_sub(says.len());
    if more > 0 {
        says.push(format!("and {more} more lines"));
    }
    says
}

fn of_create(create: &Create) -> Vec<String> {
    let model = match (
        create.model.text().trim(),
        &create.agent,
        &create.default_model,
    ) {
        ("", Some(_), _) => "of the Agent".to_owned(),
        ("", None, Some(model)) => model.clone(),
        ("", None, None) => "none yet".to_owned(),
        (model, ..) => model.to_owned(),
    };
    let agent = match (&create.agent, &create.agents) {
        (Some((id, name)), _) => format!("{id}, {name}"),
        (None, Agents::Known(agents, _)) if agents.is_empty() => "none is saved".to_owned(),
        (None, _) => "none".to_owned(),
    };
    let place = match create.managed {
        true => "in a sandbox",
        false => "nowhere",
    };
    let mut says = vec!["a new Session".to_owned()];
    for (part, value) in [
        (Part::Message, create.message.text()),
        (Part::Title, create.title.text()),
        (Part::Model, model.as_str()),
        (Part::Agent, agent.as_str()),
        (Part::Environment, place),
    ] {
        says.push(format!("{}: {}", part.name(), line(value)));
    }
    says.extend(create.says.as_ref().map(|(_, words)| line(words)));
    says.push(match create.asked {
        true => "c creates this Session; any other line goes back".to_owned(),
        false => "? says what changes it; ok goes on; b leaves it".to_owned(),
    });
    says
}

fn line(words: &str) -> String {
    SafeText::line(words).as_str().to_owned()
}
