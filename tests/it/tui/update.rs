//! What follows from what happened, without a terminal and without a deployment.

use rat_things::api::{AgentSession, Became, InputEvent, NothingToDo, Receipt, ReceiptObject};
use rat_things::engine::ports::{Goes, Submitted};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};

use super::drawn::drawn;
use super::samples::{
    NOW, NOW_MS, list, listed, looked, message, numbered_session, opened, press, session, turn,
    type_in,
};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

fn open() -> State {
    opened(SIZE, Glyphs::Unicode)
}

fn submitted(became: Became) -> Submitted {
    let receipt = Receipt {
        id: "rcpt_1".into(),
        object: ReceiptObject::Only,
        session_id: ID.into(),
        accepted_at: Some(NOW),
        digest: None,
        repeated: Some(false),
        outcomes: vec![became],
    };
    let goes = receipt
        .turn_id()
        .map_or(Goes::Nowhere, |turn| Goes::To(turn.into()));
    Submitted { receipt, goes }
}

/// The one submission among effects: its key and its input.
fn sent(effects: &[Effect]) -> (String, InputEvent) {
    let mut sent = effects.iter().filter_map(|effect| match effect {
        Effect::Send {
            key,
            event,
            session,
        } => {
            assert_eq!(session, ID);
            Some((key.clone(), (**event).clone()))
        }
        _ => None,
    });
    let one = sent.next().expect("an input is sent");
    assert!(sent.next().is_none(), "only one is sent");
    one
}

fn answer(state: &mut State, key: &str, result: Result<Submitted, Trouble>) {
    let msg = Msg::Sent {
        session: ID.into(),
        key: key.into(),
        result,
        note: None,
    };
    update(state, msg);
}

fn trace(state: &State) -> String {
    let open = state.open.as_ref().expect("it is open");
    open.trace
        .as_ref()
        .map(|(_, words)| words.clone())
        .unwrap_or_default()
}

#[test]
fn a_message_steers_and_with_tab_it_is_queued() {
    for (tab, delivery) in [(&[][..], false), (&["tab"][..], true)] {
        let mut state = open();
        press(&mut state, &["i"]);
        press(&mut state, tab);
        type_in(&mut state, "hello q?");
        let (_, event) = sent(&press(&mut state, &["enter"]));
        let InputEvent::Message(message) = event else {
            panic!("{event:?}");
        };
        assert_eq!(message.delivery.is_some(), delivery);
        assert_eq!(message.input.len(), 1);
    }
}

#[test]
fn a_receipt_is_shown_with_what_became_of_its_turn() {
    let mut state = open();
    press(&mut state, &["i"]);
    type_in(&mut state, "hello");
    let (key, _) = sent(&press(&mut state, &["enter"]));
    assert!(
        press(&mut state, &["enter"]).is_empty(),
        "it is on its way already"
    );
    answer(
        &mut state,
        &key,
        Ok(submitted(Became::Started {
            turn_id: "turn_4".into(),
        })),
    );
    assert_eq!(trace(&state), "accepted: rcpt_1 starts turn_4");
    let open = state.open.as_ref().expect("it is open");
    assert_eq!(open.composer.field.text(), "");
    let seen = session(ID, "in_progress", None, NOW);
    update(
        &mut state,
        looked(2, seen, vec![turn("turn_4", "completed")], Vec::new()),
    );
    assert_eq!(trace(&state), "done: rcpt_1 starts turn_4");
}

#[test]
fn a_doubtful_message_is_sent_again_under_its_key_and_a_changed_one_under_another() {
    let mut state = open();
    press(&mut state, &["i"]);
    type_in(&mut state, "hello");
    let (first, _) = sent(&press(&mut state, &["enter"]));
    let doubt = || Trouble {
        words: "the connection broke".into(),
        unknown: true,
    };
    answer(&mut state, &first, Err(doubt()));
    assert!(
        trace(&state).contains("can't send it twice"),
        "{}",
        trace(&state)
    );
    let (again, _) = sent(&press(&mut state, &["enter"]));
    assert_eq!(again, first);
    answer(&mut state, &again, Err(doubt()));
    type_in(&mut state, "!");
    let (changed, _) = sent(&press(&mut state, &["enter"]));
    assert_ne!(changed, first);
}

#[test]
fn a_draft_survives_esc_and_leaving_the_session() {
    let mut state = open();
    press(&mut state, &["i"]);
    type_in(&mut state, "half a thought");
    assert!(press(&mut state, &["esc"]).is_empty());
    assert_eq!(state.place(), Place::Session);
    assert!(drawn(&state, true).contains("draft: half a thought"));
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Sessions);
    assert_eq!(press(&mut state, &["q"]), [], "a draft would be lost");
    press(&mut state, &["enter", "i"]);
    let open = state.open.as_ref().expect("it is open");
    assert_eq!(open.composer.field.text(), "half a thought");
    press(&mut state, &["esc"]);
    assert_eq!(press(&mut state, &["q", "q"]), [Effect::Quit]);
}

#[test]
fn pasted_lines_are_text_and_are_not_sent() {
    let mut state = open();
    press(&mut state, &["i"]);
    let lines = "line\r".repeat(300);
    assert!(update(&mut state, Msg::Paste(lines)).is_empty());
    let open = state.open.as_ref().expect("it is open");
    assert_eq!(open.composer.field.text(), "line\n".repeat(300));
    drawn(&state, true);
}

#[test]
fn esc_and_every_other_key_but_c_leave_a_turn_alone() {
    for harmless in ["k", "enter", "esc", "x", "z", "j", "i"] {
        let mut state = open();
        press(&mut state, &["x"]);
        assert_eq!(state.place(), Place::Cancel);
        let effects = press(&mut state, &[harmless]);
        assert!(effects.is_empty(), "{harmless}: {effects:?}");
    }
}

#[test]
fn a_cancel_names_its_turn_and_ends_in_a_named_result() {
    let nothing = |result, turn: &str| Became::Nothing {
        result,
        turn_id: Some(turn.into()),
    };
    for (became, expected) in [
        (
            Became::Cancelled {
                turn_id: "turn_2".into(),
            },
            "cancelled: turn_2",
        ),
        (
            Became::Cancelling {
                turn_id: "turn_2".into(),
            },
            "cancelling turn_2",
        ),
        (
            nothing(NothingToDo::AlreadyFinished, "turn_2"),
            "already finished",
        ),
        (
            nothing(NothingToDo::AnotherTurnActive, "turn_9"),
            "another turn is active: turn_9",
        ),
    ] {
        let mut state = open();
        let (key, event) = sent(&press(&mut state, &["x", "c"]));
        let InputEvent::Cancel(cancel) = event else {
            panic!("{event:?}");
        };
        assert_eq!(cancel.turn_id.as_deref(), Some("turn_2"));
        answer(&mut state, &key, Ok(submitted(became)));
        assert!(
            trace(&state).starts_with(expected),
            "{expected}: {}",
            trace(&state)
        );
    }
    let mut state = open();
    let (key, _) = sent(&press(&mut state, &["x", "c"]));
    answer(
        &mut state,
        &key,
        Err(Trouble {
            words: "lost".into(),
            unknown: true,
        }),
    );
    assert!(
        trace(&state).starts_with("cancel unknown"),
        "{}",
        trace(&state)
    );
}

#[test]
fn a_cancel_is_done_only_when_its_turn_has_ended() {
    for (status, expected) in [
        ("cancelled", "cancelled: turn_2"),
        ("completed", "already finished: done (turn_2)"),
    ] {
        let mut state = open();
        let (key, _) = sent(&press(&mut state, &["x", "c"]));
        answer(
            &mut state,
            &key,
            Ok(submitted(Became::Cancelling {
                turn_id: "turn_2".into(),
            })),
        );
        update(&mut state, Msg::Tick(NOW_MS + 3_000));
        assert_eq!(trace(&state), "cancelling turn_2, 3s");
        update(&mut state, Msg::Tick(NOW_MS + 11_000));
        assert!(
            trace(&state).starts_with("no answer yet"),
            "{}",
            trace(&state)
        );
        let seen = session(ID, "idle", None, NOW);
        update(
            &mut state,
            looked(2, seen, vec![turn("turn_2", status)], Vec::new()),
        );
        assert_eq!(trace(&state), expected);
    }
}

#[test]
fn a_turn_that_ended_while_the_question_was_open_is_not_cancelled() {
    let mut state = open();
    press(&mut state, &["x"]);
    let seen = session(ID, "idle", None, NOW);
    update(&mut state, Msg::Tick(NOW_MS + 11_000));
    update(
        &mut state,
        looked(2, seen, vec![turn("turn_2", "completed")], Vec::new()),
    );
    assert!(drawn(&state, true).contains("It is over already (done)"));
    assert!(press(&mut state, &["c"]).is_empty());
    assert_eq!(trace(&state), "already finished: done (turn_2)");
}

#[test]
fn in_read_only_mode_nothing_can_be_sent_or_cancelled() {
    let mut state = open();
    state.about.read_only = true;
    for key in ["i", "enter", "x"] {
        assert!(press(&mut state, &[key]).is_empty());
        assert_eq!(state.place(), Place::Session, "{key}");
    }
    let shown = drawn(&state, true);
    assert!(
        shown.contains("read-only") && !shown.contains("cancel turn"),
        "{shown}"
    );
}

#[test]
fn an_older_answer_is_let_go() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["s"]);
    let shown = drawn(&state, true);
    update(&mut state, listed(1, vec![numbered_session(1)]));
    assert_eq!(drawn(&state, true), shown);
}

#[test]
fn the_selection_stays_with_its_session_when_others_come() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["j", "j"]);
    let selected = state.sessions.current().expect("a row").id.clone();
    let effects = update(&mut state, Msg::Tick(NOW_MS + 3_000));
    let [
        Effect::List {
            ticket,
            at: Where::Start,
            ..
        },
    ] = &effects[..]
    else {
        panic!("{effects:?}");
    };
    let mut rows = vec![session("sess_new", "idle", None, NOW)];
    rows.extend(state.sessions.window.rows().to_vec());
    update(&mut state, listed(*ticket, rows));
    assert_eq!(state.sessions.current().expect("a row").id, selected);
    assert!(drawn(&state, true).contains("sess_new"));
}

#[test]
fn a_reader_who_scrolled_up_is_not_moved_by_what_comes() {
    let mut state = open();
    press(&mut state, &["k", "k", "k"]);
    let look = state.look();
    let top = |state: &State| state.open.as_ref().expect("it is open").visible(look, 3);
    let before = top(&state);
    let effects = update(&mut state, Msg::Tick(NOW_MS + 11_000));
    assert!(effects.is_empty(), "a look is on its way already");
    let open = state.open.as_ref().expect("it is open");
    let mut items = open.items.rows().to_vec();
    items.push(message("msg_9", "turn_2", "news"));
    let turns = vec![turn("turn_1", "completed"), turn("turn_2", "in_progress")];
    let seen = open.session.clone().expect("it was seen");
    update(&mut state, looked(2, seen, turns, items));
    assert_eq!(top(&state), before);
}

#[test]
fn times_are_told_as_ages_of_the_clock_here_and_in_utc() {
    let mut state = list(SIZE, Glyphs::Unicode);
    state.zone = jiff::tz::TimeZone::fixed(jiff::tz::Offset::constant(2));
    assert!(drawn(&state, true).contains("12s ago"));
    let mut shown = Vec::new();
    for _ in 0..2 {
        press(&mut state, &["T"]);
        let page = drawn(&state, true);
        assert!(!page.contains("12s ago"), "{page}");
        shown.push(page);
    }
    // Two hours apart, and the same minute.
    assert!(
        shown[0].contains("01-15 10:09:48") && shown[1].contains("01-15 08:09:48"),
        "{shown:#?}"
    );
    press(&mut state, &["T"]);
    assert!(drawn(&state, true).contains("12s ago"));
}

#[test]
fn ctrl_c_closes_a_line_that_is_typed_and_quits_only_the_second_time() {
    let mut state = open();
    press(&mut state, &["/", "a"]);
    assert_eq!(press(&mut state, &["ctrl-c"]), []);
    assert_eq!(state.place(), Place::Session);
    assert!(drawn(&state, true).contains("ctrl-c again quits"));
    assert_eq!(
        press(&mut state, &["j", "ctrl-c"]),
        [],
        "another key was between"
    );
    update(&mut state, Msg::Tick(NOW_MS + 5_000));
    assert_eq!(press(&mut state, &["ctrl-c"]), [], "that was long ago");
    assert_eq!(press(&mut state, &["ctrl-c"]), [Effect::Quit]);
    let mut state = open();
    press(&mut state, &["i", "a"]);
    press(&mut state, &["ctrl-c"]);
    let draft = state.open.as_ref().map(|open| open.composer.field.text());
    assert_eq!(draft, Some("a"), "a draft is kept");
}

#[test]
fn the_place_in_the_list_is_told_of_as_many_as_are_known() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["j"]);
    assert!(drawn(&state, true).contains("2 of 6, newest first"));
    let mut state = super::samples::screen(SIZE, Glyphs::Unicode);
    let rows: Vec<_> = (0..100).map(super::samples::numbered_session).collect();
    let chunk = |at, rows: Vec<AgentSession>| Chunk {
        at,
        scanned: rows.len(),
        cursor: rows.last().map(|row| row.id.clone()),
        rows,
        more: true,
    };
    let first = Msg::Listed {
        ticket: 1,
        result: Ok(chunk(Where::Start, rows)),
    };
    update(&mut state, first);
    assert!(drawn(&state, true).contains("1 of more than 100, newest first"));
    let ticket = 2;
    press(&mut state, &["G"]);
    let rows: Vec<_> = (900..1_000).map(super::samples::numbered_session).collect();
    let result = Ok(chunk(Where::End, rows));
    update(&mut state, Msg::Listed { ticket, result });
    let shown = drawn(&state, true);
    assert!(
        !shown.contains(" of "),
        "how many are above is not known: {shown}"
    );
}

#[test]
fn trouble_is_told_with_its_age_and_forgotten_when_it_is_over() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let effects = update(&mut state, Msg::Tick(NOW_MS + 3_000));
    let [Effect::List { ticket, .. }] = &effects[..] else {
        panic!("{effects:?}");
    };
    let trouble = Trouble {
        words: "the server is gone".into(),
        unknown: false,
    };
    update(
        &mut state,
        Msg::Listed {
            ticket: *ticket,
            result: Err(trouble),
        },
    );
    let effects = update(&mut state, Msg::Tick(NOW_MS + 8_000));
    let shown = drawn(&state, true);
    assert!(
        shown.contains("not read for 5s") && shown.contains("the server is gone"),
        "{shown}"
    );
    assert!(
        shown.contains("refactor the billing"),
        "what was read stays: {shown}"
    );
    let [Effect::List { ticket, .. }] = &effects[..] else {
        panic!("it is tried again: {effects:?}");
    };
    let rows = state.sessions.window.rows().to_vec();
    update(&mut state, listed(*ticket, rows));
    assert!(drawn(&state, true).contains("live"));
}
