//! Security group and launch template as they are.

use aws_sdk_ec2::types::{
    Filter, IpPermission, LaunchTemplate, LaunchTemplateHttpTokensState,
    LaunchTemplateInstanceMetadataEndpointState, LaunchTemplateInstanceMetadataTagsState,
    ResourceType, ResponseLaunchTemplateData, SecurityGroup, Tag, VolumeType,
};

use super::tag_of;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::Account;
use crate::backend::aws::setup::desired::{NOTHING, disk_words, metadata_words};
use crate::backend::aws::setup::plan::Properties;

impl Account {
    /// The security group of the workers; nothing, if there is none.
    pub(in crate::backend::aws::setup) async fn group(
        &self,
    ) -> Result<Option<SecurityGroup>, Fault> {
        let mut filters = vec![filter("group-name", &self.deployment.worker())];
        filters.extend(self.vpc.as_deref().map(|vpc| filter("vpc-id", vpc)));
        let answer = self
            .ec2
            .describe_security_groups()
            .set_filters(Some(filters))
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let mut groups = answer.security_groups.unwrap_or_default();
        if groups.len() > 1 {
            let ids = groups.iter().filter_map(|group| group.vpc_id());
            let ids: Vec<&str> = ids.collect();
            return Err(Fault::Refused {
                code: "Ambiguous".to_owned(),
                message: format!(
                    "there are security groups of this name in {}; choose one with --vpc",
                    ids.join(" and ")
                ),
            });
        }
        Ok(groups.pop())
    }

    pub(in crate::backend::aws::setup) async fn look_at_group(
        &self,
    ) -> Result<Option<Properties>, Fault> {
        let Some(group) = self.group().await? else {
            return Ok(None);
        };
        Ok(Some(Properties::from([
            ("inbound", words(&flows(group.ip_permissions())).into()),
            (
                "outbound",
                words(&flows(group.ip_permissions_egress())).into(),
            ),
            ("tag", ec2_tag(group.tags()).into()),
        ])))
    }

    /// The launch template of the workers; nothing, if there is none.
    pub(in crate::backend::aws::setup) async fn template(
        &self,
    ) -> Result<Option<LaunchTemplate>, Fault> {
        let answer = self
            .ec2
            .describe_launch_templates()
            .filters(filter("launch-template-name", &self.deployment.worker()))
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        Ok(answer.launch_templates.unwrap_or_default().pop())
    }

    pub(in crate::backend::aws::setup) async fn look_at_template(
        &self,
    ) -> Result<Option<Properties>, Fault> {
        let Some(template) = self.template().await? else {
            return Ok(None);
        };
        let answer = self
            .ec2
            .describe_launch_template_versions()
            .launch_template_name(self.deployment.worker())
            .versions("$Default")
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let version = answer.launch_template_versions().first();
        let mut found = Properties::new();
        if let Some(data) = version.and_then(|version| version.launch_template_data()) {
            let group = self.group().await?;
            let group = group.as_ref().and_then(|group| group.group_id());
            found = data_words(data, group, &self.deployment.worker());
        }
        found.insert("tag", ec2_tag(template.tags()).into());
        Ok(Some(found))
    }
}

/// A template's data in words. A security group is called by its name if it is the deployment's own (`group`, its id).
fn data_words(data: &ResponseLaunchTemplateData, group: Option<&str>, name: &str) -> Properties {
    let mut found = Properties::new();
    found.insert("image", data.image_id().unwrap_or("none").into());
    let instance_type = data.instance_type().map_or("none", |kind| kind.as_str());
    found.insert("instance type", instance_type.into());
    let profile = data.iam_instance_profile();
    let profile = profile.and_then(|profile| profile.name().or(profile.arn()));
    found.insert("instance profile", profile.unwrap_or("none").into());
    let groups = data.security_group_ids().iter();
    let groups = groups.map(|id| match Some(id.as_str()) == group {
        true => name,
        false => id,
    });
    let groups: Vec<&str> = groups.collect();
    found.insert("security group", groups.join(", ").into());
    found.insert("disk", disk(data).into());
    found.insert("metadata service", metadata(data).into());
    let shutdown = data.instance_initiated_shutdown_behavior();
    let shutdown = shutdown.map_or("stop", |behavior| behavior.as_str());
    found.insert("at shutdown", shutdown.into());
    let mut specifications = data.tag_specifications().iter();
    let of_instances =
        specifications.find(|one| one.resource_type() == Some(&ResourceType::Instance));
    let tags = of_instances.map_or(&[][..], |one| one.tags());
    found.insert("tag of instances", ec2_tag(tags).into());
    found
}

fn disk(data: &ResponseLaunchTemplateData) -> String {
    let described = data.block_device_mappings().first().and_then(|mapping| {
        let ebs = mapping.ebs()?;
        let safe = ebs.encrypted() == Some(true)
            && ebs.delete_on_termination() == Some(true)
            && ebs.volume_type() == Some(&VolumeType::Gp3);
        let words =
            || disk_words(mapping.device_name()?, ebs.volume_size()?, ebs.kms_key_id()).into();
        match safe {
            true => words(),
            false => Some("of another kind, not encrypted, or kept after the instance".to_owned()),
        }
    });
    described.unwrap_or_else(|| "as the image has it".to_owned())
}

fn metadata(data: &ResponseLaunchTemplateData) -> String {
    let Some(options) = data.metadata_options() else {
        return "as the account has it".to_owned();
    };
    let guarded = options.http_tokens() == Some(&LaunchTemplateHttpTokensState::Required)
        && options.http_endpoint() != Some(&LaunchTemplateInstanceMetadataEndpointState::Disabled)
        && options.instance_metadata_tags()
            == Some(&LaunchTemplateInstanceMetadataTagsState::Enabled);
    match guarded {
        true => metadata_words(options.http_put_response_hop_limit().unwrap_or(1)),
        false => "answers without a token, or has no tags".to_owned(),
    }
}

fn filter(name: &str, value: &str) -> Filter {
    Filter::builder().name(name).values(value).build()
}

fn ec2_tag(tags: &[Tag]) -> String {
    let pairs = tags
        .iter()
        .filter_map(|tag| Some((tag.key()?, tag.value()?)));
    tag_of(pairs)
}

/// What a group lets through: one protocol, some ports, one range or group at the other end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::backend::aws::setup) struct Flow {
    pub(in crate::backend::aws::setup) protocol: String,
    pub(in crate::backend::aws::setup) ports: Option<(i32, i32)>,
    pub(in crate::backend::aws::setup) peer: Peer,
}

/// The other end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::backend::aws::setup) enum Peer {
    V4(String),
    V6(String),
    Group(String),
    List(String),
}

/// Everything that is let through, each flow for itself.
pub(in crate::backend::aws::setup) fn flows(permissions: &[IpPermission]) -> Vec<Flow> {
    let mut found = Vec::new();
    for permission in permissions {
        let v4 = permission.ip_ranges().iter().filter_map(|r| r.cidr_ip());
        let v6 = permission
            .ipv6_ranges()
            .iter()
            .filter_map(|r| r.cidr_ipv6());
        let groups = permission.user_id_group_pairs().iter();
        let groups = groups.filter_map(|pair| pair.group_id());
        let lists = permission.prefix_list_ids().iter();
        let lists = lists.filter_map(|list| list.prefix_list_id());
        let peers = { v4.map(|range| Peer::V4(range.to_owned())) }
            .chain(v6.map(|range| Peer::V6(range.to_owned())))
            .chain(groups.map(|id| Peer::Group(id.to_owned())))
            .chain(lists.map(|id| Peer::List(id.to_owned())));
        found.extend(peers.map(|peer| Flow {
            protocol: permission.ip_protocol().unwrap_or("-1").to_owned(),
            ports: permission.from_port().zip(permission.to_port()),
            peer,
        }));
    }
    found.sort();
    found
}

fn words(flows: &[Flow]) -> String {
    let word = |flow: &Flow| {
        let ports = match (flow.protocol.as_str(), flow.ports) {
            ("-1", _) => "anything".to_owned(),
            (protocol, None) => protocol.to_owned(),
            (protocol, Some((from, to))) if from == to => format!("{protocol} {from}"),
            (protocol, Some((from, to))) => format!("{protocol} {from}-{to}"),
        };
        let (Peer::V4(peer) | Peer::V6(peer) | Peer::Group(peer) | Peer::List(peer)) = &flow.peer;
        format!("{ports} to {peer}")
    };
    match flows {
        [] => NOTHING.to_owned(),
        some => some.iter().map(word).collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_ec2::types::{IpRange, Ipv6Range};

    use super::*;
    use crate::backend::aws::setup::desired::outbound_words;

    fn permission(
        protocol: &str,
        port: Option<i32>,
    ) -> aws_sdk_ec2::types::builders::IpPermissionBuilder {
        IpPermission::builder()
            .ip_protocol(protocol)
            .set_from_port(port)
            .set_to_port(port)
            .ip_ranges(IpRange::builder().cidr_ip("0.0.0.0/0").build())
    }

    #[test]
    fn what_goes_out_is_told_in_the_words_of_the_description() {
        let v6 = Ipv6Range::builder().cidr_ipv6("::/0").build();
        let both = permission("tcp", Some(443)).ipv6_ranges(v6).build();
        assert_eq!(words(&flows(&[both])), outbound_words());
        let everything = permission("-1", None).build();
        assert_eq!(words(&flows(&[everything])), "anything to 0.0.0.0/0");
        assert_eq!(words(&flows(&[])), NOTHING);
    }
}
