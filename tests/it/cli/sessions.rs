//! The life of a Session, as it is typed.

use serde_json::{Value, json};

use super::env::TestEnv;
use super::scrub::seen;

#[test]
fn a_session_is_created_talked_to_and_deleted() {
    let env = TestEnv::configured("[ui]\ntime = 'utc'\n");
    let create =
        env.run("sessions create --environment none --title 'a title' --input '@say hello'");
    assert_eq!(create.code, 0, "{create:#?}");
    let session = create
        .stdout
        .lines()
        .find_map(|l| l.strip_prefix("session\t"))
        .expect("an id")
        .to_owned();
    let s = &session[..14];
    let mut page = env.shown(&create);
    for line in [
        format!("sessions wait {s}"),
        format!("sessions send {s} --input '@say again' --wait"),
        format!("sessions update {s} --title '' --metadata team=infra --model demo"),
        format!("sessions update {s}"),
        format!("sessions cancel {s}"),
        format!("sessions answer {s} --result x"),
        format!("sessions artifacts {s} -o table"),
        format!("sessions delete {s}"),
        format!("sessions delete {s} --yes"),
        format!("sessions get {session}"),
        format!("sessions send {session} --input x"),
        format!("sessions delete {session} --yes"),
        "sessions list -o json".to_owned(),
    ] {
        page.push('\n');
        page.push_str(&env.shown(&env.run(&line)));
    }
    seen!(page);
}

#[test]
fn off_a_terminal_create_and_send_answer_at_once() {
    let env = TestEnv::new();
    let created = env.json("sessions create --environment none --no-autostart --input '@say one'");
    assert_eq!(created["status"], "in_progress");
    let session = created["id"].as_str().expect("an id");
    let sent = |input: &str| {
        let line = format!("sessions send {session} --no-autostart {input}");
        env.json(&line)["outcomes"][0]["became"].clone()
    };
    assert_eq!(sent("--input '@say two'"), "steered");
    assert_eq!(sent("--queue --input '@say three'"), "queued");
    env.ok("daemon start");
    let over = env.json(&format!("sessions wait {session}"));
    assert_eq!(over["status"], "idle");
    let turns = env.ok(&format!("sessions turns {session} -o id"));
    assert_eq!(turns.lines().count(), 2);
    let items = env.json(&format!("sessions items {session}"));
    let said: Vec<&str> = items["data"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|item| item["role"] == "assistant")
        .filter_map(|item| item["content"][0]["text"].as_str())
        .collect();
    assert_eq!(said, ["one", "two", "three"]);
}

#[test]
fn the_transcript_of_a_turn_is_printed_for_a_person_who_waits() {
    let env = TestEnv::new();
    let ran = env.run_with(
        "sessions create --input - --wait -o table",
        b"@say first a look\n@exec printf 'one\\ntwo\\n'; exit 3\n@exec mkdir -p outputs && echo hi > outputs/note.txt\n@say done",
    );
    seen!(env.shown(&ran));
}

#[test]
fn a_key_makes_a_repeat_the_same_input_and_another_body_a_conflict() {
    let env = TestEnv::new();
    let create = "sessions create --environment none --no-autostart --idempotency-key k1 --input";
    let first = env.ok(&format!("{create} hello -o id"));
    assert_eq!(env.ok(&format!("{create} hello -o id")), first);
    let other = env.run(&format!("{create} other"));
    env.scrub().page(&first);
    let mut page = env.shown(&other);
    for line in [
        format!("sessions send {first} --no-autostart --idempotency-key k2 --input again"),
        format!("sessions send {first} --no-autostart --idempotency-key k2 --input again"),
        format!("sessions send {first} --no-autostart --idempotency-key k2 --input different"),
    ] {
        page.push('\n');
        page.push_str(&env.shown(&env.run(&line)));
    }
    seen!(page);
    assert_eq!(env.ok("sessions list -o id"), first);
    let explained = env.run(&format!("sessions explain {first} -o json"));
    let explained: Value = serde_json::from_str(&explained.stdout).expect("JSON");
    assert_eq!(
        explained["pending_inputs"].as_array().map(Vec::len),
        Some(2)
    );
}

/// A Session whose Turn waits for two answers.
fn asking(env: &TestEnv) -> String {
    let tool = |name: &str| json!({"type": "function", "name": name, "description": "", "parameters": {"type": "object"}});
    let request = json!({
        "environment": {"type": "none"},
        "agent": {"model": "demo", "tools": [tool("lookup"), tool("notify")]},
        "input": "@call lookup {\"q\":1}\n@say thanks",
    });
    let ran = env.run_with(
        "sessions create -f - --wait -o json",
        request.to_string().as_bytes(),
    );
    let session: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(session["status"], "requires_action", "{ran:#?}");
    session["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_function_call_is_listed_answered_and_the_same_turn_goes_on() {
    let env = TestEnv::new();
    let session = asking(&env);
    env.scrub().page(&session);
    let listed = env.ok("sessions list --status requires_action -o id");
    assert_eq!(listed, session);
    seen!(env.page(&[
        &format!("sessions answer {session} --call nonsense --result x"),
        &format!("sessions answer {session} --result '{{\"ok\":true}}' --error no"),
        &format!("sessions explain {session}"),
        &format!("sessions answer {session} --result '{{\"ok\":true}}'"),
        &format!("sessions wait {session} -o id"),
        &format!("sessions answer {session} --result again"),
    ]));
    let turns = env.json(&format!("sessions turns {session}"));
    assert_eq!(turns["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(turns["data"][0]["status"], "completed");
}

#[test]
fn a_failed_function_is_told_to_the_agent() {
    let env = TestEnv::new();
    let session = asking(&env);
    let call =
        env.json(&format!("sessions get {session}"))["required_actions"][0]["call_id"].clone();
    let call = call.as_str().expect("a call");
    env.ok(&format!(
        "sessions answer {session} --call {call} --error 'no such ticket'"
    ));
    env.ok(&format!("sessions wait {session}"));
    let items = env.ok(&format!("sessions items {session} -o json"));
    assert!(items.contains("no such ticket"), "{items}");
}

#[test]
fn a_turn_is_cancelled_and_the_result_is_named() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --input '@sleep 60000' -o id");
    env.scrub().page(&session);
    env.until("a worker has it", || {
        env.json(&format!("sessions turns {session}"))["data"][0]["status"] == "in_progress"
    });
    env.ok(&format!(
        "sessions send {session} --queue --input '@sleep 60000'"
    ));
    let turns = env.ok(&format!("sessions turns {session} --order asc -o id"));
    let second = turns.lines().nth(1).expect("two turns");
    let cancelled = env.json(&format!("sessions cancel {session} --turn {second}"));
    assert_eq!(cancelled["outcomes"][0]["became"], "cancelled");
    let started = std::time::Instant::now();
    let cancelling = env.run(&format!("sessions cancel {session} -o json"));
    assert_eq!(cancelling.code, 0, "{cancelling:#?}");
    assert!(
        cancelling.stderr.contains("is cancelled"),
        "{cancelling:#?}"
    );
    // The command would have slept for so long.
    assert!(started.elapsed() < std::time::Duration::from_secs(60));
    let waited = env.run(&format!("sessions wait {session} -o id"));
    assert_eq!(waited.code, 1, "the last turn was cancelled: {waited:#?}");
    let nothing = env.json(&format!("sessions cancel {session}"));
    assert_eq!(nothing["outcomes"][0]["result"], "no_active_turn");
    let over = env.json(&format!("sessions cancel {session} --turn {second}"));
    assert_eq!(over["outcomes"][0]["result"], "already_finished");
}

#[test]
fn a_cancel_of_another_turn_than_the_active_one_is_a_conflict() {
    let env = TestEnv::new();
    let session = env.session("@say one");
    let first = env.ok(&format!("sessions turns {session} -o id"));
    env.ok(&format!(
        "sessions send {session} --no-autostart --input '@sleep 60000'"
    ));
    let ran = env.run(&format!("sessions cancel {session} --turn {first} -o json"));
    assert_eq!(ran.code, 5, "{ran:#?}");
    assert!(ran.stdout.contains("another_turn_active"), "{ran:#?}");
    assert!(ran.stderr.contains("RT-0500"), "{ran:#?}");
}

#[test]
fn a_cancel_that_nobody_can_complete_is_an_unknown_outcome() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --input '@sleep 60000' -o id");
    env.until("a worker has it", || {
        env.json(&format!("sessions turns {session}"))["data"][0]["status"] == "in_progress"
    });
    let ours: Vec<u32> = env.processes().into_iter().map(|(pid, _)| pid).collect();
    for pid in ours {
        super::env::end(pid);
    }
    env.until_alone();
    let cancel = env.run(&format!("sessions cancel {session} --no-autostart -o json"));
    assert_eq!(cancel.code, 6, "{cancel:#?}");
    assert!(cancel.stdout.contains("\"cancelling\""), "{cancel:#?}");
    assert!(cancel.stderr.contains("RT-0600"), "{cancel:#?}");
    assert!(
        cancel
            .stderr
            .contains(&format!("sessions explain {session}")),
        "{cancel:#?}"
    );
    env.ok("daemon start");
    assert_eq!(env.run(&format!("sessions wait {session}")).code, 1);
    let turns = env.json(&format!("sessions turns {session}"));
    assert_eq!(turns["data"][0]["status"], "cancelled");
}

#[test]
fn a_turn_that_nobody_works_on_is_cancelled_without_a_worker() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --no-autostart --input hello -o id");
    let cancelled = env.json(&format!("sessions cancel {session} --no-autostart"));
    assert_eq!(cancelled["outcomes"][0]["became"], "cancelled");
    assert_eq!(
        env.json(&format!("sessions get {session}"))["status"],
        "idle"
    );
    assert!(env.daemon().is_none());
}

#[test]
fn waiting_ends_with_the_turn_or_with_its_time() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --input '@sleep 60000' -o id");
    env.scrub().page(&session);
    seen!(env.page(&[
        &format!("sessions wait {session} --timeout 50ms"),
        &format!("sessions wait {session} --timeout 50ms -o json"),
        &format!("sessions wait {session} --timeout 50ms -o table"),
        &format!("sessions wait {session} --timeout soon"),
    ]));
    env.ok(&format!("sessions cancel {session}"));
    let idle = env.ok("sessions create --no-autostart -o id");
    assert_eq!(env.ok(&format!("sessions wait {idle} -o id")), idle);
}

#[test]
fn a_failed_turn_is_a_negative_answer_and_the_session_goes_on() {
    let env = TestEnv::new();
    let ran = env.run("sessions create --environment none --input '@fail rate_limit_exceeded slow down' --wait -o table");
    assert_eq!(ran.code, 1, "{ran:#?}");
    seen!(env.shown(&ran));
    let session = env.ok("sessions list -o id");
    assert_eq!(
        env.json(&format!("sessions get {session}"))["status"],
        "idle"
    );
    env.ok(&format!(
        "sessions send {session} --input '@say better' --wait"
    ));
}
