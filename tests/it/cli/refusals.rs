//! Bad input: one clear message that names the field, the documented exit code, and nothing changed.

use std::path::Path;

use serde_json::{Value, json};

use super::env::{Ran, TestEnv};
use super::scrub::seen;

fn refused(env: &TestEnv, ran: &Ran, code: i32, field: &str) {
    assert_eq!((ran.code, ran.stdout.as_str()), (code, ""), "{ran:#?}");
    assert!(ran.stderr.starts_with("error: "), "{ran:#?}");
    assert!(ran.stderr.contains(field), "{field} is not named: {ran:#?}");
    assert_eq!(
        ran.stderr
            .lines()
            .filter(|l| l.starts_with("error: "))
            .count(),
        1,
        "{ran:#?}"
    );
    assert_eq!(env.ok("sessions list -o id"), "", "something was made");
}

#[test]
fn messages_must_be_some_text_of_bounded_size() {
    let env = TestEnv::new();
    let create = "sessions create --environment none --no-autostart --input";
    refused(&env, &env.run(&format!("{create} ''")), 2, "--input");
    refused(
        &env,
        &env.run_with(&format!("{create} -"), b""),
        2,
        "--input",
    );
    refused(
        &env,
        &env.run_with(&format!("{create} -"), b"good\xffbad"),
        2,
        "not UTF-8 text (byte 4)",
    );
    let most = vec![b'x'; 1 << 20];
    let too_much = vec![b'x'; (1 << 20) + 1];
    refused(
        &env,
        &env.run_with(&format!("{create} -"), &too_much),
        2,
        "larger than 1.0 MiB",
    );
    let huge = env.run_with(&format!("{create} -"), &vec![b'x'; 9 << 20]);
    refused(&env, &huge, 2, "larger than 1.0 MiB");
    let fits = env.run_with(&format!("{create} - -o id"), &most);
    assert_eq!(fits.code, 0, "{fits:#?}");
    let session = fits.stdout.trim_end();
    for (input, field) in [
        (&b""[..], "empty"),
        (b"\xff", "UTF-8"),
        (&too_much, "1.0 MiB"),
    ] {
        let ran = env.run_with(&format!("sessions send {session} --input -"), input);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(
            ran.stderr.contains("--input") && ran.stderr.contains(field),
            "{ran:#?}"
        );
    }
    let turns = env.ok(&format!("sessions turns {session} -o id"));
    assert_eq!(turns.lines().count(), 1);
}

#[test]
fn options_keep_the_rules_of_the_wire() {
    let env = TestEnv::new();
    let create = "sessions create --environment none --no-autostart --input x";
    let many: String = (0..17).map(|n| format!(" --metadata k{n}=v")).collect();
    refused(&env, &env.run(&format!("{create}{many}")), 2, "metadata");
    refused(
        &env,
        &env.run(&format!("{create} --metadata {}=v", "k".repeat(65))),
        2,
        "metadata",
    );
    refused(
        &env,
        &env.run(&format!("{create} --metadata k={}", "v".repeat(513))),
        2,
        "metadata.k",
    );
    refused(
        &env,
        &env.run(&format!("{create} --metadata novalue")),
        2,
        "--metadata",
    );
    refused(
        &env,
        &env.run(&format!("{create} --model ''")),
        2,
        "agent.model",
    );
    refused(
        &env,
        &env.run(&format!("{create} --network disabled")),
        2,
        "--network",
    );
    refused(
        &env,
        &env.run("sessions create --network enabled --allow x.org"),
        2,
        "--allow",
    );
    refused(
        &env,
        &env.run("sessions create --network restricted"),
        2,
        "allowed_domains",
    );
    refused(
        &env,
        &env.run(&format!(
            "{create} --agent-id agent_aaaaaaaaaaaaaaaaaaaaaaaaaa"
        )),
        3,
        "agent_aaaaaaaaaaaaaaaaaaaaaaaaaa",
    );
    refused(
        &env,
        &env.run(&format!("{create} --agent-id sess_a")),
        2,
        "agent_",
    );
}

#[test]
fn a_session_needs_a_model_from_somewhere() {
    let env = TestEnv::new().with("RAT_THINGS_PROVIDER", "responses");
    let ran = env.run("sessions create --environment none --input hello");
    refused(&env, &ran, 2, "--model");
    assert!(ran.stderr.contains("--agent-id"), "{ran:#?}");
    seen!(env.shown(&ran));
    let whole = env.run_with(
        "sessions create -f -",
        br#"{"environment":{"type":"none"},"input":"hello"}"#,
    );
    refused(&env, &whole, 2, "agent.model");
}

#[test]
fn request_files_are_read_strictly() {
    let env = TestEnv::new();
    for (body, field) in [
        (
            json!({"environment": {"type": "none"}, "agent": {"model": "m"}, "inptu": "x"}),
            "inptu",
        ),
        (
            json!({"environment": {"type": "cloud"}, "agent": {"model": "m"}}),
            "environment.type",
        ),
        (
            json!({"environment": {"type": "none"}, "agent": {"model": 7}}),
            "agent.model",
        ),
        (json!({"agent": {"model": "m"}}), "environment"),
        (
            json!({"environment": {"type": "none"}, "agent": {"model": "m"}, "input": ""}),
            "input",
        ),
        (
            json!({"environment": {"type": "openai_hosted", "setup_commands": [{"run": "x"}]}, "agent": {"model": "m"}}),
            "setup_commands",
        ),
        (
            json!({"environment": {"type": "none"}, "input": "x", "agent": {"model": "m", "tools": [{"type": "web_search"}]}}),
            "agent.tools[0]",
        ),
    ] {
        let ran = env.run_with("sessions create -f -", body.to_string().as_bytes());
        refused(&env, &ran, 2, field);
    }
    refused(&env, &env.run_with("sessions create -f -", b"{"), 2, "JSON");
    refused(
        &env,
        &env.run_with("sessions create -f -", b"\xff"),
        2,
        "UTF-8",
    );
    refused(
        &env,
        &env.run("sessions create -f missing.json"),
        2,
        "missing.json",
    );
    refused(&env, &env.run("sessions create -f ."), 2, "-f .");
    let big = vec![b' '; (4 << 20) + 1];
    refused(
        &env,
        &env.run_with("sessions create -f -", &big),
        2,
        "larger than 4.0 MiB",
    );
}

#[test]
fn what_does_not_exist_is_not_found_whatever_is_asked_of_it() {
    let env = TestEnv::new();
    let nobody = "sess_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    for verb in [
        "get",
        "turns",
        "items",
        "events",
        "artifacts",
        "wait",
        "explain",
    ] {
        refused(
            &env,
            &env.run(&format!("sessions {verb} {nobody}")),
            3,
            nobody,
        );
    }
    for line in [
        format!("sessions send {nobody} --input x"),
        format!("sessions cancel {nobody}"),
        format!("sessions answer {nobody} --result x"),
        format!("sessions update {nobody} --title x"),
        format!("sessions delete {nobody} --yes"),
        format!("runs list {nobody}"),
        format!("runs show {nobody}"),
        format!("runs release {nobody} --yes"),
        format!("artifacts get {nobody} artf_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
        "runs show run_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
        "runs show run_ab".to_owned(),
        "agents get agent_aaaaaaaaaaaaaaaaaaaaaaaaaa".to_owned(),
    ] {
        let ran = env.run(&line);
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:#?}");
        assert!(
            ran.stderr.contains("\nhint: "),
            "says nothing of what there is: {ran:#?}"
        );
    }
    for odd in [
        "sess_A",
        "turn_a",
        "sess_aaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "../x",
        "'sess_a b'",
    ] {
        refused(&env, &env.run(&format!("sessions get {odd}")), 2, "sess_");
    }
    let session = env.ok("sessions create --no-autostart -o id");
    for (line, code) in [
        (
            format!("sessions turns {session} --after turn_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            3,
        ),
        (
            format!("sessions items {session} --after msg_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            3,
        ),
        (format!("sessions events {session} --after evt_a"), 3),
        (format!("sessions items {session} --turn turn_ab"), 3),
        (
            format!("sessions cancel {session} --turn turn_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
            3,
        ),
        (format!("runs show {session}"), 3),
        (format!("runs release {session} --yes"), 3),
    ] {
        let ran = env.run(&line);
        assert_eq!(ran.code, code, "{ran:#?}");
    }
}

#[test]
fn read_only_mode_refuses_every_change_and_no_question() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    let agent = env.ok("agents create --model m -o id");
    let run = env.ok(&format!("runs list {session} -o id"));
    let before = records(&env.data());
    let env = env.with("RAT_THINGS_READ_ONLY", "1");
    for line in [
        "sessions create --environment none --input x".to_owned(),
        format!("sessions send {session} --input x"),
        format!("sessions cancel {session}"),
        format!("sessions answer {session} --result x"),
        format!("sessions update {session} --title x"),
        format!("sessions delete {session} --yes"),
        "agents create --model m".to_owned(),
        format!("agents update {agent} --model n"),
        format!("agents delete {agent} --yes"),
        format!("runs release {run} --yes"),
        "daemon start".to_owned(),
        "daemon stop".to_owned(),
        "daemon run".to_owned(),
        "keys create --name x".to_owned(),
        "keys revoke key_x --yes".to_owned(),
    ] {
        let ran = env.run(&line);
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(
            ran.stderr.contains("[RT-0221]") && ran.stderr.contains("env RAT_THINGS_READ_ONLY"),
            "{ran:#?}"
        );
    }
    for line in [
        "sessions list".to_owned(),
        format!("sessions get {session}"),
        format!("sessions items {session}"),
        format!("sessions turns {session}"),
        format!("sessions events {session}"),
        format!("sessions artifacts {session}"),
        format!("sessions wait {session}"),
        format!("sessions explain {session}"),
        format!("runs list {session}"),
        format!("runs show {run}"),
        "runs list --all-active".to_owned(),
        "outbox list".to_owned(),
        "agents list".to_owned(),
        "daemon status".to_owned(),
        "keys list".to_owned(),
        "config show".to_owned(),
    ] {
        assert_eq!(env.run(&line).code, 0, "{line}");
    }
    assert_eq!(records(&env.data()), before);
    assert_eq!(env.run("--read-only sessions list").code, 0);
}

/// Everything that the store can tell through the program.
fn records(data: &Path) -> usize {
    let files = std::fs::read_dir(data.join("blobs")).map_or(0, Iterator::count);
    let store = super::stored::rows(data);
    files + store
}

#[test]
fn confirmations_are_never_assumed() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    env.scrub().page(&session);
    seen!(env.page(&[
        &format!("sessions delete {session}"),
        &format!("sessions delete {session} --no-input"),
    ]));
    assert_eq!(
        env.json(&format!("sessions get {session}"))["id"],
        Value::String(session)
    );
}
