//! What a client does while an agent works: cancel, steer, answer functions.

use pretty_assertions::assert_eq;

use super::stub::{Answer, Gate, Stub};
use super::world::{
    codexes, create_with_function, last_turn, rat, send, settled, stop, stop_killed, transcript,
    until_status,
};
use crate::kill::rat::{Rat, until};

fn until_line(rat: &Rat, session: &str, file: &str) {
    until(
        || format!("{file} is there{}", rat.logs()),
        || (!rat.lines(session, file).is_empty()).then_some(()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_ends_with_all_it_started() {
    let stub = Stub::script([
        Answer::new().runs(
            "call_1",
            "(while :; do date >> ticks; sleep 0.05; done) & echo begun > begun; sleep 600",
        ),
        Answer::new().says("on we go"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    until_line(&rat, &session, "begun");
    until_line(&rat, &session, "ticks");
    rat.ok(&["sessions", "cancel", &session]);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "cancelled");
    assert_eq!(rat.items(&session)[1]["status"], "incomplete");
    let ticks = rat.lines(&session, "ticks").len();
    assert!(codexes(&rat).is_empty());
    send(&rat, &session, "again");
    assert_eq!(
        rat.lines(&session, "ticks").len(),
        ticks,
        "nothing ticks any more"
    );
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let told = stub.asked(2).await.outputs_of("call_1");
    assert!(told.len() == 1 && told[0].contains("cancelled"), "{told:?}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_while_the_model_writes_ends_the_turn() {
    let gate = Gate::new();
    let stub = Stub::script([
        Answer::new().says_in_halves("I was ", &gate, "saying"),
        Answer::new().says("yes"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    rat.ok(&["sessions", "cancel", &session]);
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "cancelled");
    gate.open();
    send(&rat, &session, "still there?");
    assert_eq!(
        transcript(&rat, &session),
        ["user: go", "user: still there?", "assistant: yes"]
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steer_while_the_model_writes_follows_the_whole_message() {
    let gate = Gate::new();
    let stub = Stub::script([
        Answer::new().says_in_halves("first ", &gate, "half"),
        Answer::new().says("as you like"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    rat.send(&session, "rather blue", false);
    gate.open();
    settled(&rat, &session);
    let turns = rat.turns(&session);
    let last = stub.requests().last().expect("there are some").clone();
    assert_eq!(
        (last.times_told("go"), last.times_told("rather blue")),
        (1, 1),
        "{turns:#?}"
    );
    // It may come when the agent is just done: then it is the next Turn.
    assert!(turns.len() <= 2, "{turns:#?}");
    let said = transcript(&rat, &session);
    assert!(
        said.contains(&"assistant: first half".to_owned()),
        "{said:#?}"
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_steer_while_a_command_runs_follows_its_output() {
    let stub = Stub::script([
        Answer::new().runs(
            "call_1",
            "echo begun > begun; until [ -e go-on ]; do sleep 0.05; done",
        ),
        Answer::new().says("as you like"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    until_line(&rat, &session, "begun");
    rat.send(&session, "rather blue", false);
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    settled(&rat, &session);
    let last = stub.requests().last().expect("there are some").clone();
    assert_eq!(
        (
            last.times_told("rather blue"),
            last.outputs_of("call_1").len()
        ),
        (1, 1)
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_is_waited_for_without_a_process_and_its_answer_is_given_once() {
    let stub = Stub::script([
        Answer::new()
            .says("I ask")
            .calls("call_1", "ask", &serde_json::json!({"what": "colour"})),
        Answer::new().says("blue it is"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create_with_function(&rat, "go", false);
    until_status(&rat, &session, &["requires_action"]);
    until(
        || "no Codex waits".to_owned(),
        || codexes(&rat).is_empty().then_some(()),
    );
    rat.kill_everything();
    rat.ok(&["sessions", "answer", &session, "--result", "blue"]);
    rat.ok(&["daemon", "start"]);
    settled(&rat, &session);
    assert_eq!(
        transcript(&rat, &session),
        [
            "user: go",
            "assistant: I ask",
            "function_call: ask",
            "function_call_output: blue",
            "assistant: blue it is"
        ]
    );
    assert_eq!(rat.turns(&session).len(), 1);
    let second = stub.asked(2).await;
    assert_eq!(second.outputs_of("call_1"), ["blue"]);
    assert_eq!(second.times_told("go"), 1);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_of_the_background_is_answered_late() {
    let stub = Stub::playing(|asked| match asked.number {
        1 => Answer::new().calls("call_1", "ask", &serde_json::json!({"what": "colour"})),
        2 => Answer::new().says("meanwhile"),
        _ => Answer::new().says("blue it is"),
    })
    .await;
    let rat = rat(&stub);
    let session = create_with_function(&rat, "go", true);
    stub.asked(2).await;
    until(
        || format!("the call is there{}", rat.logs()),
        || {
            transcript(&rat, &session)
                .contains(&"assistant: meanwhile".to_owned())
                .then_some(())
        },
    );
    rat.ok(&["sessions", "answer", &session, "--result", "blue"]);
    settled(&rat, &session);
    let last = stub.requests().last().expect("there are some").clone();
    let told: Vec<String> = last.outputs_of("call_1");
    assert_eq!(told.len(), 1, "{told:?}");
    let late = "Result of the function call call_1 (ask):\nblue";
    assert_eq!(last.times_told(late), 1, "{:#?}", last.input());
    assert_eq!(last_turn(&rat, &session).0, "completed");
    stop(&rat);
}
