//! Servers of the Agents API that have none of our additions: what still works, and what is said of what does not.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::far::{KEY, client};
use super::scripted::{
    Answer, Asked, SESSION, Scripted, good, list, message, refused, session, turn,
};
use crate::cli::env::TestEnv;

/// A Session that rests, on a server that knows the API and nothing else.
fn plain(asked: &Asked, turns: &[Value]) -> Answer {
    let body = String::from_utf8_lossy(&asked.body);
    let route = asked.route();
    if asked.method == "POST" && body.contains("\"delivery\"") {
        return refused(
            400,
            "Unknown parameter: 'events[0].delivery'.",
            Some("events[0].delivery"),
        );
    }
    if asked.method == "POST" && body.contains("input.cancel") && body.contains("turn_id") {
        return refused(400, "Unknown parameter: 'events[0].turn_id'.", None);
    }
    if route.ends_with("/events") && asked.path.contains("follow=") {
        return refused(400, "Unknown parameter: 'follow'.", Some("follow"));
    }
    match (
        asked.method.as_str(),
        route.rsplit('/').next().unwrap_or_default(),
    ) {
        ("POST", "events") => Answer::Whole(202, Vec::new(), Vec::new()),
        ("GET", SESSION) => good(&session("idle")),
        ("GET", "sessions") => good(&list(&[session("idle")])),
        ("GET", "turns") => good(&list(turns)),
        ("GET", "items") => good(&list(&[message("msg_1", "turn_new", "hello")])),
        ("GET", "artifacts") => good(&list(&[])),
        ("GET", "turn_new") => good(&turn("turn_new", "completed")),
        _ => refused(404, &format!("no {route}"), None),
    }
}

fn lacking(far: &TestEnv, line: &str, words: &str) {
    let ran = far.run(line);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{ran:#?}");
    assert!(
        ran.stderr.contains("[RT-0224]") && ran.stderr.contains(words),
        "{ran:#?}"
    );
}

#[test]
fn what_a_server_refuses_as_unknown_is_said_in_one_sentence() {
    let server = Scripted::begin(|asked, _| plain(asked, &[turn("turn_new", "completed")]));
    let far = client(&server.base, KEY);
    lacking(
        &far,
        &format!("sessions send {SESSION} --queue --input x"),
        "--queue",
    );
    lacking(
        &far,
        &format!("sessions cancel {SESSION} --turn turn_new"),
        "--turn",
    );
    lacking(
        &far,
        &format!("sessions events {SESSION}"),
        "does not tell events that have happened",
    );
    let after = "evt_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    lacking(
        &far,
        &format!("sessions events {SESSION} --follow --after {after}"),
        "--after",
    );
}

#[test]
fn a_server_that_ignores_what_it_does_not_know_is_noticed() {
    // It takes `follow=false` for nothing, and streams from now on: that must not be waited for.
    let server = Scripted::begin(|asked, _| match asked.route().ends_with("/events") {
        true => Answer::Stream(Vec::new(), true),
        false => plain(asked, &[]),
    });
    let far = client(&server.base, KEY);
    lacking(
        &far,
        &format!("sessions events {SESSION}"),
        "does not tell events that have happened",
    );
}

#[test]
fn a_message_without_a_receipt_is_followed_to_the_end_of_the_turn_that_it_starts() {
    let posted = std::sync::atomic::AtomicBool::new(false);
    let server = Scripted::begin(move |asked, _| {
        use std::sync::atomic::Ordering::SeqCst;
        if asked.method == "POST" {
            posted.store(true, SeqCst);
        }
        let (old, new) = (turn("turn_old", "completed"), turn("turn_new", "completed"));
        match (posted.load(SeqCst), asked.path.contains("after=turn_old")) {
            (true, true) => plain(asked, &[new]),
            (true, false) => plain(asked, &[old, new]),
            (false, _) => plain(asked, &[old]),
        }
    });
    let far = client(&server.base, KEY);
    let ran = far.run(&format!(
        "sessions send {SESSION} --input x --wait -o table"
    ));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert_eq!(
        ran.stdout, "agent     hello\nturn      completed\n",
        "{ran:#?}"
    );
    let receipt = far.json(&format!(
        "sessions send {SESSION} --input x --no-wait --idempotency-key k"
    ));
    let expected = json!({
        "id": "k", "object": "rat_things.receipt", "session_id": SESSION, "accepted_at": null,
        "digest": null, "repeated": null, "outcomes": [],
    });
    assert_eq!(receipt, expected);
}

#[test]
fn ids_of_another_make_are_found_by_their_beginning_or_as_a_whole() {
    let server = Scripted::begin(|asked, _| {
        let mut foreign = session("idle");
        foreign["id"] = "sess_ABC-123".into();
        match asked.route().as_str() {
            "GET /v1/agents/sessions" => good(&list(&[foreign])),
            "GET /v1/agents/sessions/sess_ABC-123" => good(&foreign),
            route => refused(404, &format!("no {route}"), None),
        }
    });
    let far = client(&server.base, KEY);
    for typed in ["sess_ABC-123", "sess_AB", "sess_A"] {
        assert_eq!(
            far.ok(&format!("sessions get {typed} -o id")),
            "sess_ABC-123"
        );
    }
    assert_eq!(far.run("sessions get sess_XY").code, 2);
    assert_eq!(far.run("sessions get sess_zz").code, 3);
}

#[test]
fn a_beginning_is_looked_for_among_so_many_and_then_given_up_with_words() {
    let server = Scripted::begin(|asked, _| match asked.route().as_str() {
        "GET /v1/agents/sessions" => {
            let mut page = list(&[session("idle")]);
            page["has_more"] = true.into();
            good(&page)
        }
        route => refused(404, &format!("no {route}"), None),
    });
    let far = client(&server.base, KEY);
    let ran = far.run("sessions get sess_bb");
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(
        ran.stderr.contains("older ones were not looked at"),
        "{ran:#?}"
    );
    assert_eq!(server.count("GET /v1/agents/sessions"), 10);
    // The only one that was seen may not be the only one.
    let ran = far.run("sessions get sess_aa");
    assert_eq!(ran.code, 2, "{ran:#?}");
}

#[test]
fn doctor_says_what_a_server_does_not_have() {
    let server = Scripted::begin(|_, _| good(&list(&[])));
    let ran = client(&server.base, KEY).run("doctor -o json");
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(
        ran.stdout
            .contains("a creation without an answer is not repeated"),
        "{ran:#?}"
    );
    assert!(
        !ran.stdout.contains(KEY) && !ran.stderr.contains(KEY),
        "{ran:#?}"
    );
}
