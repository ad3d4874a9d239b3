//! Getting out: by the file system, by processes, by the kernel. Each way was tried; each must fail.

use rat_things::engine::ports::ExecHow;

use super::world::{World, is_machine_root, shell};

#[tokio::test]
async fn nothing_of_the_machine_is_there_but_the_system() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let top = sandbox.ok("ls -A /").await;
    for name in top.lines() {
        let known = "bin dev etc home lib lib32 lib64 libx32 proc run sbin tmp usr var workspace";
        assert!(known.split(' ').any(|k| k == name), "/{name} is visible");
    }
    assert_eq!(
        sandbox
            .ok("ls -A /home /run /var /var/tmp /tmp $HOME")
            .await
            .matches("agent")
            .count(),
        2
    );
    let secrets = "/etc/shadow /etc/sudoers /etc/ssh /etc/hostname /etc/machine-id /root /sys /boot /var/lib /var/run /run/docker.sock \
         /etc/ssl/private /opt /mnt /home/agent/.aws /proc/1/root/root";
    for path in secrets.split_ascii_whitespace() {
        assert_eq!(
            sandbox.run(&format!("ls -d {path}")).await.how,
            ExecHow::Exited(2),
            "{path} is visible"
        );
    }
    let data = world.dir.path().display();
    assert_eq!(
        sandbox.run(&format!("ls -d {data}")).await.how,
        ExecHow::Exited(2)
    );
    // The machine's own accounts, hosts and name servers neither.
    assert_eq!(sandbox.ok("wc -l < /etc/passwd").await, "3");
    assert_eq!(
        sandbox
            .ok("cat /etc/resolv.conf /proc/sys/kernel/hostname")
            .await,
        "# Names are resolved by the proxy.\nsandbox"
    );
}

#[tokio::test]
async fn nothing_can_be_written_outside_the_private_places() {
    let world = World::with(|config| config.limits.tmp_bytes = 1 << 20);
    let sandbox = world.sandbox().await;
    let closed = "/x /usr/x /usr/bin/x /bin/x /lib/x /etc/x /etc/passwd /etc/ssl/certs/x /dev/x /run/x /var/tmp/x /home/x /proc/x \
         /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sysrq-trigger /proc/1/oom_score_adj /usr/bin/env";
    for path in closed.split_ascii_whitespace() {
        let end = sandbox.run(&format!(": >> {path}")).await;
        assert!(matches!(end.how, ExecHow::Exited(1)), "{path}: {end:?}");
    }
    for directory in ["/tmp", "/dev/shm", "/home/agent"] {
        sandbox
            .ok(&format!("echo x > {directory}/x && rm {directory}/x"))
            .await;
        let full = sandbox
            .run(&format!("head -c 3000000 /dev/zero > {directory}/big"))
            .await;
        assert!(
            full.output.contains("No space left"),
            "{directory}: {full:?}"
        );
    }
    // A read-only mount stays one.
    let end = sandbox
        .run("mount -o remount,rw /usr; mount --bind /tmp /usr; umount /usr; : > /usr/x")
        .await;
    assert_ne!(end.how, ExecHow::Exited(0));
}

#[tokio::test]
async fn processes_of_the_machine_do_not_exist() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let visible = sandbox.ok("for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done; ls -d /proc/[0-9]* | wc -l").await;
    // PID 1, the shim, the shell, ls and wc.
    let count: usize = visible
        .lines()
        .last()
        .and_then(|n| n.parse().ok())
        .expect("a count");
    assert!(count <= 5, "{visible}");
    let engine = std::process::id();
    assert_eq!(
        sandbox
            .run(&format!("kill -0 {engine} 2>/dev/null"))
            .await
            .how,
        ExecHow::Exited(1)
    );
    assert_eq!(
        sandbox
            .run("kill -0 -- -1; kill -TERM $PPID; sleep 0.1")
            .await
            .how,
        ExecHow::Exited(0)
    );
}

#[tokio::test]
async fn pid_1_and_the_shims_are_opaque() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let script = "for p in 1 $PPID; do for f in environ mem maps auxv syscall stack; do
            head -c 1 /proc/$p/$f >/dev/null 2>&1 && echo \"$p/$f is readable\"; done
            for f in exe cwd root; do readlink /proc/$p/$f; done
            ls /proc/$p/fd /proc/$p/map_files 2>/dev/null
            (: < /proc/$p/exe) 2>/dev/null && echo open
        done; true";
    assert_eq!(sandbox.ok(script).await, "");
    for request in [libc::PTRACE_ATTACH, libc::PTRACE_SEIZE] {
        assert_eq!(
            sandbox
                .errno(libc::SYS_ptrace, &format!("{request}, 1, 0, 0"))
                .await,
            libc::EPERM
        );
    }
    let vectors = "1, pack('PQ', 'xxxxxxxx', 8), 1, pack('QQ', 65536, 8), 1, 0";
    assert_eq!(
        sandbox.errno(libc::SYS_process_vm_readv, vectors).await,
        libc::EPERM
    );
}

#[tokio::test]
async fn killing_everything_inside_ends_only_what_is_inside() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let end = sandbox
        .run("kill -9 1; kill -STOP 1; kill -TERM 1; echo still here")
        .await;
    assert_eq!(
        (end.how, end.output.as_str()),
        (ExecHow::Exited(0), "still here\n")
    );
    for _ in 0..5 {
        // Whoever calls is spared, so once by the command itself and once by a child of it.
        assert_eq!(
            sandbox.run("sleep 1000 & kill -9 -1; exit 3").await.how,
            ExecHow::Exited(3)
        );
        let end = sandbox.run("(kill -9 -1); sleep 1000").await;
        assert_eq!(end.how, ExecHow::Signalled(libc::SIGKILL));
        assert_eq!(sandbox.ok("echo next").await, "next");
    }
    // The shim alone, as early as may be: how the command itself ends is still known.
    for _ in 0..20 {
        let end = sandbox.run("kill -9 $PPID; exit 5").await;
        assert_eq!(end.how, ExecHow::Exited(5));
    }
}

#[tokio::test]
async fn a_command_has_no_privilege_of_any_kind() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let status = sandbox.ok("cat /proc/self/status").await;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.strip_prefix(':'))
            .unwrap_or_default()
            .trim()
            .replace('\t', " ")
    };
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert_eq!(field(set), "0000000000000000", "{set}");
    }
    assert_eq!(
        (field("NoNewPrivs"), field("Seccomp")),
        ("1".to_owned(), "2".to_owned())
    );
    assert_eq!(
        (field("Uid"), field("Gid")),
        (
            "1000 1000 1000 1000".to_owned(),
            "1000 1000 1000 1000".to_owned()
        )
    );
    // Whoever the engine is, this is not root to anybody outside.
    use std::os::unix::fs::MetadataExt;
    sandbox
        .ok(": > f; cp /bin/true set-id; chmod 6755 set-id")
        .await;
    let owner = std::fs::metadata(sandbox.workspace.join("f")).expect("there");
    let engine = rustix::process::geteuid().as_raw();
    let is_ours = (owner.uid(), owner.gid()) == (engine, rustix::process::getegid().as_raw());
    assert_eq!(
        is_ours,
        !is_machine_root(),
        "{} {}",
        owner.uid(),
        owner.gid()
    );
    // Set-uid files made inside are out of everybody else's reach.
    let root = std::fs::metadata(world.dir.path().join("environments")).expect("there");
    assert_eq!(root.mode() & 0o777, 0o700);
}

#[tokio::test]
async fn the_kernels_larger_surfaces_are_closed() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let (eperm, enosys, family) = (libc::EPERM, libc::ENOSYS, libc::EAFNOSUPPORT);
    let newuser = libc::CLONE_NEWUSER;
    let clone = |flag: i32| format!("{}, 0, 0, 0, 0", flag | libc::SIGCHLD);
    let rows = [
        (
            "unshare user",
            libc::SYS_unshare,
            newuser.to_string(),
            eperm,
        ),
        (
            "unshare mount",
            libc::SYS_unshare,
            libc::CLONE_NEWNS.to_string(),
            eperm,
        ),
        (
            "unshare net",
            libc::SYS_unshare,
            libc::CLONE_NEWNET.to_string(),
            eperm,
        ),
        ("clone user", libc::SYS_clone, clone(newuser), eperm),
        (
            "clone mount",
            libc::SYS_clone,
            clone(libc::CLONE_NEWNS),
            eperm,
        ),
        (
            "clone net",
            libc::SYS_clone,
            clone(libc::CLONE_NEWNET),
            eperm,
        ),
        ("clone3", libc::SYS_clone3, "0, 0".to_owned(), enosys),
        ("setns", libc::SYS_setns, "0, 0".to_owned(), eperm),
        (
            "mount",
            libc::SYS_mount,
            "'none', '/tmp', 'tmpfs', 0, 0".to_owned(),
            eperm,
        ),
        ("umount", libc::SYS_umount2, "'/tmp', 0".to_owned(), eperm),
        (
            "pivot_root",
            libc::SYS_pivot_root,
            "'/tmp', '/tmp'".to_owned(),
            eperm,
        ),
        ("chroot", libc::SYS_chroot, "'/tmp'".to_owned(), eperm),
        ("fsopen", libc::SYS_fsopen, "'tmpfs', 0".to_owned(), eperm),
        (
            "open_tree",
            libc::SYS_open_tree,
            "-100, '/', 1".to_owned(),
            eperm,
        ),
        (
            "keyctl",
            libc::SYS_keyctl,
            "0, 0, 0, 0, 0".to_owned(),
            eperm,
        ),
        (
            "add_key",
            libc::SYS_add_key,
            "'user', 'a', 'b', 1, -3".to_owned(),
            eperm,
        ),
        ("bpf", libc::SYS_bpf, "0, 0, 0".to_owned(), eperm),
        (
            "perf_event_open",
            libc::SYS_perf_event_open,
            "0, 0, -1, -1, 0".to_owned(),
            eperm,
        ),
        ("userfaultfd", libc::SYS_userfaultfd, "0".to_owned(), eperm),
        (
            "io_uring",
            libc::SYS_io_uring_setup,
            "8, 0".to_owned(),
            eperm,
        ),
        (
            "open_by_handle_at",
            libc::SYS_open_by_handle_at,
            "-100, 0, 0".to_owned(),
            eperm,
        ),
        (
            "finit_module",
            libc::SYS_finit_module,
            "0, 0, 0".to_owned(),
            eperm,
        ),
        ("reboot", libc::SYS_reboot, "0, 0, 0, 0".to_owned(), eperm),
        (
            "TIOCSTI",
            libc::SYS_ioctl,
            format!("0, {}, 'x'", libc::TIOCSTI),
            eperm,
        ),
        (
            "raw IPv4",
            libc::SYS_socket,
            format!("{}, {}, 1", libc::AF_INET, libc::SOCK_RAW),
            eperm,
        ),
        (
            "raw IPv6",
            libc::SYS_socket,
            format!(
                "{}, {}, 58",
                libc::AF_INET6,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC
            ),
            eperm,
        ),
        (
            "packet",
            libc::SYS_socket,
            format!("{}, {}, 0", libc::AF_PACKET, libc::SOCK_RAW),
            family,
        ),
        (
            "vsock",
            libc::SYS_socket,
            format!("{}, {}, 0", libc::AF_VSOCK, libc::SOCK_STREAM),
            family,
        ),
        (
            "alg",
            libc::SYS_socket,
            format!("{}, {}, 0", libc::AF_ALG, libc::SOCK_SEQPACKET),
            family,
        ),
        (
            "bluetooth",
            libc::SYS_socket,
            format!("{}, {}, 0", libc::AF_BLUETOOTH, libc::SOCK_RAW),
            family,
        ),
        (
            "tipc pair",
            libc::SYS_socketpair,
            format!("{}, {}, 0, 0", libc::AF_TIPC, libc::SOCK_STREAM),
            family,
        ),
    ];
    for (what, call, arguments, expect) in rows {
        assert_eq!(sandbox.errno(call, &arguments).await, expect, "{what}");
    }
    #[cfg(target_arch = "x86_64")]
    assert_eq!(
        sandbox.errno(libc::SYS_getpid | 0x4000_0000, "").await,
        enosys,
        "x32"
    );
    // What programs need is there.
    assert_eq!(
        sandbox
            .errno(
                libc::SYS_socket,
                &format!("{}, {}, 0", libc::AF_NETLINK, libc::SOCK_RAW)
            )
            .await,
        0
    );
    assert_eq!(
        sandbox
            .errno(
                libc::SYS_socket,
                &format!("{}, {}, 0", libc::AF_UNIX, libc::SOCK_STREAM)
            )
            .await,
        0
    );
}

#[tokio::test]
async fn links_planted_in_the_workspace_lead_nowhere_at_the_next_start() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    std::fs::create_dir(&outside).expect("mkdir");
    let spec = super::world::spec(rat_things::engine::ports::Network::Disabled);
    let sandbox = world.open(&spec).await;
    let script = format!(
        "rm -r outputs; ln -s {0} outputs; for n in usr etc dev proc tmp home lock workspace; do ln -s {0} $n; done; chmod 0 .",
        outside.display()
    );
    sandbox.ok(&script).await;
    sandbox.environment.close().await;
    let again = world.open(&spec).await;
    assert_eq!(
        again.ok("readlink outputs; pwd").await,
        format!("{}\n/workspace", outside.display())
    );
    assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 0);
    assert_eq!(again.exec(shell("true")).await.how, ExecHow::Exited(0));
}
