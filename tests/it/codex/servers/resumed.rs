//! A conversation in which tools of servers were called is gone on with from what Codex kept of it.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::http::{Manner, Server};
use super::script::server;
use super::stdio::{reached, until_reached};
use super::{asks, calls, create, mcp, offered, over_http, said};
use crate::codex::losses::{kill_codex, kill_workers};
use crate::codex::native::{carry, goes_on_from, thread};
use crate::codex::refusals::files;
use crate::codex::stub::{Answer, Asked, Gate, Stub};
use crate::codex::world::{
    last_turn, rat, send, settled, stop, stop_killed, transcript, until_status,
};

/// An answer that calls the one tool.
fn notes(call_id: &str, label: &str, text: &str) -> Answer {
    let answer = Answer::new().thinks("a note is needed").says("I note it");
    asks(answer, call_id, label, "note", &json!({"text": text}))
}

/// Whether a request holds a call of this id, in the namespace of its server.
fn was_called(asked: &Asked, call_id: &str, namespace: &str) -> bool {
    let mut items = asked.input().iter();
    items.any(|item| item["call_id"] == call_id && item["namespace"] == namespace)
}

#[tokio::test(flavor = "multi_thread")]
async fn over_stdio_the_next_turn_is_given_every_byte_of_the_one_before_here_and_elsewhere() {
    let stub = Stub::playing(|asked| match asked.number {
        1 => notes("call_1", "calc", "one"),
        3 => notes("call_2", "calc", "two"),
        5 => notes("call_3", "calc", "three"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let here = rat(&stub);
    let tool = mcp(
        "calc",
        server("text='it is noted'"),
        json!({"required": true}),
    );
    let session = create(&here, &[tool], "openai_hosted", "note");
    settled(&here, &session);
    send(&here, &session, "and again");
    stop(&here);
    let there = rat(&stub);
    carry(&session, &here, &there);
    send(&there, &session, "and there");
    let requests: Vec<Asked> = stub.requests();
    assert_eq!(requests.len(), 6, "{}", there.logs());
    for pair in requests.windows(2) {
        assert_eq!(thread(&pair[0]), thread(&pair[1]));
        assert!(goes_on_from(&pair[1], &pair[0]));
        assert_eq!(offered(&pair[1], "calc"), ["note", "other"]);
    }
    let last = &requests[5];
    for id in ["call_1", "call_2", "call_3"] {
        assert!(was_called(last, id, "mcp__calc"), "{id}");
        let told = last.outputs_of(id);
        assert!(
            told.len() == 1 && told[0].contains("it is noted"),
            "{told:?}"
        );
    }
    for words in ["note", "and again", "and there"] {
        assert_eq!(last.times_told(words), 1, "{words}");
    }
    let of_one = |said: &str, n: usize| {
        vec![
            format!("user: {said}"),
            "reasoning: a note is needed".to_owned(),
            "assistant: I note it".to_owned(),
            transcript_of_call(&there, &session, n),
            format!("assistant: answer {}", 2 * n + 2),
        ]
    };
    let expect: Vec<String> = [("note", 0), ("and again", 1), ("and there", 2)]
        .into_iter()
        .flat_map(|(said, n)| of_one(said, n))
        .collect();
    assert_eq!(transcript(&there, &session), expect);
    let all = calls(&there, &session);
    assert!(
        all.iter()
            .all(|call| call["status"] == "completed" && said(call) == "it is noted"),
        "{all:#?}"
    );
    // The workspace does not travel with it.
    assert_eq!(reached(&here, &session).len(), 2);
    assert_eq!(reached(&there, &session).len(), 1);
    stop(&there);
}

/// How the n-th call of a tool is shown among the Items.
fn transcript_of_call(rat: &crate::kill::rat::Rat, session: &str, n: usize) -> String {
    let shown = transcript(rat, session);
    let mut shown = shown
        .into_iter()
        .filter(|said| said.starts_with("mcp_call"));
    shown.nth(n).expect("it is an item")
}

#[tokio::test(flavor = "multi_thread")]
async fn over_http_it_is_gone_on_with_and_what_a_server_is_shown_is_not_in_it() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        1 => notes("call_1", "web", "one"),
        3 => notes("call_2", "web", "two"),
        4 => Answer::new().until(&held).says("done"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let web = Server::start(Manner {
        text: "it is noted".to_owned(),
        ..Manner::default()
    })
    .await;
    let rat = over_http::knowing(&stub, &web);
    let session = create(&rat, &[over_http::tool(&web, json!({}))], "none", "note");
    settled(&rat, &session);
    rat.send(&session, "and again", false);
    gate.reached().await;
    let rollouts = files(&rat.data().join("run")).into_iter();
    let rollouts: Vec<_> = rollouts
        .filter(|file| file.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    assert_eq!(rollouts.len(), 1, "{rollouts:?}");
    let written = std::fs::read_to_string(&rollouts[0]).expect("it is text");
    assert!(written.contains("call_2"));
    for hidden in [
        "Bearer",
        "bearer",
        "http_headers",
        over_http::SECRET,
        &web.authority,
    ] {
        assert!(!written.contains(hidden), "{hidden}");
    }
    gate.open();
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let requests = stub.requests();
    for pair in requests.windows(2) {
        assert_eq!(thread(&pair[0]), thread(&pair[1]));
        assert!(goes_on_from(&pair[1], &pair[0]));
        assert_eq!(offered(&pair[1], "web"), ["note"]);
    }
    assert_eq!(web.calls().len(), 2);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_its_client_after_a_call_goes_on_with_both() {
    let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let ask = json!({"type": "function", "name": "ask", "description": "Asks.", "parameters": parameters});
    let stub = Stub::playing(|asked| match asked.number {
        1 => notes("call_1", "calc", "one"),
        3 => notes("call_2", "calc", "two"),
        4 => Answer::new().calls("call_3", "ask", &json!({"what": "colour"})),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let tool = mcp("calc", server(""), json!({}));
    let session = create(&rat, &[tool, ask], "openai_hosted", "note");
    settled(&rat, &session);
    rat.send(&session, "and ask", false);
    until_status(&rat, &session, &["requires_action"]);
    rat.ok(&["sessions", "answer", &session, "--result", "blue"]);
    settled(&rat, &session);
    send(&rat, &session, "thanks");
    let requests = stub.requests();
    assert_eq!(requests.len(), 6);
    for pair in requests.windows(2) {
        assert_eq!(thread(&pair[0]), thread(&pair[1]));
        assert!(goes_on_from(&pair[1], &pair[0]));
    }
    assert_eq!(requests[5].outputs_of("call_3"), ["blue"]);
    assert_eq!(reached(&rat, &session).len(), 2);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_required_server_that_is_gone_fails_the_turn_and_the_one_after_goes_on() {
    let stub = Stub::playing(|asked| match asked.number {
        1 => notes("call_1", "calc", "one"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let mut transport = server("");
    let script = transport["args"][1].as_str().expect("a script");
    let script =
        format!("[ -e /workspace/broken ] && {{ echo no license >&2; exit 7; }}; {script}");
    transport["args"][1] = script.into();
    let tool = mcp("calc", transport, json!({"required": true}));
    let session = create(&rat, &[tool], "openai_hosted", "note");
    settled(&rat, &session);
    let broken = rat.workspace(&session).join("broken");
    std::fs::write(&broken, "").expect("written");
    send(&rat, &session, "and again");
    let turns = rat.turns(&session);
    assert_eq!(turns[1]["status"], "failed");
    let message = turns[1]["error"]["message"].as_str().expect("words");
    for words in ["MCP server calc", "required", "exit code 7", "no license"] {
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(stub.requests().len(), 2, "the model was not asked");
    std::fs::remove_file(&broken).expect("removed");
    send(&rat, &session, "and now");
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let [second, third] = [stub.asked(2).await, stub.asked(3).await];
    assert_eq!(thread(&second), thread(&third));
    assert!(goes_on_from(&third, &second));
    assert_eq!(third.times_told("and now"), 1);
    stop(&rat);
}

/// The second Turn calls a tool that waits; `kill` happens meanwhile. What the model was told then of that call.
async fn killed_in_the_second_turn(kill: fn(&crate::kill::rat::Rat)) -> (String, Value) {
    let stub = Stub::playing(|asked| match asked.number {
        2 => notes("call_1", "calc", "one"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let wait = "until [ -e /workspace/go-on ]; do sleep 0.05; done; text='after all'";
    let session = create(
        &rat,
        &[mcp("calc", server(wait), json!({}))],
        "openai_hosted",
        "hello",
    );
    settled(&rat, &session);
    rat.send(&session, "note", false);
    until_reached(&rat, &session);
    kill(&rat);
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    assert_eq!(rat.turns(&session).len(), 2);
    assert_eq!(reached(&rat, &session).len(), 1);
    let [first, third] = [stub.asked(1).await, stub.asked(3).await];
    assert_eq!(thread(&first), thread(&third));
    assert!(goes_on_from(&third, &first));
    assert_eq!(
        [third.times_told("hello"), third.times_told("note")],
        [1, 1]
    );
    assert!(was_called(&third, "call_1", "mcp__calc"));
    let told = third.outputs_of("call_1");
    assert_eq!(told.len(), 1, "{told:?}");
    // From there it goes on as ever.
    send(&rat, &session, "and on");
    let fourth = stub.asked(4).await;
    assert_eq!(thread(&third), thread(&fourth));
    assert!(goes_on_from(&fourth, &third));
    let status = calls(&rat, &session)[0]["status"].clone();
    stop_killed(&rat);
    (told[0].clone(), status)
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_lost_during_a_call_and_the_record_of_the_turn_before_is_gone_on_with() {
    let (told, status) = killed_in_the_second_turn(kill_codex).await;
    assert_eq!((told.as_str(), status), ("after all", "completed".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_lost_during_a_call_and_the_record_of_the_turn_before_is_gone_on_with() {
    let (told, status) = killed_in_the_second_turn(kill_workers).await;
    assert!(told.contains("outcome unknown"), "{told}");
    assert_eq!(status, "incomplete");
}
