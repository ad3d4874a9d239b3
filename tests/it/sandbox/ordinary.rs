//! Root and an ordinary user must be equally safe and equally able: everything in this suite runs as both.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::world::is_machine_root;

/// Set in the second run.
const SECOND_RUN: &str = "RAT_THINGS_TEST_AS_USER";

/// An identity that nobody has.
const UID: u32 = 64_321;

/// As an ordinary user this has nothing to add: the suite runs as one already.
#[test]
fn all_of_this_holds_for_an_ordinary_user_too() {
    if !is_machine_root() || std::env::var_os(SECOND_RUN).is_some() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).expect("chmod");
    let tmp = dir.path().join("tmp");
    std::fs::create_dir(&tmp).expect("mkdir");
    chown(&tmp, Some(UID), Some(UID)).expect("chown");
    // The build may lie where only root can go, so both programs are passed as descriptors.
    let suite = File::open("/proc/self/exe").expect("this binary");
    let program = File::open(env!("CARGO_BIN_EXE_rat-things")).expect("our program");
    let fds = [suite.as_raw_fd(), program.as_raw_fd()];
    let mut command = Command::new(format!("/proc/self/fd/{}", fds[0]));
    command
        .args(["sandbox::", "--skip", "all_of_this_holds"])
        .current_dir("/")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TMPDIR", &tmp)
        .env(SECOND_RUN, "1")
        .env(
            "RAT_THINGS_TEST_PROGRAM",
            format!("/proc/self/fd/{}", fds[1]),
        );
    command.envs(std::env::vars_os().filter(|(name, _)| name == "RAT_THINGS_TEST_BWRAP"));
    // SAFETY: only system calls on values made before the fork.
    unsafe {
        command.pre_exec(move || {
            let rcs = [
                libc::fcntl(fds[0], libc::F_SETFD, 0),
                libc::fcntl(fds[1], libc::F_SETFD, 0),
                libc::setgroups(0, std::ptr::null()),
                libc::setresgid(UID, UID, UID),
                libc::setresuid(UID, UID, UID),
            ];
            if rcs.iter().all(|rc| *rc == 0) {
                Ok(())
            } else {
                Err(std::io::Error::last_os_error())
            }
        });
    }
    let output = command.output().expect("runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = said.matches(" ... ok").count();
    assert!(
        output.status.success() && passed > 50,
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
