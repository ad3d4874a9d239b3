//! How much a key may be used.

use serde_json::json;

use super::world::{Api, refusal};
use crate::cli::env::TestEnv;

fn key(env: &TestEnv, options: &str) -> String {
    let made = env.json(&format!("keys create --name some {options}"));
    made["key"].as_str().expect("a key").to_owned()
}

#[tokio::test]
async fn who_asks_too_often_is_told_when_to_come_back() {
    let api = Api::new();
    let slow = key(&api.env, "--rate 1");
    let ask = || api.with_key(&slow, "GET", "/agents").send();
    // Two at once, and hardly one more while they are answered.
    let mut refused = None;
    for _ in 0..10 {
        let response = ask().await.expect("answers");
        if response.status().as_u16() == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("ten within a second are too many");
    let number = |name: &str| -> u64 {
        let value = refused.headers()[name].to_str().expect("is text");
        value.parse().expect("a number")
    };
    assert!((1..=1_000).contains(&number("retry-after-ms")));
    assert_eq!(number("retry-after"), 1);
    assert!(!refused.headers().contains_key("x-should-retry"));
    let body: serde_json::Value = refused.json().await.expect("the envelope");
    assert_eq!(body["error"]["code"], "rate_limit_exceeded");
    assert_eq!(body["error"]["type"], "rate_limit_error");
    assert_eq!(body["error"]["param"], json!(null));
    // Nobody else is touched, and a key that is wrong is not told of limits.
    assert_eq!(api.get("/agents").await["data"], json!([]));
    let wrong = api.with_key("rtk_wrong", "GET", "/agents");
    assert_eq!(refusal(wrong).await.0, 401);
    // It passes by itself.
    let deadline = tokio::time::Instant::now() + crate::cli::env::PATIENCE;
    while ask().await.expect("answers").status().as_u16() == 429 {
        assert!(tokio::time::Instant::now() < deadline, "for ever");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn the_configured_rate_is_for_keys_that_say_nothing_and_none_is_for_programs_of_this_machine()
{
    let limited = "[profile.default.daemon]\nrequests_per_second = 1\n";
    let statuses = async |api: &Api, key: &str| {
        let mut seen = Vec::new();
        for _ in 0..8 {
            let response = api.with_key(key, "GET", "/agents").send().await;
            seen.push(response.expect("answers").status().as_u16());
        }
        seen
    };
    let api = Api::with(TestEnv::configured(limited), &[]);
    let plain = key(&api.env, "");
    assert!(statuses(&api, &plain).await.contains(&429));
    let fast = key(&api.env, "--rate 1000");
    assert!(!statuses(&api, &fast).await.contains(&429));
    drop(api);
    let open = Api::with(TestEnv::configured(limited), &["--no-auth"]);
    assert!(
        statuses(&open, "").await.contains(&429),
        "it was wished for"
    );
}

#[tokio::test]
async fn a_key_may_send_no_longer_bodies_than_it_says() {
    let api = Api::new();
    let small = key(&api.env, "--max-body 1KiB");
    let body_of = |bytes: usize| {
        let body = json!({"model": "demo", "metadata": {}}).to_string();
        format!("{body}{}", " ".repeat(bytes - body.len()))
    };
    let send = |bytes| {
        let request = api.with_key(&small, "POST", "/agents");
        request
            .header("content-type", "application/json")
            .body(body_of(bytes))
    };
    let fits = send(1_024).send().await.expect("answers");
    assert_eq!(fits.status().as_u16(), 200);
    let (status, error) = refusal(send(1_025)).await;
    assert_eq!(status, 413);
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("1024 bytes"), "{message}");
    assert_eq!(
        api.get("/agents").await["data"].as_array().map(Vec::len),
        Some(1)
    );
}
