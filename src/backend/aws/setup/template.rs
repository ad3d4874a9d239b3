//! The deployment as a CloudFormation template, with the roles that `init` does not make.

use serde_json::{Map, Value, json};

use super::deployment::{DEPLOYMENT_TAG, Deployment};
use super::desired::{self, *};
use super::policy::{Role, bucket_policy, ec2_service, policy};

/// The template. What depends on the account and the region is filled in by CloudFormation.
pub fn template(deployment: &Deployment) -> Value {
    let mut template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": format!("rat-things: the deployment {}", deployment.name),
        "Parameters": {
            "VpcId": {
                "Type": "AWS::EC2::VPC::Id",
                "Description": "The network of workers. They need a way out to HTTPS, and none in.",
            },
        },
        "Resources": {
            "Table": table(deployment),
            "Bucket": bucket(deployment),
            "BucketPolicy": {
                "Type": "AWS::S3::BucketPolicy",
                "Properties": {
                    "Bucket": {"Ref": "Bucket"},
                    "PolicyDocument": bucket_policy(deployment),
                },
            },
            "WorkerSecurityGroup": security_group(deployment),
            "WorkerLaunchTemplate": launch_template(deployment),
            "WorkerRole": role(deployment, Role::Worker, &deployment.worker()),
            "WorkerInstanceProfile": profile(&deployment.worker(), "WorkerRole"),
            "DaemonRole": role(deployment, Role::Daemon, &deployment.daemon()),
            "DaemonInstanceProfile": profile(&deployment.daemon(), "DaemonRole"),
            "OperatorPolicy": {
                "Type": "AWS::IAM::ManagedPolicy",
                "Properties": {
                    "ManagedPolicyName": format!("{}-operator", deployment.name),
                    "Description": "Sets the deployment up, looks after it, and uses it from a command line",
                    "PolicyDocument": policy(deployment, Role::Operator),
                },
            },
        },
        "Outputs": {
            "Table": {"Value": {"Ref": "Table"}},
            "Bucket": {"Value": {"Ref": "Bucket"}},
            "LaunchTemplate": {"Value": {"Ref": "WorkerLaunchTemplate"}},
            "DaemonInstanceProfile": {"Value": {"Ref": "DaemonInstanceProfile"}},
        },
    });
    substitute(&mut template);
    template
}

fn tags(deployment: &Deployment) -> Value {
    json!([{"Key": DEPLOYMENT_TAG, "Value": deployment.name}])
}

/// What holds data outlives its stack.
fn kept(kind: &str, properties: Value) -> Value {
    json!({
        "Type": kind,
        "DeletionPolicy": "Retain",
        "UpdateReplacePolicy": "Retain",
        "Properties": properties,
    })
}

fn table(deployment: &Deployment) -> Value {
    let mut properties = json!({
        "TableName": deployment.table(),
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": PARTITION_KEY, "AttributeType": "S"},
            {"AttributeName": SORT_KEY, "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": PARTITION_KEY, "KeyType": "HASH"},
            {"AttributeName": SORT_KEY, "KeyType": "RANGE"},
        ],
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true},
        "TimeToLiveSpecification": {"AttributeName": TTL_ATTRIBUTE, "Enabled": true},
        "DeletionProtectionEnabled": true,
        "Tags": tags(deployment),
    });
    if let Some(key) = &deployment.kms_key {
        properties["SSESpecification"] =
            json!({"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key});
    }
    kept("AWS::DynamoDB::Table", properties)
}

fn bucket(deployment: &Deployment) -> Value {
    let encryption = match &deployment.kms_key {
        Some(key) => json!({
            "BucketKeyEnabled": true,
            "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": key},
        }),
        None => json!({"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}),
    };
    let properties = json!({
        "BucketName": deployment.bucket(),
        "PublicAccessBlockConfiguration": {
            "BlockPublicAcls": true,
            "BlockPublicPolicy": true,
            "IgnorePublicAcls": true,
            "RestrictPublicBuckets": true,
        },
        "OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
        "VersioningConfiguration": {"Status": "Enabled"},
        "BucketEncryption": {"ServerSideEncryptionConfiguration": [encryption]},
        "LifecycleConfiguration": {"Rules": [{
            "Id": RULE,
            "Status": "Enabled",
            "Prefix": "",
            "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": INCOMPLETE_DAYS},
            "NoncurrentVersionExpiration": {"NoncurrentDays": NONCURRENT_DAYS},
            "ExpiredObjectDeleteMarker": true,
        }]},
        "Tags": tags(deployment),
    });
    kept("AWS::S3::Bucket", properties)
}

fn security_group(deployment: &Deployment) -> Value {
    let out = |field: &str, range: &str| json!({"IpProtocol": "tcp", "FromPort": HTTPS_PORT, "ToPort": HTTPS_PORT, field: range});
    json!({
        "Type": "AWS::EC2::SecurityGroup",
        "Properties": {
            "GroupName": deployment.worker(),
            "GroupDescription": GROUP_DESCRIPTION,
            "VpcId": {"Ref": "VpcId"},
            "SecurityGroupEgress": [out("CidrIp", "0.0.0.0/0"), out("CidrIpv6", "::/0")],
            "Tags": tags(deployment),
        },
    })
}

fn launch_template(deployment: &Deployment) -> Value {
    let mut disk = json!({
        "VolumeSize": DISK_GIB,
        "VolumeType": "gp3",
        "Encrypted": true,
        "DeleteOnTermination": true,
    });
    if let Some(key) = &deployment.kms_key {
        disk["KmsKeyId"] = key.as_str().into();
    }
    let tagged = |kind: &str| json!({"ResourceType": kind, "Tags": tags(deployment)});
    json!({
        "Type": "AWS::EC2::LaunchTemplate",
        "Properties": {
            "LaunchTemplateName": deployment.worker(),
            "LaunchTemplateData": {
                "ImageId": desired::image(deployment),
                "InstanceType": deployment.architecture.instance_type(),
                "IamInstanceProfile": {"Name": {"Ref": "WorkerInstanceProfile"}},
                "SecurityGroupIds": [{"Fn::GetAtt": ["WorkerSecurityGroup", "GroupId"]}],
                "BlockDeviceMappings": [{"DeviceName": DISK_DEVICE, "Ebs": disk}],
                "MetadataOptions": {
                    "HttpEndpoint": "enabled",
                    "HttpTokens": "required",
                    "HttpPutResponseHopLimit": 1,
                    "InstanceMetadataTags": "enabled",
                },
                "InstanceInitiatedShutdownBehavior": "terminate",
                "TagSpecifications": [
                    tagged("instance"),
                    tagged("volume"),
                    tagged("network-interface"),
                ],
            },
            "TagSpecifications": [tagged("launch-template")],
        },
    })
}

fn role(deployment: &Deployment, role: Role, name: &str) -> Value {
    json!({
        "Type": "AWS::IAM::Role",
        "Properties": {
            "RoleName": name,
            "AssumeRolePolicyDocument": {
                "Version": "2012-10-17",
                "Statement": [{
                    "Effect": "Allow",
                    "Principal": {"Service": ec2_service(deployment)},
                    "Action": "sts:AssumeRole",
                }],
            },
            "Policies": [{"PolicyName": role.name(), "PolicyDocument": policy(deployment, role)}],
            "Tags": tags(deployment),
        },
    })
}

fn profile(name: &str, role: &str) -> Value {
    json!({
        "Type": "AWS::IAM::InstanceProfile",
        "Properties": {"InstanceProfileName": name, "Roles": [{"Ref": role}]},
    })
}

/// Marks the texts in which CloudFormation has to fill something in.
fn substitute(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("${AWS::") => {
            let mut marked = Map::new();
            marked.insert("Fn::Sub".to_owned(), Value::String(std::mem::take(text)));
            *value = Value::Object(marked);
        }
        Value::Array(values) => values.iter_mut().for_each(substitute),
        Value::Object(fields) => fields.values_mut().for_each(substitute),
        _ => {}
    }
}
