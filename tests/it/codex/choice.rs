//! Agents that name their harness, whatever the profile of their worker says.

use pretty_assertions::assert_eq;

use super::installed::codex;
use super::stub::{Answer, Stub};
use super::world::{KEY, last_turn, rat, settled, stop, stop_killed, transcript};
use crate::kill::rat::Rat;

/// Creates a Session with these options and waits until its Turn is over; its id.
fn create(rat: &Rat, more: &[&str]) -> String {
    let mut args = vec![
        "sessions",
        "create",
        "--input",
        "go",
        "--no-wait",
        "-o",
        "id",
    ];
    args.extend(more);
    let session = rat.ok(&args).trim().to_owned();
    settled(rat, &session);
    session
}

/// What tells the harnesses apart: how each of them runs a command.
fn tools(stub: &Stub, request: usize) -> Vec<String> {
    let tools = stub.requests()[request].body["tools"].clone();
    let tools = tools.as_array().cloned().unwrap_or_default();
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_worker_drives_each_agent_with_its_own_harness() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let program = codex();
    let profile = format!("codex.program = {program:?}\nprovider.model = \"stub-model\"");
    let rat = Rat::with(&profile).with_environment([
        ("RAT_THINGS_PROVIDER", "responses".to_owned()),
        ("RAT_THINGS_BASE_URL", stub.base_url.clone()),
        ("OPENAI_API_KEY", KEY.to_owned()),
    ]);
    let create_agent = [
        "agents",
        "create",
        "--model",
        "stub-model",
        "--harness",
        "codex",
    ];
    let agent = rat.json(&create_agent);
    assert_eq!(agent["harness"], "codex");
    let agent = agent["id"].as_str().expect("an id").to_owned();
    for (at, (more, tool)) in [
        (&[][..], "shell"),
        (&["--harness", "codex"], "exec_command"),
        (&["--agent-id", &agent], "exec_command"),
        (&["--agent-id", &agent, "--harness", "responses"], "shell"),
    ]
    .into_iter()
    .enumerate()
    {
        let session = create(&rat, more);
        assert_eq!(transcript(&rat, &session), ["user: go", "assistant: hello"]);
        let tools = tools(&stub, at);
        assert!(tools.contains(&tool.to_owned()), "{more:?}: {tools:?}");
    }
    rat.ok(&["agents", "update", &agent, "--harness", ""]);
    assert_eq!(rat.json(&["agents", "get", &agent]).get("harness"), None);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_of_a_codex_profile_may_use_our_own_loop() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let rat = rat(&stub);
    create(&rat, &["--harness", "responses"]);
    assert!(tools(&stub, 0).contains(&"shell".to_owned()));
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_does_not_have_fails_the_turn_with_what_to_do() {
    let demo = Rat::with("");
    let session = create(&demo, &["--harness", "codex"]);
    assert_eq!(last_turn(&demo, &session).0, "failed");
    let message = demo.turns(&session)[0]["error"]["message"].clone();
    assert!(message.to_string().contains("provider.kind"), "{message}");
    demo.stop();

    let stub = Stub::script([]).await;
    let none = Rat::with("codex.program = \"/nowhere/codex\"").with_environment([
        ("RAT_THINGS_PROVIDER", "responses".to_owned()),
        ("RAT_THINGS_BASE_URL", stub.base_url.clone()),
        ("RAT_THINGS_MODEL", "stub-model".to_owned()),
        ("OPENAI_API_KEY", KEY.to_owned()),
    ]);
    let session = create(&none, &["--harness", "codex", "--model", "stub-model"]);
    let message = none.turns(&session)[0]["error"]["message"].clone();
    assert!(message.to_string().contains("npm install -g"), "{message}");
    stop(&none);
}
