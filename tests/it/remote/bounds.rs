//! Servers that mean no good, or are none: what they send is bounded, harmless, and never gets the key to anybody else.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::far::{KEY, client, client_with};
use super::scripted::{Answer, SESSION, Scripted, good, list, refused, session};

#[test]
fn a_redirect_is_not_followed_and_the_key_stays() {
    let other = Scripted::begin(|_, _| good(&list(&[])));
    let to = format!("{}/agents/sessions", other.base);
    let server =
        Scripted::begin(move |_, _| Answer::Whole(307, vec![("location", to.clone())], Vec::new()));
    let ran = client(&server.base, KEY).run("sessions list");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(
        ran.stderr.contains("redirects are not followed"),
        "{ran:#?}"
    );
    assert_eq!((server.asked().len(), other.asked().len()), (1, 0));
}

#[test]
fn what_is_no_json_is_not_read_and_says_what_may_be_wrong() {
    for (kind, words) in [
        ("application/json", "can't be read"),
        ("text/html; charset=utf-8", "is base_url right?"),
    ] {
        let server = Scripted::begin(move |_, _| {
            let headers = vec![("content-type", kind.to_owned())];
            Answer::Whole(200, headers, b"<html>Welcome to the hotel</html>".to_vec())
        });
        let far = client(&server.base, KEY);
        let ran = far.run("sessions list");
        assert_eq!((ran.code, ran.stdout.as_str()), (7, ""), "{ran:#?}");
        assert!(ran.stderr.contains(words), "{ran:#?}");
        // A change that was answered with that may have happened.
        let ran = far.run("agents create --model m");
        assert_eq!(ran.code, 6, "{ran:#?}");
    }
}

#[test]
fn an_answer_without_an_end_is_cut_off() {
    let server = Scripted::begin(|_, _| Answer::Endless("application/json", vec![b' '; 1 << 20]));
    let ran = client(&server.base, KEY).run("sessions list");
    assert_eq!(ran.code, 7, "{ran:#?}");
    assert!(ran.stderr.contains("larger than 64 MiB"), "{ran:#?}");

    // A line of a stream is bounded, too.
    let server = Scripted::begin(|asked, _| match asked.route().ends_with("/events") {
        true => Answer::Endless("text/event-stream", vec![b'x'; 1 << 20])
            .with("x-agents-extensions", "events-after, events-so-far"),
        false => good(&session("idle")).with("x-agents-extensions", "events-after, events-so-far"),
    });
    let far = client_with(&server.base, KEY, "timeout_s = 20");
    let ran = far.run(&format!("sessions events {SESSION}"));
    assert_ne!(ran.code, 0, "{ran:#?}");
}

#[test]
fn what_a_server_says_reaches_a_terminal_harmlessly() {
    let hostile = "a\u{1b}[2J\u{1b}]0;owned\u{7}b\u{202e}c";
    let server = Scripted::begin(move |asked, _| {
        let mut one = session("idle");
        one["metadata"] = json!({"title": hostile});
        one["agent"]["model"] = hostile.into();
        match asked.method.as_str() {
            "GET" => good(&list(&[one])),
            _ => refused(400, hostile, Some(hostile)),
        }
    });
    let far = client(&server.base, KEY);
    for line in [
        "sessions list -o table",
        "sessions list -o tsv",
        "sessions list -o json",
        "agents create --model m",
    ] {
        let ran = far.run(line);
        let all = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!all.contains(['\u{1b}', '\u{7}']), "{ran:#?}");
        // JSON off a terminal is exact; nothing in it is an order to one.
        let hidden = all.contains('\u{202e}');
        assert!(!hidden || line.ends_with("json"), "{ran:#?}");
    }
}

#[test]
fn a_server_that_repeats_the_key_is_not_repeated() {
    let server = Scripted::begin(|asked, _| {
        let key = asked.header("authorization").unwrap_or_default();
        refused(401, &format!("Incorrect API key provided: {key}"), None)
    });
    let far = client(&server.base, KEY);
    let ran = far.run("sessions list -vv");
    assert_eq!(ran.code, 4, "{ran:#?}");
    assert!(ran.stderr.contains("Incorrect API key"), "{ran:#?}");
    assert!(!ran.stderr.contains("planted-secret"), "{ran:#?}");
    let doctor = far.run("doctor");
    assert_eq!(doctor.code, 1);
    assert!(!doctor.stdout.contains("planted-secret"), "{doctor:#?}");
}

#[test]
fn an_id_can_not_lead_to_another_route() {
    let server = Scripted::begin(|_, _| good(&list(&[])));
    let far = client(&server.base, KEY);
    for typed in [
        "sess_/../agents",
        "..",
        ".",
        "sess_%2e%2e",
        "sess_?x=1",
        "sess_#",
    ] {
        let ran = far.run(&format!("sessions get {typed}"));
        assert_ne!(ran.code, 0, "{ran:#?}");
    }
    let routes: Vec<String> = server.asked().iter().map(|asked| asked.route()).collect();
    assert!(
        routes
            .iter()
            .all(|route| route == "GET /v1/agents/sessions"),
        "{routes:?}"
    );
}

#[test]
fn an_artifact_that_is_cut_or_changed_on_the_way_is_no_artifact() {
    let artifact = json!({
        "id": "artf_x", "created_at": 1, "environment_id": "env_x", "object": "agent.session.artifact",
        "path": "/workspace/outputs/f.txt", "session_id": SESSION, "size_bytes": 5, "turn_id": "turn_1",
    });
    let serve = |bytes: &'static [u8], digest: &'static str| {
        let artifact = artifact.clone();
        Scripted::begin(move |asked, _| match asked.route().rsplit('/').next() {
            Some("content") => {
                let kind = vec![("content-type", "application/octet-stream".to_owned())];
                let answer = Answer::Whole(200, kind, bytes.to_vec());
                match digest {
                    "" => answer,
                    digest => answer.with("repr-digest", digest),
                }
            }
            Some("artf_x") => good(&artifact),
            Some("artifacts") => good(&list(std::slice::from_ref(&artifact))),
            _ => good(&session("idle")),
        })
    };
    // sha256 of "hello".
    let right = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:";
    for (bytes, digest, code) in [
        (&b"hello"[..], right, 0),
        (b"hello", "", 0),
        (b"hellO", right, 2),
        (b"hell", "", 2),
        (b"hello!", "", 2),
    ] {
        let far = client(&serve(bytes, digest).base, KEY);
        let ran = far.run(&format!("artifacts get {SESSION} artf_x --to out"));
        assert_eq!(ran.code, code, "{bytes:?} {digest}: {ran:#?}");
        assert_eq!(far.path("out").exists(), code == 0);
    }
}
