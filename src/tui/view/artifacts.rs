//! The Artifacts of a Session, the preview of one, and the question where to save it.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::dialog::Dialog;
use super::paint::Paint;
use super::{beside, facts, image, page, typed};
use crate::text::{count, size};
use crate::tui::artifacts::{Artifacts, Preview, artifact_facts};
use crate::tui::preview::{Kind, extent};
use crate::tui::save::{Save, Stage};
use crate::tui::state::State;
use crate::tui::transcript::{Role, tone_role};

/// Draws the list.
pub fn draw(state: &State, artifacts: &Artifacts, paint: &mut Paint, area: Rect) {
    let rows = artifacts.rows.window.rows();
    let more = artifacts.rows.window.before().is_some() || artifacts.rows.window.behind().is_some();
    let right = match more {
        true => format!("{} of more, newest first", rows.len()),
        false => format!("{}, newest first", rows.len()),
    };
    let title = format!("{}  Artifacts", artifacts.session);
    let body = page::draw(paint, area, &title, &right);
    if rows.is_empty() {
        let (problem, loaded) = (artifacts.rows.problem.as_ref(), artifacts.rows.loaded);
        let none = "no Artifacts yet: they are published when a Turn ends";
        return page::nothing(paint, body, problem, loaded, none);
    }
    let mut list = body;
    let beside = state.told_beside() as u16;
    if let Some(artifact) = artifacts.rows.current().filter(|_| beside > 0) {
        list.width -= beside;
        let place = Rect {
            x: list.right(),
            width: beside,
            ..body
        };
        let place = beside::bar(paint, place, false);
        let facts = artifact_facts(artifact, &state.times());
        let below = facts::draw(paint, place, &facts) + 1;
        let preview = artifacts.beside.as_ref();
        if let Some(preview) = preview.filter(|of| of.artifact.id == artifact.id) {
            let place = Rect {
                y: below,
                height: place.bottom().saturating_sub(below),
                ..place
            };
            head(state, preview, paint, place);
        }
    }
    let times = state.times();
    let age = times.cells() + 1;
    let id = if list.width >= 100 { 31 } else { 0 };
    let rest = usize::from(list.width).saturating_sub(2 + 10 + age + id + 4);
    let columns = |texts: [&str; 4]| -> Vec<(usize, String, Role)> {
        let widths = [rest, 10, age, id];
        let roles = [Role::Text, Role::Dim, Role::Dim, Role::Dim];
        (0..4)
            .map(|at| (widths[at], texts[at].to_owned(), roles[at]))
            .collect()
    };
    row(
        paint,
        list,
        list.y,
        &columns(["PATH", "SIZE", "MADE", "ARTIFACT"]),
        false,
    );
    let height = usize::from(list.height.saturating_sub(1));
    let visible = rows
        .iter()
        .enumerate()
        .skip(artifacts.rows.top)
        .take(height);
    for (line, (place, artifact)) in visible.enumerate() {
        let made = times.short(artifact.created_at * 1000);
        let texts = columns([
            &artifact.path,
            &size(artifact.size_bytes),
            &made,
            &artifact.id,
        ]);
        let y = list.y + 1 + line as u16;
        row(paint, list, y, &texts, place == artifacts.rows.selected);
        paint.rows_built += 1;
    }
}

fn row(paint: &mut Paint, area: Rect, y: u16, columns: &[(usize, String, Role)], selected: bool) {
    let columns: Vec<_> = columns
        .iter()
        .map(|(cells, text, role)| (*cells, text.as_str(), *role))
        .collect();
    page::row(paint, area, y, &columns, selected);
}

/// Draws one Artifact as far as it can be shown.
pub fn draw_preview(state: &State, preview: &Preview, paint: &mut Paint, area: Rect) {
    let artifact = &preview.artifact;
    let right = match (&preview.shown, &preview.head) {
        (Some(shown), Some(head)) => format!(
            "{}, {}, line {} of {}",
            shown.kind.name(),
            extent(head.bytes.len(), artifact.size_bytes),
            shown.reader.line(),
            count(shown.reader.lines() as u64)
        ),
        _ => size(artifact.size_bytes),
    };
    let body = page::draw(paint, area, &artifact.path, &right);
    let place = Rect {
        x: body.x + 1,
        width: state.page_look().width as u16,
        ..body
    };
    head(state, preview, paint, place);
}

/// The first bytes of one, as far as they are known and there is room.
fn head(state: &State, preview: &Preview, paint: &mut Paint, area: Rect) {
    let (width, glyphs) = (usize::from(area.width), paint.glyphs);
    let Some(shown) = &preview.shown else {
        let says = match &preview.problem {
            Some(why) => format!("not read: {why}"),
            None => "reading".to_owned(),
        };
        paint.words(area.x, area.y, width, &says, paint.dim());
        return;
    };
    let rows = shown
        .reader
        .visible(width, usize::from(area.height), glyphs);
    paint.rows_built += rows.len();
    for (row, (line, text)) in rows.iter().enumerate() {
        let style = match shown.roles.get(*line) {
            None | Some(Role::Text) => Style::default(),
            Some(role) => paint.role(*role),
        };
        paint.text(area.x, area.y + row as u16, width, text, style);
    }
    if shown.kind == Kind::Image {
        let used = rows.len() as u16;
        let place = Rect {
            y: area.y + used,
            height: area.height.saturating_sub(used),
            ..area
        };
        image::draw(state, preview, paint, place);
    } else if rows.is_empty() && area.height > 0 {
        paint.words(area.x, area.y, width, "it is empty", paint.dim());
    }
}

/// Draws the question where to save it; answers where the cursor is while a name is typed.
pub fn draw_save(save: &Save, paint: &mut Paint, area: Rect) -> Option<Position> {
    let mut dialog = Dialog::new(area, paint.glyphs);
    dialog.say(Role::Warn, "Save this Artifact in a file");
    dialog.fact("artifact", &save.artifact.id);
    dialog.fact("path", &save.artifact.path);
    dialog.fact("size", &size(save.artifact.size_bytes));
    dialog.answers();
    if let Some((tone, words)) = &save.says {
        dialog.say(tone_role(*tone), words);
    }
    match save.stage {
        Stage::Where => {
            let words = "Into this file, or under its own name into this directory:";
            dialog.say(Role::Text, words);
            let place = dialog.draw(paint, area, 1);
            return Some(typed::draw(&save.field, paint, place));
        }
        Stage::Taken => {
            dialog.fact("file", save.field.text());
            dialog.say(Role::Bad, "There is a file of that name already.");
            dialog.say(Role::Good, "enter, esc  keep it, and choose another name");
            dialog.say(Role::Bad, "r  replace it");
        }
        Stage::Writing(bytes) => {
            dialog.fact("file", save.field.text());
            let whole = save.artifact.size_bytes;
            let percent = bytes.saturating_mul(100) / whole.max(1);
            let words = format!("{} of {}  {percent}%", size(bytes), size(whole));
            dialog.fact("written", &words);
            dialog.say(Role::Good, "esc  give it up; nothing is left of it");
        }
    }
    dialog.draw(paint, area, 0);
    None
}
