//! Codex' own record of a conversation is gone on with, Turn after Turn and in another place; and without it nothing is missing.

use std::path::{Path, PathBuf};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::stub::{Answer, Asked, Gate, Stub};
use super::world::{
    self, create, create_with_function, last_turn, rat, send, settled, stop, stop_killed,
    the_codex, transcript, until_status,
};
use crate::cli::env::files_below;
use crate::kill::rat::{Rat, until};

/// What the provider is told to find the conversation by: Codex' own name of it.
pub(crate) fn thread(asked: &Asked) -> &Value {
    &asked.body["prompt_cache_key"]
}

/// Whether a request begins with all that another one had, byte for byte.
pub(crate) fn goes_on_from(later: &Asked, earlier: &Asked) -> bool {
    let text = |items: &[Value]| items.iter().map(ToString::to_string).collect::<Vec<_>>();
    text(later.input()).starts_with(&text(earlier.input()))
}

/// Where the bytes of Sessions are.
fn blobs(rat: &Rat) -> Vec<PathBuf> {
    let blobs = rat.data().join("blobs");
    let files = files_below(&blobs).into_iter();
    files.filter(|path| path.is_file()).collect()
}

/// What the last Run says of a new beginning.
fn began_anew(rat: &Rat, session: &str) -> Value {
    rat.json(&["runs", "show", session])["began_anew"].clone()
}

pub(crate) fn carry(session: &str, from: &Rat, to: &Rat) {
    let file = from.path().join("session.tar.zst");
    let file = file.to_str().expect("a plain path");
    from.ok(&["sessions", "export", session, "--to", file]);
    to.ok(&["sessions", "import", file]);
}

/// A provider whose first answer thinks and runs something.
async fn looks() -> Stub {
    Stub::playing(|asked| match asked.number {
        1 => Answer::new()
            .thinks("let me see")
            .says("I look")
            .runs("call_1", "echo found it"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_turn_is_given_every_byte_of_the_one_before() {
    let stub = looks().await;
    let rat = rat(&stub);
    let session = create(&rat, "look");
    send(&rat, &session, "and again");
    send(&rat, &session, "and once more");
    let [second, third, fourth] = [
        stub.asked(2).await,
        stub.asked(3).await,
        stub.asked(4).await,
    ];
    assert_eq!(thread(&second), thread(&third));
    assert_eq!(thread(&third), thread(&fourth));
    assert!(goes_on_from(&third, &second) && goes_on_from(&fourth, &third));
    for words in ["look", "and again", "and once more"] {
        assert_eq!(fourth.times_told(words), 1, "{words}");
    }
    assert_eq!(
        transcript(&rat, &session),
        [
            "user: look",
            "reasoning: let me see",
            "assistant: I look",
            "echo found it [completed]: found it",
            "assistant: answer 2",
            "user: and again",
            "assistant: answer 3",
            "user: and once more",
            "assistant: answer 4",
        ]
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_patches_and_steers_are_seen_in_a_conversation_that_is_gone_on_with() {
    let patch = "*** Begin Patch\n*** Add File: note\n+written\n*** End Patch\n";
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        2 => Answer::new()
            .thinks("a file is needed")
            .says("I write it")
            .patches("call_p", patch),
        3 => Answer::new().runs("call_c", "cat note"),
        4 => Answer::new().says("it is there").until(&held),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "hello");
    rat.send(&session, "write", false);
    gate.reached().await;
    rat.send(&session, "wait", false);
    until(
        || format!("the steer has come{}", rat.logs()),
        || (rat.turns(&session).len() == 2).then_some(()),
    );
    gate.open();
    settled(&rat, &session);
    let said = transcript(&rat, &session);
    assert_eq!(
        said[2..5],
        [
            "user: write",
            "reasoning: a file is needed",
            "assistant: I write it"
        ]
    );
    assert!(
        said[5].contains("[completed]: added /workspace/note"),
        "{said:#?}"
    );
    assert_eq!(said[6], "cat note [completed]: written");
    assert_eq!(said.iter().filter(|said| *said == "user: wait").count(), 1);
    let [first, last] = [stub.asked(1).await, stub.requests().pop().expect("asked")];
    assert_eq!(thread(&first), thread(&last));
    for words in ["hello", "write", "wait"] {
        assert_eq!(last.times_told(words), 1, "{words}");
    }
    assert_eq!(last.outputs_of("call_c").len(), 1);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_codex_shortened_stays_short_and_its_summary_is_no_item() {
    let stub = Stub::playing(|asked| match asked.number {
        // More than its window has.
        1 => Answer::new()
            .says("a long answer")
            .costs([270_000, 0, 10, 0]),
        2 => Answer::new()
            .thinks("how to put it")
            .says("in short: hello"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "hello");
    send(&rat, &session, "go on");
    send(&rat, &session, "and on");
    let [third, fourth] = [stub.asked(3).await, stub.asked(4).await];
    for asked in [&third, &fourth] {
        let given = serde_json::to_string(asked.input()).expect("it is JSON");
        assert!(given.contains("in short: hello"), "{given}");
        assert!(!given.contains("a long answer"), "{given}");
        assert_eq!(asked.times_told("go on"), 1);
    }
    assert!(goes_on_from(&fourth, &third));
    assert_eq!(
        transcript(&rat, &session),
        [
            "user: hello",
            "assistant: a long answer",
            "user: go on",
            "assistant: answer 3",
            "user: and on",
            "assistant: answer 4",
        ]
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_waited_for_is_given_to_the_conversation_that_asked() {
    let stub = Stub::playing(|asked| match asked.number {
        1 => Answer::new().says("I ask").calls(
            "call_1",
            "ask",
            &serde_json::json!({"what": "colour"}),
        ),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let session = create_with_function(&rat, "ask", false);
    until_status(&rat, &session, &["requires_action"]);
    rat.ok(&["sessions", "answer", &session, "--result", "blue"]);
    settled(&rat, &session);
    send(&rat, &session, "thanks");
    let [first, second, third] = [
        stub.asked(1).await,
        stub.asked(2).await,
        stub.asked(3).await,
    ];
    assert_eq!([thread(&first), thread(&second)], [thread(&third); 2]);
    assert!(goes_on_from(&second, &first) && goes_on_from(&third, &second));
    assert_eq!(third.outputs_of("call_1"), ["blue"]);
    assert_eq!(third.times_told("ask"), 1);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_in_another_data_directory() {
    let stub = looks().await;
    let here = rat(&stub);
    let session = create(&here, "look");
    stop(&here);
    let there = rat(&stub);
    carry(&session, &here, &there);
    send(&there, &session, "and there");
    let [second, third] = [stub.asked(2).await, stub.asked(3).await];
    assert_eq!(thread(&second), thread(&third));
    assert!(goes_on_from(&third, &second));
    stop(&there);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_or_damaged_of_it_is_not_missed() {
    type Harm = fn(&Path);
    let harms: [Harm; 3] = [
        |path| std::fs::remove_file(path).expect("it can be removed"),
        |path| std::fs::write(path, "something else").expect("it can be written"),
        |path| {
            let whole = std::fs::read(path).expect("it can be read");
            std::fs::write(path, &whole[..whole.len() / 2]).expect("it can be written");
        },
    ];
    for harm in harms {
        let stub = looks().await;
        let rat = rat(&stub);
        let session = create(&rat, "look");
        let bytes = blobs(&rat);
        assert!(!bytes.is_empty());
        bytes.iter().for_each(|path| harm(path));
        // It is a cache: the Session travels without it.
        let elsewhere = world::rat(&stub);
        carry(&session, &rat, &elsewhere);
        elsewhere.ok(&["fsck"]);
        stop(&elsewhere);
        send(&rat, &session, "and again");
        assert_eq!(last_turn(&rat, &session).0, "completed");
        let turn = rat.turns(&session)[1]["id"].clone();
        let anew = began_anew(&rat, &session);
        assert_eq!(anew["turn_id"], turn);
        let why = anew["reason"].as_str().expect("words").to_owned();
        assert!(!why.is_empty());
        for command in [["runs", "show"], ["sessions", "explain"]] {
            let shown = rat.ok(&[command[0], command[1], &session]);
            let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(shown.contains("began anew"), "{shown}");
            assert!(shown.contains(&format!("from the Items: {why}")), "{shown}");
        }
        let [second, third] = [stub.asked(2).await, stub.asked(3).await];
        assert_ne!(thread(&second), thread(&third));
        assert_eq!(
            [third.times_told("look"), third.times_told("and again")],
            [1, 1]
        );
        assert_eq!(third.outputs_of("call_1").len(), 1);
        // From there it goes on as ever.
        send(&rat, &session, "and once more");
        let fourth = stub.asked(4).await;
        assert_eq!(thread(&third), thread(&fourth));
        assert!(goes_on_from(&fourth, &third));
        assert_eq!(began_anew(&rat, &session), Value::Null);
        stop(&rat);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_lost_its_codex_goes_on_from_the_turn_before() {
    const COMMAND: &str = "echo ran >> log; until [ -e go-on ]; do sleep 0.05; done; echo out";
    let stub = Stub::playing(|asked| match asked.number {
        2 => Answer::new().says("I run it").runs("call_1", COMMAND),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "hello");
    rat.send(&session, "run", false);
    until(
        || format!("the command runs{}", rat.logs()),
        || (!rat.lines(&session, "log").is_empty()).then_some(()),
    );
    let codex = the_codex(&rat);
    codex
        .kill_and_wait(std::time::Duration::from_secs(60))
        .expect("it is ours");
    std::fs::write(rat.workspace(&session).join("go-on"), "").expect("written");
    settled(&rat, &session);
    assert_eq!(rat.lines(&session, "log"), ["ran"]);
    let [first, third] = [stub.asked(1).await, stub.asked(3).await];
    assert_eq!(thread(&first), thread(&third));
    assert!(goes_on_from(&third, &first));
    assert_eq!([third.times_told("hello"), third.times_told("run")], [1, 1]);
    let told = third.outputs_of("call_1");
    assert!(told.len() == 1 && told[0].contains("out"), "{told:?}");
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_that_is_too_long_for_the_model_is_begun_anew_from_the_items() {
    let stub = Stub::playing(|asked| match asked.number {
        2 => Answer::fails(400, "context_length_exceeded", "too long"),
        n => Answer::new().says(&format!("answer {n}")),
    })
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "hello");
    send(&rat, &session, "go on");
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let [first, second, third] = [
        stub.asked(1).await,
        stub.asked(2).await,
        stub.asked(3).await,
    ];
    assert_eq!(thread(&first), thread(&second));
    assert_ne!(thread(&second), thread(&third));
    assert_eq!(
        [third.times_told("hello"), third.times_told("go on")],
        [1, 1]
    );
    let why = began_anew(&rat, &session)["reason"].clone();
    assert_eq!(why, "the provider says that it is too long");
    stop(&rat);
}
