//! Making the security group and the launch template of the workers.

use aws_sdk_ec2::types::{
    Filter, InstanceType, IpPermission, IpRange, Ipv6Range,
    LaunchTemplateBlockDeviceMappingRequest, LaunchTemplateEbsBlockDeviceRequest,
    LaunchTemplateHttpTokensState, LaunchTemplateIamInstanceProfileSpecificationRequest,
    LaunchTemplateInstanceMetadataEndpointState, LaunchTemplateInstanceMetadataOptionsRequest,
    LaunchTemplateInstanceMetadataTagsState, LaunchTemplateTagSpecificationRequest, PrefixListId,
    RequestLaunchTemplateData, ResourceType, ShutdownBehavior, Tag, TagSpecification,
    UserIdGroupPair, VolumeType,
};

use super::not_set;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::account::Account;
use crate::backend::aws::setup::deployment::DEPLOYMENT_TAG;
use crate::backend::aws::setup::desired::{
    DISK_DEVICE, DISK_GIB, GROUP_DESCRIPTION, HTTPS_PORT, image,
};
use crate::backend::aws::setup::look::{Flow, Peer, flows};

/// What EC2 answers while it does not know yet what was made a moment ago.
const BUSY: &[&str] = &[
    "InvalidGroup.NotFound",
    "InvalidLaunchTemplateName.NotFoundException",
];

impl Account {
    pub(in crate::backend::aws::setup) async fn create_group(&self) -> Result<(), Fault> {
        let vpc = self.network().await?;
        let answer = self
            .ec2
            .create_security_group()
            .group_name(self.deployment.worker())
            .description(GROUP_DESCRIPTION)
            .vpc_id(vpc)
            .tag_specifications(self.tagged(ResourceType::SecurityGroup))
            .send()
            .await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(_) => {}
            // An earlier attempt was answered after all.
            Err(fault) if fault.is("InvalidGroup.Duplicate") => {}
            Err(fault) => return Err(fault),
        }
        // It is seen a moment later than it is made.
        self.patiently(BUSY, async || self.group_id().await.map(drop))
            .await
    }

    pub(in crate::backend::aws::setup) async fn set_of_group(
        &self,
        property: &str,
    ) -> Result<(), Fault> {
        let set = async || match property {
            "inbound" => self.let_nothing_in().await,
            "outbound" => self.let_https_out().await,
            other => Err(not_set(other)),
        };
        self.patiently(BUSY, set).await
    }

    async fn let_nothing_in(&self) -> Result<(), Fault> {
        let Some(group) = self.group().await? else {
            return Err(no_group());
        };
        let answer = self
            .ec2
            .revoke_security_group_ingress()
            .set_group_id(group.group_id)
            .set_ip_permissions(group.ip_permissions)
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    /// What may go out is let out before what may not is stopped, so that workers never stand alone.
    async fn let_https_out(&self) -> Result<(), Fault> {
        let Some(group) = self.group().await? else {
            return Err(no_group());
        };
        let found = flows(group.ip_permissions_egress());
        let (lacking, excess) = difference(&found, &https());
        if !lacking.is_empty() {
            let answer = self
                .ec2
                .authorize_security_group_egress()
                .set_group_id(group.group_id.clone())
                .set_ip_permissions(Some(lacking.iter().map(permission).collect()))
                .send()
                .await;
            answer.map_err(|error| Fault::of(&error))?;
        }
        if !excess.is_empty() {
            let answer = self
                .ec2
                .revoke_security_group_egress()
                .set_group_id(group.group_id)
                .set_ip_permissions(Some(excess.iter().map(permission).collect()))
                .send()
                .await;
            answer.map_err(|error| Fault::of(&error))?;
        }
        Ok(())
    }

    async fn group_id(&self) -> Result<String, Fault> {
        let group = self.group().await?;
        group.and_then(|group| group.group_id).ok_or_else(no_group)
    }

    /// The network of the workers: the one that was chosen, or the account's default one.
    async fn network(&self) -> Result<String, Fault> {
        if let Some(vpc) = &self.vpc {
            return Ok(vpc.clone());
        }
        let default = Filter::builder().name("is-default").values("true").build();
        let answer = self.ec2.describe_vpcs().filters(default).send().await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let vpc = answer.vpcs().iter().find_map(|vpc| vpc.vpc_id());
        vpc.map(str::to_owned).ok_or_else(|| Fault::Refused {
            code: "NoDefaultVpc".to_owned(),
            message: "the account has no default network in this region; choose one with --vpc"
                .to_owned(),
        })
    }

    pub(in crate::backend::aws::setup) async fn create_template(&self) -> Result<(), Fault> {
        let answer = self
            .ec2
            .create_launch_template()
            .launch_template_name(self.deployment.worker())
            .launch_template_data(self.template_data().await?)
            .tag_specifications(self.tagged(ResourceType::LaunchTemplate))
            .send()
            .await;
        match answer.map_err(|error| Fault::of(&error)) {
            Ok(_) => Ok(()),
            // An earlier attempt was answered after all.
            Err(fault) if fault.is("InvalidLaunchTemplateName.AlreadyExistsException") => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// A version with everything as it should be, which becomes the default one.
    pub(in crate::backend::aws::setup) async fn new_version(&self) -> Result<(), Fault> {
        let name = self.deployment.worker();
        let answer = self
            .ec2
            .create_launch_template_version()
            .launch_template_name(&name)
            .launch_template_data(self.template_data().await?)
            .send()
            .await;
        let answer = answer.map_err(|error| Fault::of(&error))?;
        let version = answer.launch_template_version;
        let number = version.and_then(|version| version.version_number);
        let Some(number) = number else {
            return Err(Fault::Uncertain("EC2 named no version".to_owned()));
        };
        let answer = self
            .ec2
            .modify_launch_template()
            .launch_template_name(&name)
            .default_version(number.to_string())
            .send()
            .await;
        answer.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn template_data(&self) -> Result<RequestLaunchTemplateData, Fault> {
        let deployment = &self.deployment;
        let group = self.group_id().await?;
        let profile = LaunchTemplateIamInstanceProfileSpecificationRequest::builder()
            .name(deployment.worker())
            .build();
        let disk = LaunchTemplateEbsBlockDeviceRequest::builder()
            .volume_size(DISK_GIB)
            .volume_type(VolumeType::Gp3)
            .encrypted(true)
            .delete_on_termination(true)
            .set_kms_key_id(deployment.kms_key.clone())
            .build();
        let mapping = LaunchTemplateBlockDeviceMappingRequest::builder()
            .device_name(DISK_DEVICE)
            .ebs(disk)
            .build();
        let metadata = LaunchTemplateInstanceMetadataOptionsRequest::builder()
            .http_endpoint(LaunchTemplateInstanceMetadataEndpointState::Enabled)
            .http_tokens(LaunchTemplateHttpTokensState::Required)
            .http_put_response_hop_limit(1)
            .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Enabled)
            .build();
        let tagged = |kind| {
            LaunchTemplateTagSpecificationRequest::builder()
                .resource_type(kind)
                .tags(self.tag())
                .build()
        };
        let instance_type = InstanceType::from(deployment.architecture.instance_type());
        Ok(RequestLaunchTemplateData::builder()
            .image_id(image(deployment))
            .instance_type(instance_type)
            .iam_instance_profile(profile)
            .security_group_ids(group)
            .block_device_mappings(mapping)
            .metadata_options(metadata)
            .instance_initiated_shutdown_behavior(ShutdownBehavior::Terminate)
            .tag_specifications(tagged(ResourceType::Instance))
            .tag_specifications(tagged(ResourceType::Volume))
            .tag_specifications(tagged(ResourceType::NetworkInterface))
            .build())
    }

    fn tagged(&self, kind: ResourceType) -> TagSpecification {
        let tagged = TagSpecification::builder().resource_type(kind);
        tagged.tags(self.tag()).build()
    }

    fn tag(&self) -> Tag {
        let tag = Tag::builder().key(DEPLOYMENT_TAG);
        tag.value(&self.deployment.name).build()
    }
}

fn no_group() -> Fault {
    Fault::Refused {
        code: "InvalidGroup.NotFound".to_owned(),
        message: "there is no security group of the workers".to_owned(),
    }
}

/// What goes out: HTTPS, everywhere.
fn https() -> Vec<Flow> {
    let to = |peer| Flow {
        protocol: "tcp".to_owned(),
        ports: Some((HTTPS_PORT, HTTPS_PORT)),
        peer,
    };
    vec![
        to(Peer::V4("0.0.0.0/0".to_owned())),
        to(Peer::V6("::/0".to_owned())),
    ]
}

/// What is to be added and what is to be taken away.
fn difference(found: &[Flow], wanted: &[Flow]) -> (Vec<Flow>, Vec<Flow>) {
    let without = |some: &[Flow], others: &[Flow]| -> Vec<Flow> {
        let left = some.iter().filter(|flow| !others.contains(flow));
        left.cloned().collect()
    };
    (without(wanted, found), without(found, wanted))
}

fn permission(flow: &Flow) -> IpPermission {
    let permission = IpPermission::builder()
        .ip_protocol(&flow.protocol)
        .set_from_port(flow.ports.map(|(from, _)| from))
        .set_to_port(flow.ports.map(|(_, to)| to));
    let permission = match &flow.peer {
        Peer::V4(range) => permission.ip_ranges(IpRange::builder().cidr_ip(range).build()),
        Peer::V6(range) => permission.ipv6_ranges(Ipv6Range::builder().cidr_ipv6(range).build()),
        Peer::Group(id) => {
            permission.user_id_group_pairs(UserIdGroupPair::builder().group_id(id).build())
        }
        Peer::List(id) => {
            permission.prefix_list_ids(PrefixListId::builder().prefix_list_id(id).build())
        }
    };
    permission.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_changed() {
        let everything = Flow {
            protocol: "-1".to_owned(),
            ports: None,
            peer: Peer::V4("0.0.0.0/0".to_owned()),
        };
        // What EC2 gives a new group.
        let new = [everything.clone()];
        assert_eq!(difference(&new, &https()), (https(), vec![everything]));
        assert_eq!(difference(&https(), &https()), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_flow_is_a_permission_and_back() {
        let mut all = https();
        all.sort();
        let permissions: Vec<IpPermission> = all.iter().map(permission).collect();
        assert_eq!(flows(&permissions), all);
    }
}
