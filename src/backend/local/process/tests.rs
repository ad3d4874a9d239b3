//! Liveness is judged against real processes.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// A child that lives until it is ended; ended with the test.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Sleeper {
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null());
        Sleeper(command.spawn().expect("sleep starts"))
    }

    fn identity(&self) -> ProcessIdentity {
        ProcessIdentity::of(self.0.id()).expect("a child is found")
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_identity_survives_its_text_form() {
    let me = ProcessIdentity::current().expect("there is a /proc");
    assert_eq!(ProcessIdentity::parse(&me.to_string()), Some(me.clone()));
    assert_eq!(me.inspect(), Liveness::Running);
    let outside = ProcessIdentity::parse("proc:12:345:0a-b").expect("well formed");
    assert_eq!(outside.namespace, FIRST_NAMESPACE);
    assert_eq!(outside.to_string(), "proc:12:345:0a-b");
    let inside = ProcessIdentity::parse("proc:12:345:0a-b:77").expect("well formed");
    assert_eq!(inside.to_string(), "proc:12:345:0a-b:77");
}

#[test]
fn other_texts_are_no_identities() {
    for bad in [
        "",
        "proc",
        "proc:1",
        "proc:1:2",
        "proc:1:2:",
        "proc:0:2:a",
        "proc:-1:2:a",
        "proc:+1:2:a",
        "proc:4294967295:2:a",
        "proc:1:2:x y",
        "proc:1:2:a:",
        "proc:1:2:a:3:4",
        "proc:1:2:a#1",
        "ec2:i-0123",
    ] {
        assert_eq!(ProcessIdentity::parse(bad), None, "{bad:?}");
    }
}

#[test]
fn a_process_that_runs_is_running_and_one_that_ended_is_gone() {
    let mut sleeper = Sleeper::start();
    let identity = sleeper.identity();
    assert_eq!(identity.inspect(), Liveness::Running);
    identity.kill_and_wait(PATIENCE).expect("it can be killed");
    // A zombie until here.
    assert_eq!(identity.inspect(), Liveness::Gone);
    sleeper.0.wait().expect("it is our child");
    assert_eq!(identity.inspect(), Liveness::Gone);
    identity.kill_and_wait(PATIENCE).expect("gone is fine");
}

#[test]
fn a_process_that_took_over_the_pid_is_neither_mistaken_nor_hit() {
    let sleeper = Sleeper::start();
    let mut earlier = sleeper.identity();
    earlier.start_ticks -= 1;
    assert_eq!(earlier.inspect(), Liveness::Gone);
    earlier.end(PATIENCE, PATIENCE).expect("gone is fine");
    assert_eq!(sleeper.identity().inspect(), Liveness::Running);
}

#[test]
fn a_process_of_another_boot_is_gone() {
    let mut me = ProcessIdentity::current().expect("there is a /proc");
    me.boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
    assert_eq!(me.inspect(), Liveness::Gone);
}

#[test]
fn a_process_of_another_pid_namespace_is_unknown_and_left_alone() {
    let mut me = ProcessIdentity::current().expect("there is a /proc");
    me.namespace += 1;
    assert_eq!(me.inspect(), Liveness::Unknown);
    let refused = me.kill_and_wait(PATIENCE);
    assert!(matches!(refused, Err(EndError::Unknown { .. })));
}

#[test]
fn a_process_that_ignores_the_polite_request_is_killed() {
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' TERM; echo ready; exec sleep 600"]);
    command.stdout(Stdio::piped());
    let mut deaf = Sleeper(command.spawn().expect("sh starts"));
    let mut ready = [0u8; 6];
    let mut output = deaf.0.stdout.take().expect("it is piped");
    io::Read::read_exact(&mut output, &mut ready).expect("it says so");
    let identity = deaf.identity();
    identity
        .end(Duration::from_millis(50), PATIENCE)
        .expect("it can be killed");
    assert_eq!(identity.inspect(), Liveness::Gone);
}

#[test]
fn names_with_blanks_and_parentheses_do_not_confuse() {
    let text = b"7 (a) Z (b)) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 987 1 2\n";
    let stat = Stat::parse(text).expect("well formed");
    assert_eq!((stat.state, stat.threads, stat.start_ticks), (b'S', 3, 987));
    assert!(Stat::parse(b"7 (a) S 1").is_none());
    assert!(Stat::parse(b"").is_none());
}

#[test]
fn a_zombie_whose_other_threads_run_has_not_ended() {
    let stat = |state, threads| Stat {
        state,
        threads,
        start_ticks: 1,
    };
    assert!(stat(b'Z', 1).ended());
    assert!(!stat(b'Z', 2).ended());
    assert!(!stat(b'D', 1).ended());
}

/// Set in the copy of this test that is started with an inherited file.
const COPY: &str = "RAT_THINGS_TEST_INHERITED";

#[test]
fn an_inherited_file_is_kept_from_children() {
    if std::env::var_os(COPY).is_some() {
        keep_inherited_files_from_children();
        // Octal 02000000 is close-on-exec.
        let info = fs::read_to_string("/proc/self/fdinfo/9").expect("it is open");
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        assert_ne!(flags.expect("has flags") & 0o2_000_000, 0);
        return;
    }
    let copy = Command::new("sh")
        .args(["-c", r#"exec "$0" "$@" 9</dev/null"#])
        .arg(std::env::current_exe().expect("this binary has a path"))
        .arg("an_inherited_file_is_kept_from_children")
        .env(COPY, "1")
        .output()
        .expect("sh starts");
    let said = String::from_utf8_lossy(&copy.stdout);
    assert!(copy.status.success() && said.contains("1 passed"), "{said}");
}
