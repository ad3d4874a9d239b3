//! `aws plan`, `init` and `destroy` with the real program, over emulators.
//!
//! What they lack is named here: dynoxide does not know point-in-time recovery, which `HIDDEN_BY_DYNOXIDE` says, so that what is about
//! recovery has its table in ministack; ministack refuses no bucket of another account.

mod account;
mod machines;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{BucketVersioningStatus, VersioningConfiguration};
use pretty_assertions::assert_eq;
use rat_things::backend::aws::client::AwsClients;
use serde_json::{Value, json};

use self::account::{Account, HIDDEN_BY_DYNOXIDE, examined, not_right, outcomes, results};
use super::stand::proxy::{Fault, Proxy, Rule};
use super::stand::when::When;

#[test]
fn what_a_plan_says_is_due_is_made_and_then_nothing_is() {
    all_is_made(Account::new());
}

#[test]
fn the_same_where_ministack_is_ec2_as_well() {
    let mut account = Account::new();
    account.ec2_url = Some(account.place.others_url.clone());
    all_is_made(account);
}

fn all_is_made(mut account: Account) {
    account.through = Some(account.place.others_url.clone());
    let program = account.program();
    let with = format!("--binary {}", program.display());
    let (code, plan) = account.asked(&format!("aws plan {with}"));
    assert_eq!((code, &plan["due"]), (1, &json!(true)));
    let lines = plan["lines"].as_array().expect("lines");
    assert!(
        lines.iter().all(|line| line["standing"] == "create"),
        "{plan:#}"
    );

    let refused = account.run(&format!("aws init {with}"));
    assert_eq!(
        refused.status.code(),
        Some(2),
        "nobody can be asked: {refused:?}"
    );
    let (code, deeds) = account.asked(&format!("aws init --yes {with}"));
    let all = outcomes(&deeds);
    assert!(
        all.iter().all(|(_, outcome)| *outcome == "done"),
        "{all:#?}"
    );
    assert_eq!(code, 0);

    let (code, plan) = account.asked(&format!("aws plan {with}"));
    assert_eq!(not_right(&plan), Vec::new());
    assert_eq!((code, &plan["due"]), (0, &json!(false)));
    let (code, deeds) = account.asked(&format!("aws init --yes {with}"));
    assert_eq!((code, outcomes(&deeds)), (0, Vec::new()));
}

#[test]
fn a_program_for_other_processors_is_not_uploaded() {
    let account = Account::new();
    let program = account.program();
    for line in ["aws init --yes", "aws plan"] {
        let out = account.run(&format!("{line} --x86-64 --binary {}", program.display()));
        let words = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{words}");
        assert!(
            words.contains("arm64") && words.contains("--without-workers"),
            "{words}"
        );
    }
    let (_, plan) = account.asked("aws plan --without-workers");
    let lines = plan["lines"].as_array().expect("lines");
    assert!(
        lines.iter().all(|line| line["standing"] == "create"),
        "nothing was made"
    );
}

#[tokio::test]
async fn what_was_changed_by_somebody_else_is_seen_and_mended() {
    let account = Account::new();
    let (code, _) = account.asked("aws init --yes --without-workers");
    assert_eq!(code, 0);
    let (_, plan) = account.asked("aws plan --without-workers");
    let bucket = account.bucket(&plan);
    let s3 = account.place.clients.s3();
    let off = VersioningConfiguration::builder().status(BucketVersioningStatus::Suspended);
    let suspended = s3.put_bucket_versioning().bucket(&bucket);
    let suspended = suspended.versioning_configuration(off.build()).send().await;
    suspended.expect("versions are off");
    let opened = s3.delete_public_access_block().bucket(&bucket).send().await;
    opened.expect("it is open");
    let db = account.place.clients.dynamodb();
    let unprotected = db.update_table().table_name(&account.name);
    let unprotected = unprotected.deletion_protection_enabled(false).send().await;
    unprotected.expect("it is not protected");

    let (code, plan) = account.asked("aws plan --without-workers");
    let words = |[a, b, c]: [&str; 3]| (a.to_owned(), b.to_owned(), c.to_owned());
    let hidden = words(HIDDEN_BY_DYNOXIDE);
    let expected = [
        hidden.clone(),
        words(["table", "deletion protection", "change"]),
        words(["bucket", "public access", "change"]),
        words(["bucket", "versioning", "change"]),
    ];
    assert_eq!((code, not_right(&plan)), (1, expected.to_vec()));
    let (code, deeds) = account.asked("aws init --yes --without-workers");
    assert_eq!((code, outcomes(&deeds).len()), (0, 3));
    let (code, plan) = account.asked("aws plan --without-workers");
    assert_eq!((code, not_right(&plan)), (1, vec![hidden]));
}

#[test]
fn what_was_interrupted_goes_on_and_what_was_lost_is_looked_for() {
    let mut account = Account::new();
    let rule = |operation, fault| Rule {
        operation,
        when: When::Nth(1),
        fault,
    };
    let rules = vec![
        // It was made, and nobody heard of it.
        rule("CreateTable", Fault::DropAnswer),
        rule("UpdateTimeToLive", Fault::Throttle),
        rule("UpdateContinuousBackups", Fault::DropRequest),
    ];
    let proxy = Proxy::before(account.place.others, rules).expect("a port");
    account.through = Some(proxy.url());
    let (code, deeds) = account.asked("aws init --yes --without-workers");
    let all = outcomes(&deeds);
    assert_eq!(proxy.applied(), [1, 0, 1], "{all:#?}");
    // What may have happened stops it, because nothing else may be possible either.
    assert_eq!(code, 6, "{all:#?}");
    let (last, before) = all.split_last().expect("deeds");
    assert_eq!(last.1, "may_have_been_done");
    assert!(
        before.iter().all(|(_, outcome)| *outcome == "done"),
        "{all:#?}"
    );
    let (code, deeds) = account.asked("aws init --yes --without-workers");
    assert_eq!(code, 0, "{deeds:#}");
    assert_eq!(proxy.applied(), [1, 1, 1]);
    let (code, plan) = account.asked("aws plan --without-workers");
    assert_eq!((code, not_right(&plan)), (0, Vec::new()));
}

#[tokio::test]
async fn data_is_destroyed_only_by_name_and_then_all_of_it() {
    let account = Account::new();
    let with = format!("--binary {}", account.program().display());
    let (code, _) = account.asked(&format!("aws init --yes {with}"));
    assert_eq!(code, 0);
    let session = account.run("sessions create --input hello -o id");
    assert!(session.status.success(), "{session:?}");

    let (name, place) = (&account.name, &account.place);
    for (line, code) in [
        ("aws destroy".to_owned(), 2),
        ("aws destroy --yes".to_owned(), 5),
        ("aws destroy --yes --with-data rat-things".to_owned(), 2),
    ] {
        let out = account.run(&line);
        assert_eq!(out.status.code(), Some(code), "{line}: {out:?}");
    }
    let listed = account.run("sessions list -o id");
    assert!(
        listed.status.success() && !listed.stdout.is_empty(),
        "{listed:?}"
    );

    let (_, plan) = account.asked("aws plan --without-workers");
    let bucket = account.bucket(&plan);
    let s3 = place.clients.s3();
    // An older version and an upload that never ended cost as much as what is current.
    for text in ["one", "two"] {
        let put = s3.put_object().bucket(&bucket).key("blobs/a");
        let put = put.body(ByteStream::from_static(text.as_bytes())).send();
        put.await.expect("an object");
    }
    let upload = s3.create_multipart_upload().bucket(&bucket).key("blobs/b");
    upload.send().await.expect("an upload");
    let (code, deeds) = account.asked(&format!("aws destroy --yes --with-data {name}"));
    let all = outcomes(&deeds);
    assert!(
        all.iter().all(|(_, outcome)| *outcome == "done"),
        "{all:#?}"
    );
    assert_eq!((code, all.len()), (0, 6));
    let (code, plan) = account.asked("aws plan --without-workers");
    let lines = plan["lines"].as_array().expect("lines");
    assert_eq!(code, 1);
    assert!(
        lines.iter().all(|line| line["standing"] == "create"),
        "{plan:#}"
    );
    let (code, deeds) = account.asked("aws destroy --yes");
    assert_eq!((code, outcomes(&deeds)), (0, Vec::new()));
}

#[tokio::test]
async fn a_table_of_somebody_else_is_not_touched() {
    let account = Account::new();
    // A table as the tests make them has another key here.
    let clients = AwsClients::connect(&account.place.options).await;
    let db = clients.expect("a region").dynamodb();
    use aws_sdk_dynamodb::types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
    };
    let attribute = AttributeDefinition::builder().attribute_name("id");
    let attribute = attribute.attribute_type(ScalarAttributeType::N);
    let key = KeySchemaElement::builder().attribute_name("id");
    let made = db
        .create_table()
        .table_name(&account.name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute.build().expect("an attribute"))
        .key_schema(key.key_type(KeyType::Hash).build().expect("a key"));
    made.send().await.expect("a table");
    let out = account.run("aws init --yes --without-workers");
    let words = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(5), "{words}");
    assert!(words.contains("Nothing was changed"), "{words}");
    let (_, plan) = account.asked("aws plan --without-workers");
    let bucket = plan["lines"].as_array().expect("lines").iter();
    let bucket: Vec<&Value> = bucket.filter(|line| line["resource"] == "bucket").collect();
    assert!(
        bucket.iter().all(|line| line["standing"] == "create"),
        "{plan:#}"
    );
}

#[test]
fn doctor_says_what_is_wrong_with_a_deployment_and_what_mends_it() {
    let account = Account::new();
    let (code, checks) = examined(&account);
    assert_eq!(code, 1, "{checks:#?}");
    assert_eq!(results(&checks, "credentials"), ["ok"]);
    for missing in ["table", "bucket", "store"] {
        assert_eq!(results(&checks, missing), ["failed"], "{checks:#?}");
    }
    let (code, _) = account.asked("aws init --yes --without-workers");
    assert_eq!(code, 0);
    let (_, checks) = examined(&account);
    for right in [
        "bucket",
        "store",
        "security group",
        "launch template",
        "program",
    ] {
        assert_eq!(results(&checks, right), ["ok"], "{checks:#?}");
    }
    // Point-in-time recovery is hidden by dynoxide.
    assert_eq!(results(&checks, "table"), ["warning"], "{checks:#?}");
    // Workers without a program.
    let program = account.program();
    let (code, _) = account.asked(&format!("aws init --yes --binary {}", program.display()));
    assert_eq!(code, 0);
    let (_, checks) = examined(&account);
    for right in ["security group", "launch template", "program"] {
        assert_eq!(results(&checks, right), ["ok"], "{checks:#?}");
    }
}

#[test]
fn doctor_tells_who_is_not_logged_in_how_to_log_in() {
    let account = Account::new();
    let nobody = account
        .command("doctor -o json")
        .env_remove("AWS_ACCESS_KEY_ID")
        .env_remove("AWS_SECRET_ACCESS_KEY")
        .output()
        .expect("it runs");
    let words = String::from_utf8_lossy(&nobody.stdout).into_owned();
    assert_eq!(nobody.status.code(), Some(4), "{nobody:?}");
    assert!(words.contains("aws sso login"), "{words}");
}
