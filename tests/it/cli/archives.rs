//! `sessions export` and `sessions import` from outside: real files, real stores, and a kill in the middle.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;

use super::env::{PATIENCE, TestEnv, end};
use super::scrub::seen;
use super::stored::{key, row, set_row};
use crate::mounts::with_tmpfs;

/// What does not differ between two stores that have the same Session.
fn transcript(env: &TestEnv, session: &str) -> [String; 3] {
    ["items", "turns", "artifacts"]
        .map(|what| env.ok(&format!("sessions {what} {session} --all -o json")))
}

/// Names in the directory of a test, hidden ones included.
fn names(env: &TestEnv) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(env.path(""))
        .expect("lists")
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_session_moves_from_one_machine_to_another() {
    let there = TestEnv::new();
    let make = "@exec mkdir -p outputs && head -c 3000000 /dev/urandom > outputs/noise\n@say made";
    let session = there.sandboxed(make);
    let artifact = there.ok(&format!("sessions artifacts {session} -o id"));
    there.ok(&format!("artifacts get {session} {artifact} --to noise"));
    let exported = there.json(&format!("sessions export {session} --to a.tar.zst"));
    assert_eq!(exported["id"], session.as_str());
    assert_eq!(exported["findings"], 0);
    let here = TestEnv::new();
    fs::copy(there.path("a.tar.zst"), here.path("a.tar.zst")).expect("copies");
    let imported = here.json("sessions import a.tar.zst");
    assert_eq!(imported["id"], session.as_str());
    assert_eq!(imported["resumed"], false);
    assert_eq!(transcript(&here, &session), transcript(&there, &session));
    here.ok(&format!("artifacts get {session} {artifact} --to noise"));
    let noise = |env: &TestEnv| fs::read(env.path("noise")).expect("reads");
    assert!(noise(&here) == noise(&there));
    assert!(here.daemon().is_none(), "nothing is owed");
    here.ok(&format!(
        "sessions send {session} --input '@say goes on' --wait"
    ));
    let items = here.ok(&format!("sessions items {session} --all -o json"));
    assert!(items.contains("goes on"), "{items}");
    assert_eq!(here.run("fsck").code, 0);
}

#[test]
fn what_is_written_and_read_where_and_by_whom() {
    let env = TestEnv::new();
    let session = env.session("@say hello");
    env.scrub().page(&session);
    fs::write(env.path("garbage"), "no archive at all").expect("writes");
    let to = |line: &str| format!("sessions export {} {line}", &session[..12]);
    for line in ["--to a.tar.zst", "--to tmp"] {
        assert_eq!(env.run(&to(line)).code, 0, "{line}");
    }
    let own = format!("tmp/{session}.tar.zst");
    for file in ["a.tar.zst", &own] {
        let mode = fs::metadata(env.path(file))
            .expect("is there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{file}");
    }
    seen!(env.page(&[
        &to("--to a.tar.zst"),
        &to("--to -"),
        &to("--to missing/a"),
        "sessions export sess_2222 --to b",
        "sessions import a.tar.zst",
        "sessions import a.tar.zst --read-only",
        "sessions import missing",
        "sessions import tmp",
        "sessions import garbage",
        "sessions import garbage -o json",
    ]));
    let again = env.run(&to("--to a.tar.zst --force -o json"));
    assert_eq!(again.code, 0, "{again:#?}");
    let left = names(&env);
    assert!(!left.iter().any(|name| name.starts_with('.')), "{left:?}");
}

#[test]
fn an_archive_that_was_cut_or_changed_imports_nothing() {
    let there = TestEnv::new();
    let session = there.session("@say hello");
    there.ok(&format!("sessions export {session} --to a"));
    let whole = fs::read(there.path("a")).expect("reads");
    let here = TestEnv::new();
    let middle = whole.len() / 2;
    let mut flipped = whole.clone();
    flipped[middle] ^= 1;
    for (bytes, what) in [
        (&whole[..middle], "cut off"),
        (&whole[..whole.len() - 1], "cut off"),
        (&flipped[..], "refused"),
        (&[&whole[..], b"x"].concat()[..], "behind its end"),
    ] {
        fs::write(here.path("bad"), bytes).expect("writes");
        let ran = here.run("sessions import bad");
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains(what), "{ran:#?}");
        assert!(ran.stderr.contains("[RT-0223]"), "{ran:#?}");
        assert_eq!(here.ok("sessions list -o id"), "");
        assert_eq!(here.json("fsck")["checked"]["rows"], 0);
    }
    fs::write(here.path("good"), &whole).expect("writes");
    here.ok("sessions import good");
}

#[test]
fn a_turn_that_is_going_on_is_interrupted_and_goes_on_elsewhere() {
    let there = TestEnv::new();
    let turn = "@exec echo begun > begun; sleep 600\n@say it is over";
    let created = there.run_with("sessions create --input - --no-wait -o id", turn.as_bytes());
    let session = created.stdout.trim_end().to_owned();
    there.until("the command runs", || {
        let items = there
            .run(&format!("sessions items {session} -o json"))
            .stdout;
        items.contains("command_execution")
    });
    let ran = there.run(&format!("sessions export {session} --to a -o json"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    let here = TestEnv::new();
    fs::copy(there.path("a"), here.path("a")).expect("copies");
    let imported = here.json("sessions import a");
    assert!(imported["active_turn_id"].is_string(), "{imported}");
    here.ok(&format!("sessions wait {session}"));
    let items = here.ok(&format!("sessions items {session} --all -o json"));
    assert!(items.contains("it is over"), "{items}");
    let turns = here.ok(&format!("sessions turns {session} -o json"));
    assert!(turns.contains("\"completed\""), "{turns}");
    // There it goes on, too.
    let got = there.json(&format!("sessions get {session}"));
    assert_eq!(got["status"], "in_progress");
    there.ok(&format!("sessions cancel {session}"));
    assert_eq!(here.run("fsck").code, 0);
}

#[test]
fn a_damaged_session_is_exported_with_a_warning_or_not_at_all() {
    let env = TestEnv::new();
    let session = large(&env, "echo precious");
    let turn = || key(&session, "turn/0000000001");
    let whole = row(&env.data(), &turn()).expect("is there");
    let changed = String::from_utf8(whole).expect("text");
    let changed = changed.replace("completed\"", "failed\"");
    set_row(&env.data(), turn(), Some(changed.into_bytes()));
    let ran = env.run(&format!("sessions export {session} --to b"));
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(
        ran.stderr.contains("such an archive is not imported"),
        "{ran:#?}"
    );
    let here = TestEnv::new();
    fs::copy(env.path("b"), here.path("b")).expect("copies");
    let ran = here.run("sessions import b");
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("is not sound: I8"), "{ran:#?}");
    set_row(&env.data(), turn(), Some(b"{".to_vec()));
    for blob in super::env::files_below(&env.data().join("blobs")) {
        fs::remove_file(blob).expect("removes");
    }
    for what in ["turn/0000000001", "no stored bytes"] {
        let ran = env.run(&format!("sessions export {session} --to c"));
        assert_eq!(ran.code, 2, "{ran:#?}");
        assert!(ran.stderr.contains(what), "{ran:#?}");
        assert!(ran.stderr.contains("hint: rat-things fsck"), "{ran:#?}");
        // Without the row that can't be read, the bytes are next.
        set_row(&env.data(), turn(), None);
    }
    assert!(!names(&env).iter().any(|name| name.contains("partial")));
    assert!(!env.path("c").exists());
}

/// A Session with output of so many bytes, exported to `a`; its id.
fn large(env: &TestEnv, make: &str) -> String {
    let session = env.sandboxed(&format!("@exec mkdir -p outputs && {make} > outputs/large"));
    assert!(
        !env.ok(&format!("sessions artifacts {session} -o id"))
            .is_empty()
    );
    env.ok(&format!("sessions export {session} --to a"));
    session
}

/// A machine whose import of this archive was killed while it stored bytes.
fn killed_halfway(archive: &Path) -> TestEnv {
    // On a busy machine an import may be over before it is looked at.
    for _ in 0..20 {
        let env = TestEnv::new();
        fs::copy(archive, env.path("a")).expect("copies");
        let temporary = env.data().join("blobs/.tmp");
        let files = || fs::read_dir(&temporary).into_iter().flatten().flatten();
        let begun = || {
            let mut large = files().filter_map(|file| file.metadata().ok());
            large.any(|meta| meta.len() > 1_000_000)
        };
        let child = env.command(["sessions", "import", "a"]).spawn();
        let mut child = child.expect("starts");
        let deadline = Instant::now() + PATIENCE;
        while !begun() && child.try_wait().expect("looks").is_none() {
            assert!(Instant::now() < deadline, "it never began to store bytes");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        end(child.id());
        child.wait().expect("is over");
        if begun() {
            return env;
        }
    }
    panic!("every import was over before it was killed");
}

#[test]
fn an_import_that_is_killed_shows_nothing_and_goes_on_or_is_given_up() {
    let there = TestEnv::new();
    let session = large(&there, "head -c 40000000 /dev/urandom");
    let here = killed_halfway(&there.path("a"));
    assert_eq!(here.ok("sessions list -o id"), "");
    assert_eq!(here.run(&format!("sessions get {session}")).code, 3);
    let send = format!("sessions send {session} --input x");
    assert_eq!(here.run(&send).code, 3);
    let clean = here.run("fsck");
    assert_eq!(
        clean.code, 0,
        "an import that is not over is no damage: {clean:#?}"
    );
    let asked = here.run(&format!("sessions delete {session}"));
    assert_eq!(asked.code, 2, "{asked:#?}");
    here.ok(&format!("sessions delete {session} --yes"));
    let gone = here.run(&format!("sessions delete {session} --yes"));
    assert_eq!(gone.code, 3, "{gone:#?}");
    assert_eq!(here.json("fsck")["checked"]["imports"], 0);
    assert_eq!(here.json("sessions import a")["resumed"], false);
    let here = killed_halfway(&there.path("a"));
    assert_eq!(here.json("sessions import a")["resumed"], true);
    assert_eq!(transcript(&here, &session), transcript(&there, &session));
    assert_eq!(here.run("fsck").code, 0);
    assert_eq!(here.run("sessions import a").code, 5, "once is enough");
}

/// Tells the role below that it is one, and where.
const FULL: &str = "RAT_THINGS_TEST_FULL_DISK_OF_ARCHIVES";

#[test]
fn a_full_disk_breaks_an_import_or_an_export_off_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let role = "cli::archives::archives_on_a_full_disk";
    if let Err(why) = with_tmpfs(dir.path(), "32m", role, FULL) {
        // Not every machine lets a test mount something.
        let note = format!("a full disk was not tried: {why}\n");
        let _ = std::io::Write::write_all(&mut std::io::stderr(), note.as_bytes());
    }
}

/// Not a test of its own: it runs on the small disk that the one above mounts.
#[test]
fn archives_on_a_full_disk() {
    let Some(dir) = std::env::var_os(FULL) else {
        return;
    };
    let dir = Path::new(&dir);
    let there = TestEnv::new();
    let session = large(&there, "head -c 16000000 /dev/urandom");
    let archive = there.path("a").display().to_string();
    let filling = dir.join("filling");
    fs::write(&filling, vec![0; 20_000_000]).expect("fills");
    let exported = there.run(&format!("sessions export {session} --to {}", dir.display()));
    assert_eq!(exported.code, 7, "{exported:#?}");
    assert!(
        exported.stderr.contains("can't be written"),
        "{exported:#?}"
    );
    assert_eq!(
        fs::read_dir(dir).expect("lists").count(),
        1,
        "nothing is left"
    );
    let here = TestEnv::new().with("RAT_THINGS_DATA_DIR", dir.join("data"));
    let refused = here.run(&format!("sessions import {archive}"));
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("no space"), "{refused:#?}");
    assert_eq!(here.ok("sessions list -o id"), "");
    fs::remove_file(&filling).expect("removes");
    let imported = here.json(&format!("sessions import {archive}"));
    assert_eq!(imported["resumed"], true);
    assert_eq!(transcript(&here, &session), transcript(&there, &session));
    assert_eq!(here.run("fsck").code, 0);
}

#[test]
fn neither_needs_more_memory_for_more_bytes() {
    const CONTENT_BYTES: u64 = 160 << 20;
    let there = TestEnv::new();
    let session = large(&there, &format!("head -c {CONTENT_BYTES} /dev/zero"));
    let archive_bytes = fs::metadata(there.path("a")).expect("is there").len();
    assert!(
        archive_bytes < 1 << 20,
        "zeros take no room: {archive_bytes}"
    );
    let here = TestEnv::new();
    fs::copy(there.path("a"), here.path("a")).expect("copies");
    for (env, line) in [
        (&there, format!("sessions export {session} --to b")),
        (&here, "sessions import a".to_owned()),
    ] {
        let mut child = env
            .command(super::env::words(&line))
            .spawn()
            .expect("starts");
        let status = format!("/proc/{}/status", child.id());
        let mut most_kib = 0;
        while child.try_wait().expect("looks").is_none() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.and_then(|rest| rest.trim().strip_suffix(" kB"));
            most_kib = most_kib.max(peak.and_then(|kib| kib.trim().parse().ok()).unwrap_or(0));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let ran = env.finish(&line, child);
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert!(
            most_kib > 0 && most_kib < 80 << 10,
            "{line}: {most_kib} KiB"
        );
    }
}
