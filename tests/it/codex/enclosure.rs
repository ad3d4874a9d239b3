//! Where Codex runs: what it sees of the machine, what goes with it, and what happens where that can't be had.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use pretty_assertions::assert_eq;
use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::ports::Liveness;
use rustix::process::{Pid, Signal, kill_process};

use super::installed::codex;
use super::stub::{Answer, Gate, Stub};
use super::world::{
    codexes, create, last_turn, profiled, rat, settled, stop, stop_killed, the_codex, transcript,
};
use crate::kill::processes::Role;
use crate::kill::rat::until;

/// The processes that are in the same namespace.
fn beside(codex: &ProcessIdentity) -> Vec<ProcessIdentity> {
    let namespace = |pid: u32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| namespace(*pid) == namespace(codex.pid))
        .filter_map(|pid| ProcessIdentity::of(pid).ok())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_sees_no_other_process_and_of_the_data_directory_its_own_home_alone() {
    let gate = Gate::new();
    let stub = Stub::script([
        Answer::new().runs("call_1", "echo one"),
        Answer::new().until(&gate).says("done"),
    ])
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    let pid = the_codex(&rat).pid;
    let root = format!("/proc/{pid}/root");
    let there = |path: &std::path::Path| {
        let inside = format!("{root}{}", path.display());
        let entries = fs::read_dir(inside).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let home = fs::read_link(format!("/proc/{pid}/cwd")).expect("it lives");
    let name = home.file_name().expect("a name").to_string_lossy();
    assert_eq!(there(&rat.data()), ["run"]);
    assert_eq!(there(&rat.data().join("run")), ["codex"]);
    assert_eq!(there(&rat.data().join("run/codex")), [name.into_owned()]);
    assert!(there(&home).contains(&"config.toml".to_owned()));
    assert_eq!(there("/home".as_ref()), [""; 0]);
    // PID 1, Codex, and our own program as its way to the environment.
    let processes = there("/proc".as_ref());
    let pids = processes.iter().filter(|name| name.parse::<u32>().is_ok());
    assert!(pids.count() <= 4, "{processes:?}");
    let capabilities = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
    assert!(
        capabilities.contains("CapEff:\t0000000000000000"),
        "{capabilities}"
    );
    let kernel = format!("{root}/proc/sys/kernel/core_pattern");
    let mounts = fs::read_to_string(format!("/proc/{pid}/mounts")).expect("it lives");
    let proc_line = mounts.lines().find(|line| line.contains(" /proc proc "));
    assert!(
        proc_line.is_some_and(|line| line.contains(" ro,")),
        "{kernel}: {mounts}"
    );
    gate.open();
    settled(&rat, &session);
    assert_eq!(last_turn(&rat, &session).0, "completed");
    stop(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_worker_takes_its_codex_with_it_even_one_that_stands_still() {
    let gate = Gate::new();
    let held = gate.clone();
    let stub = Stub::playing(move |asked| match asked.number {
        1 => Answer::new().until(&held).says("one"),
        _ => Answer::new().says("two"),
    })
    .await;
    let rat = rat(&stub);
    let session = rat.create("go");
    gate.reached().await;
    let codex = the_codex(&rat);
    let inside = beside(&codex);
    assert!(inside.len() >= 2, "{inside:?}");
    let pid = i32::try_from(codex.pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a pid"), Signal::STOP).expect("it is ours");
    let workers = rat.program(Role::Worker);
    assert!(!workers.is_empty());
    for worker in &workers {
        worker.kill();
        worker.wait_gone();
    }
    until(
        || format!("all of it is gone: {inside:?}"),
        || {
            let mut found = inside.iter().map(ProcessIdentity::inspect);
            found.all(|found| found == Liveness::Gone).then_some(())
        },
    );
    gate.open();
    settled(&rat, &session);
    assert_eq!(transcript(&rat, &session), ["user: go", "assistant: two"]);
    stop_killed(&rat);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_namespaces_codex_does_not_start_unless_that_is_wanted() {
    let stub = Stub::playing(|_| Answer::new().says("hello")).await;
    let dir = tempfile::tempdir().expect("there is room");
    let refusing = dir.path().join("bwrap");
    let words = "bwrap: Creating new namespace failed: Operation not permitted";
    fs::write(
        &refusing,
        format!("#!/bin/sh\necho '{words}' >&2\nexit 1\n"),
    )
    .expect("written");
    fs::set_permissions(&refusing, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let codex = codex();
    let codex = codex.to_str().expect("a path of text");
    for (bwrap, why) in [
        ("/nowhere/bwrap", "bubblewrap is not installed"),
        (
            refusing.to_str().expect("text"),
            "Creating new namespace failed",
        ),
    ] {
        let rat = profiled(&stub, codex, &format!("sandbox.bwrap = {bwrap:?}"));
        let session = create(&rat, "go");
        let turn = &rat.turns(&session)[0];
        assert_eq!(turn["error"]["code"], "sandbox_error");
        let message = turn["error"]["message"].as_str().expect("words");
        assert!(
            message.contains(why) && message.contains("unsafe-none"),
            "{message}"
        );
        stop(&rat);
    }
    assert_eq!(stub.requests().len(), 0);
    let more = "sandbox.bwrap = \"/nowhere/bwrap\"\nsandbox.isolation = \"unsafe-none\"";
    let rat = profiled(&stub, codex, more);
    let session = create(&rat, "go");
    assert_eq!(transcript(&rat, &session), ["user: go", "assistant: hello"]);
    assert_eq!(codexes(&rat).len(), 0);
    stop(&rat);
}
