//! Turns of a Session: as a list, one after the other in its transcript, and in full; Items in full and folded one by one.

use rat_things::api::{HasId, Turn};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::reading::{ReadAsk, Seen, TurnPlace, WhichTurn, read};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};
use serde_json::json;

use super::drawn::{all, drawn};
use super::fake::Fake;
use super::samples::{NOW, NOW_MS, command, looked, message, opened, press, session, turn};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

/// Turns of every kind, newest first, with ids as long as they are.
fn turns() -> Vec<Turn> {
    let letters = "2c4v8w2n6r3t0yxbhek5zq1m9k";
    [
        "queued",
        "in_progress",
        "waiting",
        "completed",
        "failed",
        "cancelled",
    ]
    .into_iter()
    .enumerate()
    .map(|(n, status)| {
        let mut turn = turn(&format!("turn_{}{n}", &letters[1..]), status);
        turn.usage = (status == "completed").then(|| {
            serde_json::from_value(json!({
                "input_tokens": 128_400, "input_tokens_details": {"cached_tokens": 96_000},
                "output_tokens": 3_210, "output_tokens_details": {"reasoning_tokens": 1_200},
                "total_tokens": 131_610,
            }))
            .expect("it is of this shape")
        });
        turn
    })
    .collect()
}

fn chunk<T>(at: Where, rows: Vec<T>, more: bool) -> Chunk<T> {
    Chunk {
        at,
        scanned: rows.len(),
        rows,
        more,
        cursor: None,
    }
}

fn asked(effects: &[Effect]) -> (u64, ReadAsk) {
    let mut reads = effects.iter().filter_map(|effect| match effect {
        Effect::Read { ticket, ask } => Some((*ticket, ask.clone())),
        _ => None,
    });
    let one = reads.next().expect("something is read");
    assert_eq!(reads.next(), None);
    one
}

fn tell(state: &mut State, ticket: u64, seen: Result<Seen, Trouble>) -> Vec<Effect> {
    let result = seen.map(Box::new);
    update(state, Msg::Read { ticket, result })
}

/// The list of Turns.
fn list(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = asked(&press(&mut state, &["t"]));
    assert_eq!(
        ask,
        ReadAsk::Turns {
            session: ID.into(),
            at: Where::Start
        }
    );
    tell(
        &mut state,
        ticket,
        Ok(Seen::Turns(chunk(Where::Start, turns(), false))),
    );
    state
}

fn top(state: &State) -> String {
    let open = state.open.as_ref().expect("it is open");
    let lines = open.visible(state.look(), 3);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    texts.join("|")
}

fn marked(state: &State) -> &str {
    let open = state.open.as_ref().expect("it is open");
    open.marked().and_then(HasId::id).unwrap_or_default()
}

#[test]
fn a_turn_of_the_list_leads_to_where_it_begins_in_the_transcript() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let id = turns()[3].id.clone();
    let (ticket, ask) = asked(&press(&mut state, &["j", "j", "j", "enter"]));
    let (session, which) = (ID.to_owned(), WhichTurn::This(id.clone()));
    assert_eq!(
        ask,
        ReadAsk::TurnPlace {
            session,
            turn: which
        }
    );
    assert_eq!(state.place(), Place::Session);
    let items = vec![
        message("msg_71", &id, "it begins"),
        message("msg_72", "turn_9", "another"),
    ];
    let place = TurnPlace {
        turn: Some(turns()[3].clone()),
        items: Some(chunk(Where::After("msg_71".into()), items, true)),
        turns: vec![turn("turn_9", "completed")],
    };
    tell(
        &mut state,
        ticket,
        Ok(Seen::TurnPlace(ID.into(), Box::new(place))),
    );
    assert_eq!(marked(&state), "msg_71");
    assert!(
        top(&state).contains(&format!("turn {id}  done")),
        "{}",
        top(&state)
    );
}

#[test]
fn a_turn_without_items_and_one_that_can_not_be_read_are_told() {
    for (answer, expected) in [
        (
            Ok(Seen::TurnPlace(
                ID.into(),
                Box::new(TurnPlace {
                    turn: Some(turns()[0].clone()),
                    ..TurnPlace::default()
                }),
            )),
            "has no Items",
        ),
        (
            Err(Trouble {
                words: "the server is gone".into(),
                unknown: false,
            }),
            "the turn was not found: the server is gone",
        ),
    ] {
        let mut state = list(SIZE, Glyphs::Unicode);
        let before = state
            .open
            .as_ref()
            .expect("it is open")
            .items
            .rows()
            .to_vec();
        let (ticket, _) = asked(&press(&mut state, &["enter"]));
        tell(&mut state, ticket, answer);
        assert!(
            drawn(&state, true).contains(expected),
            "{}",
            drawn(&state, true)
        );
        let open = state.open.as_ref().expect("it is open");
        assert_eq!(
            open.items.rows(),
            before,
            "the transcript stays where it is"
        );
    }
}

#[test]
fn brackets_go_from_turn_to_turn_and_stop_at_the_ends() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["["]);
    assert_eq!(
        marked(&state),
        "msg_3",
        "the start of the Turn at which the reader is"
    );
    press(&mut state, &["["]);
    assert_eq!(marked(&state), "msg_1");
    press(&mut state, &["["]);
    assert!(drawn(&state, true).contains("this is the first turn"));
    press(&mut state, &["]"]);
    assert_eq!(marked(&state), "msg_3");
    press(&mut state, &["]"]);
    assert!(drawn(&state, true).contains("this is the last turn"));
}

#[test]
fn a_turn_that_begins_above_what_is_held_is_asked_for() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    let items = vec![
        message("msg_8", "turn_7", "later"),
        message("msg_9", "turn_7", "last"),
    ];
    let seen = session(ID, "idle", None, NOW);
    let open = state.open.as_mut().expect("it is open");
    open.items.show(Chunk {
        cursor: Some("msg_8".into()),
        ..chunk(Where::End, items.clone(), true)
    });
    let (_, ask) = asked(&press(&mut state, &["["]));
    let turn_7 = WhichTurn::This("turn_7".into());
    assert!(
        matches!(&ask, ReadAsk::TurnPlace { turn, .. } if *turn == turn_7),
        "{ask:?}"
    );
    // An answer that comes when another Session is open is let go.
    press(&mut state, &["esc", "j", "enter"]);
    update(&mut state, looked(1, seen, Vec::new(), Vec::new()));
    let place = TurnPlace {
        turn: None,
        items: Some(chunk(Where::After("msg_8".into()), items, true)),
        turns: Vec::new(),
    };
    let ticket = state.place_ticket;
    tell(
        &mut state,
        ticket,
        Ok(Seen::TurnPlace(ID.into(), Box::new(place))),
    );
    assert_eq!(marked(&state), "");
}

#[test]
fn one_item_is_folded_and_the_others_stay_as_they_are() {
    let mut state = opened((80, 40), Glyphs::Unicode);
    press(&mut state, &["K", "K", "K", "K"]);
    assert_eq!(marked(&state), "cmd_1");
    press(&mut state, &["z"]);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("test b ... FAILED") && shown.contains("[2 more]"),
        "{shown}"
    );
    press(&mut state, &["z"]);
    assert!(!drawn(&state, true).contains("test b ... FAILED"));
    press(&mut state, &["Z"]);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("test b ... FAILED") && shown.contains("Then the reader."),
        "{shown}"
    );
    press(&mut state, &["z"]);
    let shown = drawn(&state, true);
    assert!(
        !shown.contains("test b ... FAILED") && shown.contains("Then the reader."),
        "{shown}"
    );
}

#[test]
fn marks_go_from_item_to_item() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["K"]);
    assert_eq!(marked(&state), "cmd_2");
    press(&mut state, &["K"]);
    assert_eq!(marked(&state), "msg_3");
    press(&mut state, &["J"]);
    assert_eq!(marked(&state), "cmd_2");
    press(&mut state, &["J"]);
    assert!(drawn(&state, true).contains("no Item below"));
}

#[test]
fn an_item_is_shown_in_full_and_renewed_when_it_changes() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["K", "d"]);
    assert_eq!(state.place(), Place::Inspect);
    let shown = drawn(&state, true);
    assert!(
        shown.contains("command execution cmd_2") && shown.contains("in_progress"),
        "{shown}"
    );
    let open = state.open.as_ref().expect("it is open");
    let mut items = open.items.rows().to_vec();
    let at = items.len() - 1;
    items[at] = command("cmd_2", "turn_2", "completed", Some(3), "the output\n");
    let seen = open.session.clone().expect("it was seen");
    let turns = vec![turn("turn_1", "completed"), turn("turn_2", "in_progress")];
    for ticket in 1..4 {
        update(
            &mut state,
            looked(ticket, seen.clone(), turns.clone(), items.clone()),
        );
    }
    update(&mut state, Msg::Tick(NOW_MS + 1_000));
    let shown = drawn(&state, true);
    assert!(
        shown.contains("the output") && shown.contains("exit code  3"),
        "{shown}"
    );
    press(&mut state, &["tab"]);
    assert!(drawn(&state, true).contains("\"exit_code\": 3"));
    assert_eq!(press(&mut state, &["Y"]), [Effect::Copy("cmd_2".into())]);
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn a_turn_of_the_list_is_cancelled_after_the_same_question_and_one_that_is_over_is_not() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let (over, queued): (Vec<Turn>, Vec<Turn>) = turns()
        .into_iter()
        .partition(|turn| turn.status.is_terminal());
    assert!(!over.is_empty() && !queued.is_empty());
    let place = |state: &State, id: &str| {
        let Some(rat_things::tui::layers::Layer::Turns(turns)) = state.layers.last() else {
            panic!("the list is open");
        };
        turns.rows.window.place_of(id).expect("it is in the list")
    };
    let at = place(&state, &over[0].id);
    press(&mut state, &vec!["j"; at]);
    assert_eq!(press(&mut state, &["x"]), []);
    assert_eq!(state.place(), Place::Turns, "it is over");
    let at = place(&state, &queued[0].id);
    press(&mut state, &["g"]);
    press(&mut state, &vec!["j"; at]);
    assert_eq!(press(&mut state, &["x"]), []);
    assert_eq!(state.place(), Place::Cancel);
    assert!(drawn(&state, true).contains(&queued[0].id));
    let sent = press(&mut state, &["c"]);
    assert!(matches!(&sent[..], [Effect::Send { .. }]), "{sent:?}");
}

#[test]
fn an_item_is_whole_in_the_pager_from_the_inspector_as_it_is_shown_there() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    press(&mut state, &["K", "K", "d"]);
    let paged = press(&mut state, &["o"]);
    assert!(
        matches!(&paged[..], [Effect::Page(text)] if text.contains("msg_3") && text.ends_with("go on")),
        "{paged:?}"
    );
    let paged = press(&mut state, &["tab", "o"]);
    assert!(
        matches!(&paged[..], [Effect::Page(text)] if text.contains("\"id\": \"msg_3\"")),
        "{paged:?}"
    );
}

#[test]
fn the_list_of_turns_is_read_again_and_keeps_what_it_has_when_that_fails() {
    let mut state = list(SIZE, Glyphs::Unicode);
    let effects = update(&mut state, Msg::Tick(NOW_MS + 2_000));
    let (ticket, _) = asked(&effects);
    let trouble = Trouble {
        words: "the server is gone".into(),
        unknown: false,
    };
    tell(&mut state, ticket, Err(trouble));
    update(&mut state, Msg::Tick(NOW_MS + 4_000));
    let shown = drawn(&state, true);
    assert!(
        shown.contains("not read for 2s") && shown.contains("done"),
        "{shown}"
    );
}

#[tokio::test]
async fn the_place_of_a_turn_is_its_first_item_and_what_follows() {
    let of = Fake::new(0, 1_000);
    let session = ID.to_owned();
    let turn = WhichTurn::This("turn_1".into());
    let ask = ReadAsk::TurnPlace { session, turn };
    let seen = read(&of, None, None, ask).await.expect("it answers");
    let Seen::TurnPlace(_, place) = seen else {
        panic!("{seen:?}");
    };
    let items = place.items.expect("it has some");
    let ids: Vec<&str> = items.rows.iter().filter_map(HasId::id).collect();
    assert_eq!(
        (ids[0], ids[1], ids.len()),
        ("msg_0000000", "msg_0000001", 101)
    );
    assert!(items.more);
}

#[test]
fn the_list_of_turns() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = list(size, glyphs);
        press(&mut state, &["j", "j", "j"]);
        state
    }));
}

#[test]
fn one_turn_in_full() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = list(size, glyphs);
        press(&mut state, &["j", "j", "j", "j", "d"]);
        state
    }));
}

#[test]
fn one_item_in_full() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["K", "K", "K", "K", "d"]);
        state
    }));
}

#[test]
fn one_item_as_json() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = opened(size, glyphs);
        press(&mut state, &["K", "K", "K", "K", "d", "tab"]);
        state
    }));
}
