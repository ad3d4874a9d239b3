//! What does not work, and that the Session goes on after it; what must not leave.

use pretty_assertions::assert_eq;

use super::installed::codex;
use super::stub::{Answer, Gate, Stub};
use super::trace::Trace;
use super::world::{
    KEY, create, last_turn, profiled, rat, send, settled, stop, the_codex, transcript, with,
};

#[tokio::test(flavor = "multi_thread")]
async fn without_codex_the_turn_fails_with_how_to_install_it() {
    let stub = Stub::script([]).await;
    let rat = with(&stub, "/nowhere/codex");
    let session = create(&rat, "go");
    let turn = &rat.turns(&session)[0];
    assert_eq!(turn["status"], "failed");
    let message = turn["error"]["message"].as_str().expect("words");
    assert!(
        message.contains("npm install -g @openai/codex@0.171.0"),
        "{message}"
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_provider_refuses_fails_the_turn_and_the_next_one_goes_on() {
    let stub = Stub::playing(
        |asked| match asked.times_told("three") + asked.times_told("two") {
            0 => Answer::fails(401, "invalid_api_key", "who are you?"),
            1 => Answer::fails(400, "invalid_request_error", "what is this?"),
            _ => Answer::new().says("fine"),
        },
    )
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "one");
    assert_eq!(
        last_turn(&rat, &session),
        ("failed".into(), "authentication_error".into())
    );
    send(&rat, &session, "two");
    assert_eq!(
        last_turn(&rat, &session),
        ("failed".into(), "invalid_request".into())
    );
    send(&rat, &session, "three");
    assert_eq!(last_turn(&rat, &session).0, "completed");
    let third = stub.requests().last().expect("there are some").clone();
    for text in ["one", "two", "three"] {
        assert_eq!(third.times_told(text), 1, "{text}");
    }
    stop(&rat);
}

/// How often the provider is asked when it answers like this, with one repetition allowed.
async fn asked_with_one_repetition(status: u16, code: &str) -> (usize, serde_json::Value) {
    let code = code.to_owned();
    let stub = Stub::playing(move |_| Answer::fails(status, &code, "not now")).await;
    let program = codex();
    let program = program.to_str().expect("a path of text");
    let rat = profiled(&stub, program, "provider.max_retries = 1");
    let session = create(&rat, "go");
    let (how, error) = last_turn(&rat, &session);
    assert_eq!(how, "failed");
    stop(&rat);
    (stub.requests().len(), error)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_costs_one_request_and_a_passing_failure_as_many_as_are_allowed() {
    for (status, code, asked, error) in [
        (400, "invalid_request_error", 1, "invalid_request"),
        (401, "invalid_api_key", 1, "authentication_error"),
        (403, "forbidden", 1, "authentication_error"),
        (404, "model_not_found", 1, "resource_not_found"),
        (429, "rate_limit_exceeded", 2, "rate_limit_exceeded"),
        (500, "server_error", 2, "server_error"),
    ] {
        let found = asked_with_one_repetition(status, code).await;
        assert_eq!(found, (asked, error.into()), "{status}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_asked_for_again() {
    let stub = Stub::script([
        Answer::new().says("half of").cut(),
        Answer::new().says("all of it"),
    ])
    .await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    assert_eq!(
        transcript(&rat, &session),
        ["user: go", "assistant: all of it"]
    );
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_providers_key_is_in_nothing_that_codex_or_a_command_sees() {
    let gate = Gate::new();
    let stub = Stub::script([
        Answer::new().runs(
            "call_1",
            "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
        ),
        Answer::new().until(&gate).says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    let pid = the_codex(&rat).pid;
    for file in ["environ", "cmdline"] {
        let text = std::fs::read(format!("/proc/{pid}/{file}")).expect("it lives");
        assert!(!String::from_utf8_lossy(&text).contains(KEY), "{file}");
    }
    let home = std::fs::read_link(format!("/proc/{pid}/cwd")).expect("it lives");
    assert!(home.starts_with(rat.data()));
    for file in files(&home) {
        let content = std::fs::read(&file).unwrap_or_default();
        let found = content
            .windows(KEY.len())
            .any(|bytes| bytes == KEY.as_bytes());
        assert!(!found, "{}", file.display());
    }
    gate.open();
    settled(&rat, &session);
    let second = stub.asked(2).await;
    assert_eq!(second.headers["authorization"], format!("Bearer {KEY}"));
    let told = second.outputs_of("call_1");
    assert!(
        told[0].contains("PATH=") && !told[0].contains(KEY),
        "{told:?}"
    );
    stop(&rat);
}

pub(crate) fn files(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path()),
            Ok(kind) if kind.is_file() => vec![entry.path()],
            _ => Vec::new(),
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_makes_no_more_model_calls_than_it_may() {
    let stub =
        Stub::playing(|asked| Answer::new().runs(&format!("call_{}", asked.number), "true")).await;
    let program = codex();
    let program = program.to_str().expect("a path of text");
    let rat = profiled(&stub, program, "limits.model_calls_per_turn = 3");
    let session = create(&rat, "go");
    assert_eq!(
        last_turn(&rat, &session),
        ("failed".into(), "usage_limit_exceeded".into())
    );
    assert_eq!(stub.requests().len(), 3);
    assert_eq!(rat.items(&session).len(), 4);
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_leaves_the_machine() {
    let stub = Stub::script([
        Answer::new().runs("call_1", "echo one"),
        Answer::new().says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let args = [
        "sessions",
        "create",
        "--input",
        "go",
        "--no-wait",
        "-o",
        "id",
    ];
    let trace = Trace::start(&rat, &args);
    stub.asked(2).await;
    trace.settled_and_stopped(&rat).stay_on_the_machine(&rat);
}

/// The SHA-256 of the real Codex, as another program computes it.
fn digest_of_codex() -> String {
    let summed = std::process::Command::new("sha256sum")
        .arg(codex())
        .output();
    let summed = summed.expect("coreutils are there").stdout;
    let text = String::from_utf8(summed).expect("text");
    text.split(' ').next().expect("a digest").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_drove_a_run_is_recorded_with_it_and_doctor_looks_at_the_same() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let rat = rat(&stub);
    let session = create(&rat, "go");
    let digest = digest_of_codex();
    let run = rat.json(&["runs", "show", &session]);
    let program = serde_json::json!({"name": "codex", "version": "0.171.0", "sha256": digest});
    assert_eq!(run["program"], program);
    assert!(rat.ok(&["runs", "show", &session]).contains(&digest));
    let remembered = std::fs::read_to_string(rat.data().join("run/codex/.digest"));
    assert!(remembered.expect("written").trim_end().ends_with(&digest));
    let doctor = rat.output(&["doctor", "-o", "json"]);
    let said = crate::kill::rat::text(&doctor.stdout);
    assert!(said.contains(&digest), "{said}");
    stop(&rat);
}
