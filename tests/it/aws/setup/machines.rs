//! What of a deployment is EC2's, over our stand-in: the security group, the launch template, and the machines that there are.

use aws_sdk_ec2::types::{
    IpPermission, IpRange, LaunchTemplateHttpTokensState,
    LaunchTemplateInstanceMetadataOptionsRequest, RequestLaunchTemplateData, ResourceType,
};
use pretty_assertions::assert_eq;

use super::account::{Account, HIDDEN_BY_DYNOXIDE, examined, not_right, outcomes, results};
use crate::aws::stand::ec2::Trouble;
use crate::aws::stand::ec2::tests::{client, launch, tagged};
use crate::aws::stand::when::When;

/// Everything is set up, with workers.
fn set_up(account: &Account) -> String {
    let with = format!("--binary {}", account.program().display());
    let (code, deeds) = account.asked(&format!("aws init --yes {with}"));
    assert_eq!(code, 0, "{deeds:#}");
    with
}

/// What a plan finds that is not right, beside what dynoxide hides.
fn amiss(account: &Account, with: &str) -> Vec<(String, String, String)> {
    let (_, plan) = account.asked(&format!("aws plan {with}"));
    let mut found = not_right(&plan);
    found.retain(|(resource, property, _)| {
        [resource, property] != [HIDDEN_BY_DYNOXIDE[0], HIDDEN_BY_DYNOXIDE[1]]
    });
    found
}

fn words([resource, property, standing]: [&str; 3]) -> (String, String, String) {
    (
        resource.to_owned(),
        property.to_owned(),
        standing.to_owned(),
    )
}

#[tokio::test]
async fn a_door_that_somebody_opened_is_shut_and_a_template_gets_a_version_that_is_right() {
    let account = Account::new();
    let with = set_up(&account);
    let ec2 = client(&account.ec2.url());
    let group = ec2.describe_security_groups();
    let groups = group.send().await.expect("groups");
    let name = format!("{}-worker", account.name);
    let mut ours = groups.security_groups().iter();
    let ours = ours.find(|group| group.group_name() == Some(&name));
    let id = ours.and_then(|group| group.group_id()).expect("a group");
    let ssh = IpPermission::builder().ip_protocol("tcp").from_port(22);
    let ssh = ssh.to_port(22);
    let anybody = IpRange::builder().cidr_ip("0.0.0.0/0").build();
    let opened = ec2.authorize_security_group_ingress().group_id(id);
    let opened = opened.ip_permissions(ssh.ip_ranges(anybody).build());
    opened.send().await.expect("it is open");
    let loose = LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_tokens(LaunchTemplateHttpTokensState::Optional);
    let data = RequestLaunchTemplateData::builder().metadata_options(loose.build());
    let version = ec2.create_launch_template_version();
    let version = version.launch_template_name(&name).source_version("1");
    let version = version.launch_template_data(data.build()).send().await;
    let version = version.expect("a version");
    let number = version
        .launch_template_version()
        .and_then(|one| one.version_number());
    let number = number.expect("a number").to_string();
    let by_default = ec2.modify_launch_template().launch_template_name(&name);
    let by_default = by_default.default_version(&number).send().await;
    by_default.expect("it is the default");

    let expected = [
        words(["security group", "inbound", "change"]),
        words(["launch template", "metadata service", "change"]),
    ];
    assert_eq!(amiss(&account, &with), expected);
    let (_, checks) = examined(&account);
    for wrong in ["security group", "launch template"] {
        assert_eq!(results(&checks, wrong), ["warning"], "{checks:#?}");
    }
    let (code, deeds) = account.asked(&format!("aws init --yes {with}"));
    assert_eq!((code, outcomes(&deeds).len()), (0, 2), "{deeds:#}");
    assert_eq!(amiss(&account, &with), []);
}

#[test]
fn what_was_made_and_nobody_heard_of_is_found_and_not_made_again() {
    let account = Account::new();
    for action in [
        "CreateSecurityGroup",
        "AuthorizeSecurityGroupEgress",
        "CreateLaunchTemplate",
    ] {
        account.ec2.rule(action, When::Nth(1), Trouble::AnswerLost);
    }
    account.ec2.rule(
        "RevokeSecurityGroupEgress",
        When::Nth(1),
        Trouble::Refused("RequestLimitExceeded"),
    );
    let with = format!("--binary {}", account.program().display());
    let init = format!("aws init --yes {with}");
    // Whatever may have happened ends a run; the next one looks.
    let ended = (0..4).find(|_| account.asked(&init).0 == 0);
    assert!(ended.is_some(), "it never comes to an end");
    assert_eq!(amiss(&account, &with), []);
    let (code, deeds) = account.asked("aws destroy --yes");
    let all = outcomes(&deeds);
    assert_eq!(code, 0, "{all:#?}");
    let of_ec2 = all
        .iter()
        .filter(|(what, _)| what.contains("launch template") || what.contains("security group"));
    assert_eq!(of_ec2.count(), 2, "{all:#?}");
}

#[tokio::test]
async fn a_deployment_with_machines_is_not_destroyed_and_whoever_asks_is_told_how_to_end_them() {
    let account = Account::new();
    set_up(&account);
    let ec2 = client(&account.ec2.url());
    let tags = [("rat-things:deployment", account.name.as_str())];
    let launch = launch(&ec2, "one");
    let launch = launch.tag_specifications(tagged(ResourceType::Instance, &tags));
    let launched = launch.send().await.expect("an instance");
    let first = launched
        .instances()
        .first()
        .and_then(|one| one.instance_id());
    let id = first.expect("an id");
    let refused = account.run("aws destroy --yes");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(5), "{said}");
    assert!(
        said.contains("rat-things runs stop --all") && said.contains(id),
        "{said}"
    );
    let ended = ec2.terminate_instances().instance_ids(id).send().await;
    ended.expect("it ends");
    account.ec2.hurry();
    let (code, deeds) = account.asked("aws destroy --yes");
    assert_eq!(code, 0, "{deeds:#}");
    let templates = ec2.describe_launch_templates().send().await;
    assert_eq!(templates.expect("a list").launch_templates().len(), 0);
}

#[test]
fn doctor_judges_workers_by_their_own_processors_and_by_where_agents_run() {
    let account = Account::new();
    let (code, _) = account.asked("aws init --yes --without-workers");
    assert_eq!(code, 0);
    // Whose agents run on instances needs what makes them.
    account.configure("aws.workers = \"ec2\"\n");
    let (code, checks) = examined(&account);
    assert_eq!(code, 1);
    for missing in ["security group", "launch template", "program"] {
        assert_eq!(results(&checks, missing), ["failed"], "{checks:#?}");
    }
    // Intel and AMD are as good as Graviton.
    let program = account.program_for("intel", 0x3e);
    let init = format!("aws init --yes --x86-64 --binary {}", program.display());
    let (code, deeds) = account.asked(&init);
    assert_eq!(code, 0, "{deeds:#}");
    let (_, checks) = examined(&account);
    for right in ["security group", "launch template", "program"] {
        assert_eq!(results(&checks, right), ["ok"], "{checks:#?}");
    }
    // One that nobody uploaded can't be fetched.
    account.configure(&format!("aws.worker_program = \"{}\"\n", "ab".repeat(32)));
    let (_, checks) = examined(&account);
    assert_eq!(results(&checks, "program"), ["failed"], "{checks:#?}");
}
