//! Streams that are cut: behind every event of a long Turn, across a restart, beside a worker that is lost, and under a cancel.

use std::collections::BTreeMap;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use rat_things::server::Limits;

use super::order::Order;
use super::raw::Served;
use super::world::{Api, Events, ids, kinds, lasting, line, message, session_of};
use crate::cli::env::end;

const DELTA: &str = "agent.session.turn.output_text.delta";

/// The id of a Session, by the first event of the stream that its creation answered with.
async fn created(stream: &mut Events) -> String {
    let created = stream.next().await.expect("it is created");
    let id = created["session"]["id"].as_str().expect("an id");
    id.to_owned()
}

/// Up to the first event of this kind, and that event.
async fn first(stream: &mut Events, kind: &str) -> (Vec<Value>, Value) {
    let events = stream.until(kind).await;
    let last = events.last().expect("it came").clone();
    (events, last)
}

fn id(event: &Value) -> &str {
    event["event_id"].as_str().expect("an id")
}

/// A stream by the header that browsers continue with.
async fn by_header(api: &Api, session: &str, id: &str) -> Events {
    let path = format!("/agents/sessions/{session}/events");
    let request = api.request("GET", &path).header("last-event-id", id);
    Events::from_response(request.send().await.expect("answers"))
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_cut_at_any_of_a_thousand_events_the_rest_comes_once_and_in_order() {
    let mut api = Api::new();
    let lines: Vec<String> = (0..100)
        .map(|n| format!("@reason why {n}\n@say because {n}"))
        .collect();
    let body = session_of("none", &lines.join("\n"));
    let mut stream = api.create(&body).await;
    let session = created(&mut stream).await;
    let told = lasting(&stream.all().await);
    assert!(told.len() > 1_000, "{}", told.len());
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let listed = &listed["data"].as_array().expect("a list")[1..];
    let lines: Vec<String> = told.iter().map(line).collect();
    let mut again: Vec<String> = listed.iter().map(line).collect();
    assert_eq!(sorted(&lines), sorted(&again));
    // A key of the daemon may not ask so often.
    let served = Served::begin(&api, Limits::default()).await;
    api.base = format!("http://{}/v1", served.address);
    again.clear();
    for (at, cut) in listed.iter().enumerate() {
        let mut stream = match at % 3 {
            0 => by_header(&api, &session, id(cut)).await,
            _ => api.stream(&session, &format!("?after={}", id(cut))).await,
        };
        let until = match at % 197 {
            0 => listed.len(),
            _ => at + 2,
        };
        for expected in listed.iter().take(until).skip(at + 1) {
            let event = stream.next().await.expect("goes on");
            assert_eq!(id(&event), id(expected), "behind event {at}");
        }
    }
    // The same behind what was told live, where beginnings may come earlier and have other ids.
    let mut left: Vec<&Value> = listed.iter().collect();
    for (at, cut) in told.iter().enumerate().take(told.len() - 1) {
        left.retain(|event| line(event) != line(cut));
        if at % 10 >= 3 {
            continue;
        }
        let mut stream = api.stream(&session, &format!("?after={}", id(cut))).await;
        let event = stream.next().await.expect("goes on");
        assert_eq!(line(&event), line(left[0]), "behind {cut}");
    }
}

fn sorted(lines: &[String]) -> Vec<String> {
    let mut lines = lines.to_vec();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_text_that_is_being_written_is_not_begun_again_behind_what_came_between() {
    let api = Api::new();
    let text = "one two three four five six seven eight nine ten eleven twelve";
    let mut stream = api
        .create(&session_of("none", &format!("@slow 400 {text}")))
        .await;
    let session = created(&mut stream).await;
    first(&mut stream, DELTA).await;
    let mut next = message("@say next");
    next["events"][0]["delivery"] = "next_turn".into();
    let path = format!("/agents/sessions/{session}/events");
    let sent = api.request("POST", &path).json(&next).send().await;
    assert_eq!(sent.expect("answers").status(), 202);
    let (_, between) = first(&mut stream, "agent.session.turn.created").await;
    let mut rest = api
        .stream(&session, &format!("?after={}", id(&between)))
        .await;
    let rest = rest.until("agent.session.idle").await;
    let seen = kinds(&rest)[..3].join(" ").replace("agent.session.", "");
    assert_eq!(
        seen,
        "turn.output_text.done turn.content_part.done turn.item.done"
    );
    // The stream that was not cut goes on the same way.
    let uncut = lasting(&stream.all().await);
    assert_eq!(ids(&uncut), ids(&rest)[..uncut.len()]);
}

#[tokio::test]
async fn across_restarts_of_the_daemon_every_event_comes_once() {
    let mut api = Api::new();
    let says: Vec<String> = (0..8).map(|n| format!("@slow 40 part {n} of it")).collect();
    let body = session_of("none", &says.join("\n"));
    let mut stream = api.create(&body).await;
    let created = stream.next().await.expect("it is created");
    let session = created["session"]["id"].as_str().expect("an id").to_owned();
    let mut told = vec![created];
    for cut_behind in ["item.added", "content_part.added", "item.done"] {
        let kind = format!("agent.session.turn.{cut_behind}");
        // The user's own comes first.
        told.extend(stream.until("agent.session.turn.item.added").await);
        told.extend(stream.until(&kind).await);
        drop(stream);
        api.restart();
        let last = told.last().map(id).expect("there is one").to_owned();
        stream = api
            .stream(&session, &format!("?after={last}"))
            .await
            .with_losses();
    }
    told.extend(stream.until("agent.session.idle").await);
    let mut order = Order::with_losses();
    told.iter().for_each(|event| order.take(event));
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let listed = listed["data"].as_array().expect("a list");
    let lines = |events: &[Value]| events.iter().map(line).collect::<Vec<_>>();
    assert_eq!(sorted(&lines(&lasting(&told))), sorted(&lines(listed)));
}

#[tokio::test]
async fn a_text_whose_worker_is_killed_begins_once_and_is_told_whole_by_the_next_worker() {
    let api = Api::new();
    let text = "one two three four five six seven eight";
    let mut stream = api
        .create(&session_of("none", &format!("@slow 100 {text}")))
        .await
        .with_losses();
    let session = created(&mut stream).await;
    let (mut events, piece) = first(&mut stream, DELTA).await;
    let workers = api.env.processes();
    let workers = workers.iter().filter(|(_, line)| line.contains(" worker"));
    assert!(workers.clone().count() > 0, "{:?}", api.env.processes());
    workers.for_each(|(pid, _)| end(*pid));
    events.extend(stream.all().await);
    let item = piece["item_id"].as_str().expect("an id");
    let count = |kind: &str| {
        let of_item = |event: &&Value| event["item"]["id"] == item || event["item_id"] == item;
        let of_kind = |event: &&Value| event["type"] == format!("agent.session.turn.{kind}");
        events.iter().filter(of_kind).filter(of_item).count()
    };
    let counts = [
        "item.added",
        "content_part.added",
        "output_text.done",
        "item.done",
    ]
    .map(count);
    assert_eq!(counts, [1, 1, 1, 1]);
    // Nothing of the second text was written behind the first one.
    let deltas = events.iter().filter(|event| event["type"] == DELTA);
    let deltas: String = deltas.filter_map(|event| event["delta"].as_str()).collect();
    assert!(text.starts_with(&deltas), "{deltas}");
    let items = api.get(&format!("/agents/sessions/{session}/items")).await;
    let whole = &items["data"][0]["content"][0]["text"];
    let done = events.iter().find(|event| event["text"].is_string());
    assert_eq!(done.expect("it is whole")["text"], *whole);
}

#[tokio::test]
async fn what_was_shown_and_cancelled_has_no_end_unless_it_is_kept() {
    let api = Api::new();
    let mut stream = api
        .create(&session_of(
            "none",
            "@say kept\n@slow 300 one two three four five",
        ))
        .await;
    let session = created(&mut stream).await;
    let (mut events, _) = first(&mut stream, DELTA).await;
    let cancel = json!({"events": [{"type": "agent.session.input.cancel"}]});
    let path = format!("/agents/sessions/{session}/events");
    let sent = api.request("POST", &path).json(&cancel).send().await;
    assert_eq!(sent.expect("answers").status(), 202);
    events.extend(stream.all().await);
    let ends: Vec<&str> = kinds(&events).into_iter().rev().take(2).collect();
    assert_eq!(ends, ["agent.session.idle", "agent.session.turn.cancelled"]);
    let items = api.get(&format!("/agents/sessions/{session}/items")).await;
    let kept: BTreeMap<&str, &Value> = items["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|item| (item["id"].as_str().expect("an id"), item))
        .filter(|(_, item)| item["role"] == "assistant")
        .collect();
    let done = events
        .iter()
        .filter(|event| event["type"] == "agent.session.turn.item.done");
    let done: BTreeMap<&str, &Value> = done
        .map(|event| (event["item"]["id"].as_str().expect("an id"), &event["item"]))
        .collect();
    assert_eq!(done, kept);
}

#[tokio::test]
async fn texts_of_any_size_are_told_whole() {
    let api = Api::new();
    for (size, unit) in [
        (399 << 10, "x"),
        (400 << 10, "é"),
        (401 << 10, "🦀"),
        (900 << 10, "\\\""),
    ] {
        let text = unit.repeat(size / unit.len());
        let mut stream = api
            .create(&session_of("none", &format!("@say {text}")))
            .await;
        let events = stream.all().await;
        let of = |kind: &str| {
            let kind = format!("agent.session.turn.{kind}");
            let found = events.iter().find(|event| event["type"] == kind);
            found.unwrap_or_else(|| panic!("no {kind}")).clone()
        };
        let item = &of("item.done")["item"]["content"][0]["text"];
        let told = [
            &of("output_text.done")["text"],
            &of("content_part.done")["part"]["text"],
            item,
        ];
        for whole in told {
            assert!(whole == text.as_str(), "{size} bytes of {unit}");
        }
    }
}

#[tokio::test]
async fn a_command_is_told_as_it_began_and_as_it_ended_and_its_output_between() {
    let api = Api::new();
    let input = "@exec echo one; sleep 0.3; echo two\n@say done";
    let mut stream = api.create(&session_of("openai_hosted", input)).await;
    let session = created(&mut stream).await;
    let events = stream.all().await;
    let listed = api.env.json(&format!("sessions events {session} --all"));
    let listed = listed["data"].as_array().expect("a list");
    for events in [&events, listed] {
        let of = |kind: &str| {
            let of_command = |event: &&Value| event["item"]["type"] == "command_execution";
            let mut found = events.iter().filter(|event| event["type"] == kind);
            found.find(of_command).expect("it is told")["item"].clone()
        };
        let begun = of("agent.session.turn.item.added");
        assert_eq!(begun["status"], "in_progress");
        assert!(
            begun["output"].is_null() && begun["exit_code"].is_null(),
            "{begun}"
        );
        let ended = of("agent.session.turn.item.done");
        assert_eq!(
            (&ended["status"], &ended["output"]),
            (&json!("completed"), &json!("one\ntwo\n"))
        );
    }
    let kind = "agent.output.command_execution_output.delta";
    let output: String = events
        .iter()
        .filter(|event| event["type"] == kind)
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert!(
        "one\ntwo\n".starts_with(&output) && !output.is_empty(),
        "{output:?}"
    );
}
