//! Which connections the program makes, with all that it starts: daemon, worker, Codex, sandboxes.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use pretty_assertions::assert_eq;

use super::world::{settled, stop};
use crate::kill::rat::Rat;

/// A command of the program that is traced, with the daemon that it starts.
pub(crate) struct Trace {
    log: PathBuf,
    strace: Child,
}

impl Trace {
    pub(crate) fn start(rat: &Rat, args: &[&str]) -> Trace {
        let log = rat.path().join("connections");
        let plain = rat.command(args);
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-s", "200", "-e", "signal=none"]);
        strace.args(["-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o"]);
        strace.arg(&log);
        strace.arg(plain.get_program()).args(plain.get_args());
        strace.env_clear().current_dir("/").stdin(Stdio::null());
        for (name, value) in plain.get_envs() {
            strace.env(name, value.unwrap_or_default());
        }
        let strace = strace.stdout(Stdio::null()).spawn();
        Trace {
            log,
            strace: strace.expect("strace is there"),
        }
    }

    /// Waits until the only Session has nothing to do, and ends everything; what was traced.
    pub(crate) fn settled_and_stopped(mut self, rat: &Rat) -> Connections {
        let sessions = rat.json(&["sessions", "list"]);
        let session = sessions["data"][0]["id"].as_str().expect("it is there");
        settled(rat, session);
        stop(rat);
        self.strace.wait().expect("it ends with what it traces");
        Connections(std::fs::read_to_string(&self.log).expect("written"))
    }
}

/// Calls of the system that name an address, one a line.
pub(crate) struct Connections(String);

impl Connections {
    /// Every connection is to loopback, to a socket of the data directory, or to the kernel. One that found nobody is none: the C library asks so
    /// for a cache of names. Codex reaches its environment by a name in its own directory.
    pub(crate) fn stay_on_the_machine(&self, rat: &Rat) {
        let data = rat.data();
        let data = data.to_str().expect("a plain path");
        let is_here = |line: &str| {
            let family = line.split("sa_family=").nth(1).unwrap_or_default();
            let family = family.split([',', '}']).next().unwrap_or_default();
            match family {
                "AF_INET" => line.contains("inet_addr(\"127.0.0.1\")"),
                "AF_INET6" => line.contains("\"::1\""),
                "AF_UNIX" => [data, "sun_path=\"exec.sock\"", "ENOENT"]
                    .iter()
                    .any(|here| line.contains(here)),
                family => ["", "AF_NETLINK", "AF_UNSPEC"].contains(&family),
            }
        };
        let mut outside = self.0.lines().filter(|line| !is_here(line));
        assert_eq!(outside.next(), None);
        assert!(
            self.0.contains("inet_addr(\"127.0.0.1\")"),
            "the model was called"
        );
    }
}
