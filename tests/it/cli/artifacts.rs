//! `artifacts get`: exact bytes, whole files, and nothing raw on a terminal.

use std::fs;

use super::env::TestEnv;
use super::scrub::seen;
use super::terminal::Terminal;

/// A Session that left one file; its id and the file's.
fn one_file(env: &TestEnv, make: &str) -> (String, String) {
    let session = env.sandboxed(&format!("@exec mkdir -p outputs && {make}"));
    let artifact = env.ok(&format!("sessions artifacts {session} -o id"));
    assert!(
        artifact.starts_with("artf_") && !artifact.contains('\n'),
        "{artifact}"
    );
    env.scrub().page(&format!("{session} {artifact}"));
    (session, artifact)
}

#[test]
fn files_are_written_whole_under_their_name() {
    let env = TestEnv::new();
    let (session, artifact) = one_file(&env, "printf 'one\\ntwo\\n' > outputs/report.md");
    let short = &session[..12];
    let get = format!("artifacts get {short} {}", &artifact[..12]);
    seen!(env.page(&[
        &format!("{get} --to a.md"),
        &format!("{get} --to a.md"),
        &format!("{get} --to a.md --force -o json"),
        &format!("{get} --to tmp"),
        &format!("{get} --to missing/a.md"),
        &format!("{get} --force"),
        &get,
        &format!("{get} --to -"),
        &format!("artifacts get {short} artf_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
        &format!("artifacts get {short} artf_2222"),
        &format!("artifacts get {short} nonsense!"),
    ]));
    for name in ["a.md", "tmp/report.md"] {
        let text = fs::read_to_string(env.path(name)).expect("was written");
        assert_eq!(text, "one\ntwo\n");
    }
    let names = fs::read_dir(env.path("")).expect("lists");
    let partial = names.filter(|e| {
        e.as_ref()
            .is_ok_and(|e| e.file_name().to_string_lossy().contains("partial"))
    });
    assert_eq!(partial.count(), 0);
}

#[test]
fn bytes_of_any_kind_and_size_arrive_as_they_are() {
    let env = TestEnv::new();
    let make = "head -c 3000000 /dev/urandom > outputs/noise && sha256sum < outputs/noise";
    let (session, artifact) = one_file(&env, make);
    let items = env.ok(&format!("sessions items {session} -o json"));
    let saved = env.json(&format!("artifacts get {session} {artifact} --to noise"));
    let digest = saved["sha256"].as_str().expect("a digest");
    assert!(items.contains(digest), "the file is not what was made");
    let output = env
        .command(["artifacts", "get", &session, &artifact])
        .output()
        .expect("runs");
    assert!(output.status.success());
    assert_eq!(
        output.stdout,
        fs::read(env.path("noise")).expect("was written")
    );
    let terminal = Terminal::start(
        &env,
        80,
        &format!("artifacts get {session} {artifact} --to -"),
    );
    let (seen, code) = terminal.end();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("is too long for a terminal"), "{seen}");
}

#[test]
fn damaged_bytes_are_not_passed_on_as_a_file() {
    let env = TestEnv::new();
    let (session, artifact) = one_file(&env, "printf 'precious' > outputs/a");
    let mut open = vec![env.data().join("blobs")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .expect("lists")
                    .map(|e| e.expect("an entry").path()),
            );
        } else if fs::read(&path).is_ok_and(|bytes| bytes == b"precious") {
            fs::write(&path, "pretious").expect("damages");
        }
    }
    let ran = env.run(&format!("artifacts get {session} {artifact} --to a"));
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("damaged"), "{ran:#?}");
    assert!(!env.path("a").exists());
}

#[test]
fn a_terminal_is_asked_where_to_and_shows_text_harmlessly() {
    let env = TestEnv::new();
    let (session, artifact) = one_file(&env, "printf 'a\\033[2Jb\\n' > outputs/a");
    let get = format!("artifacts get {session} {artifact}");
    let (seen, code) = Terminal::start(&env, 100, &get).end();
    assert_eq!(code, 2, "{seen}");
    assert!(seen.contains("--to FILE"), "{seen}");
    let (seen, code) = Terminal::start(&env, 100, &format!("{get} --to -")).end();
    assert_eq!((seen.as_str(), code), ("a␛[2Jb\n", 0));
    let output = env
        .command(["artifacts", "get", &session, &artifact])
        .output()
        .expect("runs");
    assert_eq!(output.stdout, b"a\x1b[2Jb\n");
}

#[test]
fn what_a_background_process_makes_is_kept_with_the_next_turn_even_if_that_runs_nothing() {
    let env = TestEnv::new();
    let script = "mkdir -p outputs; (until test -e go; do sleep 0.05; done; echo late > outputs/late; touch made) > /dev/null 2>&1 &";
    let session = env.sandboxed(&format!("@exec {script}"));
    assert_eq!(env.ok(&format!("sessions artifacts {session} -o id")), "");
    let environments = fs::read_dir(env.data().join("environments")).expect("lists");
    let workspaces = environments.map(|entry| entry.expect("reads").path().join("workspace"));
    let workspace = workspaces
        .into_iter()
        .find(|path| path.exists())
        .expect("there is one");
    fs::write(workspace.join("go"), "").expect("writes");
    env.until("it was made", || workspace.join("made").exists());
    env.ok(&format!("sessions send {session} --input '@say hi' --wait"));
    let artifacts = env.json(&format!("sessions artifacts {session}"));
    assert_eq!(artifacts["data"][0]["path"], "/workspace/outputs/late");
    env.ok(&format!("sessions send {session} --input '@say hi' --wait"));
    let again = env.json(&format!("sessions artifacts {session}"));
    assert_eq!(again["data"], artifacts["data"], "it has not changed since");
}

#[test]
fn a_deleted_artifact_is_gone_and_its_file_stays() {
    let env = TestEnv::new();
    let (session, artifact) = one_file(&env, "printf 'one\\ntwo\\n' > outputs/report.md");
    let delete = format!("artifacts delete {} {}", &session[..12], &artifact[..12]);
    seen!(env.page(&[
        &delete,
        &format!("{delete} --yes"),
        &format!("{delete} --yes"),
        &format!("artifacts get {session} {artifact}"),
        &format!("sessions artifacts {session} -o id"),
    ]));
    env.ok(&format!(
        "sessions send {session} --input '@exec wc -l outputs/report.md' --wait"
    ));
    let items = env.ok(&format!("sessions items {session} -o json"));
    assert!(items.contains("2 outputs/report.md"), "{items}");
}
