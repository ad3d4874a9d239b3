//! What is sent twice under one key happens once.

use serde_json::json;

use super::world::{Api, message, refusal, session_of};

#[tokio::test]
async fn inputs_under_one_key_are_one_input() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let at = format!("/agents/sessions/{session}/events");
    let send = |key: &str, text: &str| {
        let request = api.request("POST", &at).header("idempotency-key", key);
        request.json(&message(text))
    };
    let mut receipts = Vec::new();
    for repeated in ["false", "true"] {
        let response = send("k", "@say once").send().await.expect("answers");
        assert_eq!(response.status().as_u16(), 202);
        assert_eq!(response.headers()["x-receipt-repeated"], repeated);
        receipts.push(response.headers()["x-receipt-id"].clone());
    }
    assert_eq!(receipts[0], receipts[1]);
    let other = send("k", "@say something else")
        .send()
        .await
        .expect("answers");
    assert_eq!(
        (other.status().as_u16(), &other.headers()["x-should-retry"]),
        (409, &"false".parse().expect("a value"))
    );
    let (_, error) = refusal(send("k", "@say something else")).await;
    let words = error["message"].as_str().expect("a message");
    let digests = words
        .split(' ')
        .filter(|word| word.trim_end_matches(',').len() == 64);
    assert_eq!(digests.count(), 2, "{words}");
    for (key, given) in [("", 400), (&"k".repeat(256), 400), (&"k".repeat(255), 202)] {
        let status = send(key, "@say x").send().await.expect("answers").status();
        assert_eq!(status.as_u16(), given, "{} characters", key.len());
    }
    let turns = api.get(&format!("/agents/sessions/{session}/turns")).await;
    let turns = turns["data"].as_array().expect("a list").len();
    assert!(
        (2..=3).contains(&turns),
        "the refused ones made no turn: {turns}"
    );
}

#[tokio::test]
async fn a_session_is_created_once_under_its_key() {
    let api = Api::new();
    let create = |text: &str| {
        let request = api.request("POST", "/agents/sessions");
        let request = request.header("idempotency-key", "one");
        request.json(&session_of("none", text))
    };
    let first = super::world::read(create("@say a").send().await.expect("answers")).await;
    let again = super::world::read(create("@say a").send().await.expect("answers")).await;
    assert_eq!(first["id"], again["id"]);
    let (status, error) = refusal(create("@say b")).await;
    assert_eq!((status, &error["code"]), (409, &json!("conflict_error")));
    let all = api.get("/agents/sessions").await;
    assert_eq!(all["data"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn what_was_refused_is_not_remembered_under_its_key() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let at = format!("/agents/sessions/{session}/events");
    let send = |body: &serde_json::Value| {
        api.request("POST", &at)
            .header("idempotency-key", "k")
            .json(body)
    };
    let (status, _) = refusal(send(&json!({"events": []}))).await;
    assert_eq!(status, 400);
    let sent = send(&message("@say good")).send().await.expect("answers");
    assert_eq!(sent.status().as_u16(), 202);
}
