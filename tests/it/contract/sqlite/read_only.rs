//! Mounts and permissions that forbid writing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rat_things::engine::ports::{Store, StoreFault};

use super::{APPLIED, has, one, open, place};
use crate::mounts::with_tmpfs;
use crate::store_child::{fault, skip};

/// Tells the child where its file system is.
const MOUNT: &str = "RAT_THINGS_TEST_READ_ONLY";

#[test]
fn a_read_only_mount_can_be_read_and_says_why_it_can_t_be_written() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let role = "contract::sqlite::read_only::read_only_role";
    if let Err(reason) = with_tmpfs(dir.path(), "8m", role, MOUNT) {
        skip(
            "a_read_only_mount_can_be_read_and_says_why_it_can_t_be_written",
            &reason,
        );
    }
}

/// What the child of the test above does.
#[tokio::test(flavor = "multi_thread")]
async fn read_only_role() {
    let Ok(dir) = std::env::var(MOUNT) else {
        return;
    };
    let dir = Path::new(&dir);
    let path = dir.join("store.db");
    let store = open(&path).expect("a new database");
    assert_eq!(store.commit(one(1, 700)).await, APPLIED);
    drop(store);
    remount(dir, "ro");

    let store = open(&path).expect("it opens to be read");
    assert!(has(&store, 1, 700).await);
    let (refused, message) = fault(store.commit(one(2, 700)).await);
    assert_eq!(refused, StoreFault::ReadOnly);
    assert!(
        message.contains("store.db") && message.contains("permission"),
        "{message}"
    );
    assert!(!has(&store, 2, 700).await);
    drop(store);
    let (refused, message) = fault(open(&dir.join("other.db")).map(|_| ()));
    assert_eq!(refused, StoreFault::ReadOnly);
    assert!(message.contains("other.db"), "{message}");

    remount(dir, "rw");
    let store = open(&path).expect("it opens");
    assert_eq!(store.commit(one(2, 700)).await, APPLIED);
}

fn remount(dir: &Path, how: &str) {
    let status = Command::new("mount")
        .args(["-o", &format!("remount,{how}")])
        .arg(dir)
        .status()
        .expect("mount runs");
    assert!(status.success(), "{status}");
}

/// Permissions don't bind root, so root runs the test in a child that is somebody else.
#[test]
fn a_directory_of_somebody_else_is_read_only() {
    let (dir, path) = place();
    drop(open(&path).expect("a new database"));
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };
    for entry in fs::read_dir(dir.path()).expect("the directory") {
        mode(&entry.expect("an entry").path(), 0o444);
    }
    mode(dir.path(), 0o555);
    if rustix::process::geteuid().is_root() {
        let test = "a_directory_of_somebody_else_is_read_only";
        let role = "contract::sqlite::read_only::forbidden_role";
        let able = as_nobody().arg("--list").output();
        if able.is_ok_and(|output| output.status.success()) {
            let status = as_nobody()
                .args([role, "--exact"])
                .env(FORBIDDEN, &path)
                .status();
            assert!(status.is_ok_and(|status| status.success()), "see above");
        } else {
            skip(test, "nobody can't run this binary, or there is no setpriv");
        }
    } else {
        check_forbidden(&path);
    }
    mode(dir.path(), 0o755);
}

/// This test binary, to be run by a user who owns nothing.
fn as_nobody() -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(std::env::current_exe().expect("this test binary"));
    command
}

/// Tells the child which database it may not write.
const FORBIDDEN: &str = "RAT_THINGS_TEST_FORBIDDEN";

/// What the child of the test above does.
#[test]
fn forbidden_role() {
    if let Ok(path) = std::env::var(FORBIDDEN) {
        check_forbidden(Path::new(&path));
    }
}

fn check_forbidden(path: &Path) {
    for path in [path, &path.with_file_name("other.db")] {
        let (refused, message) = fault(open(path).map(|_| ()));
        assert_eq!(refused, StoreFault::ReadOnly, "{message}");
        assert!(message.contains("permission"), "{message}");
    }
}
