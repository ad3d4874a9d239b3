//! Planted secrets: whatever is asked for, however loudly, they are in no output, no log, no argument list.

use std::fs;
use std::path::Path;

use super::env::TestEnv;

const KEY: &str = "sk-planted-provider-key-4711";
const FROM_COMMAND: &str = "sk-planted-from-command-4712";
const IN_ENVIRONMENT: &str = "planted-environment-value-4713";

fn clean(what: &str, text: &str) {
    for secret in [KEY, FROM_COMMAND, IN_ENVIRONMENT] {
        assert!(!text.contains(secret), "{what} holds {secret}: {text}");
    }
}

/// Every command that reads, at its loudest.
fn look_everywhere(env: &TestEnv, session: &str) {
    let run = env.ok(&format!("runs list {session} -o id"));
    for line in [
        "config show --origin".to_owned(),
        "doctor".to_owned(),
        "version".to_owned(),
        "daemon status".to_owned(),
        "keys list".to_owned(),
        "sessions list".to_owned(),
        format!("sessions get {session}"),
        format!("sessions items {session} --all"),
        format!("sessions turns {session}"),
        format!("sessions events {session} --all"),
        format!("sessions explain {session}"),
        format!("sessions artifacts {session}"),
        "agents list".to_owned(),
        "outbox list".to_owned(),
        format!("runs list {session}"),
        format!("runs show {}", run.lines().next().unwrap_or("run_")),
        "help environment".to_owned(),
    ] {
        for format in ["wide", "json"] {
            let ran = env.run(&format!("{line} -o {format} -vv"));
            clean(&ran.line, &ran.stdout);
            clean(&ran.line, &ran.stderr);
        }
    }
    for entry in fs::read_dir(env.data().join("logs")).expect("lists") {
        let path = entry.expect("an entry").path();
        clean(&path.display().to_string(), &super::env::content(&path));
    }
    for (_, line) in env.processes() {
        clean("a process", &line);
    }
}

#[test]
fn a_key_in_the_environment_stays_there() {
    // Nothing listens there, so that the call fails and says why.
    let env = TestEnv::configured(
        "[profile.default.provider]\nkind = 'responses'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_env = 'PLANTED'\nmodel = 'm'\nmax_retries = 0\n",
    )
    .with("PLANTED", KEY)
    .with("RAT_THINGS_LOG", "trace");
    let ran = env.run("sessions create --environment none --input hello --wait -vv -o table");
    assert_eq!(ran.code, 1, "{ran:#?}");
    clean("create", &format!("{ran:?}"));
    let session = env.ok("sessions list -o id");
    look_everywhere(&env, &session);
}

#[test]
fn a_key_from_a_command_stays_with_the_worker() {
    let env = TestEnv::new();
    let program = env.path("key");
    fs::write(&program, format!("#!/bin/sh\necho {FROM_COMMAND}\n")).expect("writes");
    fs::set_permissions(
        &program,
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .expect("is ours");
    let config = env.path("config/rat-things");
    fs::create_dir(&config).expect("makes");
    let toml = format!(
        "[profile.default.provider]\nkind = 'responses'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_command = ['{}', '{KEY}']\nmodel = 'm'\nmax_retries = 0\n",
        program.display()
    );
    fs::write(config.join("config.toml"), toml).expect("writes");
    let env = env.with("RAT_THINGS_LOG", "trace");
    let ran = env.run("sessions create --environment none --input hello --wait -vv -o table");
    assert_eq!(ran.code, 1, "{ran:#?}");
    clean("create", &format!("{ran:?}"));
    let session = env.ok("sessions list -o id");
    look_everywhere(&env, &session);
}

#[test]
fn values_of_an_environment_are_write_only() {
    let env = TestEnv::new().with("RAT_THINGS_LOG", "trace");
    let request = serde_json::json!({
        "environment": {"type": "openai_hosted", "env": {"TOKEN": IN_ENVIRONMENT}},
        "agent": {"model": "demo"},
        // The command sees the value, and does not print it.
        "input": "@exec test ${#TOKEN} -gt 10 && echo seen",
    });
    let ran = env.run_with(
        "sessions create -f - --wait -vv -o json",
        request.to_string().as_bytes(),
    );
    assert_eq!(ran.code, 0, "{ran:#?}");
    clean("create", &format!("{ran:?}"));
    let session = env.ok("sessions list -o id");
    let items = env.ok(&format!("sessions items {session} -o json"));
    assert!(items.contains("seen"), "{items}");
    look_everywhere(&env, &session);
    let sealed = env.data().join("secrets/sealed");
    assert_eq!(
        content_below(&sealed, IN_ENVIRONMENT),
        (1, 0),
        "one file, sealed"
    );
    let (files, with_value) = content_below(&env.data(), IN_ENVIRONMENT);
    assert!(
        files > 3 && with_value == 0,
        "{with_value} of {files} files"
    );
    env.ok(&format!("sessions delete {session} --yes"));
    env.until("it is erased", || content_below(&sealed, "").0 == 0);
}

/// How many files are below a directory, and how many of them hold `text`.
fn content_below(dir: &Path, text: &str) -> (usize, usize) {
    let (mut files, mut with_text) = (0, 0);
    // What is removed at this moment is not there.
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().expect("known");
        if kind.is_dir() {
            let below = content_below(&path, text);
            files += below.0;
            with_text += below.1;
        } else if kind.is_file() {
            files += 1;
            with_text += usize::from(super::env::content(&path).contains(text));
        }
    }
    (files, with_text)
}

#[test]
fn a_key_put_into_the_configuration_by_mistake_is_not_repeated() {
    for toml in [
        format!("[profile.default.provider]\nkind = 'responses'\napi_key_env = '{KEY}'\n"),
        format!("[profile.default.provider]\nkind = 'responses'\napi_key = '{KEY}'\n"),
        format!("[profile.default.provider]\nbase_url = 'https://user:{KEY}@x.org'\n"),
        format!("[profile.default.provider]\nkind = 'responses'\napi_key_command = '{KEY}'\n"),
        format!("[profile.default.provider\nkey = '{KEY}'\n"),
    ] {
        let env = TestEnv::configured(&toml);
        for line in ["sessions list -vv", "doctor -vv -o json", "config show -vv"] {
            let ran = env.run(line);
            assert_ne!(ran.code, 0, "{ran:#?}");
            clean(line, &format!("{ran:?}"));
        }
    }
}
