//! The metadata service, asked as programs ask it.

use aws_sdk_ec2::types::{
    HttpTokensState, IamInstanceProfileSpecification, InstanceMetadataOptionsRequest,
    InstanceMetadataTagsState, ResourceType,
};
use pretty_assertions::assert_eq;

use super::*;
use crate::aws::stand::ec2::tests::tagged;

/// Asks for a token first.
const ASK: &str = r#"
    base=http://169.254.169.254/latest
    token=$(curl -sS -X PUT -H 'x-aws-ec2-metadata-token-ttl-seconds: 60' $base/api/token)
    ask() { printf '%s: ' "$1"; curl -sS -w ' %{http_code}\n' -H "x-aws-ec2-metadata-token: $token" "$base/$1"; }
"#;

#[tokio::test]
async fn a_machine_learns_who_it_is_and_what_it_may() {
    let host = host(Vec::new());
    let options = InstanceMetadataOptionsRequest::builder()
        .http_tokens(HttpTokensState::Required)
        .instance_metadata_tags(InstanceMetadataTagsState::Enabled);
    let profile = IamInstanceProfileSpecification::builder().name("worker");
    let text = format!(
        "{ASK}
        ask meta-data/instance-id
        ask meta-data/placement/region
        ask meta-data/tags/instance/
        ask meta-data/tags/instance/rat-things:session
        ask meta-data/tags/instance/none
        ask meta-data/iam/security-credentials/
        ask meta-data/iam/security-credentials/worker | tr , '\\n' | grep -e Code -e AccessKeyId
        ask dynamic/instance-identity/document | tr , '\\n' | grep instanceId
        ask meta-data/spot/instance-action
        curl -sS -w '%{{http_code}}\\n' $base/meta-data/instance-id
        curl -sS -w '%{{http_code}}\\n' -H 'x-aws-ec2-metadata-token: mine' $base/meta-data/instance-id
        curl -sS -w '%{{http_code}}\\n' -X PUT $base/api/token
        curl -sS -D - -o /dev/null -X PUT -H 'x-aws-ec2-metadata-token-ttl-seconds: 60' $base/api/token | grep -i ttl | tr -d '\\r'
        curl -sS -w '%{{http_code}}\\n' -X PUT -H 'x-forwarded-for: a' -H 'x-aws-ec2-metadata-token-ttl-seconds: 60' $base/api/token
        echo done
        until curl -sSf -o /tmp/action -H \"x-aws-ec2-metadata-token: $token\" $base/meta-data/spot/instance-action 2>/dev/null; do sleep 0.1; done
        cut -c-22 /tmp/action
        echo told"
    );
    let launch = script(&host, &text)
        .metadata_options(options.build())
        .iam_instance_profile(profile.build())
        .tag_specifications(tagged(
            ResourceType::Instance,
            &[("Name", "a b"), ("rat-things:session", "sess_1")],
        ));
    let machine = id(launch).await;
    let document = format!("\"instanceId\":\"{machine}\"");
    assert_eq!(
        said(&host, &machine, "done").lines().collect::<Vec<_>>(),
        [
            &format!("meta-data/instance-id: {machine} 200"),
            "meta-data/placement/region: eu-west-1 200",
            "meta-data/tags/instance/: Name",
            "rat-things:session 200",
            "meta-data/tags/instance/rat-things:session: sess_1 200",
            "meta-data/tags/instance/none:  404",
            "meta-data/iam/security-credentials/: worker 200",
            "meta-data/iam/security-credentials/worker: {\"Code\":\"Success\"",
            "\"AccessKeyId\":\"test\"",
            &document,
            "meta-data/spot/instance-action:  404",
            "401",
            "401",
            "400",
            "x-aws-ec2-metadata-token-ttl-seconds: 60",
            "403",
        ]
    );
    host.notice(&machine);
    let told = said(&host, &machine, "told");
    assert!(told.ends_with("{\"action\":\"terminate\",\n"), "{told}");
}

#[tokio::test]
async fn what_a_launch_does_not_switch_on_is_not_there() {
    let host = host(Vec::new());
    let text = format!(
        "{ASK}
        ask meta-data/tags/instance/
        ask meta-data/iam/info
        curl -sS -w ' %{{http_code}}\\n' $base/meta-data/instance-id
        echo done"
    );
    let launch =
        script(&host, &text).tag_specifications(tagged(ResourceType::Instance, &[("a b", "c")]));
    let machine = id(launch).await;
    assert_eq!(
        said(&host, &machine, "done").lines().collect::<Vec<_>>(),
        [
            "meta-data/tags/instance/:  404",
            "meta-data/iam/info:  404",
            // Without being told otherwise, EC2 also answers who has no token.
            &format!("{machine} 200"),
        ]
    );
}
