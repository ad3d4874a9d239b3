//! The client of a Responses-API server, against a server on loopback.

use std::sync::Arc;

use futures_util::StreamExt;
use pretty_assertions::assert_eq;
use rat_things::api::Secret;
use rat_things::backend::key::KeySource;
use rat_things::backend::model::http::{HttpModel, HttpModelError, HttpOptions};
use rat_things::engine::ports::{
    Model, ModelError, ModelEvent, ModelItem, ModelRequest, ModelUsage,
};
use serde_json::{Value, json};

use super::server::{Answer, Server, Then};

const KEY: &str = "planted-key-0123456789";

const STREAM: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"}}\n\n\
    : keep-alive\n\n\
    event: response.reasoning_summary_text.delta\ndata: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"hm\"}\n\n\
    data: {\"type\":\"response.output_text.delta\",\"delta\":\"é€😀\"}\n\n\
    data: {\"type\":\"response.output_item.done\",\n\
    data: \"item\":{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"é€😀\"}]}}\n\n\
    data: {\"type\":\"response.from_the_future\",\"x\":1}\n\n\
    data: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}}\n\n";

fn expected() -> Vec<ModelEvent> {
    vec![
        ModelEvent::ReasoningDelta {
            summary: 0,
            text: "hm".into(),
        },
        ModelEvent::TextDelta("é€😀".into()),
        ModelEvent::Item(
            json!({"type": "message", "content": [{"type": "output_text", "text": "é€😀"}]}),
        ),
        ModelEvent::Done {
            response_id: Some("resp_1".into()),
            usage: Some(ModelUsage {
                input: 7,
                output: 3,
                ..ModelUsage::default()
            }),
            incomplete: None,
        },
    ]
}

fn options(server: &Server) -> HttpOptions {
    HttpOptions::new(&server.base_url, KeySource::Given(Secret::new(KEY)))
}

fn model(server: &Server) -> HttpModel {
    HttpModel::new(options(server)).expect("this is a base URL")
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        instructions: Some("be kind".into()),
        input: Arc::new(vec![ModelItem::Assistant {
            text: "hm".into(),
            phase: Some("commentary".into()),
        }]),
        tools: Arc::new([json!({"type": "function", "name": "f"})]),
        reasoning: Some(json!({"effort": "low"})),
        text: None,
        service_tier: None,
        prompt_cache_key: Some("sess_1".into()),
    }
}

/// All events, and the error that ended them.
async fn call(model: &HttpModel) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut events = Vec::new();
    let mut stream = match model.call(request()).await {
        Ok(stream) => stream,
        Err(error) => return (events, Some(error)),
    };
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => return (events, Some(error)),
        }
    }
    (events, None)
}

async fn error_of(answers: Vec<Answer>) -> ModelError {
    let server = Server::start(answers).await;
    let (_, error) = call(&model(&server)).await;
    error.expect("the call fails")
}

fn check(error: &ModelError, code: &str, retryable: bool, word: &str) {
    assert_eq!(
        (error.code.as_str(), error.retryable),
        (code, retryable),
        "{error}"
    );
    assert!(error.message.contains(word), "{error}");
    assert!(!format!("{error:?}").contains("planted"), "{error:?}");
}

#[tokio::test]
async fn a_request_says_what_it_must_and_nothing_that_is_not_set() {
    let server = Server::start(vec![Answer::stream(STREAM)]).await;
    let model = model(&server);
    assert_eq!(call(&model).await, (expected(), None));
    let sent = &server.requests()[0];
    assert!(
        sent.head.starts_with("POST /v1/responses HTTP/1.1"),
        "{}",
        sent.head
    );
    assert_eq!(sent.header("authorization"), Some(format!("Bearer {KEY}")));
    assert_eq!(sent.header("accept").as_deref(), Some("text/event-stream"));
    assert_eq!(
        sent.body,
        json!({
            "model": "m",
            "instructions": "be kind",
            "input": [{"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "hm"}]}],
            "tools": [{"type": "function", "name": "f"}],
            "reasoning": {"effort": "low"},
            "prompt_cache_key": "sess_1",
            "stream": true,
            "store": false,
            "include": ["reasoning.encrypted_content"],
        })
    );
    assert_eq!(model.name(), server.base_url);
}

#[tokio::test]
async fn events_are_the_same_however_the_stream_is_cut_into_pieces() {
    for stream in [
        STREAM.to_owned(),
        STREAM.replace('\n', "\r\n"),
        STREAM.replace('\n', "\r"),
    ] {
        for size in [1, 2, 3, 7, 64, 100_000] {
            let server = Server::start(vec![Answer::stream(&stream).in_pieces(size)]).await;
            assert_eq!(call(&model(&server)).await, (expected(), None), "{size}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_a_broken_connection_wherever_it_ends() {
    let done = STREAM.rfind("data:").expect("it has events");
    let whole = STREAM.trim_end().len();
    for at in (0..done).step_by(37).chain([done, done + 10, whole - 1]) {
        let cut: String = String::from_utf8_lossy(&STREAM.as_bytes()[..at]).into_owned();
        let error = error_of(vec![Answer::stream(&cut)]).await;
        check(
            &error,
            "connection_failed",
            true,
            "before its answer was complete",
        );
    }
    // Only the last line ends are missing: nothing is.
    let server = Server::start(vec![Answer::stream(&STREAM[..whole])]).await;
    assert_eq!(call(&model(&server)).await, (expected(), None));
}

#[tokio::test]
async fn nothing_is_read_behind_the_end() {
    let more = format!("{STREAM}data: {{\"type\":\"error\",\"message\":\"late\"}}\n\n");
    let server = Server::start(vec![Answer::stream(&more).then(Then::Silence)]).await;
    assert_eq!(call(&model(&server)).await, (expected(), None));
}

#[tokio::test]
async fn failures_become_turn_errors() {
    for (status, body, code, retryable) in [
        (
            "400 Bad Request",
            r#"{"error":{"message":"bad field"}}"#,
            "invalid_request",
            false,
        ),
        ("401 Unauthorized", "{}", "authentication_error", false),
        (
            "404 Not Found",
            r#"{"error":{"message":"no model m"}}"#,
            "resource_not_found",
            false,
        ),
        (
            "429 Too Many",
            r#"{"error":{"code":"insufficient_quota"}}"#,
            "credit_balance_exhausted",
            false,
        ),
        ("500 Oops", "<html>oops</html>", "server_error", true),
        ("529 Busy", "", "server_overloaded", true),
        ("307 Elsewhere", "", "invalid_request", false),
    ] {
        check(
            &error_of(vec![Answer::fails(status, &[], body)]).await,
            code,
            retryable,
            &status[..3],
        );
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_passed_on() {
    for (headers, expect) in [
        (&[("Retry-After", "2")][..], Some(2_000)),
        (&[("retry-after-ms", "150")], Some(150)),
        (
            &[
                ("Retry-After", "Sun, 06 Nov 1994 08:49:39 GMT"),
                ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ],
            Some(2_000),
        ),
        (&[], None),
    ] {
        let error = error_of(vec![Answer::fails("429 Too Many Requests", headers, "{}")]).await;
        check(&error, "rate_limit_exceeded", true, "429");
        assert_eq!(error.retry_after_ms, expect);
    }
}

#[tokio::test]
async fn a_failure_within_the_stream_ends_it() {
    for (data, code, retryable) in [
        (
            json!({"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "try again in 2s"}}}),
            "rate_limit_exceeded",
            true,
        ),
        (
            json!({"type": "error", "code": "context_length_exceeded", "message": "try again in less words"}),
            "context_length_exceeded",
            false,
        ),
        (
            json!({"error": {"message": "try again"}}),
            "server_error",
            true,
        ),
    ] {
        for end in ["\n\n", ""] {
            let body = format!(
                "data: {{\"type\":\"response.output_text.delta\",\"delta\":\"a\"}}\n\ndata: {data}{end}"
            );
            let server = Server::start(vec![Answer::stream(&body)]).await;
            let (events, error) = call(&model(&server)).await;
            assert_eq!(events, [ModelEvent::TextDelta("a".into())]);
            check(&error.expect("it fails"), code, retryable, "try again");
        }
    }
}

#[tokio::test]
async fn garbage_and_oversized_events_are_errors() {
    let error = error_of(vec![Answer::stream("data: {\"type\": oops}\n\n")]).await;
    check(&error, "server_error", true, "can't be read");
    let huge = format!("data: {{\"x\":\"{}\"}}\n\n", "x".repeat(8 << 20));
    let error = error_of(vec![Answer::stream(&huge)]).await;
    check(&error, "server_error", false, "larger than 8 MiB");
    let large = format!(
        "data: {{\"type\":\"x\",\"x\":\"{}\"}}\n\n{STREAM}",
        "x".repeat(4 << 20)
    );
    let server = Server::start(vec![Answer::stream(&large)]).await;
    assert_eq!(call(&model(&server)).await, (expected(), None));
}

#[tokio::test]
async fn silence_ends_as_a_timeout_before_and_within_the_stream() {
    let head = STREAM
        .find("event: response.reasoning")
        .expect("it has events");
    let within = Answer::stream(&STREAM[..head]).then(Then::Silence);
    let nothing = Answer {
        chunks: Vec::new(),
        then: Then::Silence,
    };
    for answer in [nothing, within] {
        let server = Server::start(vec![answer]).await;
        let model = HttpModel::new(HttpOptions {
            idle_timeout_ms: 50,
            ..options(&server)
        })
        .expect("this is a base URL");
        let (_, error) = call(&model).await;
        check(
            &error.expect("it fails"),
            "request_timeout",
            true,
            "for 50 ms",
        );
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failed_connection() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let base_url = format!("http://user:planted@{address}/v1?token=planted");
    let model =
        HttpModel::new(HttpOptions::new(base_url, KeySource::None)).expect("this is a base URL");
    assert_eq!(model.name(), format!("http://{address}/v1"));
    let (_, error) = call(&model).await;
    check(
        &error.expect("it fails"),
        "connection_failed",
        true,
        "could not be reached",
    );
}

#[tokio::test]
async fn a_refused_key_is_asked_for_again_once() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let runs = dir.path().join("runs");
    let command = format!(
        "echo >> {0}; printf 'planted-%s' $(wc -l < {0})",
        runs.display()
    );
    let key = KeySource::Command {
        command,
        timeout_ms: 20_000,
    };
    let refusal = Answer::fails(
        "401 Unauthorized",
        &[],
        r#"{"error":{"message":"bad key: planted-1"}}"#,
    );
    let server = Server::start(vec![refusal.clone(), Answer::stream(STREAM), refusal]).await;
    let model =
        HttpModel::new(HttpOptions::new(&server.base_url, key)).expect("this is a base URL");
    assert_eq!(call(&model).await, (expected(), None));
    let (_, error) = call(&model).await;
    check(
        &error.expect("it fails"),
        "authentication_error",
        false,
        "bad key: [hidden]",
    );
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("authorization"))
        .collect();
    let bearer = |n: u32| Some(format!("Bearer planted-{n}"));
    assert_eq!(sent, [bearer(1), bearer(2), bearer(2), bearer(3)]);
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_sent() {
    let server = Server::start(vec![Answer::stream(STREAM)]).await;
    let key = KeySource::Env {
        name: "RAT_THINGS_TEST_NO_SUCH_VARIABLE".into(),
    };
    let model =
        HttpModel::new(HttpOptions::new(&server.base_url, key)).expect("this is a base URL");
    let (_, error) = call(&model).await;
    check(
        &error.expect("it fails"),
        "authentication_error",
        false,
        "RAT_THINGS_TEST_NO_SUCH_VARIABLE is not set",
    );
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn the_key_is_in_no_error_whatever_the_server_answers() {
    let echo = format!("Authorization: Bearer {KEY} and planted-key-0***** and sk-planted");
    for answer in [
        Answer::fails(
            "401 Unauthorized",
            &[],
            &json!({"error": {"message": echo}}).to_string(),
        ),
        Answer::fails("500 Oops", &[], &echo),
        Answer::fails("400 Bad", &[], &json!({"detail": [echo]}).to_string()),
        Answer::stream(&format!(
            "data: {}\n\n",
            json!({"type": "error", "message": echo})
        )),
        Answer::typed(
            "200 OK",
            "application/json",
            &[],
            &json!({"error": {"message": echo}}).to_string(),
        ),
    ] {
        let error = error_of(vec![answer]).await;
        assert!(error.message.contains("[hidden]"), "{error}");
        assert!(
            !format!("{error:?}{error}").contains("planted"),
            "{error:?}"
        );
    }
    let server = Server::start(vec![Answer::stream(STREAM)]).await;
    assert!(!format!("{:?}", options(&server)).contains("planted"));
}

#[tokio::test]
async fn optional_fields_are_given_up_when_the_server_names_them() {
    let names = |text: &str| Answer::fails("400 Bad Request", &[], text);
    let server = Server::start(vec![
        names(r#"{"error":{"message":"Unsupported parameter: 'include'"}}"#),
        names(r#"{"error":{"message":"unknown field","param":"input[0].phase"}}"#),
        Answer::stream(STREAM),
        Answer::stream(STREAM),
        names(r#"{"error":{"message":"Unsupported parameter: 'include'"}}"#),
    ])
    .await;
    let model = model(&server);
    assert_eq!(call(&model).await, (expected(), None));
    assert_eq!(call(&model).await, (expected(), None));
    // What is not sent any more can't be given up again.
    check(
        &call(&model).await.1.expect("it fails"),
        "invalid_request",
        false,
        "'include'",
    );
    let has = |body: &Value| {
        let phase = body["input"][0].get("phase").is_some();
        (
            body.get("include").is_some(),
            phase,
            body.get("prompt_cache_key").is_some(),
        )
    };
    let sent: Vec<_> = server
        .requests()
        .iter()
        .map(|request| has(&request.body))
        .collect();
    assert_eq!(
        sent,
        [
            (true, true, true),
            (false, true, true),
            (false, false, true),
            (false, false, true),
            (false, false, true),
        ]
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({"status": "completed", "output": [{"type": "message"}]}).to_string();
    let server = Server::start(vec![Answer::typed(
        "200 OK",
        "application/json",
        &[],
        &body,
    )])
    .await;
    let done = ModelEvent::Done {
        response_id: None,
        usage: None,
        incomplete: None,
    };
    let events = vec![ModelEvent::Item(json!({"type": "message"})), done];
    assert_eq!(call(&model(&server)).await, (events, None));
    let error = error_of(vec![Answer::typed("200 OK", "application/json", &[], "{")]).await;
    check(&error, "server_error", true, "can't be read");
    let error = error_of(vec![Answer::typed(
        "200 OK",
        "text/html",
        &[],
        "<p>welcome</p>",
    )])
    .await;
    check(&error, "invalid_request", false, "is base_url right?");
}

#[tokio::test]
async fn dropping_the_stream_ends_the_call() {
    let head = STREAM
        .find("data: {\"type\":\"response.output_item")
        .expect("it has events");
    let server = Server::start(vec![Answer::stream(&STREAM[..head]).then(Then::Silence)]).await;
    let model = model(&server);
    let mut stream = model.call(request()).await.expect("it answers");
    assert!(matches!(
        stream.next().await,
        Some(Ok(ModelEvent::ReasoningDelta { .. }))
    ));
    assert_eq!(*server.gone.borrow(), 0);
    drop(stream);
    let gone = server
        .gone
        .clone()
        .wait_for(|gone| *gone == 1)
        .await
        .map(|gone| *gone);
    assert_eq!(gone.expect("the server lives"), 1);
}

#[test]
fn a_base_url_that_can_not_be_used_is_refused() {
    for (url, word) in [
        ("", "can't be used"),
        ("api.example.com/v1", "can't be used"),
        ("ftp://example.com", "must begin with http"),
        ("http://user:planted@", "can't be used"),
    ] {
        match HttpModel::new(HttpOptions::new(url, KeySource::None)) {
            Err(error @ HttpModelError::BaseUrl { .. }) => {
                assert!(error.to_string().contains(word), "{error}");
                assert!(!error.to_string().contains("planted"), "{error}");
            }
            Err(other) => panic!("{url}: {other}"),
            Ok(_) => panic!("{url} was accepted"),
        }
    }
}
