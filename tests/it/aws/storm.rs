//! Launches while much goes wrong, against the stand-in: whatever is answered, there is one machine for a grant at most, and what is told of
//! it is true.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{RequestLaunchTemplateData, ResourceType};
use pretty_assertions::assert_eq;
use rat_things::backend::aws::client::{AwsClients, AwsOptions};
use rat_things::backend::aws::compute::{
    Boot, EXECUTION_TAG, Ec2Compute, Ec2Config, LaunchOptions, WorkerProgram, token_of,
};
use rat_things::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, RunGrant};

use super::place;
use super::stand::ec2::tests::{client, launch, tagged};
use super::stand::ec2::{Ec2, Pace, State, Trouble};
use super::stand::when::When;

const REGION: &str = "eu-west-1";
const DEPLOYMENT_TAG: &str = "rat-things:deployment";

/// EC2, with the deployment's launch template.
async fn region() -> Ec2 {
    let ec2 = Ec2::start(REGION).expect("loopback");
    let data = RequestLaunchTemplateData::builder().image_id("ami-0123456789abcdef0");
    let template = client(&ec2.url()).create_launch_template();
    let template = template.launch_template_name("d-worker");
    let template = template.launch_template_data(data.build()).send();
    template.await.expect("a template");
    ec2
}

/// The port, as a daemon has it.
async fn compute(ec2: &Ec2) -> Ec2Compute {
    let place = tokio::task::spawn_blocking(place).await.expect("a bucket");
    let bucket = &place.places.bucket;
    let put = place.clients.s3().put_object().bucket(bucket);
    let put = put.key("bin/abc/rat-things").send();
    put.await.expect("a program");
    let options = AwsOptions {
        region: Some(REGION.to_owned()),
        endpoint_url: Some(ec2.url()),
        credentials: Some(("test".to_owned(), "test".to_owned())),
        ..AwsOptions::default()
    };
    let clients = AwsClients::connect(&options).await.expect("a region");
    let launch = LaunchOptions {
        deployment: "d".to_owned(),
        template: "d-worker".to_owned(),
        ..LaunchOptions::default()
    };
    let program = WorkerProgram::new(&place.clients, bucket, "abc");
    let boot = Some((Boot::default(), program));
    Ec2Compute::new(&clients, Ec2Config { launch, boot })
}

async fn grant(compute: &Ec2Compute, session: usize) -> RunGrant {
    let session = format!("sess_{session}");
    let execution = compute.reserve(&session, None).await.expect("a name");
    RunGrant {
        session,
        generation: 1,
        execution,
    }
}

/// Machines that there are for each execution, and their states.
fn machines(ec2: &Ec2) -> BTreeMap<String, Vec<State>> {
    let mut all: BTreeMap<String, Vec<State>> = BTreeMap::new();
    for (token, state) in ec2.instances(|i| (i.tags.get(EXECUTION_TAG).cloned(), i.state)) {
        all.entry(token.unwrap_or_default())
            .or_default()
            .push(state);
    }
    all
}

fn of(ec2: &Ec2, execution: &ExecutionId) -> Vec<State> {
    let token = token_of(execution).expect("a token");
    machines(ec2).remove(token).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_launch_in_a_storm_leaves_one_machine_at_most_and_says_what_is_so() {
    let ec2 = region().await;
    let compute = compute(&ec2).await;
    ec2.pace(Pace {
        unseen: 2,
        ..Pace::default()
    });
    for (seed, trouble) in [
        Trouble::Refused("RequestLimitExceeded"),
        Trouble::RequestLost,
        Trouble::AnswerLost,
        Trouble::DoneButFailed,
        Trouble::Refused("InsufficientInstanceCapacity"),
    ]
    .into_iter()
    .enumerate()
    {
        let when = When::Chance {
            per_thousand: 150,
            seed: seed as u64,
        };
        ec2.rule("RunInstances", when, trouble);
    }
    let lost = When::Chance {
        per_thousand: 300,
        seed: 9,
    };
    ec2.rule(
        "DescribeInstances",
        lost,
        Trouble::Refused("RequestLimitExceeded"),
    );
    let mut launches = Vec::new();
    for n in 0..16 {
        let (compute, grant) = (compute.clone(), grant(&compute, n).await);
        let launch = async move { (compute.launch(&grant).await, grant.execution) };
        launches.push(tokio::spawn(launch));
    }
    let mut names = Vec::new();
    for launch in launches {
        let (said, name) = launch.await.expect("an answer");
        let there = of(&ec2, &name).len();
        let is_so = match &said {
            Ok(()) => there == 1,
            Err(ComputeError::Unknown(_)) => there <= 1,
            Err(_) => there == 0,
        };
        assert!(is_so, "{said:?}, and there are {there}");
        names.push(name);
    }
    // Whoever else asks is never told that a machine is gone that is not.
    let other = self::compute(&ec2).await;
    for _ in 0..4 {
        for name in &names {
            for compute in [&compute, &other] {
                let told = compute.inspect(name).await;
                assert_ne!(told, Liveness::Gone, "{name:?} {:?}", of(&ec2, name));
            }
        }
    }
    ec2.calm();
    ec2.hurry();
    let living = names.iter().filter(|name| !of(&ec2, name).is_empty());
    let stops = living.map(|name| compute.stop(name));
    for stopped in futures_util::future::join_all(stops).await {
        assert_eq!(stopped, Ok(()));
    }
    let states: Vec<State> = machines(&ec2).into_values().flatten().collect();
    assert!(!states.is_empty(), "the storm let something through");
    assert!(
        states.iter().all(|state| *state == State::Terminated),
        "{states:?}"
    );
}

#[tokio::test]
async fn a_machine_that_is_not_shown_yet_is_neither_gone_nor_stopped() {
    let ec2 = region().await;
    let (one, two) = (compute(&ec2).await, compute(&ec2).await);
    ec2.pace(Pace {
        unseen: u32::MAX,
        ..Pace::default()
    });
    let grant = grant(&one, 1).await;
    one.launch(&grant).await.expect("launched");
    // Who launched it knows it; who did not, knows nothing.
    assert_eq!(one.inspect(&grant.execution).await, Liveness::Running);
    assert_eq!(two.inspect(&grant.execution).await, Liveness::Unknown);
    assert!(matches!(
        two.stop(&grant.execution).await,
        Err(ComputeError::Unknown(_))
    ));
    assert_ne!(of(&ec2, &grant.execution), [State::Terminated]);
    ec2.hurry();
    assert_eq!(two.stop(&grant.execution).await, Ok(()));
    assert_eq!(of(&ec2, &grant.execution), [State::Terminated]);
    assert_eq!(two.inspect(&grant.execution).await, Liveness::Gone);
}

#[tokio::test]
async fn machines_are_listed_to_the_last_page_and_others_are_not_touched() {
    let ec2 = region().await;
    let compute = compute(&ec2).await;
    ec2.page(7);
    let grant = grant(&compute, 1).await;
    compute.launch(&grant).await.expect("launched");
    let token = token_of(&grant.execution).expect("a token");
    let more = |deployment: &str, client_token: &str| {
        let tags = [
            (DEPLOYMENT_TAG, deployment),
            ("rat-things:session", "sess_x"),
            ("rat-things:generation", "1"),
            (EXECUTION_TAG, token),
        ];
        let more = launch(&client(&ec2.url()), client_token).max_count(20);
        more.tag_specifications(tagged(ResourceType::Instance, &tags))
    };
    more("another", "theirs").send().await.expect("launched");
    assert_eq!(compute.machines().await.expect("a list").len(), 1);
    assert_eq!(compute.stop(&grant.execution).await, Ok(()));
    let left = of(&ec2, &grant.execution);
    let ended = left.iter().filter(|state| **state == State::Terminated);
    assert_eq!((left.len(), ended.count()), (21, 1));
    more("d", "ours").send().await.expect("launched");
    assert_eq!(compute.machines().await.expect("a list").len(), 20);
}

#[tokio::test]
async fn an_answer_to_an_end_that_is_lost_is_found_out() {
    let ec2 = region().await;
    let compute = compute(&ec2).await;
    let grant = grant(&compute, 1).await;
    compute.launch(&grant).await.expect("launched");
    ec2.rule("TerminateInstances", When::Nth(1), Trouble::AnswerLost);
    ec2.rule(
        "TerminateInstances",
        When::Nth(2),
        Trouble::Refused("UnauthorizedOperation"),
    );
    let told = compute.stop(&grant.execution).await;
    assert!(matches!(told, Err(ComputeError::Unknown(_))), "{told:?}");
    assert_eq!(compute.stop(&grant.execution).await, Ok(()));
    assert_eq!(of(&ec2, &grant.execution), [State::Terminated]);
}
