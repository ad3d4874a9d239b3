//! Who is let in.

use serde_json::json;

use super::world::{Api, refusal};
use crate::cli::env::TestEnv;

#[tokio::test]
async fn whoever_has_no_good_key_gets_one_and_the_same_answer() {
    let api = Api::new();
    let revoked = api.env.json("keys create --name old");
    let id = revoked["id"].as_str().expect("an id");
    let revoked = revoked["key"].as_str().expect("a key");
    let (status, _) = (api.with_key(revoked, "GET", "/agents").send().await)
        .map(|response| (response.status().as_u16(), ()))
        .expect("answers");
    assert_eq!(status, 200);
    api.env.ok(&format!("keys revoke {} --yes", &id[..12]));
    let expired = api.env.json("keys create --name short --expires 1ms");
    let expired = expired["key"].as_str().expect("a key");
    let mut wrong = api.key.clone();
    wrong.replace_range(10..11, if &wrong[10..11] == "A" { "B" } else { "A" });
    let mut answers = Vec::new();
    for header in [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some(format!("Basic {}", api.key)),
        Some(api.key.clone()),
        Some(format!("Bearer {wrong}")),
        Some(format!("Bearer {}x", api.key)),
        Some(format!("Bearer {revoked}")),
        Some(format!("Bearer {expired}")),
        Some(format!("Bearer {id}")),
    ] {
        let mut request = api
            .bare("GET", "/agents")
            .header("openai-beta", "agents=v1");
        if let Some(header) = &header {
            request = request.header("authorization", header);
        }
        let answer = refusal(request).await;
        assert_eq!(answer.0, 401, "{header:?}");
        answers.push(answer);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:#?}");
    let lower = api
        .bare("GET", "/agents")
        .header("openai-beta", "agents=v1");
    let lower = lower.header("authorization", format!("bearer {}", api.key));
    assert_eq!(lower.send().await.expect("answers").status().as_u16(), 200);
}

#[test]
fn a_key_is_shown_once_and_never_stored() {
    let env = TestEnv::new();
    let made = env.json("keys create --name laptop --expires 90d");
    let key = made["key"].as_str().expect("a key");
    assert!(key.starts_with("rtk_") && key.len() == 47, "{key}");
    let listed = env.json("keys list");
    assert_eq!(listed["data"][0]["id"], made["id"]);
    assert_eq!(listed["data"][0]["name"], "laptop");
    assert!(made["expires_at"].as_u64() > made["created_at"].as_u64());
    assert!(!listed.to_string().contains(key));
    for file in crate::cli::env::files_below(&env.data()) {
        let bytes = std::fs::read(&file).unwrap_or_default();
        let found = bytes
            .windows(key.len())
            .any(|window| window == key.as_bytes());
        assert!(!found, "{} has it", file.display());
    }
    assert_eq!(env.run("fsck").code, 0);
    env.ok(&format!(
        "keys revoke {} --yes",
        made["id"].as_str().expect("an id")
    ));
    assert_eq!(env.json("keys list")["data"], json!([]));
    assert_eq!(
        env.run("keys revoke key_aaaaaaaaaaaaaaaaaaaaaaaaaa --yes")
            .code,
        3
    );
}

#[test]
fn a_daemon_serves_nobody_by_mistake() {
    let env = TestEnv::new();
    for (line, code, words) in [
        (
            "daemon run --listen 127.0.0.1:0",
            4,
            "there is no access key",
        ),
        (
            "daemon run --listen 0.0.0.0:0",
            2,
            "can be reached by other machines",
        ),
        (
            "daemon run --listen 0.0.0.0:0 --no-auth",
            2,
            "everybody there would be you",
        ),
        (
            "daemon run --listen 0.0.0.0:0 --no-auth --allow-remote",
            2,
            "everybody there would be you",
        ),
        ("daemon run --listen nonsense", 2, "invalid"),
    ] {
        let ran = env.run(line);
        assert_eq!(ran.code, code, "{ran:#?}");
        assert!(ran.stderr.contains(words), "{ran:#?}");
    }
    env.json("keys create --name gone --expires 1ms");
    let ran = env.run("daemon run --listen 127.0.0.1:0");
    assert_eq!(ran.code, 4, "an expired key lets nobody in: {ran:#?}");
}

#[tokio::test]
async fn without_keys_programs_of_this_machine_are_let_in_and_pages_of_others_are_not() {
    let api = Api::with(TestEnv::new(), &["--no-auth"]);
    let ask = |host: Option<&str>| {
        let request = api
            .bare("GET", "/agents")
            .header("openai-beta", "agents=v1");
        match host {
            Some(host) => request.header("host", host),
            None => request,
        }
    };
    for host in [
        None,
        Some("localhost:1"),
        Some("LOCALHOST"),
        Some("[::1]:80"),
        Some("127.0.0.1"),
    ] {
        let response = ask(host).send().await.expect("answers");
        assert_eq!(response.status().as_u16(), 200, "{host:?}");
    }
    for host in [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "192.0.2.1",
    ] {
        let (status, error) = refusal(ask(Some(host))).await;
        assert_eq!(
            (status, error["code"].as_str()),
            (403, Some("forbidden")),
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_daemon_that_starts_by_itself_serves_what_the_configuration_says() {
    let env = TestEnv::configured(
        "[profile.default.daemon]\nlisten = \"127.0.0.1:0\"\nno_auth = true\nidle_exit_ms = 100\n",
    );
    env.session("@say hi");
    let base = env.json("daemon status")["listen"].clone();
    let base = base.as_str().expect("it serves").to_owned();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("builds");
    let list = http
        .get(format!("{base}/agents/sessions"))
        .header("openai-beta", "agents=v1");
    let list: serde_json::Value = list
        .send()
        .await
        .expect("answers")
        .json()
        .await
        .expect("JSON");
    assert_eq!(list["data"].as_array().map(Vec::len), Some(1));
    let origin = base.trim_end_matches("/v1");
    for (path, body) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let response = http
            .get(format!("{origin}{path}"))
            .send()
            .await
            .expect("answers");
        assert_eq!(response.text().await.expect("a body"), body);
    }
}

#[test]
fn a_daemon_that_starts_by_itself_works_even_if_it_can_not_serve() {
    let env = TestEnv::configured("[profile.default.daemon]\nlisten = \"127.0.0.1:0\"\n");
    env.session("@say hi");
    assert_eq!(env.json("daemon status")["listen"], json!(null));
    let log = crate::cli::env::content(&env.data().join("logs/daemon.log"));
    assert!(log.contains("works without HTTP"), "{log}");
}
