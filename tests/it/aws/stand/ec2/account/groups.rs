//! Security groups: what may come in and go out, one rule for each range or group.

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, fields, items, text};
use super::filters::{Values, matches, page};
use super::tags::{self, Tags};
use super::{Account, Answer, OWNER, required};

pub(super) struct Group {
    pub(super) id: String,
    pub(super) name: String,
    description: String,
    vpc: String,
    pub(super) tags: Tags,
    ingress: Vec<Rule>,
    egress: Vec<Rule>,
}

/// One range, list or group that may be reached over some ports. Rules are the same if all but their description is.
#[derive(Clone, PartialEq, Eq)]
struct Rule {
    protocol: String,
    ports: Option<(i32, i32)>,
    peer: Peer,
}

#[derive(Clone, PartialEq, Eq)]
enum Peer {
    V4(String),
    V6(String),
    Group(String),
    List(String),
}

impl Account {
    pub(super) fn create_group(&mut self, params: &Params) -> Answer {
        let name = required(params, "GroupName")?.to_owned();
        let description = required(params, "GroupDescription")?.to_owned();
        if name.starts_with("sg-") || name.len() > 255 || description.len() > 255 {
            return Err(Refusal::value("Invalid group name or description"));
        }
        let vpc = params
            .text(&["VpcId"])
            .unwrap_or(&self.network.vpc)
            .to_owned();
        self.is_vpc(&vpc)?;
        tags::only_for(params, &["security-group"])?;
        let tags = tags::given(params, "security-group", Tags::new())?;
        if self
            .groups
            .iter()
            .any(|group| group.name == name && group.vpc == vpc)
        {
            let message = format!("The security group '{name}' already exists for VPC '{vpc}'");
            return Err(Refusal::new("InvalidGroup.Duplicate", message));
        }
        let group = Group {
            id: self.id("sg"),
            name,
            description,
            vpc,
            tags,
            ingress: Vec::new(),
            // A new group lets everything out.
            egress: vec![Rule {
                protocol: "-1".to_owned(),
                ports: None,
                peer: Peer::V4("0.0.0.0/0".to_owned()),
            }],
        };
        let answer = fields([
            ("return", text(true)),
            ("groupId", text(&group.id)),
            (
                "securityGroupArn",
                text(self.arn(&format!("security-group/{}", group.id))),
            ),
            ("tagSet", tags::xml(&group.tags)),
        ]);
        self.groups.push(group);
        Ok(answer)
    }

    /// The group of this id.
    pub(super) fn group(&mut self, id: &str) -> Result<&mut Group, Refusal> {
        let found = self.groups.iter_mut().find(|group| group.id == id);
        found.ok_or_else(|| {
            let malformed = !id.starts_with("sg-");
            match malformed {
                true => Refusal::new(
                    "InvalidGroupId.Malformed",
                    format!("Invalid id: \"{id}\" (expecting \"sg-...\")"),
                ),
                false => Refusal::new(
                    "InvalidGroup.NotFound",
                    format!("The security group '{id}' does not exist"),
                ),
            }
        })
    }

    pub(super) fn describe_groups(&mut self, params: &Params) -> Answer {
        let (ids, names) = (params.texts("GroupId"), params.texts("GroupName"));
        for id in &ids {
            self.group(id)?;
        }
        if let Some(name) = names
            .iter()
            .find(|name| !self.groups.iter().any(|group| group.name == **name))
        {
            let message = format!("The security group '{name}' does not exist");
            return Err(Refusal::new("InvalidGroup.NotFound", message));
        }
        let mut found = Vec::new();
        for group in &self.groups {
            let values = Values::from([
                ("group-id", vec![group.id.as_str()]),
                ("group-name", vec![group.name.as_str()]),
                ("vpc-id", vec![group.vpc.as_str()]),
                ("description", vec![group.description.as_str()]),
                ("owner-id", vec![OWNER]),
            ]);
            let named = (ids.is_empty() && names.is_empty())
                || ids.contains(&group.id)
                || names.contains(&group.name);
            if matches(params, &values, &group.tags)? && named {
                found.push(self.group_xml(group));
            }
        }
        let (found, next) = page(params, found, self.page)?;
        Ok(fields([("securityGroupInfo", items(found))]).with("nextToken", next))
    }

    pub(super) fn delete_group(&mut self, params: &Params) -> Answer {
        let id = required(params, "GroupId")?;
        self.group(id)?;
        let uses = |instance: &super::Instance| {
            !instance.is_over() && instance.groups.iter().any(|group| group == id)
        };
        if self.instances.iter().any(uses) {
            let message = format!("resource {id} has a dependent object");
            return Err(Refusal::new("DependencyViolation", message));
        }
        self.groups.retain(|group| group.id != id);
        Ok(fields([("return", text(true)), ("groupId", text(id))]))
    }

    pub(super) fn authorize_egress(&mut self, params: &Params) -> Answer {
        self.authorize(params, |group| &mut group.egress)
    }

    pub(super) fn authorize_ingress(&mut self, params: &Params) -> Answer {
        self.authorize(params, |group| &mut group.ingress)
    }

    fn authorize(&mut self, params: &Params, side: fn(&mut Group) -> &mut Vec<Rule>) -> Answer {
        let new = rules(params)?;
        let rules = side(self.group(required(params, "GroupId")?)?);
        if new.iter().any(|rule| rules.contains(rule)) {
            let message = "the specified rule already exists";
            return Err(Refusal::new("InvalidPermission.Duplicate", message));
        }
        rules.extend(new);
        Ok(fields([("return", text(true))]))
    }

    pub(super) fn revoke_egress(&mut self, params: &Params) -> Answer {
        self.revoke(params, |group| &mut group.egress)
    }

    pub(super) fn revoke_ingress(&mut self, params: &Params) -> Answer {
        self.revoke(params, |group| &mut group.ingress)
    }

    fn revoke(&mut self, params: &Params, side: fn(&mut Group) -> &mut Vec<Rule>) -> Answer {
        let old = rules(params)?;
        let rules = side(self.group(required(params, "GroupId")?)?);
        if !old.iter().all(|rule| rules.contains(rule)) {
            let message = "The specified rule does not exist in this security group.";
            return Err(Refusal::new("InvalidPermission.NotFound", message));
        }
        rules.retain(|rule| !old.contains(rule));
        Ok(fields([("return", text(true))]))
    }

    fn group_xml(&self, group: &Group) -> Xml {
        fields([
            ("ownerId", text(OWNER)),
            ("groupId", text(&group.id)),
            ("groupName", text(&group.name)),
            ("groupDescription", text(&group.description)),
            ("vpcId", text(&group.vpc)),
            (
                "securityGroupArn",
                text(self.arn(&format!("security-group/{}", group.id))),
            ),
            ("ipPermissions", permissions(&group.ingress)),
            ("ipPermissionsEgress", permissions(&group.egress)),
            ("tagSet", tags::xml(&group.tags)),
        ])
    }
}

/// The rules of a request.
fn rules(params: &Params) -> Result<Vec<Rule>, Refusal> {
    let mut rules = Vec::new();
    for permission in params.list("IpPermissions") {
        let protocol = match permission.text(&["IpProtocol"]) {
            Some("6") => "tcp",
            Some("17") => "udp",
            Some(protocol @ ("tcp" | "udp" | "icmp" | "icmpv6" | "-1")) => protocol,
            other => {
                return Err(Refusal::value(format!(
                    "Invalid value '{}' for IP protocol.",
                    other.unwrap_or_default()
                )));
            }
        };
        let port = |name| permission.text(&[name]).and_then(|port| port.parse().ok());
        // Ports of a rule for all protocols are not kept.
        let ports = match (protocol, port("FromPort"), port("ToPort")) {
            ("-1", ..) => None,
            (_, Some(from), Some(to)) if from <= to => Some((from, to)),
            _ => return Err(Refusal::value("Invalid port range")),
        };
        let before = rules.len();
        for (list, name, peer) in [
            ("IpRanges", "CidrIp", Peer::V4 as fn(String) -> Peer),
            ("Ipv6Ranges", "CidrIpv6", Peer::V6),
            ("Groups", "GroupId", Peer::Group),
            ("PrefixListIds", "PrefixListId", Peer::List),
        ] {
            for range in permission.list(list) {
                let peer = peer(required(range, name)?.to_owned());
                let protocol = protocol.to_owned();
                rules.push(Rule {
                    protocol,
                    ports,
                    peer,
                });
            }
        }
        if rules.len() == before {
            return Err(Refusal::missing("IpRanges"));
        }
    }
    match rules.is_empty() {
        true => Err(Refusal::missing("IpPermissions")),
        false => Ok(rules),
    }
}

/// Rules of the same protocol and ports are one permission.
fn permissions(rules: &[Rule]) -> Xml {
    let mut kinds: Vec<(&str, Option<(i32, i32)>)> = Vec::new();
    for rule in rules {
        if !kinds.contains(&(&rule.protocol, rule.ports)) {
            kinds.push((&rule.protocol, rule.ports));
        }
    }
    items(kinds.into_iter().map(|(protocol, ports)| {
        let of = |name: &'static str, pick: fn(&Peer) -> Option<&String>| {
            let of = rules
                .iter()
                .filter(|rule| (rule.protocol.as_str(), rule.ports) == (protocol, ports));
            items(
                of.filter_map(|rule| pick(&rule.peer))
                    .map(|peer| fields([(name, text(peer))])),
            )
        };
        let v4 = of("cidrIp", |peer| match peer {
            Peer::V4(range) => Some(range),
            _ => None,
        });
        let v6 = of("cidrIpv6", |peer| match peer {
            Peer::V6(range) => Some(range),
            _ => None,
        });
        let groups = of("groupId", |peer| match peer {
            Peer::Group(id) => Some(id),
            _ => None,
        });
        let lists = of("prefixListId", |peer| match peer {
            Peer::List(id) => Some(id),
            _ => None,
        });
        fields([
            ("ipProtocol", text(protocol)),
            ("ipRanges", v4),
            ("ipv6Ranges", v6),
            ("groups", groups),
            ("prefixListIds", lists),
        ])
        .with("fromPort", ports.map(|(from, _)| text(from)))
        .with("toPort", ports.map(|(_, to)| text(to)))
    }))
}
