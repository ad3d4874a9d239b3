//! Nobody else's key reaches anything, over every route that is served.

use rat_things::engine::access::NewKey;
use rat_things::server::routes::{Coverage, ROUTES, Route, Verb};
use serde_json::{Value, json};

use super::files::{form, upload};
use super::world::{Api, message, session_of};

/// A Session with an Artifact, a saved Agent, and what stands for each name in a path.
async fn belongings(api: &Api) -> Vec<(&'static str, String)> {
    let make = "@exec mkdir -p outputs && echo mine > outputs/a\n@say done";
    let events = api
        .create(&session_of("openai_hosted", make))
        .await
        .all()
        .await;
    let session = events[0]["session"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let first = async |part: &str| {
        let page = api.get(&format!("/agents/sessions/{session}/{part}")).await;
        page["data"][0]["id"].as_str().expect("an id").to_owned()
    };
    let agent = api.post("/agents", &json!({"model": "demo"})).await;
    let shown = api.get(&format!("/agents/sessions/{session}")).await;
    let environment = shown["environment"]["id"].as_str().expect("an id");
    let environment = environment.to_owned();
    let template = api.post("/agents/environments/templates", &json!({})).await;
    let template = template["id"].as_str().expect("an id").to_owned();
    let vault = api.post("/vaults", &json!({})).await;
    let vault = vault["id"].as_str().expect("an id").to_owned();
    let path = format!("/vaults/{vault}/credentials");
    let credential = api.post(&path, &credential()).await;
    let credential = credential["id"].as_str().expect("an id").to_owned();
    vec![
        ("{environment_id}", environment),
        ("{template_id}", template),
        ("{file_id}", upload(api, "mine", b"mine").await),
        ("{vault_id}", vault),
        ("{credential_id}", credential),
        ("{subagent_id}", format!("subagent_{}", "b".repeat(26))),
        ("{turn_id}", first("turns").await),
        ("{artifact_id}", first("artifacts").await),
        (
            "{agent_id}",
            agent["id"].as_str().expect("an id").to_owned(),
        ),
        ("{session_id}", session),
    ]
}

fn path_of(route: &Route, ids: &[(&str, String)]) -> String {
    let path = route
        .path
        .strip_prefix("/v1")
        .expect("is below it")
        .to_owned();
    ids.iter()
        .fold(path, |path, (name, id)| path.replace(name, id))
}

fn credential() -> Value {
    let auth =
        json!({"type": "static_bearer", "token": "t", "mcp_server_url": "https://mcp.example.org"});
    json!({"name": "n", "auth": auth})
}

fn body_of(route: &Route) -> Value {
    match route.path {
        "/v1/agents" => json!({"model": "demo"}),
        "/v1/agents/sessions" => session_of("none", "@say x"),
        path if path.ends_with("/credentials") => credential(),
        path if path.ends_with("}/files") => {
            json!({"type": "inline", "data": "", "path": "/workspace/intruder"})
        }
        path if path.ends_with("/events") => message("@say intruder"),
        _ => json!({}),
    }
}

#[tokio::test]
async fn another_owners_key_sees_and_changes_nothing() {
    let api = Api::new();
    let ids = belongings(&api).await;
    let core = api.core();
    let made = core
        .create_key("somebodyelse", NewKey::named("other"))
        .await;
    let (_, other) = made.expect("makes a key");
    let id_of = |name: &str| {
        let found = ids.iter().find(|(known, _)| *known == name);
        found.expect("there is one").1.clone()
    };
    let at = format!("/agents/sessions/{}", id_of("{session_id}"));
    let state = async || {
        [
            api.get(&at).await,
            api.get(&format!("{at}/items")).await,
            api.get(&format!("{at}/artifacts")).await,
            api.get(&format!("/agents/{}", id_of("{agent_id}"))).await,
            api.get("/files").await,
            api.get(&format!("/vaults/{}/credentials", id_of("{vault_id}")))
                .await,
        ]
    };
    let before = state().await;
    // What belongs to somebody else is refused in the words for what does not exist.
    let invented: Vec<(&str, String)> = ids
        .iter()
        .map(|(name, id)| {
            let (kind, _) = id.split_once('_').expect("an id");
            (*name, format!("{kind}_{}", "a".repeat(26)))
        })
        .collect();
    let mut tried = 0;
    for route in ROUTES {
        if route.coverage == Coverage::Not || !route.path.starts_with("/v1/") {
            continue;
        }
        let ask = async |path: &str| {
            let mut request = api.with_key(&other, route.verb.name(), path);
            if route.path == "/v1/files" && route.verb == Verb::Post {
                let parts = [
                    ("file", Some("other"), &b"other"[..]),
                    ("purpose", None, b"user_data"),
                ];
                let kind = "multipart/form-data; boundary=b0undary";
                request = request.header("content-type", kind).body(form(&parts));
            } else if route.verb == Verb::Post {
                request = request.json(&body_of(route));
            }
            let response = request.send().await.expect("answers");
            (
                response.status().as_u16(),
                response.text().await.expect("a body"),
            )
        };
        let path = path_of(route, &ids);
        assert!(!path.contains('{'), "{path} has a name without an id");
        let (status, body) = ask(&path).await;
        tried += 1;
        if path == path_of(route, &[]) {
            // A list, or a creation of the other's own.
            assert_eq!(status, 200, "{} {path}: {body}", route.verb.name());
            for (_, id) in &ids {
                assert!(!body.contains(id.as_str()), "{path} tells {id}");
            }
            continue;
        }
        assert_eq!(status, 404, "{} {path}: {body}", route.verb.name());
        let (_, unknown) = ask(&path_of(route, &invented)).await;
        let neutral = |body: String, ids: &[(&str, String)]| {
            ids.iter()
                .fold(body, |body, (name, id)| body.replace(id, name))
        };
        assert_eq!(neutral(body, &ids), neutral(unknown, &invented), "{path}");
    }
    assert!(tried > 15, "only {tried}");
    assert_eq!(state().await, before);
}
