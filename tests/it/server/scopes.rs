//! What a key was not made for is refused, over every route.

use rat_things::engine::scope::Scope;
use rat_things::server::routes::{PARTS, ROUTES, Route};
use serde_json::json;

use super::world::{Api, refusal};
use crate::cli::env::TestEnv;

/// A key with exactly these scopes.
fn key(env: &TestEnv, scopes: &[Scope]) -> String {
    let options: String = scopes
        .iter()
        .map(|scope| format!(" --scope {scope}"))
        .collect();
    let made = env.json(&format!("keys create --name some --rate 1000000{options}"));
    made["key"].as_str().expect("a key").to_owned()
}

/// A path of the route that leads to nothing, below the base URL.
fn path_of(route: &Route) -> String {
    let path = route.path.strip_prefix("/v1").unwrap_or(route.path);
    path.replace(['{', '}'], "")
}

#[tokio::test]
async fn every_route_refuses_a_key_that_lacks_one_of_its_scopes_and_names_that_one() {
    let api = Api::new();
    let mut tried = 0;
    for missing in Scope::ALL {
        let others: Vec<Scope> = Scope::ALL.into_iter().filter(|s| *s != missing).collect();
        let key = key(&api.env, &others);
        for route in ROUTES.iter().filter(|route| route.path.starts_with("/v1/")) {
            let request = api.with_key(&key, route.verb.name(), &path_of(route));
            let what = format!("{} {} without {missing}", route.verb.name(), route.path);
            if !route.needs().contains(&missing) {
                let status = request.send().await.expect("answers").status().as_u16();
                assert_ne!(status, 403, "{what}");
                continue;
            }
            tried += 1;
            let (status, error) = refusal(request).await;
            assert_eq!(status, 403, "{what}: {error}");
            assert_eq!(error["code"], "forbidden", "{what}");
            let words = format!("This access key does not have the scope '{missing}'.");
            assert_eq!(error["message"], words, "{what}");
        }
    }
    assert!(tried >= ROUTES.len() - 2, "only {tried}");
}

#[tokio::test]
async fn a_key_for_looking_follows_a_session_and_changes_nothing() {
    let api = Api::new();
    let session = api.session("@say hi").await;
    let reader = key(&api.env, &[Scope::AgentsRead]);
    let items = format!("/agents/sessions/{session}/items");
    let looked = api.with_key(&reader, "GET", &items).send().await;
    assert_eq!(looked.expect("answers").status().as_u16(), 200);
    let events = format!("/agents/sessions/{session}/events");
    let stream = api.with_key(&reader, "GET", &events).send().await;
    assert_eq!(stream.expect("answers").status().as_u16(), 200);
    let before = api.get(&format!("/agents/sessions/{session}")).await;
    for (method, path) in [
        ("POST", events.clone()),
        ("POST", format!("/agents/sessions/{session}")),
        ("DELETE", format!("/agents/sessions/{session}")),
    ] {
        let request = api
            .with_key(&reader, method, &path)
            .json(&super::world::message("@say more"));
        assert_eq!(refusal(request).await.0, 403, "{method} {path}");
    }
    assert_eq!(
        api.get(&format!("/agents/sessions/{session}")).await,
        before
    );
}

#[tokio::test]
async fn a_key_that_may_not_have_models_called_manages_sessions_and_starts_nothing() {
    let api = Api::new();
    let manager = key(&api.env, &[Scope::AgentsRead, Scope::AgentsWrite]);
    let saved = api.with_key(&manager, "POST", "/agents");
    let saved = saved.json(&json!({"model": "demo"})).send().await;
    assert_eq!(saved.expect("answers").status().as_u16(), 200);
    let body = super::world::session_of("none", "@say hi");
    let created = api
        .with_key(&manager, "POST", "/agents/sessions")
        .json(&body);
    let (status, error) = refusal(created).await;
    assert_eq!(status, 403);
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("'api.responses.write'"), "{message}");
}

#[tokio::test]
async fn what_a_session_is_given_of_other_parts_needs_the_scope_for_looking_at_them() {
    let api = Api::new();
    let own = [Scope::AgentsWrite, Scope::ResponsesWrite];
    let file = json!({"type": "file_id", "file_id": format!("file_{}", "a".repeat(26)), "path": "/workspace/a"});
    let skill = json!({"type": "skill_reference", "skill_id": "skill_x"});
    let hosted = |name: &str, value| json!({"type": "openai_hosted", name: [value]});
    for (field, value, scope) in [
        ("environment", hosted("files", file), Scope::FilesRead),
        ("environment", hosted("skills", skill), Scope::FilesRead),
        ("vault_ids", json!(["vault_x"]), Scope::VaultsRead),
    ] {
        let mut body = super::world::session_of("none", "@say hi");
        body[field] = value;
        let ask = |key: &str| api.with_key(key, "POST", "/agents/sessions").json(&body);
        let without = key(&api.env, &own);
        let (status, error) = refusal(ask(&without)).await;
        let words = format!("This access key does not have the scope '{scope}'.");
        assert_eq!((status, &error["message"]), (403, &json!(words)), "{body}");
        let with = key(&api.env, &[own[0], own[1], scope]);
        let status = ask(&with).send().await.expect("answers").status().as_u16();
        assert_ne!(status, 403, "{body}");
    }
}

#[tokio::test]
async fn an_uploaded_file_is_put_into_workspaces_and_templates_by_keys_that_may_read_it() {
    let api = Api::new();
    let file = json!({"type": "file_id", "file_id": format!("file_{}", "a".repeat(26)), "path": "/workspace/a"});
    let files = json!({"files": [file]});
    for (path, body) in [
        ("/agents/environments/templates", &files),
        ("/agents/environments/templates/envtmpl_x", &files),
        ("/agents/environments/env_x/files", &file),
    ] {
        let ask = |key: &str| api.with_key(key, "POST", path).json(body);
        let (status, error) = refusal(ask(&key(&api.env, &[Scope::AgentsWrite]))).await;
        let message = error["message"].as_str().expect("a message");
        assert!(
            status == 403 && message.contains("'api.files.read'"),
            "{path}: {message}"
        );
        let with = key(&api.env, &[Scope::AgentsWrite, Scope::FilesRead]);
        let status = ask(&with).send().await.expect("answers").status().as_u16();
        assert_eq!(status, 404, "{path}");
    }
}

#[test]
fn scopes_are_shown_and_unknown_ones_refused() {
    let env = TestEnv::new();
    env.json("keys create --name all");
    env.json("keys create --name some --scope api.files.read --scope api.agents.read --rate 5 --max-body 64KiB");
    let listed = env.json("keys list");
    let keys = listed["data"].as_array().expect("a list");
    let all: Vec<&str> = Scope::ALL.into_iter().map(Scope::name).collect();
    assert_eq!(keys[0]["scopes"], json!(all));
    assert_eq!(keys[0]["requests_per_second"], json!(null));
    assert_eq!(
        keys[1]["scopes"],
        json!(["api.agents.read", "api.files.read"])
    );
    assert_eq!(keys[1]["requests_per_second"], 5);
    assert_eq!(keys[1]["max_body_bytes"], 65_536);
    let table = env.ok("keys list -o table");
    assert!(table.contains("SCOPES"), "{table}");
    for wrong in [
        "--scope api.everything",
        "--scope ''",
        "--rate 0",
        "--rate 1000001",
        "--max-body 0",
        "--max-body 17MiB",
        "--max-body much",
    ] {
        let ran = env.run(&format!("keys create --name wrong {wrong}"));
        assert_eq!(ran.code, 2, "{ran:#?}");
    }
    assert_eq!(
        env.json("keys list")["data"].as_array().map(Vec::len),
        Some(2)
    );
}

#[test]
fn the_page_about_http_has_the_table_of_scopes() {
    let names = |scopes: &[Scope]| {
        let names = scopes.iter().map(|scope| format!("`{scope}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let rows: String = PARTS
        .iter()
        .map(|part| {
            format!(
                "| `{}` | {} | {} |\n",
                part.path,
                names(part.looks),
                names(part.changes)
            )
        })
        .collect();
    let page = include_str!("../../../docs/http.md");
    let head = "| Routes below | GET | POST, DELETE |\n| --- | --- | --- |\n";
    assert!(
        page.contains(&format!("{head}{rows}")),
        "docs/http.md must contain:\n{head}{rows}"
    );
}
