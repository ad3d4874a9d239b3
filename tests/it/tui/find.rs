//! Searching a transcript, jumping in it, and copying from it.

use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::find::{Finding, Wanted};
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};

use super::drawn::drawn;
use super::samples::{NOW, list, looked, message, opened, press, session, turn, type_in};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

fn searched(words: &str) -> State {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["/"]);
    type_in(&mut state, words);
    assert_eq!(press(&mut state, &["enter"]), []);
    state
}

/// The line that is marked.
fn marked(state: &State) -> String {
    let page = drawn(state, true);
    let mut marked = page
        .lines()
        .filter(|line| line.chars().nth(8) == Some('>'))
        .map(|line| line[9..].to_owned());
    let line = marked.next().unwrap_or_default();
    assert_eq!(marked.next(), None, "only one line is marked:\n{page}");
    line
}

fn notice(state: &State) -> &str {
    state.notice.as_deref().unwrap_or_default()
}

#[test]
fn words_are_searched_upwards_in_letters_of_any_case_and_marked() {
    let mut state = searched("IMPORTER");
    assert_eq!(marked(&state), "The importer reads whole files.");
    assert_eq!(notice(&state), "2 of 2");
    press(&mut state, &["n"]);
    assert_eq!(marked(&state), "make the importer read a stream");
    assert_eq!(notice(&state), "1 of 2");
    press(&mut state, &["n"]);
    assert_eq!(notice(&state), "no \"importer\" above");
    assert_eq!(marked(&state), "make the importer read a stream");
    press(&mut state, &["N"]);
    assert_eq!(marked(&state), "The importer reads whole files.");
}

#[test]
fn what_is_folded_is_shown_where_it_was_found() {
    let hidden = "test b ... FAILED";
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["g"]);
    assert!(!drawn(&state, true).contains(hidden));
    press(&mut state, &["F"]);
    press(&mut state, &["/"]);
    type_in(&mut state, "failed");
    press(&mut state, &["enter"]);
    assert_eq!(marked(&state), hidden);
}

#[test]
fn esc_clears_the_mark_before_it_leaves() {
    let mut state = searched("importer");
    assert_eq!(press(&mut state, &["esc"]), []);
    assert_eq!(marked(&state), "");
    assert_eq!(state.place(), Place::Session);
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Sessions);
}

#[test]
fn what_the_user_wrote_is_jumped_to() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["{"]);
    assert_eq!(marked(&state), "go on");
    press(&mut state, &["{"]);
    assert_eq!(marked(&state), "make the importer read a stream");
    press(&mut state, &["}"]);
    assert_eq!(marked(&state), "go on");
    press(&mut state, &["}"]);
    assert_eq!(notice(&state), "no message of the user below");
}

/// A Session that holds its newest Items only.
fn with_more_above() -> State {
    let mut state = opened(SIZE, Glyphs::Unicode);
    let open = state.open.as_mut().expect("it is open");
    let rows = open.items.rows().to_vec();
    open.items.take(Chunk {
        at: Where::End,
        scanned: rows.len(),
        cursor: Some("msg_1".into()),
        rows,
        more: true,
    });
    state
}

#[test]
fn a_search_reads_on_where_the_screen_ends_and_moves_nobody_until_it_found() {
    let mut state = with_more_above();
    press(&mut state, &["/"]);
    type_in(&mut state, "elsewhere");
    let effects = press(&mut state, &["enter"]);
    let [Effect::Find(ask)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(ask.at, Where::Before("msg_1".into()));
    assert_eq!(Wanted::words(" Elsewhere "), Some(ask.wanted.clone()));
    let before = drawn(&state, true);
    let step = |place, more, rows: Vec<_>| Msg::Found {
        session: ID.into(),
        ticket: ask.ticket,
        result: Ok(Box::new(Finding {
            place,
            chunk: Chunk {
                at: Where::Before("msg_1".into()),
                scanned: 1000,
                cursor: Some("msg_0".into()),
                rows,
                more,
            },
            turns: Vec::new(),
        })),
    };
    let effects = update(&mut state, step(None, true, Vec::new()));
    assert!(
        matches!(&effects[..], [Effect::Find(on)] if on.at == Where::Before("msg_0".into())),
        "{effects:?}"
    );
    let during = drawn(&state, true);
    assert!(during.contains("searching, 1,000 so far"), "{during}");
    let transcript = |page: &str| page.lines().take(18).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(transcript(&before), transcript(&during));
    let rows = vec![message("msg_0", "turn_0", "it is elsewhere")];
    update(&mut state, step(Some(0), true, rows));
    assert_eq!(marked(&state), "it is elsewhere");
    assert_eq!(notice(&state), "found, 2,000 Items searched");
    press(&mut state, &["F"]);
    let open = state.open.as_ref().expect("it is open");
    assert!(open.follow, "the newest can be gone back to");
}

#[test]
fn esc_ends_a_search_and_its_late_answer_is_let_go() {
    let mut state = with_more_above();
    press(&mut state, &["/"]);
    type_in(&mut state, "elsewhere");
    press(&mut state, &["enter"]);
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Session);
    assert_eq!(notice(&state), "the search was ended");
    let before = drawn(&state, true);
    let late = Msg::Found {
        session: ID.into(),
        ticket: 1,
        result: Ok(Box::new(Finding {
            place: Some(0),
            chunk: Chunk {
                at: Where::Before("msg_1".into()),
                scanned: 1,
                cursor: None,
                rows: vec![message("msg_0", "turn_0", "it is elsewhere")],
                more: false,
            },
            turns: Vec::new(),
        })),
    };
    assert_eq!(update(&mut state, late), []);
    assert_eq!(drawn(&state, true), before);
}

#[test]
fn an_answer_about_the_session_that_was_left_is_not_shown_in_the_next() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["enter", "esc", "j", "enter"]);
    let left = session(ID, "idle", Some("the one that was left"), NOW);
    update(
        &mut state,
        looked(1, left, vec![turn("turn_1", "completed")], Vec::new()),
    );
    let shown = drawn(&state, true);
    assert!(!shown.contains("the one that was left"), "{shown}");
}

#[test]
fn ids_and_texts_are_copied_and_nothing_says_that_they_arrived() {
    let copied = |effects: Vec<Effect>| match &effects[..] {
        [Effect::Copy(text)] => text.clone(),
        _ => panic!("{effects:?}"),
    };
    let mut state = list(SIZE, Glyphs::Unicode);
    assert_eq!(copied(press(&mut state, &["y"])), ID);
    assert_eq!(
        notice(&state),
        format!("given to the terminal's clipboard: {ID}")
    );
    let mut state = opened(SIZE, Glyphs::Unicode);
    assert_eq!(copied(press(&mut state, &["Y"])), ID);
    assert!(copied(press(&mut state, &["y"])).starts_with("One test fails"));
    let mut state = searched("FAILED");
    assert_eq!(
        copied(press(&mut state, &["y"])),
        "cargo test --workspace\ntest a ... ok\ntest b ... FAILED\n"
    );
    let mut empty = list(SIZE, Glyphs::Unicode);
    press(&mut empty, &["enter"]);
    assert_eq!(press(&mut empty, &["y"]), []);
    assert_eq!(notice(&empty), "there is nothing to copy yet");
}
