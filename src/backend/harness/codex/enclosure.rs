//! What a Codex process sees of this machine: namespaces of its own, in which there is its package, its directory, the system's programs, and
//! no other process. The network is the machine's, because its model is on loopback.
//!
//! Commands of the agent never run in here. They go to the Session's environment, which is isolated in its own way (`exec`).

use std::ffi::OsString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::warden;
use crate::backend::local::sandbox::{self, Shown};
use crate::engine::ports::EnvironmentError;

/// Where our own program is in there: it is PID 1.
pub const OWN_PROGRAM: &str = "/proc/1/exe";

/// Memory that files in /tmp may take. What Codex itself writes is in its directory.
const TMP_BYTES: u64 = 64 << 20;

/// What encloses processes of this machine.
pub struct Enclosure {
    launcher: PathBuf,
    own: OwnedFd,
}

impl Enclosure {
    /// With this launcher, or the one of the system. `own` is our program.
    ///
    /// # Errors
    /// There is none: the operator has to act, and nothing was started.
    pub fn find(launcher: Option<&PathBuf>, own: &Path) -> Result<Enclosure, EnvironmentError> {
        let opened = sandbox::open_program(own);
        let own = opened.map_err(|error| EnvironmentError::Failed(error.to_string()))?;
        match sandbox::find_launcher(launcher) {
            Some(launcher) => Ok(Enclosure { launcher, own }),
            None => Err(sandbox::why_not(&own, None)),
        }
    }

    /// The command that starts a program of this package with this directory as its home. Its words follow.
    pub fn command(&self, program: &Path, package: &Path, home: &Path) -> Command {
        let mut command = Command::new(&self.launcher);
        let shown = sandbox::survey(&[]);
        command.args(arguments(&shown, self.own.as_raw_fd(), package, home));
        command.arg(program);
        sandbox::keep_open(&mut command, vec![self.own.as_raw_fd()]);
        command
    }

    /// Why nothing can be enclosed here, if that is what a process that ended complained about: with what an operator can do.
    pub fn refusal(&self, complaint: &str) -> Option<EnvironmentError> {
        let is_launchers = complaint.starts_with("bwrap: ");
        is_launchers.then(|| sandbox::why_not(&self.own, Some(complaint)))
    }
}

/// The launcher's arguments, up to the program's. What is not listed is not there.
///
/// Without `--die-with-parent`, for the reasons that the sandbox has: PID 1 looks after that.
fn arguments(shown: &[Shown], own: i32, package: &Path, home: &Path) -> Vec<OsString> {
    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&dyn AsRef<std::ffi::OsStr>]| {
        args.extend(words.iter().map(|word| word.as_ref().to_owned()));
    };
    add(&[&"--unshare-pid", &"--unshare-ipc", &"--unshare-uts"]);
    add(&[&"--unshare-cgroup-try", &"--hostname", &"codex"]);
    add(&[&"--cap-drop", &"ALL", &"--new-session", &"--as-pid-1"]);
    for shown in shown {
        match shown {
            Shown::Bind(source, target) => add(&[&"--ro-bind", source, target]),
            Shown::Link(says, at) => add(&[&"--symlink", says, at]),
        }
    }
    add(&[&"--proc", &"/proc", &"--dev", &"/dev"]);
    let size = TMP_BYTES.to_string();
    add(&[&"--size", &size, &"--perms", &"1777", &"--tmpfs", &"/tmp"]);
    // Behind what could cover them: either may be anywhere.
    add(&[&"--ro-bind", &package, &package]);
    add(&[&"--bind", &home, &home]);
    // Settings of the kernel belong to root, and Codex may be run by it.
    add(&[&"--remount-ro", &"/proc", &"--remount-ro", &"/dev"]);
    add(&[&"--remount-ro", &"/", &"--chdir", &home, &"--"]);
    add(&[&format!("/proc/self/fd/{own}"), &warden::ROLE]);
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_machine_is_shown_but_its_programs_the_package_and_one_directory() {
        let shown = [
            Shown::Bind("/usr".into(), "/usr".into()),
            Shown::Link("usr/bin".into(), "/bin".into()),
        ];
        let (package, home) = (
            Path::new("/opt/codex"),
            Path::new("/data/run/codex/codex-1"),
        );
        let args = arguments(&shown, 9, package, home);
        let text: Vec<_> = args.iter().filter_map(|word| word.to_str()).collect();
        let after = |option: &str| {
            let at = |(at, word): (usize, &&str)| (*word == option).then(|| text[at + 1]);
            text.iter().enumerate().filter_map(at).collect::<Vec<_>>()
        };
        assert_eq!(after("--ro-bind"), ["/usr", "/opt/codex"]);
        assert_eq!(after("--bind"), ["/data/run/codex/codex-1"]);
        assert_eq!(after("--remount-ro"), ["/proc", "/dev", "/"]);
        assert!(text.ends_with(&["--", "/proc/self/fd/9", warden::ROLE]));
    }
}
