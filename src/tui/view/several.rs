//! What is done to several Sessions: all of them with their ids, what became of each, and how the question is answered.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::page;
use super::paint::Paint;
use crate::tui::layers::{SEVERAL_ROOM, several_height};
use crate::tui::several::{Deed, One, Several, Stage};
use crate::tui::state::State;
use crate::tui::transcript::{Role, tone_role};

/// Draws it; answers where the cursor is while something is typed.
pub fn draw(state: &State, several: &Several, paint: &mut Paint, area: Rect) -> Option<Position> {
    let sessions = several.all.len();
    let height = several_height(state);
    let right = match sessions > height {
        true => format!(
            "{} to {} of {sessions}",
            several.top + 1,
            (several.top + height).min(sessions)
        ),
        false => String::new(),
    };
    let body = page::draw(paint, area, &several.deed.asks(sessions), &right);
    let shown = several.all.iter().skip(several.top).take(height);
    for (at, one) in shown.enumerate() {
        row(one, paint, body, body.y + 2 * at as u16);
        paint.rows_built += 1;
    }
    let mut y = body.bottom().saturating_sub(SEVERAL_ROOM as u16);
    paint.rule(body, y);
    let width = usize::from(body.width).saturating_sub(2);
    let mut say = |role: Role, words: &str, paint: &mut Paint| {
        y += 1;
        let style = match role {
            Role::Text => Style::default(),
            role => paint.role(role),
        };
        paint.words(body.x + 1, y, width, words, style);
        y
    };
    say(Role::Text, several.deed.warns(), paint);
    let (tone, words) = match (&several.says, several.stage) {
        (Some((tone, words)), Stage::Asked) => (tone_role(*tone), words.clone()),
        (Some((_, words)), _) => (Role::Text, format!("{}; {words}", several.summary())),
        (None, Stage::Asked) => (Role::Text, String::new()),
        (None, _) => (Role::Text, several.summary()),
    };
    say(tone, &words, paint);
    match (several.stage, several.deed) {
        (Stage::Asked, Deed::Cancel) => {
            say(
                Role::Good,
                "k  let all of them run (also enter, esc)",
                paint,
            );
            say(Role::Bad, "c  cancel the turns that are named", paint);
            None
        }
        (Stage::Asked, deed) => {
            let (nothing, wants) = match deed {
                Deed::Delete => (
                    "esc  delete nothing",
                    format!("type  {}  and enter: ", several.wanted()),
                ),
                _ => ("esc  export nothing", "in the directory: ".to_owned()),
            };
            say(Role::Good, nothing, paint);
            let y = say(Role::Text, "", paint);
            Some(paint.field(body, y, &wants, &several.field))
        }
        (Stage::Going, _) => {
            say(Role::Good, "esc  stop before the next", paint);
            None
        }
        (Stage::Over, _) => {
            say(
                Role::Good,
                "enter, esc  back;  y  copy what became of each",
                paint,
            );
            None
        }
    }
}

/// Its id and title, and below what is done to what.
fn row(one: &One, paint: &mut Paint, area: Rect, y: u16) {
    let width = usize::from(area.width).saturating_sub(2);
    let used = paint.words(area.x + 1, y, width, &one.session, paint.bold());
    let x = area.x + 3 + used as u16;
    paint.words(
        x,
        y,
        width.saturating_sub(used + 2),
        &one.title,
        Style::default(),
    );
    let turn = one.turn.as_deref().unwrap_or_default();
    let used = paint.words(area.x + 3, y + 1, width - 2, turn, paint.dim());
    let (tone, words) = one.fate.words();
    let x = area.x + 3 + used as u16 + if used > 0 { 2 } else { 0 };
    let style = paint.tone(tone);
    paint.words(x, y + 1, width.saturating_sub(used + 4), &words, style);
}
