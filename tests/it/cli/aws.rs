//! `aws …`: what is printed of a deployment, without an account.

use super::env::TestEnv;
use super::scrub::seen;

const PLACE: &str = "--account 123456789012 --region eu-west-1";
const KEY: &str = "arn:aws:kms:eu-west-1:123456789012:key/0a1b";

#[test]
fn policies_are_printed_for_every_role() {
    let env = TestEnv::new();
    for role in ["operator", "daemon", "worker"] {
        let line = format!("aws policy {role} {PLACE} --kms-key {KEY}");
        seen!(format!("aws-policy-{role}"), env.shown(&env.run(&line)));
    }
    assert!(!env.data().exists(), "nothing of this needs a store");
}

#[test]
fn the_template_is_printed_for_cloudformation() {
    let env = TestEnv::new();
    seen!("aws-template", env.shown(&env.run("aws template")));
    let with_key = env.json(&format!(
        "aws template --kms-key {KEY} --deployment agents --x86-64"
    ));
    let table = &with_key["Resources"]["Table"]["Properties"];
    assert_eq!(table["SSESpecification"]["KMSMasterKeyId"], KEY);
    assert_eq!(table["TableName"], "agents");
    let text = env.ok("aws template");
    let made: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!(made, env.json("aws template"));
}

#[test]
fn words_that_name_nothing_are_refused() {
    let env = TestEnv::new();
    seen!(env.page(&[
        "aws policy worker --account 123456789012",
        "aws policy worker --account 12 --region eu-west-1",
        "aws policy worker --account 123456789012 --region Ireland",
        &format!("aws policy worker {PLACE} --kms-key alias/mine"),
        "aws template --deployment Agents_1",
        "aws policy somebody --account 123456789012",
    ]));
}

#[test]
fn another_place_of_aws_is_for_profiles_of_an_account_and_must_be_a_place() {
    let env = TestEnv::configured(
        "[profile.here]\n[profile.cloud]\nkind = \"aws\"\naws.endpoint_url = \"http://127.0.0.1:1\"\n",
    );
    seen!(env.page(&[
        "sessions list -P here --endpoint-url http://127.0.0.1:4566",
        "aws plan -P here --endpoint-url http://127.0.0.1:4566",
        "sessions list -P cloud --endpoint-url 127.0.0.1:4566",
        "sessions list -P cloud --endpoint-url https://me:secret@emulator.example",
        "sessions list -P cloud --endpoint-url",
    ]));
    let shown = env.json("config show --origin -P cloud --endpoint-url http://127.0.0.1:4566");
    let settings = shown["settings"].as_array().expect("a list");
    let endpoint = settings.iter().find(|row| row["key"] == "aws.endpoint_url");
    let endpoint = endpoint.expect("it is shown");
    assert_eq!(endpoint["value"], "http://127.0.0.1:4566");
    assert_eq!(endpoint["origin"], "flag --endpoint-url");
}

#[test]
fn the_region_is_where_every_aws_tool_finds_it() {
    let env = TestEnv::new().with("AWS_DEFAULT_REGION", "eu-west-3");
    let policy = env.json("aws policy worker --account 123456789012");
    assert!(policy.to_string().contains("dynamodb:eu-west-3:"));
    let env = env.with("AWS_REGION", "eu-west-2");
    let policy = env.json("aws policy worker --account 123456789012");
    assert!(policy.to_string().contains("dynamodb:eu-west-2:"));
}
