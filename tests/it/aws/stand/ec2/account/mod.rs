//! What an account has in one region, and the operations on it, each a function from parameters to an answer or a refusal.

mod filters;
mod groups;
mod instances;
mod launch;
mod networks;
mod tags;
mod templates;

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::when::mixed;
use super::query::Params;
use super::refusal::Refusal;
use super::xml::Xml;

pub(crate) use self::instances::{Ended, Instance, Pace, Power, State};
use self::tags::Tags;

/// Whose account it is.
const OWNER: &str = "123456789012";

type Answer = Result<Xml, Refusal>;

/// Everything in one account and region.
pub(super) struct Account {
    region: String,
    instances: Vec<Instance>,
    /// What was launched under which token: what was asked, and the reservation.
    launches: BTreeMap<launch::Token, (Params, String)>,
    templates: Vec<templates::Template>,
    groups: Vec<groups::Group>,
    network: networks::Network,
    /// What new instances do before they are running, and after they are terminated.
    pub(super) pace: Pace,
    /// Launched instances run as machines of their own, which say themselves when they are up and when they have ended.
    pub(super) machines: bool,
    /// What has to happen to machines because of what was done.
    pub(super) powers: Vec<Power>,
    /// Results on a page, unless the request wants fewer.
    pub(super) page: usize,
    seed: u64,
    ids: u64,
}

/// An operation: its name, the parameters that it knows, and what it does.
type Operation = (
    &'static str,
    &'static [&'static str],
    fn(&mut Account, &Params) -> Answer,
);

const OPERATIONS: &[Operation] = &[
    ("RunInstances", launch::PARAMETERS, Account::run),
    (
        "DescribeInstances",
        &["InstanceId", "Filter", "MaxResults", "NextToken"],
        Account::describe_instances,
    ),
    ("TerminateInstances", &["InstanceId"], Account::terminate),
    ("CreateTags", &["ResourceId", "Tag"], Account::create_tags),
    ("DeleteTags", &["ResourceId", "Tag"], Account::delete_tags),
    (
        "DescribeVpcs",
        &["VpcId", "Filter", "MaxResults", "NextToken"],
        Account::describe_vpcs,
    ),
    (
        "DescribeSubnets",
        &["SubnetId", "Filter", "MaxResults", "NextToken"],
        Account::describe_subnets,
    ),
    (
        "CreateSecurityGroup",
        &["GroupName", "GroupDescription", "VpcId", "TagSpecification"],
        Account::create_group,
    ),
    (
        "DescribeSecurityGroups",
        &["GroupId", "GroupName", "Filter", "MaxResults", "NextToken"],
        Account::describe_groups,
    ),
    ("DeleteSecurityGroup", &["GroupId"], Account::delete_group),
    (
        "AuthorizeSecurityGroupEgress",
        &["GroupId", "IpPermissions"],
        Account::authorize_egress,
    ),
    (
        "AuthorizeSecurityGroupIngress",
        &["GroupId", "IpPermissions"],
        Account::authorize_ingress,
    ),
    (
        "RevokeSecurityGroupEgress",
        &["GroupId", "IpPermissions"],
        Account::revoke_egress,
    ),
    (
        "RevokeSecurityGroupIngress",
        &["GroupId", "IpPermissions"],
        Account::revoke_ingress,
    ),
    (
        "CreateLaunchTemplate",
        &[
            "LaunchTemplateName",
            "VersionDescription",
            "LaunchTemplateData",
            "TagSpecification",
            "ClientToken",
        ],
        Account::create_template,
    ),
    (
        "CreateLaunchTemplateVersion",
        &[
            "LaunchTemplateId",
            "LaunchTemplateName",
            "SourceVersion",
            "VersionDescription",
            "LaunchTemplateData",
            "ClientToken",
        ],
        Account::create_template_version,
    ),
    (
        "ModifyLaunchTemplate",
        &[
            "LaunchTemplateId",
            "LaunchTemplateName",
            "SetDefaultVersion",
            "ClientToken",
        ],
        Account::modify_template,
    ),
    (
        "DeleteLaunchTemplate",
        &["LaunchTemplateId", "LaunchTemplateName"],
        Account::delete_template,
    ),
    (
        "DescribeLaunchTemplates",
        &[
            "LaunchTemplateId",
            "LaunchTemplateName",
            "Filter",
            "MaxResults",
            "NextToken",
        ],
        Account::describe_templates,
    ),
    (
        "DescribeLaunchTemplateVersions",
        &[
            "LaunchTemplateId",
            "LaunchTemplateName",
            "LaunchTemplateVersion",
            "MinVersion",
            "MaxVersion",
            "Filter",
            "MaxResults",
            "NextToken",
        ],
        Account::describe_template_versions,
    ),
];

/// What every request has.
const ALWAYS: &[&str] = &["Action", "Version", "DryRun"];

impl Account {
    /// A new one with a default network. Ids depend on the seed.
    pub(super) fn new(region: &str, seed: u64) -> Account {
        let mut account = Account {
            region: region.to_owned(),
            instances: Vec::new(),
            launches: BTreeMap::new(),
            templates: Vec::new(),
            groups: Vec::new(),
            network: networks::Network::default(),
            pace: Pace::default(),
            machines: false,
            powers: Vec::new(),
            page: 1000,
            seed,
            ids: 0,
        };
        account.make_network();
        account
    }

    /// Does what a request asks for.
    pub(super) fn act(&mut self, params: &Params) -> Answer {
        let action = params.text(&["Action"]).unwrap_or_default();
        let found = OPERATIONS.iter().find(|(name, ..)| *name == action);
        let Some((_, known, operation)) = found else {
            let message = format!("The action {action} is not valid for this web service.");
            return Err(Refusal::new("InvalidAction", message));
        };
        let known = |name: &str| known.contains(&name) || ALWAYS.contains(&name);
        if let Some((unknown, _)) = params.members().find(|(name, _)| !known(name)) {
            // What EC2 has and this has not would be silently left undone otherwise.
            let message = format!("The parameter {unknown} is not recognized");
            return Err(Refusal::new("UnknownParameter", message));
        }
        if params.text(&["DryRun"]) == Some("true") {
            let message = "Request would have succeeded, but DryRun flag is set.";
            return Err(Refusal::new("DryRunOperation", message).status(412));
        }
        operation(self, params)
    }

    /// An instance was launched so long ago.
    pub(super) fn backdate(&mut self, id: &str, by: Duration) {
        let found = self.instances.iter_mut().find(|instance| instance.id == id);
        found.expect("an instance").launched = ago(by);
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    /// A new id.
    fn id(&mut self, prefix: &str) -> String {
        self.ids += 1;
        let (high, low) = (mixed(self.seed, self.ids), mixed(!self.seed, self.ids));
        format!(
            "{prefix}-{:017x}",
            (u128::from(high) << 64 | u128::from(low)) >> 60
        )
    }

    fn arn(&self, resource: &str) -> String {
        format!("arn:aws:ec2:{}:{OWNER}:{resource}", self.region)
    }

    /// Tags of a resource.
    fn tags_of(&mut self, id: &str) -> Result<&mut Tags, Refusal> {
        let prefix = id.split('-').next().unwrap_or_default();
        let found = match prefix {
            "i" => { self.instances.iter_mut() }
                .find(|instance| instance.id == id && instance.is_visible())
                .map(|instance| &mut instance.tags),
            "sg" => { self.groups.iter_mut() }
                .find(|group| group.id == id)
                .map(|group| &mut group.tags),
            "lt" => { self.templates.iter_mut() }
                .find(|template| template.id == id)
                .map(|template| &mut template.tags),
            _ => None,
        };
        found.ok_or_else(|| match prefix {
            "i" => Refusal::id("InvalidInstanceID", "i", "instance", id),
            "sg" => Refusal::id("InvalidGroup", "sg", "security group", id),
            "lt" => Refusal::id("InvalidLaunchTemplateId", "lt", "launch template", id),
            _ => Refusal::new("InvalidID", format!("The ID '{id}' is not valid")),
        })
    }
}

/// Now, as EC2 writes it.
fn now() -> String {
    ago(Duration::ZERO)
}

/// So long ago, as EC2 writes it.
fn ago(by: Duration) -> String {
    let then = jiff::Timestamp::now() - by;
    then.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string()
}

/// What a request needs.
fn required<'a>(params: &'a Params, name: &str) -> Result<&'a str, Refusal> {
    params.text(&[name]).ok_or_else(|| Refusal::missing(name))
}
