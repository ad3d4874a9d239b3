//! Launches: what a token promises, and what is refused.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{
    IamInstanceProfileSpecification, InstanceMarketOptionsRequest, InstanceType,
    LaunchTemplateSpecification, MarketType, Placement, RequestLaunchTemplateData, ResourceType,
};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pretty_assertions::assert_eq;

use super::*;

#[tokio::test]
async fn a_token_that_was_used_is_the_launch_that_it_was_used_for() {
    let (ec2, client) = stand_in();
    let id = one(&client, "a").await;
    assert_eq!(one(&client, "a").await, id);
    assert_eq!(ec2.instances(|i| i.id == id), [true]);
    // Case counts, and what has no token is always new.
    assert_ne!(one(&client, "A").await, id);
    let more = launch(&client, "a").instance_type(InstanceType::M7gLarge);
    assert_eq!(
        launched(more).await,
        Err("IdempotentParameterMismatch".to_owned())
    );
    let more = launch(&client, "a").max_count(2);
    assert_eq!(
        launched(more).await,
        Err("IdempotentParameterMismatch".to_owned())
    );
    // The launch is told with the state that its instance has now.
    assert_eq!(states(&client).await, ["running", "running"]);
    let again = launch(&client, "a").send().await.expect("a launch");
    assert_eq!(
        seen(&again.instances()[0]),
        (id.clone(), "running".to_owned())
    );
    terminate(&client, &id).await.expect("it ends");
    assert_eq!(one(&client, "a").await, id);
    assert_eq!(states(&client).await, ["terminated", "running"]);
    let gone = launched(launch(&client, "a")).await;
    assert_eq!(gone, Err("IdempotentInstanceTerminated".to_owned()));
    assert_eq!(ec2.instances(|_| ()).len(), 2);
}

#[tokio::test]
async fn a_token_counts_in_the_zone_that_a_launch_names_and_otherwise_in_the_region() {
    let (ec2, client) = stand_in();
    let subnets = client.describe_subnets().send().await.expect("subnets");
    let subnets: Vec<_> = { subnets.subnets().iter() }
        .filter_map(|subnet| subnet.subnet_id())
        .collect();
    let mut ids = vec![one(&client, "a").await];
    for subnet in &subnets[..2] {
        let id = launched(launch(&client, "a").subnet_id(*subnet)).await;
        ids.extend(id.expect("a launch"));
    }
    let zone = |zone: &str| Placement::builder().availability_zone(zone).build();
    let third = launched(launch(&client, "a").placement(zone("eu-west-1c"))).await;
    ids.extend(third.expect("a launch"));
    assert_eq!(ec2.instances(|i| i.id.clone()), ids);
    let zones = ec2.instances(|i| i.zone.clone());
    assert_eq!(
        zones,
        ["eu-west-1a", "eu-west-1a", "eu-west-1b", "eu-west-1c"]
    );
    assert_eq!(ec2.instances(|i| i.subnet.clone())[2], subnets[1]);
    // In the same zone the other way to name it is another request.
    let same = launched(launch(&client, "a").placement(zone("eu-west-1a"))).await;
    assert_eq!(same, Err("IdempotentParameterMismatch".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn launches_at_the_same_time_with_one_token_are_one_launch() {
    let (ec2, client) = stand_in();
    let launches = (0..16).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { one(&client, "a").await })
    });
    let mut ids = Vec::new();
    for launch in launches.collect::<Vec<_>>() {
        ids.push(launch.await.expect("a launch"));
    }
    ids.dedup();
    assert_eq!(ec2.instances(|i| i.id.clone()), ids);
}

#[tokio::test]
async fn a_launch_has_what_it_says_over_what_its_template_says() {
    let (ec2, client) = stand_in();
    let data = RequestLaunchTemplateData::builder()
        .image_id(IMAGE)
        .instance_type(InstanceType::M7gLarge)
        .user_data(BASE64_STANDARD.encode("template"))
        .set_tag_specifications(Some(vec![
            aws_sdk_ec2::types::LaunchTemplateTagSpecificationRequest::builder()
                .resource_type(ResourceType::Instance)
                .tags(tag("deployment", "d"))
                .tags(tag("kind", "template"))
                .build(),
        ]));
    let made = client
        .create_launch_template()
        .launch_template_name("worker");
    let made = made
        .launch_template_data(data.build())
        .send()
        .await
        .expect("a template");
    let id = made.launch_template().and_then(|t| t.launch_template_id());
    let by_name = LaunchTemplateSpecification::builder().launch_template_name("worker");
    let by_id =
        LaunchTemplateSpecification::builder().set_launch_template_id(id.map(str::to_owned));
    let base = || client.run_instances().min_count(1).max_count(1);
    let plain = base().launch_template(by_name.build());
    launched(plain).await.expect("a launch");
    let spot = InstanceMarketOptionsRequest::builder().market_type(MarketType::Spot);
    let profile = IamInstanceProfileSpecification::builder().name("worker");
    let full = base()
        .launch_template(by_id.version("1").build())
        .instance_type(InstanceType::M7iLarge)
        .instance_market_options(spot.build())
        .iam_instance_profile(profile.build())
        .user_data(BASE64_STANDARD.encode("launch"))
        .tag_specifications(tagged(ResourceType::Instance, &[("kind", "launch")]))
        .tag_specifications(tagged(ResourceType::Volume, &[("kind", "disk")]));
    let answer = full.send().await.expect("a launch");
    let instance = &answer.instances()[0];
    assert_eq!(instance.instance_type(), Some(&InstanceType::M7iLarge));
    assert_eq!(instance.architecture().map(|a| a.as_str()), Some("x86_64"));
    assert_eq!(
        instance.instance_lifecycle().map(|l| l.as_str()),
        Some("spot")
    );
    assert!(instance.spot_instance_request_id().is_some());
    let profile = instance
        .iam_instance_profile()
        .and_then(|profile| profile.arn());
    assert_eq!(
        profile,
        Some("arn:aws:iam::123456789012:instance-profile/worker")
    );
    let system = |key: &String| key.starts_with("aws:ec2launchtemplate:");
    let own = |tags: &BTreeMap<String, String>| {
        let own = tags.clone().into_iter().filter(|(key, _)| !system(key));
        own.collect::<BTreeMap<_, _>>()
    };
    assert!(ec2.instances(|i| i.tags.keys().filter(|key| system(key)).count()) == [2, 2]);
    let seen = ec2.instances(|i| {
        (
            i.is_spot,
            i.user_data(),
            format!("{:?} {:?}", own(&i.tags), i.volume_tags),
        )
    });
    let words = |spot, data: &str, tags: &str| (spot, data.to_owned(), tags.to_owned());
    assert_eq!(
        seen,
        [
            words(
                false,
                "template",
                r#"{"deployment": "d", "kind": "template"} {}"#
            ),
            words(
                true,
                "launch",
                r#"{"deployment": "d", "kind": "launch"} {"kind": "disk"}"#
            ),
        ]
    );
}

#[tokio::test]
async fn what_is_wrong_with_a_launch_is_refused_and_nothing_is_launched() {
    let (ec2, client) = stand_in();
    let base = || client.run_instances().min_count(1).max_count(1);
    let ok = || base().image_id(IMAGE);
    let template = |name: &str| {
        LaunchTemplateSpecification::builder()
            .launch_template_name(name)
            .build()
    };
    let long = "a".repeat(65);
    let data = |bytes: usize| BASE64_STANDARD.encode(vec![b'x'; bytes]);
    let shown = aws_sdk_ec2::types::InstanceMetadataOptionsRequest::builder()
        .instance_metadata_tags(aws_sdk_ec2::types::InstanceMetadataTagsState::Enabled)
        .build();
    for (launch, code) in [
        (client.run_instances().image_id(IMAGE), "MissingParameter"),
        (base(), "MissingParameter"),
        (ok().min_count(2), "InvalidParameterValue"),
        (base().image_id("image"), "InvalidAMIID.Malformed"),
        (
            ok().instance_type(InstanceType::from("large")),
            "InvalidParameterValue",
        ),
        (ok().client_token(&long), "InvalidParameterValue"),
        (ok().user_data("no base 64!"), "InvalidUserData.Malformed"),
        (ok().user_data(data(16 * 1024 + 1)), "InvalidParameterValue"),
        (
            ok().subnet_id("subnet-00000000000000000"),
            "InvalidSubnetID.NotFound",
        ),
        (
            ok().security_group_ids("sg-00000000000000000"),
            "InvalidGroup.NotFound",
        ),
        (
            ok().launch_template(template("nobody")),
            "InvalidLaunchTemplateName.NotFoundException",
        ),
        (
            ok().tag_specifications(tagged(ResourceType::Snapshot, &[("a", "b")])),
            "InvalidParameterValue",
        ),
        (
            ok().tag_specifications(tagged(ResourceType::Instance, &[("aws:a", "b")])),
            "InvalidParameterValue",
        ),
        (
            ok().metadata_options(shown)
                .tag_specifications(tagged(ResourceType::Instance, &[("a b", "c")])),
            "InvalidParameterValue",
        ),
        (ok().ramdisk_id("ari-1"), "UnknownParameter"),
        (ok().dry_run(true), "DryRunOperation"),
    ] {
        let shown = format!("{:?}", launch.as_input());
        assert_eq!(launched(launch).await, Err(code.to_owned()), "{shown}");
    }
    assert_eq!(ec2.instances(|_| ()).len(), 0);
    launched(ok().user_data(data(16 * 1024)))
        .await
        .expect("a launch");
    let newest = base().image_id(
        "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
    );
    launched(newest).await.expect("a launch");
}
