//! Bounds of the server, each with a small value: what is too much or too slow is refused or ended, and whatever comes next is
//! served.

use std::time::Duration;

use serde_json::Value;

use rat_things::server::Limits;

use super::raw::{Raw, Served};
use super::world::{Api, ids};
use crate::cli::env::PATIENCE;

/// Short enough for a test, long enough for a request on a busy machine.
const SHORT: Duration = Duration::from_millis(400);
/// Longer than any test.
const LONG: Duration = Duration::from_secs(3_600);

fn limits() -> Limits {
    Limits {
        head_patience: LONG,
        body_patience: LONG,
        stream_patience: LONG,
        write_patience: LONG,
        keep_alive: LONG,
        ..Limits::default()
    }
}

/// An answer to one GET on a connection of its own.
async fn answer_of(api: &Api, served: &Served, path: &str) -> String {
    let mut raw = Raw::to(served.address).await;
    let head = served.head(api, "GET", path, "connection: close\r\n");
    assert!(raw.send(head).await);
    raw.rest().await
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("none")
}

#[tokio::test]
async fn a_head_that_does_not_come_in_time_closes_its_connection() {
    let api = Api::new();
    let short = Limits {
        head_patience: SHORT,
        ..limits()
    };
    let served = Served::begin(&api, short).await;
    for begin in [
        "",
        "GET /heal",
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\n",
    ] {
        let mut raw = Raw::to(served.address).await;
        assert!(raw.send(begin).await);
        let said = raw.rest().await;
        assert!(said.is_empty() || status(&said) == "408", "{said}");
    }
    // One whole request, and then silence.
    let mut raw = Raw::to(served.address).await;
    assert!(
        raw.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await
    );
    assert_eq!(status(&raw.rest().await), "200");
    assert_eq!(status(&answer_of(&api, &served, "/agents").await), "200");
}

#[tokio::test]
async fn a_head_that_comes_byte_by_byte_is_not_waited_for() {
    let api = Api::new();
    let short = Limits {
        head_patience: SHORT,
        ..limits()
    };
    let served = Served::begin(&api, short).await;
    let mut raw = Raw::to(served.address).await;
    assert!(raw.send("GET /healthz HTTP/1.1\r\nx-slow: ").await);
    let drip = async {
        while raw.send("a").await {
            tokio::time::sleep(SHORT / 8).await;
        }
    };
    tokio::time::timeout(PATIENCE, drip)
        .await
        .expect("it is ended, whatever comes");
    assert_eq!(status(&answer_of(&api, &served, "/agents").await), "200");
}

#[tokio::test]
async fn a_body_that_does_not_come_in_time_is_refused() {
    let api = Api::new();
    let short = Limits {
        body_patience: SHORT,
        ..limits()
    };
    let served = Served::begin(&api, short).await;
    for length in ["content-length: 100\r\n", "transfer-encoding: chunked\r\n"] {
        let mut raw = Raw::to(served.address).await;
        let fields = format!("content-type: application/json\r\n{length}");
        assert!(
            raw.send(served.head(&api, "POST", "/agents", &fields))
                .await
        );
        let said = raw.rest().await;
        assert_eq!(status(&said), "408", "{said}");
        assert!(said.contains("request_timeout"), "{said}");
    }
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_it_comes_or_where_it_passes_the_bound() {
    let api = Api::new();
    let small = Limits {
        body_bytes: 1_000,
        ..limits()
    };
    let served = Served::begin(&api, small).await;
    let mut raw = Raw::to(served.address).await;
    // Not one byte of it is sent.
    let fields = "content-length: 1073741824\r\n";
    assert!(raw.send(served.head(&api, "POST", "/agents", fields)).await);
    let said = raw.rest().await;
    assert_eq!(status(&said), "413", "{said}");

    let mut raw = Raw::to(served.address).await;
    let fields = "connection: close\r\ntransfer-encoding: chunked\r\n";
    assert!(raw.send(served.head(&api, "POST", "/agents", fields)).await);
    let chunk = format!("258\r\n{}\r\n", "x".repeat(600));
    raw.send(format!("{chunk}{chunk}0\r\n\r\n")).await;
    let said = raw.rest().await;
    assert_eq!(status(&said), "413", "{said}");
    assert!(said.contains("larger than 1000 bytes"), "{said}");
}

#[tokio::test]
async fn one_connection_more_waits_until_one_ends() {
    let api = Api::new();
    let two = Limits {
        connections: 2,
        ..limits()
    };
    let served = Served::begin(&api, two).await;
    let first = Raw::to(served.address).await;
    let _second = Raw::to(served.address).await;
    let mut third = Raw::to(served.address).await;
    let health = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(third.send(health).await);
    let waits = tokio::time::timeout(SHORT, third.until("ok\n")).await;
    assert!(waits.is_err(), "there is no place yet");
    drop(first);
    // It had read nothing, so nothing of the answer is lost.
    assert_eq!(status(&third.rest().await), "200");
}

#[tokio::test]
async fn one_stream_more_is_refused_until_one_ends() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let one = Limits {
        streams: 1,
        ..limits()
    };
    let served = Served::begin(&api, one).await;
    let path = format!("/agents/sessions/{session}/events");
    let mut first = Raw::to(served.address).await;
    assert!(first.send(served.head(&api, "GET", &path, "")).await);
    assert_eq!(status(&first.until("\r\n\r\n").await), "200");
    let refused = answer_of(&api, &served, &path).await;
    assert_eq!(status(&refused), "503", "{refused}");
    drop(first);
    until_room(&api, &served, &path).await;
}

/// Waits until a stream can be opened.
async fn until_room(api: &Api, served: &Served, path: &str) {
    let wait = async {
        loop {
            let mut raw = Raw::to(served.address).await;
            assert!(raw.send(served.head(api, "GET", path, "")).await);
            if status(&raw.until("\r\n\r\n").await) == "200" {
                return;
            }
            tokio::time::sleep(SHORT / 8).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait)
        .await
        .expect("there is room again");
}

#[tokio::test]
async fn a_silent_stream_says_again_and_again_that_it_is_there() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let often = Limits {
        keep_alive: Duration::from_millis(50),
        ..limits()
    };
    let served = Served::begin(&api, often).await;
    let path = format!("/agents/sessions/{session}/events");
    let mut raw = Raw::to(served.address).await;
    assert!(raw.send(served.head(&api, "GET", &path, "")).await);
    for _ in 0..3 {
        raw.until(": keep-alive\n\n").await;
    }
}

/// A Session with more to tell than sockets hold, and its first event.
async fn long_session(api: &Api) -> (String, String) {
    let text = format!("@say {}", "x".repeat(900 << 10));
    let session = api.session(&text).await;
    for _ in 0..3 {
        let mut stream = api.stream(&session, "").await;
        api.send(&session, &text).await;
        stream.until("agent.session.idle").await;
    }
    let listed = api
        .env
        .json(&format!("sessions events {session} --limit 1"));
    let first = ids(listed["data"].as_array().expect("a list"))[0].clone();
    (session, first)
}

#[tokio::test]
async fn a_stream_that_nobody_reads_is_ended_and_says_why_to_who_reads_on() {
    let api = Api::new();
    let (session, first) = long_session(&api).await;
    let impatient = Limits {
        streams: 1,
        stream_patience: SHORT,
        ..limits()
    };
    let served = Served::begin(&api, impatient).await;
    let path = format!("/agents/sessions/{session}/events");
    let mut slow = Raw::narrow(served.address).await;
    let from_first = format!("{path}?after={first}");
    let closes = "connection: close\r\n";
    let head = served.head(&api, "GET", &from_first, closes);
    assert!(slow.send(head).await);
    assert_eq!(status(&slow.until("\r\n\r\n").await), "200");
    // Its place is free, though it has not read on.
    until_room(&api, &served, &path).await;
    let rest = events_of(&slow.rest().await);
    let last = rest.last().expect("there are some");
    assert_eq!(last["type"], "error", "{last}");
    assert_eq!(last["error"]["code"], "stream_timeout", "{last}");
    assert_eq!(last["session_id"], session.as_str());
    // What had been told before goes on behind it, in another stream.
    let told = ids(&rest[..rest.len() - 1]);
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let whole = ids(listed["data"].as_array().expect("a list"));
    assert_eq!(told, whole[1..=told.len()]);
    assert!(told.len() + 1 < whole.len(), "it was cut");
}

/// The events of a chunked answer.
fn events_of(answer: &str) -> Vec<Value> {
    let whole = super::raw::unchunked(answer);
    let blocks = whole.split("\n\n").filter(|block| !block.is_empty());
    let events = blocks.map(|block| {
        let (_, data) = block.split_once("\ndata: ").expect("an event");
        serde_json::from_str(data).expect("JSON")
    });
    events.collect()
}

#[tokio::test]
async fn an_answer_that_nobody_takes_closes_its_connection() {
    let api = Api::new();
    let (session, _) = long_session(&api).await;
    let impatient = Limits {
        write_patience: SHORT,
        connections: 1,
        ..limits()
    };
    let served = Served::begin(&api, impatient).await;
    let path = format!("/agents/sessions/{session}/items?limit=100");
    let mut slow = Raw::narrow(served.address).await;
    assert!(slow.send(served.head(&api, "GET", &path, "")).await);
    assert_eq!(status(&slow.until("\r\n\r\n").await), "200");
    // Its place is the only one.
    assert_eq!(status(&answer_of(&api, &served, "/agents").await), "200");
}
