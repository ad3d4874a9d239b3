//! Turns that nothing disturbs.

use pretty_assertions::assert_eq;

use super::stub::{Answer, Gate, Stub};
use super::world::{create, last_turn, rat, send, settled, stop, transcript};

const PATCH: &str = "*** Begin Patch\n*** Add File: hello.txt\n+hi\n+there\n*** End Patch\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_answered_and_the_next_turn_knows_it() {
    let answer = Answer::new().thinks("who is it?").says("hello to you");
    let stub = Stub::script([answer.costs([100, 40, 10, 5]), Answer::new().says("again")]).await;
    let rat = rat(&stub);
    let session = create(&rat, "hello");
    let turn = &rat.turns(&session)[0];
    assert_eq!(turn["status"], "completed");
    assert_eq!(turn["usage"]["input_tokens"], 100);
    assert_eq!(turn["usage"]["input_tokens_details"]["cached_tokens"], 40);
    assert_eq!(
        turn["usage"]["output_tokens_details"]["reasoning_tokens"],
        5
    );
    send(&rat, &session, "and now");
    assert_eq!(
        transcript(&rat, &session),
        [
            "user: hello",
            "reasoning: who is it?",
            "assistant: hello to you",
            "user: and now",
            "assistant: again",
        ]
    );
    let second = stub.asked(2).await;
    assert_eq!(
        (second.times_told("hello"), second.times_told("and now")),
        (1, 1)
    );
    // What the provider wants back of its reasoning comes back.
    let reasoning = |item: &&serde_json::Value| item["type"] == "reasoning";
    assert_eq!(second.input().iter().filter(reasoning).count(), 1);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_and_patches_happen_in_the_sessions_environment_and_are_recorded() {
    let stub = Stub::script([
        Answer::new()
            .says("I look")
            .runs("call_1", "echo one; id -un; pwd; exit 3"),
        Answer::new().patches("call_2", PATCH),
        Answer::new().runs("call_3", "cat hello.txt"),
        Answer::new().says("done"),
        Answer::new().says("I know"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    assert_eq!(
        transcript(&rat, &session),
        [
            "user: go",
            "assistant: I look",
            "echo one; id -un; pwd; exit 3 [failed]: one\nagent\n/workspace",
            "apply_patch A hello.txt [completed]: added /workspace/hello.txt\nhi\nthere",
            "cat hello.txt [completed]: hi\nthere",
            "assistant: done",
        ]
    );
    let items = rat.items(&session);
    assert_eq!(
        (&items[1]["phase"], &items[5]["phase"]),
        (&"commentary".into(), &"final_answer".into())
    );
    assert_eq!(items[2]["exit_code"], 3);
    assert_eq!(rat.lines(&session, "hello.txt"), ["hi", "there"]);
    // Another process is given the same past.
    send(&rat, &session, "what did you do?");
    let last = stub.asked(5).await;
    for (call, said) in [
        ("call_1", "one\nagent"),
        ("call_2", "hello.txt"),
        ("call_3", "hi\nthere"),
    ] {
        let outputs = last.outputs_of(call);
        assert!(
            outputs.len() == 1 && outputs[0].contains(said),
            "{call}: {outputs:?}"
        );
    }
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_that_does_not_fit_changes_nothing_and_the_model_is_told() {
    let patch = "*** Begin Patch\n*** Update File: missing.txt\n@@\n-a\n+b\n*** End Patch\n";
    let stub = Stub::script([
        Answer::new().patches("call_1", patch),
        Answer::new().says("oh"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let told = stub.asked(2).await.outputs_of("call_1");
    assert!(told[0].contains("missing.txt"), "{told:?}");
    assert_eq!(rat.lines(&session, "missing.txt"), Vec::<String>::new());
    assert_eq!(rat.items(&session).len(), 3);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_output_is_kept_by_its_ends() {
    let stub = Stub::script([
        Answer::new().runs(
            "call_1",
            "echo first; head -c 6000000 /dev/zero | tr '\\0' x; echo; echo last",
        ),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let item = &rat.items(&session)[1];
    let output = item["output"].as_str().expect("text");
    assert!(
        output.len() < 70_000 && output.starts_with("first\n"),
        "{}",
        output.len()
    );
    assert_eq!(item["exit_code"], 0);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_commands_of_one_answer_run_one_after_the_other() {
    let stub = Stub::script([
        Answer::new()
            .runs("call_1", "sleep 0.3; echo 1 >> log")
            .runs("call_2", "echo 2 >> log")
            .runs("call_3", "echo 3 >> log"),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    let mut lines = rat.lines(&session, "log");
    lines.sort();
    assert_eq!(lines, ["1", "2", "3"]);
    assert_eq!(rat.items(&session).len(), 5);
    for call in ["call_1", "call_2", "call_3"] {
        assert_eq!(stub.asked(2).await.outputs_of(call).len(), 1);
    }
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_goes_on_in_the_background_is_looked_after_later() {
    let start = serde_json::json!({"cmd": "echo begun; until [ -e stop ]; do sleep 0.05; done; echo over", "yield_time_ms": 300});
    let stub = Stub::playing(move |asked| match asked.number {
        1 => Answer::new().calls("call_1", "exec_command", &start),
        2 => Answer::new().runs("call_2", "touch stop"),
        3 => {
            let told = asked.outputs_of("call_1").concat();
            let id = told
                .split("session ID ")
                .nth(1)
                .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            let poll = serde_json::json!({"session_id": id, "chars": "", "yield_time_ms": 5000});
            Answer::new().calls("call_3", "write_stdin", &poll)
        }
        _ => Answer::new().says("done"),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let told = stub.asked(4).await.outputs_of("call_3");
    assert!(told.len() == 1 && told[0].contains("over"), "{told:?}");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_is_told_of_a_call_is_recorded_before() {
    let (ran, patched) = (Gate::new(), Gate::new());
    let stub = Stub::script([
        Answer::new().runs("call_1", "echo one"),
        Answer::new().until(&ran).patches("call_2", PATCH),
        Answer::new().until(&patched).says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    let command = "echo one [completed]: one".to_owned();
    ran.reached().await;
    assert_eq!(transcript(&rat, &session).last(), Some(&command));
    ran.open();
    patched.reached().await;
    let items = transcript(&rat, &session);
    let patch = items.last().expect("there is one");
    assert!(
        patch.starts_with("apply_patch A hello.txt [completed]"),
        "{items:?}"
    );
    patched.open();
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed");
    stop(&rat);
}
