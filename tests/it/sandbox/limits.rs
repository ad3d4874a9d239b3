//! Bounds of an environment: each is reached, and holds.

use rat_things::engine::ports::ExecHow;

use super::world::{World, argv};

#[tokio::test]
async fn processes_are_bounded() {
    let world = World::with(|config| config.limits.processes = 60);
    let sandbox = world.sandbox().await;
    let script = "my $n = 0; while ($n < 200) { my $p = fork; last unless defined $p; if (!$p) { sleep 1000; exit } $n++ } print $n";
    let started: u32 = sandbox
        .exec(argv(&["perl", "-e", script]))
        .await
        .output
        .parse()
        .expect("a number");
    assert!((40..60).contains(&started), "{started}");
    // The next command still starts, and may make room.
    sandbox
        .ok("kill -9 -1; while [ \"$(ls -d /proc/[0-9]* | wc -l)\" -gt 5 ]; do sleep 0.05; done")
        .await;
}

#[tokio::test]
async fn memory_of_one_process_is_bounded_exactly() {
    let world = World::with(|config| config.limits.memory_bytes = 100 << 20);
    let sandbox = world.sandbox().await;
    let fill = |mib: u32| format!("perl -e 'my $x = \"x\" x ({mib} << 20); print length $x'");
    assert_eq!(sandbox.ok(&fill(40)).await, (40 << 20).to_string());
    let end = sandbox.run(&fill(300)).await;
    assert_ne!(end.how, ExecHow::Exited(0), "{end:?}");
}

#[tokio::test]
async fn memory_of_all_processes_is_bounded_together() {
    let world = World::with(|config| config.limits.memory_bytes = 150 << 20);
    let sandbox = world.sandbox().await;
    let script = "for i in 1 2 3 4; do perl -e 'my $x = \"x\" x (60 << 20); sleep 3; print \"sur\", \"vived\"' & done; wait";
    let end = sandbox.run(script).await;
    assert_eq!(
        end.how,
        ExecHow::Exited(0),
        "the shell itself is small: {end:?}"
    );
    assert!(
        end.output
            .contains("[the environment's processes used more than 150 MiB of memory]"),
        "{end:?}"
    );
    let survived = end.output.matches("survived").count();
    assert!((1..=2).contains(&survived), "{end:?}");
}

#[tokio::test]
async fn shared_memory_counts_too() {
    let world = World::with(|config| config.limits.memory_bytes = 100 << 20);
    let sandbox = world.sandbox().await;
    // An anonymous shared mapping of 200 MiB, filled by reading into it.
    let script = format!(
        "my $n = 200 << 20; my $at = syscall({}, 0, $n, {}, {}, -1, 0); open my $zero, '<', '/dev/zero' or die; \
         syscall({}, fileno($zero), $at, $n) == $n or die; print 'filled'; sleep 1000",
        libc::SYS_mmap,
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        libc::SYS_read,
    );
    let end = sandbox.exec(argv(&["perl", "-e", &script])).await;
    assert_eq!(end.how, ExecHow::Signalled(libc::SIGKILL), "{end:?}");
}

#[tokio::test]
async fn files_are_bounded() {
    let world = World::with(|config| config.limits.file_bytes = 1 << 20);
    let sandbox = world.sandbox().await;
    sandbox.ok("head -c 1048576 /dev/zero > fits").await;
    let end = sandbox
        .run("trap '' XFSZ; head -c 1048577 /dev/zero > big; ls -l big | cut -d' ' -f5")
        .await;
    assert!(end.output.ends_with("1048576\n"), "{end:?}");
    assert_eq!(
        sandbox
            .run("exec head -c 2000000 /dev/zero > big")
            .await
            .how,
        ExecHow::Signalled(libc::SIGXFSZ)
    );
}

#[tokio::test]
async fn processor_time_is_bounded() {
    let world = World::with(|config| config.limits.cpu_seconds = 1);
    let sandbox = world.sandbox().await;
    let end = sandbox.run("while :; do :; done").await;
    assert!(
        matches!(end.how, ExecHow::Signalled(libc::SIGKILL | libc::SIGXCPU)),
        "{end:?}"
    );
}

#[tokio::test]
async fn a_disk_that_is_nearly_full_is_left_alone() {
    let world = World::with(|config| config.limits.free_space_bytes = u64::MAX);
    let sandbox = world.sandbox().await;
    let end = sandbox.run("true").await;
    let reason = format!(
        "less than {} MiB are free on the disk of the workspace",
        u64::MAX >> 20
    );
    assert_eq!(end.how, ExecHow::NotStarted(reason));
}

#[tokio::test]
async fn bounds_cannot_be_raised_from_inside() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    for limit in ["-u", "-d", "-f", "-t"] {
        let script = format!("ulimit -H {limit}; ulimit -H {limit} unlimited");
        let end = sandbox.run(&script).await;
        assert_ne!(end.how, ExecHow::Exited(0), "{limit}: {end:?}");
        assert!(!end.output.starts_with("unlimited"), "{limit}: {end:?}");
    }
    assert_eq!(sandbox.ok("ulimit -c").await, "0");
}
