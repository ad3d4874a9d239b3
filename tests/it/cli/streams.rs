//! The three standard streams: data and talk apart, readers that leave, disks that are full, streams that are closed.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::process::{Command, Stdio};

use super::env::{PROGRAM, TestEnv};

/// A Session with a long transcript.
fn long(env: &TestEnv) -> String {
    let lines: String = (0..300)
        .map(|n| format!("@say line {n} {}\n", "x".repeat(200)))
        .collect();
    env.session(&lines)
}

#[test]
fn a_reader_that_leaves_is_no_failure_and_nothing_is_said() {
    let env = TestEnv::new();
    let session = long(&env);
    for format in ["table", "tsv", "json", "jsonl", "yaml", "id"] {
        let mut child = env
            .command(["sessions", "items", &session, "--all", "-o", format])
            .spawn()
            .expect("starts");
        let mut first = [0; 10];
        let mut stdout = child.stdout.take().expect("is piped");
        stdout.read_exact(&mut first).expect("writes something");
        drop(stdout);
        let ran = env.finish(format, child);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{format}");
    }
    // As a shell does it, help included.
    for line in [
        format!("{PROGRAM} sessions items {session} --all | head -1"),
        format!("{PROGRAM} sessions create --help | head -1"),
        format!("{PROGRAM} completions zsh | head -1"),
        format!("{PROGRAM} sessions items {session} --follow -o jsonl | head -1"),
    ] {
        let output = Command::new("bash")
            .args(["-c", &format!("set -o pipefail; {line}")])
            .env_clear()
            .envs(env.vars().iter().map(|(name, value)| (name, value)))
            .output()
            .expect("bash is everywhere");
        assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{line}");
    }
}

#[test]
fn output_that_can_not_be_written_is_a_failure_that_repeating_does_not_hurt() {
    let env = TestEnv::new();
    let session = long(&env);
    for line in [
        vec!["sessions", "items", &session, "-o", "json"],
        vec!["sessions", "get", &session, "-o", "id"],
        vec!["help", "exit-codes"],
        vec!["--help"],
        vec!["--version"],
        vec!["completions", "bash"],
        vec!["version"],
    ] {
        let full = OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .expect("opens");
        let child = env.command(&line).stdout(full).spawn().expect("starts");
        let ran = env.finish(&line.join(" "), child);
        assert_eq!(ran.code, 7, "{ran:#?}");
        assert!(
            ran.stderr.contains("standard output") && ran.stderr.contains("RT-0701"),
            "{ran:#?}"
        );
    }
    // Talk that can't be said changes nothing.
    let full = OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .expect("opens");
    let mut child = env
        .command(["sessions", "get", "sess_zzz"])
        .stderr(full)
        .spawn()
        .expect("starts");
    assert_eq!(child.wait().expect("ends").code(), Some(3));
}

#[test]
fn closed_streams_are_like_empty_ones() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    for (redirect, line, code) in [
        ("<&-", format!("sessions get {session}"), 0),
        (">&-", format!("sessions get {session}"), 0),
        ("2>&-", format!("sessions get {session}"), 0),
        ("<&- >&- 2>&-", format!("sessions get {session}"), 0),
        (
            "<&-",
            "sessions create --environment none --no-autostart --input -".to_owned(),
            2,
        ),
        ("2>&-", "sessions get sess_zzz".to_owned(), 3),
    ] {
        let output = Command::new("bash")
            .args(["-c", &format!("{PROGRAM} {line} {redirect}")])
            .env_clear()
            .envs(env.vars().iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()
            .expect("bash is everywhere");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line} {redirect}: {output:?}"
        );
    }
    // Nothing of the program's own ends up on a descriptor that the caller had closed.
    assert_eq!(env.ok("sessions list -o id"), session);
}

#[test]
fn data_goes_out_and_talk_goes_beside_it() {
    let env = TestEnv::new();
    let created = env.run("sessions create --environment none --input '@say hi' --wait -o id");
    assert_eq!(created.stdout.lines().count(), 1);
    assert!(
        created.stderr.contains("no provider is configured"),
        "{created:#?}"
    );
    let quiet = env.run("sessions create --environment none --input '@say hi' --wait -o id -q");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    let failed = env.run("sessions get sess_zzz -q");
    assert!(
        failed.stderr.starts_with("error: "),
        "errors are said with -q, too: {failed:#?}"
    );
    assert!(failed.stderr.contains("hint: "), "{failed:#?}");
    let loud = env.run("sessions list -o id -vv");
    assert_eq!(loud.stdout.lines().count(), 2);
}

#[test]
fn nothing_is_coloured_or_moves_off_a_terminal() {
    let env = TestEnv::new();
    let session = env.session("@fail server_error it broke");
    for line in [
        format!("sessions items {session} -o table"),
        format!("sessions turns {session} -o table"),
        format!("sessions get {session} -o json"),
        format!("sessions explain {session} -o table"),
        "sessions get sess_zzz".to_owned(),
        "doctor -o table".to_owned(),
        "--help".to_owned(),
    ] {
        let ran = env.run(&line);
        assert!(
            !ran.stdout.contains('\x1b') && !ran.stderr.contains('\x1b'),
            "{ran:#?}"
        );
    }
    let forced = env.run(&format!("sessions turns {session} -o table --color always"));
    assert!(
        forced.stdout.contains("\x1b[31mfailed\x1b[0m"),
        "{forced:#?}"
    );
    let json = env.run(&format!("sessions get {session} -o json --color always"));
    assert!(!json.stdout.contains('\x1b'), "{json:#?}");
}

#[test]
fn the_log_goes_where_it_is_asked_for_and_nowhere_else() {
    let env = TestEnv::new();
    let session = env.session("@say hi");
    let output = File::create(env.path("log")).expect("makes");
    let child = env
        .command(["sessions", "get", &session])
        .env("RAT_THINGS_LOG", "trace")
        .stderr(output)
        .spawn()
        .expect("starts");
    assert_eq!(env.finish("get", child).code, 0);
    let nonsense = env
        .command(["sessions", "get", &session])
        .env("RAT_THINGS_LOG", "no=such=filter")
        .spawn()
        .expect("starts");
    assert_eq!(
        env.finish("get", nonsense).code,
        0,
        "a wrong filter is no reason not to work"
    );
}
