//! Agents that the agent starts: each has a history of its own, what they do is recorded and happens once, and none outlives its process.

/// Codex' own record of a conversation in which agents were started.
mod resumed;
/// What is recorded before a model is told it.
mod told;

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::native::{goes_on_from, thread};
use super::stub::{Answer, Asked, Gate, Stub};
use super::world::{codexes, last_turn, rat, send, settled, stop, stop_killed, the_codex};
use crate::kill::processes::Role;
use crate::kill::rat::{Rat, until};

/// Whether the one that asks may start others: those that were started may not.
pub(crate) fn is_root(asked: &Asked) -> bool {
    let tools = asked.body["tools"].as_array();
    let mut tools = tools.into_iter().flatten();
    tools.any(|tool| tool["name"] == "multi_agent_v1")
}

/// A call that is about other agents.
pub(crate) fn delegates(call_id: &str, tool: &str, arguments: &Value) -> Answer {
    Answer::new().item(
        json!({"type": "function_call", "call_id": call_id, "name": tool,
        "namespace": "multi_agent_v1", "arguments": arguments.to_string()}),
    )
}

/// Codex' name of the agent that this call started.
pub(crate) fn started_by(asked: &Asked, call_id: &str) -> Option<String> {
    let told = asked.outputs_of(call_id);
    let said: Value = serde_json::from_str(told.first()?).ok()?;
    said["agent_id"].as_str().map(str::to_owned)
}

pub(crate) fn was_told(asked: &Asked, call_id: &str) -> bool {
    !asked.outputs_of(call_id).is_empty()
}

/// A Session whose Agent may start so many others at once.
fn request(input: &str, most: u64) -> Value {
    json!({
        "agent": {"model": "stub-model", "multi_agent": {"enabled": true, "max_concurrent_subagents": most}},
        "environment": {"type": "openai_hosted"},
        "input": input,
    })
}

fn create(rat: &Rat, input: &str, most: u64) -> String {
    let request = request(input, most);
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let args = ["sessions", "create", "-f", file, "--no-wait", "-o", "id"];
    rat.ok(&args).trim().to_owned()
}

pub(crate) fn data(of: &Value) -> Vec<Value> {
    of["data"].as_array().cloned().unwrap_or_default()
}

pub(crate) fn subagents(rat: &Rat, session: &str) -> Vec<Value> {
    data(&rat.json(&["sessions", "subagents", session, "--all"]))
}

/// What an Item is, in a few words; agents by their place.
fn lines(items: &[Value], subagents: &[Value]) -> Vec<String> {
    let who = |id: &Value| {
        let place = subagents.iter().position(|one| one["id"] == *id);
        place.map_or("root".to_owned(), |at| format!("sub {at}"))
    };
    let text = |item: &Value| {
        let parts = item["content"].as_array().into_iter().flatten();
        let texts = parts.filter_map(|part| part["text"].as_str());
        texts.collect::<String>()
    };
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |item: &Value| match item["type"].as_str().unwrap_or_default() {
        "message" => format!("{}: {}", word(&item["role"]), text(item)),
        "command_execution" => format!("{} [{}]", word(&item["command"]), word(&item["status"])),
        "agent_message" => format!(
            "{} to {}: {}",
            who(&item["sender_agent_id"]),
            who(&item["recipient_agent_id"]),
            text(item)
        ),
        "create_subagent_call" => format!(
            "{} creates: {} [{}]",
            who(&item["agent_id"]),
            text(item),
            word(&item["status"])
        ),
        "wait_for_subagents_call" => format!(
            "{} waits for {} [{}]",
            who(&item["sender_agent_id"]),
            who(&item["recipient_agent_ids"][0]),
            word(&item["status"])
        ),
        kind => format!(
            "{} {kind} {} {}[{}]",
            who(&item["sender_agent_id"]),
            who(&item["recipient_agent_id"]),
            text(item),
            word(&item["status"])
        ),
    };
    items.iter().map(line).collect()
}

/// The transcript of the root agent, and that of each subagent.
fn transcripts(rat: &Rat, session: &str) -> (Vec<String>, Vec<Vec<String>>) {
    let all = subagents(rat, session);
    let of_one = |one: &Value| {
        let id = one["id"].as_str().expect("an id");
        let items = rat.json(&["sessions", "subagents", session, id, "--all"]);
        lines(&data(&items), &all)
    };
    let own = all.iter().map(of_one).collect();
    (lines(&rat.items(session), &all), own)
}

/// Without what Codex tells an agent about those that it started, which comes whenever it comes.
fn without_notes(lines: Vec<String>) -> Vec<String> {
    let lines = lines.into_iter();
    lines
        .filter(|line| !line.contains("<subagent_notification>"))
        .collect()
}

const PATCH: &str = "*** Begin Patch\n*** Add File: hello.txt\n+hi\n*** End Patch\n";

/// Starts one, waits for it, gives it more, waits again, closes it, and answers.
fn delegating(asked: &Asked) -> Answer {
    if !is_root(asked) {
        return match (was_told(asked, "call_1"), asked.times_told("and more")) {
            (false, _) => Answer::new()
                .says("I look")
                .runs("call_1", "echo ran >> log; echo out"),
            (true, 0) if !was_told(asked, "call_2") => Answer::new().patches("call_2", PATCH),
            (true, 0) => Answer::new().thinks("so it is").says("it is out"),
            (true, _) => Answer::new().says("that was all"),
        };
    }
    let Some(agent) = started_by(asked, "spawn") else {
        return delegates("spawn", "spawn_agent", &json!({"message": "look for it"}));
    };
    let steps = [
        ("wait_1", "wait_agent", json!({"targets": [agent]})),
        (
            "send",
            "send_input",
            json!({"target": agent, "message": "and more"}),
        ),
        ("wait_2", "wait_agent", json!({"targets": [agent]})),
        ("close", "close_agent", json!({"target": agent})),
    ];
    for (call_id, tool, arguments) in steps {
        if !was_told(asked, call_id) {
            return delegates(call_id, tool, &arguments);
        }
    }
    Answer::new().says("done")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_works_in_the_same_place_and_both_histories_are_kept() {
    let stub = Stub::playing(delegating).await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    let (root, subs) = transcripts(&rat, &session);
    assert_eq!(
        without_notes(root),
        [
            "user: go",
            "root creates: look for it [completed]",
            "root waits for sub 0 [completed]",
            "root send_subagent_input_call sub 0 and more[completed]",
            "root waits for sub 0 [completed]",
            "root close_subagent_call sub 0 [completed]",
            "assistant: done",
        ]
    );
    assert_eq!(
        subs,
        [[
            "root to sub 0: look for it",
            "assistant: I look",
            "echo ran >> log; echo out [completed]",
            "apply_patch A hello.txt [completed]",
            "root reasoning root [completed]",
            "assistant: it is out",
            "root to sub 0: and more",
            "assistant: that was all",
        ]]
    );
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
    assert_eq!(rat.lines(&session, "hello.txt"), ["hi"]);
    let one = &subagents(&rat, &session)[0];
    assert_eq!(one["status"], "closed");
    assert!(
        one["name"].is_string() && one["closed_at"].is_number(),
        "{one}"
    );
    assert_eq!(one["instructions"][0]["text"], "look for it");
    // What its model spent is the Turn's.
    let requests = stub.requests().len() as u64;
    let turn = &rat.turns(&session)[0];
    assert_eq!(turn["usage"]["input_tokens"], 100 * requests);
    // The next Turn knows what it did, and that nobody is left.
    send(&rat, &session, "and now");
    let last = stub.requests().pop().expect("it asked");
    let given = serde_json::to_string(last.input()).expect("JSON");
    assert!(given.contains(r#""namespace":"multi_agent_v1""#), "{given}");
    assert_eq!(
        given.matches("All agents that you spawned").count(),
        1,
        "{given}"
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_work_side_by_side_and_a_third_is_one_too_many() {
    // Each waits for what the other one does.
    let command = |mine: &str, other: &str| {
        format!("echo x > {mine}; until [ -e {other} ]; do sleep 0.05; done; echo met")
    };
    let stub = Stub::playing(move |asked| {
        if !is_root(asked) {
            let (call, command) = match asked.times_told("first") {
                0 => ("call_b", command("b", "a")),
                _ => ("call_a", command("a", "b")),
            };
            return match was_told(asked, call) {
                false => Answer::new().runs(call, &command),
                true => Answer::new().says("met"),
            };
        }
        for (call_id, message) in [("s_1", "first"), ("s_2", "second"), ("s_3", "third")] {
            if !was_told(asked, call_id) {
                return delegates(call_id, "spawn_agent", &json!({"message": message}));
            }
        }
        for (wait, spawn) in [("w_1", "s_1"), ("w_2", "s_2")] {
            if !was_told(asked, wait) {
                let agent = started_by(asked, spawn);
                return delegates(wait, "wait_agent", &json!({"targets": [agent]}));
            }
        }
        Answer::new().says("done")
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let (root, subs) = transcripts(&rat, &session);
    assert!(
        root.contains(&"root creates: third [failed]".to_owned()),
        "{root:#?}"
    );
    assert_eq!(subs.len(), 2);
    for lines in &subs {
        assert!(lines[1].ends_with("[completed]"), "{lines:#?}");
    }
    // They are closed with the Turn.
    for one in subagents(&rat, &session) {
        assert_eq!(one["status"], "closed");
    }
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_was_started_starts_none_and_an_agent_that_may_not_has_no_tool_for_it() {
    let stub = Stub::playing(|asked| match (is_root(asked), started_by(asked, "spawn")) {
        (true, None) => delegates("spawn", "spawn_agent", &json!({"message": "look"})),
        (true, Some(_)) if was_told(asked, "wait") => Answer::new().says("done"),
        (true, Some(agent)) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
        (false, _) if was_told(asked, "nested") => Answer::new().says("I can't"),
        (false, _) => delegates("nested", "spawn_agent", &json!({"message": "look for me"})),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    assert_eq!(subagents(&rat, &session).len(), 1);
    let plain = super::world::create(&rat, "go");
    assert!(!is_root(&stub.requests().pop().expect("it asked")));
    assert_eq!(subagents(&rat, &plain), [Value::Null; 0]);
    stop(&rat);
}

const COMMAND: &str =
    "echo ran >> log; echo begun > begun; until [ -e go-on ]; do sleep 0.05; done; echo out";

/// Starts one that runs a long command; whoever is told that it is gone is content.
fn loses_one(asked: &Asked) -> Answer {
    if !is_root(asked) {
        return match was_told(asked, "call_1") {
            false => Answer::new().runs("call_1", COMMAND),
            true => Answer::new().says("it is out"),
        };
    }
    match started_by(asked, "spawn") {
        None => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
        Some(_) if was_told(asked, "wait") => Answer::new().says("done"),
        Some(agent) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
    }
}

fn until_begun(rat: &Rat, session: &str) {
    until(
        || format!("the command runs{}", rat.logs()),
        || (!rat.lines(session, "begun").is_empty()).then_some(()),
    );
}

/// One Turn completed, its subagent is closed, and the agent was told that it is gone.
fn went_on_alone(rat: &Rat, stub: &Stub, session: &str) {
    assert_eq!(rat.turns(session).len(), 1);
    assert_eq!(last_turn(rat, session).0, "completed", "{}", rat.logs());
    assert_eq!(rat.lines(session, "log"), ["ran"]);
    let all = subagents(rat, session);
    assert_eq!((all.len(), &all[0]["status"]), (1, &"closed".into()));
    let last = stub.requests().pop().expect("it asked");
    assert_eq!(last.times_told("go"), 1);
    let given = serde_json::to_string(last.input()).expect("JSON");
    assert_eq!(
        given.matches("All agents that you spawned").count(),
        1,
        "{given}"
    );
    assert_eq!(last.outputs_of("wait").len(), 1, "{given}");
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_while_a_subagents_command_runs() {
    let stub = Stub::playing(loses_one).await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    until_begun(&rat, &session);
    the_codex(&rat)
        .kill_and_wait(std::time::Duration::from_secs(60))
        .expect("it is ours");
    settled(&rat, &session);
    went_on_alone(&rat, &stub, &session);
    let (root, subs) = transcripts(&rat, &session);
    assert_eq!(
        root,
        [
            "user: go",
            "root creates: look for it [completed]",
            "root waits for sub 0 [incomplete]",
            "assistant: done",
        ]
    );
    assert!(subs[0][1].ends_with("[incomplete]"), "{subs:#?}");
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_killed_while_a_subagents_command_runs() {
    let stub = Stub::playing(loses_one).await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    until_begun(&rat, &session);
    let workers = rat.program(Role::Worker);
    assert!(!workers.is_empty());
    workers.iter().for_each(|worker| _ = worker.kill());
    workers
        .iter()
        .for_each(crate::kill::processes::Process::wait_gone);
    until(
        || "Codex ends by itself".to_owned(),
        || codexes(&rat).is_empty().then_some(()),
    );
    settled(&rat, &session);
    went_on_alone(&rat, &stub, &session);
    let (_, subs) = transcripts(&rat, &session);
    let id = subagents(&rat, &session)[0]["id"].clone();
    let id = id.as_str().expect("an id");
    let items = data(&rat.json(&["sessions", "subagents", &session, id, "--all"]));
    let output = items[1]["output"].as_str().unwrap_or_default();
    assert!(output.contains("outcome unknown"), "{subs:#?} {items:#?}");
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_the_subagents_and_what_they_run() {
    let stub = Stub::playing(loses_one).await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    until_begun(&rat, &session);
    rat.ok(&["sessions", "cancel", &session]);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "cancelled");
    let (root, subs) = transcripts(&rat, &session);
    assert_eq!(
        root,
        [
            "user: go",
            "root creates: look for it [completed]",
            "root waits for sub 0 [incomplete]",
        ]
    );
    assert!(!subs[0][1].ends_with("[in_progress]"), "{subs:#?}");
    assert_eq!(subagents(&rat, &session)[0]["status"], "closed");
    // What it ran is gone: it would have seen this.
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    stop(&rat);
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_waits_for_its_client_only_when_its_subagents_are_done() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| {
        if !is_root(asked) {
            return match was_told(asked, "call_mine") {
                false => Answer::new().calls("call_mine", "ask", &json!({"what": "y"})),
                true => Answer::new().until(&held).says("it is out"),
            };
        }
        match (started_by(asked, "spawn"), was_told(asked, "call_ask")) {
            (None, _) => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            (Some(_), false) => Answer::new().calls("call_ask", "ask", &json!({"what": "x"})),
            (Some(_), true) => Answer::new().says("done"),
        }
    })
    .await;
    let rat = rat(&stub);
    let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let request = json!({
        "agent": {
            "model": "stub-model",
            "multi_agent": {"enabled": true},
            "tools": [{"type": "function", "name": "ask", "description": "Asks.", "parameters": parameters}],
        },
        "environment": {"type": "none"},
        "input": "go",
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let session = rat.ok(&["sessions", "create", "-f", file, "--no-wait", "-o", "id"]);
    let session = session.trim();
    gate.reached().await;
    until(
        || format!("it called{}", rat.logs()),
        || {
            let called = |item: &Value| item["type"] == "function_call";
            rat.items(session).iter().any(called).then_some(())
        },
    );
    gate.open();
    super::world::until_status(&rat, session, &["requires_action"]);
    let (_, subs) = transcripts(&rat, session);
    assert_eq!(
        subs,
        [[
            "root to sub 0: look for it",
            // Whoever waits for the client must be able to wait for days.
            "ask [failed]",
            "assistant: it is out",
        ]]
    );
    rat.ok(&["sessions", "answer", session, "--result", "42"]);
    settled(&rat, session);
    assert_eq!(last_turn(&rat, session).0, "completed", "{}", rat.logs());
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_subagents_moves_and_goes_on() {
    let stub = Stub::playing(delegating).await;
    let here = rat(&stub);
    let session = create(&here, "go", 2);
    settled(&here, &session);
    let before = transcripts(&here, &session);
    stop(&here);
    let there = rat(&stub);
    let file = here.path().join("session.tar.zst");
    let file = file.to_str().expect("a plain path");
    here.ok(&["sessions", "export", &session, "--to", file]);
    there.json(&["sessions", "import", file]);
    assert_eq!(transcripts(&there, &session), before);
    send(&there, &session, "and now");
    assert_eq!(last_turn(&there, &session).0, "completed");
    let requests = stub.requests();
    let own: Vec<&Asked> = requests.iter().filter(|asked| is_root(asked)).collect();
    let [.., before, after] = own[..] else {
        panic!("it asked twice");
    };
    assert_eq!(thread(before), thread(after));
    assert!(goes_on_from(after, before));
    stop(&there);
}

#[tokio::test(flavor = "multi_thread")]
async fn model_calls_of_subagents_count_against_the_limit_of_the_turn() {
    // Whoever was started never comes to an end.
    let stub = Stub::playing(|asked| match (is_root(asked), started_by(asked, "spawn")) {
        (true, None) => delegates("spawn", "spawn_agent", &json!({"message": "look"})),
        (true, Some(agent)) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
        (false, _) => Answer::new().runs(&format!("call_{}", asked.number), "true"),
    })
    .await;
    let program = super::installed::codex();
    let program = program.to_str().expect("a path of text");
    let rat = super::world::profiled(&stub, program, "limits.model_calls_per_turn = 5");
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    let (status, code) = last_turn(&rat, &session);
    assert_eq!(
        (status, code),
        ("failed".into(), "usage_limit_exceeded".into())
    );
    assert_eq!(stub.requests().len(), 5);
    assert_eq!(subagents(&rat, &session)[0]["status"], "closed");
    stop(&rat);
}

/// Asks the daemon: the status, and the body as it is.
async fn ask(base: &str, path: &str, body: Option<&Value>) -> (u16, String) {
    // Needed once a process, whoever comes first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("builds");
    let at = format!("{base}{path}");
    let request = match body {
        None => http.get(at),
        Some(body) => http.post(at).json(body),
    };
    let request = request.header("openai-beta", "agents=v1");
    let answer = request.send().await.expect("it answers");
    let status = answer.status().as_u16();
    (status, answer.text().await.expect("a body"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_over_http_is_told_of_subagents_and_reads_each_of_their_routes() {
    let stub = Stub::playing(delegating).await;
    let program = super::installed::codex();
    let program = program.to_str().expect("a path of text");
    let served = "daemon.listen = \"127.0.0.1:0\"\ndaemon.no_auth = true";
    let rat = super::world::profiled(&stub, program, served);
    rat.ok(&["daemon", "start"]);
    let listens = rat.json(&["daemon", "status"])["listen"].clone();
    let base = match listens.as_str() {
        Some(at) if at.starts_with("http") => at.trim_end_matches("/v1").to_owned(),
        at => format!("http://{}", at.expect("it listens")),
    };
    let mut body = request("go", 2);
    body["stream"] = true.into();
    let (status, stream) = ask(&base, "/v1/agents/sessions", Some(&body)).await;
    assert_eq!(status, 200, "{stream}");
    let events = stream
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let events: Vec<Value> = events.collect();
    let of_subagents = events.iter().filter_map(|event| {
        let kind = event["type"].as_str()?;
        let kind = kind.strip_prefix("agent.session.subagent.")?;
        Some((kind, event["subagent"]["status"].as_str()?))
    });
    assert_eq!(
        of_subagents.collect::<Vec<_>>(),
        [
            ("created", "active"),
            ("active", "active"),
            ("active", "active"),
            ("closed", "closed"),
        ]
    );
    // Of what it did nothing is in the root agent's stream.
    assert!(!stream.contains("command_execution"), "{stream}");
    let session = events[0]["session"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    settled(&rat, &session);
    let at = format!("/v1/agents/sessions/{session}");
    let get = async |path: &str| {
        let (status, body) = ask(&base, &format!("{at}{path}"), None).await;
        let body: Value = serde_json::from_str(&body).expect("JSON");
        (status, body)
    };
    let (status, page) = get("/subagents").await;
    let one = &page["data"][0];
    assert_eq!(
        (status, &one["object"]),
        (200, &"agent.session.subagent".into())
    );
    let id = one["id"].as_str().expect("an id");
    let (_, root) = get("").await;
    assert_eq!(one["parent_agent_id"], root["agent"]["id"]);
    assert_eq!(get(&format!("/subagents/{id}")).await, (200, one.clone()));
    let (_, turns) = get(&format!("/subagents/{id}/turns?order=asc")).await;
    let turns = data(&turns);
    assert_eq!(turns.len(), 2, "{turns:#?}");
    let mut items = Vec::new();
    for turn in &turns {
        assert_eq!(
            (&turn["subagent_id"], &turn["status"]),
            (&one["id"], &"completed".into())
        );
        let turn_id = turn["id"].as_str().expect("an id");
        let path = format!("/subagents/{id}/turns/{turn_id}");
        assert_eq!(get(&path).await, (200, turn.clone()));
        let (_, page) = get(&format!("{path}/items?order=asc")).await;
        for item in data(&page) {
            assert_eq!(item["turn_id"], turn["id"]);
            items.push(item);
        }
        // It is none of the root agent's.
        assert_eq!(get(&format!("/turns/{turn_id}")).await.0, 404);
    }
    // All of them, in pages of two.
    let mut all = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/subagents/{id}/items?order=asc&limit=2{after}");
        let (status, page) = get(&path).await;
        assert_eq!(status, 200);
        all.extend(data(&page));
        match page["has_more"] == true {
            true => after = format!("&after={}", page["last_id"].as_str().expect("an id")),
            false => break,
        }
    }
    assert_eq!(all, items);
    assert_eq!(all.len(), 8);
    let (_, own) = get("/items?limit=100").await;
    let own = data(&own);
    assert!(own.iter().all(|item| !all.contains(item)));
    let (_, own_turns) = get("/turns").await;
    assert_eq!(own_turns["data"][0]["subagent_id"], Value::Null);
    stop(&rat);
}
