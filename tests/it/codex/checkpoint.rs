//! What Codex keeps of a conversation, taken from one home and put into another: the real program writes it and reads it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use pretty_assertions::assert_eq;
use rat_things::backend::harness::codex::checkpoint::{Manifest, Taken, restore, take};

use super::exec::Home;
use super::stub::{Answer, Asked, Stub};

const VERSION: &str = "0.171.0";

/// A provider that says which request it answers, and runs a command in every first one of a Turn that asks for it.
async fn provider() -> Stub {
    Stub::playing(|asked: &Asked| {
        let number = asked.number;
        let last = asked.input().last().map(ToString::to_string);
        match last.is_some_and(|last| last.contains("run something")) {
            true => Answer::new()
                .thinks("what could that be")
                .runs(&format!("call_{number}"), &format!("echo ran {number}")),
            false => Answer::new().says(&format!("answer {number}")),
        }
    })
    .await
}

fn taken(home: &Home, thread: &str, before: Option<&Manifest>) -> Taken {
    take(&home.path(), thread, VERSION, before).expect("its files fit together")
}

fn keep(stored: &mut BTreeMap<String, Bytes>, taken: &Taken) {
    for segment in &taken.new {
        stored.insert(segment.saved.blob.sha256.clone(), segment.packed.clone());
    }
}

/// Another home with this thread alone.
fn moved(stub: &Stub, taken: &Taken) -> Home {
    let mut stored = BTreeMap::new();
    keep(&mut stored, taken);
    let home = Home::new(&stub.base_url);
    restore(&taken.manifest, &stored, VERSION, &home.path()).expect("it is whole");
    home
}

/// The file of a thread.
fn rollout(home: &Home, thread: &str) -> PathBuf {
    fn find(dir: &Path, name: &str) -> Option<PathBuf> {
        let entries = std::fs::read_dir(dir).ok()?;
        entries.flatten().find_map(|entry| match entry.path() {
            path if path.is_dir() => find(&path, name),
            path => path.to_string_lossy().ends_with(name).then_some(path),
        })
    }
    find(&home.path().join("sessions"), &format!("{thread}.jsonl")).expect("it has a file")
}

#[tokio::test]
async fn a_thread_goes_on_in_another_home_with_its_whole_history() {
    let stub = provider().await;
    let home = Home::new(&stub.base_url);
    let thread = home.exec("run something").await.completed();
    home.resume(&thread, "and this").await.completed();
    let before = stub.requests().len();

    let other = moved(&stub, &taken(&home, &thread, None));
    assert_eq!(other.resume(&thread, "go on").await.completed(), thread);
    let asked = stub.asked(before + 1).await;
    for words in ["run something", "and this", "go on"] {
        assert_eq!(asked.times_told(words), 1, "{words}");
    }
    let outputs = asked.outputs_of("call_1");
    assert!(
        matches!(&outputs[..], [output] if output.contains("ran 1")),
        "{outputs:?}"
    );
    let given = serde_json::to_string(asked.input()).expect("it is JSON");
    assert!(
        given.contains("sealed-rs_1_0") && given.contains("answer 3"),
        "{given}"
    );
    // And from there home again, or anywhere.
    let third = moved(&stub, &taken(&other, &thread, None));
    third.resume(&thread, "once more").await.completed();
    let asked = stub.asked(before + 2).await;
    assert_eq!(
        (asked.times_told("go on"), asked.times_told("once more")),
        (1, 1)
    );
}

#[tokio::test]
async fn a_fork_takes_with_it_what_it_began_with() {
    let stub = provider().await;
    let home = Home::new(&stub.base_url);
    let thread = home.exec("the beginning").await.completed();
    let fork = home.fork(&thread, "another way").await.completed();
    home.resume(&thread, "the first way").await.completed();
    let again = home.fork(&fork, "a third way").await.completed();
    let before = stub.requests().len();

    let saved = taken(&home, &again, None);
    assert_eq!(saved.manifest.files.len(), 3);
    let other = moved(&stub, &saved);
    other.resume(&again, "go on").await.completed();
    let asked = stub.asked(before + 1).await;
    let times = |words| asked.times_told(words);
    assert_eq!(
        ["the beginning", "another way", "a third way", "go on"].map(times),
        [1, 1, 1, 1]
    );
    assert_eq!(times("the first way"), 0);
}

#[tokio::test]
async fn a_file_that_is_cut_in_a_line_goes_on_from_the_line_before() {
    let stub = provider().await;
    let home = Home::new(&stub.base_url);
    let thread = home.exec("run something").await.completed();
    let path = rollout(&home, &thread);
    let whole = std::fs::read(&path).expect("it is there");
    // After its first whole input, within what follows.
    let input = whole
        .windows(15)
        .position(|window| window == b"\"run something\"");
    let input = input.expect("the input was saved");
    let end = input
        + whole[input..]
            .iter()
            .position(|byte| *byte == b'\n')
            .expect("a line ends");
    for cut in [end + 1, end + 100, whole.len() - 1] {
        std::fs::write(&path, &whole[..cut]).expect("it can be written");
        let before = stub.requests().len();
        let other = moved(&stub, &taken(&home, &thread, None));
        other.resume(&thread, "go on").await.completed();
        let asked = stub.asked(before + 1).await;
        assert_eq!(
            (asked.times_told("run something"), asked.times_told("go on")),
            (1, 1)
        );
    }
    // A torn line alone changes nothing.
    std::fs::write(&path, &whole).expect("it can be written");
    let clean = taken(&home, &thread, None);
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .expect("it is there");
    file.write_all(b"{\"timestamp\":\"2026-")
        .expect("it can be written");
    assert_eq!(taken(&home, &thread, None), clean);
}

#[tokio::test]
async fn what_a_turn_adds_does_not_grow_with_the_conversation() {
    let stub = provider().await;
    let home = Home::new(&stub.base_url);
    let thread = home.exec("hello").await.completed();
    let mut before = None;
    let mut stored = BTreeMap::new();
    for turn in 0..12 {
        home.resume(&thread, &format!("turn {turn}"))
            .await
            .completed();
        let saved = taken(&home, &thread, before.as_ref());
        // What was full before is not stored again: the last segment, and one more when that became full.
        assert!(saved.new.len() <= 2, "{}", saved.new.len());
        keep(&mut stored, &saved);
        before = Some(saved.manifest);
    }
    let last = taken(&home, &thread, before.as_ref());
    assert!(last.new.is_empty() && last.lines.is_empty());
    assert!(
        last.manifest.blobs().len() > 1,
        "this conversation is too short to tell"
    );
    let other = Home::new(&stub.base_url);
    restore(&last.manifest, &stored, VERSION, &other.path()).expect("it is whole");
    assert_eq!(
        std::fs::read(rollout(&other, &thread)).expect("it is there"),
        std::fs::read(rollout(&home, &thread)).expect("it is there")
    );
}
