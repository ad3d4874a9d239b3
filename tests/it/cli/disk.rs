//! Places that can't be used: a full disk, a damaged store, a directory without rights.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::env::TestEnv;
use super::scrub::seen;
use crate::mounts::with_tmpfs;

/// Tells the role below that it is one, and where.
const FULL: &str = "RAT_THINGS_TEST_FULL_DISK";

#[test]
fn a_full_disk_is_told_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    if let Err(why) = with_tmpfs(dir.path(), "24m", "cli::disk::on_a_full_disk", FULL) {
        // Not every machine lets a test mount something.
        let note = format!("a full disk was not tried: {why}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes());
    }
}

/// Not a test of its own: it runs on the small disk that the one above mounts.
#[test]
fn on_a_full_disk() {
    let Some(dir) = std::env::var_os(FULL) else {
        return;
    };
    let dir = Path::new(&dir);
    let env = TestEnv::new().with("RAT_THINGS_DATA_DIR", dir.join("data"));
    let create = "sessions create --environment none --no-autostart --input";
    let session = env.ok(&format!("{create} 'before' -o id"));
    // It keeps the store open, so that reading needs no new files.
    env.ok("daemon start");
    env.ok(&format!("sessions wait {session}"));
    fill(&dir.join("filling"));
    assert_eq!(env.ok("sessions list -o id"), session);
    let items = env.ok(&format!("sessions items {session} -o json"));
    assert!(items.contains("before"), "{items}");
    let text = vec![b'x'; 1 << 20];
    let refused = env.run_with(&format!("{create} -"), &text);
    assert_eq!(
        (refused.code, refused.stdout.as_str()),
        (2, ""),
        "{refused:#?}"
    );
    assert!(refused.stderr.contains("no space"), "{refused:#?}");
    assert!(refused.stderr.contains("free some"), "{refused:#?}");
    let doctor = env.run("doctor -o tsv");
    assert_eq!(doctor.code, 1, "{doctor:#?}");
    assert!(doctor.stdout.contains("disk space\tfailed"), "{doctor:#?}");
    fs::remove_file(dir.join("filling")).expect("removes");
    let after = env.run_with(&format!("{create} - -o id"), &text);
    assert_eq!(after.code, 0, "{after:#?}");
    let listed = env.ok("sessions list -o id");
    assert_eq!(
        listed.lines().count(),
        2,
        "the refused one is not there: {listed}"
    );
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    use std::io::Write;
    let mut file = fs::File::create(path).expect("makes");
    for step in [1 << 20, 1 << 12, 1] {
        let zeros = vec![0; step];
        while file.write_all(&zeros).is_ok() {}
    }
}

#[test]
fn a_damaged_store_is_refused_and_left_as_it_is() {
    for (name, bytes) in [
        (
            "text",
            b"this is no database, whatever its name says. ".repeat(100),
        ),
        ("truncated", Vec::from(b"SQLite format 3\0" as &[u8])),
    ] {
        let env = TestEnv::new();
        env.ok("sessions create --no-autostart -o id");
        let store = env.data().join("store.db");
        for beside in ["store.db-wal", "store.db-shm"] {
            let _ = fs::remove_file(env.data().join(beside));
        }
        fs::write(&store, &bytes).expect("writes");
        for line in [
            "sessions list",
            "sessions create --environment none --input x",
            "daemon start",
        ] {
            let ran = env.run(line);
            assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{name} {ran:#?}");
            assert!(
                ran.stderr.contains("store.db") && ran.stderr.contains("RT-0222"),
                "{name} {ran:#?}"
            );
        }
        seen!(
            format!("damaged-store-{name}"),
            env.shown(&env.run("sessions list"))
        );
        let doctor = env.run("doctor -o tsv");
        assert_eq!(doctor.code, 1, "{doctor:#?}");
        assert!(doctor.stdout.contains("store\tfailed"), "{doctor:#?}");
        assert_eq!(fs::read(&store).expect("is there"), bytes);
    }
}

#[test]
fn a_newer_store_is_refused() {
    let env = TestEnv::new();
    env.ok("sessions create --no-autostart -o id");
    super::stored::make_newer(&env.data());
    let ran = env.run("sessions list");
    assert_eq!(ran.code, 2, "{ran:#?}");
    seen!(env.shown(&ran));
}

#[test]
fn a_directory_that_can_not_be_written_is_refused() {
    let env = TestEnv::new();
    fs::write(env.path("file"), "x").expect("writes");
    seen!(env.page(&[
        "sessions list --data-dir file",
        "sessions list --data-dir file/below",
        "sessions list --data-dir /proc/nowhere",
        "sessions list --data-dir ''",
    ]));
    // Root may write everywhere.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let closed = env.path("closed");
    fs::create_dir(&closed).expect("makes");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("is ours");
    for line in [
        "sessions list",
        "sessions create --environment none --input x",
    ] {
        let ran = env.run(&format!("{line} --data-dir closed/data"));
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains("permission denied"), "{ran:#?}");
    }
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).expect("is ours");
}

#[test]
fn without_a_home_the_way_out_is_named() {
    let env = TestEnv::new();
    let child = env
        .command(["sessions", "list"])
        .env_remove("HOME")
        .env_remove("RAT_THINGS_DATA_DIR")
        .spawn()
        .expect("starts");
    let ran = env.finish("sessions list", child);
    assert_eq!(ran.code, 2, "{ran:#?}");
    seen!(env.shown(&ran));
}
