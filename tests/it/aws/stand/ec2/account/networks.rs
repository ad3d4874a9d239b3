//! One default network with a subnet in each of three zones, as a new account has it.

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, fields, items, text};
use super::filters::{Values, matches, page};
use super::tags::Tags;
use super::{Account, Answer, OWNER};

#[derive(Default)]
pub(super) struct Network {
    pub(super) vpc: String,
    pub(super) subnets: Vec<Subnet>,
}

pub(super) struct Subnet {
    pub(super) id: String,
    pub(super) zone: String,
    block: String,
}

impl Subnet {
    /// The n-th address in it; the first few and the last are AWS' own.
    pub(super) fn address(&self, n: u64) -> String {
        let start = self.block.trim_end_matches("0/20");
        format!("{start}{}", 4 + n % 250)
    }
}

const VPC_BLOCK: &str = "172.31.0.0/16";

impl Account {
    pub(super) fn make_network(&mut self) {
        self.network.vpc = self.id("vpc");
        self.network.subnets = ["a", "b", "c"]
            .into_iter()
            .enumerate()
            .map(|(n, zone)| Subnet {
                id: self.id("subnet"),
                zone: format!("{}{zone}", self.region),
                block: format!("172.31.{}.0/20", n * 16),
            })
            .collect();
    }

    /// The subnet of this id.
    pub(super) fn subnet(&self, id: &str) -> Result<&Subnet, Refusal> {
        let found = self.network.subnets.iter().find(|subnet| subnet.id == id);
        found.ok_or_else(|| Refusal::id("InvalidSubnetID", "subnet", "subnet", id))
    }

    /// The subnet of a zone.
    pub(super) fn subnet_in(&self, zone: &str) -> Result<&Subnet, Refusal> {
        let mut subnets = self.network.subnets.iter();
        subnets.find(|subnet| subnet.zone == zone).ok_or_else(|| {
            Refusal::value(format!(
                "Value ({zone}) for parameter availabilityZone is invalid."
            ))
        })
    }

    pub(super) fn is_vpc(&self, id: &str) -> Result<(), Refusal> {
        match id == self.network.vpc {
            true => Ok(()),
            false => Err(Refusal::id("InvalidVpcID", "vpc", "vpc", id)),
        }
    }

    pub(super) fn describe_vpcs(&mut self, params: &Params) -> Answer {
        let vpc = &self.network.vpc;
        for id in params.texts("VpcId") {
            self.is_vpc(&id)?;
        }
        let values = Values::from([
            ("vpc-id", vec![vpc.as_str()]),
            ("is-default", vec!["true"]),
            ("isDefault", vec!["true"]),
            ("state", vec!["available"]),
            ("cidr", vec![VPC_BLOCK]),
        ]);
        let mut found = Vec::new();
        if matches(params, &values, &Tags::new())? {
            found.push(fields([
                ("vpcId", text(vpc)),
                ("ownerId", text(OWNER)),
                ("state", text("available")),
                ("cidrBlock", text(VPC_BLOCK)),
                ("dhcpOptionsId", text("default")),
                ("instanceTenancy", text("default")),
                ("isDefault", text(true)),
            ]));
        }
        let (found, next) = page(params, found, self.page)?;
        Ok(fields([("vpcSet", items(found))]).with("nextToken", next))
    }

    pub(super) fn describe_subnets(&mut self, params: &Params) -> Answer {
        let ids = params.texts("SubnetId");
        for id in &ids {
            self.subnet(id)?;
        }
        let mut found = Vec::new();
        for subnet in &self.network.subnets {
            let values = Values::from([
                ("subnet-id", vec![subnet.id.as_str()]),
                ("vpc-id", vec![self.network.vpc.as_str()]),
                ("availability-zone", vec![subnet.zone.as_str()]),
                ("default-for-az", vec!["true"]),
                ("state", vec!["available"]),
            ]);
            if matches(params, &values, &Tags::new())?
                && (ids.is_empty() || ids.contains(&subnet.id))
            {
                found.push(self.subnet_xml(subnet));
            }
        }
        let (found, next) = page(params, found, self.page)?;
        Ok(fields([("subnetSet", items(found))]).with("nextToken", next))
    }

    fn subnet_xml(&self, subnet: &Subnet) -> Xml {
        fields([
            ("subnetId", text(&subnet.id)),
            (
                "subnetArn",
                text(self.arn(&format!("subnet/{}", subnet.id))),
            ),
            ("state", text("available")),
            ("ownerId", text(OWNER)),
            ("vpcId", text(&self.network.vpc)),
            ("cidrBlock", text(&subnet.block)),
            ("availableIpAddressCount", text(4091)),
            ("availabilityZone", text(&subnet.zone)),
            ("defaultForAz", text(true)),
            ("mapPublicIpOnLaunch", text(true)),
        ])
    }
}
