//! The provider itself: what it keeps, how it fails, and that the real Codex takes what it says.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::exec::{Home, KEY};
use super::stub::{Answer, Gate, Stub};

/// Everything that a client without a mind reads, up to where the connection ends.
async fn post(stub: &Stub, body: &Value) -> String {
    let address = stub.base_url.strip_prefix("http://").expect("no TLS here");
    let (address, path) = address.split_once('/').expect("it has a path");
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let body = body.to_string();
    let head = format!(
        "POST /{path}/responses HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .expect("it reads");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).expect("it is text")
}

/// What ends every body that was not cut.
const LAST_CHUNK: &str = "\r\n0\r\n\r\n";

#[tokio::test]
async fn answers_come_in_order_and_one_too_many_is_refused() {
    let stub = Stub::script([Answer::new().says("one two"), Answer::new().says("three")]).await;
    let asked =
        json!({"input": [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]});
    let first = post(&stub, &asked).await;
    assert!(first.contains(r#""delta":"one ""#), "{first}");
    assert!(first.contains(r#""text":"one two""#), "{first}");
    assert!(first.contains("response.completed"), "{first}");
    let second = post(&stub, &asked).await;
    assert!(second.contains("three"), "{second}");
    let third = post(&stub, &asked).await;
    assert!(
        third.contains("nothing is scripted for request 3"),
        "{third}"
    );
    let kept = stub.asked(3).await;
    assert_eq!(
        (kept.line.as_str(), kept.times_told("hi")),
        ("POST /v1/responses", 1)
    );
    assert_eq!(stub.requests().len(), 3);
}

#[tokio::test]
async fn what_is_held_up_waits_for_its_gate_and_what_is_cut_breaks() {
    let gate = Gate::new();
    let stub = Stub::script([
        Answer::new().says_in_halves("one", &gate, "two"),
        Answer::new().says("lost").until(&gate).cut(),
        Answer::new().breaks("server_error", "no luck"),
    ])
    .await;
    let nothing = json!({});
    let (held, ()) = tokio::join!(post(&stub, &nothing), async {
        gate.reached().await;
        gate.open();
    });
    assert!(
        held.contains("onetwo") && held.ends_with(LAST_CHUNK),
        "{held}"
    );
    let cut = post(&stub, &nothing).await;
    assert!(cut.contains("lost") && !cut.ends_with(LAST_CHUNK), "{cut}");
    let broken = post(&stub, &nothing).await;
    assert!(
        broken.contains("no luck") && broken.ends_with(LAST_CHUNK),
        "{broken}"
    );
}

#[tokio::test]
async fn the_real_codex_takes_everything_that_it_can_say() {
    let patch = "*** Begin Patch\n*** Add File: made.txt\n+by a patch\n*** End Patch\n";
    let stub = Stub::script([
        Answer::new()
            .thinks("let me see")
            .runs("call_1", "echo from a command"),
        Answer::new().patches("call_2", patch),
        Answer::new().says("all done").costs([300, 200, 20, 5]),
        Answer::new().says("again"),
    ])
    .await;
    let home = Home::new(&stub.base_url);
    let ran = home.exec("do it").await;
    let thread = ran.completed();
    assert_eq!(
        std::fs::read_to_string(home.work().join("made.txt")).expect("the patch was applied"),
        "by a patch\n"
    );
    let usage = &ran.lines().pop().expect("it ends")["usage"];
    assert_eq!(usage["cached_input_tokens"], 200, "{ran}");

    home.resume(&thread, "once more").await.completed();
    let last = stub.asked(4).await;
    assert_eq!(last.headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(last.headers["thread-id"], thread);
    assert_eq!(
        (last.times_told("do it"), last.times_told("once more")),
        (1, 1)
    );
    let [command] = &last.outputs_of("call_1")[..] else {
        panic!("{:?}", last.outputs_of("call_1"));
    };
    assert!(command.contains("from a command"), "{command}");
    assert_eq!(last.outputs_of("call_2").len(), 1);
    let reasoning = last.input().iter().find(|item| item["type"] == "reasoning");
    let sealed = &reasoning.expect("it is given back")["encrypted_content"];
    assert_eq!(sealed, "sealed-rs_1_0");
}

#[tokio::test]
async fn a_silent_or_failing_provider_ends_the_turn_and_not_the_test() {
    let stub = Stub::playing(|asked| match asked.times_told("be silent") {
        0 => Answer::fails(400, "invalid_request_error", "no such thing"),
        _ => Answer::new().silent(),
    })
    .await;
    let home = Home::new(&stub.base_url);
    let ran = home.exec("fail").await;
    assert!(
        ran.lines().iter().any(|line| line["type"] == "turn.failed"),
        "{ran}"
    );
    assert!(ran.to_string().contains("no such thing"), "{ran}");
    let silent = home.exec("be silent");
    tokio::select! {
        ran = silent => panic!("it waits for the provider: {ran}"),
        asked = stub.asked(2) => assert_eq!(asked.times_told("be silent"), 1),
    }
}

#[tokio::test]
async fn a_home_as_the_tests_make_it_connects_to_nothing_but_the_provider() {
    let stub = Stub::script([Answer::new().says("hello")]).await;
    let home = Home::new(&stub.base_url);
    let trace = home.work().join("trace");
    home.exec_traced(&trace, "hi").await.completed();
    let trace = std::fs::read_to_string(trace).expect("it was written");
    let port = stub.base_url.trim_end_matches("/v1").rsplit(':').next();
    let port = port.expect("it has a port");
    let addresses: BTreeSet<&str> = trace
        .lines()
        .filter(|line| line.contains("sa_family=AF_INET"))
        .filter_map(|line| line.split_once('{')?.1.split_once('}'))
        .map(|(address, _)| address)
        .collect();
    let provider =
        format!("sa_family=AF_INET, sin_port=htons({port}), sin_addr=inet_addr(\"127.0.0.1\")");
    assert_eq!(addresses, BTreeSet::from([provider.as_str()]));
}
