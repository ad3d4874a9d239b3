//! What an operator decides about managed environments on this machine.

use std::path::PathBuf;

/// Where environments live and what they may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalEnvironmentsConfig {
    /// Directory of all environments (mode 0700): `root/<environment id>/workspace`.
    pub root: PathBuf,
    /// The program to run as PID 1 inside a sandbox: this program. It is opened once, so replacing the file later changes nothing.
    pub program: PathBuf,
    /// bubblewrap; `None` looks it up in `PATH`, then in the usual places.
    pub bwrap: Option<PathBuf>,
    /// Whom commands run as on the host when this process is root. Root's own uid would make every file of root theirs.
    pub run_as: RunAs,
    /// Bounds of each environment.
    pub limits: EnvironmentLimits,
    /// Further directories or files of the host that commands can read, at the same path. They must be reachable for whom commands run
    /// as.
    pub read_only: Vec<PathBuf>,
    /// How long opening waits for another process to let go of the environment.
    pub lock_wait_ms: u64,
    /// How long a sandbox may take to start.
    pub start_timeout_ms: u64,
}

impl LocalEnvironmentsConfig {
    /// Defaults for everything but the directory.
    pub fn new(root: impl Into<PathBuf>) -> LocalEnvironmentsConfig {
        LocalEnvironmentsConfig {
            root: root.into(),
            program: PathBuf::from("/proc/self/exe"),
            bwrap: None,
            run_as: RunAs::default(),
            limits: EnvironmentLimits::default(),
            read_only: Vec::new(),
            lock_wait_ms: 5_000,
            start_timeout_ms: 10_000,
        }
    }
}

/// A dedicated unprivileged identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunAs {
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

impl Default for RunAs {
    /// 65530: in the one range that Debian reserves and systemd leaves unused, so that no account, no dynamic service user and no
    /// container has it. Not `nobody`, which other services share.
    fn default() -> Self {
        RunAs {
            uid: 65_530,
            gid: 65_530,
        }
    }
}

/// Bounds of one environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnvironmentLimits {
    /// Processes and threads. Enforced per sandbox since Linux 5.14.
    pub processes: u64,
    /// Memory of all processes together (looked at five times a second), and of any one (exactly).
    pub memory_bytes: u64,
    /// Largest file that can be written.
    pub file_bytes: u64,
    /// CPU time of any one process.
    pub cpu_seconds: u64,
    /// Size of each of /tmp, /dev/shm and the home directory. They are memory, and gone when the environment is closed.
    pub tmp_bytes: u64,
    /// Commands are refused, and running ones ended, while the disk of the workspaces has less than this free.
    pub free_space_bytes: u64,
}

impl Default for EnvironmentLimits {
    fn default() -> Self {
        EnvironmentLimits {
            processes: 1_024,
            memory_bytes: 4 << 30,
            file_bytes: 4 << 30,
            cpu_seconds: 3_600,
            tmp_bytes: 512 << 20,
            free_space_bytes: 512 << 20,
        }
    }
}
