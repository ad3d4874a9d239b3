//! The page of numbers: its format, what it counts, and who may read it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;

use super::world::{Api, refusal};
use crate::cli::env::{PATIENCE, TestEnv};

/// A page, read as strictly as the format is written down.
#[derive(Debug, Default)]
struct Page {
    /// Type of each family.
    families: BTreeMap<String, String>,
    /// Value of each sample, by name and labels as they stand there.
    samples: BTreeMap<String, f64>,
}

impl Page {
    /// The value of a sample, 0 if it is not there.
    fn value(&self, sample: &str) -> f64 {
        self.samples.get(sample).copied().unwrap_or_default()
    }
}

/// Reads a page: every family has its help and its type once and before its samples, samples of a family stand together and once,
/// names and labels are well formed, and histograms add up.
fn parse(text: &str) -> Page {
    assert!(text.ends_with('\n'), "the last line is not one");
    let mut page = Page::default();
    let mut helped = BTreeSet::new();
    let mut family = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help text");
            assert!(!help.is_empty() && helped.insert(name.to_owned()), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(helped.contains(name), "{line} has no help before it");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            let known = page.families.insert(name.to_owned(), kind.to_owned());
            assert_eq!(known, None, "{line}");
            family = name.to_owned();
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').expect("a sample and a value");
        let name = sample.split('{').next().expect("a name");
        assert!(is_name(name), "{line}");
        let part = name.strip_prefix(family.as_str());
        let parts: &[&str] = match page.families[&family].as_str() {
            "histogram" => &["_bucket", "_sum", "_count"],
            _ => &[""],
        };
        assert!(part.is_some_and(|part| parts.contains(&part)), "{line}");
        if let Some(labels) = sample.strip_prefix(name).filter(|l| !l.is_empty()) {
            check_labels(labels);
        }
        let value: f64 = value.parse().expect("a number");
        assert!(value >= 0.0 && value.is_finite(), "{line}");
        let known = page.samples.insert(sample.to_owned(), value);
        assert_eq!(known, None, "{line}");
    }
    check_histograms(&page);
    page
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// `{name="value",…}`; none of our values needs an escape.
fn check_labels(labels: &str) {
    let inner = labels.strip_prefix('{').and_then(|l| l.strip_suffix("\"}"));
    for label in inner.expect("braces").split("\",") {
        let (name, value) = label.split_once("=\"").expect("a name and a value");
        assert!(is_name(name), "{labels}");
        assert!(!value.contains(['"', '\\']), "{labels}");
    }
}

fn check_histograms(page: &Page) {
    let histograms = page
        .families
        .iter()
        .filter(|(_, kind)| *kind == "histogram");
    for (name, _) in histograms {
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        let prefix = format!("{name}_bucket{{le=\"");
        for (sample, count) in &page.samples {
            if let Some(bound) = sample.strip_prefix(&prefix) {
                let bound = bound.strip_suffix("\"}").expect("a bound");
                let bound = bound.replace("+Inf", "inf").parse().expect("a number");
                buckets.push((bound, *count));
            }
        }
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        assert!(
            buckets.is_sorted_by(|a, b| a.1 <= b.1),
            "{name}: {buckets:?}"
        );
        let (last, all) = buckets.last().expect("there are buckets");
        assert_eq!(
            (*last, *all),
            (f64::INFINITY, page.value(&format!("{name}_count")))
        );
    }
}

async fn text(api: &Api) -> String {
    let url = api.base.replace("/v1", "/metrics");
    let request = reqwest::Client::builder().no_proxy().build();
    let request = request.expect("builds").get(url).bearer_auth(&api.key);
    let response = request.send().await.expect("answers");
    assert_eq!(response.status().as_u16(), 200);
    let kind = response.headers()["content-type"].to_str().ok();
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    response.text().await.expect("a page")
}

async fn page(api: &Api) -> Page {
    parse(&text(api).await)
}

#[tokio::test]
async fn what_happens_is_counted_whoever_does_it() {
    let api = Api::new();
    let before = page(&api).await;
    assert_eq!(before.value("rat_things_store_answers"), 1.0);
    assert_eq!(
        before.value("rat_things_turns_ended_total{end=\"completed\"}"),
        0.0
    );
    let session = api.session("@say hi").await;
    api.session("@fail server_overloaded too many").await;
    // A command in another process, and not through HTTP.
    api.env.session("@say from the command line");
    let mut stream = api.stream(&session, "").await;
    api.send(&session, "@sleep 600000").await;
    stream.until("agent.session.in_progress").await;
    let during = page(&api).await;
    assert_eq!(during.value("rat_things_http_streams_open"), 1.0);
    assert!(during.value("rat_things_http_connections_open") >= 1.0);
    assert!(during.value("rat_things_agenda_entries{group=\"execute\"}") >= 1.0);
    let cancel = json!({"events": [{"type": "agent.session.input.cancel"}]});
    let path = format!("/agents/sessions/{session}/events");
    let sent = api.request("POST", &path).json(&cancel).send().await;
    assert_eq!(sent.expect("answers").status().as_u16(), 202);
    stream.until("agent.session.idle").await;
    drop(stream);
    let ends = |page: &Page| {
        ["completed", "failed", "cancelled"]
            .map(|end| page.value(&format!("rat_things_turns_ended_total{{end=\"{end}\"}}")))
    };
    // A ring may be on its way, and a stream takes a moment to notice that its client left.
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let after = loop {
        let after = page(&api).await;
        if ends(&after) == [2.0, 1.0, 1.0] && after.value("rat_things_http_streams_open") == 0.0 {
            break after;
        }
        assert!(tokio::time::Instant::now() < deadline, "{after:#?}");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let accepted = "rat_things_inputs_accepted_total{repeated=\"false\"}";
    assert_eq!(after.value(accepted), 2.0, "a message and a cancel");
    assert_eq!(after.value("rat_things_sessions_created_total"), 2.0);
    assert!(after.value("rat_things_runs_claimed_total") >= 4.0);
    assert_eq!(after.value("rat_things_model_calls_total"), 2.0);
    for kind in ["input", "output"] {
        let tokens = format!("rat_things_model_tokens_total{{kind=\"{kind}\"}}");
        assert!(after.value(&tokens) > 0.0, "{tokens}");
    }
    assert!(after.value("rat_things_commits_total{outcome=\"applied\"}") >= 4.0);
    assert!(after.value("rat_things_commit_duration_seconds_count") >= 4.0);
    let created = "rat_things_http_requests_total{method=\"POST\",route=\"/v1/agents/sessions\",status=\"200\"}";
    assert_eq!(after.value(created), 2.0);
    for (sample, value) in &before.samples {
        let name = sample.split('{').next().expect("a name");
        if name.ends_with("_total") || name.ends_with("_count") {
            assert!(after.value(sample) >= *value, "{sample} went back");
        }
    }
}

#[tokio::test]
async fn no_number_names_a_session_an_owner_or_a_text() {
    let api = Api::new();
    let session = api.session("@say a-secret-word").await;
    let unknown = api.request("GET", "/agents/sess_unknown/a-path-of-the-client");
    assert_eq!(refusal(unknown).await.0, 404);
    let text = text(&api).await;
    parse(&text);
    for told in [
        session.as_str(),
        "a-secret-word",
        "a-path-of-the-client",
        "127.0.0.1",
    ] {
        assert!(!text.contains(told), "{told}: {text}");
    }
    assert!(
        text.contains("method=\"-\",route=\"-\",status=\"404\"} 1\n"),
        "{text}"
    );
}

#[tokio::test]
async fn numbers_are_for_keys_that_may_look_and_for_this_machine_where_no_key_is_wanted() {
    let api = Api::new();
    let writer = api
        .env
        .json("keys create --name w --scope api.agents.write");
    let reader = api.env.json("keys create --name r --scope api.agents.read");
    let ask = async |api: &Api, key: Option<&str>| {
        let url = api.base.replace("/v1", "/metrics");
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .expect("builds");
        let request = client.get(url);
        let request = match key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        request.send().await.expect("answers").status().as_u16()
    };
    assert_eq!(ask(&api, None).await, 401);
    assert_eq!(ask(&api, writer["key"].as_str()).await, 403);
    assert_eq!(ask(&api, reader["key"].as_str()).await, 200);
    drop(api);
    let open = Api::with(TestEnv::new(), &["--no-auth"]);
    assert_eq!(ask(&open, None).await, 200);
}

#[tokio::test]
async fn the_page_about_metrics_lists_exactly_what_there_is() {
    let api = Api::new();
    let served: Vec<(String, String)> = page(&api).await.families.into_iter().collect();
    let docs = include_str!("../../../docs/metrics.md");
    let mut listed: Vec<(String, String)> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("| `rat_things_"))
        .map(|rest| {
            let mut cells = rest.split('|');
            let name = cells.next().expect("a name").trim().trim_end_matches('`');
            let kind = cells.next().expect("a type").trim();
            (format!("rat_things_{name}"), kind.to_owned())
        })
        .collect();
    listed.sort();
    pretty_assertions::assert_eq!(listed, served);
}
