//! What a Session waits for, answered from the screen.

use rat_things::api::{
    AgentSession, Became, Decision, FunctionOutput, InputEvent, Receipt, ReceiptObject,
    RequiredAction, Words as _,
};
use rat_things::engine::ports::{Goes, Submitted};
use rat_things::text::Glyphs;
use rat_things::tui::action::Place;
use rat_things::tui::msg::{Effect, Msg, Trouble};
use rat_things::tui::state::State;
use rat_things::tui::update::update;
use serde_json::{Value, json};

use super::drawn::{all, drawn};
use super::samples::{NOW, looked, opened, press, session, turn, type_in};

const SIZE: (u16, u16) = (80, 24);
const ID: &str = "sess_7fk2c4v8w2n6r3t0yxbhek5zq1";

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "lookup", "turn_id": "turn_2",
        "arguments": {"ticket": 7, "fields": ["title", "state"]}})
}

fn approval() -> Value {
    json!({"type": "mcp_approval_request", "request_id": "mcpr_1", "turn_id": "turn_2",
        "request": {"type": "mcp_tool_call", "arguments": {"tag": "4.2.0"}, "name": "publish",
            "message": "publish @acme/ui 4.2.0", "server_label": "npm"}})
}

fn site() -> Value {
    json!({"type": "computer_use_approval_request", "request_id": "cuar_1", "turn_id": "turn_2",
        "request": {"type": "browser_origin_access", "origin": "https://example.org", "reason": "to read the manual"}})
}

fn login() -> Value {
    json!({"type": "computer_use_approval_request", "request_id": "cuar_2", "turn_id": "turn_2",
        "request": {"type": "browser_authentication", "credential_origin": "https://example.org",
            "fields": [], "options": [], "reason": null}})
}

fn credentials() -> Value {
    json!({"type": "computer_use_approval_request", "request_id": "cuar_3", "turn_id": "turn_2",
        "request": {"type": "browser_authentication", "credential_origin": "https://example.org",
            "fields": [
                {"id": "f1", "label": "Name", "required": true, "type": "text"},
                {"id": "f2", "label": "Password", "required": true, "type": "password"},
            ],
            "options": [], "reason": "to read the board"}})
}

fn environment() -> Value {
    json!({"type": "environment_connection", "environment_id": "env_1"})
}

fn waiting(actions: &[Value]) -> AgentSession {
    let mut session = session(
        ID,
        "requires_action",
        Some("refactor the importer"),
        NOW - 12,
    );
    let actions: Vec<RequiredAction> =
        serde_json::from_value(json!(actions)).expect("they are of this shape");
    session.required_actions = actions;
    session
}

/// A Session that waits for these, as a screen of this size shows it.
fn screen(size: (u16, u16), glyphs: Glyphs, actions: &[Value]) -> State {
    let mut state = opened(size, glyphs);
    see(&mut state, actions);
    state
}

fn see(state: &mut State, actions: &[Value]) {
    let turns = vec![turn("turn_1", "completed"), turn("turn_2", "waiting")];
    let items = state
        .open
        .as_ref()
        .expect("it is open")
        .items
        .rows()
        .to_vec();
    // The look that the signs of the sample asked for.
    for ticket in 1..4 {
        update(
            state,
            looked(ticket, waiting(actions), turns.clone(), items.clone()),
        );
    }
}

fn sent(effects: &[Effect]) -> (String, InputEvent) {
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
    assert_eq!(session, ID);
    (key.clone(), (**event).clone())
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

fn accepted() -> Submitted {
    let answered = Became::Answered {
        turn_id: "turn_2".into(),
    };
    Submitted {
        receipt: Receipt {
            id: "rcpt_1".into(),
            object: ReceiptObject::Only,
            session_id: ID.into(),
            accepted_at: Some(NOW),
            digest: None,
            repeated: Some(false),
            outcomes: vec![answered],
        },
        goes: Goes::To("turn_2".into()),
    }
}

fn doubt() -> Trouble {
    Trouble {
        words: "the connection broke".into(),
        unknown: true,
    }
}

fn trace(state: &State) -> &str {
    let open = state.open.as_ref().expect("it is open");
    open.trace.as_ref().map_or("", |(_, words)| words)
}

#[test]
fn the_question_opens_on_nothing_and_esc_and_enter_leave_it() {
    for leave in ["esc", "enter"] {
        let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1")]);
        assert_eq!(press(&mut state, &["a"]), []);
        assert_eq!(state.place(), Place::Answer);
        assert_eq!(press(&mut state, &[leave]), []);
        assert_eq!(state.place(), Place::Session);
    }
}

#[test]
fn a_result_is_sent_once_for_the_call_and_the_turn_that_wait() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1")]);
    press(&mut state, &["a", "r"]);
    assert_eq!(
        press(&mut state, &["enter"]),
        [],
        "there is nothing to send"
    );
    type_in(&mut state, "{\"ok\":true}");
    assert!(drawn(&state, true).contains("it is valid JSON"));
    let (key, event) = sent(&press(&mut state, &["enter"]));
    assert_eq!(
        press(&mut state, &["enter"]),
        [],
        "it is on its way already"
    );
    let InputEvent::ToolResult(result) = event else {
        panic!("{event:?}");
    };
    assert_eq!((&*result.call_id, &*result.turn_id), ("call_1", "turn_2"));
    let text = FunctionOutput::Text("{\"ok\":true}".into());
    assert_eq!(
        (result.success, result.output, result.error),
        (true, Some(text), None)
    );
    answer(&mut state, &key, Ok(accepted()));
    assert_eq!(state.place(), Place::Session);
    assert_eq!(trace(&state), "accepted: rcpt_1 answers turn_2");
}

#[test]
fn a_failure_is_sent_as_one() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1")]);
    press(&mut state, &["a", "f"]);
    type_in(&mut state, "no such ticket");
    let (_, event) = sent(&press(&mut state, &["enter"]));
    let InputEvent::ToolResult(result) = event else {
        panic!("{event:?}");
    };
    let why = Some("no such ticket".to_owned());
    assert_eq!(
        (result.success, result.output, result.error),
        (false, None, why)
    );
}

#[test]
fn a_doubtful_answer_is_sent_again_under_its_key_and_another_one_is_not() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1")]);
    press(&mut state, &["a", "r"]);
    type_in(&mut state, "seven");
    let (first, _) = sent(&press(&mut state, &["enter"]));
    answer(&mut state, &first, Err(doubt()));
    assert!(drawn(&state, true).contains("can't send it twice"));
    let (again, _) = sent(&press(&mut state, &["enter"]));
    assert_eq!(again, first);
    answer(&mut state, &again, Err(doubt()));
    type_in(&mut state, "teen");
    let (other, _) = sent(&press(&mut state, &["enter"]));
    assert_ne!(other, first);
}

#[test]
fn what_was_answered_elsewhere_is_not_answered_again() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1")]);
    press(&mut state, &["a", "r"]);
    type_in(&mut state, "seven");
    see(&mut state, &[]);
    assert!(drawn(&state, true).contains("It is not open any more"));
    assert_eq!(press(&mut state, &["enter"]), []);
    assert_eq!(state.place(), Place::Session);
    assert!(drawn(&state, true).contains("not sent: it is not open any more"));
}

#[test]
fn an_approval_has_one_letter_for_each_answer() {
    for (key, decision) in [
        ("a", Decision::Approve),
        ("d", Decision::Deny),
        ("x", Decision::Cancel),
    ] {
        for (action, id) in [(approval(), "mcpr_1"), (site(), "cuar_1")] {
            let mut state = screen(SIZE, Glyphs::Unicode, &[action]);
            press(&mut state, &["a"]);
            assert!(drawn(&state, true).contains(id), "the whole id is shown");
            let (_, event) = sent(&press(&mut state, &[key]));
            let value = serde_json::to_value(&event).expect("writes");
            assert_eq!(value["request_id"], id);
            assert_eq!(value["response"]["decision"], decision.as_str());
        }
    }
}

#[test]
fn keys_of_other_questions_do_nothing() {
    for (action, keys) in [
        (call("call_1"), &["a", "d", "x"][..]),
        (approval(), &["r", "f"]),
        (login(), &["a", "d", "r", "f"]),
        (environment(), &["a", "d", "x", "r", "f"]),
    ] {
        let mut state = screen(SIZE, Glyphs::Unicode, &[action]);
        press(&mut state, &["a"]);
        assert_eq!(press(&mut state, keys), []);
        assert_eq!(state.place(), Place::Answer);
    }
}

#[test]
fn tab_goes_to_the_next_thing_that_is_waited_for() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[call("call_1"), approval()]);
    press(&mut state, &["a"]);
    assert!(drawn(&state, true).contains("(1 of 2"));
    press(&mut state, &["tab"]);
    assert!(drawn(&state, true).contains("mcpr_1"));
    press(&mut state, &["tab"]);
    assert!(drawn(&state, true).contains("call_1"));
}

#[test]
fn in_read_only_mode_nothing_is_answered() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[approval()]);
    state.about.read_only = true;
    press(&mut state, &["a"]);
    assert_eq!(state.place(), Place::Session);
}

#[test]
fn a_login_is_filled_in_masked_and_kept_nowhere() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[credentials()]);
    press(&mut state, &["a", "l"]);
    assert_eq!(state.place(), Place::Login);
    type_in(&mut state, "ann");
    press(&mut state, &["tab"]);
    type_in(&mut state, "q?hunter2");
    let shown = drawn(&state, true);
    assert!(
        shown.contains("ann") && shown.contains("*********"),
        "{shown}"
    );
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(!format!("{state:?}").contains("hunter2"));
    assert_eq!(press(&mut state, &["ctrl-g"]), [], "no editor sees it");
    let effects = press(&mut state, &["enter"]);
    assert!(!format!("{effects:?}").contains("hunter2"));
    let [Effect::Send { event, .. }] = &effects[..] else {
        panic!("it is sent: {effects:?}");
    };
    let wire = serde_json::to_value(event).expect("it has a wire form");
    assert_eq!(wire["response"]["action"], "submit");
    assert_eq!(wire["response"]["fields"][1]["value"], "q?hunter2");
    assert_eq!(wire["request_id"], "cuar_3");
}

#[test]
fn a_login_that_is_left_is_forgotten() {
    let mut state = screen(SIZE, Glyphs::Unicode, &[credentials()]);
    press(&mut state, &["a", "l"]);
    assert_eq!(press(&mut state, &["enter"]), [], "a name is missing");
    assert!(drawn(&state, true).contains("Name is missing"));
    type_in(&mut state, "ann");
    press(&mut state, &["esc", "l"]);
    assert!(!drawn(&state, true).contains("ann"));
}

#[test]
fn a_login_that_is_filled_in() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = screen(size, glyphs, &[credentials()]);
        press(&mut state, &["a", "l", "x", "tab", "y"]);
        state
    }));
}

#[test]
fn the_question_about_a_function() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = screen(size, glyphs, &[call("call_1"), approval()]);
        press(&mut state, &["a"]);
        state
    }));
}

#[test]
fn the_result_of_a_function_that_is_written() {
    insta::assert_snapshot!(all(|size, glyphs| {
        let mut state = screen(size, glyphs, &[call("call_1")]);
        press(&mut state, &["a", "r"]);
        type_in(&mut state, "{\"title\":");
        press(&mut state, &["ctrl-j"]);
        type_in(&mut state, "  \"a stream\"");
        state
    }));
}

#[test]
fn the_questions_about_approvals_and_environments() {
    let mut page = String::new();
    for action in [approval(), site(), login(), environment()] {
        let mut state = screen(SIZE, Glyphs::Unicode, &[action]);
        press(&mut state, &["a"]);
        page.push_str(&drawn(&state, true));
    }
    insta::assert_snapshot!(page);
}
