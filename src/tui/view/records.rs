//! Records that only an operator sees: Runs, deliveries, what is owed, pages of words; and the question before one is settled.

use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::dialog::Dialog;
use super::paint::Paint;
use super::{facts, page, typed};
use crate::api::HasId;
use crate::engine::delivery::DeliveryState;
use crate::text::ago;
use crate::tui::records::{
    About, Deliveries, Owed, Report, Runs, delivery_facts, process_word, run_facts, run_word,
};
use crate::tui::rows::Rows;
use crate::tui::settle::{Matter, Settle};
use crate::tui::state::State;
use crate::tui::transcript::{Role, tone_role};

/// One cell of a table.
type Cell = (usize, String, Role);

/// Draws the Runs, and what is known of the selected one below them.
pub fn draw_runs(state: &State, runs: &Runs, paint: &mut Paint, area: Rect) {
    let title = format!("{}  Runs", runs.session);
    let body = page::draw(paint, area, &title, "one may write at a time");
    let now_ms = state.now_ms;
    let facts = runs
        .rows
        .current()
        .map(|run| run_facts(run, &state.times()));
    let list = above(paint, body, facts);
    table(
        paint,
        list,
        &runs.rows,
        "no Run yet: one begins when a worker takes a Turn",
        |run| {
            let (word, role) = run.map_or(("STATE", Role::Dim), run_word);
            let (process, process_role) = run.map_or(("PROCESS", Role::Dim), process_word);
            let of = |head: &str, value: Option<String>| value.unwrap_or_else(|| head.to_owned());
            let ended = run.map(|run| run.ended_ms.map_or("-".into(), |at| ago(at, now_ms)));
            vec![
                (
                    4,
                    of("GEN", run.map(|run| run.generation.to_string())),
                    Role::Dim,
                ),
                (12, word.to_owned(), role),
                (30, of("RUN", run.map(|run| run.id.clone())), Role::Text),
                (8, process.to_owned(), process_role),
                (
                    8,
                    of("STARTED", run.map(|run| ago(run.started_ms, now_ms))),
                    Role::Dim,
                ),
                (8, of("ENDED", ended), Role::Dim),
                (
                    31,
                    of("TURN", run.map(|run| run.turn_id.clone())),
                    Role::Dim,
                ),
            ]
        },
    );
}

/// Draws the deliveries, and what is known of the selected one below them.
pub fn draw_deliveries(state: &State, deliveries: &Deliveries, paint: &mut Paint, area: Rect) {
    let title = format!("{}  Deliveries", deliveries.session);
    let body = page::draw(paint, area, &title, "tab: what all Sessions owe");
    let now_ms = state.now_ms;
    let current = deliveries.rows.current();
    let facts = current.map(|delivery| delivery_facts(delivery, &state.times()));
    let list = above(paint, body, facts);
    let none = "nothing is or was to be delivered";
    table(paint, list, &deliveries.rows, none, |delivery| {
        let row = delivery.map(|delivery| &delivery.row);
        let of = |head: &str, value: Option<String>| value.unwrap_or_else(|| head.to_owned());
        let role = row.map_or(Role::Dim, |row| match row.state {
            DeliveryState::Pending | DeliveryState::Sending => Role::Agent,
            DeliveryState::Delivered => Role::Good,
            DeliveryState::Failed => Role::Bad,
            DeliveryState::Uncertain => Role::Warn,
        });
        vec![
            (10, of("STATE", row.map(|row| row.state.to_string())), role),
            (
                4,
                of("TRY", row.map(|row| row.attempts.to_string())),
                Role::Dim,
            ),
            (
                8,
                of("SINCE", row.map(|row| ago(row.changed_ms, now_ms))),
                Role::Dim,
            ),
            (
                26,
                of("TELLS", row.map(|row| row.event.clone())),
                Role::Text,
            ),
            (
                200,
                of("TO", row.map(|row| row.destination.clone())),
                Role::Dim,
            ),
        ]
    });
}

/// Draws what all Sessions owe.
pub fn draw_owed(state: &State, owed: &Owed, paint: &mut Paint, area: Rect) {
    let body = page::draw(
        paint,
        area,
        "Outbox of all Sessions, soonest first",
        "tab: deliveries",
    );
    let now_ms = state.now_ms;
    table(paint, body, &owed.rows, "nothing is owed", |row| {
        let of = |head: &str, value: Option<String>| value.unwrap_or_else(|| head.to_owned());
        let due = row.map(|row| ago(row.due_ms, now_ms));
        let late = row.is_some_and(|row| row.due_ms + 60_000 < now_ms);
        vec![
            (8, of("DUE", due), if late { Role::Warn } else { Role::Dim }),
            (
                31,
                of("SESSION", row.map(|row| row.session_id.clone())),
                Role::Text,
            ),
            (
                8,
                of("GROUP", row.map(|row| row.group.to_owned())),
                Role::Dim,
            ),
            (200, of("WHY", row.map(|row| row.why.clone())), Role::Text),
        ]
    });
}

/// Draws facts at the foot of the place, if it is high enough; answers what is left above them.
fn above(paint: &mut Paint, area: Rect, facts: Option<Vec<(&'static str, String)>>) -> Rect {
    let Some(facts) = facts else {
        return area;
    };
    let height = (facts.len() as u16 + 2).min(area.height / 2);
    let rule = area.bottom() - height;
    paint.rule(area, rule);
    let below = Rect {
        y: rule + 1,
        height: height - 1,
        ..area
    };
    facts::draw(paint, below, &facts);
    Rect {
        height: area.height - height,
        ..area
    }
}

/// Draws the rows that fit around the selected one; `cells` makes the heads without a row.
fn table<T: HasId + Clone + PartialEq>(
    paint: &mut Paint,
    area: Rect,
    rows: &Rows<T>,
    none: &str,
    cells: impl Fn(Option<&T>) -> Vec<Cell>,
) {
    if rows.window.rows().is_empty() {
        return page::nothing(paint, area, rows.problem.as_ref(), rows.loaded, none);
    }
    let mut line = |y: u16, row: Option<&T>, selected: bool| {
        let cells = cells(row);
        let mut room = usize::from(area.width).saturating_sub(2);
        let mut shown: Vec<(usize, &str, Role)> = Vec::new();
        for (width, text, role) in &cells {
            // An id is never cut: a column that has no room is left out, but for the last, which takes what there is.
            let width = if *width == 200 { room } else { *width };
            if width == 0 || width > room {
                break;
            }
            room = room.saturating_sub(width + 1);
            shown.push((width, text, *role));
        }
        page::row(paint, area, y, &shown, selected);
    };
    line(area.y, None, false);
    let height = usize::from(area.height.saturating_sub(1)).max(1);
    // Where there is less room than the list was moved for, the selected one is seen all the same.
    let top = rows.top.max((rows.selected + 1).saturating_sub(height));
    let visible = rows.window.rows().iter().enumerate().skip(top).take(height);
    let mut built = 0;
    for (at, (place, row)) in visible.enumerate() {
        line(area.y + 1 + at as u16, Some(row), place == rows.selected);
        built += 1;
    }
    paint.rows_built += built;
}

/// Draws a page of words.
pub fn draw_report(state: &State, report: &Report, paint: &mut Paint, area: Rect) {
    let (title, none) = match &report.about {
        About::Environment(session) => (format!("{session}  Environment"), "nothing is known"),
        About::Files(session) => (format!("{session}  Files"), "nothing is known"),
        About::Explain(session) => (
            format!("{session}  Why it does or does not move"),
            "nothing is known",
        ),
        About::Health => (
            format!("{}  {}", state.about.profile, state.about.place),
            "nothing was looked at",
        ),
    };
    let right = match &report.about {
        About::Environment(_) | About::Files(_) | About::Explain(_) => "",
        About::Health => "as rat-things doctor says; ctrl-r looks again",
    };
    let body = page::draw(paint, area, &title, right);
    if report.reader.lines() == 0 {
        return page::nothing(paint, body, report.problem.as_ref(), report.loaded, none);
    }
    let look = state.page_look();
    let rows = report
        .reader
        .visible(look.width, usize::from(body.height), look.glyphs);
    paint.rows_built += rows.len();
    for (row, (line, text)) in rows.iter().enumerate() {
        let style = match report.roles.get(*line) {
            None | Some(Role::Text) => Style::default(),
            Some(role) => paint.role(*role),
        };
        paint.text(body.x + 1, body.y + row as u16, look.width, text, style);
    }
}

/// Draws the question before something is settled; answers where the cursor is.
pub fn draw_settle(settle: &Settle, paint: &mut Paint, area: Rect) -> Option<Position> {
    let mut dialog = Dialog::new(area, paint.glyphs);
    let matter = &settle.matter;
    dialog.say(Role::Warn, matter.asks());
    match matter {
        Matter::Release { run, execution, .. } => {
            dialog.fact("run", run);
            dialog.fact("execution", execution);
        }
        Matter::Delivery {
            delivery,
            destination,
            state,
            ..
        } => {
            dialog.fact("delivery", delivery);
            dialog.fact("to", destination);
            dialog.fact("state", state);
        }
    }
    dialog.fact("session", matter.session());
    dialog.say(Role::Text, matter.warns());
    dialog.answers();
    if let Some((tone, words)) = &settle.says {
        dialog.say(tone_role(*tone), words);
    }
    if settle.sending.is_some() {
        dialog.say(Role::Text, "it is being done");
        dialog.draw(paint, area, 0);
        return None;
    }
    dialog.say(
        Role::Good,
        "esc leaves it as it is; only the whole id does something:",
    );
    let place = dialog.draw(paint, area, 1);
    Some(typed::draw(&settle.field, paint, place))
}
