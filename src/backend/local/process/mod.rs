//! Which process it was: a name for a process that no later process can be mistaken for.
//!
//! A pid alone is reused; together with its start time and the machine's boot id it is not. Whoever finds the name in a record,
//! in any later life of this program, can ask whether that process still exists.
//!
//! The surprising part: pids mean something within one pid namespace only. A name made inside a container carries the namespace,
//! and seen from another one the process is neither alive nor gone but unknown.

mod end;
mod inherited;
mod resident;

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use rustix::process::Pid;

pub use self::end::EndError;
pub use self::inherited::keep_inherited_files_from_children;
pub use self::resident::give_code_back;
use crate::engine::ports::Liveness;

/// What every textual identity begins with.
const SCHEME: &str = "proc";
/// The first pid namespace of every machine has this number; it is left out of the text.
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFC;

/// One process, of this or any earlier boot.
///
/// As text: `proc:<pid>:<start ticks>:<boot id>`, and `:<pid namespace>` behind it inside a container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// Process id, as its own namespace sees it.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub start_ticks: u64,
    /// Which boot of which machine.
    pub boot_id: String,
    /// Inode number of its pid namespace.
    pub namespace: u64,
}

impl ProcessIdentity {
    /// This process. Fails where there is no usable /proc.
    pub fn current() -> io::Result<ProcessIdentity> {
        ProcessIdentity::of(std::process::id())
    }

    /// The process that has this pid now; `NotFound` if there is none. A child that was not waited for yet is always found.
    pub fn of(pid: u32) -> io::Result<ProcessIdentity> {
        let stat = Stat::read(pid)?;
        Ok(ProcessIdentity {
            pid,
            start_ticks: stat.start_ticks,
            boot_id: boot_id()?,
            namespace: namespace()?,
        })
    }

    /// Reads the text form. Anything else, such as the name of an execution elsewhere, is `None`.
    pub fn parse(text: &str) -> Option<ProcessIdentity> {
        let mut parts = text.split(':');
        if parts.next()? != SCHEME {
            return None;
        }
        let identity = ProcessIdentity {
            pid: number(parts.next()?)?,
            start_ticks: number(parts.next()?)?,
            boot_id: parts.next().filter(|id| is_boot_id(id))?.to_owned(),
            namespace: match parts.next() {
                Some(namespace) => number(namespace)?,
                None => FIRST_NAMESPACE,
            },
        };
        (parts.next().is_none() && identity.raw_pid().is_some()).then_some(identity)
    }

    /// What is known of it now. A zombie is gone: it runs nothing any more.
    pub fn inspect(&self) -> Liveness {
        match (boot_id(), namespace()) {
            (Ok(boot_id), _) if boot_id != self.boot_id => Liveness::Gone,
            (Ok(_), Ok(namespace)) if namespace == self.namespace => self.inspect_here(),
            _ => Liveness::Unknown,
        }
    }

    fn inspect_here(&self) -> Liveness {
        let Some(pid) = self.raw_pid() else {
            return Liveness::Gone;
        };
        match Stat::read(self.pid) {
            Ok(stat) if stat.start_ticks != self.start_ticks || stat.ended() => Liveness::Gone,
            Ok(_) => Liveness::Running,
            // Not listed is not proof: /proc may be mounted so that it hides what belongs to others.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match rustix::process::test_kill_process(pid) {
                    Err(rustix::io::Errno::SRCH) => Liveness::Gone,
                    _ => Liveness::Unknown,
                }
            }
            Err(_) => Liveness::Unknown,
        }
    }

    fn raw_pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.pid).ok()?)
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{SCHEME}:{}:{}:{}",
            self.pid, self.start_ticks, self.boot_id
        )?;
        if self.namespace != FIRST_NAMESPACE {
            write!(f, ":{}", self.namespace)?;
        }
        Ok(())
    }
}

/// The three fields of `/proc/<pid>/stat` that matter.
struct Stat {
    state: u8,
    threads: u64,
    start_ticks: u64,
}

impl Stat {
    /// `NotFound` also when the process ends while it is read.
    fn read(pid: u32) -> io::Result<Stat> {
        let text =
            fs::read(format!("/proc/{pid}/stat")).map_err(|error| match error.raw_os_error() {
                Some(libc::ESRCH) => io::Error::from(io::ErrorKind::NotFound),
                _ => error,
            })?;
        Stat::parse(&text).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat is odd")))
    }

    fn parse(text: &[u8]) -> Option<Stat> {
        // The second field is the program's name in parentheses, which may hold blanks and parentheses itself.
        let name_end = text.iter().rposition(|b| *b == b')')?;
        let rest = std::str::from_utf8(&text[name_end + 1..]).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        Some(Stat {
            state: *fields.next()?.as_bytes().first()?,
            threads: number(fields.nth(16)?)?,
            start_ticks: number(fields.nth(1)?)?,
        })
    }

    /// Whether nothing of it runs any more. A first thread that ended before the others shows as a zombie too, with them.
    fn ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x') && self.threads <= 1
    }
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    // `parse` alone would take a plus sign.
    text.bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| text.parse().ok())?
}

fn is_boot_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let id = text.trim();
    if is_boot_id(id) {
        Ok(id.to_owned())
    } else {
        Err(io::Error::other("the kernel's boot id is odd"))
    }
}

fn namespace() -> io::Result<u64> {
    let link = fs::read_link("/proc/self/ns/pid")?;
    let text = link.to_string_lossy();
    text.strip_prefix("pid:[")
        .and_then(|rest| number(rest.strip_suffix(']')?))
        .ok_or_else(|| io::Error::other("the pid namespace's name is odd"))
}

#[cfg(test)]
mod tests;
