//! Clients that mean no good, or know no better, against a real daemon: each is refused or let go, the daemon's memory stays
//! where it was, and the next request is answered.

use std::net::SocketAddr;
use std::time::Duration;

use rat_things::engine::ids::SessionId;
use rat_things::engine::ports::{LivePart, LiveText};
use serde_json::json;
use tokio::task::JoinSet;

use super::raw::{Raw, head};
use super::world::{Api, session_of};
use crate::cli::env::PATIENCE;

/// A daemon may grow by so much under any of this: less than what one of these clients would like it to hold.
const GROWTH_KIB: u64 = 96 << 10;

/// A daemon under attack.
struct Victim {
    api: Api,
    address: SocketAddr,
    before_kib: u64,
}

impl Victim {
    async fn new() -> Victim {
        let api = Api::new();
        let address = api
            .base
            .trim_start_matches("http://")
            .trim_end_matches("/v1");
        let address = address.parse().expect("an address");
        // What a first request needs is no growth.
        api.get("/agents").await;
        let before_kib = resident_kib(api.pid());
        Victim {
            api,
            address,
            before_kib,
        }
    }

    async fn connect(&self) -> Raw {
        Raw::to(self.address).await
    }

    fn head(&self, method: &str, path: &str, fields: &str) -> String {
        head(&self.api.key, method, path, fields)
    }

    /// The answers to these bytes, up to the end of the connection.
    async fn answer(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut raw = self.connect().await;
        raw.send(bytes).await;
        raw.rest().await
    }

    /// It answers, and has not grown.
    async fn is_well(&self) {
        let answered = tokio::time::timeout(PATIENCE, self.api.get("/agents")).await;
        answered.expect("it answers");
        let now_kib = resident_kib(self.api.pid());
        let growth_kib = now_kib.saturating_sub(self.before_kib);
        assert!(
            growth_kib < GROWTH_KIB,
            "it grew by {growth_kib} KiB to {now_kib}"
        );
    }
}

fn resident_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let size = line.and_then(|line| line.split_whitespace().next());
    size.and_then(|size| size.parse().ok()).expect("a size")
}

fn sockets(pid: u32) -> usize {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    let is_socket = |target: &std::path::PathBuf| target.to_string_lossy().starts_with("socket:");
    targets.filter(is_socket).count()
}

fn statuses(answers: &str) -> Vec<&str> {
    // One begins where the body of the one before ends, on the same line.
    let answers = answers.split("HTTP/1.1 ").skip(1);
    answers.filter_map(|answer| answer.get(..3)).collect()
}

#[tokio::test]
async fn connections_that_say_nothing_or_half_of_it_are_in_nobodys_way() {
    let victim = Victim::new().await;
    let mut held = Vec::new();
    for begin in [
        "",
        "GET /v1/agents HTTP/1.1\r\nhost: loc",
        "POST /v1/agents HTTP/1.1\r\n",
    ] {
        for _ in 0..200 {
            let mut raw = victim.connect().await;
            raw.send(begin).await;
            held.push(raw);
        }
    }
    victim.is_well().await;
    // Requests whose bodies never come.
    let promised = victim.head("POST", "/agents", "content-length: 1000\r\n");
    for _ in 0..100 {
        let mut raw = victim.connect().await;
        raw.send(&promised).await;
        held.push(raw);
    }
    victim.is_well().await;
    drop(held);
    victim.is_well().await;
}

#[tokio::test]
async fn ten_thousand_connections_that_come_and_go_leave_nothing_behind() {
    let victim = Victim::new().await;
    let before = sockets(victim.api.pid());
    let mut clients = JoinSet::new();
    for n in 0..20 {
        let address = victim.address;
        clients.spawn(async move {
            for m in 0..500 {
                let mut raw = Raw::to(address).await;
                if (n + m) % 3 == 0 {
                    raw.send("GET /healthz HTTP/1.1\r\n").await;
                }
            }
        });
    }
    while let Some(done) = clients.join_next().await {
        done.expect("no client fails");
    }
    victim.is_well().await;
    victim.api.env.until("all are let go", || {
        // The one or two of this test's own client may be open.
        sockets(victim.api.pid()) <= before + 2
    });
}

#[tokio::test]
async fn a_body_of_a_gigabyte_is_refused_and_never_held() {
    let victim = Victim::new().await;
    let declared = victim.head("POST", "/agents", "content-length: 1073741824\r\n");
    let answer = victim.answer(&declared).await;
    assert_eq!(statuses(&answer), ["413"], "{answer}");
    let mut raw = victim.connect().await;
    let fields = "transfer-encoding: chunked\r\n";
    raw.send(victim.head("POST", "/agents", fields)).await;
    let chunk = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let mut sent = 0;
    while sent < 1024 && raw.send(&chunk).await {
        sent += 1;
    }
    assert!(sent < 64, "{sent} MiB were taken");
    victim.is_well().await;
}

#[tokio::test]
async fn heads_that_are_too_long_are_refused() {
    let victim = Victim::new().await;
    let long = format!("x-long: {}\r\n", "a".repeat(100 << 10));
    let many: String = (0..10_000).map(|n| format!("x-{n}: a\r\n")).collect();
    let some = "x-a: b\r\n".repeat(150);
    for fields in [long, many, some] {
        let answer = victim.answer(victim.head("GET", "/agents", &fields)).await;
        assert_eq!(statuses(&answer), ["431"], "{answer}");
    }
    let path = format!("/agents?after={}", "a".repeat(100 << 10));
    let answer = victim.answer(victim.head("GET", &path, "")).await;
    assert!(["414", "431"].contains(&statuses(&answer)[0]), "{answer}");
    let names: Vec<String> = (0..8_000).map(|n| format!("{n}=a")).collect();
    let path = format!("/agents?{}", names.join("&"));
    let answer = victim.head("GET", &path, "connection: close\r\n");
    assert_eq!(statuses(&victim.answer(answer).await), ["400"]);
    victim.is_well().await;
}

#[tokio::test]
async fn bytes_that_are_no_text_are_refused_wherever_they_stand() {
    let victim = Victim::new().await;
    let close = "connection: close\r\n";
    let whole = |method: &str, path: &str, fields: &str, body: &[u8]| {
        let fields = format!("{close}{fields}content-length: {}\r\n", body.len());
        let mut request = victim.head(method, path, &fields).into_bytes();
        // Written as `~` above, because a head is text here.
        for byte in &mut request {
            *byte = if *byte == b'~' { 0xff } else { *byte };
        }
        request.extend_from_slice(body);
        request
    };
    for (request, status) in [
        (whole("GET", "/agents/%ff", "", b""), "404"),
        (whole("GET", "/agents/~", "", b""), "400"),
        (whole("GET", "/agents?after=%ff", "", b""), "400"),
        (whole("GET", "/agents?%ff=a", "", b""), "400"),
        (whole("GET", "/agents?after=~", "", b""), "400"),
        (whole("GET", "/agents", "openai-beta: ~\r\n", b""), "200"),
        (whole("GET", "/agents", "~: a\r\n", b""), "400"),
        (
            whole("POST", "/agents/sessions", "idempotency-key: ~\r\n", b"{}"),
            "400",
        ),
        (
            whole("POST", "/agents", "", b"{\"model\": \"\xff\"}"),
            "400",
        ),
        (
            whole("POST", "/agents", "", b"{\"model\": \"\\ud800\"}"),
            "400",
        ),
        (whole("POST", "/agents", "", b"\x00\x01"), "400"),
    ] {
        let answer = victim.answer(&request).await;
        let shown = String::from_utf8_lossy(&request);
        assert_eq!(statuses(&answer), [status], "{shown}: {answer}");
    }
    let mut no_key =
        b"GET /v1/agents HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n".to_vec();
    no_key.extend_from_slice(b"authorization: Bearer \xff\xfe\r\n\r\n");
    assert_eq!(statuses(&victim.answer(no_key).await), ["401"]);
    victim.is_well().await;
}

#[tokio::test]
async fn json_of_any_depth_is_read_or_refused() {
    let victim = Victim::new().await;
    let deep = |open: &str, close: &str| {
        let (open, close) = (open.repeat(100_000), close.repeat(100_000));
        format!("{{\"model\": \"demo\", \"metadata\": {open}1{close}}}")
    };
    for body in [deep("[", "]"), deep("{\"a\":", "}"), "[".repeat(1 << 20)] {
        let sent = victim
            .api
            .request("POST", "/agents")
            .body(body)
            .send()
            .await;
        assert_eq!(sent.expect("answers").status(), 400);
    }
    victim.is_well().await;
}

#[tokio::test]
async fn requests_in_one_piece_are_answered_in_their_order() {
    let victim = Victim::new().await;
    let first = victim.head("GET", "/agents/agent_x", "");
    let second = victim.head("GET", "/agents", "");
    let last = victim.head("GET", "/nothing", "connection: close\r\n");
    let answers = victim.answer(format!("{first}{second}{last}")).await;
    assert_eq!(statuses(&answers), ["404", "200", "404"], "{answers}");
    victim.is_well().await;
}

#[tokio::test]
async fn no_second_request_is_smuggled_in_the_body_of_a_first() {
    let victim = Victim::new().await;
    let hidden = victim.head("DELETE", "/agents/agent_x", "");
    let length = hidden.len();
    let post = |fields: &str, body: &str| {
        let head = victim.head("POST", "/agents", fields);
        format!("{head}{body}")
    };
    for (request, what) in [
        (
            post(
                &format!("content-length: {length}\r\ncontent-length: 0\r\n"),
                &hidden,
            ),
            "two lengths",
        ),
        (
            post(&format!("content-length: {length}, 0\r\n"), &hidden),
            "two lengths in one",
        ),
        (post("content-length: -1\r\n", &hidden), "a negative length"),
        (
            post("content-length: +4\r\n", &hidden),
            "a length with a sign",
        ),
        (
            post("content-length : 4\r\n", &hidden),
            "a space before the colon",
        ),
        (
            post("transfer-encoding: identity\r\n", &hidden),
            "an encoding that is none",
        ),
        (
            post("transfer-encoding: chunked, identity\r\n", &hidden),
            "chunked, and then something",
        ),
        (
            post(
                "transfer-encoding: chunked\r\n",
                &format!("ffffffffffffffffff\r\n{hidden}"),
            ),
            "a size that is too large",
        ),
        (
            post("transfer-encoding: chunked\r\n", &format!("-1\r\n{hidden}")),
            "a size with a sign",
        ),
        (
            post(
                &format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
                &format!("0\r\n\r\n{hidden}"),
            ),
            "a length and chunks",
        ),
        (
            post(
                "transfer-encoding: chunked\r\ncontent-length: 4\r\n",
                &format!("0\r\n\r\n{hidden}"),
            ),
            "chunks and a length",
        ),
    ] {
        let answers = victim.answer(request).await;
        // Whatever is answered, it is one refusal, and the connection is over.
        let seen = statuses(&answers);
        assert!(seen.len() <= 1, "{what}: {answers}");
        assert!(
            seen.iter().all(|status| *status == "400"),
            "{what}: {answers}"
        );
    }
    victim.is_well().await;
}

#[tokio::test]
async fn a_stream_that_nobody_reads_holds_no_text_back_and_nobody_up() {
    let victim = Victim::new().await;
    let api = &victim.api;
    let body = session_of("none", "@sleep 600000");
    let created = api.post("/agents/sessions", &body).await;
    let session = created["id"].as_str().expect("an id").to_owned();
    let core = api.core();
    let id = SessionId::parse(&session).expect("an id");
    let local = api.env.json("daemon status");
    assert!(local["listen"].is_string());
    let path = format!("/agents/sessions/{session}/events");
    let mut deaf = Raw::narrow(victim.address).await;
    assert!(deaf.send(victim.head("GET", &path, "")).await);
    deaf.until("\r\n\r\n").await;
    let mut reader = api.stream(&session, "").await;
    let owner = core.bearer(&api.key).await.expect("readable");
    let owner = owner.expect("a key").owner;
    let running = async {
        loop {
            let read = core.read_session(&owner, &id).await.expect("readable");
            let turn = read.head.turn.as_ref();
            // The agent has its message: its next Item is the one that is written.
            if turn.is_some() && read.head.pending.is_empty() && read.head.fence.lease.is_some() {
                return read;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let read = tokio::time::timeout(PATIENCE, running)
        .await
        .expect("a worker has it");
    let mut text = LiveText {
        session: session.clone(),
        generation: read.head.fence.generation,
        turn: 1,
        item: read.head.next.item,
        output_index: 0,
        part: LivePart::Message,
        attempt: 0,
        offset_bytes: 0,
        text: "word ".repeat(20),
    };
    for n in 0..100_000 {
        core.bell.tell(&text);
        text.offset_bytes = text.end_bytes();
        if n % 1_000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    victim.is_well().await;
    let cancel = json!({"events": [{"type": "agent.session.input.cancel"}]});
    let sent = api.request("POST", &path).json(&cancel).send().await;
    assert_eq!(sent.expect("answers").status(), 202);
    reader.until("agent.session.idle").await;
    victim.is_well().await;
}
