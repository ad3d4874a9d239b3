//! The form of a new Session, and the question before it is created.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::dialog::Dialog;
use super::paint::Paint;
use super::typed;
use crate::tui::create::{Agents, Create, Part};
use crate::tui::state::State;
use crate::tui::transcript::{Role, tone_role};

/// Cells of the names of fields, with the mark of the one that is written.
const NAME: u16 = 11;

/// Draws it; answers where the cursor is while text is written.
pub fn draw(state: &State, create: &Create, paint: &mut Paint, area: Rect) -> Option<Position> {
    match create.asked {
        true => {
            question(state, create, paint, area);
            None
        }
        false => form(create, paint, area),
    }
}

fn form(create: &Create, paint: &mut Paint, area: Rect) -> Option<Position> {
    let mut dialog = Dialog::new(area, paint.glyphs);
    dialog.say(Role::Warn, "A new Session");
    if let Some((tone, words)) = &create.says {
        dialog.say(tone_role(*tone), words);
    }
    let message_rows = (area.height / 3).max(3);
    let rows = message_rows + 1 + Part::ALL.len() as u16;
    let place = dialog.draw(paint, area, rows);
    let mut y = place.y;
    let mut cursor = None;
    for part in Part::ALL {
        if y >= place.bottom() {
            break;
        }
        let is_it = part == create.part;
        let name = format!("{} {}", if is_it { ">" } else { " " }, part.name());
        let style = if is_it { paint.bold() } else { paint.dim() };
        paint.words(place.x, y, usize::from(NAME), &name, style);
        let field = Rect {
            x: place.x + NAME,
            y,
            width: place.width.saturating_sub(NAME),
            height: if part == Part::Message {
                message_rows
            } else {
                1
            }
            .min(place.bottom() - y),
        };
        let width = usize::from(field.width);
        let typed = match part {
            Part::Message => Some(&create.message),
            Part::Title => Some(&create.title),
            Part::Model => Some(&create.model),
            Part::Agent | Part::Environment => None,
        };
        match typed {
            Some(typed) if !typed.text().is_empty() || (is_it && part != Part::Model) => {
                let at = typed::draw(typed, paint, field);
                cursor = is_it.then_some(at).or(cursor);
            }
            Some(_) => {
                let hint = match (part, &create.default_model, &create.agent) {
                    (Part::Model, _, Some(_)) => "(the Agent's)".to_owned(),
                    (Part::Model, Some(model), None) => format!("({model})"),
                    _ => "-".to_owned(),
                };
                paint.words(field.x, y, width, &hint, paint.dim());
                let at = Position::new(field.x, y);
                cursor = is_it.then_some(at).or(cursor);
            }
            None => {
                let words = choice(create, part);
                paint.words(field.x, y, width, &words, Style::default());
            }
        }
        y += field.height.max(1) + u16::from(part == Part::Message);
    }
    cursor
}

/// What a field that has choices says.
fn choice(create: &Create, part: Part) -> String {
    if part == Part::Environment {
        return match create.managed {
            true => "in a sandbox with a workspace  (left, right)".to_owned(),
            false => "nowhere, the agent has no shell  (left, right)".to_owned(),
        };
    }
    match (&create.agent, &create.agents) {
        (Some((id, name)), _) => format!("{id}  {name}"),
        (None, Agents::Reading) => "none  (saved Agents are being read)".to_owned(),
        (None, Agents::Unknown(why)) => format!("none  (saved Agents are not known: {why})"),
        (None, Agents::Known(agents, _)) if agents.is_empty() => "none is saved".to_owned(),
        (None, Agents::Known(agents, more)) => {
            let which = if *more { "the newest " } else { "" };
            format!("none  (left, right: {which}{} saved ones)", agents.len())
        }
    }
}

fn question(state: &State, create: &Create, paint: &mut Paint, area: Rect) {
    let mut dialog = Dialog::new(area, paint.glyphs);
    dialog.say(Role::Warn, "Create this Session?");
    dialog.fact(
        "in",
        &format!("{}  {}", state.about.profile, state.about.place),
    );
    let title = create.title.text().trim();
    if !title.is_empty() {
        dialog.fact("title", title);
    }
    if let Some((id, name)) = &create.agent {
        dialog.fact("agent", &format!("{id}  {name}"));
    }
    let model = match (create.model.text().trim(), &create.agent) {
        ("", Some(_)) => "the Agent's",
        ("", None) => create.default_model.as_deref().unwrap_or("-"),
        (model, _) => model,
    };
    dialog.fact("model", model);
    let commands = match create.managed {
        true => "in a sandbox with a workspace",
        false => "nowhere, the agent has no shell",
    };
    dialog.fact("commands", commands);
    match create.message.text().trim_end() {
        "" => dialog.fact("message", "none: nothing begins before one is sent"),
        message => {
            dialog.fact("message", "");
            dialog.text(Role::Text, message, usize::from(area.height) / 3);
        }
    }
    dialog.answers();
    if let Some((tone, words)) = &create.says {
        dialog.say(tone_role(*tone), words);
    }
    dialog.say(Role::Good, "enter, esc  go back, nothing is created");
    dialog.say(Role::Warn, "c  create it, and begin with the message");
    dialog.draw(paint, area, 0);
}
