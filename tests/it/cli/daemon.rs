//! The background process: started by itself, once, stopped without losing anything, replaced after accidents and upgrades.

use std::fs;

use serde_json::json;

use super::env::{TestEnv, end, pid_of};

const SHORT_GRACE: &str = "[profile.default.daemon]\ngrace_ms = 200\n";

/// Daemons of this machine.
fn daemons(env: &TestEnv) -> Vec<u32> {
    let ours = |line: &str| line.contains(" daemon run");
    env.processes()
        .into_iter()
        .filter(|(_, line)| ours(line))
        .map(|(pid, _)| pid)
        .collect()
}

#[test]
fn an_accepted_input_starts_a_daemon_unless_that_is_forbidden() {
    let env = TestEnv::new();
    for line in [
        "sessions create --environment none --no-autostart --input x",
        "sessions create",
        "sessions list",
        "daemon status",
    ] {
        env.ok(line);
        assert!(daemons(&env).is_empty(), "{line} started one");
    }
    let forbidden = env
        .command([
            "sessions",
            "create",
            "--environment",
            "none",
            "--input",
            "x",
        ])
        .env("RAT_THINGS_NO_AUTOSTART", "1")
        .spawn()
        .expect("starts");
    let forbidden = env.finish("create", forbidden);
    assert_eq!(forbidden.code, 0);
    assert!(
        forbidden.stderr.contains("no daemon runs")
            && forbidden.stderr.contains("rat-things daemon start"),
        "{forbidden:#?}"
    );
    assert!(daemons(&env).is_empty());
    env.ok("sessions create --environment none --input x");
    // It is there from the moment the command answers.
    assert_eq!(daemons(&env).len(), 1);
    env.until("all sessions are done", || {
        env.ok("sessions list --status in_progress -o id")
            .is_empty()
    });
}

#[test]
fn a_data_directory_has_one_daemon_however_many_want_one() {
    let env = TestEnv::new();
    let creates: Vec<_> = (0..6)
        .map(|n| {
            let text = format!("@say {n}");
            env.command([
                "sessions",
                "create",
                "--environment",
                "none",
                "--input",
                &text,
                "-o",
                "id",
            ])
            .spawn()
            .expect("starts")
        })
        .collect();
    let looks: Vec<_> = (0..6)
        .map(|_| env.command(["daemon", "status"]).spawn().expect("starts"))
        .collect();
    for child in creates.into_iter().chain(looks) {
        assert_eq!(env.finish("", child).code, 0);
    }
    assert_eq!(daemons(&env).len(), 1);
    env.until("all sessions are done", || {
        env.ok("sessions list --status in_progress -o id")
            .is_empty()
    });
    let second = env.run("daemon run");
    assert_eq!(second.code, 5, "{second:#?}");
    assert_eq!(daemons(&env).len(), 1);
}

#[test]
fn start_status_and_stop_say_what_is() {
    let env = TestEnv::new();
    let status = env.json("daemon status");
    assert_eq!(
        (status["running"].clone(), status["identity"].clone()),
        (json!(false), json!(null))
    );
    let none = env.run("daemon stop");
    assert_eq!((none.code, none.stderr.as_str()), (0, "no daemon runs\n"));
    let started = env.json("daemon start");
    assert_eq!(started["running"], true);
    let again = env.run("daemon start -o json");
    assert!(again.stderr.contains("a daemon runs already"), "{again:#?}");
    let identity = started["identity"]
        .as_str()
        .expect("an identity")
        .to_owned();
    assert_eq!(env.daemon().as_ref(), Some(&identity));
    assert_eq!(daemons(&env), [pid_of(&identity)]);
    let stopped = env.run("daemon stop");
    assert!(stopped.stderr.contains("stopped"), "{stopped:#?}");
    assert_eq!(env.processes(), [], "stop waits until it is gone");
    // Create and stop directly after one another: the stop finds the daemon that the create started.
    env.ok("sessions create --environment none --input '@say hi'");
    let stopped = env.run("daemon stop");
    assert!(stopped.stderr.contains("stopped"), "{stopped:#?}");
    assert_eq!(env.processes(), []);
}

#[test]
fn a_daemon_leaves_when_it_has_had_nothing_to_do_for_long_enough() {
    let env = TestEnv::configured("[profile.default.daemon]\nidle_exit_ms = 100\n");
    let session = env.session("@say hi");
    env.until_alone();
    assert!(env.daemon().is_none());
    // And the next input has one again.
    env.ok(&format!(
        "sessions send {session} --input '@say more' --wait"
    ));
}

#[test]
fn a_daemon_in_the_foreground_stays_until_it_is_asked_to_leave() {
    let env = TestEnv::configured("[profile.default.daemon]\nidle_exit_ms = 0\n");
    let child = env.command(["daemon", "run"]).spawn().expect("starts");
    env.until("it runs", || env.daemon().is_some());
    let pid = rustix::process::Pid::from_raw(child.id().cast_signed()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("is ours");
    let ran = env.finish("daemon run", child);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{ran:#?}");
}

#[test]
fn stop_gives_a_running_turn_back_and_the_next_daemon_ends_it() {
    let env = TestEnv::configured(SHORT_GRACE);
    let session = env.ok("sessions create --environment none --input '@say begun\n@slow 100 one two three four five six seven eight' -o id");
    env.until("it is at work", || {
        env.json(&format!("sessions turns {session}"))["data"][0]["status"] == "in_progress"
    });
    let turn = env.ok(&format!("sessions turns {session} -o id"));
    env.ok("daemon stop");
    assert_eq!(env.processes(), []);
    let explained = env.run(&format!("sessions explain {session} -o json"));
    assert_eq!(explained.code, 1, "{explained:#?}");
    assert!(
        explained.stdout.contains("\"lease\":null"),
        "the lease was kept: {explained:#?}"
    );
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
    let turns = env.json(&format!("sessions turns {session}"));
    assert_eq!(turns["data"][0]["id"], turn.as_str());
    assert_eq!(turns["data"][0]["status"], "completed");
    assert_eq!(turns["data"].as_array().map(Vec::len), Some(1));
}

#[test]
fn stop_waits_for_a_command_that_ends_within_the_grace_period_and_never_repeats_it() {
    let env = TestEnv::new();
    let session = env.ok(
        "sessions create --input '@exec echo begun; sleep 0.7; echo once >> count\n@exec cat count' -o id",
    );
    env.until("the command runs", || {
        let explained = env.run(&format!("sessions explain {session} -o json"));
        explained.stdout.contains("\"commands_running\":1")
    });
    env.ok("daemon stop");
    assert_eq!(env.processes(), []);
    let items = env.json(&format!("sessions items {session}"));
    assert_eq!(
        items["data"][1]["exit_code"], 0,
        "it was ended early: {items}"
    );
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
    let items = env.json(&format!("sessions items {session}"));
    assert_eq!(items["data"][2]["output"], "once\n", "{items}");
}

#[test]
fn a_killed_daemon_leaves_nothing_that_stands_in_the_way() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    let identity = env.daemon().expect("runs");
    end(pid_of(&identity));
    // A process that is ending has lost its command line before its locks.
    env.until("it is gone", || env.daemon().is_none());
    assert!(
        env.data().join("run/daemon.json").exists(),
        "its note is still there"
    );
    let none = env.run("daemon stop");
    assert_eq!((none.code, none.stderr.as_str()), (0, "no daemon runs\n"));
    env.ok(&format!(
        "sessions send {session} --input '@say more' --wait"
    ));
    assert_ne!(env.daemon().expect("another one"), identity);
}

#[test]
fn a_note_that_lies_or_is_damaged_is_not_believed() {
    let env = TestEnv::new();
    env.ok("sessions create --no-autostart -o id");
    let note = env.data().join("run/daemon.json");
    // This very test lives, and is no daemon.
    let alive = json!({"identity": super::stored::identity_of_this_process(), "version": "0.1.0", "started_ms": 1});
    for text in ["", "{", "[]", &alive.to_string()] {
        fs::write(&note, text).expect("writes");
        assert!(env.daemon().is_none(), "{text}");
        assert_eq!(env.run("daemon stop").stderr, "no daemon runs\n");
    }
    env.session("@say hi");
    assert!(env.daemon().is_some());
}

#[test]
fn a_daemon_of_another_version_hands_over() {
    let env = TestEnv::configured(SHORT_GRACE);
    let session = env.session("@say hi");
    let first = env.daemon().expect("runs");
    let path = env.data().join("run/daemon.json");
    let mut note: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).expect("reads")).expect("JSON");
    note["version"] = json!("0.0.1");
    fs::write(&path, note.to_string()).expect("writes");
    let version = env.run("version -o json");
    assert!(version.stderr.contains("0.0.1"), "{version:#?}");
    let doctor = env.run("doctor -o json");
    assert!(doctor.stdout.contains("of version 0.0.1"), "{doctor:#?}");
    let sent = env.run(&format!(
        "sessions send {session} --input '@say more' --wait"
    ));
    assert_eq!(sent.code, 0, "{sent:#?}");
    assert!(
        sent.stderr.contains("of version 0.0.1") && sent.stderr.contains("replaced"),
        "{sent:#?}"
    );
    let second = env.daemon().expect("another one");
    assert_ne!(first, second);
    assert_eq!(daemons(&env), [pid_of(&second)]);
}

#[test]
fn the_daemon_of_a_profile_uses_that_profile() {
    let env = TestEnv::configured(
        "[profile.a.limits]\nmodel_calls_per_turn = 1\n[profile.b]\nkind = 'local'\n",
    );
    let ran =
        env.run("sessions create -P a --input '@exec true\n@exec true\n@say done' --wait -o id");
    assert_eq!(ran.code, 1, "a second model call is one too many: {ran:#?}");
    env.ok("daemon stop -P a");
    let ran =
        env.run("sessions create -P b --input '@exec true\n@exec true\n@say done' --wait -o id");
    assert_eq!(ran.code, 0, "{ran:#?}");
    env.ok("daemon stop -P b");
}

#[test]
fn a_worker_is_nothing_to_start_by_hand() {
    let env = TestEnv::new();
    let ran = env.run("worker");
    // Its pipes are those of no daemon: it ends without having done anything.
    assert!(ran.code == 0 || ran.code == 2, "{ran:#?}");
    assert_eq!(env.processes(), []);
}
