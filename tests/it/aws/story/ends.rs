//! How machines end that are not needed any more.

use aws_sdk_ec2::types::ResourceType;
use base64::Engine;
use pretty_assertions::assert_eq;

use super::account::Account;
use crate::aws::stand::ec2::tests::{client, launch, tagged};

#[tokio::test(flavor = "multi_thread")]
async fn deleting_a_session_leaves_no_machine() {
    let account = Account::new("").await;
    let _daemon = account.daemon();
    let idle = account.create("@exec echo one\n@say done");
    account.wait(&idle);
    let busy = account.create("@exec sleep 600\n@say never");
    account.until_running(&busy, "sleep 600");
    assert_eq!(account.living().len(), 2);
    for session in [&idle, &busy] {
        let deleted = account.run(&["sessions", "delete", session, "--yes"]);
        assert!(deleted.status.success(), "{deleted:?}");
    }
    account.until("no machine is left", || account.living().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_stopped_with_the_daemon_down_and_goes_on_with_the_next_one() {
    let account = Account::new("").await;
    let daemon = account.daemon();
    let session = account.create("@exec sleep 600\n@exec echo two\n@say done");
    account.until_running(&session, "sleep 600");
    // A daemon that is asked to end touches no machine.
    assert!(daemon.end());
    assert_eq!(account.living().len(), 1);
    // One that nobody knows, and one that is somebody else's.
    let ec2 = client(&account.host.ec2().url());
    let data = base64::prelude::BASE64_STANDARD.encode("#!/bin/sh\nsleep 600\n");
    let orphan = format!("{}orphan", "a".repeat(20));
    for (tags, token) in [
        (
            vec![
                ("rat-things:deployment", "rat-things"),
                ("rat-things:session", "sess_gone"),
                ("rat-things:generation", "1"),
                ("rat-things:execution", orphan.as_str()),
            ],
            "orphan",
        ),
        (
            vec![("rat-things:deployment", "rat-things")],
            "the daemon's own",
        ),
        (
            vec![
                ("rat-things:deployment", "another"),
                ("rat-things:execution", orphan.as_str()),
            ],
            "another's",
        ),
    ] {
        let launch = launch(&ec2, token).user_data(&data);
        let launch = launch.tag_specifications(tagged(ResourceType::Instance, &tags));
        launch.send().await.expect("an instance");
    }
    assert_eq!(account.living().len(), 4);
    let stopped = account.json(&["runs", "stop", "--all", "--yes"]);
    let ended = stopped["data"].as_array().expect("a list");
    assert_eq!(ended.len(), 2, "{stopped}");
    assert!(
        ended.iter().all(|worker| worker["gone"] == true),
        "{stopped}"
    );
    assert_eq!(
        account.living().len(),
        2,
        "others' machines are not touched"
    );
    let _daemon = account.daemon();
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_program_in_the_bucket_a_machine_is_not_launched_and_somebody_is_told() {
    let account = Account::new("limits.turn_attempts = 1\n").await;
    let missing = account.sha256().chars().rev().collect::<String>();
    let config = account.config();
    let text = std::fs::read_to_string(&config).expect("a file");
    std::fs::write(&config, text.replace(account.sha256(), &missing)).expect("a file");
    let _daemon = account.daemon();
    let session = account.create("@say done");
    account.until("the turn fails", || account.turns(&session) == ["failed"]);
    assert_eq!(account.launched(), 0);
    let explained = account.run(&["sessions", "explain", &session]);
    let said = String::from_utf8_lossy(&explained.stdout).into_owned();
    assert!(said.contains("aws init"), "{said}");
}
