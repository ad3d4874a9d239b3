//! An agent that had started others goes on from what Codex kept of its own conversation. Of theirs nothing is kept.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{
    COMMAND, create, data, delegates, is_root, lines, started_by, subagents, transcripts,
    until_begun, was_told, without_notes,
};
use crate::codex::losses::{kill_codex, kill_workers};
use crate::codex::native::{goes_on_from, thread};
use crate::codex::stub::{Answer, Asked, Gate, Stub};
use crate::codex::world::{last_turn, rat, send, settled, stop, stop_killed, until_status};
use crate::kill::rat::{Rat, until};

/// The requests of the agent itself.
fn own(stub: &Stub) -> Vec<Asked> {
    let requests = stub.requests().into_iter();
    requests.filter(is_root).collect()
}

/// How often the model is told that nobody is left.
fn notes(asked: &Asked) -> usize {
    let given = serde_json::to_string(asked.input()).expect("JSON");
    given.matches("All agents that you spawned").count()
}

/// All of one conversation, each with all that the one before had.
fn are_one_conversation(requests: &[Asked]) {
    for pair in requests.windows(2) {
        assert_eq!(thread(&pair[0]), thread(&pair[1]));
        assert!(
            goes_on_from(&pair[1], &pair[0]),
            "{:#?} then {:#?}",
            pair[0].input(),
            pair[1].input()
        );
    }
}

/// Starts one by this call, and waits for it by that one; `None`: that is done.
fn one_more(asked: &Asked, spawn: &str, wait: &str) -> Option<Answer> {
    let Some(agent) = started_by(asked, spawn) else {
        let message = json!({"message": "look for it"});
        return Some(delegates(spawn, "spawn_agent", &message));
    };
    let targets = json!({"targets": [agent]});
    (!was_told(asked, wait)).then(|| delegates(wait, "wait_agent", &targets))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_is_given_every_byte_and_told_once_that_nobody_is_left() {
    let stub = Stub::playing(|asked| {
        if !is_root(asked) {
            let found =
                json!({"type": "web_search_call", "action": {"type": "search", "query": "q"}});
            return Answer::new().item(found).says("it is out");
        }
        let mut next = one_more(asked, "s_1", "w_1");
        if asked.times_told("ask it") == 1 {
            // It is not there any more, whatever is asked of it.
            let agent = started_by(asked, "s_1").expect("it was started");
            let steps = [
                ("r_1", "resume_agent", json!({"id": agent})),
                (
                    "i_1",
                    "send_input",
                    json!({"target": agent, "message": "more"}),
                ),
            ];
            let mut left = steps.iter().filter(|(id, ..)| !was_told(asked, id));
            let step = left.next();
            next = next.or(step.map(|(id, tool, arguments)| delegates(id, tool, arguments)));
        }
        if asked.times_told("another one") == 1 {
            next = next.or(one_more(asked, "s_2", "w_2"));
        }
        next.unwrap_or_else(|| Answer::new().says("done"))
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    for (message, expect) in [
        ("and now", 1),
        ("ask it", 1),
        ("another one", 1),
        ("and on", 2),
    ] {
        send(&rat, &session, message);
        assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
        let last = own(&stub).pop().expect("it asked");
        assert_eq!(notes(&last), expect, "{message}: {}", rat.logs());
    }
    let requests = own(&stub);
    are_one_conversation(&requests);
    let last = requests.last().expect("it asked");
    for call in ["r_1", "i_1"] {
        let told = last.outputs_of(call);
        assert!(told[0].contains("not found"), "{told:?}");
    }
    let (root, subs) = transcripts(&rat, &session);
    assert_eq!(
        without_notes(root),
        [
            "user: go",
            "root creates: look for it [completed]",
            "root waits for sub 0 [completed]",
            "assistant: done",
            "user: and now",
            "assistant: done",
            "user: ask it",
            // To somebody that this Turn knows nothing of.
            "root resume_subagent_call root [failed]",
            "root send_subagent_input_call root more[failed]",
            "assistant: done",
            "user: another one",
            "root creates: look for it [completed]",
            "root waits for sub 1 [completed]",
            "assistant: done",
            "user: and on",
            "assistant: done",
        ]
    );
    let of_one = [
        "root to sub N: look for it",
        "root web_search_call root [completed]",
        "assistant: it is out",
    ];
    for (at, one) in subs.iter().enumerate() {
        assert_eq!(*one, of_one.map(|line| line.replace('N', &at.to_string())));
    }
    assert_eq!(subs.len(), 2);
    assert!(
        subagents(&rat, &session)
            .iter()
            .all(|one| one["status"] == "closed" && one["name"].is_string())
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_lets_the_agent_know_while_it_answers_is_in_its_history_and_in_what_is_kept() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| {
        if !is_root(asked) {
            return Answer::new().says("it is out");
        }
        let given = serde_json::to_string(asked.input()).expect("JSON");
        match (started_by(asked, "spawn"), given.contains("it is out")) {
            (None, _) => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            (Some(_), false) => Answer::new().says("let us see").until(&held),
            (Some(_), true) => Answer::new().says("so it is"),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    until(
        || format!("it is done{}", rat.logs()),
        || {
            let (_, subs) = transcripts(&rat, &session);
            let said = subs.concat().contains(&"assistant: it is out".to_owned());
            said.then_some(())
        },
    );
    gate.open();
    settled(&rat, &session);
    let heard = |rat: &Rat| {
        let (root, _) = transcripts(rat, &session);
        let is_note = |line: &&String| line.contains("<subagent_notification>");
        root.iter().filter(is_note).count()
    };
    let told = own(&stub).pop().expect("it asked");
    let told = serde_json::to_string(told.input()).expect("JSON");
    let told = told.matches("</subagent_notification>").count();
    assert_eq!(heard(&rat), told);
    send(&rat, &session, "and now");
    are_one_conversation(&own(&stub));
    // It is not heard again.
    assert_eq!(heard(&rat), told);
    stop(&rat);
}

/// The second Turn starts one that runs a command; `kill` happens meanwhile. The Items of the one.
async fn killed_in_the_second_turn(kill: fn(&Rat)) -> Vec<String> {
    let stub = Stub::playing(|asked| {
        if !is_root(asked) {
            return match was_told(asked, "call_1") {
                false => Answer::new().runs("call_1", COMMAND),
                true => Answer::new().says("it is out"),
            };
        }
        let next = match asked.times_told("start one") {
            0 => None,
            _ => one_more(asked, "spawn", "wait"),
        };
        next.unwrap_or_else(|| Answer::new().says("done"))
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go", 2);
    settled(&rat, &session);
    rat.send(&session, "start one", false);
    until_begun(&rat, &session);
    kill(&rat);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed", "{}", rat.logs());
    assert_eq!(rat.turns(&session).len(), 2);
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
    let requests = own(&stub);
    let (first, last) = (&requests[0], requests.last().expect("it asked"));
    assert_eq!(thread(first), thread(last));
    assert!(goes_on_from(last, first));
    assert_eq!(
        [last.times_told("go"), last.times_told("start one")],
        [1, 1]
    );
    assert_eq!(notes(last), 1);
    let told = last.outputs_of("wait");
    assert!(
        told.len() == 1 && told[0].to_lowercase().contains("verify before repeating"),
        "{told:?}"
    );
    // From there it goes on as ever, and is not told again.
    send(&rat, &session, "and on");
    let requests = own(&stub);
    are_one_conversation(&requests[requests.len() - 2..]);
    assert_eq!(notes(requests.last().expect("it asked")), 1);
    let all = subagents(&rat, &session);
    assert_eq!((all.len(), &all[0]["status"]), (1, &"closed".into()));
    let id = all[0]["id"].as_str().expect("an id");
    let items = data(&rat.json(&["sessions", "subagents", &session, id, "--all"]));
    stop_killed(&rat);
    lines(&items, &all)
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_lost_with_those_that_it_held_and_the_record_of_the_turn_before_is_gone_on_with() {
    let sub = killed_in_the_second_turn(kill_codex).await;
    assert!(sub[1].ends_with("[incomplete]"), "{sub:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_lost_with_them_and_the_record_of_the_turn_before_is_gone_on_with() {
    let sub = killed_in_the_second_turn(kill_workers).await;
    assert!(sub[1].ends_with("[incomplete]"), "{sub:#?}");
}

/// Creates a Session whose Agent may start others and has one function, `ask`.
fn create_with_function(rat: &Rat) -> String {
    let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
    let ask = json!({"type": "function", "name": "ask", "description": "Asks.", "parameters": parameters});
    let request = json!({
        "agent": {"model": "stub-model", "multi_agent": {"enabled": true}, "tools": [ask]},
        "environment": {"type": "openai_hosted"},
        "input": "go",
    });
    let file = rat.path().join("request.json");
    std::fs::write(&file, request.to_string()).expect("written");
    let file = file.to_str().expect("a plain path");
    let args = ["sessions", "create", "-f", file, "--no-wait", "-o", "id"];
    rat.ok(&args).trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_ended_before_a_call_of_the_client_has_ended_though_the_model_was_not_told() {
    let stub = Stub::playing(|asked| {
        if !is_root(asked) {
            return Answer::new().says("it is out");
        }
        match (started_by(asked, "spawn"), was_told(asked, "ask")) {
            (None, _) => delegates("spawn", "spawn_agent", &json!({"message": "look for it"})),
            (Some(agent), false) => delegates("wait", "wait_agent", &json!({"targets": [agent]}))
                .calls("ask", "ask", &json!({"what": "colour"})),
            (Some(_), true) => Answer::new().says("done"),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create_with_function(&rat);
    until_status(&rat, &session, &["requires_action"]);
    let (root, subs) = transcripts(&rat, &session);
    let waited = "root waits for sub 0 [completed]".to_owned();
    assert!(root.contains(&waited), "{root:#?}");
    assert_eq!(subs[0][1], "assistant: it is out");
    rat.ok(&["sessions", "answer", &session, "--result", "blue"]);
    settled(&rat, &session);
    let requests = own(&stub);
    are_one_conversation(&requests);
    let last = requests.last().expect("it asked");
    let told = last.outputs_of("wait");
    assert!(told.len() == 1 && told[0].contains("it is out"), "{told:?}");
    assert_eq!(last.outputs_of("ask"), ["blue"]);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_started_together_with_a_call_of_the_client_works_and_is_followed() {
    let stub = Stub::playing(|asked| {
        if !is_root(asked) {
            return match was_told(asked, "call_1") {
                false => Answer::new().runs("call_1", "echo ran >> log"),
                true => Answer::new().says("it is out"),
            };
        }
        match (was_told(asked, "ask"), asked.times_told("and now")) {
            (false, _) => delegates("spawn", "spawn_agent", &json!({"message": "look for it"}))
                .calls("ask", "ask", &json!({"what": "colour"})),
            (true, 0) => Answer::new().says("done"),
            (true, _) => Answer::new().says("again"),
        }
    })
    .await;
    let rat = rat(&stub);
    let session = create_with_function(&rat);
    let session = session.as_str();
    until_status(&rat, session, &["requires_action"]);
    // The model was asked for no more by then.
    assert_eq!(own(&stub).len(), 1);
    let (root, subs) = transcripts(&rat, session);
    assert_eq!(root[1], "root creates: look for it [completed]");
    assert_eq!(
        subs,
        [[
            "root to sub 0: look for it",
            "echo ran >> log [completed]",
            "assistant: it is out",
        ]]
    );
    let name = subagents(&rat, session)[0]["name"].clone();
    rat.ok(&["sessions", "answer", session, "--result", "blue"]);
    settled(&rat, session);
    send(&rat, session, "and now");
    let requests = own(&stub);
    are_one_conversation(&requests);
    let last = requests.last().expect("it asked");
    assert_eq!(last.outputs_of("ask"), ["blue"]);
    let told: Value = serde_json::from_str(&last.outputs_of("spawn")[0]).expect("JSON");
    assert_eq!(told["nickname"], name);
    assert_eq!(notes(last), 1);
    assert_eq!(rat.lines(session, "log"), ["ran"]);
    stop(&rat);
}
