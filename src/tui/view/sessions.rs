//! The list of Sessions.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::beside;
use super::paint::Paint;
use crate::api::{AgentSession, SessionStatus};
use crate::text::{Glyphs, cells, count};
use crate::tui::filter::state_word;
use crate::tui::sessions::Order;
use crate::tui::state::State;
use crate::tui::transcript::Role;

/// Cells of the column before the title.
const STATE: usize = 10;

/// Draws it; answers where the cursor is while a filter is typed.
pub fn draw(state: &State, paint: &mut Paint, area: Rect) -> Option<Position> {
    let cursor = filter_line(state, paint, area);
    let whole = area;
    let beside = state.list_columns().last as u16;
    if let Some(session) = state.sessions.current().filter(|_| beside > 0) {
        let place = Rect {
            x: area.right() - beside,
            y: area.y + 2,
            width: beside,
            height: area.height.saturating_sub(4),
        };
        beside::session(state, session, paint, place);
    }
    let area = Rect {
        width: area.width - beside,
        ..area
    };
    let columns = Columns::of(usize::from(area.width), state.times().cells());
    let dim = paint.dim();
    columns.row(
        paint,
        area,
        area.y + 2,
        ["", "STATE", "TITLE", "MODEL", "SESSION", "ACTIVE"],
        [dim; 6],
    );
    let sessions = &state.sessions;
    let height = state.list_height();
    let rows = sessions.window.rows();
    let visible = rows.iter().enumerate().skip(sessions.top).take(height);
    for (line, (place, session)) in visible.enumerate() {
        let y = area.y + (super::LIST_TOP + line) as u16;
        row(
            state,
            paint,
            area,
            y,
            &columns,
            session,
            place == sessions.selected,
        );
        paint.rows_built += 1;
    }
    if rows.is_empty() {
        let says = match (
            &sessions.problem,
            sessions.loaded,
            sessions.filter.typed.is_empty(),
        ) {
            (Some((why, _)), _, _) => format!("not read: {why}"),
            (None, false, _) => "reading".to_owned(),
            (None, true, _) if sessions.window.behind().is_some() => "searching".to_owned(),
            (None, true, true) => {
                "no Sessions yet: rat-things sessions create --input TEXT makes one".to_owned()
            }
            (None, true, false) => "no Session matches".to_owned(),
        };
        paint.words(
            area.x + 1,
            area.y + 3,
            usize::from(area.width) - 2,
            &says,
            dim,
        );
    } else if let Some((why, _)) = &sessions.problem {
        let y = whole.bottom() - 2;
        let style = paint.role(Role::Bad);
        paint.words(whole.x + 1, y, usize::from(whole.width) - 2, why, style);
    }
    cursor
}

/// The filter, or the field in which it is typed, and which part of the list this is.
fn filter_line(state: &State, paint: &mut Paint, area: Rect) -> Option<Position> {
    let sessions = &state.sessions;
    let y = area.y + 1;
    let width = usize::from(area.width);
    if let Some(field) = &sessions.typing {
        let cursor = paint.field(area, y, "filter: ", field);
        let help = match &sessions.mistake {
            Some(mistake) => mistake.clone(),
            None => "words of title, id or model; state:running,waiting; agent:ID".to_owned(),
        };
        let style = match sessions.mistake {
            Some(_) => paint.role(Role::Bad),
            None => paint.dim(),
        };
        paint.words(area.x + 1, area.bottom() - 2, width - 2, &help, style);
        return Some(cursor);
    }
    let order = match sessions.order {
        Order::Newest => "newest first".to_owned(),
        Order::Oldest => "oldest first".to_owned(),
        Order::Active => format!("last active first, of {}", count(sessions.scanned as u64)),
    };
    let mut right = match sessions.marks.len() {
        0 => order,
        n => format!("{} marked, {order}", count(n as u64)),
    };
    if let Some(place) = sessions.place() {
        right = format!("{place}, {right}");
    }
    if sessions.filter.searches() && sessions.window.behind().is_some() {
        right = format!("{} looked at, {right}", count(sessions.scanned as u64));
    }
    let cells = cells(&right);
    let mut left = "Sessions".to_owned();
    if !sessions.filter.typed.is_empty() {
        left = format!("Sessions  / {}", sessions.filter.typed);
    }
    paint.words(
        area.x + 1,
        y,
        width.saturating_sub(cells + 4),
        &left,
        paint.bold(),
    );
    let x = area.right().saturating_sub(cells as u16 + 1);
    paint.words(x, y, cells, &right, paint.dim());
    None
}

/// Cells of each column, the mark of the selection first.
struct Columns([usize; 6]);

impl Columns {
    fn of(width: usize, age: usize) -> Columns {
        // An id is never cut; where there is no room for it, the title is what tells Sessions apart.
        let id = if width >= 100 { 31 } else { 0 };
        let model = if width >= 100 { 16 } else { 14 };
        let title = width.saturating_sub(1 + STATE + model + id + age + 5);
        Columns([1, STATE, title, model, id, age])
    }

    fn row(&self, paint: &mut Paint, area: Rect, y: u16, texts: [&str; 6], styles: [Style; 6]) {
        let mut x = area.x;
        for ((text, cells), style) in texts.iter().zip(self.0).zip(styles) {
            if cells > 0 {
                paint.words(x, y, cells, text, style);
                x += cells as u16 + 1;
            }
        }
    }
}

/// A mark before the word, so that a state is seen at a glance.
pub fn glyph(status: SessionStatus, glyphs: Glyphs) -> &'static str {
    match (status, glyphs) {
        (SessionStatus::Idle, Glyphs::Unicode) => "·",
        (SessionStatus::InProgress, Glyphs::Unicode) => "●",
        (SessionStatus::Idle, _) => ".",
        (SessionStatus::InProgress, _) => "*",
        (SessionStatus::RequiresAction, _) => "?",
        (SessionStatus::Failed | SessionStatus::BudgetReached, _) => "!",
    }
}

/// How the word for a state looks.
pub fn status_role(status: SessionStatus) -> Role {
    match status {
        SessionStatus::Idle => Role::Dim,
        SessionStatus::InProgress => Role::Agent,
        SessionStatus::RequiresAction => Role::Warn,
        SessionStatus::Failed | SessionStatus::BudgetReached => Role::Bad,
    }
}

fn row(
    state: &State,
    paint: &mut Paint,
    area: Rect,
    y: u16,
    columns: &Columns,
    session: &AgentSession,
    selected: bool,
) {
    let status = format!(
        "{} {}",
        glyph(session.status, state.about.glyphs),
        state_word(session.status)
    );
    // Without a title it is known by its id, wherever that is not shown anyway.
    let unnamed = if columns.0[4] > 0 {
        "-"
    } else {
        session.id.as_str()
    };
    let title = session
        .metadata
        .get("title")
        .map_or(unnamed, String::as_str);
    let age = state.times().short(session.last_active_at * 1000);
    let role = paint.role(status_role(session.status));
    let (plain, dim) = (Style::default(), paint.dim());
    let styles = match selected {
        true => [paint.selected(); 6],
        false => [plain, role, plain, dim, dim, dim],
    };
    if selected {
        let blank = " ".repeat(usize::from(area.width));
        paint.buffer.set_string(area.x, y, blank, paint.selected());
    }
    let marked = state.sessions.marks.contains(&session.id);
    let mark = match (selected, marked) {
        (true, false) => ">",
        (true, true) => "*",
        (false, true) => "+",
        (false, false) => " ",
    };
    let model = session.agent.model.as_str();
    columns.row(
        paint,
        area,
        y,
        [mark, &status, title, model, &session.id, &age],
        styles,
    );
}
