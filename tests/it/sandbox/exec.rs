//! Commands: how they end, what they say, what they are given, what they leave running.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use rat_things::engine::ports::{Environments, ExecHow, Network, Program};
use tokio::sync::{mpsc, watch};

use super::world::{World, argv, program, shell, spec};

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_its_files_stay() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    assert_eq!(
        sandbox.ok("pwd; echo hello > outputs/a.txt; id -un").await,
        "/workspace\nagent"
    );
    sandbox.environment.close().await;
    let on_host = std::fs::read_to_string(sandbox.workspace.join("outputs/a.txt"));
    assert_eq!(on_host.expect("readable"), "hello\n");
    let mut again = spec(Network::Disabled);
    again.id = sandbox.id;
    assert_eq!(
        world.open(&again).await.ok("cat outputs/a.txt").await,
        "hello"
    );
}

#[tokio::test]
async fn the_ways_a_command_can_end_are_told_apart() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    assert_eq!(sandbox.run("exit 7").await.how, ExecHow::Exited(7));
    assert_eq!(
        sandbox.run("kill -KILL $$").await.how,
        ExecHow::Signalled(libc::SIGKILL)
    );
    assert_eq!(
        sandbox.run("kill -SEGV $$").await.how,
        ExecHow::Signalled(libc::SIGSEGV)
    );
    let mut late = shell("echo before; exec sleep 1000");
    late.timeout_ms = 300;
    let end = sandbox.exec(late).await;
    assert_eq!(
        (end.how, end.output.as_str()),
        (ExecHow::TimedOut, "before\n")
    );
    assert!(end.duration_ms >= 300);
    assert_eq!(sandbox.exec(argv(&["true"])).await.how, ExecHow::Exited(0));
    assert_eq!(
        sandbox
            .exec(argv(&["printf", "%s|", "a b", "", "$HOME"]))
            .await
            .output,
        "a b||$HOME|"
    );
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    sandbox.ok("echo text > plain; echo 'echo \"script $1\"' > script; chmod +x script; mkdir -m 0 shut").await;
    let at = |cwd: &str| {
        let mut spec = shell("true");
        spec.cwd = cwd.to_owned();
        spec
    };
    let with = |name: &str, value: &str| {
        let mut spec = shell("true");
        spec.env.insert(name.to_owned(), value.to_owned());
        spec
    };
    let rows = [
        (
            argv(&["no-such-program"]),
            "no such program: no-such-program",
        ),
        (argv(&["./none"]), "no such program: ./none"),
        (argv(&["./plain"]), "not executable: ./plain"),
        (argv(&["/workspace"]), "not executable: /workspace"),
        (argv(&[]), "the command names no program"),
        (argv(&[""]), "the command names no program"),
        (at("/workspace/none"), "no such directory: /workspace/none"),
        (at("/workspace/plain"), "not a directory: /workspace/plain"),
        (
            at("/workspace/shut"),
            "cannot enter /workspace/shut: Permission denied (os error 13)",
        ),
        (
            at("outputs"),
            "the working directory is not an absolute path: outputs",
        ),
        (shell("echo \0"), "no command can hold a NUL character"),
        (
            shell(&"x".repeat(130 << 10)),
            "the command is too long for the kernel (128 KiB an argument)",
        ),
        (
            shell(&"x".repeat(300 << 10)),
            "the command and its variables are longer than 192 KiB",
        ),
        (
            with("A=B", "x"),
            "no process can be given the environment variable \"A=B\"",
        ),
    ];
    for (spec, reason) in rows {
        let end = sandbox.exec(spec).await;
        assert_eq!(
            (end.how, end.output.as_str()),
            (ExecHow::NotStarted(reason.to_owned()), "")
        );
    }
    // A script without an interpreter line runs in sh, as it does from any shell.
    assert_eq!(
        sandbox.exec(argv(&["./script", "x"])).await.output,
        "script x\n"
    );
}

#[tokio::test]
async fn a_command_sees_the_listed_variables_and_no_other() {
    let world = World::new();
    let mut with = spec(Network::Disabled);
    with.env = [("FROM_SPEC", "1"), ("BOTH", "spec")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    let sandbox = world.open(&with).await;
    let mut command = argv(&["env"]);
    command.env = [("BOTH", "command"), ("EMPTY", "")]
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .into();
    let end = sandbox.exec(command).await;
    let seen: BTreeSet<&str> = end.output.lines().collect();
    let expect = BTreeSet::from([
        "BOTH=command",
        "EMPTY=",
        "FROM_SPEC=1",
        "HOME=/home/agent",
        "LANG=C.UTF-8",
        "LOGNAME=agent",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PWD=/workspace",
        "SHELL=/bin/sh",
        "TERM=dumb",
        "TMPDIR=/tmp",
        "USER=agent",
        "WORKSPACE=/workspace",
    ]);
    assert_eq!(seen, expect);
    // Nor can it read them from another process.
    let readable = sandbox
        .run("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'")
        .await
        .output;
    for (name, _) in std::env::vars()
        .filter(|(name, _)| name.starts_with("CARGO") || name.starts_with("RAT_THINGS"))
    {
        assert!(!readable.contains(&name), "{name} is visible");
    }
}

#[tokio::test]
async fn only_the_three_standard_descriptors_reach_a_command() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let said = sandbox
        .ok("for fd in /proc/self/fd/*; do echo ${fd##*/}; done; cat | wc -c")
        .await;
    // The shell's own look into the directory is 3.
    assert_eq!(said, "0\n1\n2\n3\n0");
    assert_eq!(
        sandbox
            .exec(argv(&["readlink", "/proc/self/fd/0"]))
            .await
            .output,
        "/dev/null\n"
    );
}

#[tokio::test]
async fn output_arrives_while_the_command_runs() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let mut begun = sandbox.begin(shell(
        "echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2; echo three",
    ));
    assert_eq!(begun.says("one").await, "one\n");
    std::fs::write(sandbox.workspace.join("go"), "")
        .expect("the engine can write into the workspace");
    let end = begun.end().await;
    assert_eq!(
        (end.how, end.output.as_str()),
        (ExecHow::Exited(0), "one\ntwo\nthree\n")
    );
    assert_eq!(end.output_bytes, 14);
}

#[tokio::test]
async fn standard_input_is_given_whole_and_need_not_be_read() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let bytes = Bytes::from(vec![b'x'; 1 << 20]);
    let mut count = shell("wc -c");
    count.stdin = bytes.clone();
    assert_eq!(sandbox.exec(count).await.output.trim(), "1048576");
    let mut ignore = shell("echo done");
    ignore.stdin = bytes;
    let end = sandbox.exec(ignore).await;
    assert_eq!(
        (end.how, end.output.as_str()),
        (ExecHow::Exited(0), "done\n")
    );
}

#[tokio::test]
async fn two_hundred_megabytes_of_output_take_little_memory() {
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
        let pages: u64 = statm
            .split(' ')
            .nth(1)
            .and_then(|p| p.parse().ok())
            .expect("a number");
        pages * 4096
    };
    let world = World::new();
    let sandbox = world.sandbox().await;
    let before = resident();
    let mut flood = shell("printf first; head -c 200000000 /dev/zero | tr '\\0' x; printf last");
    flood.output_limit_bytes = 20;
    let end = sandbox.exec(flood).await;
    assert_eq!(end.how, ExecHow::Exited(0));
    assert_eq!(end.output_bytes, 200_000_009);
    assert_eq!(
        end.output,
        "firstxxxxx\n[… 199999989 bytes left out …]\nxxxxxxlast"
    );
    // Other tests run in this process too; what matters is that it is far from 200 MB.
    let grown = resident().saturating_sub(before);
    assert!(grown < 100 << 20, "{grown} bytes");
}

#[tokio::test]
async fn a_listener_that_does_not_listen_delays_nothing() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let (live, kept_open) = mpsc::channel(1);
    let (_never, cancel) = watch::channel(false);
    let end = sandbox
        .environment
        .exec(shell("head -c 1000000 /dev/zero"), live, cancel)
        .await
        .expect("runs");
    assert_eq!((end.how, end.output_bytes), (ExecHow::Exited(0), 1_000_000));
    drop(kept_open);
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_goes_on() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    // A server, and somebody who keeps writing to the output of a command that is long over.
    let script = "mkfifo /tmp/ask /tmp/answer
        (while read -r word < /tmp/ask; do echo \"got $word\" > /tmp/answer; done) &
        (while echo noise; do sleep 0.01; done) & echo $! > /tmp/noisy
        echo started";
    let end = sandbox.run(script).await;
    assert_eq!(end.how, ExecHow::Exited(0));
    assert!(end.output.contains("started\n"));
    assert_eq!(
        sandbox.ok("echo hi > /tmp/ask; cat /tmp/answer").await,
        "got hi"
    );
    assert_eq!(
        sandbox.ok("kill -0 $(cat /tmp/noisy) && echo alive").await,
        "alive"
    );
    let mut same = spec(Network::Disabled);
    same.id = sandbox.id.clone();
    let opened = world.environments.open(&same).await.expect("opens");
    assert!(opened.warm && !opened.created);
    assert!(Arc::ptr_eq(&opened.environment, &sandbox.environment));
    // A later command may end it.
    assert_eq!(sandbox.ok("kill $(cat /tmp/noisy); sleep 0.1; kill -0 $(cat /tmp/noisy) 2>/dev/null || echo gone").await, "gone");
}

#[tokio::test]
async fn commands_run_side_by_side() {
    let world = World::new();
    let sandbox = Arc::new(world.sandbox().await);
    let tasks = (0..40).map(|n| {
        let sandbox = Arc::clone(&sandbox);
        tokio::spawn(async move { sandbox.ok(&format!("sleep 0.1; echo {n}")).await })
    });
    for (n, task) in tasks.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(task.await.expect("no panic"), n.to_string());
    }
}

#[tokio::test]
async fn the_patch_tool_runs_inside_and_leaves_no_way_to_our_program() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    // Whoever finds a process of ours tries to open its program.
    sandbox.ok("cd /tmp; (for i in $(seq 2000); do for p in /proc/[0-9]*; do readlink $p/exe >> seen 2>/dev/null; done; done) & true").await;
    for _ in 0..5 {
        let mut patch = program(Program::ApplyPatch);
        patch.stdin = Bytes::from_static(b"this is no patch");
        let end = sandbox.exec(patch).await;
        assert!(
            matches!(end.how, ExecHow::Exited(code) if code != 0),
            "{end:?}"
        );
    }
    let seen = sandbox.ok("sort -u /tmp/seen").await;
    assert!(!seen.is_empty());
    assert!(!seen.contains("rat-things"), "{seen}");
}
