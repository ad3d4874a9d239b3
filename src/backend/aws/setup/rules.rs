//! What a bucket has rules for: how long objects are kept, and which requests are refused. Others may have set rules, too: those that
//! do no harm stay. Pure.

use aws_sdk_s3::types::{
    AbortIncompleteMultipartUpload, ExpirationStatus, LifecycleExpiration, LifecycleRuleFilter,
    NoncurrentVersionExpiration,
};
use serde_json::{Value, json};

use super::deployment::Deployment;
use super::desired::{INCOMPLETE_DAYS, NONCURRENT_DAYS, RULE, lifecycle_words};
use super::policy::bucket_policy;
use crate::backend::aws::fault::Fault;

pub(super) use aws_sdk_s3::types::LifecycleRule as Rule;

/// What a rule of somebody else does that loses content, in words.
pub const HARM: &str = "ends or moves what records name";

/// A bucket's lifecycle rules in words.
pub(super) fn words(rules: &[Rule]) -> String {
    let on = || rules.iter().filter(|rule| is_on(rule));
    let whole = || on().filter(|rule| is_of_all(rule));
    let incomplete = whole().filter_map(incomplete_days).min();
    // What is replaced goes with the first rule that says so, wherever it is.
    let noncurrent = whole().filter_map(noncurrent_days).min();
    let shorter = on().filter_map(noncurrent_days).min();
    let days =
        |days: Option<i32>| days.map_or("for ever".to_owned(), |days| format!("{days} days"));
    let mut said = match (incomplete, noncurrent) {
        (Some(incomplete), Some(noncurrent)) => lifecycle_words(incomplete, noncurrent),
        _ => format!(
            "incomplete uploads {}, replaced and deleted objects {}",
            days(incomplete),
            days(noncurrent)
        ),
    };
    if shorter < noncurrent
        && let Some(days) = shorter
    {
        said.push_str(&format!(", some of them {days} days"));
    }
    for rule in on().filter(|rule| takes_what_is_current(rule)) {
        let id = rule.id().unwrap_or("without a name");
        said.push_str(&format!(", and rule {id:?} {HARM}"));
    }
    said
}

/// The rules that the bucket gets: ours, and those of others that do no harm.
///
/// # Errors
/// S3's types take no such rule.
pub(super) fn with_ours(rules: Vec<Rule>) -> Result<Vec<Rule>, Fault> {
    let harmless = |rule: &Rule| {
        let ours = rule.id() == Some(RULE);
        let same_things = noncurrent_days(rule).is_some() || incomplete_days(rule).is_some();
        !(ours || same_things || is_on(rule) && takes_what_is_current(rule))
    };
    let mut all: Vec<Rule> = rules.into_iter().filter(harmless).collect();
    let ours = Rule::builder()
        .id(RULE)
        .status(ExpirationStatus::Enabled)
        .filter(LifecycleRuleFilter::builder().prefix("").build())
        .abort_incomplete_multipart_upload(
            AbortIncompleteMultipartUpload::builder()
                .days_after_initiation(INCOMPLETE_DAYS)
                .build(),
        )
        .noncurrent_version_expiration(
            NoncurrentVersionExpiration::builder()
                .noncurrent_days(NONCURRENT_DAYS)
                .build(),
        )
        .expiration(
            LifecycleExpiration::builder()
                .expired_object_delete_marker(true)
                .build(),
        );
    all.push(ours.build().map_err(|error| Fault::Refused {
        code: "InvalidRequest".to_owned(),
        message: error.to_string(),
    })?);
    Ok(all)
}

fn is_on(rule: &Rule) -> bool {
    *rule.status() == ExpirationStatus::Enabled
}

/// Whether it is about every object. A rule of older days has its prefix beside the filter.
fn is_of_all(rule: &Rule) -> bool {
    #[allow(deprecated, reason = "templates still set it, and S3 answers with it")]
    let own = rule.prefix().unwrap_or_default();
    let narrowed = rule.filter().is_some_and(|filter| {
        filter.prefix().is_some_and(|prefix| !prefix.is_empty())
            || filter.tag().is_some()
            || filter.and().is_some()
            || filter.object_size_greater_than().is_some()
            || filter.object_size_less_than().is_some()
    });
    own.is_empty() && !narrowed
}

fn incomplete_days(rule: &Rule) -> Option<i32> {
    rule.abort_incomplete_multipart_upload()?
        .days_after_initiation()
}

fn noncurrent_days(rule: &Rule) -> Option<i32> {
    rule.noncurrent_version_expiration()?.noncurrent_days()
}

/// A record may name an object as long as the record lives, so that no rule may end it, or move it to where it can't be read at once.
fn takes_what_is_current(rule: &Rule) -> bool {
    let ends = rule
        .expiration()
        .is_some_and(|ends| ends.days().is_some_and(|days| days > 0) || ends.date().is_some());
    ends || !rule.transitions().is_empty()
}

/// Whether the policy denies every request that others on the way could read.
pub(super) fn denies_plain(deployment: &Deployment, policy: &str) -> bool {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    statements(&policy)
        .iter()
        .any(|one| is_denial(deployment, one))
}

/// The policy that the bucket gets: what others said, and ours. A policy that can't be read is refused.
pub(super) fn with_denial(deployment: &Deployment, policy: &str) -> Result<String, Fault> {
    let ours = bucket_policy(deployment);
    let mut all = match policy.trim() {
        "" => return Ok(ours.to_string()),
        text => serde_json::from_str::<Value>(text).map_err(|error| Fault::Refused {
            code: "MalformedPolicy".to_owned(),
            message: format!("the bucket has a policy that is no JSON: {error}"),
        })?,
    };
    let ours = statements(&ours);
    let mut kept: Vec<Value> = statements(&all);
    kept.retain(|one| ours.iter().all(|our| our["Sid"] != one["Sid"]));
    kept.extend(ours);
    all["Statement"] = json!(kept);
    Ok(all.to_string())
}

/// A policy has one statement or a list of them.
fn statements(policy: &Value) -> Vec<Value> {
    match &policy["Statement"] {
        Value::Array(all) => all.clone(),
        Value::Object(one) => vec![Value::Object(one.clone())],
        _ => Vec::new(),
    }
}

fn is_denial(deployment: &Deployment, statement: &Value) -> bool {
    let everybody = statement["Principal"] == "*" || statement["Principal"]["AWS"] == "*";
    let everything = one_or_many(&statement["Action"]).contains(&"s3:*".to_owned());
    let resources = one_or_many(&statement["Resource"]);
    let all = [deployment.bucket_arn(""), deployment.bucket_arn("/*")];
    let plain = &statement["Condition"]["Bool"]["aws:SecureTransport"];
    statement["Effect"] == "Deny"
        && everybody
        && everything
        && all.iter().all(|arn| resources.contains(arn))
        && (*plain == "false" || *plain == false)
        && statement["Condition"]
            .as_object()
            .is_some_and(|all| all.len() == 1)
}

fn one_or_many(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(many) => {
            let texts = many.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::types::Transition;

    use super::super::deployment::Architecture;
    use super::*;

    fn rule(id: &str) -> aws_sdk_s3::types::builders::LifecycleRuleBuilder {
        Rule::builder().id(id).status(ExpirationStatus::Enabled)
    }

    fn wanted() -> String {
        lifecycle_words(INCOMPLETE_DAYS, NONCURRENT_DAYS)
    }

    #[test]
    fn what_ends_what_is_current_is_said_and_goes() {
        let ending = rule("tidy")
            .expiration(LifecycleExpiration::builder().days(30).build())
            .build()
            .expect("a rule");
        let moving = rule("cold")
            .transitions(Transition::builder().days(30).build())
            .build()
            .expect("a rule");
        let own = with_ours(Vec::new()).expect("rules");
        assert_eq!(words(&own), wanted());
        for harm in [ending, moving] {
            let mut rules = own.clone();
            rules.push(harm);
            assert_ne!(words(&rules), wanted());
            assert_eq!(with_ours(rules).expect("rules"), own);
        }
    }

    #[test]
    fn rules_of_others_that_do_no_harm_stay() {
        let off = Rule::builder()
            .id("off")
            .status(ExpirationStatus::Disabled)
            .expiration(LifecycleExpiration::builder().days(30).build())
            .build()
            .expect("a rule");
        let rules = with_ours(vec![off.clone()]).expect("rules");
        assert_eq!(rules.len(), 2);
        assert_eq!(rules[0], off);
        assert_eq!(words(&rules), wanted());
        assert_eq!(with_ours(rules.clone()).expect("rules"), rules);
    }

    #[test]
    fn what_is_replaced_must_nowhere_go_sooner() {
        let soon = rule("soon")
            .filter(LifecycleRuleFilter::builder().prefix("blobs/").build())
            .noncurrent_version_expiration(
                NoncurrentVersionExpiration::builder()
                    .noncurrent_days(1)
                    .build(),
            )
            .build()
            .expect("a rule");
        let mut rules = with_ours(Vec::new()).expect("rules");
        rules.push(soon);
        assert_ne!(words(&rules), wanted());
        assert_eq!(words(&with_ours(rules).expect("rules")), wanted());
        assert_ne!(words(&[]), wanted());
    }

    #[test]
    fn the_denial_joins_what_others_said() {
        let architecture = Architecture::Arm64;
        let deployment = Deployment::new("a", "123456789012", "eu-west-1", None, architecture);
        let deployment = deployment.expect("a name");
        let fresh = with_denial(&deployment, "").expect("a policy");
        assert!(denies_plain(&deployment, &fresh));
        let others = r#"{"Version":"2012-10-17","Statement":{"Sid":"Audit","Effect":"Allow"}}"#;
        assert!(!denies_plain(&deployment, others));
        let both = with_denial(&deployment, others).expect("a policy");
        assert!(denies_plain(&deployment, &both) && both.contains("Audit"));
        assert_eq!(with_denial(&deployment, &both).expect("a policy"), both);
        // One that holds for half of the bucket, or under another condition, is none.
        let half = fresh.replace("/*\"", "/x\"");
        assert!(!denies_plain(&deployment, &half));
        assert!(with_denial(&deployment, "no json").is_err());
    }
}
