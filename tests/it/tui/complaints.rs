//! What people complain about in tools like this one, each as a test. Those that need a terminal or a daemon are in `tmux` and `endure`, those about
//! sizes in `scale`, about text that attacks in `hostile`, about pages and colours in `drawn`, about what can't draw in `lines`.

use rat_things::text::{Glyphs, cells};
use rat_things::tui::action::{Action, BINDINGS, Place, find};
use rat_things::tui::keymap::Keymap;
use rat_things::tui::msg::{Effect, Msg};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::view::draw;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use super::drawn::drawn;
use super::samples::{NOW, key, list, looked, message, opened, press, session, turn, type_in};

const SIZE: (u16, u16) = (120, 40);

/// Whether an effect does something to an agent, or to anything outside.
fn acts(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Send { .. } | Effect::Create { .. } | Effect::Delete { .. }
    )
}

/// Every key that the table knows.
fn all_keys() -> Vec<&'static str> {
    let mut keys: Vec<&str> = BINDINGS
        .iter()
        .flat_map(|b| b.keys.iter().copied())
        .collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn frame(state: &State) -> Buffer {
    let mut buffer = Buffer::empty(Rect::new(0, 0, state.size.0, state.size.1));
    draw(state, true, &mut buffer);
    buffer
}

#[test]
fn no_key_with_which_people_correct_what_they_typed_changes_anything_in_a_list() {
    for place in [Place::Sessions, Place::Session, Place::Everywhere] {
        for key in [
            "backspace",
            "delete",
            "ctrl-d",
            "ctrl-h",
            "ctrl-w",
            "ctrl-u",
            "ctrl-k",
        ] {
            let binding = BINDINGS
                .iter()
                .find(|b| b.place == place && b.keys.contains(&key));
            assert!(binding.is_none_or(|b| !b.changes), "{key} in {place:?}");
        }
    }
}

#[test]
fn enter_and_escape_answer_every_question_with_nothing() {
    for place in [Place::Cancel, Place::Answer, Place::Confirm] {
        for key in ["enter", "esc"] {
            assert_eq!(
                find(place, key, false),
                Some(Action::Back),
                "{key} in {place:?}"
            );
        }
    }
}

#[test]
fn every_answer_to_a_question_is_one_letter_that_the_question_shows() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["x"]);
    let shown = drawn(&state, true);
    for binding in BINDINGS.iter().filter(|b| b.place == Place::Cancel) {
        let letter = binding.keys[0];
        assert_eq!(letter.len(), 1, "{letter}");
        let line = format!("{letter}  {}", binding.short);
        assert!(
            shown.contains(&line) || shown.contains(binding.short),
            "{line}\n{shown}"
        );
    }
}

#[test]
fn escape_never_does_anything_to_an_agent_however_often_it_is_pressed() {
    for before in [
        &[][..],
        &["x"],
        &["i"],
        &["/"],
        &["?"],
        &["i", "tab"],
        &["c"],
        &["a"],
    ] {
        let mut state = opened(SIZE, Glyphs::Unicode);
        let mut effects = press(&mut state, before);
        effects.extend(press(&mut state, &["esc"; 20]));
        assert!(!effects.iter().any(acts), "{before:?}: {effects:?}");
    }
}

#[test]
fn in_read_only_mode_no_two_keys_do_anything_to_the_world() {
    let keys = all_keys();
    for first in &keys {
        for second in &keys {
            let mut state = opened(SIZE, Glyphs::Unicode);
            state.about.read_only = true;
            let effects = press(&mut state, &[first, second, "c", "enter"]);
            assert!(!effects.iter().any(acts), "{first} {second}: {effects:?}");
        }
    }
}

#[test]
fn new_items_never_move_what_is_read() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    let many = |n: usize| {
        (0..n)
            .map(|n| message(&format!("msg_{n:04}"), "turn_2", &format!("line {n}")))
            .collect::<Vec<_>>()
    };
    let working = || {
        session(
            "sess_7fk2c4v8w2n6r3t0yxbhek5zq1",
            "in_progress",
            Some("t"),
            NOW,
        )
    };
    let turns = || vec![turn("turn_2", "in_progress")];
    update(&mut state, looked(2, working(), turns(), many(200)));
    press(&mut state, &["pgup", "pgup"]);
    let look = state.look();
    let height = state.transcript_height();
    let before = state.open.as_ref().expect("open").visible(look, height);
    let effects = state.open.as_mut().expect("open").look_at_news(NOW * 1000);
    for effect in effects {
        let Effect::Look(ask) = effect else { continue };
        let mut news = looked(ask.ticket, working(), turns(), many(260));
        if let (
            Msg::Looked {
                result: Ok(seen), ..
            },
            Some(at),
        ) = (&mut news, ask.items)
            && let Some(chunk) = &mut seen.items
        {
            chunk.at = at;
            chunk.rows.drain(..200);
        }
        update(&mut state, news);
    }
    let open = state.open.as_ref().expect("open");
    assert_eq!((open.items.rows().len(), open.unseen), (260, 60));
    assert_eq!(open.visible(look, height), before);
}

#[test]
fn only_the_terminals_own_colours_are_used_and_its_background_stays() {
    let mut asked = opened(SIZE, Glyphs::Unicode);
    press(&mut asked, &["x"]);
    let mut helped = list(SIZE, Glyphs::Unicode);
    press(&mut helped, &["?"]);
    for state in [
        list(SIZE, Glyphs::Unicode),
        opened(SIZE, Glyphs::Unicode),
        asked,
        helped,
    ] {
        for cell in frame(&state).content() {
            assert!(
                !matches!(cell.fg, Color::Rgb(..) | Color::Indexed(_)),
                "{cell:?}"
            );
            assert!(
                !matches!(cell.fg, Color::White | Color::Black),
                "unreadable somewhere: {cell:?}"
            );
            assert_eq!(cell.bg, Color::Reset, "{cell:?}");
        }
    }
}

#[test]
fn no_action_needs_a_key_that_terminals_and_tmux_keep_for_themselves() {
    for binding in BINDINGS {
        let reaches = |key: &&&str| {
            !key.starts_with("alt-") && !["ctrl-s", "ctrl-q", "ctrl-b"].contains(*key)
        };
        assert!(binding.keys.iter().any(|key| reaches(&key)), "{binding:?}");
    }
}

#[test]
fn every_key_is_in_the_help_of_its_place() {
    let mut state = opened((200, 250), Glyphs::Unicode);
    press(&mut state, &["?"]);
    let shown = drawn(&state, true);
    for place in [
        Place::Session,
        Place::Composer,
        Place::Cancel,
        Place::Everywhere,
    ] {
        for binding in BINDINGS.iter().filter(|b| b.place == place) {
            let words: String = binding.long.chars().take(60).collect();
            assert!(shown.contains(&words), "{words:?} is not in\n{shown}");
        }
    }
}

#[test]
fn a_key_that_was_changed_works_and_is_shown_and_the_old_one_is_gone() {
    let mut state = opened((200, 250), Glyphs::Unicode);
    state.keymap = Keymap::parse(&["session.ask-cancel=ctrl-x".into()]).expect("good");
    press(&mut state, &["x"]);
    assert_eq!(state.place(), Place::Session);
    assert!(drawn(&state, true).contains("ctrl-x cancel turn"));
    press(&mut state, &["ctrl-x"]);
    assert_eq!(state.place(), Place::Cancel);
    press(&mut state, &["esc", "?"]);
    assert!(drawn(&state, true).contains("ctrl-x"));
}

#[test]
fn wide_characters_and_marks_without_width_shift_no_column() {
    let titles = [
        "日本語の題",
        "e\u{301}\u{323}a",
        "👩\u{200d}👩\u{200d}👧 x",
        "\u{202e}abc",
        "plain",
    ];
    // Ids stand behind the titles, and nothing beside the list.
    let mut state = super::samples::screen((110, 40), Glyphs::Unicode);
    let rows = titles
        .iter()
        .enumerate()
        .map(|(n, title)| session(&format!("sess_{n}"), "idle", Some(title), NOW - 60))
        .collect();
    update(&mut state, super::samples::listed(1, rows));
    let page = drawn(&state, true);
    let ends: Vec<usize> = page
        .lines()
        .filter(|line| line.contains("sess_"))
        .map(|line| cells(line.split("sess_").next().unwrap_or_default()))
        .collect();
    assert_eq!(ends.len(), titles.len(), "{page}");
    assert!(ends.iter().all(|end| *end == ends[0]), "{ends:?}\n{page}");
}

#[test]
fn without_unicode_nothing_of_ours_is_outside_ascii() {
    let mut asked = opened(SIZE, Glyphs::Ascii);
    press(&mut asked, &["x"]);
    for state in [
        list(SIZE, Glyphs::Ascii),
        opened(SIZE, Glyphs::Ascii),
        asked,
    ] {
        let page = drawn(&state, true).replace("日本語の題", "");
        let odd: String = page.chars().filter(|c| !c.is_ascii()).collect();
        assert_eq!(odd, "", "{page}");
    }
}

#[test]
fn the_mouse_is_the_terminals_until_it_is_asked_for() {
    let mut state = list(SIZE, Glyphs::Unicode);
    assert!(!state.mouse);
    assert_eq!(press(&mut state, &["M"]), [Effect::Mouse(true)]);
    assert!(drawn(&state, true).contains("mouse  live"));
    update(&mut state, Msg::Click(5));
    assert_eq!(state.sessions.selected, 2);
    update(&mut state, Msg::Wheel(false));
    assert_eq!(state.sessions.selected, 5);
    update(&mut state, Msg::Click(39));
    assert_eq!(state.sessions.selected, 5, "no row is there");
    press(&mut state, &["/"]);
    update(&mut state, Msg::Wheel(true));
    assert_eq!(state.sessions.selected, 5, "text is typed");
    press(&mut state, &["esc"]);
    assert_eq!(press(&mut state, &["M"]), [Effect::Mouse(false)]);
}

#[test]
fn an_item_of_any_size_is_in_the_pager_whole_and_on_the_screen_cut() {
    let mut state = opened((80, 24), Glyphs::Unicode);
    let text = "one line of many\n".repeat(100_000);
    let items = vec![message("msg_1", "turn_1", &text)];
    let working = session("sess_7fk2c4v8w2n6r3t0yxbhek5zq1", "idle", Some("t"), NOW);
    update(
        &mut state,
        looked(2, working, vec![turn("turn_1", "completed")], items),
    );
    let page = drawn(&state, true);
    assert!(
        page.contains("MiB more: rat-things sessions items has all"),
        "{page}"
    );
    match &press(&mut state, &["o"])[..] {
        [Effect::Page(paged)] => assert_eq!(*paged, text),
        other => panic!("{} effects", other.len()),
    }
}

#[test]
fn pasted_lines_and_a_burst_of_letters_are_text_and_nothing_else() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["i"]);
    let pasted = update(
        &mut state,
        Msg::Paste("first\nsecond\r\nthird\n".repeat(100)),
    );
    assert!(!pasted.iter().any(acts));
    type_in(&mut state, "qxG?/");
    let written = state.open.as_ref().expect("open").composer.field.text();
    assert!(
        written.ends_with("qxG?/") && written.contains("second"),
        "{written}"
    );
}

#[test]
fn whatever_is_pressed_the_screen_is_drawn_at_every_size() {
    let keys = all_keys();
    // A sequence that looks like chance and is the same every time.
    let mut chance = 1_u64;
    let mut next = |below: usize| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (chance >> 33) as usize % below
    };
    let mut state = opened(SIZE, Glyphs::Unicode);
    for step in 0..3_000 {
        if step % 50 == 0 {
            let (columns, rows) = (1 + next(250) as u16, 1 + next(80) as u16);
            update(&mut state, Msg::Resize(columns, rows));
        }
        update(&mut state, key(keys[next(keys.len())]));
        if step % 7 == 0 {
            frame(&state);
        }
        if state.open.is_none() && step % 11 == 0 {
            state = opened(state.size.max((60, 15)), Glyphs::Unicode);
        }
    }
}
