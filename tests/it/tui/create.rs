//! A Session that is created from the screen.

use rat_things::api::{Agent, EnvironmentParam, SessionCreateParams, SessionInput};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::reading::{ReadAsk, Seen};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use serde_json::json;

use super::drawn::{all, drawn};
use super::samples::{NOW, list, press, session, type_in};

const SIZE: (u16, u16) = (80, 24);

fn agent(id: &str, name: &str) -> Agent {
    serde_json::from_value(json!({
        "id": id, "created_at": NOW, "instructions": null, "metadata": {}, "model": "gpt-5",
        "multi_agent": {"enabled": false, "max_concurrent_subagents": 1}, "name": name, "object": "agent",
        "reasoning": {"effort": "high", "summary": "auto"}, "service_tier": "auto",
        "text": {"format": {"type": "text"}, "verbosity": "medium"}, "tools": [], "updated_at": NOW,
    }))
    .expect("it is of this shape")
}

/// The form, with two saved Agents.
fn form(size: (u16, u16), glyphs: Glyphs) -> State {
    let mut state = list(size, glyphs);
    let effects = press(&mut state, &["c"]);
    let [
        Effect::Read {
            ticket,
            ask: ReadAsk::Agents,
        },
    ] = effects[..]
    else {
        panic!("{effects:?}");
    };
    let agents = vec![
        agent("agent_2c4v8w2n6r3t0yxbhek5zq1m9k", "reviewer"),
        agent("agent_9q4v8w2n6r3t0yxbhek5zq1m9k", "writer"),
    ];
    update(
        &mut state,
        Msg::Read {
            ticket,
            result: Ok(Box::new(Seen::Agents(agents, false))),
        },
    );
    state
}

fn created(effects: &[Effect]) -> (String, SessionCreateParams) {
    let [Effect::Create { key, params }] = effects else {
        panic!("one Session is created: {effects:?}");
    };
    (key.clone(), (**params).clone())
}

fn doubt() -> Trouble {
    Trouble {
        words: "the connection broke".into(),
        unknown: true,
    }
}

fn tell(state: &mut State, key: &str, result: Result<&str, Trouble>) -> Vec<Effect> {
    let result = result.map(|id| Box::new(session(id, "in_progress", None, NOW)));
    let key = key.to_owned();
    update(
        state,
        Msg::Created {
            key,
            result,
            note: None,
        },
    )
}

#[test]
fn a_session_is_created_once_after_a_question_and_then_opened() {
    let mut state = form(SIZE, Glyphs::Unicode);
    type_in(&mut state, "read the manual");
    press(&mut state, &["tab"]);
    type_in(&mut state, "manual");
    assert_eq!(press(&mut state, &["enter"]), []);
    assert_eq!(state.place(), Place::Confirm);
    let (key, params) = created(&press(&mut state, &["c"]));
    assert_eq!(press(&mut state, &["c"]), [], "it is on its way already");
    assert_eq!(
        params.input,
        Some(SessionInput::Text("read the manual".into()))
    );
    assert_eq!(params.metadata.expect("a title")["title"], "manual");
    assert_eq!(
        params.agent.expect("a model").model.as_deref(),
        Some("demo")
    );
    assert!(matches!(
        params.environment,
        EnvironmentParam::OpenaiHosted(_)
    ));
    let effects = tell(&mut state, &key, Ok("sess_new"));
    assert!(
        matches!(&effects[..], [Effect::Watch(id), Effect::Look(_)] if id == "sess_new"),
        "{effects:?}"
    );
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn esc_and_enter_never_create_anything() {
    for leave in ["esc", "enter", "x", "y"] {
        let mut state = form(SIZE, Glyphs::Unicode);
        type_in(&mut state, "read");
        press(&mut state, &["enter"]);
        assert_eq!(press(&mut state, &[leave]), [], "{leave}");
    }
}

#[test]
fn a_doubtful_request_is_sent_again_under_its_key_and_another_one_is_not() {
    let mut state = form(SIZE, Glyphs::Unicode);
    type_in(&mut state, "read");
    let (first, _) = created(&press(&mut state, &["enter", "c"]));
    tell(&mut state, &first, Err(doubt()));
    assert!(
        drawn(&state, true).contains("can't create two"),
        "{}",
        drawn(&state, true)
    );
    let (again, _) = created(&press(&mut state, &["enter", "c"]));
    assert_eq!(again, first);
    tell(&mut state, &again, Err(doubt()));
    type_in(&mut state, "!");
    let (other, _) = created(&press(&mut state, &["enter", "c"]));
    assert_ne!(other, first);
}

#[test]
fn a_saved_agent_is_chosen_and_brings_its_model() {
    let mut state = form(SIZE, Glyphs::Unicode);
    press(&mut state, &["tab", "tab", "right", "right"]);
    assert!(drawn(&state, true).contains("agent_9q4v8w2n6r3t0yxbhek5zq1m9k  writer"));
    let (_, params) = created(&press(&mut state, &["enter", "c"]));
    assert_eq!(
        params.agent_id.as_deref(),
        Some("agent_9q4v8w2n6r3t0yxbhek5zq1m9k")
    );
    assert_eq!((params.agent, params.input), (None, None));
}

#[test]
fn without_a_place_for_commands_there_must_be_a_message() {
    let mut state = form(SIZE, Glyphs::Unicode);
    press(&mut state, &["shift-tab", "left", "enter"]);
    assert_eq!(state.place(), Place::Create);
    assert!(drawn(&state, true).contains("'input'"));
    press(&mut state, &["tab"]);
    type_in(&mut state, "think");
    let (_, params) = created(&press(&mut state, &["enter", "c"]));
    assert_eq!(params.environment, EnvironmentParam::None);
}

#[test]
fn without_a_model_nothing_is_asked() {
    let mut state = list(SIZE, Glyphs::Unicode);
    state.about.default_model = None;
    press(&mut state, &["c"]);
    type_in(&mut state, "read");
    press(&mut state, &["enter"]);
    assert_eq!(state.place(), Place::Create);
    assert!(drawn(&state, true).contains("name a model, or choose a saved Agent"));
}

#[test]
fn a_form_that_is_left_is_kept_and_quitting_asks_for_it() {
    let mut state = form(SIZE, Glyphs::Unicode);
    update(&mut state, Msg::Paste("line\r".repeat(300)));
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Sessions);
    assert_eq!(press(&mut state, &["q"]), []);
    press(&mut state, &["c"]);
    let (_, params) = created(&press(&mut state, &["enter", "c"]));
    let Some(SessionInput::Text(text)) = params.input else {
        panic!("{params:?}");
    };
    assert_eq!(text.lines().count(), 300);
}

#[test]
fn what_becomes_of_a_form_that_was_left_is_told() {
    let mut state = form(SIZE, Glyphs::Unicode);
    type_in(&mut state, "read");
    let (key, _) = created(&press(&mut state, &["enter", "c"]));
    press(&mut state, &["esc"]);
    assert_eq!(state.place(), Place::Sessions);
    assert_eq!(tell(&mut state, &key, Ok("sess_new")), []);
    assert!(drawn(&state, true).contains("created: sess_new"));
    assert_eq!(
        press(&mut state, &["q"]),
        [Effect::Quit],
        "nothing would be lost"
    );
}

#[test]
fn the_form_of_a_new_session() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = form(size, glyphs);
        type_in(&mut state, "read the manual");
        press(&mut state, &["ctrl-j"]);
        type_in(&mut state, "and say what is wrong with it");
        state
    }));
}

#[test]
fn the_question_before_a_session_is_created() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = form(size, glyphs);
        type_in(&mut state, "read the manual");
        press(&mut state, &["tab"]);
        type_in(&mut state, "manual");
        press(&mut state, &["tab", "right", "enter"]);
        state
    }));
}
