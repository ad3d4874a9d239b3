//! Launch templates and their versions.

use aws_sdk_ec2::types::{
    InstanceType, LaunchTemplateBlockDeviceMappingRequest, LaunchTemplateEbsBlockDeviceRequest,
    LaunchTemplateHttpTokensState, LaunchTemplateIamInstanceProfileSpecificationRequest,
    LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateSpecification,
    LaunchTemplateTagSpecificationRequest, RequestLaunchTemplateData, ResourceType,
    ShutdownBehavior, VolumeType,
};
use pretty_assertions::assert_eq;

use super::*;

fn data(kind: InstanceType) -> RequestLaunchTemplateData {
    let disk = LaunchTemplateEbsBlockDeviceRequest::builder()
        .encrypted(true)
        .volume_size(30)
        .volume_type(VolumeType::Gp3);
    let disk = LaunchTemplateBlockDeviceMappingRequest::builder()
        .device_name("/dev/xvda")
        .ebs(disk.build());
    let profile = LaunchTemplateIamInstanceProfileSpecificationRequest::builder().name("worker");
    let metadata = LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_tokens(LaunchTemplateHttpTokensState::Required)
        .http_put_response_hop_limit(1);
    let tags = LaunchTemplateTagSpecificationRequest::builder()
        .resource_type(ResourceType::Instance)
        .tags(tag("rat-things:deployment", "<&>"));
    RequestLaunchTemplateData::builder()
        .image_id("resolve:ssm:/aws/service/x")
        .instance_type(kind)
        .block_device_mappings(disk.build())
        .iam_instance_profile(profile.build())
        .metadata_options(metadata.build())
        .security_group_ids("sg-0123456789abcdef0")
        .instance_initiated_shutdown_behavior(ShutdownBehavior::Terminate)
        .tag_specifications(tags.build())
        .build()
}

#[tokio::test]
async fn a_template_is_read_back_as_it_was_written() {
    let (_ec2, client) = stand_in();
    let make = client
        .create_launch_template()
        .launch_template_name("worker");
    let make = make
        .launch_template_data(data(InstanceType::M7gLarge))
        .tag_specifications(tagged(ResourceType::LaunchTemplate, &[("d", "one")]));
    let made = make.send().await.expect("a template");
    let made = made.launch_template().expect("a template");
    assert_eq!(
        (made.default_version_number(), made.latest_version_number()),
        (Some(1), Some(1))
    );
    assert_eq!(made.tags(), [tag("d", "one")]);
    let versions = client
        .describe_launch_template_versions()
        .launch_template_name("worker");
    let versions = versions
        .versions("$Default")
        .send()
        .await
        .expect("versions");
    let [version] = versions.launch_template_versions() else {
        panic!("{versions:?}");
    };
    let read = version.launch_template_data().expect("data");
    let disk = &read.block_device_mappings()[0];
    let ebs = disk.ebs().expect("a disk");
    assert_eq!(disk.device_name(), Some("/dev/xvda"));
    assert_eq!((ebs.encrypted(), ebs.volume_size()), (Some(true), Some(30)));
    assert_eq!(read.image_id(), Some("resolve:ssm:/aws/service/x"));
    assert_eq!(read.instance_type(), Some(&InstanceType::M7gLarge));
    assert_eq!(
        read.iam_instance_profile()
            .and_then(|profile| profile.name()),
        Some("worker")
    );
    let metadata = read.metadata_options().expect("options");
    assert_eq!(
        metadata.http_tokens(),
        Some(&LaunchTemplateHttpTokensState::Required)
    );
    assert_eq!(metadata.http_put_response_hop_limit(), Some(1));
    assert_eq!(read.security_group_ids(), ["sg-0123456789abcdef0"]);
    let behaviour = read.instance_initiated_shutdown_behavior();
    assert_eq!(behaviour, Some(&ShutdownBehavior::Terminate));
    let tags = &read.tag_specifications()[0];
    assert_eq!(tags.tags(), [tag("rat-things:deployment", "<&>")]);
    assert_eq!(tags.resource_type(), Some(&ResourceType::Instance));
}

#[tokio::test]
async fn versions_are_added_and_one_of_them_is_the_default() {
    let (_ec2, client) = stand_in();
    let make = client
        .create_launch_template()
        .launch_template_name("worker");
    make.launch_template_data(data(InstanceType::M7gLarge))
        .send()
        .await
        .expect("a template");
    let more = client
        .create_launch_template_version()
        .launch_template_name("worker");
    let more = more.source_version("1").version_description("bigger");
    let only_type = RequestLaunchTemplateData::builder().instance_type(InstanceType::M7g2xlarge);
    let more = more
        .launch_template_data(only_type.build())
        .send()
        .await
        .expect("a version");
    let version = more.launch_template_version().expect("a version");
    assert_eq!(
        (version.version_number(), version.default_version()),
        (Some(2), Some(false))
    );
    let read = version.launch_template_data().expect("data");
    assert_eq!(read.instance_type(), Some(&InstanceType::M7g2xlarge));
    assert_eq!(read.image_id(), Some("resolve:ssm:/aws/service/x"));

    let modify = client
        .modify_launch_template()
        .launch_template_name("worker");
    let modified = modify
        .default_version("2")
        .send()
        .await
        .expect("another default");
    let modified = modified.launch_template().expect("a template");
    assert_eq!(modified.default_version_number(), Some(2));
    let versions = client
        .describe_launch_template_versions()
        .launch_template_name("worker");
    let versions = versions.send().await.expect("versions");
    let numbers: Vec<_> = { versions.launch_template_versions().iter() }
        .map(|version| (version.version_number(), version.default_version()))
        .collect();
    assert_eq!(numbers, [(Some(2), Some(true)), (Some(1), Some(false))]);

    // A launch takes the default, unless it names another one. The group of this template was never made.
    let template = LaunchTemplateSpecification::builder().launch_template_name("worker");
    for version in ["3", "x"] {
        let launch = client.run_instances().min_count(1).max_count(1);
        let launch = launch.launch_template(template.clone().version(version).build());
        let refused = Err("InvalidLaunchTemplateId.VersionNotFound".to_owned());
        assert_eq!(launched(launch).await, refused);
    }
    let launch = client.run_instances().min_count(1).max_count(1);
    let launch = launch.launch_template(template.version("$Latest").build());
    assert_eq!(
        launched(launch).await,
        Err("InvalidGroup.NotFound".to_owned())
    );
}

#[tokio::test]
async fn templates_are_listed_tagged_and_deleted() {
    let (ec2, client) = stand_in();
    let make = |name: &str| {
        let make = client.create_launch_template().launch_template_name(name);
        let data = RequestLaunchTemplateData::builder().image_id(IMAGE).build();
        make.launch_template_data(data).send()
    };
    for n in 0..6 {
        make(&format!("worker-{n}")).await.expect("a template");
    }
    let taken = make("worker-0").await.map(drop).map_err(word);
    assert_eq!(
        taken,
        Err("InvalidLaunchTemplateName.AlreadyExistsException".to_owned())
    );
    let malformed = make("a b").await.map(drop).map_err(word);
    assert_eq!(
        malformed,
        Err("InvalidLaunchTemplateName.MalformedException".to_owned())
    );
    ec2.page(5);
    let pages = client.describe_launch_templates().into_paginator().items();
    let all = pages
        .send()
        .collect::<Result<Vec<_>, _>>()
        .await
        .expect("templates");
    assert_eq!(all.len(), 6);
    let id = all[3].launch_template_id().unwrap_or_default();
    client
        .create_tags()
        .resources(id)
        .tags(tag("d", "one"))
        .send()
        .await
        .expect("a tag");
    let tagged = client
        .describe_launch_templates()
        .filters(filter("tag:d", &["one"]));
    let tagged = tagged.send().await.expect("templates");
    assert_eq!(
        tagged.launch_templates()[0].launch_template_name(),
        Some("worker-3")
    );
    let delete = || {
        client
            .delete_launch_template()
            .launch_template_name("worker-3")
            .send()
    };
    delete().await.expect("it is deleted");
    let absent = Err("InvalidLaunchTemplateName.NotFoundException".to_owned());
    assert_eq!(delete().await.map(drop).map_err(word), absent);
    let versions = client
        .describe_launch_template_versions()
        .launch_template_name("worker-3");
    assert_eq!(versions.send().await.map(drop).map_err(word), absent);
    let by_id = client
        .describe_launch_templates()
        .launch_template_ids(id)
        .send()
        .await;
    assert_eq!(
        by_id.map(drop).map_err(word),
        Err("InvalidLaunchTemplateId.NotFound".to_owned())
    );
}

#[tokio::test]
async fn a_token_that_was_used_makes_no_second_version() {
    let (_ec2, client) = stand_in();
    let data = |kind| {
        RequestLaunchTemplateData::builder()
            .image_id(IMAGE)
            .instance_type(kind)
            .build()
    };
    let make = |kind| {
        let make = client
            .create_launch_template()
            .launch_template_name("worker");
        make.client_token("a")
            .launch_template_data(data(kind))
            .send()
    };
    make(InstanceType::M7gLarge).await.expect("a template");
    make(InstanceType::M7gLarge)
        .await
        .expect("the same template");
    let other = make(InstanceType::M7iLarge).await.map(drop).map_err(word);
    assert_eq!(other, Err("IdempotentParameterMismatch".to_owned()));
    for _ in 0..2 {
        let more = client
            .create_launch_template_version()
            .launch_template_name("worker");
        let more = more
            .client_token("b")
            .launch_template_data(data(InstanceType::M7iLarge));
        let more = more.send().await.expect("a version");
        let number = more
            .launch_template_version()
            .and_then(|version| version.version_number());
        assert_eq!(number, Some(2));
    }
}
