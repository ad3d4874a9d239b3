//! Codex, or the worker with it, is killed in the middle of a Turn: the same Turn goes on, and nothing is done or told twice.

use pretty_assertions::assert_eq;

use super::stub::{Answer, Gate, Stub};
use super::world::{codexes, rat, settled, stop_killed, the_codex, transcript};
use crate::kill::processes::Role;
use crate::kill::rat::{Rat, until};

pub(crate) fn kill_codex(rat: &Rat) {
    let codex = the_codex(rat);
    codex
        .kill_and_wait(std::time::Duration::from_secs(60))
        .expect("it is ours");
}

/// Kills the workers and their Codex.
pub(crate) fn kill_workers(rat: &Rat) {
    let workers = rat.program(Role::Worker);
    assert!(!workers.is_empty());
    workers.iter().for_each(|worker| _ = worker.kill());
    workers
        .iter()
        .for_each(crate::kill::processes::Process::wait_gone);
    until(
        || "Codex ends by itself".to_owned(),
        || codexes(rat).is_empty().then_some(()),
    );
}

pub(crate) fn one_turn_completed(rat: &Rat, session: &str, turn: &serde_json::Value) {
    let turns = rat.turns(session);
    assert_eq!(
        (turns.len(), &turns[0]["id"], &turns[0]["status"]),
        (1, turn, &"completed".into()),
        "{turns:#?}{}",
        rat.logs()
    );
}

const COMMAND: &str =
    "echo ran >> log; echo begun > begun; until [ -e go-on ]; do sleep 0.05; done; echo out";

fn until_begun(rat: &Rat, session: &str) {
    until(
        || format!("the command runs{}", rat.logs()),
        || (!rat.lines(session, "begun").is_empty()).then_some(()),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_while_the_model_writes() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        1 => Answer::new().says_in_halves("half ", &held, "of it"),
        _ => Answer::new().says("all of it"),
    })
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_codex(&rat);
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(
        transcript(&rat, &session),
        ["user: go", "assistant: all of it"]
    );
    assert_eq!(stub.asked(2).await.times_told("go"), 1);
    gate.open();
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_killed_while_a_command_runs_and_the_next_one_is_told_its_real_output() {
    let stub = Stub::script([
        Answer::new().says("I run it").runs("call_1", COMMAND),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    until_begun(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_codex(&rat);
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
    let second = stub.asked(2).await;
    let told = second.outputs_of("call_1");
    assert!(
        told.len() == 1 && told[0].contains("exit code 0") && told[0].contains("out"),
        "{told:?}"
    );
    assert_eq!(second.times_told("go"), 1);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_worker_is_killed_while_a_command_runs_and_its_outcome_is_unknown() {
    let stub = Stub::script([
        Answer::new().runs("call_0", "echo before >> log"),
        Answer::new().runs("call_1", COMMAND),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    until_begun(&rat, &session);
    let turn = rat.turns(&session)[0]["id"].clone();
    kill_workers(&rat);
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(rat.lines(&session, "log"), ["before", "ran"]);
    let third = stub.asked(3).await;
    let (before, told) = (third.outputs_of("call_0"), third.outputs_of("call_1"));
    assert!(
        before.len() == 1 && before[0].contains("exit code 0"),
        "{before:?}"
    );
    assert!(
        told.len() == 1 && told[0].contains("outcome unknown"),
        "{told:?}"
    );
    assert_eq!(third.times_told("go"), 1);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_killed_while_the_model_is_asked() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        1 => Answer::new().until(&held).says("too late"),
        _ => Answer::new().says("in time"),
    })
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    let turn = rat.turns(&session)[0]["id"].clone();
    rat.kill_everything();
    until(
        || "Codex ends by itself".to_owned(),
        || codexes(&rat).is_empty().then_some(()),
    );
    rat.ok(&["daemon", "start"]);
    settled(&rat, &session);
    one_turn_completed(&rat, &session, &turn);
    assert_eq!(
        transcript(&rat, &session),
        ["user: go", "assistant: in time"]
    );
    assert_eq!(stub.asked(2).await.times_told("go"), 1);
    gate.open();
    stop_killed(&rat);
}
