//! The command palette: what can be done here, found by a few letters; marks in the list.

use std::ffi::OsString;

use rat_things::cli::Cli;
use rat_things::text::Glyphs;
use rat_things::tui::action::{BINDINGS, Place};
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::palette::command;
use rat_things::tui::reading::ReadAsk;
use rat_things::tui::sessions::Order;
use rat_things::tui::update::update;
use rat_things::tui::window::Where;

use super::drawn::{all, drawn};
use super::samples::{NOW, NOW_MS, list, listed, opened, press, session, type_in};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

#[test]
fn a_few_letters_lead_to_what_its_key_would_do() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &[":"]);
    assert_eq!(state.place(), Place::Palette);
    type_in(&mut state, "listturns");
    let effects = press(&mut state, &["enter"]);
    assert!(
        matches!(
            &effects[..],
            [Effect::Read {
                ask: ReadAsk::Turns { .. },
                ..
            }]
        ),
        "{effects:?}"
    );
    assert_eq!(state.place(), Place::Turns);
}

#[test]
fn what_changes_something_is_asked_about_here_too_and_esc_does_nothing() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &[":"]);
    type_in(&mut state, "cancel the active");
    assert_eq!(press(&mut state, &["enter"]), []);
    assert_eq!(state.place(), Place::Cancel);
    press(&mut state, &["esc", ":"]);
    type_in(&mut state, "cancel the active");
    assert_eq!(press(&mut state, &["esc"]), []);
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn in_read_only_mode_nothing_is_found_that_changes_something() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    state.about.read_only = true;
    press(&mut state, &[":"]);
    type_in(&mut state, "cancel the active");
    assert!(
        !drawn(&state, true).contains("asks first"),
        "{}",
        drawn(&state, true)
    );
}

#[test]
fn another_profile_is_chosen_by_its_name_and_a_draft_is_not_lost_by_it() {
    let mut state = list(SIZE, Glyphs::Unicode);
    state.profiles = vec!["prod-eu".into(), "test".into()];
    press(&mut state, &[":"]);
    type_in(&mut state, "profile prod");
    assert!(drawn(&state, true).contains("the Sessions of profile prod-eu"));
    let copied = press(&mut state, &["ctrl-y"]);
    assert_eq!(
        copied,
        [Effect::Copy("rat-things --profile prod-eu tui".into())]
    );
    let left = press(&mut state, &["enter"]);
    assert_eq!(left, [Effect::Profile("prod-eu".into())]);
    let mut state = opened(SIZE, Glyphs::Unicode);
    state.profiles = vec!["test".into()];
    press(&mut state, &["i", "a", "esc", ":"]);
    type_in(&mut state, "profile test");
    assert_eq!(press(&mut state, &["enter"]), [], "there is a draft");
    assert!(drawn(&state, true).contains("would be lost"));
}

#[test]
fn an_id_that_is_pasted_opens_its_session() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &[":"]);
    update(
        &mut state,
        Msg::Paste("sess_7dzzc4v8w2n6r3t0yxbhek5zq1\n".into()),
    );
    let effects = press(&mut state, &["enter"]);
    let opens = |effect: &Effect| matches!(effect, Effect::Watch(id) if id == "sess_7dzzc4v8w2n6r3t0yxbhek5zq1");
    assert!(effects.iter().any(opens), "{effects:?}");
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn the_command_that_does_the_same_is_copied() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &[":"]);
    type_in(&mut state, "runs of");
    let copied = press(&mut state, &["ctrl-y"]);
    assert_eq!(copied, [Effect::Copy(format!("rat-things runs list {ID}"))]);
    press(&mut state, &["ctrl-u"]);
    type_in(&mut state, "zzzz");
    assert_eq!(press(&mut state, &["ctrl-y", "enter"]), []);
    assert!(drawn(&state, true).contains("nothing fits"));
}

#[test]
fn marked_sessions_are_copied_together_and_the_first_esc_takes_the_marks_away() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["space", "space"]);
    assert!(drawn(&state, true).contains("2 marked"));
    let copied = press(&mut state, &["y"]);
    let [Effect::Copy(text)] = &copied[..] else {
        panic!("{copied:?}");
    };
    assert_eq!(text.lines().count(), 2);
    press(&mut state, &["g", "space"]);
    assert!(drawn(&state, true).contains("1 marked"));
    assert_eq!(press(&mut state, &["esc"]), []);
    assert!(!drawn(&state, true).contains("marked"));
}

#[test]
fn the_sessions_that_were_active_last_come_first_of_those_that_were_read() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["j"]);
    let selected = state.sessions.current().expect("a row").id.clone();
    let effects = press(&mut state, &["s", "s"]);
    let Some(Effect::List {
        ticket,
        order: Order::Active,
        at: Where::Start,
        ..
    }) = effects.last()
    else {
        panic!("{effects:?}");
    };
    let rows = vec![
        session(&selected, "idle", Some("before"), NOW - 9),
        session("sess_b", "idle", Some("long before"), NOW - 90),
    ];
    update(&mut state, listed(*ticket, rows.clone()));
    assert!(drawn(&state, true).contains("last active first, of 2"));
    let effects = update(&mut state, Msg::Tick(NOW_MS + 10_000));
    let [Effect::List { ticket, .. }] = &effects[..] else {
        panic!("it is read again: {effects:?}");
    };
    let mut other = rows;
    other.reverse();
    other[0].last_active_at = NOW;
    update(&mut state, listed(*ticket, other));
    let current = state.sessions.current().expect("a row");
    assert_eq!(current.id, selected, "the selection stays with its Session");
    assert_eq!(state.sessions.selected, 1);
}

#[test]
fn w_shows_the_sessions_that_wait() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let effects = press(&mut state, &["w"]);
    let [Effect::List { filter, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(filter.typed, "state:waiting");
}

#[test]
fn every_command_that_is_named_is_one_and_an_odd_id_is_in_none() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    let mut named = 0;
    for binding in BINDINGS {
        let Some(line) = command(&state, binding.action) else {
            continue;
        };
        named += 1;
        if let Err(error) = Cli::read(line.split(' ').map(OsString::from)) {
            panic!("{line}: {error}");
        }
    }
    assert!(named > 15, "only {named}");
    state.open.as_mut().expect("it is open").id = "sess_1;reboot".into();
    for binding in BINDINGS {
        let line = command(&state, binding.action).unwrap_or_default();
        assert!(!line.contains("reboot"), "{line}");
    }
}

#[test]
fn the_command_palette() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &[":"]);
        type_in(&mut state, "turn");
        press(&mut state, &["down"]);
        state
    }));
}

#[test]
fn sessions_that_are_marked() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = list(size, glyphs);
        press(&mut state, &["space", "j", "space", "k"]);
        state
    }));
}
