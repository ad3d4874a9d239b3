//! The subagents of a Session as a list, and the transcript of one.

use rat_things::api::{Item, Subagent};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::layers::Layer;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::reading::{ReadAsk, Seen, read};
use rat_things::tui::state::State;
use rat_things::tui::subagents::Story;
use rat_things::tui::update::update;
use rat_things::tui::window::{Chunk, Where};
use serde_json::json;

use super::drawn::{all, drawn};
use super::fake::Fake;
use super::samples::{NOW_MS, asked, command, list, message, opened, press, reasoning, subagent};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";
const SUBAGENT: &str = "sub_2c4v8w2n6r3t0yxbhek5zq1m9k";

fn subagents() -> Vec<Subagent> {
    vec![
        subagent(
            SUBAGENT,
            "active",
            Some("Euclid"),
            "Look through the tests of the importer.\nSay which of them expect a whole file, and why that is; change nothing.",
        ),
        subagent(
            "sub_9k2c4v8w2n6r3t0yxbhek5zq1m",
            "closed",
            None,
            "\u{1b}[2Jread the parser",
        ),
    ]
}

fn items() -> Vec<Item> {
    vec![
        asked("msg_1", "turn_1", "Look through the tests of the importer."),
        reasoning(
            "rs_1",
            "turn_1",
            "The tests are in one file.\nIt is long.\nI read it.\nThen I answer.",
        ),
        command("cmd_1", "turn_1", "completed", Some(0), "test a ... ok\n"),
        message("msg_2", "turn_1", "Two of them expect a whole file."),
    ]
}

fn chunk<T>(at: Where, rows: Vec<T>) -> Chunk<T> {
    Chunk {
        at,
        scanned: rows.len(),
        rows,
        more: false,
        cursor: None,
    }
}

fn reads(effects: &[Effect]) -> Option<(u64, ReadAsk)> {
    match effects {
        [] => None,
        [Effect::Read { ticket, ask }] => Some((*ticket, ask.clone())),
        _ => panic!("one thing is read at most: {effects:?}"),
    }
}

fn tell(state: &mut State, ticket: u64, seen: Result<Seen, Trouble>) -> Vec<Effect> {
    let result = seen.map(Box::new);
    update(state, Msg::Read { ticket, result })
}

/// The list of subagents of the open Session.
fn listed(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = opened(size, glyphs);
    let (ticket, ask) = reads(&press(&mut state, &["s"])).expect("it is read");
    let session = ID.to_owned();
    let at = Where::Start;
    assert_eq!(ask, ReadAsk::Subagents { session, at });
    let seen = Seen::Subagents(chunk(Where::Start, subagents()));
    tell(&mut state, ticket, Ok(seen));
    state
}

fn items_of(at: Where) -> ReadAsk {
    ReadAsk::SubagentItems {
        session: ID.to_owned(),
        subagent: SUBAGENT.to_owned(),
        at,
    }
}

/// The transcript of the first of them.
fn story(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = listed(size, glyphs);
    let (ticket, ask) = reads(&press(&mut state, &["enter"])).expect("it is read");
    assert_eq!(ask, items_of(Where::End));
    let seen = Seen::SubagentItems(chunk(Where::End, items()));
    assert_eq!(tell(&mut state, ticket, Ok(seen)), []);
    state
}

/// What is read at this moment, if anything.
fn due(state: &mut State, at_ms: u64) -> Option<(u64, ReadAsk)> {
    let effects = update(state, Msg::Tick(at_ms));
    effects.into_iter().find_map(|effect| match effect {
        Effect::Read { ticket, ask } => Some((ticket, ask)),
        _ => None,
    })
}

fn of(state: &State) -> &Story {
    match state.layers.last() {
        Some(Layer::Story(story)) => story,
        other => panic!("a transcript is open: {other:?}"),
    }
}

#[test]
fn the_list_of_subagents() {
    insta::assert_snapshot!(all(listed));
}

#[test]
fn the_transcript_of_a_subagent() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = story(size, glyphs);
        press(&mut state, &["z"]);
        state
    }));
}

#[test]
fn a_session_without_subagents_says_so_and_back_leads_where_one_came_from() {
    let mut state = opened(SIZE, Glyphs::Unicode);
    let (ticket, _) = reads(&press(&mut state, &["s"])).expect("it is read");
    tell(
        &mut state,
        ticket,
        Ok(Seen::Subagents(chunk(Where::Start, Vec::new()))),
    );
    assert!(drawn(&state, true).contains("no subagent yet"));
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Session);
    let mut state = story(SIZE, Glyphs::Unicode);
    assert_eq!(state.place(), Place::Story);
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Subagents);
    // There is no such key where no Session is open.
    assert_eq!(
        press(&mut list(SIZE, Glyphs::Unicode), &["5", "1"]).len(),
        1
    );
}

#[test]
fn what_a_subagent_does_is_looked_at_every_two_seconds_and_followed() {
    let mut state = story(SIZE, Glyphs::Unicode);
    assert_eq!(due(&mut state, NOW_MS + 1_000), None);
    let (ticket, ask) = due(&mut state, NOW_MS + 2_000).expect("it is looked at");
    assert_eq!(ask, items_of(Where::After("msg_2".into())));
    let more = vec![message("msg_3", "turn_1", "And one that does not.")];
    let seen = Seen::SubagentItems(chunk(Where::After("msg_2".into()), more));
    tell(&mut state, ticket, Ok(seen));
    assert_eq!(of(&state).open.items.rows().len(), 5);
    assert!(drawn(&state, true).contains("And one that does not."));
    // What was asked for last is what is waited for.
    let seen = Seen::SubagentItems(chunk(Where::End, Vec::new()));
    tell(&mut state, ticket - 1, Ok(seen));
    assert_eq!(of(&state).open.items.rows().len(), 5);
}

#[test]
fn an_answer_that_never_comes_because_another_request_took_its_place_is_asked_for_again() {
    let mut state = story(SIZE, Glyphs::Unicode);
    let (ticket, _) = due(&mut state, NOW_MS + 2_000).expect("it is looked at");
    assert_eq!(due(&mut state, NOW_MS + 5_000), None, "it is on its way");
    // Somebody else reads something.
    state.reading(ReadAsk::Owed);
    let (again, ask) = due(&mut state, NOW_MS + 6_000).expect("it is looked at again");
    assert_eq!(
        (again > ticket, ask),
        (true, items_of(Where::After("msg_2".into())))
    );
    let trouble = Trouble {
        words: "no answer".into(),
        unknown: false,
    };
    tell(&mut state, again, Err(trouble));
    assert!(drawn(&state, true).contains("no answer") || drawn(&state, true).contains("not read"));
    assert!(due(&mut state, NOW_MS + 9_000).is_some());
}

#[test]
fn a_transcript_is_read_and_nothing_in_it_is_changed() {
    let mut state = story(SIZE, Glyphs::Unicode);
    let effects = press(&mut state, &["Y"]);
    assert_eq!(effects, [Effect::Copy(SUBAGENT.to_owned())]);
    let effects = press(&mut state, &["y"]);
    let newest = "Two of them expect a whole file.".to_owned();
    assert_eq!(effects, [Effect::Copy(newest.clone())]);
    assert_eq!(press(&mut state, &["o"]), [Effect::Page(newest)]);
    for key in ["x", "i", "a", "enter"] {
        assert_eq!(press(&mut state, &[key]), [], "{key}");
        assert_eq!(state.place(), Place::Story, "{key}");
    }
    press(&mut state, &["g"]);
    assert!(!of(&state).open.follow);
    press(&mut state, &["G"]);
    assert!(of(&state).open.follow);
}

#[tokio::test]
async fn subagents_and_their_items_are_read_from_a_deployment() {
    let fake = Fake::new(3, 250);
    let seen = read(
        &fake,
        None,
        None,
        ReadAsk::Subagents {
            session: ID.into(),
            at: Where::Start,
        },
    );
    let Ok(Seen::Subagents(rows)) = seen.await else {
        panic!("subagents are read");
    };
    let ids: Vec<&str> = rows.rows.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["sub_0000000", "sub_0000001", "sub_0000002"]);
    let Ok(Seen::SubagentItems(items)) = read(&fake, None, None, items_of(Where::End)).await else {
        panic!("items are read");
    };
    let last = serde_json::to_value(items.rows.last()).expect("JSON");
    assert_eq!((items.rows.len(), items.more), (100, true));
    let words = format!("line 249 of {SUBAGENT}");
    assert_eq!(
        last["content"],
        json!([{"type": "output_text", "text": words}])
    );
}
