//! What stands between an agent and its provider, over real sockets: with the real Codex, with clients and providers that are broken in
//! every way, and with harnesses that say no.

use std::path::Path;
use std::sync::Once;

use pretty_assertions::assert_eq;
use rat_things::api::Secret;
use rat_things::backend::harness::codex::proxy::{Admission, Budget, FromProxy, ModelProxy};
use rat_things::backend::key::KeySource;
use rat_things::backend::model::http::HttpOptions;
use rat_things::engine::ports::{Fenced, ModelUsage};
use reqwest::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::exec::Home;
use super::stub::{Answer, Gate, Stub};

const REAL_KEY: &str = "planted-real-key-0123456789";

const MANY: Budget = Budget { model_calls: 100 };

async fn proxy_with(stub: &Stub, idle_timeout_ms: u64) -> ModelProxy {
    let key = KeySource::Given(Secret::new(REAL_KEY));
    let provider = HttpOptions {
        idle_timeout_ms,
        ..HttpOptions::new(&stub.base_url, key)
    };
    ModelProxy::start(provider)
        .await
        .expect("there is a port on loopback")
}

async fn proxy(stub: &Stub) -> ModelProxy {
    proxy_with(stub, 60_000).await
}

/// A client that checks nothing and repeats nothing.
fn client() -> Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder()
        .tls_certs_only([])
        .no_proxy()
        .retry(reqwest::retry::never())
        .build()
        .expect("it needs no certificates")
}

async fn ask(proxy: &ModelProxy, token: &str, body: &Value) -> reqwest::Response {
    client()
        .post(format!("{}/responses", proxy.base_url()))
        .bearer_auth(token)
        .header("thread-id", "thread-1")
        .json(body)
        .send()
        .await
        .expect("it answers")
}

fn nothing() -> Value {
    json!({"model": "m", "input": []})
}

/// What a harness was told, in order, with every call allowed.
struct Witness(tokio::task::JoinHandle<Vec<Told>>);

#[derive(Debug, PartialEq)]
enum Told {
    Asked(Option<String>, usize),
    Message(Value),
    Call(Value),
    Reasoning(Value),
    Usage(ModelUsage),
    Failed(String),
}

impl Witness {
    fn new(mut from: mpsc::Receiver<FromProxy>) -> Witness {
        Witness(tokio::spawn(async move {
            let mut all = Vec::new();
            while let Some(what) = from.recv().await {
                all.push(match what {
                    FromProxy::Asked {
                        thread,
                        news: outputs,
                        go,
                        ..
                    } => {
                        go.send(Ok(())).expect("it waits");
                        Told::Asked(thread, outputs.len())
                    }
                    FromProxy::Call { item, go, .. } => {
                        go.send(Ok(())).expect("it waits");
                        Told::Call(item["call_id"].clone())
                    }
                    FromProxy::Message { item, .. } => {
                        Told::Message(item["content"][0]["text"].clone())
                    }
                    FromProxy::Kept { item, .. } => {
                        Told::Reasoning(item["encrypted_content"].clone())
                    }
                    FromProxy::Usage { usage, .. } => Told::Usage(usage),
                    FromProxy::Failed { error, .. } => Told::Failed(error.code),
                });
            }
            all
        }))
    }

    /// All of it, when its run is over.
    async fn all(self, admission: Admission) -> Vec<Told> {
        drop(admission);
        self.0.await.expect("it only listens")
    }

    /// All but what the model said.
    async fn all_but_words(self, admission: Admission) -> Vec<Told> {
        let mut all = self.all(admission).await;
        all.retain(|told| !matches!(told, Told::Message(_)));
        all
    }
}

fn usage([input, cached_input, output, reasoning]: [u64; 4]) -> Told {
    Told::Usage(ModelUsage {
        input,
        cached_input,
        output,
        reasoning,
    })
}

fn asked(outputs: usize) -> Told {
    Told::Asked(Some("thread-1".to_owned()), outputs)
}

#[tokio::test]
async fn the_real_codex_works_with_a_token_and_never_meets_the_key() {
    let stub = Stub::script([
        Answer::new()
            .thinks("hm")
            .runs("call_1", "env; cat /proc/$PPID/environ")
            .costs([10, 2, 3, 1]),
        Answer::new().says("done").costs([20, 8, 5, 0]),
    ])
    .await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", MANY);
    let witness = Witness::new(from);
    let home = Home::showing(&proxy.base_url(), admission.token());
    let thread = home.exec("look around").await.completed();
    let told = witness.all(admission).await;
    let asked = |outputs| Told::Asked(Some(thread.clone()), outputs);
    assert_eq!(
        told,
        [
            asked(0),
            Told::Reasoning("sealed-rs_1_0".into()),
            Told::Call("call_1".into()),
            usage([10, 2, 3, 1]),
            asked(1),
            Told::Message("done".into()),
            usage([20, 8, 5, 0]),
        ]
    );
    let last = stub.asked(2).await;
    assert_eq!(last.headers["authorization"], format!("Bearer {REAL_KEY}"));
    assert!(!last.outputs_of("call_1").is_empty());
    assert!(!last.body.to_string().contains(REAL_KEY));
    assert_eq!(files_with(&home.path(), REAL_KEY.as_bytes()), 0);
}

/// How many files below here hold these bytes.
fn files_with(dir: &Path, bytes: &[u8]) -> usize {
    let entries = std::fs::read_dir(dir).expect("it is a directory");
    let in_entry = |path: &Path| match path.symlink_metadata() {
        Ok(found) if found.is_dir() => files_with(path, bytes),
        Ok(found) if found.is_file() => {
            let all = std::fs::read(path).expect("it is ours");
            usize::from(all.windows(bytes.len()).any(|window| window == bytes))
        }
        _ => 0,
    };
    entries
        .map(|entry| in_entry(&entry.expect("it is there").path()))
        .sum()
}

#[tokio::test]
async fn what_is_streamed_arrives_byte_for_byte() {
    let stream = "\u{FEFF}: hello\r\n\r\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"é€😀\"}\r\r\
        event: from.the.future\ndata: {\"x\":1}\ndata: \n\nid: 7\n\n\n\n\
        data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}}\n\ndata: [DONE]";
    for size in [1, 7, 4_096] {
        let stub = Stub::script([Answer::raw(stream.as_bytes().chunks(size))]).await;
        let proxy = proxy(&stub).await;
        let (admission, from) = proxy.admit("sess_1", MANY);
        let witness = Witness::new(from);
        let response = ask(&proxy, admission.token(), &nothing()).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.text().await.expect("it ends in order"), stream);
        let told = witness.all(admission).await;
        assert_eq!(told, [asked(0), usage([7, 0, 3, 0])]);
    }
}

#[tokio::test]
async fn a_call_is_held_back_until_it_is_recorded() {
    let stub = Stub::script([
        Answer::new().says("first").runs("call_1", "rm -rf all"),
        Answer::new().says("first").runs("call_1", "rm -rf all"),
        Answer::new().says("first").runs("call_1", "rm -rf all"),
    ])
    .await;
    let proxy = proxy(&stub).await;
    let (admission, mut from) = proxy.admit("sess_1", MANY);
    for verdict in [Some(Ok(())), Some(Err(Fenced)), None] {
        let nothing = nothing();
        let (mut response, ()) = tokio::join!(
            ask(&proxy, admission.token(), &nothing),
            allowed(&mut from, 0)
        );
        let said = from.recv().await;
        assert!(matches!(said, Some(FromProxy::Message { .. })), "{said:?}");
        let go = match from.recv().await.expect("it is told") {
            FromProxy::Call { item, go, thread } => {
                assert_eq!(thread.as_deref(), Some("thread-1"));
                assert!(item["arguments"].to_string().contains("rm -rf all"));
                go
            }
            other => panic!("{other:?}"),
        };
        // What came before the call is there by now; of the call there is its beginning alone, which nobody acts on.
        let mut seen = Vec::new();
        while !String::from_utf8_lossy(&seen).contains("response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":1") {
            let chunk = response.chunk().await.expect("it goes on");
            seen.extend_from_slice(&chunk.expect("it is not over"));
        }
        let told_so_far = String::from_utf8_lossy(&seen).into_owned();
        assert_eq!(told_so_far.matches("output_item.done\n").count(), 1);
        match verdict {
            Some(verdict) => go.send(verdict).expect("it waits"),
            None => drop(go),
        }
        let rest = response.text().await;
        match verdict {
            Some(Ok(())) => {
                assert!(rest.is_ok_and(|rest| rest.contains("output_item.done")));
                let usage = from.recv().await;
                assert!(matches!(usage, Some(FromProxy::Usage { .. })), "{usage:?}");
            }
            _ => assert!(rest.is_err(), "it is cut"),
        }
    }
}

/// Lets the next request pass, which tells so many ends of calls.
async fn allowed(from: &mut mpsc::Receiver<FromProxy>, ends: usize) {
    match from.recv().await.expect("it is told") {
        FromProxy::Asked {
            news: outputs, go, ..
        } => {
            assert_eq!(outputs.len(), ends);
            go.send(Ok(())).expect("it waits");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_request_is_held_back_until_it_may_pass() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let proxy = proxy(&stub).await;
    let (admission, mut from) = proxy.admit("sess_1", MANY);
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "out"});
    let asked = json!({"model": "m", "input": [output.clone()]});
    for verdict in [Some(Err(Fenced)), None, Some(Ok(()))] {
        let (response, ()) = tokio::join!(ask(&proxy, admission.token(), &asked), async {
            let Some(FromProxy::Asked {
                news: outputs, go, ..
            }) = from.recv().await
            else {
                panic!("it is told");
            };
            assert_eq!(outputs, std::slice::from_ref(&output));
            assert_eq!(stub.requests().len(), 0);
            match verdict {
                Some(verdict) => go.send(verdict).expect("it waits"),
                None => drop(go),
            }
        });
        let expect = if verdict == Some(Ok(())) { 200 } else { 403 };
        assert_eq!(response.status(), expect);
    }
    assert_eq!(stub.requests().len(), 1);
}

#[tokio::test]
async fn a_run_that_is_over_or_superseded_is_refused_and_its_streams_are_cut() {
    let gate = Gate::new();
    let stub = Stub::playing({
        let gate = gate.clone();
        move |_| Answer::new().says_in_halves("one", &gate, "two")
    })
    .await;
    let proxy = proxy(&stub).await;
    let (older, from_older) = proxy.admit("sess_1", MANY);
    let _witness = Witness::new(from_older);
    let held = ask(&proxy, older.token(), &nothing()).await;
    gate.reached().await;

    let (newer, from_newer) = proxy.admit("sess_1", MANY);
    let _newer_witness = Witness::new(from_newer);
    assert!(held.text().await.is_err(), "it is cut");
    stub.left(1).await;
    let refused = ask(&proxy, older.token(), &nothing()).await;
    assert_eq!(refused.status(), 403);
    let text = refused.text().await.expect("it says why");
    assert!(text.contains("a newer run owns this Session"), "{text}");

    let held = ask(&proxy, newer.token(), &nothing()).await;
    let token = newer.token().to_owned();
    drop(newer);
    assert!(held.text().await.is_err(), "it is cut");
    for token in [token.as_str(), "", "1.00", REAL_KEY] {
        assert_eq!(ask(&proxy, token, &nothing()).await.status(), 401);
    }
    // The refused ones did not reach the provider.
    assert_eq!(stub.requests().len(), 2);
}

#[tokio::test]
async fn a_harness_that_does_not_listen_any_more_stops_everything() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", MANY);
    drop(from);
    let refused = ask(&proxy, admission.token(), &nothing()).await;
    assert_eq!(refused.status(), 403);
}

#[tokio::test]
async fn a_spent_budget_refuses_the_next_call_and_says_so() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", Budget { model_calls: 2 });
    let witness = Witness::new(from);
    for status in [200, 200, 400, 400] {
        let response = ask(&proxy, admission.token(), &nothing()).await;
        assert_eq!(response.status(), status);
        let text = response.text().await.expect("it ends in order");
        assert_eq!(text.contains("usage_limit_exceeded"), status == 400);
    }
    assert_eq!(stub.requests().len(), 2);
    let told = witness.all_but_words(admission).await;
    let spent = Told::Failed("usage_limit_exceeded".to_owned());
    assert_eq!(told.iter().filter(|told| **told == spent).count(), 2);
}

#[tokio::test]
async fn every_way_in_which_a_provider_fails_is_told_and_never_shows_the_key() {
    let echo =
        format!("data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{REAL_KEY}\"}}\n\n");
    let quoting = format!("bad key {REAL_KEY}, sorry");
    let cases = [
        (Answer::fails(500, "server_error", "no luck"), "server_error", Some(503)),
        (Answer::fails(429, "rate_limit", "slow down"), "rate_limit_exceeded", Some(503)),
        (Answer::fails(401, "invalid_api_key", &quoting), "authentication_error", Some(400)),
        (Answer::whole(200, "text/html", "<p>hi</p>"), "invalid_request", Some(400)),
        (Answer::whole(200, "application/json", "{}"), "invalid_request", Some(400)),
        (Answer::whole(302, "text/plain", ""), "invalid_request", Some(400)),
        (Answer::new().breaks("server_error", &quoting), "server_error", None),
        (Answer::new().says("half").cut(), "connection_failed", None),
        (Answer::new().says("half").silent(), "request_timeout", None),
        (Answer::raw([&b"data: {\"type\": \"resp\n\n"[..]]), "server_error", None),
        (Answer::raw([&b": nothing\n\n"[..]]), "connection_failed", None),
        (Answer::raw([&b"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\""[..]]), "connection_failed", None),
        (Answer::raw([echo.as_bytes()]), "server_error", None),
    ];
    for (number, (answer, code, status)) in cases.into_iter().enumerate() {
        let stub = Stub::script([answer]).await;
        let proxy = proxy_with(&stub, 300).await;
        let (admission, from) = proxy.admit("sess_1", MANY);
        let witness = Witness::new(from);
        let mut response = ask(&proxy, admission.token(), &nothing()).await;
        assert_eq!(response.status(), status.unwrap_or(200), "case {number}");
        let mut text = Vec::new();
        while let Ok(Some(chunk)) = response.chunk().await {
            text.extend_from_slice(&chunk);
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.contains(REAL_KEY), "case {number}: {text}");
        let told = witness.all_but_words(admission).await;
        let failed = Told::Failed(code.to_owned());
        assert_eq!(told.last(), Some(&failed), "case {number}: {text}");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_told_as_such() {
    let gone = Stub::script([]).await.base_url.clone();
    let provider = HttpOptions::new(gone, KeySource::None);
    let proxy = ModelProxy::start(provider).await.expect("it listens");
    let (admission, from) = proxy.admit("sess_1", MANY);
    let witness = Witness::new(from);
    let response = ask(&proxy, admission.token(), &nothing()).await;
    assert_eq!(response.status(), 503);
    let told = witness.all_but_words(admission).await;
    assert_eq!(
        told,
        [asked(0), Told::Failed("connection_failed".to_owned())]
    );
}

#[tokio::test]
async fn broken_clients_are_answered_or_dropped_and_the_next_one_is_served() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", MANY);
    let witness = Witness::new(from);
    let token = admission.token();
    let post = |length: &str, body: &str| {
        format!(
            "POST /v1/responses HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    for (sent, expect) in [
        ("\0\u{1}\u{2}nonsense\r\n\r\n".to_owned(), " 400 "),
        (
            "GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_owned(),
            " 404 ",
        ),
        (
            "POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\r\n".to_owned(),
            " 401 ",
        ),
        (post("5", "hello"), " 400 "),
        (post("2", "[]"), " 400 "),
        (post("99999999999", "{"), " 413 "),
        // Their ends never come, and nobody is there to read an answer.
        (post("99", "{"), ""),
        ("POST /v1/resp".to_owned(), ""),
        (String::new(), ""),
    ] {
        let address = proxy.base_url();
        let address = address
            .trim_start_matches("http://")
            .trim_end_matches("/v1");
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(sent.as_bytes()).await.expect("it is read");
        if expect.is_empty() {
            continue;
        }
        let mut answer = vec![0; 64];
        let read = stream.read(&mut answer).await.expect("it answers");
        let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
        assert!(answer.contains(expect), "{sent:?}: {answer}");
    }
    let response = ask(&proxy, token, &nothing()).await;
    assert!(
        response
            .text()
            .await
            .is_ok_and(|text| text.contains("hello"))
    );
    assert_eq!(stub.requests().len(), 1);
    let told = witness.all_but_words(admission).await;
    assert_eq!(told, [asked(0), usage([100, 0, 10, 0])]);
}

#[tokio::test]
async fn an_agent_that_goes_away_takes_its_request_to_the_provider_with_it() {
    let stub = Stub::playing(|_| Answer::new().says("half").silent()).await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", MANY);
    let _witness = Witness::new(from);
    let mut response = ask(&proxy, admission.token(), &nothing()).await;
    assert!(response.chunk().await.is_ok_and(|chunk| chunk.is_some()));
    drop(response);
    stub.left(1).await;
}

#[tokio::test]
async fn an_agent_that_does_not_read_slows_its_provider_down() {
    let gate = Gate::new();
    let stub = Stub::playing({
        let gate = gate.clone();
        let large = "x".repeat(1 << 20);
        move |_| {
            let answer = (0..64).fold(Answer::new(), |answer, _| answer.says(&large));
            answer.until(&gate)
        }
    })
    .await;
    let proxy = proxy(&stub).await;
    let (admission, from) = proxy.admit("sess_1", MANY);
    let _witness = Witness::new(from);
    let mut response = ask(&proxy, admission.token(), &nothing()).await;
    let mut read_bytes = 0;
    while read_bytes < 1 << 20 {
        let chunk = response.chunk().await.expect("it goes on");
        read_bytes += chunk.expect("it is not over").len();
    }
    drop(admission);
    stub.left(1).await;
    // Buffers of sockets are smaller than this answer, and nothing else keeps it.
    assert!(!gate.was_reached());
}
