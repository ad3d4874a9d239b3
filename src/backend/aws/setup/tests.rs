//! The description against what is made from it: every property is in the template, every call is permitted, and nothing else is.

mod read_back;
mod source;

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;
use serde_json::Value;

use self::read_back::found_in_template;
use super::deployment::{Architecture, Deployment};
use super::desired::{Kind, desired};
use super::operations::{OPERATIONS, On};
use super::plan::{Found, Seen, Standing, is_due, plan};
use super::policy::{Role, grants, policy};
use super::template::template;

const KEY: &str = "arn:aws:kms:eu-west-1:123456789012:key/0a1b";

fn deployment(kms_key: Option<&str>) -> Deployment {
    let architecture = Architecture::Arm64;
    Deployment::new(
        "rat-things",
        "123456789012",
        "eu-west-1",
        kms_key,
        architecture,
    )
    .expect("these are names")
}

fn as_wanted(deployment: &Deployment) -> Found {
    let of = |resource: super::desired::Resource| {
        let properties = resource.properties.into_iter();
        (
            resource.kind,
            properties
                .map(|one| (one.name, one.wanted.into()))
                .collect(),
        )
    };
    desired(deployment).into_iter().map(of).collect()
}

#[test]
fn the_template_has_every_property_of_the_description() {
    for key in [None, Some(KEY)] {
        for architecture in [Architecture::Arm64, Architecture::X86_64] {
            let deployment = Deployment::anywhere("agents", key, architecture).expect("a name");
            let found = found_in_template(&template(&deployment));
            for step in plan(&desired(&deployment), &found) {
                assert_eq!(step.standing, Standing::AsItShouldBe, "{step:#?}");
            }
        }
    }
}

#[test]
fn a_template_that_lacks_a_property_is_noticed() {
    let deployment = deployment(None);
    let whole = template(&deployment);
    for (resource, property, named) in [
        ("Table", "DeletionProtectionEnabled", "deletion protection"),
        (
            "Table",
            "PointInTimeRecoverySpecification",
            "point-in-time recovery",
        ),
        ("Bucket", "PublicAccessBlockConfiguration", "public access"),
        ("Bucket", "LifecycleConfiguration", "lifecycle"),
        ("WorkerSecurityGroup", "SecurityGroupEgress", "outbound"),
    ] {
        let mut less = whole.clone();
        let properties = less["Resources"][resource]["Properties"].as_object_mut();
        properties
            .and_then(|all| all.remove(property))
            .expect("it is there");
        let steps = plan(&desired(&deployment), &found_in_template(&less));
        let differ: Vec<&str> = steps
            .iter()
            .filter(|step| step.standing != Standing::AsItShouldBe && step.property != "region")
            .map(|step| step.property)
            .collect();
        assert!(differ.contains(&named), "{property}: {differ:?}");
    }
}

#[test]
fn what_does_not_exist_is_created_and_what_is_right_is_left() {
    let deployment = deployment(None);
    let wanted = desired(&deployment);
    let steps = plan(&wanted, &Found::new());
    assert!(
        steps
            .iter()
            .all(|step| step.standing == Standing::Create && step.found.is_none())
    );
    let steps = plan(&wanted, &as_wanted(&deployment));
    assert!(!is_due(&steps));
}

#[test]
fn what_differs_is_changed_if_it_can_be() {
    let deployment = deployment(None);
    let mut found = as_wanted(&deployment);
    let table = found.get_mut(&Kind::Table).expect("a table");
    table.insert("key", "id (text)".into());
    table.insert("billing", "provisioned".into());
    table.remove("point-in-time recovery");
    table.insert("tag", Seen::Hidden("AccessDenied".to_owned()));
    let steps = plan(&desired(&deployment), &found);
    let differ: Vec<_> = steps
        .iter()
        .filter(|step| step.standing != Standing::AsItShouldBe)
        .map(|step| (step.property, step.standing, step.found.as_deref()))
        .collect();
    let expected = [
        ("key", Standing::Fixed, Some("id (text)")),
        ("billing", Standing::Change, Some("provisioned")),
        ("point-in-time recovery", Standing::Change, Some("not set")),
        ("tag", Standing::Unseen, Some("AccessDenied")),
    ];
    assert_eq!(differ, expected);
    assert!(is_due(&steps));
}

#[test]
fn every_call_in_the_source_is_permitted_to_somebody() {
    let known: BTreeSet<&str> = OPERATIONS.iter().map(|one| one.method).collect();
    let called = source::calls();
    let unknown: Vec<_> = called
        .iter()
        .filter(|one| !known.contains(one.as_str()))
        .collect();
    assert!(unknown.is_empty(), "no role is permitted {unknown:?}");
}

#[test]
fn a_policy_permits_what_the_role_calls_and_nothing_else() {
    for role in Role::ALL {
        let document = policy(&deployment(Some(KEY)), role);
        let statements = document["Statement"].as_array().expect("statements");
        let granted: BTreeSet<(String, String)> = statements
            .iter()
            .flat_map(|statement| {
                let on = statement["Sid"].as_str().unwrap_or_default().to_owned();
                let actions = statement["Action"].as_array().cloned().unwrap_or_default();
                actions
                    .into_iter()
                    .map(move |action| (on.clone(), action.as_str().unwrap_or_default().to_owned()))
            })
            .collect();
        let needed: BTreeSet<(String, String)> = OPERATIONS
            .iter()
            .filter(|operation| operation.roles.contains(&role))
            .flat_map(|operation| operation.takes)
            .map(|(action, on)| (format!("{on:?}"), (*action).to_owned()))
            .collect();
        assert_eq!(granted, needed, "{}", role.name());
    }
}

#[test]
fn nothing_is_permitted_on_everything_but_what_can_not_be_narrowed() {
    for role in Role::ALL {
        let document = policy(&deployment(Some(KEY)), role);
        for statement in document["Statement"].as_array().expect("statements") {
            let everything = statement["Resource"] == serde_json::json!(["*"]);
            assert_eq!(everything, statement["Sid"] == "Anything", "{statement:#}");
            let text = statement["Action"].to_string();
            assert!(!text.contains('*'), "{text}");
        }
        let everywhere = grants(role).remove(&On::Anything).unwrap_or_default();
        let reads = |action: &&str| action.contains(":Describe") || action.contains(":List");
        assert!(everywhere.iter().all(reads), "{everywhere:?}");
    }
}

#[test]
fn a_worker_reaches_records_content_and_values_and_no_machine() {
    let worker = grants(Role::Worker);
    let on: Vec<On> = worker.keys().copied().collect();
    assert_eq!(
        on,
        [On::Table, On::Bucket, On::Objects, On::Secrets, On::Key]
    );
    let text = policy(&deployment(None), Role::Worker).to_string();
    for word in ["ec2:", "iam:", "s3:DeleteObject", "CreateSecret", "kms:"] {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn policies_fit_where_iam_takes_them() {
    const MANAGED_CHARS_MAX: usize = 6_144;
    let name = "a".repeat(32);
    let key =
        "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-0123456789abcdef0123456789abcdef";
    let longest = Deployment::new(
        &name,
        "123456789012",
        "us-gov-west-1",
        Some(key),
        Architecture::X86_64,
    )
    .expect("these are names");
    for role in Role::ALL {
        let chars = policy(&longest, role).to_string().chars().count();
        assert!(chars <= MANAGED_CHARS_MAX, "{}: {chars}", role.name());
    }
}

#[test]
fn a_template_names_no_account_and_fills_in_all_that_it_must() {
    let deployment = Deployment::anywhere("agents", None, Architecture::Arm64).expect("a name");
    fn walk(value: &Value, under: &str) {
        match value {
            Value::String(text) => {
                let filled_in = text.contains("${AWS::");
                assert_eq!(filled_in, under == "Fn::Sub", "{text}");
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, under)),
            Value::Object(fields) => fields.iter().for_each(|(name, value)| walk(value, name)),
            _ => {}
        }
    }
    walk(&template(&deployment), "");
}
