//! Why a sandbox cannot be started here, and what an operator can do: a pure function over observed facts.

use crate::engine::ports::EnvironmentError;

/// What was observed when a sandbox did not start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// bubblewrap was found.
    pub(super) has_launcher: bool,
    /// Whom the sandbox runs as may execute our own program.
    pub(super) program_is_executable: bool,
    /// What the launcher or PID 1 said on standard error.
    pub(super) said: String,
    /// Starting the launcher itself was refused (root without the right to make mount namespaces).
    pub(super) start_refused: bool,
    /// `user.max_user_namespaces`.
    pub(super) max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone` (Debian).
    pub(super) unprivileged_userns_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns` (Ubuntu).
    pub(super) apparmor_restricts_userns: Option<u64>,
    /// `Seccomp` of /proc/self/status: 2 is a filter.
    pub(super) seccomp_mode: Option<u32>,
    /// Something is mounted below /proc.
    pub(super) proc_is_masked: bool,
    /// `ID` and `ID_LIKE` of /etc/os-release.
    pub(super) distribution: String,
}

/// The refusal that fits the facts.
pub(super) fn explain(facts: &Facts) -> EnvironmentError {
    let (cause, remedy) = cause_and_remedy(facts);
    EnvironmentError::Refused { cause, remedy }
}

fn cause_and_remedy(facts: &Facts) -> (String, String) {
    let said = last_line(&facts.said);
    let fixed = |cause: &str, remedy: &str| (cause.to_owned(), remedy.to_owned());
    if !facts.has_launcher {
        return (
            "bubblewrap is not installed".to_owned(),
            format!("install it: {}", install(&facts.distribution)),
        );
    }
    if !facts.program_is_executable {
        return fixed(
            "the user that sandboxes run as may not execute this program's file",
            "let others execute it (chmod o+rx on the file)",
        );
    }
    if said.contains("mount proc") && facts.proc_is_masked {
        return (
            format!("a fresh /proc may not be mounted, because this container's own is masked ({said})"),
            "start the container with --security-opt systempaths=unconfined (Kubernetes: procMount: Unmasked), or run outside of it"
                .to_owned(),
        );
    }
    if facts.max_user_namespaces == Some(0) {
        return fixed(
            "user namespaces are switched off (user.max_user_namespaces is 0)",
            "raise it: sysctl -w user.max_user_namespaces=15000, and keep it in /etc/sysctl.d",
        );
    }
    if facts.unprivileged_userns_clone == Some(0) {
        return fixed(
            "user namespaces are reserved for root (kernel.unprivileged_userns_clone is 0)",
            "set it to 1: sysctl -w kernel.unprivileged_userns_clone=1, and keep it in /etc/sysctl.d",
        );
    }
    let refused = facts.start_refused || denied(&facts.said);
    if refused && facts.apparmor_restricts_userns == Some(1) {
        return (
            format!("AppArmor restricts user namespaces ({said})"),
            "install the distribution's bubblewrap with its AppArmor profile bwrap-userns-restrict (on by default from Ubuntu 25.04), \
             or a profile for it that holds `userns,`"
                .to_owned(),
        );
    }
    if refused && facts.seccomp_mode == Some(2) {
        return (
            format!("a system call filter, probably a container's, refuses new namespaces ({said})"),
            "start the container with --security-opt seccomp=unconfined,apparmor=unconfined,systempaths=unconfined, use Podman, or run \
             outside of it"
                .to_owned(),
        );
    }
    if facts.start_refused {
        return (
            format!("this root user may not make mount namespaces ({said})"),
            "run as an ordinary user, or give the container CAP_SYS_ADMIN".to_owned(),
        );
    }
    (
        format!("the sandbox did not start ({said})"),
        "see docs/environments.md; the launcher's own words above name what it could not do"
            .to_owned(),
    )
}

/// The launcher's words for a refused namespace, mapping, mount or interface.
fn denied(said: &str) -> bool {
    [
        "ermission denied",
        "not permitted",
        "o permissions to create",
    ]
    .iter()
    .any(|words| said.contains(words))
}

fn last_line(said: &str) -> &str {
    said.lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it said nothing")
}

fn install(distribution: &str) -> &'static str {
    let is = |name: &str| distribution.split_whitespace().any(|id| id == name);
    if is("debian") || is("ubuntu") {
        "apt-get install bubblewrap"
    } else if is("fedora") || is("rhel") || is("centos") || is("amzn") {
        "dnf install bubblewrap"
    } else if is("arch") {
        "pacman -S bubblewrap"
    } else if is("alpine") {
        "apk add bubblewrap"
    } else if is("suse") || is("opensuse") {
        "zypper install bubblewrap"
    } else {
        "the package is called bubblewrap"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which everything is fine, and where the launcher failed all the same.
    fn fine(said: &str) -> Facts {
        Facts {
            has_launcher: true,
            program_is_executable: true,
            said: said.to_owned(),
            max_user_namespaces: Some(15_000),
            unprivileged_userns_clone: Some(1),
            apparmor_restricts_userns: Some(0),
            seccomp_mode: Some(0),
            distribution: "debian".to_owned(),
            ..Facts::default()
        }
    }

    #[test]
    fn every_known_cause_has_its_remedy() {
        const UNSHARE: &str = "bwrap: Creating new namespace failed: Operation not permitted";
        const NO_SPACE: &str = "bwrap: Creating new namespace failed: No space left on device";
        const UID_MAP: &str = "bwrap: setting up uid map: Permission denied";
        const NETLINK: &str = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted";
        const PROC: &str = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
        let rows = [
            (
                "no launcher",
                Facts {
                    has_launcher: false,
                    ..fine("")
                },
            ),
            (
                "no launcher, Fedora",
                Facts {
                    has_launcher: false,
                    distribution: "fedora".into(),
                    ..fine("")
                },
            ),
            (
                "program not executable",
                Facts {
                    program_is_executable: false,
                    ..fine("")
                },
            ),
            (
                "sysctl zero",
                Facts {
                    max_user_namespaces: Some(0),
                    ..fine(NO_SPACE)
                },
            ),
            (
                "Debian sysctl",
                Facts {
                    unprivileged_userns_clone: Some(0),
                    ..fine(UNSHARE)
                },
            ),
            (
                "AppArmor at uid_map",
                Facts {
                    apparmor_restricts_userns: Some(1),
                    ..fine(UID_MAP)
                },
            ),
            (
                "AppArmor at loopback",
                Facts {
                    apparmor_restricts_userns: Some(1),
                    ..fine(NETLINK)
                },
            ),
            (
                "container filter",
                Facts {
                    seccomp_mode: Some(2),
                    ..fine(UNSHARE)
                },
            ),
            (
                "masked proc",
                Facts {
                    proc_is_masked: true,
                    seccomp_mode: Some(2),
                    ..fine(PROC)
                },
            ),
            (
                "root without the right",
                Facts {
                    start_refused: true,
                    ..fine("Operation not permitted (os error 1)")
                },
            ),
            (
                "root in a filter",
                Facts {
                    start_refused: true,
                    seccomp_mode: Some(2),
                    ..fine("Operation not permitted (os error 1)")
                },
            ),
            ("unknown", fine("bwrap: something new\n\n")),
            ("silent", fine("")),
        ];
        let mut table = String::new();
        for (name, facts) in rows {
            let (cause, remedy) = cause_and_remedy(&facts);
            table.push_str(&format!("{name}\n    {cause}\n    {remedy}\n"));
        }
        insta::assert_snapshot!(table);
    }
}
