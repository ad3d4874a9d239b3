//! One Session: its title, its transcript, and what became of the last input.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::beside;
use super::paint::Paint;
use crate::text::count;
use crate::tui::filter::state_word;
use crate::tui::session::Open;
use crate::tui::state::State;
use crate::tui::transcript::{LABEL_CELLS, Line, Role};

/// Draws it; answers where the cursor is while words are typed that are searched.
pub fn draw(state: &State, open: &Open, paint: &mut Paint, area: Rect) -> Option<Position> {
    title(open, paint, area);
    let height = state.transcript_height();
    let whole = area;
    let columns = state.columns();
    let column = |x: usize, width: usize| Rect {
        x: whole.x + x as u16,
        y: whole.y + 2,
        width: width as u16,
        height: height as u16,
    };
    if columns.sessions > 0 {
        let place = column(0, columns.sessions - 1);
        beside::sessions(state, open, paint, place);
    }
    if columns.turns > 0 {
        let place = column(columns.sessions, columns.turns - 1);
        beside::turns(state, open, paint, place);
    }
    if columns.last > 0 {
        let x = usize::from(whole.width) - columns.last;
        beside::item(open, paint, column(x + 1, columns.last - 1));
    }
    let area = Rect {
        x: area.x + columns.before() as u16,
        width: area.width - columns.cells() as u16,
        ..area
    };
    draw_lines(
        paint,
        Rect {
            y: area.y + 2,
            ..area
        },
        &open.visible(state.look(), height),
    );
    let width = usize::from(area.width);
    if open.session.is_none() {
        let says = match &open.problem {
            Some((why, _)) => format!("not read: {why}"),
            None => "reading".to_owned(),
        };
        paint.words(area.x + 1, area.y + 3, width - 2, &says, paint.dim());
    }
    let area = whole;
    trace(open, paint, area, area.y + 2 + height as u16);
    let field = open.finder.typing.as_ref()?;
    let y = area.bottom() - 2;
    super::clear_row(paint, area, y);
    Some(paint.field(area, y, "search upwards: ", field))
}

/// Draws lines of a transcript.
pub(super) fn draw_lines(paint: &mut Paint, area: Rect, lines: &[Line]) {
    paint.rows_built += lines.len();
    let width = usize::from(area.width);
    for (row, line) in lines.iter().enumerate() {
        let y = area.y + row as u16;
        let style = paint.role(line.role);
        let label = match line.role {
            Role::Text => paint.dim(),
            _ => style,
        };
        paint.words(area.x, y, LABEL_CELLS - 1, line.label, label);
        let text = match line.role {
            // The words of user and agent are what a person reads; their colour is in the label.
            Role::User | Role::Agent if !line.label.is_empty() || is_speech(lines, row) => {
                Style::default()
            }
            _ => style,
        };
        let indent = if line.mark { 0 } else { LABEL_CELLS };
        let x = area.x + indent as u16;
        paint.text(x, y, width.saturating_sub(indent), &line.text, text);
        if line.found {
            paint.words(x - 1, y, 1, ">", paint.bold());
        }
    }
}

/// Whether a line without a label goes on with what somebody says.
fn is_speech(lines: &[Line], row: usize) -> bool {
    let first = lines[..row]
        .iter()
        .rev()
        .find(|line| !line.label.is_empty());
    first.is_some_and(|line| line.role == lines[row].role)
}

fn title(open: &Open, paint: &mut Paint, area: Rect) {
    let y = area.y + 1;
    let width = usize::from(area.width);
    let Some(session) = &open.session else {
        paint.words(area.x + 1, y, width - 2, &open.id, paint.bold());
        return;
    };
    let word = state_word(session.status);
    let right = format!("{}  {word}", session.agent.model);
    let cells = crate::text::cells(&right).min(width / 3);
    let room = width.saturating_sub(cells + 4);
    let used = paint.words(area.x + 1, y, room, &open.id, paint.dim());
    if let Some(title) = session.metadata.get("title") {
        let x = area.x + 3 + used as u16;
        paint.words(x, y, room.saturating_sub(used + 2), title, paint.bold());
    }
    let x = area.right().saturating_sub(cells as u16 + 1);
    paint.words(x, y, cells, &right, paint.dim());
}

/// What became of the last input, or how far the reader is from the newest.
fn trace(open: &Open, paint: &mut Paint, area: Rect, y: u16) {
    let width = usize::from(area.width);
    paint.rule(area, y);
    let place = (open.follow, open.unseen, open.items.behind().is_some());
    let right = match (&open.finder.going, place) {
        (Some(going), _) => format!(" searching, {} so far ", count(going.looked as u64)),
        (None, (true, _, _)) => " following ".to_owned(),
        (None, (false, 0, false)) => " not following ".to_owned(),
        (None, (false, 0, true)) => " older Items ".to_owned(),
        (None, (false, new, _)) => format!(" {} new below ", count(new as u64)),
    };
    let x = area.right().saturating_sub(right.len() as u16 + 2);
    paint.words(x, y, right.len(), &right, paint.dim());
    let below = y + 1;
    if let Some((why, _)) = &open.problem {
        let style = paint.role(Role::Bad);
        paint.words(area.x + 1, below, width - 2, why, style);
    } else if let Some((tone, words)) = &open.trace {
        let style = paint.tone(*tone);
        paint.words(area.x + 1, below, width - 2, words, style);
    }
}
