//! `environments`: looked at, and ended for good.

use super::env::TestEnv;
use super::scrub::seen;

#[test]
fn an_environment_is_ended_for_good_and_its_session_stays_readable() {
    let env = TestEnv::new();
    let make = "mkdir -p outputs && echo one > outputs/a.txt && (sleep 1000 & echo $! > pid)";
    let session = env.sandboxed(&format!("@exec {make}"));
    let shown = env.json(&format!("environments get {session}"));
    let id = shown["id"].as_str().expect("an id").to_owned();
    env.scrub().page(&format!("{session} {id}"));
    assert_eq!(shown["session_id"], session.as_str());
    assert_eq!(shown["expired_at"], serde_json::Value::Null);
    let workspace = env.data().join("environments").join(&id);
    assert!(workspace.exists());

    let short = &id[..12];
    let reason = "--reason 'the project is over'";
    seen!(env.page(&[
        &format!("environments expire {short} {reason}"),
        &format!("environments expire {short} --reason '' --yes"),
        "environments expire env_2222 --yes",
        "environments expire nonsense! --yes",
    ]));
    assert!(workspace.exists(), "nothing was done");
    let expired = env.json(&format!("environments expire {short} {reason} --yes"));
    assert_eq!(expired["status"], "expired");
    assert_eq!(expired["expired_because"], "the project is over");
    env.until("its workspace is erased", || {
        env.json(&format!("environments get {short}"))["erased"] == true
    });
    assert!(!workspace.exists());
    let sleeps = |(_, line): &(u32, String)| line.contains("sleep") && line.contains("1000");
    assert!(!env.processes().iter().any(sleeps), "{:?}", env.processes());
    let page = env.page(&[
        &format!("environments get {short}"),
        &format!("environments expire {short} --reason 'said twice' --yes"),
        &format!("sessions send {session} --input more"),
        &format!("sessions wait {session}"),
    ]);
    seen!("environments-expired", page);
    let explained = env.json(&format!("sessions explain {session}"));
    assert_eq!(explained["causes"][0]["code"], "expired");
    assert_eq!(explained["needs_person"], false);
    let artifact = env.ok(&format!("sessions artifacts {session} -o id"));
    assert_eq!(
        env.ok(&format!("artifacts get {session} {artifact}")),
        "one"
    );
    assert!(
        env.ok(&format!("sessions items {session}"))
            .contains("mkdir")
    );
    assert_eq!(
        env.json(&format!("sessions get {session}"))["status"],
        "failed"
    );
    env.ok("fsck");
    env.ok(&format!("sessions delete {session} --yes"));
}
