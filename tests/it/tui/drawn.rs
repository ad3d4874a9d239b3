//! Every screen in three sizes and two sets of glyphs, as a person sees it.

use rat_things::text::Glyphs;
use rat_things::tui::state::State;
use rat_things::tui::view;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::samples::{list, opened, press, screen, type_in};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (200, 60)];

/// What is drawn, without the blanks at the end of lines.
pub fn drawn(state: &State, colour: bool) -> String {
    let backend = TestBackend::new(state.size.0, state.size.1);
    let mut terminal = Terminal::new(backend).expect("in memory");
    terminal
        .draw(|frame| {
            view::draw(state, colour, frame.buffer_mut());
        })
        .expect("in memory");
    let buffer = terminal.backend().buffer();
    let width = usize::from(buffer.area.width);
    let mut page = String::new();
    for row in buffer.content().chunks(width) {
        let mut line = String::new();
        let mut hidden = 0;
        for cell in row {
            // What stands behind a wide character is not seen.
            if hidden == 0 {
                line.push_str(cell.symbol());
                hidden = rat_things::text::cells(cell.symbol()).saturating_sub(1);
            } else {
                hidden -= 1;
            }
        }
        page.push_str(line.trim_end());
        page.push('\n');
    }
    page
}

/// One page with a screen in all sizes and glyphs.
pub fn all(make: impl Fn((u16, u16), Glyphs) -> State) -> String {
    let mut page = String::new();
    for (name, glyphs) in [("unicode", Glyphs::Unicode), ("ascii", Glyphs::Ascii)] {
        for size in SIZES {
            let state = make(size, glyphs);
            let shown = drawn(&state, true);
            assert_eq!(
                shown,
                drawn(&state, false),
                "colour only repeats what a word says"
            );
            page.push_str(&format!("--- {}x{} {name}\n{shown}", size.0, size.1));
        }
        // The smallest screen and one that is wide and low need no page, but they must be drawn.
        for size in [(60, 15), (250, 15)] {
            drawn(&make(size, glyphs), true);
        }
    }
    page
}

#[test]
fn the_list_of_sessions() {
    insta::assert_snapshot!(all(list));
}

#[test]
fn the_list_before_anything_was_read_and_without_sessions() {
    let mut page = drawn(&screen((80, 24), Glyphs::Unicode), true);
    let mut empty = screen((80, 24), Glyphs::Unicode);
    rat_things::tui::update::update(&mut empty, super::samples::listed(1, Vec::new()));
    page.push_str(&drawn(&empty, true));
    insta::assert_snapshot!(page);
}

#[test]
fn a_filter_that_is_typed_and_one_that_is_none() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = list(size, glyphs);
        press(&mut state, &["/"]);
        type_in(&mut state, "state:runing");
        press(&mut state, &["enter"]);
        state
    }));
}

#[test]
fn a_session_that_is_followed() {
    insta::assert_snapshot!(all(opened));
}

#[test]
fn columns_stand_beside_what_is_read_where_there_is_room_and_plus_takes_them_away() {
    for (columns, words) in [
        (119, &[][..]),
        (120, &["turn_3"][..]),
        (160, &["turn_3", "? waiting"][..]),
        (200, &["turn_3", "? waiting", "directory"][..]),
    ] {
        let mut state = opened((columns, 40), Glyphs::Unicode);
        press(&mut state, &["K"]);
        let all = ["? waiting", "directory"];
        let shown = drawn(&state, true);
        for word in all {
            assert_eq!(
                shown.contains(word),
                words.contains(&word),
                "{word} at {columns}"
            );
        }
        assert_eq!(shown.contains('│'), !words.is_empty(), "{columns}");
        press(&mut state, &["+"]);
        let whole = drawn(&state, true);
        assert!(!whole.contains('│'), "{whole}");
        press(&mut state, &["+"]);
        assert_eq!(drawn(&state, true), shown);
    }
}

#[test]
fn a_session_with_everything_unfolded() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["z", "g"]);
        state
    }));
}

#[test]
fn a_message_that_is_written() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["i", "tab"]);
        type_in(&mut state, "and then");
        press(&mut state, &["ctrl-j"]);
        type_in(&mut state, "write the runbook");
        press(&mut state, &["left", "left"]);
        state
    }));
}

#[test]
fn words_that_were_found() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["/"]);
        type_in(&mut state, "importer");
        press(&mut state, &["enter"]);
        state
    }));
}

#[test]
fn words_that_are_typed_for_a_search() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["/"]);
        type_in(&mut state, "the importer");
        press(&mut state, &["left"]);
        state
    }));
}

#[test]
fn the_question_before_a_cancel() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["x"]);
        state
    }));
}

#[test]
fn the_help() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["?"]);
        state
    }));
}

#[test]
fn the_smallest_screen_and_one_that_is_too_small() {
    let mut page = drawn(&opened((60, 15), Glyphs::Unicode), true);
    page.push_str(&drawn(&list((60, 14), Glyphs::Unicode), true));
    page.push_str(&drawn(&list((3, 1), Glyphs::Unicode), true));
    insta::assert_snapshot!(page);
}
