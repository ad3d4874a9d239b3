//! What an operator asks: why does it not move, who runs, what is due, is this machine fit.

use serde_json::Value;

use super::env::{TestEnv, end, pid_of};
use super::scrub::seen;
use super::stored;
use super::terminal::Terminal;

/// A Session that owes work, on a machine without a daemon.
fn owing(env: &TestEnv) -> String {
    let session =
        env.ok("sessions create --no-autostart --title 'weekly report' --input hello -o id");
    env.scrub().page(&session);
    session
}

#[test]
fn explain_says_what_is_missing_and_exits_with_one_if_a_person_is_needed() {
    let env = TestEnv::new();
    let session = owing(&env);
    env.ok(&format!(
        "sessions send {session} --no-autostart --queue --input next"
    ));
    seen!(env.page(&[
        &format!("sessions explain {session}"),
        &format!("sessions explain {session} -o json"),
        &format!("sessions explain {session} -o id"),
        "outbox list",
        "outbox list -o json",
        "outbox list -o table",
        "doctor -o id",
    ]));
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
    let idle = env.run(&format!("sessions explain {session}"));
    assert_eq!(idle.code, 0, "{idle:#?}");
    let nothing = env.run("outbox list -o table");
    assert_eq!(
        (nothing.stdout.as_str(), nothing.stderr.as_str()),
        ("", "nothing is due\n")
    );
}

#[test]
fn explain_names_the_live_worker_and_notices_when_it_is_gone() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --input '@sleep 60000' -o id");
    let explain = || -> Value {
        let ran = env.run(&format!("sessions explain {session} -o json"));
        serde_json::from_str(&ran.stdout).expect("JSON")
    };
    env.until("a worker has it", || {
        explain()["causes"][0]["code"] == "working"
    });
    let explained = explain();
    assert_eq!(explained["lease"]["worker"]["process_alive"], true);
    assert_eq!(explained["needs_person"], false);
    let worker = explained["lease"]["worker"]["execution"]
        .as_str()
        .expect("a name")
        .to_owned();
    // Daemon first, so that nobody replaces the worker.
    end(pid_of(&env.daemon().expect("runs")));
    end(pid_of(&worker));
    env.until("both are gone", || {
        explain()["lease"]["worker"]["process_alive"] == false && env.daemon().is_none()
    });
    let explained = env.run(&format!("sessions explain {session} -o json"));
    assert_eq!(explained.code, 1, "{explained:#?}");
    assert!(
        explained
            .stdout
            .contains("\"next\":\"rat-things daemon start\""),
        "{explained:#?}"
    );
    env.ok("daemon start");
    env.ok(&format!("sessions cancel {session}"));
}

#[test]
fn a_quarantine_is_shown_everywhere_and_ends_when_somebody_vouches() {
    let env = TestEnv::new();
    let session = owing(&env);
    stored::quarantine(&env.data(), &session, &stored::unseen());
    let run = env.ok(&format!("runs list {session} -o id"));
    env.scrub().page(&run);
    seen!(env.page(&[
        &format!("sessions explain {session}"),
        &format!("sessions explain {session} -o json"),
        "runs list --all-active",
        "runs list --all-active -o table",
        &format!("runs show {}", &run[..10]),
        &format!("runs get {session} -o json"),
        "outbox list",
        "doctor -o id",
        &format!("runs release {}", &run[..10]),
        &format!("runs release {session} --no-input"),
        &format!("sessions send {session} --no-autostart --input 'still accepted'"),
        &format!("runs release {} --yes --no-autostart", &run[..10]),
        &format!("runs release {run} --yes --no-autostart"),
        "runs list --all-active -o table",
    ]));
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
    let turns = env.json(&format!("sessions turns {session}"));
    assert_eq!(turns["data"][0]["status"], "completed");
}

#[test]
fn a_worker_that_can_not_be_seen_is_put_in_quarantine_until_a_person_releases_it() {
    let env = TestEnv::new();
    let session = owing(&env);
    stored::lease(&env.data(), &session, &stored::unseen(), 60_000);
    let explained = env.run(&format!("sessions explain {session} -o json"));
    assert_eq!(explained.code, 0, "{explained:#?}");
    assert!(explained.stdout.contains("\"unseen\""), "{explained:#?}");
    let other = owing(&env);
    stored::lease(&env.data(), &other, &stored::unseen(), 0);
    env.ok("daemon start");
    // Neither has shown a sign of life since the daemon began to watch.
    env.until("the daemon gave up on it", || {
        env.ok(&format!("runs list {other} -o tsv"))
            .contains("quarantined")
    });
    let explained = env.run(&format!("sessions explain {other} -o json"));
    assert_eq!(explained.code, 1, "{explained:#?}");
    env.ok(&format!("runs release {other} --yes"));
    env.ok(&format!("sessions wait {other}"));
    let turns = env.json(&format!("sessions turns {other}"));
    assert_eq!(turns["data"][0]["status"], "completed");
}

#[test]
fn a_quarantine_ends_by_itself_when_the_worker_is_proven_gone() {
    let env = TestEnv::new();
    let session = owing(&env);
    stored::quarantine(&env.data(), &session, &stored::gone());
    let explained = env.run(&format!("sessions explain {session} -o json"));
    assert_eq!(explained.code, 1, "{explained:#?}");
    assert!(
        explained.stdout.contains("rat-things daemon start"),
        "{explained:#?}"
    );
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
}

#[test]
fn a_person_releases_a_run_by_typing_its_id() {
    let env = TestEnv::new();
    let session = owing(&env);
    stored::quarantine(&env.data(), &session, &stored::unseen());
    let run = env.ok(&format!("runs list {session} -o id"));
    let release = format!("runs release {session} --no-autostart -o id");
    let mut terminal = Terminal::start(&env, 100, &release);
    terminal.wait_for("to confirm:");
    terminal.type_in("yes\n");
    let (seen, code) = terminal.end();
    assert_eq!(code, 1, "{seen}");
    assert!(seen.contains("[RT-0101]"), "{seen}");
    assert!(
        env.ok(&format!("runs show {run} -o json"))
            .contains("\"quarantined\"")
    );
    let mut terminal = Terminal::start(&env, 100, &release);
    terminal.wait_for("to confirm:");
    terminal.type_in(&format!("{run}\n"));
    let (seen, code) = terminal.end();
    assert_eq!(code, 0, "{seen}");
    assert!(
        env.ok(&format!("runs show {run} -o json"))
            .contains("\"ended\"")
    );
}

#[test]
fn runs_are_found_by_their_own_id_and_by_their_session() {
    let env = TestEnv::new();
    let session = env.session("@say one");
    env.ok(&format!(
        "sessions send {session} --input '@say two' --wait"
    ));
    let runs = env.ok(&format!("runs list {session} -o id"));
    let runs: Vec<&str> = runs.lines().collect();
    let ascending = env.ok(&format!("runs list {session} --order asc --limit 1 -o id"));
    assert_eq!(Some(ascending.as_str()), runs.last().copied());
    for run in &runs {
        for typed in [*run, &run[..12], &run["run_".len()..]] {
            assert_eq!(env.json(&format!("runs show {typed}"))["id"], *run);
        }
    }
    assert_eq!(env.json(&format!("runs show {session}"))["id"], runs[0]);
    if runs.len() > 1 {
        let ambiguous = env.run("runs show run_");
        assert_eq!(ambiguous.code, 2, "{ambiguous:#?}");
        assert!(ambiguous.stderr.contains(runs[0]), "{ambiguous:#?}");
    }
    let ended = env.run(&format!("runs release {} --yes", runs[0]));
    assert_eq!(ended.code, 5, "{ended:#?}");
}

#[test]
fn doctor_says_what_is_wrong_and_how_to_mend_it() {
    let env = TestEnv::configured(
        "[profile.default.provider]\nkind = 'responses'\napi_key_env = 'PLANTED_KEY'\n[profile.default.sandbox]\nbwrap = '/nonexistent/bwrap'\n",
    );
    owing_model(&env);
    let checks = |env: &TestEnv| -> Vec<Value> {
        let ran = env.run("doctor -o json");
        assert_eq!(ran.code, 1, "{ran:#?}");
        let document: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(document["ok"], false);
        document["checks"].as_array().expect("a list").clone()
    };
    let found = checks(&env);
    let check = |name: &str| {
        found
            .iter()
            .find(|c| c["name"] == name)
            .cloned()
            .expect("is checked")
    };
    for (name, message, fix) in [
        ("sandbox", "bubblewrap is not installed", "install it"),
        (
            "model provider",
            "PLANTED_KEY holds no key",
            "export PLANTED_KEY=",
        ),
        (
            "daemon",
            "sessions that owe work while no daemon runs: 1",
            "rat-things daemon start",
        ),
    ] {
        let check = check(name);
        assert_eq!(check["result"], "failed", "{check}");
        assert!(
            check["message"]
                .as_str()
                .is_some_and(|m| m.contains(message)),
            "{check}"
        );
        assert!(
            check["fixes"][0].as_str().is_some_and(|f| f.contains(fix)),
            "{check}"
        );
    }
    for name in ["configuration", "data directory", "store"] {
        assert_eq!(check(name)["result"], "ok");
    }
    let env = env.with("PLANTED_KEY", "sk-do-not-show-me");
    let ran = env.run("doctor");
    assert!(!format!("{ran:?}").contains("sk-do-not"), "{ran:#?}");
    assert!(
        ran.stdout.contains("with the key in PLANTED_KEY"),
        "{ran:#?}"
    );
}

/// A Session that owes work, where every Session must name its model.
fn owing_model(env: &TestEnv) {
    env.ok("sessions create --model m --environment none --no-autostart --input hello -o id");
}

#[test]
fn doctor_tries_a_sandbox_and_leaves_nothing_behind() {
    let env = TestEnv::configured("[ui]\ntime = 'utc'\n");
    env.ok("sessions create --no-autostart -o id");
    let ran = env.run("doctor");
    // A machine without user namespaces says so instead; the rest is the same.
    let page: String = env
        .shown(&ran)
        .lines()
        .filter(|line| !line.starts_with("sandbox") && !line.starts_with("disk space"))
        .map(|line| format!("{line}\n"))
        .collect();
    if ran.code == 0 {
        assert!(ran.stdout.contains("sandbox\tok\t"), "{ran:#?}");
    }
    seen!(
        page.split("--- exit")
            .next()
            .unwrap_or_default()
            .split("--- stderr")
            .next()
            .unwrap_or_default()
    );
    let environments =
        std::fs::read_dir(env.data().join("environments")).map_or(0, Iterator::count);
    assert_eq!(environments, 0, "an environment of the check was left");
}

#[test]
fn workers_without_a_daemon_are_pointed_out() {
    let env = TestEnv::new();
    let session = env.ok("sessions create --environment none --input '@sleep 3000' -o id");
    env.until("a worker has it", || {
        env.run("runs list --all-active -o id")
            .stdout
            .starts_with("run_")
    });
    end(pid_of(&env.daemon().expect("runs")));
    env.until("the daemon is gone", || env.daemon().is_none());
    let ran = env.run("doctor -o tsv");
    assert!(ran.stdout.contains("lost their daemon"), "{ran:#?}");
    // Its worker finishes what it has and leaves, without anybody's help.
    env.until("the turn is over", || {
        env.json(&format!("sessions get {session}"))["status"] == "idle"
    });
    env.until_alone();
}

#[test]
fn a_profile_without_machines_lists_none_and_says_why() {
    let env = TestEnv::new();
    let listed = env.run("runs list --machines -o json");
    assert_eq!(listed.code, 0, "{listed:?}");
    assert_eq!(
        listed.stderr,
        "the profile default has no machines: its agents run on this one\n"
    );
    let page: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!(page["data"], serde_json::json!([]));
}
