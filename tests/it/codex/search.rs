//! Search on the web, which the provider does.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::native::{goes_on_from, thread};
use super::servers::create;
use super::stub::{Answer, Asked, Stub};
use super::world::{last_turn, rat, send, settled, stop};

#[tokio::test(flavor = "multi_thread")]
async fn a_search_is_asked_for_as_the_agent_says_and_is_an_item_and_part_of_the_past() {
    let found = |action: Value| json!({"type": "web_search_call", "action": action});
    let stub = Stub::script([
        Answer::new()
            .item(found(
                json!({"type": "search", "query": "q", "queries": ["q", "r"]}),
            ))
            .item(found(
                json!({"type": "open_page", "url": "https://a.example/"}),
            ))
            .says("found"),
        Answer::new().says("again"),
        Answer::new().says("and again"),
    ])
    .await;
    let rat = rat(&stub);
    let tool = json!({"type": "web_search", "mode": "live", "context_size": "high", "allowed_domains": ["a.example"],
        "location": {"country": "DE", "city": "Berlin"}});
    let session = create(&rat, &[tool], "none", "go");
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let asked = stub.asked(1).await;
    let tools = asked.body["tools"].as_array().expect("there are tools");
    let search = tools
        .iter()
        .find(|tool| tool["type"] == "web_search")
        .expect("it is offered");
    assert_eq!(search["filters"]["allowed_domains"], json!(["a.example"]));
    assert_eq!(search["search_context_size"], "high");
    assert_eq!(search["user_location"]["city"], "Berlin");
    assert_eq!(search["external_web_access"], true);
    let items = rat.items(&session);
    let searches: Vec<&Value> = items
        .iter()
        .filter(|item| item["type"] == "web_search_call")
        .collect();
    let actions: Vec<&Value> = searches.iter().map(|item| &item["action"]).collect();
    assert_eq!(
        actions,
        [
            &json!({"type": "search", "query": "q", "queries": ["q", "r"]}),
            &json!({"type": "open_page", "url": "https://a.example/"}),
        ]
    );
    assert_eq!(searches[0]["status"], "completed");
    assert!(
        searches[0]["id"]
            .as_str()
            .is_some_and(|id| id.starts_with("ws_"))
    );
    send(&rat, &session, "and now");
    let second = stub.asked(2).await;
    let past = second
        .input()
        .iter()
        .filter(|item| item["type"] == "web_search_call");
    assert_eq!(past.count(), 2);
    assert_eq!(thread(&asked), thread(&second));
    send(&rat, &session, "and again");
    let third = stub.asked(3).await;
    assert_eq!(thread(&second), thread(&third));
    assert!(goes_on_from(&third, &second));
    let tools = |asked: &Asked| asked.body["tools"].clone();
    assert_eq!(tools(&asked), tools(&third));
    let searches = |item: &&Value| item["type"] == "web_search_call";
    assert_eq!(rat.items(&session).iter().filter(searches).count(), 2);
    let shown = rat.ok(&["sessions", "items", &session]);
    assert!(shown.contains("web search q"), "{shown}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_tool_and_when_it_is_disabled_no_search_is_offered() {
    let disabled = json!({"type": "web_search", "mode": "disabled"});
    for tools in [vec![], vec![disabled]] {
        let stub = Stub::script([Answer::new().says("done")]).await;
        let rat = rat(&stub);
        let session = create(&rat, &tools, "none", "go");
        settled(&rat, &session);
        let asked = stub.asked(1).await;
        let tools = asked.body["tools"].as_array().cloned().unwrap_or_default();
        assert!(
            tools.iter().all(|tool| tool["type"] != "web_search"),
            "{tools:?}"
        );
        // Nor what needs an environment.
        for name in ["exec_command", "write_stdin", "apply_patch"] {
            assert!(tools.iter().all(|tool| tool["name"] != name), "{name}");
        }
        stop(&rat);
    }
}
