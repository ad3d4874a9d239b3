//! The stand-in held against moto, where moto is right: the same requests to both, and what is in their answers.
//!
//! Every element that the stand-in answers with must be one that moto answers with, with the same value where that does not change from
//! run to run. moto answers with more. Where they differ otherwise, it says so here by name.

use std::collections::{BTreeMap, BTreeSet};

use pretty_assertions::assert_eq;

use super::{REGION, asked};
use crate::aws::moto;
use crate::aws::stand::ec2::Ec2;

/// Requests in their order, each with a name. `{a}` is what the element `a` was in an earlier answer.
const STORY: &[(&str, &str)] = &[
    (
        "networks",
        "Action=DescribeVpcs&Filter.1.Name=is-default&Filter.1.Value.1=true",
    ),
    (
        "a network that is none",
        "Action=DescribeVpcs&VpcId.1=vpc-00000000000000000",
    ),
    (
        "subnets",
        "Action=DescribeSubnets&Filter.1.Name=vpc-id&Filter.1.Value.1={vpcId}",
    ),
    (
        "a subnet that is none",
        "Action=DescribeSubnets&SubnetId.1=subnet-00000000000000000",
    ),
    (
        "a group",
        "Action=CreateSecurityGroup&GroupName=w&GroupDescription=d&VpcId={vpcId}&TagSpecification.1.ResourceType=security-group&TagSpecification.1.Tag.1.Key=d&TagSpecification.1.Tag.1.Value=one",
    ),
    (
        "a group of the same name",
        "Action=CreateSecurityGroup&GroupName=w&GroupDescription=d&VpcId={vpcId}",
    ),
    (
        "way out",
        "Action=AuthorizeSecurityGroupEgress&GroupId={groupId}&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=443&IpPermissions.1.ToPort=443&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    (
        "the same way out",
        "Action=AuthorizeSecurityGroupEgress&GroupId={groupId}&IpPermissions.1.IpProtocol=tcp&IpPermissions.1.FromPort=443&IpPermissions.1.ToPort=443&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    (
        "no other way out",
        "Action=RevokeSecurityGroupEgress&GroupId={groupId}&IpPermissions.1.IpProtocol=-1&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    (
        "a way out that is none",
        "Action=RevokeSecurityGroupEgress&GroupId={groupId}&IpPermissions.1.IpProtocol=udp&IpPermissions.1.FromPort=1&IpPermissions.1.ToPort=1&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0/0",
    ),
    (
        "groups",
        "Action=DescribeSecurityGroups&GroupId.1={groupId}",
    ),
    (
        "groups by tag",
        "Action=DescribeSecurityGroups&Filter.1.Name=tag:d&Filter.1.Value.1=one",
    ),
    (
        "a group that is none",
        "Action=DescribeSecurityGroups&GroupId.1=sg-00000000000000000",
    ),
    (
        "a template",
        "Action=CreateLaunchTemplate&LaunchTemplateName=worker&LaunchTemplateData.ImageId={image}&LaunchTemplateData.InstanceType=m7g.large&LaunchTemplateData.SecurityGroupId.1={groupId}&LaunchTemplateData.MetadataOptions.HttpTokens=required&LaunchTemplateData.BlockDeviceMapping.1.DeviceName=/dev/xvda&LaunchTemplateData.BlockDeviceMapping.1.Ebs.VolumeSize=30&LaunchTemplateData.InstanceInitiatedShutdownBehavior=terminate&LaunchTemplateData.TagSpecification.1.ResourceType=instance&LaunchTemplateData.TagSpecification.1.Tag.1.Key=d&LaunchTemplateData.TagSpecification.1.Tag.1.Value=one&TagSpecification.1.ResourceType=launch-template&TagSpecification.1.Tag.1.Key=d&TagSpecification.1.Tag.1.Value=one",
    ),
    (
        "a template of the same name",
        "Action=CreateLaunchTemplate&LaunchTemplateName=worker&LaunchTemplateData.ImageId={image}",
    ),
    (
        "a version",
        "Action=CreateLaunchTemplateVersion&LaunchTemplateName=worker&LaunchTemplateData.ImageId={image}&LaunchTemplateData.InstanceType=m7i.large",
    ),
    (
        "another default",
        "Action=ModifyLaunchTemplate&LaunchTemplateName=worker&SetDefaultVersion=2",
    ),
    (
        "templates",
        "Action=DescribeLaunchTemplates&LaunchTemplateName.1=worker",
    ),
    (
        "a template that is none",
        "Action=DescribeLaunchTemplates&LaunchTemplateName.1=nobody",
    ),
    (
        "a version by number",
        "Action=DescribeLaunchTemplateVersions&LaunchTemplateName=worker&LaunchTemplateVersion.1=1",
    ),
    (
        "a launch",
        "Action=RunInstances&MinCount=1&MaxCount=1&LaunchTemplate.LaunchTemplateName=worker&LaunchTemplate.Version=1&ClientToken=a&SubnetId={subnetId}&TagSpecification.1.ResourceType=instance&TagSpecification.1.Tag.1.Key=s&TagSpecification.1.Tag.1.Value=1",
    ),
    (
        "instances",
        "Action=DescribeInstances&InstanceId.1={instanceId}",
    ),
    (
        "instances by tag",
        "Action=DescribeInstances&Filter.1.Name=tag:s&Filter.1.Value.1=1&Filter.2.Name=instance-state-name&Filter.2.Value.1=running",
    ),
    (
        "instances by a tag that none has",
        "Action=DescribeInstances&Filter.1.Name=tag:s&Filter.1.Value.1=2",
    ),
    (
        "an instance that is none",
        "Action=DescribeInstances&InstanceId.1=i-00000000000000000",
    ),
    (
        "a tag",
        "Action=CreateTags&ResourceId.1={instanceId}&Tag.1.Key=t&Tag.1.Value=2",
    ),
    (
        "no tag",
        "Action=DeleteTags&ResourceId.1={instanceId}&Tag.1.Key=t",
    ),
    (
        "a try",
        "Action=TerminateInstances&InstanceId.1={instanceId}&DryRun=true",
    ),
    (
        "an end",
        "Action=TerminateInstances&InstanceId.1={instanceId}",
    ),
    (
        "what has ended",
        "Action=DescribeInstances&InstanceId.1={instanceId}",
    ),
    (
        "an end of what is none",
        "Action=TerminateInstances&InstanceId.1=i-00000000000000000",
    ),
    (
        "no template",
        "Action=DeleteLaunchTemplate&LaunchTemplateName=worker",
    ),
    (
        "no template again",
        "Action=DeleteLaunchTemplate&LaunchTemplateName=worker",
    ),
    ("no group", "Action=DeleteSecurityGroup&GroupId={groupId}"),
    (
        "no group again",
        "Action=DeleteSecurityGroup&GroupId={groupId}",
    ),
];

/// Where they differ: what, as the stand-in has it, and as moto has it. The stand-in follows AWS' reference.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    // moto answers a deletion that finds nothing as if nothing were named.
    (
        "Errors/Error/Code",
        "InvalidLaunchTemplateName.NotFoundException",
        "MissingParameter",
    ),
    // moto does not know the processors of a type, nor what an image calls its disk, to which it adds the one of the template.
    ("instancesSet/item/architecture", "arm64", "x86_64"),
    (
        "instancesSet/item/blockDeviceMapping/item/deviceName",
        "/dev/xvda",
        "/dev/sda1 /dev/xvda",
    ),
    (
        "instancesSet/item/blockDeviceMapping/item/ebs/deleteOnTermination",
        "true",
        "false true",
    ),
    (
        "instancesSet/item/metadataOptions/httpTokens",
        "required",
        "optional",
    ),
    ("instancesSet/item/rootDeviceName", "/dev/xvda", "/dev/sda1"),
    // moto says less of what it has deleted, tagged or made.
    ("launchTemplate/createTime", "a time", ""),
    (
        "launchTemplate/createdBy",
        "arn:aws:iam::123456789012:root",
        "",
    ),
    ("launchTemplate/latestVersionNumber", "2", ""),
    ("launchTemplate/tagSet/item/key", "d", ""),
    ("launchTemplate/tagSet/item/value", "one", ""),
    // moto puts the tags of a template among those that it gives.
    (
        "launchTemplateVersionSet/item/launchTemplateData/tagSpecificationSet/item/resourceType",
        "instance",
        "instance launch-template",
    ),
    ("groupId", "sg-…", ""),
    ("return", "true", ""),
    ("tagSet/item/key", "d", ""),
    ("tagSet/item/value", "one", ""),
];

/// The status, and every text of an answer by the elements around it.
struct Answer {
    status: u16,
    leaves: Vec<(String, String)>,
}

impl Answer {
    /// Where its texts are. Words are for people, and every request has its own id.
    fn paths(&self) -> BTreeSet<&str> {
        let paths = self.leaves.iter().map(|(path, _)| path.as_str());
        let words = ["requestId", "RequestID", "Message", "message", "reason"];
        paths
            .filter(|path| {
                !path
                    .rsplit('/')
                    .next()
                    .is_some_and(|name| words.contains(&name))
            })
            .collect()
    }

    /// What it says there.
    fn values(&self, path: &str) -> String {
        let values = self.leaves.iter().filter(|(at, _)| at == path);
        let values: BTreeSet<_> = values.map(|(_, value)| plain(value)).collect();
        Vec::from_iter(values).join(" ")
    }
}

/// One of the two, and what its answers said last.
struct Side {
    url: String,
    region: &'static str,
    known: BTreeMap<String, String>,
}

impl Side {
    fn new(url: String, region: &'static str) -> Side {
        let image = ("image".to_owned(), "ami-0123456789abcdef0".to_owned());
        Side {
            url,
            region,
            known: BTreeMap::from([image]),
        }
    }

    async fn ask(&mut self, form: &str) -> Answer {
        let mut body = format!("{form}&Version=2016-11-15");
        for (name, value) in &self.known {
            body = body.replace(&format!("{{{name}}}"), value);
        }
        assert!(!body.contains('{'), "{body} {:?}", self.known);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=test/20260101/{}/ec2/aws4_request, SignedHeaders=host, Signature=0",
            self.region
        );
        let (status, text) = asked(&self.url, &body, &authorization).await;
        let leaves = leaves(&text);
        for (path, value) in &leaves {
            let name = path.rsplit('/').next().unwrap_or_default();
            self.known.insert(name.to_owned(), value.clone());
        }
        Answer { status, leaves }
    }
}

/// Elements without elements in them: where they are, and what they say.
fn leaves(document: &str) -> Vec<(String, String)> {
    let (mut leaves, mut path, mut is_leaf) = (Vec::new(), Vec::new(), false);
    for piece in document.split('<').skip(1) {
        let Some((tag, text)) = piece.split_once('>') else {
            continue;
        };
        let name = tag
            .split([' ', '/'])
            .find(|part| !part.is_empty())
            .unwrap_or_default();
        if tag.starts_with('?') {
            continue;
        }
        if tag.starts_with('/') {
            if !is_leaf {
                path.pop();
                continue;
            }
            is_leaf = false;
            path.pop();
        } else if tag.ends_with('/') {
            is_leaf = false;
        } else {
            path.push(name.to_owned());
            is_leaf = !piece.ends_with('>');
            if is_leaf {
                leaves.push((path[1..].join("/"), text.trim().to_owned()));
            }
        }
    }
    leaves
}

/// A value that differs from run to run, as what it is.
fn plain(value: &str) -> String {
    let kind = value.split('-').next().unwrap_or_default();
    let is_id = |id: &str| id.len() == 17 && id.bytes().all(|b| b.is_ascii_hexdigit());
    if value.rsplit('-').next().is_some_and(is_id) {
        return format!("{kind}-…");
    }
    if value.parse::<std::net::Ipv4Addr>().is_ok() {
        return "an address".to_owned();
    }
    let is_time = value.len() >= 20 && value.starts_with("20") && value.contains('T');
    if is_time {
        "a time".to_owned()
    } else {
        value.to_owned()
    }
}

#[tokio::test]
async fn answers_are_those_of_moto_where_moto_is_right() {
    let ec2 = Ec2::start(REGION).expect("loopback");
    let mut ours = Side::new(ec2.url(), REGION);
    let mut theirs = Side::new(format!("http://{}", moto()), REGION);
    let mut differences = BTreeSet::new();
    for (name, form) in STORY {
        let (mine, other) = (ours.ask(form).await, theirs.ask(form).await);
        assert_eq!(mine.status, other.status, "{name}");
        for path in mine.paths() {
            let pair = (mine.values(path), other.values(path));
            if pair.0 != pair.1 {
                // Instances are the same in the answer to a launch and in a description.
                let path = path.trim_start_matches("reservationSet/item/").to_owned();
                differences.insert((path, pair.0, pair.1));
            }
        }
    }
    let known = DIFFERENCES
        .iter()
        .map(|(what, mine, other)| ((*what).to_owned(), (*mine).to_owned(), (*other).to_owned()));
    assert_eq!(differences, known.collect());
}

#[tokio::test]
async fn moto_launches_again_with_a_token_that_was_used_and_ec2_does_not() {
    let ec2 = Ec2::start(REGION).expect("loopback");
    let launch = |token: &str, kind: &str| {
        format!(
            "Action=RunInstances&MinCount=1&MaxCount=1&ImageId={{image}}&InstanceType={kind}&ClientToken={token}"
        )
    };
    for (url, is_moto) in [(ec2.url(), false), (format!("http://{}", moto()), true)] {
        // Elsewhere, because the two tests share moto.
        let mut side = Side::new(url, "eu-west-2");
        let first = side.ask(&launch("b", "m7g.large")).await;
        let again = side.ask(&launch("b", "m7g.large")).await;
        let id = "instancesSet/item/instanceId";
        let ids = |answer: &Answer| answer.leaves.iter().find(|(path, _)| path == id).cloned();
        assert_eq!(ids(&first) != ids(&again), is_moto);
        let other = side.ask(&launch("b", "m7i.large")).await;
        assert_eq!(other.status, if is_moto { 200 } else { 400 });
    }
}
