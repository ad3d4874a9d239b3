//! How machines end, and that nothing of them is left.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use aws_sdk_ec2::types::ShutdownBehavior;
use pretty_assertions::assert_eq;

use super::*;
use crate::aws::stand::ec2::Pace;

#[tokio::test]
async fn a_machine_that_shuts_itself_down_is_terminated_or_stopped_as_its_launch_says() {
    let host = host(Vec::new());
    let text = "echo off; trap 'echo told' TERM; shutdown -h now; while :; do sleep 0.1; done";
    let stops = id(script(&host, text)).await;
    let terminate = ShutdownBehavior::Terminate;
    let ends = id(script(&host, text).instance_initiated_shutdown_behavior(terminate)).await;
    let reason = "Client.InstanceInitiatedShutdown".to_owned();
    assert_eq!(until_ended(&host, &stops), (State::Stopped, reason.clone()));
    assert_eq!(until_ended(&host, &ends), (State::Terminated, reason));
    // Its processes were told before.
    assert!(host.console(&ends).ends_with("told\n"));
}

#[tokio::test]
async fn a_terminated_instance_has_no_process_any_more() {
    let host = host(Vec::new());
    let word = "rat-things-test-terminated";
    let machine = run(&host, &stubborn(word)).await;
    said(&host, &machine, "runs");
    assert_eq!(state(&host, &machine).0, State::Running);
    until("it runs", || processes(word) == 2);
    let client = client(&host.ec2().url());
    client
        .terminate_instances()
        .instance_ids(&machine)
        .send()
        .await
        .expect("it ends");
    let reason = "Client.UserInitiatedShutdown".to_owned();
    assert_eq!(until_ended(&host, &machine), (State::Terminated, reason));
    assert_eq!(processes(word), 0);
    // Again is no error.
    client
        .terminate_instances()
        .instance_ids(&machine)
        .send()
        .await
        .expect("it has ended");
}

#[tokio::test]
async fn an_instance_that_takes_long_to_shut_down_runs_until_it_has() {
    let host = host(Vec::new());
    let word = "rat-things-test-slow";
    let machine = run(&host, &stubborn(word)).await;
    said(&host, &machine, "runs");
    until("it runs", || processes(word) == 2);
    let shutting_down = Pace {
        shutting_down: u32::MAX,
        ..Pace::default()
    };
    host.ec2().pace(shutting_down);
    let client = client(&host.ec2().url());
    client
        .terminate_instances()
        .instance_ids(&machine)
        .send()
        .await
        .expect("it ends");
    client.describe_instances().send().await.expect("instances");
    assert_eq!(state(&host, &machine).0, State::ShuttingDown);
    assert_eq!(processes(word), 2);
    host.ec2().hurry();
    assert_eq!(until_ended(&host, &machine).0, State::Terminated);
    assert_eq!(processes(word), 0);
}

#[tokio::test]
async fn a_host_that_fails_and_capacity_that_is_taken_back_end_machines_at_once() {
    let host = host(Vec::new());
    let word = "rat-things-test-failed";
    let (one, two) = (
        run(&host, &stubborn(word)).await,
        run(&host, &stubborn(word)).await,
    );
    for machine in [&one, &two] {
        said(&host, machine, "runs");
    }
    until("both run", || processes(word) == 4);
    host.kill(&one);
    let failed = (State::Terminated, "Server.InternalError".to_owned());
    assert_eq!(until_ended(&host, &one), failed);
    assert_eq!(processes(word), 2);
    host.reclaim(&two);
    let reclaimed = (
        State::Terminated,
        "Server.SpotInstanceTermination".to_owned(),
    );
    assert_eq!(until_ended(&host, &two), reclaimed);
    assert_eq!(processes(word), 0);
}

#[tokio::test]
async fn an_instance_that_is_ended_before_it_is_up_does_nothing() {
    let host = host(Vec::new());
    let machine = run(&host, "echo runs").await;
    host.kill(&machine);
    assert_eq!(until_ended(&host, &machine).0, State::Terminated);
}

#[tokio::test]
async fn a_host_takes_its_machines_along() {
    let word = "rat-things-test-dropped";
    let host = host(Vec::new());
    let machine = run(&host, &stubborn(word)).await;
    said(&host, &machine, "runs");
    until("it runs", || processes(word) == 2);
    drop(host);
    assert_eq!(processes(word), 0);
}

const ROLE: &str = "RAT_THINGS_TEST_HOST_WORD";

/// What the child of the test below does: machines, until it is killed.
#[tokio::test]
async fn role_of_a_process_with_machines() {
    let Ok(word) = std::env::var(ROLE) else {
        return;
    };
    let host = host(Vec::new());
    let machine = run(&host, &stubborn(&word)).await;
    said(&host, &machine, "runs");
    until("it runs", || processes(&word) == 2);
    use std::io::Write as _;
    writeln!(std::io::stdout(), "{ROLE} is ready").expect("somebody listens");
    std::future::pending::<()>().await;
}

#[test]
fn machines_end_with_a_process_that_is_killed() {
    let word = "rat-things-test-orphaned";
    let role = "aws::stand::host::tests::ends::role_of_a_process_with_machines";
    let mut child = Command::new(std::env::current_exe().expect("this test binary"))
        .args([role, "--exact", "--nocapture"])
        .env(ROLE, word)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let ready = format!("{ROLE} is ready");
    let mut lines = lines.map_while(Result::ok);
    assert!(
        lines.any(|line| line.ends_with(&ready)),
        "{role} is not ready"
    );
    assert_eq!(processes(word), 2);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    until("its machines have ended", || processes(word) == 0);
}
