//! What an agent's model is told is recorded before, whichever agent it is; and what an agent is given of another one's history is none of its own.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{
    create, data, delegates, is_root, lines, started_by, subagents, transcripts, was_told,
    without_notes,
};
use crate::codex::losses::kill_workers;
use crate::codex::native::{goes_on_from, thread};
use crate::codex::stub::{Answer, Asked, Gate, Stub};
use crate::codex::world::{last_turn, rat, send, settled, stop, stop_killed};

/// The Items of the first subagent.
fn of_the_first(rat: &crate::kill::rat::Rat, session: &str) -> Vec<serde_json::Value> {
    let all = subagents(rat, session);
    let id = all[0]["id"].as_str().expect("an id");
    data(&rat.json(&["sessions", "subagents", session, id, "--all"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_lost_after_a_subagents_model_was_told_an_output_leaves_that_output() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| {
        if !is_root(asked) {
            return match was_told(asked, "call_1") {
                false => Answer::new().runs("call_1", "echo ran >> log; echo out"),
                true => Answer::new().until(&held).says("too late"),
            };
        }
        match started_by(asked, "spawn") {
            None => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            Some(_) if was_told(asked, "wait") => Answer::new().says("done"),
            Some(agent) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    gate.reached().await;
    kill_workers(&rat);
    settled(&rat, &session);
    gate.open();
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let items = of_the_first(&rat, &session);
    assert_eq!(items.len(), 2, "{items:#?}");
    assert_eq!(
        (&items[1]["status"], items[1]["output"].as_str()),
        (&json!("completed"), Some("out\n"))
    );
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_lost_after_the_model_was_told_what_one_found_leaves_that() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| {
        if !is_root(asked) {
            return Answer::new().says("it is out");
        }
        match started_by(asked, "spawn") {
            None => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            Some(_) if was_told(asked, "wait") => Answer::new().until(&held).says("done"),
            Some(agent) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    gate.reached().await;
    let told = stub.requests().pop().expect("it asked").outputs_of("wait");
    kill_workers(&rat);
    gate.open();
    settled(&rat, &session);
    let (root, subs) = transcripts(&rat, &session);
    assert_eq!(
        without_notes(root),
        [
            "user: go",
            "root creates: look for it [completed]",
            "root waits for sub 0 [completed]",
            "assistant: done",
        ]
    );
    assert_eq!(
        subs,
        [["root to sub 0: look for it", "assistant: it is out"]]
    );
    let last = stub.requests().pop().expect("it asked");
    assert_eq!(last.outputs_of("wait"), told);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_given_the_agents_history_has_its_own_deeds_alone() {
    let stub = Stub::playing(|asked| {
        if !is_root(asked) {
            return match was_told(asked, "call_1") {
                false => Answer::new()
                    .thinks("as I know")
                    .runs("call_1", "echo mine"),
                true => Answer::new().says("it is out"),
            };
        }
        if asked.times_told("start one") == 0 {
            return match was_told(asked, "call_0") {
                false => Answer::new().says("I look").runs("call_0", "echo before"),
                true => Answer::new().says("done"),
            };
        }
        match started_by(asked, "spawn") {
            None => delegates(
                "spawn",
                "spawn_agent",
                &json!({"message": "look for it", "fork_context": true}),
            ),
            Some(_) if was_told(asked, "wait") => Answer::new().says("done"),
            Some(agent) => delegates("wait", "wait_agent", &json!({"targets": [agent]})),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    send(&rat, &session, "start one");
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    let of_one = stub.requests().into_iter().find(|asked| !is_root(asked));
    let of_one = of_one.expect("it asked");
    for words in ["go", "start one", "look for it"] {
        assert_eq!(of_one.times_told(words), 1, "{:#?}", of_one.input());
    }
    let items = of_the_first(&rat, &session);
    assert_eq!(
        lines(&items, &subagents(&rat, &session)),
        [
            "root to sub 0: look for it",
            "root reasoning root [completed]",
            "echo mine [completed]",
            "assistant: it is out",
        ]
    );
    send(&rat, &session, "and on");
    let requests = stub.requests().into_iter().filter(is_root);
    let requests: Vec<Asked> = requests.collect();
    for pair in requests.windows(2) {
        assert_eq!(thread(&pair[0]), thread(&pair[1]));
        assert!(goes_on_from(&pair[1], &pair[0]));
    }
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_let_the_agent_know_is_not_heard_again_when_the_history_is_shortened() {
    let stub = Stub::playing(|asked| {
        let given = serde_json::to_string(asked.input()).expect("JSON");
        // Whoever shortens has no tools either.
        if !is_root(asked) || asked.times_told("go on") == 1 {
            return Answer::new().says("it is out");
        }
        match started_by(asked, "spawn") {
            None => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            // More than its window has.
            Some(_) if given.contains("</subagent_notification>") => {
                Answer::new().says("done").costs([270_000, 0, 10, 0])
            }
            Some(agent) => delegates(
                &format!("wait_{}", asked.number),
                "wait_agent",
                &json!({"targets": [agent]}),
            ),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    let heard = || {
        let (root, _) = transcripts(&rat, &session);
        let is_note = |line: &&String| line.contains("<subagent_notification>");
        root.iter().filter(is_note).count()
    };
    assert_eq!(heard(), 1);
    send(&rat, &session, "go on");
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    assert_eq!(heard(), 1);
    let requests = stub.requests();
    let last = requests.last().expect("it asked");
    let given = serde_json::to_string(last.input()).expect("JSON");
    assert!(
        given.contains("it is out") && !given.contains("subagent_notification"),
        "{given}"
    );
    stop(&rat);
}
