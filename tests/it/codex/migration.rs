//! A Session whose agent is Codex moves to another data directory, and goes on there as if nothing had happened.

use pretty_assertions::assert_eq;

use super::stub::{Answer, Gate, Stub};
use super::world::{create, rat, send, settled, stop, transcript};
use crate::kill::rat::{Rat, until};

/// Copies a Session by way of a file.
fn carry(session: &str, from: &Rat, to: &Rat) {
    let file = from.path().join("session.tar.zst");
    let file = file.to_str().expect("a plain path");
    from.ok(&["sessions", "export", session, "--to", file]);
    let imported = to.json(&["sessions", "import", file]);
    assert_eq!(imported["id"], session);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_elsewhere_and_the_model_sees_one_history() {
    let stub = Stub::script([
        Answer::new()
            .thinks("let me see")
            .says("I look")
            .runs("call_1", "echo found it"),
        Answer::new().says("there it is"),
        Answer::new().says("still there"),
        Answer::new().runs("call_2", "echo found again"),
        Answer::new().says("and here"),
    ])
    .await;
    let here = rat(&stub);
    let session = create(&here, "look");
    send(&here, &session, "and again");
    stop(&here);

    let there = rat(&stub);
    carry(&session, &here, &there);
    send(&there, &session, "and there");
    let said = transcript(&there, &session);
    assert_eq!(said[..5], transcript(&here, &session)[..5]);
    assert_eq!(said.last().map(String::as_str), Some("assistant: and here"));
    let turns = there.turns(&session);
    assert_eq!(turns.len(), 3);
    assert!(
        turns.iter().all(|turn| turn["status"] == "completed"),
        "{turns:#?}"
    );

    // What it was given there is what it was given here, and what came after.
    let (before, after) = (stub.asked(3).await, stub.asked(4).await);
    for words in ["look", "and again", "and there"] {
        assert_eq!(after.times_told(words), 1, "{words}");
    }
    assert_eq!(after.outputs_of("call_1"), before.outputs_of("call_1"));
    assert_eq!(after.outputs_of("call_1").len(), 1);
    let given = serde_json::to_string(after.input()).expect("it is JSON");
    for words in ["sealed-rs_1_0", "I look", "there it is", "still there"] {
        assert_eq!(given.matches(words).count(), 1, "{words}: {given}");
    }
    let last = stub.asked(5).await;
    assert!(last.outputs_of("call_2")[0].contains("found again"));
    stop(&there);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_was_going_on_goes_on_elsewhere() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        1 => Answer::new().says("I look").runs("call_1", "echo found it"),
        2 => Answer::new().says_in_halves("half ", &held, "of it"),
        _ => Answer::new().says("all of it"),
    })
    .await;
    let here = rat(&stub);
    let session = here.create("look");
    gate.reached().await;
    // What is not recorded yet when everything ends is not known afterwards.
    until(
        || format!("the command's end is recorded{}", here.logs()),
        || {
            let said = transcript(&here, &session);
            said.iter()
                .any(|said| said.contains("[completed]: found it"))
                .then_some(())
        },
    );
    let turn = here.turns(&session)[0]["id"].clone();
    here.kill_everything();
    gate.open();

    let there = rat(&stub);
    carry(&session, &here, &there);
    there.ok(&["daemon", "start"]);
    settled(&there, &session);
    let turns = there.turns(&session);
    assert_eq!(
        (turns.len(), &turns[0]["id"], &turns[0]["status"]),
        (1, &turn, &"completed".into()),
        "{turns:#?}{}",
        there.logs()
    );
    let third = stub.asked(3).await;
    assert_eq!(third.times_told("look"), 1);
    let told = third.outputs_of("call_1");
    assert!(told.len() == 1 && told[0].contains("found it"), "{told:?}");
    stop(&there);
}
