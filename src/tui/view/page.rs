//! A screen of its own above the others: a title, and room for what it shows.

use ratatui::layout::Rect;
use ratatui::style::Style;

use super::paint::Paint;
use crate::tui::transcript::Role;

/// Cells that are left to the title.
const TITLE: usize = 24;

/// Empties the place and draws the title; answers the room below it.
pub fn draw(paint: &mut Paint, area: Rect, title: &str, right: &str) -> Rect {
    let blank = " ".repeat(usize::from(area.width));
    for y in area.y..area.bottom() {
        paint.buffer.set_string(area.x, y, &blank, Style::default());
    }
    let width = usize::from(area.width);
    let cells = crate::text::cells(right).min(width.saturating_sub(TITLE));
    let room = width.saturating_sub(cells + 4);
    paint.words(area.x + 1, area.y, room, title, paint.bold());
    let x = area.right().saturating_sub(cells as u16 + 1);
    paint.words(x, area.y, cells, right, paint.dim());
    Rect {
        y: area.y + 1,
        height: area.height.saturating_sub(1),
        ..area
    }
}

/// Columns from which on there is room for the selected row beside a list.
const WIDE: u16 = 120;

/// Room for a list of so many cells, and room beside it for what is known of the selected row, where there is any.
pub fn split(body: Rect, list_cells: u16) -> (Rect, Option<Rect>) {
    if body.width < WIDE {
        return (body, None);
    }
    let list = Rect {
        width: list_cells,
        ..body
    };
    let beside = Rect {
        x: body.x + list_cells + 2,
        width: body.width - list_cells - 2,
        ..body
    };
    (list, Some(beside))
}

/// Cells of one row of a table, and how they look; a column without cells is left out.
pub fn row(paint: &mut Paint, area: Rect, y: u16, columns: &[(usize, &str, Role)], selected: bool) {
    if selected {
        let blank = " ".repeat(usize::from(area.width));
        paint.buffer.set_string(area.x, y, blank, paint.selected());
        paint.words(area.x, y, 1, ">", paint.selected());
    }
    let mut x = area.x + 2;
    for (cells, text, role) in columns {
        if *cells == 0 || x >= area.right() {
            continue;
        }
        let style = match (selected, role) {
            (true, _) => paint.selected(),
            (false, Role::Text) => Style::default(),
            (false, role) => paint.role(*role),
        };
        let room = (*cells).min(usize::from(area.right() - x));
        paint.words(x, y, room, text, style);
        x += *cells as u16 + 1;
    }
}

/// What a list says that has no rows.
pub fn nothing(
    paint: &mut Paint,
    area: Rect,
    problem: Option<&(String, u64)>,
    loaded: bool,
    none: &str,
) {
    let says = match (problem, loaded) {
        (Some((why, _)), _) => format!("not read: {why}"),
        (None, false) => "reading".to_owned(),
        (None, true) => none.to_owned(),
    };
    let width = usize::from(area.width).saturating_sub(2);
    paint.words(area.x + 1, area.y, width, &says, paint.dim());
}
