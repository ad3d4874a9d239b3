//! Tables and properties of the model input.

use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

/// What is sent of a history that is whole.
fn model_input(history: &[Past]) -> Vec<Value> {
    fitted(history, usize::MAX)
}

/// What is sent.
fn fitted(history: &[Past], budget_bytes: usize) -> Vec<Value> {
    fitted_input(&mut Input::default(), history, budget_bytes, 1)
}

/// What `input` sends when this is recorded, some of it before the harness began.
fn fitted_input(
    input: &mut Input,
    log: &[Past],
    budget_bytes: usize,
    messages: usize,
) -> Vec<Value> {
    let (history, since) = log.split_at(log.len() / 2);
    let since: Vec<PastEntry> = since.iter().cloned().map(PastEntry::new).collect();
    let log = Log {
        history: &Arc::new(history.to_vec()),
        since: &since,
    };
    let items = input.fitted(log, budget_bytes, messages);
    let items = items.iter().map(serde_json::to_value);
    items.collect::<Result<_, _>>().expect("JSON")
}

fn user(text: &str) -> Past {
    Past::User {
        content: vec![json!({"type": "input_text", "text": text})],
    }
}

fn assistant(text: &str, phase: Option<&str>) -> Past {
    Past::Assistant {
        text: text.into(),
        phase: phase.map(str::to_owned),
    }
}

fn reasoning(id: &str) -> Past {
    Past::Reasoning {
        summary: vec![],
        native: Some(native(id)),
    }
}

fn native(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "secret", "extra": 1})
}

fn tool(call_id: &str, outcome: ToolOutcome) -> Past {
    Past::Tool {
        call_id: call_id.into(),
        name: "shell".into(),
        arguments: "{\"command\": \"ls\"}".into(),
        outcome,
    }
}

fn done(output: &str) -> ToolOutcome {
    ToolOutcome::Done {
        output: output.into(),
    }
}

fn function(call_id: &str, output: Option<FunctionAnswer>) -> Past {
    Past::Function {
        call_id: call_id.into(),
        name: "f".into(),
        arguments: "{}".into(),
        output,
    }
}

fn answer(success: bool, output: Value, error: Option<&str>) -> Option<FunctionAnswer> {
    Some(FunctionAnswer {
        success,
        output,
        error: error.map(str::to_owned),
    })
}

fn user_item(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn assistant_item(text: &str) -> Value {
    json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
}

fn call(call_id: &str) -> Value {
    json!({"type": "function_call", "call_id": call_id, "name": "shell", "arguments": "{\"command\": \"ls\"}"})
}

fn output(call_id: &str, output: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call_id, "output": output})
}

fn check(history: &[Past], expect: &[Value]) {
    assert_eq!(model_input(history), expect);
}

#[test]
fn messages_keep_their_content_and_phase() {
    let image = json!({"type": "input_image", "image_url": "data:x"});
    let history = [
        user("a"),
        Past::User {
            content: vec![image.clone()],
        },
        assistant("b", None),
        assistant("", None),
        assistant("c", Some("commentary")),
        user("d"),
    ];
    let mut last = assistant_item("c");
    last["phase"] = "commentary".into();
    assert_eq!(
        model_input(&history),
        [
            user_item("a"),
            json!({"type": "message", "role": "user", "content": [image]}),
            assistant_item("b"),
            last,
            user_item("d"),
        ]
    );
}

#[test]
fn a_call_and_its_output_are_a_pair() {
    check(
        &[
            user("a"),
            tool("1", done("x")),
            tool("2", ToolOutcome::Unknown),
        ],
        &[
            user_item("a"),
            call("1"),
            output("1", "x"),
            call("2"),
            output("2", OUTCOME_UNKNOWN),
        ],
    );
}

#[test]
fn reasoning_goes_unchanged_before_the_item_it_led_to() {
    check(
        &[
            user("a"),
            reasoning("r1"),
            tool("1", done("x")),
            reasoning("r2"),
            reasoning("r3"),
            assistant("b", None),
        ],
        &[
            user_item("a"),
            native("r1"),
            call("1"),
            output("1", "x"),
            native("r2"),
            native("r3"),
            assistant_item("b"),
        ],
    );
}

#[test]
fn reasoning_that_led_to_nothing_is_left_out() {
    check(
        &[
            reasoning("r1"),
            user("a"),
            reasoning("r2"),
            assistant("", None),
            user("b"),
            reasoning("r3"),
        ],
        &[user_item("a"), user_item("b")],
    );
}

#[test]
fn reasoning_that_a_provider_could_not_find_again_is_left_out() {
    let only = |native: Option<Value>| {
        let past = Past::Reasoning {
            summary: vec!["s".into()],
            native,
        };
        model_input(&[past, assistant("a", None)]).len() == 2
    };
    assert!(!only(None));
    assert!(!only(Some(json!({"type": "reasoning", "id": "r"}))));
    assert!(!only(Some(
        json!({"type": "reasoning", "encrypted_content": ""})
    )));
    assert!(!only(Some(
        json!({"type": "message", "encrypted_content": "x"})
    )));
    assert!(!only(Some(json!({"type": "reasoning", "content": []}))));
    assert!(only(Some(
        json!({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "t"}]})
    )));
}

#[test]
fn answers_of_functions_are_given_in_a_form_that_is_accepted() {
    let parts =
        json!([{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": "u"}]);
    for (given, expect) in [
        (answer(true, json!("x"), None), json!("x")),
        (answer(true, Value::Null, None), json!("")),
        (answer(true, parts.clone(), None), parts),
        (answer(true, json!([]), None), json!("[]")),
        (
            answer(true, json!([{"type": "other"}]), None),
            json!("[{\"type\":\"other\"}]"),
        ),
        (answer(true, json!({"a": 1}), None), json!("{\"a\":1}")),
        (answer(false, json!("x"), Some("no")), json!("error: no")),
        (
            answer(false, Value::Null, None),
            json!("error: the function failed"),
        ),
        (None, json!(NOT_ANSWERED)),
    ] {
        let input = model_input(&[function("1", given)]);
        assert_eq!(input[1]["output"], expect);
    }
}

#[test]
fn arguments_that_are_no_json_are_wrapped() {
    let past = Past::Tool {
        call_id: "1".into(),
        name: "shell".into(),
        arguments: "{\"command\":".into(),
        outcome: done("failed"),
    };
    let input = model_input(&[past]);
    assert_eq!(
        input[0]["arguments"],
        "{\"malformed\":\"{\\\"command\\\":\"}"
    );
}

#[test]
fn call_ids_are_made_unique() {
    check(
        &[
            tool("1", done("a")),
            tool("1", done("b")),
            tool("", done("c")),
            tool("", done("d")),
        ],
        &[
            call("1"),
            output("1", "a"),
            call("1_2"),
            output("1_2", "b"),
            call("_2"),
            output("_2", "c"),
            call("_3"),
            output("_3", "d"),
        ],
    );
}

#[test]
fn within_its_budget_history_is_whole() {
    let history = [user("a"), tool("1", done("x")), assistant("b", None)];
    assert_eq!(fitted(&history, 10_000), model_input(&history));
}

#[test]
fn beyond_its_budget_the_newest_is_kept_with_a_note_and_the_newest_message() {
    let mut history = vec![user("first"), user("task")];
    history.extend((0..10).map(|n| tool(&n.to_string(), done(&"x".repeat(1_000)))));
    let input = fitted(&history, 4_500);
    assert_eq!(input[0]["role"], "system");
    assert_eq!(input[1], user_item("task"));
    let kept: Vec<&str> = input[2..]
        .iter()
        .filter_map(|item| item["call_id"].as_str())
        .collect();
    assert_eq!(kept, ["7", "7", "8", "8", "9", "9"]);
}

#[test]
fn the_newest_entry_is_kept_whatever_its_size() {
    let history = [user("a"), user(&"x".repeat(1_000))];
    let input = fitted(&history, 10);
    assert_eq!(input.len(), 2);
    assert_eq!(
        input[1]["content"][0]["text"].as_str().map(str::len),
        Some(1_000)
    );
    assert_eq!(fitted(&[], 0), Vec::<Value>::new());
}

#[test]
fn every_message_that_is_new_to_the_model_is_kept() {
    let big = "x".repeat(1_000);
    let history = [
        user("old"),
        user(&big),
        tool("1", done(&big)),
        user(&big),
        user(&big),
    ];
    let input = fitted_input(&mut Input::default(), &history, 10, 3);
    assert_eq!(input.len(), 4);
    assert!(input[1..].iter().all(|item| *item == user_item(&big)));
}

/// Where the texts of these items are.
fn places(items: &[ModelItem]) -> Vec<*const u8> {
    let place = |item: &ModelItem| match item {
        ModelItem::User(content) => content.as_ptr().cast(),
        ModelItem::Assistant { text, .. } => text.as_ptr(),
        ModelItem::Call { arguments, .. } => arguments.as_ptr(),
        ModelItem::Output { output, .. } => output.as_ptr(),
        ModelItem::Other(_) => std::ptr::null(),
    };
    items.iter().map(place).collect()
}

#[test]
fn no_text_is_copied_for_a_call_and_items_of_an_earlier_call_are_those_of_the_next_one() {
    let history = Arc::new(vec![user("a"), assistant("b", None), tool("1", done("x"))]);
    let mut since = vec![PastEntry::new(user("c"))];
    let mut input = Input::default();
    let mut call = |since: &[PastEntry]| {
        let history = &history;
        places(&input.fitted(Log { history, since }, usize::MAX, 1))
    };
    let recorded = |past: &Past| match past {
        Past::User { content } => vec![content.as_ptr().cast()],
        Past::Assistant { text, .. } => vec![text.as_ptr()],
        Past::Tool {
            arguments,
            outcome: ToolOutcome::Done { output },
            ..
        } => vec![arguments.as_ptr(), output.as_ptr()],
        _ => vec![],
    };
    let first = call(&since);
    since.push(PastEntry::new(tool("2", done("y"))));
    let second = call(&since);
    let all = history.iter().chain(since.iter().map(|entry| &**entry));
    assert_eq!(second, all.flat_map(recorded).collect::<Vec<_>>());
    assert_eq!(first, second[..5]);
}

#[test]
fn the_id_of_a_call_that_was_left_out_stays_taken() {
    let long = "x".repeat(1_000);
    let history = [
        tool("1", done(&long)),
        tool("1_2", done(&long)),
        user("a"),
        tool("1", done("kept")),
    ];
    let input = fitted(&history, 400);
    assert_eq!(input.last(), Some(&output("1_3", "kept")));
}

#[test]
fn the_beginning_moves_rarely() {
    let mut history = vec![user("task")];
    let mut beginnings = HashSet::new();
    for n in 0..100 {
        history.push(tool(&n.to_string(), done(&"x".repeat(1_000))));
        let input = fitted(&history, 20_000);
        beginnings.insert(
            input[..3.min(input.len())]
                .iter()
                .map(Value::to_string)
                .collect::<String>(),
        );
    }
    // 80 entries went beyond the budget, about four at a time.
    assert!(beginnings.len() < 30, "{}", beginnings.len());
}

fn any_past() -> impl Strategy<Value = Past> {
    let id = "[ab]{0,2}";
    let text = "[a-z]{0,40}";
    prop_oneof![
        text.prop_map(|text| user(&text)),
        (text, proptest::option::of("commentary|final_answer"))
            .prop_map(|(text, phase)| Past::Assistant { text, phase }),
        text.prop_map(|id| reasoning(&id)),
        Just(Past::Reasoning {
            summary: vec![],
            native: None
        }),
        (id, text).prop_map(|(id, text)| tool(&id, done(&text))),
        id.prop_map(|id| tool(&id, ToolOutcome::Unknown)),
        (id, text).prop_map(|(id, text)| function(&id, answer(true, json!(text), None))),
        id.prop_map(|id| function(&id, None)),
    ]
}

/// What a provider checks before it answers anything but 400.
fn assert_valid(input: &[Value]) {
    let mut seen = HashSet::new();
    let mut at = 0;
    while let Some(item) = input.get(at) {
        let next = input.get(at + 1);
        match item["type"].as_str() {
            Some("function_call") => {
                let id = item["call_id"].as_str().unwrap_or_default();
                assert!(!id.is_empty() && seen.insert(id), "{id} is not unique");
                let next = next.expect("an output follows");
                assert_eq!(next["type"], "function_call_output");
                assert_eq!(next["call_id"], id);
                at += 1;
            }
            Some("reasoning") => {
                let next = next.expect("reasoning is not last");
                assert!(next["role"] != "user", "reasoning led to nothing");
            }
            Some("message") => {
                let content = item["content"].as_array().expect("content is a list");
                assert!(item["role"] == "user" || !content.is_empty());
            }
            other => panic!("unexpected {other:?}"),
        }
        at += 1;
    }
}

/// What identifies an entry in both history and input, in order.
fn texts_of(history: &[Past]) -> Vec<String> {
    history
        .iter()
        .filter_map(|past| match past {
            Past::User { content } => content[0]["text"].as_str().map(str::to_owned),
            Past::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            Past::Tool {
                outcome: ToolOutcome::Done { output },
                ..
            } => Some(output.clone()),
            Past::Tool { .. } => Some(OUTCOME_UNKNOWN.to_owned()),
            Past::Function { output, .. } => match function_output(output.as_ref()) {
                Answer::Text(text) => Some(text.to_string()),
                Answer::Parts(_) => None,
            },
            _ => None,
        })
        .collect()
}

fn texts_in(input: &[Value]) -> Vec<String> {
    input
        .iter()
        .filter_map(|item| match item["type"].as_str() {
            Some("message") => item["content"][0]["text"].as_str(),
            Some("function_call_output") => item["output"].as_str(),
            _ => None,
        })
        .map(str::to_owned)
        .collect()
}

proptest! {
    #[test]
    fn whatever_was_recorded_a_provider_accepts_it(history in proptest::collection::vec(any_past(), 0..20)) {
        let input = model_input(&history);
        assert_valid(&input);
        prop_assert_eq!(texts_in(&input), texts_of(&history));
    }

    #[test]
    fn whatever_is_left_out_a_provider_accepts_the_rest(
        history in proptest::collection::vec(any_past(), 0..20),
        budget_bytes in 0_usize..3_000,
    ) {
        let input = fitted(&history, budget_bytes);
        let (note, rest) = match input.first() {
            Some(first) if first["role"] == "system" => (1, &input[1..]),
            _ => (0, &input[..]),
        };
        assert_valid(rest);
        if note == 0 {
            prop_assert_eq!(texts_in(rest), texts_of(&history));
        }
        // What is kept is kept in order: the newest message first, if it is older, then an unbroken rest.
        let all = texts_of(&history);
        let kept = texts_in(rest);
        let tail = &all[all.len() - kept.len()..];
        let after_message = &all[all.len() - kept.len().saturating_sub(1)..];
        prop_assert!(kept == tail || kept.get(1..) == Some(after_message), "{kept:?} of {all:?}");
    }
    /// Each call of a Turn is given what a new worker would give it, which begins anew.
    #[test]
    fn input_that_grew_is_what_it_would_be_if_it_were_put_together_now(
        log in proptest::collection::vec(any_past(), 1..24),
        calls in proptest::collection::vec((1_usize..5, 1_usize..3), 1..8),
        budget_bytes in prop_oneof![Just(usize::MAX), 0_usize..3_000],
    ) {
        let history = Arc::new(log[..1].to_vec());
        let since: Vec<PastEntry> = log[1..].iter().cloned().map(PastEntry::new).collect();
        let (mut input, mut recorded) = (Input::default(), 0);
        for (more, messages) in calls {
            recorded = (recorded + more).min(since.len());
            let log = Log { history: &history, since: &since[..recorded] };
            let grown = input.fitted(log, budget_bytes, messages);
            prop_assert_eq!(grown, Input::default().fitted(log, budget_bytes, messages));
        }
    }
}
