//! Every AWS operation that this program calls: which permissions it takes, on what, and which roles call it. Policies are written from
//! this table, and a test compares it with the calls in the source.

use super::policy::Role::{self, Daemon, Operator, Worker};

/// What a permission is for; each is one statement of a policy, with its own resources and conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// The table of records.
    Table,
    /// The bucket itself.
    Bucket,
    /// What is in the bucket.
    Objects,
    /// Secrets under the deployment's name.
    Secrets,
    /// The deployment's key, when it has one, used by AWS on the caller's behalf.
    Key,
    /// The right of a service to go on using the key.
    KeyGrant,
    /// What can't be narrowed to a resource.
    Anything,
    /// The deployment's launch template, for launches.
    Template,
    /// Machines that a launch makes; they must carry the deployment's tag from the beginning.
    NewMachines,
    /// What a launch uses.
    LaunchParts,
    /// Tags that a launch gives.
    LaunchTags,
    /// Machines with the deployment's tag.
    Machines,
    /// The role of workers, handed to a machine.
    WorkerRole,
    /// The public parameter that names the image.
    ImageParameter,
    /// Security groups and launch templates that are made; they must carry the deployment's tag from the beginning.
    NewNetwork,
    /// Networks that a security group is made in.
    Vpcs,
    /// Tags that come with a new security group or launch template.
    NetworkTags,
    /// Security groups and launch templates with the deployment's tag.
    Network,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The service, as its client's module is called: `dynamodb`, `s3`, …
    pub service: &'static str,
    /// The method of the client: `transact_write_items`, …
    pub method: &'static str,
    /// What it takes. Nothing: anybody may call it.
    pub takes: &'static [(&'static str, On)],
    /// Who calls it.
    pub roles: &'static [Role],
}

const fn call(
    service: &'static str,
    method: &'static str,
    roles: &'static [Role],
    takes: &'static [(&'static str, On)],
) -> Operation {
    Operation {
        service,
        method,
        takes,
        roles,
    }
}

const ALL: &[Role] = &[Operator, Daemon, Worker];
const CARERS: &[Role] = &[Operator, Daemon];
const SETTER: &[Role] = &[Operator];

/// Every operation.
pub const OPERATIONS: &[Operation] = &[
    // Records.
    call(
        "dynamodb",
        "get_item",
        ALL,
        &[("dynamodb:GetItem", On::Table), DECRYPT],
    ),
    call(
        "dynamodb",
        "batch_get_item",
        ALL,
        &[("dynamodb:BatchGetItem", On::Table), DECRYPT],
    ),
    call(
        "dynamodb",
        "query",
        ALL,
        &[("dynamodb:Query", On::Table), DECRYPT],
    ),
    call(
        "dynamodb",
        "transact_write_items",
        ALL,
        &[
            ("dynamodb:ConditionCheckItem", On::Table),
            ("dynamodb:DeleteItem", On::Table),
            ("dynamodb:PutItem", On::Table),
            ("dynamodb:UpdateItem", On::Table),
            DECRYPT,
        ],
    ),
    // Content. Without the right to list, S3 answers for what is missing that it is forbidden.
    call(
        "s3",
        "get_object",
        ALL,
        &[("s3:GetObject", On::Objects), LIST, DECRYPT],
    ),
    call(
        "s3",
        "head_object",
        ALL,
        &[("s3:GetObject", On::Objects), LIST, DECRYPT],
    ),
    call(
        "s3",
        "put_object",
        ALL,
        &[("s3:PutObject", On::Objects), DATA_KEY],
    ),
    call(
        "s3",
        "create_multipart_upload",
        ALL,
        &[("s3:PutObject", On::Objects), DATA_KEY],
    ),
    call(
        "s3",
        "upload_part",
        ALL,
        &[("s3:PutObject", On::Objects), DECRYPT],
    ),
    call(
        "s3",
        "complete_multipart_upload",
        ALL,
        &[("s3:PutObject", On::Objects), DECRYPT],
    ),
    call(
        "s3",
        "abort_multipart_upload",
        ALL,
        &[("s3:AbortMultipartUpload", On::Objects)],
    ),
    call("s3", "list_objects_v2", CARERS, &[LIST]),
    call(
        "s3",
        "delete_object",
        CARERS,
        &[
            ("s3:DeleteObject", On::Objects),
            ("s3:DeleteObjectVersion", On::Objects),
        ],
    ),
    call(
        "s3",
        "delete_objects",
        CARERS,
        &[
            ("s3:DeleteObject", On::Objects),
            ("s3:DeleteObjectVersion", On::Objects),
        ],
    ),
    // An erased object leaves no older version behind.
    call(
        "s3",
        "list_object_versions",
        CARERS,
        &[("s3:ListBucketVersions", On::Bucket)],
    ),
    call(
        "s3",
        "list_multipart_uploads",
        SETTER,
        &[("s3:ListBucketMultipartUploads", On::Bucket)],
    ),
    // Values that nobody may see.
    call(
        "secretsmanager",
        "get_secret_value",
        ALL,
        &[("secretsmanager:GetSecretValue", On::Secrets), DECRYPT],
    ),
    call(
        "secretsmanager",
        "create_secret",
        CARERS,
        &[
            ("secretsmanager:CreateSecret", On::Secrets),
            DATA_KEY,
            DECRYPT,
        ],
    ),
    call(
        "secretsmanager",
        "delete_secret",
        CARERS,
        &[("secretsmanager:DeleteSecret", On::Secrets)],
    ),
    call(
        "secretsmanager",
        "list_secrets",
        CARERS,
        &[("secretsmanager:ListSecrets", On::Anything)],
    ),
    // Who the caller is.
    call("sts", "get_caller_identity", ALL, &[]),
    // Machines.
    call(
        "ec2",
        "run_instances",
        &[Daemon],
        &[
            ("ec2:RunInstances", On::Template),
            ("ec2:RunInstances", On::NewMachines),
            ("ec2:RunInstances", On::LaunchParts),
            ("ec2:CreateTags", On::LaunchTags),
            ("iam:PassRole", On::WorkerRole),
            ("ssm:GetParameters", On::ImageParameter),
            DATA_KEY_UNSEEN,
            DESCRIBE_KEY,
            GRANT,
        ],
    ),
    call(
        "ec2",
        "describe_instances",
        CARERS,
        &[("ec2:DescribeInstances", On::Anything)],
    ),
    call(
        "ec2",
        "terminate_instances",
        CARERS,
        &[("ec2:TerminateInstances", On::Machines)],
    ),
    // Setting up: the table.
    call(
        "dynamodb",
        "create_table",
        SETTER,
        &[
            ("dynamodb:CreateTable", On::Table),
            ("dynamodb:TagResource", On::Table),
            DESCRIBE_KEY,
            GRANT,
        ],
    ),
    call(
        "dynamodb",
        "describe_table",
        CARERS,
        &[("dynamodb:DescribeTable", On::Table)],
    ),
    call(
        "dynamodb",
        "update_table",
        SETTER,
        &[("dynamodb:UpdateTable", On::Table), DESCRIBE_KEY, GRANT],
    ),
    call(
        "dynamodb",
        "delete_table",
        SETTER,
        &[("dynamodb:DeleteTable", On::Table)],
    ),
    call(
        "dynamodb",
        "describe_continuous_backups",
        CARERS,
        &[("dynamodb:DescribeContinuousBackups", On::Table)],
    ),
    call(
        "dynamodb",
        "update_continuous_backups",
        SETTER,
        &[("dynamodb:UpdateContinuousBackups", On::Table)],
    ),
    call(
        "dynamodb",
        "describe_time_to_live",
        CARERS,
        &[("dynamodb:DescribeTimeToLive", On::Table)],
    ),
    call(
        "dynamodb",
        "update_time_to_live",
        SETTER,
        &[("dynamodb:UpdateTimeToLive", On::Table)],
    ),
    call(
        "dynamodb",
        "list_tags_of_resource",
        CARERS,
        &[("dynamodb:ListTagsOfResource", On::Table)],
    ),
    call(
        "dynamodb",
        "tag_resource",
        SETTER,
        &[("dynamodb:TagResource", On::Table)],
    ),
    call(
        "dynamodb",
        "scan",
        SETTER,
        &[("dynamodb:Scan", On::Table), DECRYPT],
    ),
    // The bucket.
    call(
        "s3",
        "create_bucket",
        SETTER,
        &[("s3:CreateBucket", On::Bucket)],
    ),
    call("s3", "head_bucket", CARERS, &[LIST]),
    call(
        "s3",
        "delete_bucket",
        SETTER,
        &[("s3:DeleteBucket", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_versioning",
        CARERS,
        &[("s3:GetBucketVersioning", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_versioning",
        SETTER,
        &[("s3:PutBucketVersioning", On::Bucket)],
    ),
    call(
        "s3",
        "get_public_access_block",
        CARERS,
        &[("s3:GetBucketPublicAccessBlock", On::Bucket)],
    ),
    call(
        "s3",
        "put_public_access_block",
        SETTER,
        &[("s3:PutBucketPublicAccessBlock", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_ownership_controls",
        CARERS,
        &[("s3:GetBucketOwnershipControls", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_ownership_controls",
        SETTER,
        &[("s3:PutBucketOwnershipControls", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_encryption",
        CARERS,
        &[("s3:GetEncryptionConfiguration", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_encryption",
        SETTER,
        &[("s3:PutEncryptionConfiguration", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_lifecycle_configuration",
        CARERS,
        &[("s3:GetLifecycleConfiguration", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_lifecycle_configuration",
        SETTER,
        &[("s3:PutLifecycleConfiguration", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_policy",
        CARERS,
        &[("s3:GetBucketPolicy", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_policy",
        SETTER,
        &[("s3:PutBucketPolicy", On::Bucket)],
    ),
    call(
        "s3",
        "get_bucket_tagging",
        CARERS,
        &[("s3:GetBucketTagging", On::Bucket)],
    ),
    call(
        "s3",
        "put_bucket_tagging",
        SETTER,
        &[("s3:PutBucketTagging", On::Bucket)],
    ),
    // Security group and launch template.
    call(
        "ec2",
        "describe_vpcs",
        SETTER,
        &[("ec2:DescribeVpcs", On::Anything)],
    ),
    call(
        "ec2",
        "describe_security_groups",
        CARERS,
        &[("ec2:DescribeSecurityGroups", On::Anything)],
    ),
    call(
        "ec2",
        "create_security_group",
        SETTER,
        &[
            ("ec2:CreateSecurityGroup", On::NewNetwork),
            ("ec2:CreateSecurityGroup", On::Vpcs),
            ("ec2:CreateTags", On::NetworkTags),
        ],
    ),
    call(
        "ec2",
        "authorize_security_group_egress",
        SETTER,
        &[("ec2:AuthorizeSecurityGroupEgress", On::Network)],
    ),
    call(
        "ec2",
        "revoke_security_group_egress",
        SETTER,
        &[("ec2:RevokeSecurityGroupEgress", On::Network)],
    ),
    call(
        "ec2",
        "revoke_security_group_ingress",
        SETTER,
        &[("ec2:RevokeSecurityGroupIngress", On::Network)],
    ),
    call(
        "ec2",
        "delete_security_group",
        SETTER,
        &[("ec2:DeleteSecurityGroup", On::Network)],
    ),
    call(
        "ec2",
        "describe_launch_templates",
        CARERS,
        &[("ec2:DescribeLaunchTemplates", On::Anything)],
    ),
    call(
        "ec2",
        "describe_launch_template_versions",
        CARERS,
        &[("ec2:DescribeLaunchTemplateVersions", On::Anything)],
    ),
    call(
        "ec2",
        "create_launch_template",
        SETTER,
        &[
            ("ec2:CreateLaunchTemplate", On::NewNetwork),
            ("ec2:CreateTags", On::NetworkTags),
        ],
    ),
    call(
        "ec2",
        "create_launch_template_version",
        SETTER,
        &[("ec2:CreateLaunchTemplateVersion", On::Network)],
    ),
    call(
        "ec2",
        "modify_launch_template",
        SETTER,
        &[("ec2:ModifyLaunchTemplate", On::Network)],
    ),
    call(
        "ec2",
        "delete_launch_template",
        SETTER,
        &[("ec2:DeleteLaunchTemplate", On::Network)],
    ),
];

const LIST: (&str, On) = ("s3:ListBucket", On::Bucket);
const DECRYPT: (&str, On) = ("kms:Decrypt", On::Key);
const DATA_KEY: (&str, On) = ("kms:GenerateDataKey", On::Key);
const DATA_KEY_UNSEEN: (&str, On) = ("kms:GenerateDataKeyWithoutPlaintext", On::Key);
const DESCRIBE_KEY: (&str, On) = ("kms:DescribeKey", On::Key);
const GRANT: (&str, On) = ("kms:CreateGrant", On::KeyGrant);
