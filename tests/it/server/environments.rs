//! Environments: what one is, the files of its workspace, and templates.

use serde_json::{Value, json};

use super::files::upload;
use super::world::{Api, read, refusal, session_of};

/// A Session whose first Turn ran this; its id and its environment's.
async fn managed(api: &Api, input: &str, files: Value) -> (String, String) {
    let mut body = session_of("openai_hosted", input);
    body["environment"]["files"] = files;
    body["stream"] = json!(true);
    let events = api.create(&body).await.all().await;
    let session = events[0]["session"]["id"].as_str().expect("an id");
    let shown = api.get(&format!("/agents/sessions/{session}")).await;
    let environment = shown["environment"]["id"].as_str().expect("an id");
    (session.to_owned(), environment.to_owned())
}

fn paths(page: &Value) -> Vec<&str> {
    let files = page["data"].as_array().expect("a page").iter();
    files
        .map(|file| file["path"].as_str().expect("a path"))
        .collect()
}

#[tokio::test]
async fn files_are_there_at_the_start_listed_in_pages_and_put_between_turns() {
    let api = Api::new();
    let uploaded = upload(&api, "up", b"uploaded").await;
    let start = json!([
        {"type": "inline", "data": "aW5saW5l", "path": "/workspace/in/line"},
        {"type": "file_id", "file_id": uploaded, "path": "/workspace/up"},
    ]);
    let make = "@exec cat in/line up > both && ln -s /etc/passwd link && ln -s /etc etc\n@say done";
    let (session, environment) = managed(&api, make, start).await;
    let at = format!("/agents/environments/{environment}");
    let info = api.get(&at).await;
    let files = &info["files"];
    assert_eq!(
        info,
        json!({
            "id": environment,
            "files": [
                {"type": "inline", "id": files[0]["id"], "path": "/workspace/in/line", "size_bytes": 6},
                {"type": "file_id", "id": files[1]["id"], "file_id": uploaded, "path": "/workspace/up", "size_bytes": 8},
            ],
            "object": "agent.environment", "plugins": [], "skills": [], "status": "connected", "type": "openai_hosted",
        })
    );
    let all = ["/workspace/up", "/workspace/in/line", "/workspace/both"];
    let page = api.get(&format!("{at}/files")).await;
    assert_eq!(paths(&page), all);
    assert_eq!(
        page["data"][2],
        json!({"environment_id": environment, "object": "agent.environment.file", "path": "/workspace/both", "size_bytes": 14})
    );
    assert_eq!(
        (&page["has_more"], &page["next"]),
        (&json!(false), &Value::Null)
    );
    let mut walked = Vec::new();
    let mut query = "?order=asc&limit=1".to_owned();
    loop {
        let page = api.get(&format!("{at}/files{query}")).await;
        walked.extend(paths(&page).into_iter().map(str::to_owned));
        match page["next"].as_str() {
            Some(next) => query = format!("?order=asc&limit=1&page={next}"),
            None => break,
        }
    }
    walked.reverse();
    assert_eq!(walked, all);
    let page = api.get(&format!("{at}/files?path=/workspace/in")).await;
    assert_eq!(paths(&page), ["/workspace/in/line"]);

    let put = json!({"type": "inline", "data": "bmV3", "path": "/workspace/new/file"});
    let made = api.post(&format!("{at}/files"), &put).await;
    assert_eq!(
        made,
        json!({"environment_id": environment, "object": "agent.environment.file", "path": "/workspace/new/file", "size_bytes": 3})
    );
    let put = json!({"type": "file_id", "file_id": uploaded, "path": "/workspace/both"});
    assert_eq!(
        api.post(&format!("{at}/files"), &put).await["size_bytes"],
        8
    );
    api.send(
        &session,
        "@exec cat new/file both && echo more >> new/file && ls -l new",
    )
    .await;
    let items = format!("/agents/sessions/{session}/items?limit=100");
    let mut seen = String::new();
    for _ in 0..600 {
        seen = api.get(&items).await.to_string();
        if seen.contains("newuploaded") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    // The agent reads it, and it is its own.
    assert!(
        seen.contains("newuploaded") && !seen.contains("Permission denied"),
        "{seen}"
    );

    for (body, param) in [
        (
            json!({"type": "inline", "data": "!", "path": "/workspace/a"}),
            "data",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/etc/a"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/../a"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/link"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/etc/a"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/outputs"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/.codex/a"}),
            "path",
        ),
        (
            json!({"type": "inline", "data": "", "path": "/workspace/a", "file_id": "x"}),
            "file_id",
        ),
    ] {
        let (status, error) =
            refusal(api.request("POST", &format!("{at}/files")).json(&body)).await;
        assert_eq!(
            (status, &error["param"]),
            (400, &json!(param)),
            "{body} {error}"
        );
    }
    for (query, param) in [
        ("?path=/etc", "path"),
        ("?path=/workspace/etc", "path"),
        ("?page=nonsense", "page"),
        ("?after=x", "after"),
        ("?limit=101", "limit"),
    ] {
        let (status, error) = refusal(api.request("GET", &format!("{at}/files{query}"))).await;
        assert_eq!(
            (status, &error["param"]),
            (400, &json!(param)),
            "{query} {error}"
        );
    }
    let unknown = json!({"type": "file_id", "file_id": format!("file_{}", "a".repeat(26)), "path": "/workspace/a"});
    let (status, _) = refusal(api.request("POST", &format!("{at}/files")).json(&unknown)).await;
    assert_eq!(status, 404);
    let gone = api
        .request("DELETE", &format!("/agents/sessions/{session}"))
        .send()
        .await;
    read(gone.expect("answers")).await;
    for path in [at.clone(), format!("{at}/files")] {
        assert_eq!(refusal(api.request("GET", &path)).await.0, 404);
    }
}

#[tokio::test]
async fn an_environment_that_is_not_made_yet_has_no_files_to_list_or_put() {
    let api = Api::new();
    let (_, environment) = managed(&api, "@say nothing runs", json!([])).await;
    let at = format!("/agents/environments/{environment}");
    assert_eq!(api.get(&at).await["status"], "pending");
    let put = json!({"type": "inline", "data": "", "path": "/workspace/a"});
    for request in [
        api.request("GET", &format!("{at}/files")),
        api.request("POST", &format!("{at}/files")).json(&put),
    ] {
        let (status, error) = refusal(request).await;
        assert_eq!((status, &error["code"]), (409, &json!("conflict_error")));
    }
    let unknown = format!("/agents/environments/env_{}", "a".repeat(26));
    assert_eq!(refusal(api.request("GET", &unknown)).await.0, 404);
}

#[tokio::test]
async fn templates_are_made_listed_changed_and_deleted() {
    let api = Api::new();
    let uploaded = upload(&api, "up", b"uploaded").await;
    let at = "/agents/environments/templates";
    let body = json!({
        "name": "work", "env": {"TOKEN": "hunter2"},
        "files": [
            {"type": "inline", "data": "aHVudGVyMg==", "path": "/workspace/a"},
            {"type": "file_id", "file_id": uploaded, "path": "/workspace/b"},
        ],
        "network": {"access": "restricted", "allowed_domains": ["example.org"]},
    });
    let made = api.post(at, &body).await;
    assert_eq!(
        made,
        json!({
            "id": made["id"], "capability_directories": [], "created_at": made["created_at"],
            "files": [
                {"type": "inline", "path": "/workspace/a", "size_bytes": 7},
                {"type": "file_id", "file_id": uploaded, "path": "/workspace/b"},
            ],
            "name": "work", "network": {"access": "restricted", "allowed_domains": ["example.org"]},
            "object": "agent.environment.template", "packages": {"npm": [], "python": [], "system": []},
            "plugins": [], "skills": [], "updated_at": made["created_at"],
        })
    );
    let empty = api.post(at, &json!({})).await;
    assert_eq!(api.get(at).await["data"], json!([empty, made]));
    let one = format!("{at}/{}", made["id"].as_str().expect("an id"));
    assert_eq!(api.get(&one).await, made);
    let changed = api
        .post(
            &one,
            &json!({"files": null, "name": null, "network": {"access": "disabled"}}),
        )
        .await;
    assert_eq!(
        (&changed["files"], &changed["name"]),
        (&json!([]), &Value::Null)
    );
    assert_eq!(changed["network"]["access"], "disabled");
    for (body, param) in [
        (json!({"packages": {"npm": ["left-pad"]}}), "packages"),
        (
            json!({"setup_commands": [{"command": "true"}]}),
            "setup_commands",
        ),
        (json!({"desktop": {"enabled": true}}), "desktop"),
        (
            json!({"capability_directories": ["/x"]}),
            "capability_directories",
        ),
        (json!({"env": {"PATH": "x"}}), "env.PATH"),
        (
            json!({"files": [{"type": "inline", "data": "", "path": "/x"}]}),
            "files[0].path",
        ),
        (
            json!({"network": {"access": "restricted"}}),
            "network.allowed_domains",
        ),
        (json!({"unknown": 1}), "unknown"),
    ] {
        for path in [at, &one] {
            let (status, error) = refusal(api.request("POST", path).json(&body)).await;
            assert_eq!(
                (status, &error["param"]),
                (400, &json!(param)),
                "{path} {error}"
            );
        }
    }
    let gone = read(api.request("DELETE", &one).send().await.expect("answers")).await;
    assert_eq!(
        gone,
        json!({"id": made["id"], "deleted": true, "object": "agent.environment.template.deleted"})
    );
    assert_eq!(refusal(api.request("GET", &one)).await.0, 404);
    assert_eq!(api.get(at).await["data"], json!([empty]));
}
