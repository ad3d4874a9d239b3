//! A CloudFormation template read as if its resources had been found in an account. It knows nothing of how the template is written.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::backend::aws::setup::desired::Kind;
use crate::backend::aws::setup::plan::{Found, Seen};

type Words = BTreeMap<&'static str, String>;

/// Each resource with its properties in words.
pub(super) fn found_in_template(template: &Value) -> Found {
    let properties = |name: &str| &template["Resources"][name]["Properties"];
    let policy = properties("BucketPolicy");
    let words = [
        (Kind::Table, table(properties("Table"))),
        (Kind::Bucket, bucket(properties("Bucket"), policy)),
        (
            Kind::SecurityGroup,
            group(properties("WorkerSecurityGroup")),
        ),
        (
            Kind::LaunchTemplate,
            launch(template, properties("WorkerLaunchTemplate")),
        ),
    ];
    let seen = |words: Words| words.into_iter().map(|(name, is)| (name, Seen::Is(is)));
    let found = words.map(|(kind, words)| (kind, seen(words).collect()));
    Found::from(found)
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.get("Fn::Sub").map(text).unwrap_or_default(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn on(is_on: bool) -> String {
    let word = if is_on { "on" } else { "off" };
    word.to_owned()
}

fn tag(tags: &Value) -> String {
    let first = &tags[0];
    format!("{} = {}", text(&first["Key"]), text(&first["Value"]))
}

fn table(table: &Value) -> Words {
    let schema = &table["KeySchema"];
    let typed = |name: &Value| {
        let all = table["AttributeDefinitions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is_text = all
            .iter()
            .any(|one| one["AttributeName"] == *name && one["AttributeType"] == "S");
        let word = if is_text { "text" } else { "something else" };
        format!("{} ({word})", text(name))
    };
    assert_eq!(
        (&schema[0]["KeyType"], &schema[1]["KeyType"]),
        (&"HASH".into(), &"RANGE".into())
    );
    let ttl = &table["TimeToLiveSpecification"];
    let sse = &table["SSESpecification"];
    let encryption = match sse["SSEEnabled"] == true && sse["SSEType"] == "KMS" {
        true => format!("KMS, {}", text(&sse["KMSMasterKeyId"])),
        false => "AWS' own key".to_owned(),
    };
    let billing = match table["BillingMode"] == "PAY_PER_REQUEST" {
        true => "on demand",
        false => "provisioned",
    };
    let recovery = &table["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"];
    Words::from([
        (
            "key",
            format!(
                "{}, {}",
                typed(&schema[0]["AttributeName"]),
                typed(&schema[1]["AttributeName"])
            ),
        ),
        ("billing", billing.to_owned()),
        ("encryption", encryption),
        ("point-in-time recovery", on(*recovery == true)),
        (
            "time to live",
            match ttl["Enabled"] == true {
                true => text(&ttl["AttributeName"]),
                false => "off".to_owned(),
            },
        ),
        (
            "deletion protection",
            on(table["DeletionProtectionEnabled"] == true),
        ),
        ("tag", tag(&table["Tags"])),
    ])
}

fn bucket(bucket: &Value, policy: &Value) -> Words {
    let block = &bucket["PublicAccessBlockConfiguration"];
    let blocked = [
        "BlockPublicAcls",
        "BlockPublicPolicy",
        "IgnorePublicAcls",
        "RestrictPublicBuckets",
    ]
    .iter()
    .all(|field| block[field] == true);
    let owner = &bucket["OwnershipControls"]["Rules"][0]["ObjectOwnership"];
    let rule = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0];
    let by_default = &rule["ServerSideEncryptionByDefault"];
    let encryption = match text(&by_default["SSEAlgorithm"]).as_str() {
        "AES256" => "SSE-S3".to_owned(),
        "aws:kms" => {
            let bucket_key = match rule["BucketKeyEnabled"] == true {
                true => ", with a bucket key",
                false => "",
            };
            format!("KMS, {}{bucket_key}", text(&by_default["KMSMasterKeyID"]))
        }
        other => other.to_owned(),
    };
    let rules = &bucket["LifecycleConfiguration"]["Rules"];
    let first = &rules[0];
    let lifecycle = match first["Status"] == "Enabled" && first["Prefix"] == "" {
        true => format!(
            "incomplete uploads {} days, replaced and deleted objects {} days",
            first["AbortIncompleteMultipartUpload"]["DaysAfterInitiation"],
            first["NoncurrentVersionExpiration"]["NoncurrentDays"]
        ),
        false => "none".to_owned(),
    };
    // A rule that ends what is current would end what records name.
    for field in ["ExpirationInDays", "ExpirationDate", "Transitions"] {
        assert!(first[field].is_null(), "{field}");
    }
    // A bucket is where its stack is.
    let name = text(&bucket["BucketName"]);
    let region = match name.rsplit_once("-${AWS::AccountId}-") {
        Some((_, region)) => region.to_owned(),
        None => String::new(),
    };
    let denial = &policy["PolicyDocument"]["Statement"][0];
    let denied = denial["Effect"] == "Deny"
        && denial["Condition"]["Bool"]["aws:SecureTransport"] == "false"
        && denial["Resource"]
            .as_array()
            .is_some_and(|all| all.len() == 2);
    Words::from([
        ("region", region),
        (
            "public access",
            if blocked { "blocked" } else { "possible" }.to_owned(),
        ),
        (
            "owner of objects",
            if owner == "BucketOwnerEnforced" {
                "bucket"
            } else {
                "writer"
            }
            .to_owned(),
        ),
        (
            "versioning",
            on(bucket["VersioningConfiguration"]["Status"] == "Enabled"),
        ),
        ("encryption", encryption),
        ("lifecycle", lifecycle),
        (
            "requests without TLS",
            if denied { "denied" } else { "taken" }.to_owned(),
        ),
        ("tag", tag(&bucket["Tags"])),
    ])
}

fn group(group: &Value) -> Words {
    let out: Vec<String> = group["SecurityGroupEgress"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|rule| {
            assert_eq!(rule["FromPort"], rule["ToPort"]);
            let range = match &rule["CidrIp"] {
                Value::Null => text(&rule["CidrIpv6"]),
                range => text(range),
            };
            format!(
                "{} {} to {range}",
                text(&rule["IpProtocol"]),
                rule["FromPort"]
            )
        })
        .collect();
    let inbound = match group["SecurityGroupIngress"].is_null() {
        true => "nothing",
        false => "something",
    };
    Words::from([
        ("inbound", inbound.to_owned()),
        ("outbound", out.join(", ")),
        ("tag", tag(&group["Tags"])),
    ])
}

fn launch(template: &Value, launch: &Value) -> Words {
    let data = &launch["LaunchTemplateData"];
    // What is referred to is called as the description says.
    let referred = |name: &Value, property: &str| {
        let name = name.as_str().unwrap_or_default();
        text(&template["Resources"][name]["Properties"][property])
    };
    let mapping = &data["BlockDeviceMappings"][0];
    let ebs = &mapping["Ebs"];
    let key = match &ebs["KmsKeyId"] {
        Value::Null => String::new(),
        key => format!(" with {}", text(key)),
    };
    let disk = match ebs["Encrypted"] == true && ebs["DeleteOnTermination"] == true {
        true => format!(
            "{}, {} GiB {}, encrypted{key}, deleted with the instance",
            text(&mapping["DeviceName"]),
            ebs["VolumeSize"],
            text(&ebs["VolumeType"])
        ),
        false => "not as safe as it must be".to_owned(),
    };
    let metadata = &data["MetadataOptions"];
    let guarded = metadata["HttpTokens"] == "required"
        && metadata["HttpEndpoint"] == "enabled"
        && metadata["InstanceMetadataTags"] == "enabled";
    let metadata = match guarded {
        true => format!(
            "IMDSv2 only, hop limit {}, with tags",
            metadata["HttpPutResponseHopLimit"]
        ),
        false => "open".to_owned(),
    };
    for (at, kind) in ["instance", "volume", "network-interface"]
        .iter()
        .enumerate()
    {
        assert_eq!(data["TagSpecifications"][at]["ResourceType"], *kind);
    }
    Words::from([
        ("image", text(&data["ImageId"])),
        ("instance type", text(&data["InstanceType"])),
        (
            "instance profile",
            referred(
                &data["IamInstanceProfile"]["Name"]["Ref"],
                "InstanceProfileName",
            ),
        ),
        (
            "security group",
            referred(&data["SecurityGroupIds"][0]["Fn::GetAtt"][0], "GroupName"),
        ),
        ("disk", disk),
        ("metadata service", metadata),
        (
            "at shutdown",
            text(&data["InstanceInitiatedShutdownBehavior"]),
        ),
        (
            "tag of instances",
            tag(&data["TagSpecifications"][0]["Tags"]),
        ),
        ("tag", tag(&launch["TagSpecifications"][0]["Tags"])),
    ])
}
