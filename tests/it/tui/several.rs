//! One thing done to several Sessions: all are named before, nothing is done by a stray key, and what became of each is told.

use rat_things::api::{Became, InputEvent, Receipt, ReceiptObject, Turn};
use rat_things::engine::ports::{Goes, Submitted};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::reading::{ReadAsk, Seen};
use rat_things::tui::state::State;
use rat_things::tui::update::update;

use super::drawn::{all, drawn};
use super::samples::{NOW, NOW_MS, list, press, turn, type_in};

const SIZE: (u16, u16) = (80, 24);
const FIRST: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";
const SECOND: &str = "sess_7f9qc4v8w2n6r3t0yxbhek5zq1";

/// The list with the first two Sessions marked.
fn marked(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = list(size, glyphs);
    press(&mut state, &["space", "space"]);
    state
}

fn reads(effects: &[Effect]) -> (u64, Vec<(String, Option<String>)>) {
    // The list below is read again meanwhile.
    let mut reads = effects.iter().filter_map(|effect| match effect {
        Effect::Read {
            ticket,
            ask: ReadAsk::TurnsAtWork { of },
        } => Some((*ticket, of.clone())),
        _ => None,
    });
    reads.next().expect("turns are read")
}

fn tell(
    state: &mut State,
    ticket: u64,
    read: Vec<(&str, Result<Option<Turn>, String>)>,
) -> Vec<Effect> {
    let read = read.into_iter().map(|(id, turn)| (id.to_owned(), turn));
    let seen = Seen::TurnsAtWork(read.collect());
    update(
        state,
        Msg::Read {
            ticket,
            result: Ok(Box::new(seen)),
        },
    )
}

/// The question before Turns are cancelled: one is active, the other is not.
fn asked_about_turns(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = marked(size, glyphs);
    let (ticket, of) = reads(&press(&mut state, &["x"]));
    assert_eq!(of.len(), 2);
    let read = vec![
        (FIRST, Ok(Some(turn("turn_2", "in_progress")))),
        (SECOND, Ok(None)),
    ];
    assert_eq!(tell(&mut state, ticket, read), []);
    state
}

fn sent(effects: &[Effect]) -> (String, String, String) {
    let [
        Effect::Send {
            session,
            key,
            event,
        },
    ] = effects
    else {
        panic!("one input is sent: {effects:?}");
    };
    let InputEvent::Cancel(cancel) = &**event else {
        panic!("it is a cancel: {event:?}");
    };
    let turn = cancel.turn_id.clone().expect("it names its turn");
    (session.clone(), key.clone(), turn)
}

fn answer(state: &mut State, session: &str, key: &str, became: Became) -> Vec<Effect> {
    let receipt = Receipt {
        id: "rcpt_1".into(),
        object: ReceiptObject::Only,
        session_id: session.into(),
        accepted_at: Some(NOW),
        digest: None,
        repeated: Some(false),
        outcomes: vec![became],
    };
    let goes = Goes::Nowhere;
    let submitted = Submitted { receipt, goes };
    update(
        state,
        Msg::Sent {
            session: session.into(),
            key: key.into(),
            result: Ok(submitted),
            note: None,
        },
    )
}

fn trouble(words: &str, unknown: bool) -> Trouble {
    Trouble {
        words: words.into(),
        unknown,
    }
}

#[test]
fn all_sessions_and_their_turns_are_named_and_enter_and_esc_let_them_run() {
    for leave in ["enter", "esc", "k"] {
        let mut state = asked_about_turns(SIZE, Glyphs::Unicode);
        let shown = drawn(&state, true);
        for words in [FIRST, SECOND, "turn_2", "no turn is active"] {
            assert!(shown.contains(words), "{words} in\n{shown}");
        }
        assert_eq!(press(&mut state, &[leave]), []);
        assert_eq!(state.place(), Place::Sessions);
        assert!(drawn(&state, true).contains("2 marked"));
    }
}

#[test]
fn each_named_turn_is_cancelled_once_and_told_done_only_when_it_has_ended() {
    let mut state = asked_about_turns(SIZE, Glyphs::Unicode);
    let (session, key, turn_id) = sent(&press(&mut state, &["c"]));
    assert_eq!((session.as_str(), turn_id.as_str()), (FIRST, "turn_2"));
    assert_eq!(press(&mut state, &["c", "c"]), [], "once");
    let became = Became::Cancelling { turn_id };
    assert_eq!(answer(&mut state, FIRST, &key, became), []);
    assert!(drawn(&state, true).contains("1 cancelling"));
    let (ticket, of) = reads(&update(&mut state, Msg::Tick(NOW_MS + 1_000)));
    assert_eq!(of, [(FIRST.to_owned(), Some("turn_2".to_owned()))]);
    let still = vec![(FIRST, Ok(Some(turn("turn_2", "in_progress"))))];
    tell(&mut state, ticket, still);
    assert!(!drawn(&state, true).contains("cancelled"));
    let (ticket, _) = reads(&update(&mut state, Msg::Tick(NOW_MS + 2_000)));
    let ended = vec![(FIRST, Ok(Some(turn("turn_2", "cancelled"))))];
    tell(&mut state, ticket, ended);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("cancelled") && shown.contains("2 of 2 done"),
        "{shown}"
    );
    press(&mut state, &["esc"]);
    assert!(
        drawn(&state, true).contains("1 marked"),
        "what is done has no mark"
    );
}

#[test]
fn a_cancel_without_an_answer_is_told_as_unknown() {
    let mut state = asked_about_turns(SIZE, Glyphs::Unicode);
    let (_, key, _) = sent(&press(&mut state, &["c"]));
    update(
        &mut state,
        Msg::Sent {
            session: FIRST.into(),
            key,
            result: Err(trouble("the answer was lost", true)),
            note: None,
        },
    );
    let shown = drawn(&state, true);
    assert!(shown.contains("not known: the answer was lost"), "{shown}");
    assert!(shown.contains("1 not known"), "{shown}");
}

#[test]
fn nothing_is_deleted_before_the_words_are_typed_and_each_result_is_told() {
    let mut state = marked(SIZE, Glyphs::Unicode);
    assert_eq!(press(&mut state, &["D"]), []);
    assert_eq!(state.place(), Place::SeveralText);
    assert_eq!(press(&mut state, &["enter"]), []);
    type_in(&mut state, "delete 3");
    assert_eq!(press(&mut state, &["enter"]), []);
    press(&mut state, &["backspace", "2"]);
    // By id, the second of the list comes first.
    let delete = |session: &str| Effect::Delete {
        session: session.into(),
    };
    assert_eq!(press(&mut state, &["enter"]), [delete(SECOND)]);
    let done = |state: &mut State, session: &str, result| {
        update(
            state,
            Msg::Deed {
                session: session.into(),
                result,
            },
        )
    };
    let next = done(&mut state, SECOND, Ok("deleted".into()));
    assert_eq!(next, [delete(FIRST)]);
    let last = done(
        &mut state,
        FIRST,
        Err(trouble("it is being imported", false)),
    );
    assert_eq!(last, []);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("deleted") && shown.contains("not done: it is being imported"),
        "{shown}"
    );
    assert!(shown.contains("1 of 2 done, 1 not done"), "{shown}");
    assert_eq!(
        press(&mut state, &["enter"]).len(),
        1,
        "the list is read again"
    );
    assert_eq!(state.place(), Place::Sessions);
}

#[test]
fn a_single_session_is_deleted_by_its_whole_id() {
    let mut state = list(SIZE, Glyphs::Unicode);
    press(&mut state, &["D"]);
    type_in(&mut state, &FIRST[..20]);
    assert_eq!(press(&mut state, &["enter"]), []);
    type_in(&mut state, &FIRST[20..]);
    assert!(
        matches!(&press(&mut state, &["enter"])[..], [Effect::Delete { session }] if session == FIRST)
    );
}

#[test]
fn what_was_not_begun_can_be_stopped() {
    let mut state = marked(SIZE, Glyphs::Unicode);
    press(&mut state, &["E"]);
    type_in(&mut state, "/backup");
    let effects = press(&mut state, &["enter"]);
    assert!(
        matches!(&effects[..], [Effect::Export { session, to }] if session == SECOND && to == "/backup"),
        "{effects:?}"
    );
    press(&mut state, &["esc"]);
    let next = update(
        &mut state,
        Msg::Deed {
            session: SECOND.into(),
            result: Ok("/backup/x.tar.zst (1.2 MB)".into()),
        },
    );
    assert_eq!(next, [], "the other one is not begun");
    let shown = drawn(&state, true);
    assert!(shown.contains("1 of 2 done, 1 not begun"), "{shown}");
    assert!(shown.contains("/backup/x.tar.zst"), "{shown}");
}

#[test]
fn in_read_only_mode_sessions_can_be_exported_and_no_more() {
    let mut state = marked(SIZE, Glyphs::Unicode);
    state.about.read_only = true;
    assert_eq!(press(&mut state, &["x", "D"]), []);
    assert_eq!(state.place(), Place::Sessions);
    press(&mut state, &["E"]);
    assert_eq!(state.place(), Place::SeveralText);
}

#[test]
fn the_question_before_turns_are_cancelled() {
    insta::assert_snapshot!(all(asked_about_turns));
}

#[test]
fn the_question_before_sessions_are_deleted() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = marked(size, glyphs);
        press(&mut state, &["D"]);
        type_in(&mut state, "delete");
        state
    }));
}
