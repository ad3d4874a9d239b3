//! IAM policies: what each role may do, no more than what its operations take.
//!
//! Roles are told apart by what they do, not by who they are: a person at a keyboard, a daemon, and a worker, which runs an agent and so gets least.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::deployment::{DEPLOYMENT_TAG, Deployment};
use super::desired;
use super::operations::{OPERATIONS, On};

/// Who calls AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sets the deployment up, looks after it, and uses it from a command line.
    Operator,
    /// Gives work to workers.
    Daemon,
    /// Runs agents.
    Worker,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 3] = [Role::Operator, Role::Daemon, Role::Worker];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Operator => "operator",
            Role::Daemon => "daemon",
            Role::Worker => "worker",
        }
    }
}

/// A role's policy as an IAM document.
pub fn policy(deployment: &Deployment, role: Role) -> Value {
    let statements: Vec<Value> = grants(role)
        .into_iter()
        .filter_map(|(on, actions)| statement(deployment, on, &actions))
        .collect();
    json!({"Version": "2012-10-17", "Statement": statements})
}

/// What a role's operations take, by what it is for.
pub fn grants(role: Role) -> BTreeMap<On, BTreeSet<&'static str>> {
    let mut grants: BTreeMap<On, BTreeSet<&'static str>> = BTreeMap::new();
    for operation in OPERATIONS.iter().filter(|one| one.roles.contains(&role)) {
        for (action, on) in operation.takes {
            grants.entry(*on).or_default().insert(action);
        }
    }
    grants
}

/// What the bucket itself refuses, whoever asks: requests that others on the way could read.
pub fn bucket_policy(deployment: &Deployment) -> Value {
    json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Sid": "TlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": [deployment.bucket_arn(""), deployment.bucket_arn("/*")],
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }],
    })
}

/// One statement; nothing where the deployment has no key.
fn statement(deployment: &Deployment, on: On, actions: &BTreeSet<&'static str>) -> Option<Value> {
    let (resources, condition) = resources(deployment, on)?;
    let mut statement = Map::new();
    statement.insert("Sid".to_owned(), format!("{on:?}").into());
    statement.insert("Effect".to_owned(), "Allow".into());
    statement.insert("Action".to_owned(), json!(actions));
    statement.insert("Resource".to_owned(), json!(resources));
    if let Some(condition) = condition {
        statement.insert("Condition".to_owned(), condition);
    }
    Some(Value::Object(statement))
}

/// Which resources, and under which condition.
fn resources(deployment: &Deployment, on: On) -> Option<(Vec<String>, Option<Value>)> {
    let ec2 = |kinds: &[&str]| -> Vec<String> {
        let arn = |kind: &&str| deployment.arn("ec2", &format!("{kind}/*"));
        kinds.iter().map(arn).collect()
    };
    let tagged = |key: &str| {
        let key = format!("{key}/{DEPLOYMENT_TAG}");
        json!({"StringEquals": {key: deployment.name}})
    };
    let made_by = |calls: &[&str]| json!({"StringEquals": {"ec2:CreateAction": calls}});
    let by_template =
        json!({"ArnLike": {"ec2:LaunchTemplate": deployment.arn("ec2", "launch-template/*")}});
    Some(match on {
        On::Table => {
            let table = format!("table/{}", deployment.table());
            (vec![deployment.arn("dynamodb", &table)], None)
        }
        On::Bucket => (vec![deployment.bucket_arn("")], None),
        On::Objects => (vec![deployment.bucket_arn("/*")], None),
        On::Secrets => {
            let secrets = format!("secret:{}*", deployment.secrets());
            (vec![deployment.arn("secretsmanager", &secrets)], None)
        }
        On::Key => (
            vec![deployment.kms_key.clone()?],
            Some(through_services(deployment)),
        ),
        On::KeyGrant => (
            vec![deployment.kms_key.clone()?],
            Some(json!({"Bool": {"kms:GrantIsForAWSResource": "true"}})),
        ),
        On::Anything => (vec!["*".to_owned()], None),
        On::Template => (ec2(&["launch-template"]), Some(tagged("aws:ResourceTag"))),
        On::NewMachines => {
            let mut condition = tagged("aws:RequestTag");
            condition["ArnLike"] = by_template["ArnLike"].clone();
            (
                ec2(&["instance", "volume", "network-interface"]),
                Some(condition),
            )
        }
        On::LaunchParts => {
            let mut parts = ec2(&["security-group", "subnet", "spot-instances-request"]);
            parts.push(format!(
                "arn:{}:ec2:{}::image/*",
                deployment.partition, deployment.region
            ));
            (parts, Some(by_template))
        }
        On::LaunchTags => (
            ec2(&["instance", "volume", "network-interface"]),
            Some(made_by(&["RunInstances"])),
        ),
        On::Machines => (ec2(&["instance"]), Some(tagged("aws:ResourceTag"))),
        On::WorkerRole => {
            let role = format!("role/{}", deployment.worker());
            let condition =
                json!({"StringEquals": {"iam:PassedToService": ec2_service(deployment)}});
            (vec![deployment.global_arn("iam", &role)], Some(condition))
        }
        On::ImageParameter => {
            let parameter = desired::image_parameter(deployment);
            let arn = format!(
                "arn:{}:ssm:{}::parameter{parameter}",
                deployment.partition, deployment.region
            );
            (vec![arn], None)
        }
        On::NewNetwork => (
            ec2(&["security-group", "launch-template"]),
            Some(tagged("aws:RequestTag")),
        ),
        On::Vpcs => (ec2(&["vpc"]), None),
        On::NetworkTags => (
            ec2(&["security-group", "launch-template"]),
            Some(made_by(&["CreateSecurityGroup", "CreateLaunchTemplate"])),
        ),
        On::Network => (
            ec2(&["security-group", "launch-template"]),
            Some(tagged("aws:ResourceTag")),
        ),
    })
}

/// The key is for AWS to use on the caller's behalf, never for the caller.
fn through_services(deployment: &Deployment) -> Value {
    let services: Vec<String> = ["dynamodb", "ec2", "s3", "secretsmanager"]
        .iter()
        .map(|service| format!("{service}.{}.{}", deployment.region, domain(deployment)))
        .collect();
    json!({"StringEquals": {"kms:ViaService": services}})
}

/// The name of EC2 where it takes over a role.
pub(super) fn ec2_service(deployment: &Deployment) -> String {
    format!("ec2.{}", domain(deployment))
}

fn domain(deployment: &Deployment) -> &'static str {
    match deployment.partition.as_str() {
        "aws-cn" => "amazonaws.com.cn",
        "${AWS::Partition}" => "${AWS::URLSuffix}",
        _ => "amazonaws.com",
    }
}
