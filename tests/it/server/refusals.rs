//! What is wrong is refused in one form, with the status and the code of the contract.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::world::{Api, message, refusal, session_of};

#[tokio::test]
async fn every_mistake_has_its_status_code_and_parameter() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let at = format!("/agents/sessions/{session}");
    let strange = "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let invalid = "invalid_request_error";
    let mut wrong = session_of("none", "@say x");
    wrong["nonsense"] = json!(1);
    let none = Value::Null;
    let table = [
        (
            "POST",
            "/agents/sessions".to_owned(),
            wrong,
            400,
            invalid,
            Some("nonsense"),
        ),
        (
            "POST",
            "/agents/sessions".into(),
            json!({}),
            400,
            invalid,
            Some("environment"),
        ),
        (
            "POST",
            "/agents/sessions".into(),
            json!({"environment": {"type": "none"}}),
            400,
            invalid,
            Some("agent.model"),
        ),
        (
            "POST",
            "/agents/sessions".into(),
            session_of("none", ""),
            400,
            invalid,
            Some("input"),
        ),
        (
            "POST",
            "/agents".into(),
            json!({"model": 1}),
            400,
            invalid,
            Some("model"),
        ),
        (
            "POST",
            format!("{at}/events"),
            json!({"events": []}),
            400,
            invalid,
            Some("events"),
        ),
        (
            "POST",
            at.clone(),
            json!({"status": "idle"}),
            400,
            invalid,
            Some("status"),
        ),
        (
            "GET",
            format!("{at}/items?limit=0"),
            none.clone(),
            400,
            invalid,
            Some("limit"),
        ),
        (
            "GET",
            format!("{at}/turns?order=up"),
            none.clone(),
            400,
            invalid,
            Some("order"),
        ),
        (
            "GET",
            format!("{at}?expand=all"),
            none.clone(),
            400,
            invalid,
            Some("expand"),
        ),
        (
            "GET",
            format!("{at}/events?after=evt_x"),
            none.clone(),
            400,
            invalid,
            Some("after"),
        ),
        (
            "GET",
            format!("{at}/items?after=msg_x"),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            "/agents/sessions?after=sess_x".into(),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            format!("/agents/sessions/{strange}"),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            "/agents/sessions/nonsense".into(),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            "/agents/sessions/%ff".into(),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            format!("{at}/turns/turn_x"),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            format!("{at}/artifacts/artf_x/content"),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "POST",
            format!("/agents/sessions/{strange}/events"),
            message("x"),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            "/agents/agent_x".into(),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            "/nonsense".into(),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "PATCH",
            at.clone(),
            json!({}),
            405,
            "method_not_allowed",
            None,
        ),
        (
            "GET",
            "/skills".into(),
            none.clone(),
            501,
            "not_implemented",
            None,
        ),
        (
            "GET",
            format!("{at}/subagents/x"),
            none.clone(),
            404,
            "not_found_error",
            None,
        ),
        (
            "GET",
            format!("{at}/subagents/x/turns?limit=x"),
            none.clone(),
            400,
            invalid,
            Some("limit"),
        ),
        (
            "GET",
            format!("{at}/subagents/x/turns/y/items"),
            none,
            404,
            "not_found_error",
            None,
        ),
    ];
    for (method, path, body, status, code, param) in table {
        let mut request = api.request(method, &path);
        if !body.is_null() {
            request = request.json(&body);
        }
        let (given, error) = refusal(request).await;
        assert_eq!(
            (given, error["code"].as_str(), error["param"].as_str()),
            (status, Some(code), param),
            "{method} {path} {body}: {error}"
        );
    }
}

#[tokio::test]
async fn bodies_that_are_no_json_too_deep_or_too_long_are_refused() {
    let api = Api::new();
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = vec![b' '; (16 << 20) + 1];
    for (body, status) in [
        (b"{".to_vec(), 400),
        (b"".to_vec(), 400),
        (b"\xff\xfe".to_vec(), 400),
        (deep.into_bytes(), 400),
        (long, 413),
    ] {
        let bytes = body.len();
        let request = api.request("POST", "/agents/sessions").body(body);
        let (given, error) = refusal(request).await;
        assert_eq!(
            (given, error["code"].as_str()),
            (status, Some("invalid_request_error")),
            "{bytes} bytes: {error}"
        );
    }
    // And it serves on.
    api.get("/agents/sessions").await;
}

#[tokio::test]
async fn the_beta_header_is_wanted_where_the_api_has_it() {
    let api = Api::new();
    let bearer = format!("Bearer {}", api.key);
    let ask = |path: &str, beta: Option<&str>| {
        let request = api.bare("GET", path).header("authorization", &bearer);
        match beta {
            Some(beta) => request.header("openai-beta", beta),
            None => request,
        }
    };
    for beta in [None, Some("agents=v2"), Some("")] {
        let (status, error) = refusal(ask("/agents", beta)).await;
        assert_eq!(
            (status, error["code"].as_str()),
            (400, Some("invalid_beta"))
        );
    }
    let good = ask("/agents", Some("other=v1, agents=v1")).send().await;
    assert_eq!(good.expect("answers").status().as_u16(), 200);
    let files = ask("/files", None).send().await.expect("answers");
    assert_eq!(files.status().as_u16(), 200, "this one is asked without it");
}

#[tokio::test]
async fn every_answer_has_an_id_of_its_own_and_final_refusals_say_so() {
    let api = Api::new();
    let mut seen = BTreeSet::new();
    for (path, is_final) in [
        ("/agents?limit=3", false),
        ("/agents/agent_x", false),
        ("/nonsense", false),
        ("/skills", true),
    ] {
        let response = api.request("GET", path).send().await.expect("answers");
        let id = response.headers()["x-request-id"].to_str().expect("text");
        assert!(id.starts_with("req_"), "{id}");
        assert!(seen.insert(id.to_owned()), "{id} twice");
        let retry = response.headers().get("x-should-retry");
        assert_eq!(
            retry.is_some_and(|value| value == "false"),
            is_final,
            "{path}"
        );
    }
    let unknown = api.bare("GET", "/agents").send().await.expect("answers");
    let id = unknown.headers()["x-request-id"].to_str().expect("text");
    assert!(seen.insert(id.to_owned()), "{id} twice");
    let log = crate::cli::env::content(&api.env.path("daemon.log"));
    for id in seen {
        assert!(log.contains(&id), "{id} is not in the log: {log}");
    }
    assert!(!log.contains(&api.key) && !log.contains("limit"), "{log}");
}

#[tokio::test]
async fn clients_that_leave_or_never_finish_their_request_are_in_nobodys_way() {
    use tokio::io::AsyncWriteExt;
    let api = Api::new();
    let address = api
        .base
        .trim_start_matches("http://")
        .trim_end_matches("/v1");
    let mut halfway = Vec::new();
    for n in 0..600 {
        let mut stream = tokio::net::TcpStream::connect(address)
            .await
            .expect("connects");
        let head = "GET /v1/agents HTTP/1.1\r\nhost: localhost\r\n";
        stream.write_all(head.as_bytes()).await.expect("writes");
        if n % 3 == 0 {
            halfway.push(stream);
        }
    }
    api.get("/agents").await;
    let garbage = tokio::net::TcpStream::connect(address).await;
    let mut garbage = garbage.expect("connects");
    let header = vec![b'x'; 1 << 20];
    // It may be closed before all of it is taken.
    let _ = garbage.write_all(&header).await;
    api.get("/agents").await;
    drop(halfway);
}
