//! Reading the facts that explain why a sandbox did not start. Nothing here decides anything.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use super::config::RunAs;
use super::refusal::{self, Facts};
use crate::engine::ports::EnvironmentError;

/// The facts of this machine; what the launcher said and did is added by whoever saw it.
pub(super) fn read(has_launcher: bool, program: &OwnedFd, run_as: Option<RunAs>) -> Facts {
    Facts {
        has_launcher,
        program_is_executable: is_executable(program, run_as),
        said: String::new(),
        start_refused: false,
        max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
        unprivileged_userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_restricts_userns: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        seccomp_mode: seccomp_mode(),
        proc_is_masked: proc_is_masked(),
        distribution: distribution(),
    }
}

/// Where bubblewrap is.
pub(in crate::backend) fn find_launcher(chosen: Option<&PathBuf>) -> Option<PathBuf> {
    if let Some(path) = chosen {
        return path.is_file().then(|| path.clone());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .chain(["/usr/bin".into(), "/usr/local/bin".into(), "/bin".into()])
        .map(|dir| dir.join("bwrap"))
        .find(|file| file.is_file())
}

/// Why nothing can have namespaces of its own on this machine, and what an operator can do. `said` are the launcher's words; `None`: there
/// is no launcher.
pub(in crate::backend) fn why_not(program: &OwnedFd, said: Option<&str>) -> EnvironmentError {
    let mut facts = read(said.is_some(), program, None);
    facts.said = said.unwrap_or_default().to_owned();
    refusal::explain(&facts)
}

fn is_executable(program: &OwnedFd, run_as: Option<RunAs>) -> bool {
    let (Some(run_as), Ok(stat)) = (run_as, rustix::fs::fstat(program)) else {
        // Whoever runs it can execute it.
        return true;
    };
    let bit = if stat.st_uid == run_as.uid {
        0o100
    } else if stat.st_gid == run_as.gid {
        0o010
    } else {
        0o001
    };
    stat.st_mode & bit != 0
}

fn number(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn seccomp_mode() -> Option<u32> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Seccomp:"))?;
    line.trim().parse().ok()
}

fn proc_is_masked() -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .any(|target| target.starts_with("/proc/"))
}

fn distribution() -> String {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        release
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .map(|value| value.trim_matches('"').to_owned())
            .unwrap_or_default()
    };
    format!("{} {}", value("ID="), value("ID_LIKE="))
}
