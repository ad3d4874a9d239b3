//! How screens look beside what they say: a letter for each cell. Colours are the terminal's own, and every colour repeats a word.

use rat_things::text::Glyphs;
use rat_things::tui::state::State;
use rat_things::tui::view::draw;
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::samples::{list, opened, press};

const SIZE: (u16, u16) = (80, 24);

/// One letter for how a cell looks; what is plain is a dot, and a blank that looks like nothing stays one.
fn letter(cell: &Cell) -> char {
    let is = |modifier| cell.modifier.contains(modifier);
    match (
        cell.fg,
        is(Modifier::REVERSED),
        is(Modifier::DIM),
        is(Modifier::BOLD),
    ) {
        (_, true, ..) => 'r',
        _ if cell.symbol() == " " => ' ',
        (Color::Reset, _, true, _) => 'd',
        (Color::Reset, _, _, true) => 'b',
        (Color::Reset, ..) => '.',
        (Color::Blue, ..) => 'A',
        (Color::Cyan, ..) => 'U',
        (Color::Green, ..) => 'G',
        (Color::Yellow, ..) => 'W',
        (Color::Red, ..) => 'X',
        (other, ..) => panic!("{other:?} is none of the terminal's own"),
    }
}

fn looks(state: &State) -> String {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, true, &mut buffer);
    let mut page = String::new();
    for row in buffer.content().chunks(usize::from(state.size.0)) {
        let line: String = row.iter().map(letter).collect();
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}

#[test]
fn how_the_list_looks() {
    insta::assert_snapshot!(looks(&list(SIZE, Glyphs::Unicode)));
}

#[test]
fn how_a_session_looks() {
    insta::assert_snapshot!(looks(&opened(SIZE, Glyphs::Unicode)));
}

#[test]
fn how_a_question_looks() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["x"]);
    insta::assert_snapshot!(looks(&state));
}

#[test]
fn how_the_columns_look() {
    insta::assert_snapshot!(looks(&opened((200, 20), Glyphs::Unicode)));
}
