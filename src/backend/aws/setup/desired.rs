//! The one description of what a deployment consists of: resources, and the properties that each must have.
//!
//! It is data. A plan compares it with what was found, the CloudFormation template is written from the same constants, and a test reads
//! the template back and compares it with this. Values are words, so that a difference can be shown as it is compared.

use super::deployment::{DEPLOYMENT_TAG, Deployment};

/// Name of a table's partition key.
pub const PARTITION_KEY: &str = "p";
/// Name of a table's sort key.
pub const SORT_KEY: &str = "s";
/// Attribute of rows that leave by themselves: seconds since 1970.
pub const TTL_ATTRIBUTE: &str = "ttl";
/// What encrypts objects without a key of the deployment's own.
pub(super) const S3_KEY: &str = "SSE-S3";
/// Days that an overwritten or deleted object is kept. Point-in-time recovery reaches back 35 days, and a table that is restored must
/// find the content that its records name.
pub const NONCURRENT_DAYS: i32 = 35;
/// Days after which an upload that was never completed is thrown away. It has no record yet.
pub const INCOMPLETE_DAYS: i32 = 7;
/// What the lifecycle rule is called.
pub(super) const RULE: &str = "what no record names";
/// The disk of an instance, in GiB.
pub const DISK_GIB: i32 = 40;
/// The device that the image starts from.
pub const DISK_DEVICE: &str = "/dev/xvda";
/// What the security group says of itself.
pub const GROUP_DESCRIPTION: &str = "Workers of rat-things: nothing comes in, HTTPS goes out";
/// What comes in to a worker.
pub(super) const NOTHING: &str = "nothing";
/// The port that workers reach out to.
pub const HTTPS_PORT: i32 = 443;

/// What a resource is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// DynamoDB: records.
    Table,
    /// S3: content.
    Bucket,
    /// EC2: what reaches a worker, and what a worker reaches.
    SecurityGroup,
    /// EC2: how a worker's instance is made.
    LaunchTemplate,
}

impl Kind {
    /// In the order in which they are made; what comes later may need what came before.
    pub const ALL: [Kind; 4] = [
        Kind::Table,
        Kind::Bucket,
        Kind::SecurityGroup,
        Kind::LaunchTemplate,
    ];

    /// What a deployment without workers on instances consists of.
    pub const WITHOUT_WORKERS: [Kind; 2] = [Kind::Table, Kind::Bucket];

    /// Its name in a plan.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Table => "table",
            Kind::Bucket => "bucket",
            Kind::SecurityGroup => "security group",
            Kind::LaunchTemplate => "launch template",
        }
    }
}

/// A property, and what it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its name in a plan.
    pub name: &'static str,
    /// What it must be, in words.
    pub wanted: String,
    /// It is decided when the resource is made, for good.
    pub fixed: bool,
}

/// A resource, and what it must be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// What it is.
    pub kind: Kind,
    /// What it is called.
    pub name: String,
    /// What it must be like.
    pub properties: Vec<Property>,
}

/// Everything that the deployment consists of, in the order in which it is made.
pub fn desired(deployment: &Deployment) -> Vec<Resource> {
    Kind::ALL
        .into_iter()
        .map(|kind| resource(deployment, kind))
        .collect()
}

/// One resource of the deployment.
pub fn resource(deployment: &Deployment, kind: Kind) -> Resource {
    let (name, properties) = match kind {
        Kind::Table => (deployment.table().to_owned(), table(deployment)),
        Kind::Bucket => (deployment.bucket(), bucket(deployment)),
        Kind::SecurityGroup => (deployment.worker(), security_group(deployment)),
        Kind::LaunchTemplate => (deployment.worker(), launch_template(deployment)),
    };
    Resource {
        kind,
        name,
        properties,
    }
}

fn table(deployment: &Deployment) -> Vec<Property> {
    vec![
        fixed("key", key_words(PARTITION_KEY, SORT_KEY)),
        free("billing", "on demand"),
        free("encryption", key_or_own(deployment)),
        free("point-in-time recovery", "on"),
        free("time to live", TTL_ATTRIBUTE),
        free("deletion protection", "on"),
        free("tag", tag(deployment)),
    ]
}

fn bucket(deployment: &Deployment) -> Vec<Property> {
    vec![
        fixed("region", &deployment.region),
        free("public access", "blocked"),
        free("owner of objects", "bucket"),
        free("versioning", "on"),
        free("encryption", bucket_encryption(deployment)),
        free(
            "lifecycle",
            lifecycle_words(INCOMPLETE_DAYS, NONCURRENT_DAYS),
        ),
        free("requests without TLS", "denied"),
        free("tag", tag(deployment)),
    ]
}

/// The tag is given when it is made: who sets a deployment up may change only what has it.
fn security_group(deployment: &Deployment) -> Vec<Property> {
    vec![
        free("inbound", NOTHING),
        free("outbound", outbound_words()),
        fixed("tag", tag(deployment)),
    ]
}

/// A template is not changed but gets a version, so that nothing of it is fixed but its tag.
fn launch_template(deployment: &Deployment) -> Vec<Property> {
    vec![
        free("image", image(deployment)),
        free("instance type", deployment.architecture.instance_type()),
        free("instance profile", deployment.worker()),
        free("security group", deployment.worker()),
        free(
            "disk",
            disk_words(DISK_DEVICE, DISK_GIB, deployment.kms_key.as_deref()),
        ),
        free("metadata service", metadata_words(1)),
        free("at shutdown", "terminate"),
        free("tag of instances", tag(deployment)),
        fixed("tag", tag(deployment)),
    ]
}

fn free(name: &'static str, wanted: impl Into<String>) -> Property {
    Property {
        name,
        wanted: wanted.into(),
        fixed: false,
    }
}

fn fixed(name: &'static str, wanted: impl Into<String>) -> Property {
    Property {
        fixed: true,
        ..free(name, wanted)
    }
}

/// A table's key in words.
pub(super) fn key_words(partition: &str, sort: &str) -> String {
    format!("{partition} (text), {sort} (text)")
}

fn key_or_own(deployment: &Deployment) -> String {
    table_key_words(deployment.kms_key.as_deref())
}

/// What encrypts a table, in words.
pub(super) fn table_key_words(kms_key: Option<&str>) -> String {
    match kms_key {
        Some(key) => format!("KMS, {key}"),
        None => "AWS' own key".to_owned(),
    }
}

fn bucket_encryption(deployment: &Deployment) -> String {
    match &deployment.kms_key {
        Some(key) => bucket_key_words(key, true),
        None => S3_KEY.to_owned(),
    }
}

/// What encrypts objects, in words.
pub(super) fn bucket_key_words(kms_key: &str, bucket_key: bool) -> String {
    let word = if bucket_key {
        ", with a bucket key"
    } else {
        ""
    };
    format!("KMS, {kms_key}{word}")
}

/// A bucket's lifecycle in words.
pub(super) fn lifecycle_words(incomplete_days: i32, noncurrent_days: i32) -> String {
    format!(
        "incomplete uploads {incomplete_days} days, replaced and deleted objects {noncurrent_days} days"
    )
}

/// What goes out, in words.
pub(super) fn outbound_words() -> String {
    format!("tcp {HTTPS_PORT} to 0.0.0.0/0, tcp {HTTPS_PORT} to ::/0")
}

/// A disk in words.
pub(super) fn disk_words(device: &str, gib: i32, kms_key: Option<&str>) -> String {
    let key = kms_key.map_or(String::new(), |key| format!(" with {key}"));
    format!("{device}, {gib} GiB gp3, encrypted{key}, deleted with the instance")
}

/// How the metadata service answers, in words.
pub(super) fn metadata_words(hops: i32) -> String {
    format!("IMDSv2 only, hop limit {hops}, with tags")
}

/// The deployment's tag in words.
pub(super) fn tag(deployment: &Deployment) -> String {
    format!("{DEPLOYMENT_TAG} = {}", deployment.name)
}

/// The public parameter that names Amazon's newest image.
pub(super) fn image_parameter(deployment: &Deployment) -> String {
    format!(
        "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-{}",
        deployment.architecture.name()
    )
}

/// Amazon's newest image, found when an instance is launched.
pub(super) fn image(deployment: &Deployment) -> String {
    format!("resolve:ssm:{}", image_parameter(deployment))
}
