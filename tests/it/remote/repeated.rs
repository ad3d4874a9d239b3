//! What is asked again and what is not, so that nothing happens twice.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::far::{KEY, client, client_with};
use super::scripted::{Answer, Asked, SESSION, Scripted, agent, good, list, refused, session};

const ALL: &str = "events-after, events-so-far, next-turn, cancel-turn, receipt, session-key";

/// A server without extensions on which a Session is idle.
fn idle(asked: &Asked) -> Answer {
    match asked.route().as_str() {
        "GET /v1/agents/sessions" => good(&list(&[session("idle")])),
        "GET /v1/agents" => good(&list(&[])),
        route if route == format!("GET /v1/agents/sessions/{SESSION}") => good(&session("idle")),
        route if route.ends_with("/turns") => good(&list(&[])),
        route => refused(404, &format!("no {route}"), None),
    }
}

#[test]
fn a_server_that_fails_twice_and_then_works_is_no_failure() {
    let server = Scripted::begin(|asked, number| match number {
        0 => refused(500, "oops", None),
        1 => Answer::Nothing,
        _ => idle(asked),
    });
    let far = client(&server.base, KEY);
    assert_eq!(far.ok("sessions list -o id"), SESSION);
    assert_eq!(server.asked().len(), 3);
    for asked in server.asked() {
        assert_eq!(
            asked.header("authorization"),
            Some(&*format!("Bearer {KEY}"))
        );
        assert_eq!(asked.header("openai-beta"), Some("agents=v1"));
    }
}

#[test]
fn a_server_that_asks_for_time_gets_it_unless_it_is_more_than_there_is() {
    let server = Scripted::begin(|asked, number| match number {
        0 => refused(429, "slow down", None).with("retry-after", "1"),
        _ => idle(asked),
    });
    let far = client(&server.base, KEY);
    assert_eq!(far.ok("sessions list -o id"), SESSION);
    assert_eq!(server.asked().len(), 2);

    let server =
        Scripted::begin(|_, _| refused(429, "slow down", None).with("retry-after", "3600"));
    let ran = client(&server.base, KEY).run("sessions list");
    assert_eq!(ran.code, 7, "{ran:#?}");
    assert!(ran.stderr.contains("slow down (status 429"), "{ran:#?}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_final_word_is_not_asked_for_again() {
    let server = Scripted::begin(|_, _| {
        refused(409, "it is being deleted", None).with("x-should-retry", "false")
    });
    let ran = client(&server.base, KEY).run(&format!("sessions get {SESSION}"));
    assert_eq!(ran.code, 5, "{ran:#?}");
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_conflict_that_stays_is_one() {
    let server = Scripted::begin(|_, _| refused(409, "a turn runs", None));
    let ran = client(&server.base, KEY).run(&format!("sessions get {SESSION}"));
    assert_eq!(ran.code, 5, "{ran:#?}");
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn an_input_whose_answer_was_lost_is_sent_again_under_its_key_and_accepted_once() {
    let server = Scripted::begin(|asked, number| {
        if asked.method != "POST" {
            return idle(asked);
        }
        let receipt = json!({
            "id": "rcpt_1", "object": "rat_things.receipt", "session_id": SESSION, "accepted_at": 1,
            "digest": "d", "repeated": true, "outcomes": [{"became": "started", "turn_id": "turn_1"}],
        });
        // It is the second POST that gets an answer: the first did its work and died.
        match number {
            n if n < 2 => refused(500, "it happened, and then I fell", None),
            _ => Answer::Whole(202, Vec::new(), Vec::new()).with("x-receipt", &receipt.to_string()),
        }
    });
    let far = client(&server.base, KEY);
    let told = far.json(&format!("sessions send {SESSION} --input hello --no-wait"));
    assert_eq!(told["outcomes"][0]["turn_id"], "turn_1");
    let posts: Vec<Asked> = server
        .asked()
        .into_iter()
        .filter(|asked| asked.method == "POST")
        .collect();
    assert_eq!(posts.len(), 2);
    assert!(posts[0].header("idempotency-key").is_some());
    assert_eq!(
        posts[0].header("idempotency-key"),
        posts[1].header("idempotency-key")
    );
    assert_eq!(posts[0].body, posts[1].body);
}

#[test]
fn an_input_that_stays_in_doubt_names_the_key_that_settles_it() {
    let server = Scripted::begin(|asked, _| match asked.method.as_str() {
        "POST" => Answer::Nothing,
        _ => idle(asked),
    });
    let far = client_with(&server.base, KEY, "timeout_s = 2");
    let ran = far.run(&format!("sessions send {SESSION} --input hello --no-wait"));
    assert_eq!(ran.code, 6, "{ran:#?}");
    let posts = server.asked();
    let post = posts.iter().find(|asked| asked.method == "POST");
    let key = post.and_then(|asked| asked.header("idempotency-key"));
    let hint = format!("--idempotency-key {}", key.expect("a key"));
    assert!(ran.stderr.contains(&hint), "{ran:#?}");
}

/// A server that does what it is told, and dies before it says so, the first time.
fn forgetful(extensions: &'static str) -> Scripted {
    Scripted::begin(move |asked, _| {
        let answer = match (asked.method.as_str(), asked.header("idempotency-key")) {
            ("POST", _) if !asked.path.contains("again") && first(asked) => {
                refused(500, "it happened, and then I fell", None)
            }
            ("POST", _) => good(&session("idle")),
            _ => idle(asked),
        };
        match extensions {
            "" => answer,
            all => answer.with("x-agents-extensions", all),
        }
    })
}

/// Whether this is the first attempt: the second of a process comes with the same key.
fn first(asked: &Asked) -> bool {
    use std::collections::HashSet;
    use std::sync::{LazyLock, Mutex};
    static SEEN: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);
    let key = asked.header("idempotency-key").unwrap_or_default();
    SEEN.lock().expect("is whole").insert(key.to_owned())
}

#[test]
fn a_session_is_created_again_only_where_that_is_the_same_session() {
    let create = "sessions create --model m --environment none --input x --no-wait -o id";
    let server = forgetful(ALL);
    assert_eq!(client(&server.base, KEY).ok(create), SESSION);
    assert_eq!(server.count("POST /v1/agents/sessions"), 2);

    let server = forgetful("");
    let ran = client(&server.base, KEY).run(create);
    assert_eq!(ran.code, 6, "{ran:#?}");
    assert!(ran.stderr.contains("rat-things sessions list"), "{ran:#?}");
    assert_eq!(server.count("POST /v1/agents/sessions"), 1);
}

#[test]
fn whether_a_session_is_created_once_is_asked_for_when_the_answer_broke_off() {
    let server = Scripted::begin(|asked, number| {
        let answer = match asked.method.as_str() {
            "POST" if number == 0 => return Answer::Nothing,
            "POST" => good(&session("idle")),
            _ => idle(asked),
        };
        answer.with("x-agents-extensions", ALL)
    });
    let create = "sessions create --model m --environment none --input x --no-wait -o id";
    assert_eq!(client(&server.base, KEY).ok(create), SESSION);
    assert_eq!(server.count("POST /v1/agents/sessions"), 2);
    assert_eq!(server.count("GET /v1/agents/sessions"), 1);
}

#[test]
fn an_agent_is_never_created_twice_and_what_is_in_doubt_is_said() {
    let create = "agents create --model m -o id";
    for lost in [0, 1, 2] {
        let server = Scripted::begin(move |_, _| match lost {
            0 => Answer::Nothing,
            1 => refused(502, "a proxy", None),
            _ => refused(500, "nobody knows", None).with("x-should-retry", "false"),
        });
        let ran = client(&server.base, KEY).run(create);
        assert_eq!(ran.code, 6, "{ran:#?}");
        assert!(
            ran.stderr.contains("`rat-things agents list` shows"),
            "{ran:#?}"
        );
        assert_eq!(server.asked().len(), 1);
    }
    // What surely did not happen is repeated.
    let server = Scripted::begin(|_, number| match number {
        0 => refused(429, "slow down", None).with("retry-after", "0"),
        1 => refused(503, "later", None),
        _ => good(&agent()),
    });
    let id = client(&server.base, KEY).ok(create);
    assert_eq!(Value::from(id), agent()["id"]);
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn a_deletion_that_was_done_without_an_answer_is_done() {
    let server = Scripted::begin(|asked, number| match (asked.method.as_str(), number) {
        ("DELETE", n) if n < 3 => Answer::Nothing,
        ("DELETE", _) => refused(404, "gone", None),
        _ => idle(asked),
    });
    let ran = client(&server.base, KEY).run(&format!("sessions delete {SESSION} --yes -o id"));
    assert_eq!((ran.code, ran.stdout.trim()), (0, SESSION), "{ran:#?}");
}

#[test]
fn a_server_that_is_not_there_is_unavailable() {
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("is free");
    let base = format!("http://{}/v1", free.local_addr().expect("is bound"));
    drop(free);
    let far = client_with(&base, KEY, "timeout_s = 1");
    let ran = far.run("agents create --model m");
    assert_eq!(ran.code, 7, "{ran:#?}");
    assert!(ran.stderr.contains("can't be reached"), "{ran:#?}");
    let doctor = far.run("doctor -o json");
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.stdout.contains("can't be reached"), "{doctor:#?}");
}
