//! How machines end that are not needed any more.

use std::time::Duration;

use aws_sdk_ec2::types::ResourceType;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
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

/// Machines that nobody here launched: one of a Session that is not there, the daemon's own, and one of another deployment.
async fn strangers(account: &Account) -> [String; 3] {
    let ec2 = client(&account.host.ec2().url());
    let data = BASE64_STANDARD.encode("#!/bin/sh\nsleep 600\n");
    let execution = "a".repeat(26);
    let of = |deployment| ("rat-things:deployment", deployment);
    let named = ("rat-things:execution", execution.as_str());
    let session = ("rat-things:session", "sess_gone");
    let tags = [
        vec![
            of("rat-things"),
            session,
            ("rat-things:generation", "1"),
            named,
        ],
        vec![of("rat-things")],
        vec![of("another"), named],
    ];
    let mut ids = [const { String::new() }; 3];
    for (id, tags) in ids.iter_mut().zip(tags) {
        let launch = launch(&ec2, &format!("of {}", tags.len())).user_data(&data);
        let launch = launch.tag_specifications(tagged(ResourceType::Instance, &tags));
        let launched = launch.send().await.expect("an instance");
        let first = launched
            .instances()
            .first()
            .and_then(|one| one.instance_id());
        *id = first.expect("an id").to_owned();
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_ends_what_no_session_needs_and_touches_nothing_of_others() {
    let account = Account::new("").await;
    let strangers = strangers(&account).await;
    for id in &strangers {
        account.host.ec2().backdate(id, Duration::from_secs(3_600));
    }
    let _daemon = account.daemon();
    let session = account.create("@exec echo one\n@say done");
    account.wait(&session);
    assert_eq!(account.living().len(), 4);
    let [orphan, own, another] = &strangers;
    account.until("the orphan is ended", || !account.living().contains(orphan));
    let living = account.living();
    assert_eq!(living.len(), 3, "{living:?}");
    assert!(
        living.contains(own) && living.contains(another),
        "{living:?}"
    );
    // The Session's own waits for more, and takes it.
    account.send(&session, "@exec echo two\n@say again");
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed", "completed"]);
    assert_eq!(account.resets(&session), 0);
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
    strangers(&account).await;
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
