//! The identity of a sandbox's PID 1 on the host, which proves that the sandbox is there, or that it is not.
//!
//! The lock of an environment is held by the engine and by PID 1. But a killed process closes its files before the kernel ends the rest
//! of its namespace, so for a moment the lock is free and commands still run. PID 1 itself cannot be seen to be gone before they are.

use std::fmt;
use std::str::FromStr;

/// One process of one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    pid: u32,
    /// In clock ticks since boot. With the pid and the boot it is never used again.
    started_ticks: u64,
    boot: String,
}

impl Witness {
    /// The process with this pid, if it is alive.
    pub(super) fn of(pid: u32) -> Option<Witness> {
        Some(Witness {
            pid,
            started_ticks: alive_since(pid)?,
            boot: boot()?,
        })
    }

    /// The one process that `launcher` started.
    pub(super) fn child_of(launcher: u32) -> Option<Witness> {
        let children =
            std::fs::read_to_string(format!("/proc/{launcher}/task/{launcher}/children"));
        let pid = children
            .ok()?
            .split_ascii_whitespace()
            .next()?
            .parse()
            .ok()?;
        Witness::of(pid)
    }

    /// Whether it is still there. One that only waits to be reaped is not: its namespace is empty by then.
    pub(super) fn is_there(&self) -> bool {
        alive_since(self.pid) == Some(self.started_ticks) && boot().as_ref() == Some(&self.boot)
    }
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {} {}", self.pid, self.started_ticks, self.boot)
    }
}

impl FromStr for Witness {
    type Err = ();

    fn from_str(text: &str) -> Result<Witness, ()> {
        let mut words = text.split_ascii_whitespace();
        let witness = Witness {
            pid: words.next().and_then(|w| w.parse().ok()).ok_or(())?,
            started_ticks: words.next().and_then(|w| w.parse().ok()).ok_or(())?,
            boot: words.next().ok_or(())?.to_owned(),
        };
        words.next().is_none().then_some(witness).ok_or(())
    }
}

fn alive_since(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything, parentheses included.
    let name_end = stat.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

fn boot() -> Option<String> {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_recognised_and_another_one_under_its_pid_is_not() {
        let me = Witness::of(std::process::id()).expect("alive");
        assert!(me.is_there());
        assert_eq!(me.to_string().parse(), Ok(me.clone()));
        let other = Witness {
            started_ticks: me.started_ticks + 1,
            ..me.clone()
        };
        assert!(!other.is_there());
        let earlier_boot = Witness {
            boot: "x".to_owned(),
            ..me
        };
        assert!(!earlier_boot.is_there());
        assert!("1 2".parse::<Witness>().is_err());
        assert!("".parse::<Witness>().is_err());
    }

    #[test]
    fn a_process_that_waits_to_be_reaped_is_gone() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let witness = Witness::of(child.id());
        while alive_since(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!witness.is_some_and(|w| w.is_there()));
        child.wait().expect("reaped");
    }
}
