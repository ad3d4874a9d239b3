//! Machines in a hostile world: launched by somebody else, without their store, without EC2, between daemons that come and go.

use aws_sdk_ec2::types::{LaunchTemplateSpecification, ResourceType};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pretty_assertions::assert_eq;

use super::account::Account;
use crate::aws::stand::ec2::tests::{client, tagged};
use crate::aws::stand::ec2::{State, Trouble};
use crate::aws::stand::when::When;

/// States of all instances, oldest first, and why those that ended did.
fn states(account: &Account) -> Vec<(State, String)> {
    account.host.ec2().instances(|i| {
        let reason = i.reason.as_ref().map_or("", |(code, _)| code);
        (i.state, reason.to_owned())
    })
}

fn ended_itself() -> (State, String) {
    let reason = "Client.InstanceInitiatedShutdown".to_owned();
    (State::Terminated, reason)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_was_launched_for_another_execution_works_for_nobody() {
    let account = Account::new("").await;
    let _daemon = account.daemon();
    let session = account.create("@exec sleep 600\n@say never");
    account.until_running(&session, "sleep 600");
    // Whoever may launch machines takes what the first one was told, under another name.
    let told = account.host.ec2().instances(|i| i.user_data()).concat();
    let template = LaunchTemplateSpecification::builder().launch_template_name("rat-things-worker");
    let other = "b".repeat(26);
    let tags = [
        ("rat-things:deployment", "rat-things"),
        ("rat-things:session", session.as_str()),
        ("rat-things:generation", "1"),
        ("rat-things:execution", other.as_str()),
    ];
    let launch = client(&account.host.ec2().url()).run_instances();
    let launch = launch
        .min_count(1)
        .max_count(1)
        .launch_template(template.build())
        .user_data(BASE64_STANDARD.encode(told))
        .tag_specifications(tagged(ResourceType::Instance, &tags));
    launch.send().await.expect("an instance");
    account.until("it ends by itself", || {
        states(&account)[1] == ended_itself()
    });
    assert_eq!(states(&account)[0].0, State::Running);
    assert_eq!(account.turns(&session), ["in_progress"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_its_store_ends_itself() {
    let account = Account::new("aws.worker_unreachable_s = 60\n").await;
    let daemon = account.daemon();
    let session = account.create("@exec echo one\n@exec sleep 600\n@exec echo three\n@say done");
    account.until_running(&session, "sleep 600");
    // Nobody is there who would end it.
    drop(daemon);
    let machine = account.living().remove(0);
    account.host.cut(&machine);
    account.until("it ends by itself", || states(&account) == [ended_itself()]);
    // And it is replaced as soon as somebody looks.
    let _daemon = account.daemon();
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    assert_eq!((account.launched(), account.resets(&session)), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn without_ec2_a_turn_ends_and_the_next_one_waits_for_its_machine() {
    let account = Account::new("").await;
    let _daemon = account.daemon();
    let session = account.create("@exec sleep 5; echo one\n@say done");
    account.until_running(&session, "sleep 5; echo one");
    let ec2 = account.host.ec2();
    for action in ["DescribeInstances", "RunInstances", "TerminateInstances"] {
        ec2.rule(action, When::Every, Trouble::Refused("Unavailable"));
    }
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    let asked = ec2.count("DescribeInstances");
    account.send(&session, "@exec echo two\n@say again");
    account.until("EC2 is asked and does not answer", || {
        ec2.count("DescribeInstances") > asked
    });
    // What it was told is kept, and read, all the same.
    assert_eq!(account.turns(&session).len(), 2);
    ec2.calm();
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed", "completed"]);
    assert_eq!((account.launched(), account.resets(&session)), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_is_killed_at_a_launch_leaves_one_machine_that_the_next_one_takes_over() {
    let account = Account::new("").await;
    let ec2 = account.host.ec2();
    ec2.rule("RunInstances", When::Nth(1), Trouble::AnswerLost);
    let daemon = account.daemon();
    let session = account.create("@exec echo one\n@say done");
    account.until("it is launched", || account.launched() == 1);
    drop(daemon);
    let _daemon = account.daemon();
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    assert_eq!((account.launched(), account.resets(&session)), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_daemons_launch_one_machine_for_a_session() {
    let account = Account::new("").await;
    let _daemons = [account.daemon(), account.daemon()];
    let create = |n: usize| account.create(&format!("@exec echo {n}\n@say done"));
    let sessions: Vec<String> = (0..3).map(create).collect();
    for session in &sessions {
        account.wait(session);
        assert_eq!(account.turns(session), ["completed"]);
        assert_eq!(account.resets(session), 0);
    }
    assert_eq!(account.launched(), 3);
}
