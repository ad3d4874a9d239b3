//! Streams: at once, in order, whole behind any cut, and over when they must be.

use std::time::Duration;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::world::{Api, Events, ids, kinds, lasting, line, refusal, session_of};
use crate::cli::env::PATIENCE;

#[tokio::test]
async fn headers_come_before_any_event_and_a_stream_outlives_idle() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    // Answered though nothing happens: an SDK sends its input only then.
    let mut stream = api.stream(&session, "").await;
    assert!(stream.is_silent().await, "what was before is not told");
    for text in ["@say one", "@say two"] {
        api.send(&session, text).await;
        let events = stream.until("agent.session.idle").await;
        let seen = kinds(&lasting(&events))
            .join(" ")
            .replace("agent.session.", "");
        assert_eq!(
            seen,
            "turn.created in_progress turn.in_progress turn.item.added turn.item.added turn.content_part.added turn.output_text.done turn.content_part.done turn.item.done turn.completed idle"
        );
    }
}

#[tokio::test]
async fn text_is_told_as_it_is_written_behind_the_beginning_of_its_item() {
    let api = Api::new();
    let text = "one two three four five six seven eight nine ten";
    let mut stream = api
        .create(&session_of("none", &format!("@slow 60 {text}")))
        .await;
    let events = stream.all().await;
    let deltas: Vec<&str> = events
        .iter()
        .filter(|event| event["type"] == "agent.session.turn.output_text.delta")
        .map(|event| event["delta"].as_str().expect("text"))
        .collect();
    assert!(deltas.len() > 1, "{deltas:?}");
    assert!(text.starts_with(&deltas.concat()), "{deltas:?}");
    let seen = kinds(&events);
    let first_delta = seen.iter().position(|kind| kind.ends_with(".delta"));
    let last_delta = seen.iter().rposition(|kind| kind.ends_with(".delta"));
    let begun = seen.iter().rposition(|kind| kind.ends_with("item.added"));
    let whole = seen.iter().position(|kind| kind.ends_with("text.done"));
    assert!(begun < first_delta && last_delta < whole, "{seen:?}");
}

#[tokio::test]
async fn behind_a_cut_at_any_event_the_rest_comes_once_and_in_order() {
    let api = Api::new();
    let session = api
        .session("@reason why\n@say one\n@call none {}\n@say two")
        .await;
    let mut first = api.stream(&session, "").await;
    api.send(&session, "@say three").await;
    first.until("agent.session.idle").await;
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let whole = ids(listed["data"].as_array().expect("a list"));
    assert!(whole.len() > 15, "{}", whole.len());
    for (at, id) in whole.iter().enumerate() {
        let mut stream = match at % 2 {
            0 => api.stream(&session, &format!("?after={id}")).await,
            _ => continued(&api, &session, id).await,
        };
        let mut rest = Vec::new();
        while rest.len() < whole.len() - at - 1 {
            rest.push(stream.next().await.expect("goes on"));
        }
        assert_eq!(ids(&rest), whole[at + 1..], "behind event {at}");
    }
    // Behind the last one it goes on live.
    let last = whole.last().expect("there are some");
    let mut stream = continued(&api, &session, last).await;
    assert!(stream.is_silent().await);
    api.send(&session, "@say four").await;
    let live = lasting(&stream.until("agent.session.idle").await);
    let listed = api
        .env
        .json(&format!("sessions events {session} --after {last} --all"));
    assert_eq!(ids(&live), ids(listed["data"].as_array().expect("a list")));
}

/// The same as `?after=`, by header.
async fn continued(api: &Api, session: &str, id: &str) -> Events {
    let path = format!("/agents/sessions/{session}/events");
    let request = api.request("GET", &path).header("last-event-id", id);
    Events::from_response(request.send().await.expect("answers"))
}

#[tokio::test]
async fn streams_that_are_cut_again_and_again_while_a_turn_runs_miss_nothing() {
    let api = Api::new();
    let created = api
        .post(
            "/agents/sessions",
            &json!({"agent": {"model": "demo"}, "environment": {"type": "openai_hosted"}}),
        )
        .await;
    let session = created["id"].as_str().expect("an id");
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let mut after = ids(listed["data"].as_array().expect("a list"));
    let before = after.len();
    let mut after = after.pop().expect("it was created");
    let mut told = Vec::new();
    let says: Vec<String> = (0..12).map(|n| format!("@slow 5 part {n}")).collect();
    api.send(session, &says.join("\n")).await;
    // Each connection is left behind its first event that lasts.
    loop {
        let mut stream = api.stream(session, &format!("?after={after}")).await;
        let event = loop {
            let event = stream.next().await.expect("goes on");
            if !lasting(std::slice::from_ref(&event)).is_empty() {
                break event;
            }
        };
        after = event["event_id"].as_str().expect("an id").to_owned();
        told.push(line(&event));
        if event["type"] == "agent.session.idle" {
            break;
        }
    }
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let listed = listed["data"].as_array().expect("a list").iter().map(line);
    let mut listed: Vec<String> = listed.skip(before).collect();
    // A text is begun before what is recorded with it.
    listed.sort();
    told.sort();
    assert_eq!(told, listed);
}

#[tokio::test]
async fn behind_a_piece_of_text_the_rest_of_its_item_comes() {
    let api = Api::new();
    let mut stream = api
        .create(&session_of("none", "@slow 60 one two three four five six"))
        .await;
    let events = stream.all().await;
    let delta = events
        .iter()
        .find(|event| event["type"] == "agent.session.turn.output_text.delta");
    let delta = delta.expect("there is one")["event_id"]
        .as_str()
        .expect("an id");
    let session = events[0]["session"]["id"].as_str().expect("an id");
    let mut rest = api.stream(session, &format!("?after={delta}")).await;
    let rest = rest.until("agent.session.idle").await;
    let seen = kinds(&rest).join(" ").replace("agent.session.", "");
    assert_eq!(
        seen,
        "turn.output_text.done turn.content_part.done turn.item.done turn.completed idle"
    );
    let lasting = ids(&lasting(&events));
    assert_eq!(ids(&rest), lasting[lasting.len() - rest.len()..]);
    // What no stream told is nothing to go on behind.
    let path = format!(
        "/agents/sessions/{session}/events?after=evt_{}",
        "a".repeat(26)
    );
    let (status, error) = refusal(api.request("GET", &path)).await;
    assert_eq!((status, error["param"].as_str()), (400, Some("after")));
}

#[tokio::test]
async fn a_message_begins_while_the_reasoning_before_it_is_not_recorded() {
    let api = Api::new();
    let input = "@reason why\n@slow 60 one two three four five six seven eight";
    let mut stream = api.create(&session_of("none", input)).await;
    let events = stream.all().await;
    let seen = kinds(&events)
        .join(" ")
        .replace("agent.session.turn.", "")
        .replace("reasoning_summary_", "");
    let live = "item.added part.added text.delta text.done part.done item.added content_part.added output_text.delta";
    assert!(seen.contains(live), "{seen}");
    let end = "output_text.done content_part.done item.done completed";
    assert!(seen.contains(end), "{seen}");
}

#[tokio::test]
async fn padding_can_be_left_out() {
    let api = Api::new();
    let mut body = session_of("none", "@say hi");
    body["stream_options"] = json!({"include_obfuscation": false});
    let events = api.create(&body).await.all().await;
    let is_bare = |event: &Value| event.get("obfuscation").is_none();
    assert!(events.iter().all(is_bare));
    let session = events[0]["session"]["id"].as_str().expect("an id");
    let first = events[0]["event_id"].as_str().expect("an id");
    for (given, bare) in [
        ("", false),
        ("&include_obfuscation=true", false),
        ("&include_obfuscation=false", true),
    ] {
        let rest = format!("?after={first}{given}");
        let told = api
            .stream(session, &rest)
            .await
            .until("agent.session.idle")
            .await;
        assert!(told.iter().all(|event| is_bare(event) == bare), "{given}");
    }
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_lives_and_ends_with_its_key() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let mut lasting = api.stream(&session, "").await;
    let lent = api.env.json("keys create --name lent");
    let (id, key) = (
        lent["id"].as_str().expect("an id"),
        lent["key"].as_str().expect("a key"),
    );
    let path = format!("/agents/sessions/{session}/events");
    let opened = api.with_key(key, "GET", &path).send().await;
    let mut stream = Events::from_response(opened.expect("answers"));
    api.env.ok(&format!("keys revoke {id} --yes"));
    assert_eq!(stream.next().await, None);
    while lasting.comments == 0 {
        assert!(lasting.is_silent().await, "nothing else is told");
    }
    api.send(&session, "@say on").await;
    lasting.until("agent.session.idle").await;
}

#[tokio::test]
async fn a_daemon_that_stops_ends_its_streams_in_order() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let mut stream = api.stream(&session, "").await;
    api.env.ok("daemon stop");
    assert_eq!(stream.next().await, None);
    assert!(api.bare("GET", "/agents").send().await.is_err());
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_in_nobodys_way() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let idle = api.stream(&session, "").await;
    for n in 0..3 {
        let mut stream = api.stream(&session, "").await;
        api.send(&session, &format!("@say {}", "x".repeat(900 << 10)))
            .await;
        let told = tokio::time::timeout(PATIENCE, stream.until("agent.session.idle"));
        told.await
            .unwrap_or_else(|_| panic!("turn {n} is not told"));
    }
    drop(idle);
    tokio::time::timeout(Duration::from_secs(20), api.get("/agents"))
        .await
        .expect("answers");
}
