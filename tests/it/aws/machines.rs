//! The Compute port on EC2 against an endpoint that answers as a test says: what is asked of EC2, and what its answers lead to.

use rat_things::backend::aws::client::{AwsClients, AwsOptions};
use rat_things::backend::aws::compute::{
    Boot, EXECUTION_TAG, Ec2Compute, Ec2Config, LaunchOptions, SESSION_TAG, WorkerProgram, token_of,
};
use rat_things::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};

use super::stand::scripted::{Answer, Instance, Scripted};

const DEPLOYMENT_TAG: &str = "rat-things:deployment";

/// The port, and EC2 as the test plays it.
async fn compute() -> (Ec2Compute, Scripted) {
    let ec2 = Scripted::start().expect("listens");
    let options = AwsOptions {
        region: Some("eu-west-1".to_owned()),
        endpoint_url: Some(ec2.url()),
        credentials: Some(("test".to_owned(), "test".to_owned())),
        ..AwsOptions::default()
    };
    let clients = AwsClients::connect(&options).await.expect("a region");
    let config = Ec2Config {
        launch: LaunchOptions {
            deployment: "d".to_owned(),
            template: "d-worker".to_owned(),
            instance_type: Some("m7g.xlarge".to_owned()),
            subnets: vec!["subnet-1".to_owned()],
            spot: true,
        },
        boot: Some((
            Boot {
                config_toml: "# nothing".to_owned(),
                env: Vec::new(),
                command: vec!["machine".to_owned()],
            },
            WorkerProgram::new(&clients, "bucket", "abc"),
        )),
    };
    (Ec2Compute::new(&clients, config), ec2)
}

async fn reserved(compute: &Ec2Compute) -> RunGrant {
    let execution = compute.reserve("sess_a", None).await.expect("a name");
    RunGrant {
        session: "sess_a".to_owned(),
        generation: 7,
        execution,
    }
}

fn instance(id: &'static str, state: &'static str, execution: &ExecutionId) -> Instance {
    let token = token_of(execution).expect("an execution on a machine");
    let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    Instance {
        id,
        state,
        tags: vec![
            tag(DEPLOYMENT_TAG, "d"),
            tag(SESSION_TAG, "sess_a"),
            tag("rat-things:generation", "7"),
            tag(EXECUTION_TAG, token),
        ],
    }
}

#[tokio::test]
async fn a_launch_says_everything_that_its_machine_is_found_by() {
    let (compute, ec2) = compute().await;
    let grant = reserved(&compute).await;
    ec2.will(
        "RunInstances",
        Answer::Shows(vec![instance("i-1", "pending", &grant.execution)]),
    );
    compute.launch(&grant).await.expect("launched");
    let asked = ec2.asked("RunInstances");
    let [asked] = asked.as_slice() else {
        panic!("{} launches", asked.len());
    };
    let value = |key: &str| asked.get(key).map(String::as_str).unwrap_or_default();
    assert_eq!((value("MinCount"), value("MaxCount")), ("1", "1"));
    assert_eq!(value("LaunchTemplate.LaunchTemplateName"), "d-worker");
    assert_eq!(value("InstanceType"), "m7g.xlarge");
    assert_eq!(value("SubnetId"), "subnet-1");
    assert_eq!(value("InstanceMarketOptions.MarketType"), "spot");
    assert_eq!(value("InstanceInitiatedShutdownBehavior"), "terminate");
    assert_eq!(value("ClientToken").len(), 64);
    for kind in 1..=3 {
        let tags: Vec<(&str, &str)> = (1..=5)
            .map(|n| {
                let of = format!("TagSpecification.{kind}.Tag.{n}");
                (value(&format!("{of}.Key")), value(&format!("{of}.Value")))
            })
            .collect();
        let token = token_of(&grant.execution).expect("ours");
        for tag in [
            (DEPLOYMENT_TAG, "d"),
            (SESSION_TAG, "sess_a"),
            (EXECUTION_TAG, token),
            ("rat-things:generation", "7"),
        ] {
            assert!(tags.contains(&tag), "{tag:?} in {tags:?}");
        }
    }
    // The same grant again is the same launch: nothing is asked for that is there.
    assert_eq!(compute.inspect(&grant.execution).await, Liveness::Running);
}

#[tokio::test]
async fn a_launch_whose_answer_was_lost_is_repeated_as_the_same_launch() {
    let (compute, ec2) = compute().await;
    let grant = reserved(&compute).await;
    ec2.will("RunInstances", Answer::Nothing);
    ec2.will("RunInstances", Answer::Refuses(503, "RequestLimitExceeded"));
    ec2.will(
        "RunInstances",
        Answer::Shows(vec![instance("i-1", "pending", &grant.execution)]),
    );
    compute.launch(&grant).await.expect("launched");
    let asked = ec2.asked("RunInstances");
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|one| one == &asked[0]), "{asked:?}");
}

#[tokio::test]
async fn a_launch_that_nobody_answers_is_unknown_and_one_that_is_refused_is_not() {
    let (compute, ec2) = compute().await;
    let grant = reserved(&compute).await;
    ec2.will("RunInstances", Answer::Nothing);
    let unknown = compute.launch(&grant).await;
    assert!(
        matches!(unknown, Err(ComputeError::Unknown(_))),
        "{unknown:?}"
    );
    for (status, code, scarce) in [
        (500, "InsufficientInstanceCapacity", true),
        (400, "VcpuLimitExceeded", true),
        (403, "UnauthorizedOperation", false),
        (400, "InvalidLaunchTemplateName.NotFoundException", false),
    ] {
        let grant = reserved(&compute).await;
        ec2.forget("RunInstances");
        ec2.will("RunInstances", Answer::Refuses(status, code));
        let before = ec2.asked("RunInstances").len();
        match compute.launch(&grant).await {
            Err(ComputeError::Scarce(_)) => assert!(scarce, "{code}"),
            Err(ComputeError::Failed(_)) => assert!(!scarce, "{code}"),
            other => panic!("{code}: {other:?}"),
        }
        assert_eq!(ec2.asked("RunInstances").len(), before + 1, "{code}");
    }
}

#[tokio::test]
async fn under_the_name_of_a_machine_that_waits_nothing_is_launched() {
    let (compute, ec2) = compute().await;
    let last = compute.reserve("sess_a", None).await.expect("a name");
    let (other, _ec2) = self::compute().await;
    let shows = |state| Answer::Shows(vec![instance("i-1", state, &last)]);
    ec2.will("DescribeInstances", shows("running"));
    let (waiting, ec2_too) = self::compute().await;
    ec2_too.will("DescribeInstances", shows("running"));
    // As another daemon sees it, too.
    for (compute, ec2) in [(&compute, &ec2), (&waiting, &ec2_too)] {
        let again = compute.reserve("sess_a", Some(&last)).await;
        assert_eq!(again.as_ref(), Ok(&last));
        if std::ptr::eq(compute, &waiting) {
            let grant = RunGrant {
                session: "sess_a".to_owned(),
                generation: 8,
                execution: last.clone(),
            };
            compute.launch(&grant).await.expect("it waits there");
            assert!(ec2.asked("RunInstances").is_empty());
        }
    }
    // One that is on its way out takes nothing, and neither does another Session's.
    for (state, session) in [("shutting-down", "sess_a"), ("running", "sess_b")] {
        ec2.forget("DescribeInstances");
        ec2.will("DescribeInstances", shows(state));
        let fresh = compute.reserve(session, Some(&last)).await;
        assert!(fresh.is_ok_and(|name| name != last), "{state} {session}");
    }
    // What is no machine's name is none to look up.
    let process = ExecutionId("proc:1:2:b".to_owned());
    let fresh = other.reserve("sess_a", Some(&process)).await;
    assert!(fresh.is_ok_and(|name| token_of(&name).is_some()));
}

#[tokio::test]
async fn one_request_answers_for_a_thousand_machines_and_trouble_is_no_answer() {
    let (compute, ec2) = compute().await;
    let mut names = Vec::new();
    for _ in 0..1_000 {
        names.push(compute.reserve("sess_a", None).await.expect("a name"));
    }
    let all = names.iter().map(|name| instance("i-1", "running", name));
    ec2.will("DescribeInstances", Answer::Shows(all.collect()));
    for name in &names {
        compute.inspect(name).await;
    }
    for name in &names {
        assert_eq!(compute.inspect(name).await, Liveness::Running);
    }
    // The first question asked about one machine; the second about all.
    let asked = ec2.asked("DescribeInstances").len();
    assert!(asked <= 2, "{asked}");

    for trouble in [
        Answer::Refuses(503, "RequestLimitExceeded"),
        Answer::Nothing,
    ] {
        let (compute, ec2) = self::compute().await;
        ec2.will("DescribeInstances", trouble);
        let name = compute.reserve("sess_a", None).await.expect("a name");
        for _ in 0..10 {
            assert_eq!(compute.inspect(&name).await, Liveness::Unknown);
        }
        // Who is in trouble is left alone for a while.
        assert_eq!(ec2.asked("DescribeInstances").len(), 1);
    }
}

#[tokio::test]
async fn a_machine_is_stopped_when_it_is_proven_gone_and_not_before() {
    let (compute, ec2) = compute().await;
    let name = compute.reserve("sess_a", None).await.expect("a name");
    for state in ["running", "shutting-down", "terminated"] {
        ec2.will(
            "DescribeInstances",
            Answer::Shows(vec![instance("i-1", state, &name)]),
        );
    }
    assert_eq!(compute.stop(&name).await, Ok(()));
    let ended = ec2.asked("TerminateInstances");
    assert_eq!(ended.len(), 1);
    assert_eq!(
        ended[0].get("InstanceId.1").map(String::as_str),
        Some("i-1")
    );
    assert_eq!(compute.inspect(&name).await, Liveness::Gone);

    // What EC2 does not show may only not be shown yet.
    let (compute, ec2) = self::compute().await;
    let name = compute.reserve("sess_a", None).await.expect("a name");
    let unseen = compute.stop(&name).await;
    assert!(matches!(unseen, Err(ComputeError::Unknown(_))));
    assert!(ec2.asked("TerminateInstances").is_empty());
}

#[tokio::test]
async fn only_machines_of_workers_are_listed() {
    let (compute, ec2) = compute().await;
    let name = compute.reserve("sess_a", None).await.expect("a name");
    let mut daemon = instance("i-2", "running", &name);
    daemon.tags.retain(|(key, _)| key == DEPLOYMENT_TAG);
    ec2.will(
        "DescribeInstances",
        Answer::Shows(vec![
            instance("i-1", "running", &name),
            daemon,
            instance("i-3", "terminated", &name),
        ]),
    );
    let machines = compute.machines().await.expect("an answer");
    let ids: Vec<&str> = machines.iter().map(|machine| machine.id.as_str()).collect();
    assert_eq!(ids, ["i-1"]);
    assert_eq!(machines[0].since_ms, 1_767_323_045_000);
    let asked = ec2.asked("DescribeInstances");
    let filter = asked[0].get("Filter.1.Name").map(String::as_str);
    assert_eq!(filter, Some("tag:rat-things:deployment"));
}
