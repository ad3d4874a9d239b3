//! The network and its security groups.

use aws_sdk_ec2::types::{IpPermission, IpRange, Ipv6Range, ResourceType};
use pretty_assertions::assert_eq;

use super::*;

fn https(v4: &[&str], v6: &[&str]) -> IpPermission {
    let v4 = v4
        .iter()
        .map(|range| IpRange::builder().cidr_ip(*range).build());
    let v6 = v6
        .iter()
        .map(|range| Ipv6Range::builder().cidr_ipv6(*range).build());
    let ports = IpPermission::builder()
        .ip_protocol("tcp")
        .from_port(443)
        .to_port(443);
    ports
        .set_ip_ranges(Some(v4.collect()))
        .set_ipv6_ranges(Some(v6.collect()))
        .build()
}

fn everything() -> IpPermission {
    let range = IpRange::builder().cidr_ip("0.0.0.0/0").build();
    IpPermission::builder()
        .ip_protocol("-1")
        .ip_ranges(range)
        .build()
}

/// What may go out of a group, in words.
async fn outbound(client: &aws_sdk_ec2::Client, id: &str) -> Vec<String> {
    let groups = client
        .describe_security_groups()
        .group_ids(id)
        .send()
        .await
        .expect("a group");
    let group = &groups.security_groups()[0];
    assert!(group.ip_permissions().is_empty());
    let words = |p: &IpPermission| {
        let v4 = p.ip_ranges().iter().filter_map(|range| range.cidr_ip());
        let v6 = p.ipv6_ranges().iter().filter_map(|range| range.cidr_ipv6());
        let ranges: Vec<_> = v4.chain(v6).collect();
        let ports = p.from_port().zip(p.to_port());
        format!(
            "{} {ports:?} {ranges:?}",
            p.ip_protocol().unwrap_or_default()
        )
    };
    group.ip_permissions_egress().iter().map(words).collect()
}

#[tokio::test]
async fn a_region_has_one_default_network_with_a_subnet_in_each_zone() {
    let (_ec2, client) = stand_in();
    let default = client
        .describe_vpcs()
        .filters(filter("is-default", &["true"]));
    let default = default.send().await.expect("networks");
    let [vpc] = default.vpcs() else {
        panic!("{default:?}")
    };
    let id = vpc.vpc_id().unwrap_or_default();
    assert_eq!((vpc.is_default(), id.len()), (Some(true), 21));
    let other = client
        .describe_vpcs()
        .filters(filter("is-default", &["false"]));
    assert!(other.send().await.expect("networks").vpcs().is_empty());
    let none = client
        .describe_vpcs()
        .vpc_ids("vpc-00000000000000000")
        .send()
        .await;
    assert_eq!(
        none.map(drop).map_err(word),
        Err("InvalidVpcID.NotFound".to_owned())
    );
    let subnets = client.describe_subnets().filters(filter("vpc-id", &[id]));
    let subnets = subnets.send().await.expect("subnets");
    let zones: Vec<_> = { subnets.subnets().iter() }
        .filter_map(|subnet| subnet.availability_zone())
        .collect();
    assert_eq!(zones, ["eu-west-1a", "eu-west-1b", "eu-west-1c"]);
}

#[tokio::test]
async fn a_group_begins_open_and_is_made_narrow() {
    let (_ec2, client) = stand_in();
    let make = || {
        let group = client
            .create_security_group()
            .group_name("worker")
            .description("workers");
        group
            .tag_specifications(tagged(ResourceType::SecurityGroup, &[("d", "one")]))
            .send()
    };
    let made = make().await.expect("a group");
    let id = made.group_id().unwrap_or_default();
    assert_eq!(
        make().await.map(drop).map_err(word),
        Err("InvalidGroup.Duplicate".to_owned())
    );
    assert_eq!(outbound(&client, id).await, [r#"-1 None ["0.0.0.0/0"]"#]);
    let allow = |permission| {
        let allow = client.authorize_security_group_egress().group_id(id);
        allow.ip_permissions(permission).send()
    };
    let revoke = |permission| {
        let revoke = client.revoke_security_group_egress().group_id(id);
        revoke.ip_permissions(permission).send()
    };
    allow(https(&["0.0.0.0/0"], &["::/0"]))
        .await
        .expect("a rule");
    revoke(everything()).await.expect("no rule");
    assert_eq!(
        outbound(&client, id).await,
        [r#"tcp Some((443, 443)) ["0.0.0.0/0", "::/0"]"#]
    );
    let twice = allow(https(&["0.0.0.0/0"], &[])).await;
    assert_eq!(
        twice.map(drop).map_err(word),
        Err("InvalidPermission.Duplicate".to_owned())
    );
    let absent = revoke(https(&["10.0.0.0/8"], &[])).await;
    assert_eq!(
        absent.map(drop).map_err(word),
        Err("InvalidPermission.NotFound".to_owned())
    );
    revoke(https(&[], &["::/0"])).await.expect("one less");
    assert_eq!(
        outbound(&client, id).await,
        [r#"tcp Some((443, 443)) ["0.0.0.0/0"]"#]
    );
    let inbound = client.authorize_security_group_ingress().group_id(id);
    inbound
        .ip_permissions(https(&["10.0.0.0/8"], &[]))
        .send()
        .await
        .expect("a rule");
    let inbound = client.revoke_security_group_ingress().group_id(id);
    inbound
        .ip_permissions(https(&["10.0.0.0/8"], &[]))
        .send()
        .await
        .expect("no rule");

    let named = client
        .describe_security_groups()
        .filters(filter("group-name", &["worker"]));
    let named = named
        .filters(filter("tag:d", &["one"]))
        .send()
        .await
        .expect("groups");
    assert_eq!(named.security_groups()[0].group_id(), Some(id));
    let tags = client.create_tags().resources(id).tags(tag("d", "two"));
    tags.send().await.expect("a tag");
    let named = client
        .describe_security_groups()
        .filters(filter("tag:d", &["one"]));
    assert!(
        named
            .send()
            .await
            .expect("groups")
            .security_groups()
            .is_empty()
    );
}

#[tokio::test]
async fn a_group_that_is_used_is_not_deleted() {
    let (_ec2, client) = stand_in();
    let group = client
        .create_security_group()
        .group_name("worker")
        .description("workers");
    let group = group.send().await.expect("a group");
    let id = group.group_id().unwrap_or_default();
    let instance = launched(launch(&client, "a").security_group_ids(id))
        .await
        .expect("a launch");
    let delete = || client.delete_security_group().group_id(id).send();
    assert_eq!(
        delete().await.map(drop).map_err(word),
        Err("DependencyViolation".to_owned())
    );
    terminate(&client, &instance[0]).await.expect("it ends");
    assert_eq!(
        delete().await.map(drop).map_err(word),
        Err("DependencyViolation".to_owned())
    );
    assert_eq!(states(&client).await, ["terminated"]);
    delete().await.expect("nobody uses it");
    assert_eq!(
        delete().await.map(drop).map_err(word),
        Err("InvalidGroup.NotFound".to_owned())
    );
}
