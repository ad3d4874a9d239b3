//! Machines that are lost, in every way in which one can be.

use pretty_assertions::assert_eq;

use super::account::Account;
use crate::aws::stand::ec2::Trouble;
use crate::aws::stand::when::When;

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_lost_is_replaced_and_the_same_turn_goes_on() {
    let account = Account::new("").await;
    let _daemon = account.daemon();
    let session = account.create("@exec echo one\n@exec sleep 600\n@exec echo three\n@say done");
    account.until_running(&session, "sleep 600");
    account.host.kill(&account.living()[0]);
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    let commands = account.commands(&session);
    let told: Vec<(&str, &str)> = { commands.iter() }
        .map(|(command, status, _)| (command.as_str(), status.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("echo one", "completed"),
            ("sleep 600", "incomplete"),
            ("echo three", "completed")
        ]
    );
    assert_eq!(account.launched(), 2);
    assert_eq!(account.resets(&session), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_is_called_back_hands_its_turn_over_in_time() {
    let account = Account::new("aws.spot = true\n").await;
    let _daemon = account.daemon();
    let session = account.create("@exec sleep 5; echo one\n@exec echo two\n@say done");
    account.until_running(&session, "sleep 5; echo one");
    let first = account.living()[0].clone();
    account.host.notice(&first);
    account.until("the machine ends by itself", || {
        !account.living().contains(&first)
    });
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    assert_eq!(account.launched(), 2);
    // What ran had the time to end.
    let commands = account.commands(&session);
    let (_, status, output) = &commands[0];
    assert_eq!((status.as_str(), output.trim()), ("completed", "one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_was_cut_off_and_comes_back_writes_nothing() {
    let account = Account::new("limits.lease_ms = 4000\n").await;
    let _daemon = account.daemon();
    let session =
        account.create("@exec echo one\n@exec sleep 20; echo zombie\n@exec echo after\n@say done");
    account.until_running(&session, "sleep 20; echo zombie");
    let zombie = account.living()[0].clone();
    // Nobody can end it, either.
    account
        .host
        .ec2()
        .rule("TerminateInstances", When::Every, Trouble::RequestLost);
    account.host.cut(&zombie);
    account.until("the silent run is fenced", || {
        let runs = account.json(&["runs", "list", &session]);
        runs["data"][0]["state"] == "quarantined"
    });
    account.host.mend(&zombie);
    account.until("the zombie sees that it is one, and ends", || {
        !account.living().contains(&zombie)
    });
    account.host.ec2().calm();
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    let commands = account.commands(&session);
    let (_, status, output) = &commands[1];
    assert_eq!(status, "incomplete");
    assert!(!output.contains("zombie"), "{output}");
    assert_eq!(account.resets(&session), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_whose_answer_was_lost_leaves_one_machine_and_no_capacity_no_failure() {
    let account = Account::new("").await;
    let ec2 = account.host.ec2();
    ec2.rule(
        "RunInstances",
        When::Nth(1),
        Trouble::Refused("InsufficientInstanceCapacity"),
    );
    ec2.rule("RunInstances", When::Nth(2), Trouble::AnswerLost);
    let _daemon = account.daemon();
    let session = account.create("@exec echo one\n@say done");
    account.wait(&session);
    assert_eq!(account.turns(&session), ["completed"]);
    assert_eq!(account.launched(), 1);
}
