//! The screen in the README: drawn by the program over the made-up world, and current.

use std::num::NonZero;
use std::sync::Arc;

use rat_things::backend::demo::Demo;
use rat_things::backend::memory::clock::ManualClock;
use rat_things::engine::ports::Deployment;
use rat_things::text::{Glyphs, cells};
use rat_things::tui::msg::Msg;
use rat_things::tui::state::{About, State};
use rat_things::tui::update::{start, update};
use rat_things::tui::view::draw;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::samples::{NOW_MS, press};
use super::scale::settle;

/// Columns and rows of the picture.
const SIZE: (u16, u16) = (110, 32);
/// Pixels of a cell.
const CELL: (usize, usize) = (8, 17);

/// A screen over 100,000 made-up Sessions on which the one is open whose agent runs ten commands, a minute after it began.
async fn screen() -> State {
    let clock = Arc::new(ManualClock::new(NOW_MS));
    let demo = Demo::new(NonZero::new(100_000).expect("some"), 1, clock.clone());
    let about = About {
        profile: "demo".into(),
        place: "100000 made-up Sessions".into(),
        read_only: false,
        glyphs: Glyphs::Unicode,
        default_model: Some("demo".into()),
        pictures: rat_things::tui::picture::Pictures::Words,
    };
    clock.advance(60_000);
    let id = demo.session_id(99_997);
    let mut state = State::new(about, SIZE, NOW_MS + 60_000, "seed".into());
    let effects = start(&mut state, Some(id.clone()));
    settle(&demo, &mut state, effects).await;
    let mut watch = demo.watch(&id, true).await.expect("watches");
    let signs = watch.changed().await.expect("something is written");
    let told = Msg::Signs {
        session: id,
        result: Ok(signs),
    };
    let effects = update(&mut state, told);
    settle(&demo, &mut state, effects).await;
    press(&mut state, &["i"]);
    super::samples::type_in(&mut state, "and look at the linker, too");
    state
}

/// The colours of a common dark terminal.
fn colour(of: Color, otherwise: &'static str) -> &'static str {
    match of {
        Color::Black => "#15161e",
        Color::Red => "#f7768e",
        Color::Green => "#9ece6a",
        Color::Yellow => "#e0af68",
        Color::Blue => "#7aa2f7",
        Color::Magenta => "#bb9af7",
        Color::Cyan => "#7dcfff",
        Color::DarkGray => "#565f89",
        _ => otherwise,
    }
}

const INK: &str = "#c0caf5";
const PAPER: &str = "#1a1b26";

/// The look of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Look {
    ink: &'static str,
    paper: &'static str,
    bold: bool,
    dim: bool,
}

fn look(cell: &Cell) -> Look {
    let (mut ink, mut paper) = (colour(cell.fg, INK), colour(cell.bg, PAPER));
    if cell.modifier.contains(Modifier::REVERSED) {
        std::mem::swap(&mut ink, &mut paper);
    }
    Look {
        ink,
        paper,
        bold: cell.modifier.contains(Modifier::BOLD),
        dim: cell.modifier.contains(Modifier::DIM),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// A frame as a picture of vectors.
fn svg(buffer: &Buffer, cursor: Option<ratatui::layout::Position>) -> String {
    let (columns, rows) = (
        usize::from(buffer.area.width),
        usize::from(buffer.area.height),
    );
    let (wide, high) = ((columns + 2) * CELL.0, (rows + 1) * CELL.1);
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide} {high}\" font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13\">\n<rect width=\"{wide}\" height=\"{high}\" rx=\"6\" fill=\"{PAPER}\"/>\n"
    );
    for (row, line) in buffer.content().chunks(columns).enumerate() {
        let y = row * CELL.1 + CELL.1 / 2;
        let mut at = 0;
        while at < columns {
            let style = look(&line[at]);
            let run = line[at..]
                .iter()
                .take_while(|cell| look(cell) == style)
                .count();
            let mut text = String::new();
            let mut hidden = 0;
            for cell in &line[at..at + run] {
                if hidden > 0 {
                    hidden -= 1;
                    continue;
                }
                hidden = cells(cell.symbol()).saturating_sub(1);
                text.push_str(cell.symbol());
            }
            let x = (at + 1) * CELL.0;
            if style.paper != PAPER {
                let width = run * CELL.0;
                page.push_str(&format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{}\" fill=\"{}\"/>\n",
                    CELL.1, style.paper
                ));
            }
            let indent = text.len() - text.trim_start_matches(' ').len();
            let text = text.trim();
            if !text.is_empty() {
                let weight = if style.bold {
                    " font-weight=\"bold\""
                } else {
                    ""
                };
                let faint = if style.dim { " opacity=\"0.6\"" } else { "" };
                page.push_str(&format!(
                    "<text x=\"{}\" y=\"{}\" textLength=\"{}\" fill=\"{}\"{weight}{faint} xml:space=\"preserve\">{}</text>\n",
                    x + indent * CELL.0,
                    y + 13,
                    cells(text) * CELL.0,
                    style.ink,
                    escaped(text)
                ));
            }
            at += run;
        }
    }
    if let Some(cursor) = cursor {
        page.push_str(&format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{INK}\" opacity=\"0.7\"/>\n",
            (usize::from(cursor.x) + 1) * CELL.0,
            usize::from(cursor.y) * CELL.1 + CELL.1 / 2,
            CELL.0,
            CELL.1
        ));
    }
    page.push_str("</svg>\n");
    page
}

#[tokio::test]
async fn the_picture_in_the_readme_is_what_the_program_draws() {
    let state = screen().await;
    let mut buffer = Buffer::empty(Rect::new(0, 0, SIZE.0, SIZE.1));
    let drawn = draw(&state, true, &mut buffer);
    let wanted = svg(&buffer, drawn.cursor);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/screen.svg");
    // The same switch that writes snapshots.
    if std::env::var("INSTA_UPDATE").as_deref() == Ok("always") {
        std::fs::write(path, &wanted).expect("writes");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == wanted,
        "docs/screen.svg is not what is drawn; INSTA_UPDATE=always writes it"
    );
}
