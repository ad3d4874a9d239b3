//! Streams that break and servers that are started again: nothing is missing, nothing is there twice, and it is said what was done.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::far::{KEY, client};
use super::scripted::{
    Answer, SESSION, Scripted, block, good, list, message, refused, session, turn,
};
use crate::server::world::Api;

/// A way to a server that ends every stream of events after so many bytes, again and again.
struct Cutting {
    base: String,
    cuts: Arc<AtomicUsize>,
}

impl Cutting {
    fn begin(api: &Api, after_bytes: usize) -> Cutting {
        let to = api.base.trim_start_matches("http://");
        let to = to.trim_end_matches("/v1").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").expect("is free");
        let base = format!("http://{}/v1", listener.local_addr().expect("is bound"));
        let cuts: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&cuts);
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let (to, cuts) = (to.clone(), Arc::clone(&counted));
                std::thread::spawn(move || pass_on(near, &to, after_bytes, &cuts));
            }
        });
        Cutting { base, cuts }
    }
}

/// Passes a connection on, both ways; a stream of events only so far.
fn pass_on(mut near: TcpStream, to: &str, after_bytes: usize, cuts: &AtomicUsize) -> Option<()> {
    let mut far = TcpStream::connect(to).ok()?;
    let mut first = [0; 4096];
    let length = near.read(&mut first).ok()?;
    // One request a connection: the next one may be another kind.
    let head = String::from_utf8_lossy(&first[..length]).into_owned();
    far.write_all(
        head.replacen("\r\n", "\r\nconnection: close\r\n", 1)
            .as_bytes(),
    )
    .ok()?;
    let line = head.lines().next().unwrap_or_default().to_owned();
    let is_stream =
        line.starts_with("GET") && line.contains("/events") && !line.contains("follow=");
    let (mut near_reads, mut far_writes) = (near.try_clone().ok()?, far.try_clone().ok()?);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut near_reads, &mut far_writes);
        let _ = far_writes.shutdown(Shutdown::Write);
    });
    if !is_stream {
        let _ = std::io::copy(&mut far, &mut near);
    } else {
        let _ = std::io::copy(&mut (&mut far).take(after_bytes as u64), &mut near);
        cuts.fetch_add(1, Ordering::SeqCst);
    }
    let _ = near.shutdown(Shutdown::Both);
    let _ = far.shutdown(Shutdown::Both);
    Some(())
}

const WORK: &str = "'@reason hm\n@slow 60 one two three four five six\n@exec echo out; sleep 0.3; echo more\n@slow 60 and the end of it'";

#[test]
fn events_that_are_followed_through_broken_connections_come_once_and_in_order() {
    let api = Api::new();
    let cutting = Cutting::begin(&api, 4_000);
    let far = client(&cutting.base, &api.key);
    let create = format!("sessions create --model demo --no-wait --input {WORK} -o id");
    let session = far.ok(&create);
    let ran = far.run(&format!("sessions events {session} --follow -o id"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(cutting.cuts.load(Ordering::SeqCst) > 1, "{ran:#?}");
    assert!(
        ran.stderr
            .contains("connected again, behind the last event"),
        "{ran:#?}"
    );
    let kept = api
        .env
        .ok(&format!("sessions events {session} --all -o id"));
    let kept: Vec<&str> = kept.lines().collect();
    let told: Vec<&str> = ran.stdout.lines().filter(|id| kept.contains(id)).collect();
    assert_eq!(told, kept);
}

#[test]
fn a_transcript_that_is_followed_through_broken_connections_is_whole() {
    let api = Api::new();
    let cutting = Cutting::begin(&api, 1_500);
    let far = client(&cutting.base, &api.key);
    let create = format!("sessions create --model demo --input {WORK} --wait -o table");
    let ran = far.run(&create);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(cutting.cuts.load(Ordering::SeqCst) > 0, "{ran:#?}");
    assert!(ran.stderr.contains("nothing is missing"), "{ran:#?}");
    let session = api.env.ok("sessions list -o id");
    let whole = api
        .env
        .ok(&format!("sessions items {session} --follow -o table"));
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("turn "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(lines(&ran.stdout), lines(&whole));
}

#[test]
fn a_server_that_is_started_again_meanwhile_is_waited_for() {
    let api = Api::new();
    let far = client(&api.base, &api.key);
    let input = "'@slow 250 one two three four five six seven eight nine ten'";
    let create =
        format!("sessions create --model demo --environment none --no-wait --input {input} -o id");
    let session = far.ok(&create);
    let follow = |words: &[&str]| {
        far.command(words)
            .stdin(Stdio::null())
            .spawn()
            .expect("starts")
    };
    let waits = follow(&["sessions", "wait", &session, "-o", "table"]);
    let events = follow(&["sessions", "events", &session, "--follow", "-o", "id"]);
    far.until("the turn runs", || {
        far.ok(&format!("sessions turns {session} -o tsv"))
            .contains("in_progress")
    });
    api.env.ok("daemon stop");
    let address = api
        .base
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let mut again = api
        .env
        .command(["daemon", "run", "--listen", address])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let waited = far.finish("wait", waits);
    assert_eq!(waited.code, 0, "{waited:#?}");
    assert!(waited.stdout.contains("turn      completed"), "{waited:#?}");
    let followed = far.finish("events", events);
    assert_eq!(followed.code, 0, "{followed:#?}");
    let kept = far.ok(&format!("sessions events {session} --all -o id"));
    let kept: Vec<&str> = kept.lines().collect();
    let told: Vec<&str> = followed
        .stdout
        .lines()
        .filter(|id| kept.contains(id))
        .collect();
    assert_eq!(told, kept);
    api.env.ok("daemon stop");
    again.wait().expect("ends");
}

#[test]
fn ctrl_c_leaves_and_the_work_far_away_goes_on() {
    let api = Api::new();
    let far = client(&api.base, &api.key);
    let create = "sessions create --model demo --environment none --no-wait --input '@slow 300 one two three four five six' -o id";
    let session = far.ok(create);
    let child = far
        .command(["sessions", "wait", &session])
        .spawn()
        .expect("starts");
    far.until("the turn runs", || {
        far.ok(&format!("sessions turns {session} -o tsv"))
            .contains("in_progress")
    });
    // It listens for Ctrl-C from before its first look at the Session on.
    let pid = rustix::process::Pid::from_child(&child);
    let caught = format!("/proc/{}/status", child.id());
    far.until("it listens", || {
        let status = std::fs::read_to_string(&caught).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        line.is_some_and(|mask| {
            u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 2 != 0)
        })
    });
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("is there");
    let ran = far.finish("sessions wait", child);
    assert_eq!(ran.code, 130, "{ran:#?}");
    assert_eq!(
        far.json(&format!("sessions wait {session}"))["status"],
        "idle"
    );
}

/// An event of a stream whose server keeps none.
fn event(kind: &str, id: &str, more: Value) -> String {
    let mut event = json!({"type": kind, "event_id": id, "session_id": SESSION});
    for (name, value) in more.as_object().expect("fields") {
        event[name] = value.clone();
    }
    block(&event)
}

#[test]
fn without_replay_what_was_missed_is_told_from_turns_and_items() {
    let streams = AtomicUsize::new(0);
    let item = |n: u32| message(&format!("msg_{n}"), "turn_1", &format!("text {n}"));
    let server = Scripted::begin(move |asked, _| {
        let opened = streams.load(Ordering::SeqCst);
        let over = opened > 1;
        let status = if over { "idle" } else { "in_progress" };
        match asked.route().rsplit('/').next().unwrap_or_default() {
            "events" => {
                streams.fetch_add(1, Ordering::SeqCst);
                let done = |n: u32| {
                    let more = json!({"turn_id": "turn_1", "output_index": n - 1, "item": item(n)});
                    event("agent.session.turn.item.done", &format!("evt_{n}"), more)
                };
                // The first is cut behind one Item; two more and the Turn's end happen while nobody listens.
                match opened {
                    0 => Answer::Stream(vec![done(1)], false),
                    _ => Answer::Stream(Vec::new(), true),
                }
            }
            SESSION => good(&session(status)),
            "turns" => {
                let status = if over { "completed" } else { "in_progress" };
                good(&list(&[turn("turn_1", status)]))
            }
            "items" => {
                let behind = ["after=msg_2", "after=msg_1"];
                let skip = behind.iter().position(|after| asked.path.contains(after));
                let skip = skip.map_or(0, |at| 2 - at);
                let all = if over {
                    vec![item(1), item(2), item(3)]
                } else {
                    Vec::new()
                };
                good(&list(all.get(skip..).unwrap_or_default()))
            }
            other => refused(404, other, None),
        }
    });
    let far = client(&server.base, KEY);
    let ran = far.run(&format!("sessions events {SESSION} --follow -o jsonl"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    let told: Vec<(String, String)> = ran
        .stdout
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).expect("an event");
            let about = event["item"]["id"].as_str().or(event["turn_id"].as_str());
            let about = about.or(event["session"]["status"].as_str());
            (
                event["type"].as_str().unwrap_or_default().to_owned(),
                about.unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let expected = [
        ("agent.session.turn.item.done", "msg_1"),
        ("agent.session.turn.item.done", "msg_2"),
        ("agent.session.turn.item.done", "msg_3"),
        ("agent.session.turn.completed", "turn_1"),
        ("agent.session.idle", "idle"),
    ];
    let expected = expected.map(|(kind, about)| (kind.to_owned(), about.to_owned()));
    assert_eq!(told, expected, "{ran:#?}");
    assert!(
        ran.stderr
            .contains("what was missed is told from turns and items"),
        "{ran:#?}"
    );
}
