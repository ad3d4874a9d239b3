//! `/openapi.json` says what the router and the readers do.

use std::collections::HashSet;

use rat_things::server::document;
use rat_things::server::routes::{Coverage, ROUTES};
use serde_json::Value;

use super::world::{Api, refusal};

/// Calls with every object of a document.
fn each(value: &Value, look: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            look(map);
            map.values().for_each(|value| each(value, look));
        }
        Value::Array(all) => all.iter().for_each(|value| each(value, look)),
        _ => {}
    }
}

#[test]
fn every_route_is_in_it_and_nothing_else() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    let told: HashSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, verbs)| {
            let verbs = verbs.as_object().expect("operations");
            verbs.keys().map(|verb| (path.clone(), verb.to_uppercase()))
        })
        .collect();
    let routed = ROUTES.iter();
    let routed = routed.map(|route| (route.path.to_owned(), route.verb.name().to_owned()));
    assert_eq!(told, routed.collect());
}

#[test]
fn a_route_that_is_not_built_has_no_answer_but_refusals() {
    let document = document();
    for route in ROUTES {
        let operation = &document["paths"][route.path][route.verb.name().to_lowercase()];
        let statuses = operation["responses"].as_object().expect("responses");
        let built = route.coverage != Coverage::Not;
        let good = statuses.keys().filter(|status| status.starts_with('2'));
        assert_eq!(good.count(), usize::from(built), "{}", route.path);
        assert_eq!(statuses.contains_key("501"), !built, "{}", route.path);
    }
}

#[test]
fn whatever_is_referred_to_is_there() {
    let document = document();
    let mut references = 0;
    each(&document, &mut |object| {
        let Some(Value::String(to)) = object.get("$ref") else {
            return;
        };
        references += 1;
        let pointer = to.strip_prefix('#').expect("a place in this document");
        assert!(document.pointer(pointer).is_some(), "{to}");
    });
    assert!(references > 300, "{references}");
}

#[test]
fn every_object_of_a_body_refuses_what_it_does_not_know() {
    let document = document();
    let schemas = document["components"]["schemas"].as_object();
    for (name, schema) in schemas.expect("schemas") {
        if !name.ends_with("Param") && !name.ends_with("Params") {
            continue;
        }
        let one = [schema.clone()];
        let runs = schema["oneOf"].as_array().map_or(&one[..], Vec::as_slice);
        for run in runs.iter().filter(|run| run["type"] == "object") {
            assert_eq!(run["additionalProperties"], false, "{name}");
        }
    }
}

#[tokio::test]
async fn it_is_shown_to_everybody_as_it_is() {
    let api = Api::new();
    let url = api.base.replace("/v1", "/openapi.json");
    let http = reqwest::Client::builder().no_proxy().build();
    let got = http.expect("builds").get(url).send().await;
    let shown: Value = got.expect("answers").json().await.expect("JSON");
    assert_eq!(shown, document());
}

#[tokio::test]
async fn a_filter_of_metadata_obeys_the_rules_of_metadata() {
    let api = Api::new();
    for query in [
        "metadata[]=x".to_owned(),
        format!("metadata[k]={}", "v".repeat(513)),
    ] {
        let path = format!("/agents/sessions?{query}");
        let (status, error) = refusal(api.request("GET", &path)).await;
        let param = error["param"].as_str().unwrap_or_default();
        assert!(
            status == 400 && param.starts_with("metadata"),
            "{query}: {error}"
        );
    }
}

#[tokio::test]
async fn what_a_stream_does_anyway_is_said_with_a_boolean() {
    let api = Api::new();
    let session = api.session("@say hello").await;
    let path = format!("/agents/sessions/{session}/events");
    let (status, error) = refusal(api.request("GET", &format!("{path}?stream=1"))).await;
    assert_eq!((status, error["param"].as_str()), (400, Some("stream")));
    api.stream(&session, "?stream=true").await;
}

#[tokio::test]
async fn a_parameter_of_another_route_is_refused() {
    let api = Api::new();
    for (path, name) in [
        ("/agents", "agent_id"),
        ("/agents", "metadata[team]"),
        ("/agents/agent_1", "limit"),
        ("/agents/sessions/sess_1/items", "stream"),
        ("/agents/sessions", "metadata"),
        ("/agents/sessions", "metadata[team"),
    ] {
        let (status, error) = refusal(api.request("GET", &format!("{path}?{name}=x"))).await;
        assert_eq!(
            (status, error["param"].as_str()),
            (400, Some(name)),
            "{path}"
        );
    }
}
