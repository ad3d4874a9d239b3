//! How many descriptors this process may have open. The usual soft limit (1,024) is for programs that use `select`; we do not, and
//! the files of one capture or the connections of a few proxies pass it.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What is asked for.
const WANTED: u64 = 65_536;

/// Raises the soft limit as far as the hard one allows, up to 65,536; the answer is what holds then. Commands get limits of their own.
pub(super) fn allow_many() -> u64 {
    let now = getrlimit(Resource::Nofile);
    let wanted = now.maximum.map_or(WANTED, |hard| hard.min(WANTED));
    let current = now.current.unwrap_or(u64::MAX);
    if current >= wanted {
        return current;
    }
    let raised = Rlimit {
        current: Some(wanted),
        maximum: now.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_or(current, |()| wanted)
}
