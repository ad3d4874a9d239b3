//! A small file system of its own for one test: a child process in a private mount namespace, which leaves nothing behind.

use std::path::Path;
use std::process::Command;

/// Runs the test `role` of this binary in a child with a fresh tmpfs of `size` (as `mount` writes it) on `dir`, with `variable` set
/// to `dir`. `Err` says why this machine can't; a role that fails is a panic.
pub fn with_tmpfs(dir: &Path, size: &str, role: &str, variable: &str) -> Result<(), String> {
    // An ordinary user becomes root in a user namespace, where that is allowed.
    let flags = if rustix::process::geteuid().is_root() {
        "-m"
    } else {
        "-Urm"
    };
    let mount = |then: &str| {
        let mut command = Command::new("unshare");
        command
            .args([flags, "sh", "-ec"])
            .arg(format!(
                "mount -t tmpfs -o size={size} tmpfs \"$1\"; {then}"
            ))
            .arg("sh")
            .arg(dir);
        command
    };
    let possible = mount("true").output();
    match possible {
        Ok(output) if output.status.success() => {}
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(format!("no private mounts here ({why})"));
        }
        Err(e) => return Err(format!("unshare can't be run ({e})")),
    }
    let status = mount("shift; exec \"$@\"")
        .arg(std::env::current_exe().expect("this test binary"))
        .args([role, "--exact", "--nocapture"])
        .env(variable, dir)
        .status()
        .expect("it ran just before");
    assert!(status.success(), "{role}: {status}");
    Ok(())
}
