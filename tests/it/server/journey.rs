//! What a client does all day, from the first request to the last.

use pretty_assertions::assert_eq;
use reqwest::StatusCode;
use serde_json::{Value, json};

use super::world::{Api, ids, kinds, lasting, message, read, refusal, session_of};

#[tokio::test]
async fn a_session_is_created_streamed_and_read_back() {
    let api = Api::new();
    let make = "@exec mkdir -p outputs && printf 'one\\ntwo\\n' > outputs/report.md\n@say done";
    let mut stream = api.create(&session_of("openai_hosted", make)).await;
    let events = stream.all().await;
    let seen = kinds(&events);
    assert_eq!(
        seen[..2],
        ["agent.session.created", "agent.session.turn.created"]
    );
    assert_eq!(
        seen[seen.len() - 2..],
        ["agent.session.turn.completed", "agent.session.idle"]
    );
    let unique: std::collections::BTreeSet<String> = ids(&events).into_iter().collect();
    assert_eq!(unique.len(), events.len());
    assert!(events.iter().all(|event| event["obfuscation"].is_string()));

    let session = events[0]["session"]["id"].as_str().expect("an id");
    let at = format!("/agents/sessions/{session}");
    let resource = api.get(&at).await;
    assert_eq!(resource["status"], "idle");
    let cli = |line: &str| api.env.json(&format!("{line} {session}"));
    assert_eq!(resource, cli("sessions get"));
    assert_eq!(api.get("/agents/sessions").await["data"], json!([resource]));

    let items = api.get(&format!("{at}/items?order=asc&limit=100")).await;
    assert_eq!(items["data"], cli("sessions items")["data"]);
    let told: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "agent.session.turn.item.done")
        .map(|event| &event["item"])
        .collect();
    let made: Vec<&Value> = items["data"].as_array().expect("a list")[1..]
        .iter()
        .collect();
    assert_eq!(told, made);

    for none in ["traces", "subagents"] {
        let page = api.get(&format!("{at}/{none}?limit=5&order=asc")).await;
        assert_eq!(
            (&page["data"], &page["has_more"]),
            (&json!([]), &json!(false))
        );
    }
    let turns = api.get(&format!("{at}/turns")).await;
    let turn = &turns["data"][0];
    let turn_at = format!("{at}/turns/{}", turn["id"].as_str().expect("an id"));
    assert_eq!(api.get(&turn_at).await, *turn);
    assert_eq!(turn["status"], "completed");
    let of_turn = api.get(&format!("{turn_at}/items?order=asc")).await;
    assert_eq!(of_turn["data"], items["data"]);

    let artifacts = api.get(&format!("{at}/artifacts")).await;
    let artifact = &artifacts["data"][0];
    assert_eq!(
        (&artifact["path"], artifacts["last_id"].as_str()),
        (
            &json!("/workspace/outputs/report.md"),
            artifact["id"].as_str()
        )
    );
    let environment = artifact["environment_id"].as_str().expect("an id");
    let here = api
        .get(&format!("{at}/artifacts?environment_id={environment}"))
        .await;
    assert_eq!(here, artifacts);
    let elsewhere = api
        .get(&format!("{at}/artifacts?environment_id=env_x"))
        .await;
    assert_eq!(elsewhere["data"], json!([]));
    let artifact_at = format!("{at}/artifacts/{}", artifact["id"].as_str().expect("an id"));
    assert_eq!(api.get(&artifact_at).await, *artifact);
    let content = api
        .request("GET", &format!("{artifact_at}/content"))
        .send()
        .await;
    let content = content.expect("answers");
    assert_eq!(content.headers()["content-length"], "8");
    assert_eq!(content.headers()["content-disposition"], "attachment");
    assert_eq!(content.bytes().await.expect("a body"), "one\ntwo\n");

    let gone = api.request("DELETE", &artifact_at).send().await;
    let id = artifact["id"].clone();
    assert_eq!(
        read(gone.expect("answers")).await,
        json!({"id": id, "deleted": true, "object": "agent.session.artifact.deleted"})
    );
    for (method, path) in [
        ("GET", artifact_at.clone()),
        ("DELETE", artifact_at.clone()),
        ("GET", format!("{artifact_at}/content")),
    ] {
        assert_eq!(refusal(api.request(method, &path)).await.0, 404);
    }
    assert_eq!(api.get(&format!("{at}/artifacts")).await["data"], json!([]));
}

#[tokio::test]
async fn a_function_is_called_and_its_answer_goes_on_with_the_same_turn() {
    let api = Api::new();
    let mut body = session_of("none", "@call lookup {\"city\": \"Paris\"}");
    let parameters = json!({"type": "object", "properties": {}});
    body["agent"]["tools"] = json!([{"type": "function", "name": "lookup", "description": "", "parameters": parameters}]);
    let mut stream = api.create(&body).await;
    let events = stream.until("agent.session.requires_action").await;
    let session = &events.last().expect("is there")["session"];
    let action = &session["required_actions"][0];
    assert_eq!(
        (&action["type"], &action["name"]),
        (&json!("function_call"), &json!("lookup"))
    );
    let at = format!(
        "/agents/sessions/{}/events",
        session["id"].as_str().expect("an id")
    );
    let answer = |call: &Value| {
        json!({"events": [{
            "type": "agent.session.input.tool_result",
            "call_id": call, "turn_id": action["turn_id"], "success": true, "output": "sunny",
        }]})
    };
    // A result that comes before its call is refused in the words the SDKs repeat it for, under the same key.
    let early = api.request("POST", &at).header("idempotency-key", "k");
    let early = super::world::refusal(early.json(&answer(&json!("call_none")))).await;
    assert_eq!(
        (early.0, &early.1["code"], &early.1["message"]),
        (
            400,
            &json!("invalid_request_error"),
            &json!("Unknown pending tool call: call_none")
        )
    );
    let good = api.request("POST", &at).header("idempotency-key", "k");
    let good = good
        .json(&answer(&action["call_id"]))
        .send()
        .await
        .expect("answers");
    assert_eq!(good.status(), StatusCode::ACCEPTED);
    let rest = stream.all().await;
    let seen = kinds(&rest);
    assert_eq!(seen.last(), Some(&"agent.session.idle"));
    assert!(!seen.contains(&"agent.session.turn.created"), "{seen:?}");
}

#[tokio::test]
async fn a_session_is_listed_changed_cancelled_and_deleted() {
    let api = Api::new();
    let mut body = session_of(
        "none",
        "@slow 20 one two three four five six seven eight nine ten",
    );
    body["metadata"] = json!({"a b": "c&d"});
    body.as_object_mut().expect("an object").remove("stream");
    let created = api.post("/agents/sessions", &body).await;
    let at = format!(
        "/agents/sessions/{}",
        created["id"].as_str().expect("an id")
    );
    for (query, found) in [
        ("metadata[a+b]=c%26d", 1),
        ("metadata%5Ba%20b%5D=c%26d&limit=&after=", 1),
        ("metadata[a+b]=other", 0),
        ("agent_id=agent_x", 0),
    ] {
        let page = api.get(&format!("/agents/sessions?{query}")).await;
        assert_eq!(
            page["data"].as_array().map(Vec::len),
            Some(found),
            "{query}"
        );
    }
    let id = created["id"].as_str().expect("an id");
    let mut stream = api
        .stream(id, "?include_obfuscation=false&stream=true")
        .await;
    let cancel = json!({"events": [{"type": "agent.session.input.cancel"}]});
    let sent = api
        .request("POST", &format!("{at}/events"))
        .json(&cancel)
        .send()
        .await;
    assert_eq!(sent.expect("answers").status(), StatusCode::ACCEPTED);
    let events = stream.until("agent.session.idle").await;
    assert!(kinds(&events).contains(&"agent.session.turn.cancelled"));
    assert!(
        events
            .iter()
            .all(|event| event.get("obfuscation").is_none())
    );
    let changed = api.post(&at, &json!({"metadata": {"new": "yes"}})).await;
    assert_eq!(changed["metadata"], json!({"new": "yes"}));
    let same = api.request("POST", &at).send().await.expect("answers");
    assert_eq!(
        super::world::read(same).await["metadata"],
        changed["metadata"]
    );
    let gone = api.request("DELETE", &at).send().await.expect("answers");
    let gone = super::world::read(gone).await;
    assert_eq!(
        gone,
        json!({"id": id, "deleted": true, "object": "agent.session.deleted"})
    );
    assert_eq!(stream.next().await, None, "its stream ends");
    let (status, _) = super::world::refusal(api.request("GET", &at)).await;
    assert_eq!(status, 404);
}

#[tokio::test]
async fn agents_are_saved_listed_in_pages_changed_and_forgotten() {
    let api = Api::new();
    let mut made = Vec::new();
    for name in ["a", "b", "c"] {
        let agent = api
            .post("/agents", &json!({"model": "demo", "name": name}))
            .await;
        made.push(agent);
    }
    let first = api.get("/agents?limit=2&order=asc").await;
    assert_eq!(
        (&first["data"], &first["has_more"]),
        (&json!(made[..2]), &json!(true))
    );
    let after = first["last_id"].as_str().expect("an id");
    let second = api
        .get(&format!("/agents?limit=2&order=asc&after={after}"))
        .await;
    assert_eq!(
        (&second["data"], &second["has_more"]),
        (&json!(made[2..]), &json!(false))
    );
    let at = format!("/agents/{}", made[0]["id"].as_str().expect("an id"));
    let changed = api.post(&at, &json!({"name": null})).await;
    assert_eq!(changed["name"], json!(null));
    assert_eq!(api.get(&at).await, changed);
    let saved = json!({"agent_id": changed["id"], "environment": {"type": "openai_hosted"}});
    let session = api.post("/agents/sessions", &saved).await;
    assert_eq!(session["agent"]["id"], changed["id"]);
    let gone = api.request("DELETE", &at).send().await.expect("answers");
    assert_eq!(super::world::read(gone).await["object"], "agent.deleted");
    assert_eq!(super::world::refusal(api.request("GET", &at)).await.0, 404);
}

#[tokio::test]
async fn what_the_command_line_made_is_there_and_the_other_way_round() {
    let api = Api::new();
    let session = api.env.session("@say from the command line");
    let at = format!("/agents/sessions/{session}");
    let mut stream = api.stream(&session, "").await;
    let sent = api
        .request("POST", &format!("{at}/events"))
        .json(&message("@say over HTTP"));
    let receipt = sent.send().await.expect("answers").headers()["x-receipt-id"].clone();
    assert!(receipt.to_str().is_ok_and(|id| id.starts_with("rcpt_")));
    let told = stream.until("agent.session.idle").await;
    let events = api.env.json(&format!("sessions events {session} --all"));
    let all: Vec<Value> = events["data"].as_array().expect("a list").clone();
    let told = ids(&lasting(&told));
    assert_eq!(ids(&all)[all.len() - told.len()..], told);
}
