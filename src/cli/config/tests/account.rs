//! Profiles whose store is in an AWS account.

use pretty_assertions::assert_eq;

use super::*;

#[test]
fn an_endpoint_of_the_command_line_is_of_an_account_alone_and_is_checked_as_the_file_is() {
    let cloud = "[profile.cloud]\nkind = \"aws\"\naws.endpoint_url = \"http://file.example\"\n";
    let flags = |url: &str| Overrides {
        endpoint_url: Some(url.into()),
        ..Overrides::default()
    };
    let aws = |settings: &Settings| settings.aws.clone().expect("an account");
    let of_file = settings(cloud);
    assert_eq!(aws(&of_file).told_endpoint(), None);
    let told = decide(cloud, &[], &flags("http://127.0.0.1:4566")).expect("valid");
    assert_eq!(aws(&told).told_endpoint(), Some("http://127.0.0.1:4566"));
    assert_eq!(
        told.origin("aws.endpoint_url").to_string(),
        "flag --endpoint-url"
    );
    let machine = for_machines(&told.entries(), &[]);
    assert!(
        machine.contains("endpoint_url = \"http://127.0.0.1:4566\""),
        "{machine}"
    );
    for wrong in [
        "",
        "127.0.0.1:4566",
        "ftp://a.example",
        "http://",
        "http://:4566",
        "http://a.example:port",
        "http://a.example:70000",
        "https://me:secret@a.example",
    ] {
        let error = decide(cloud, &[], &flags(wrong)).expect_err(wrong);
        let expected =
            "--endpoint-url must be an http or https URL without credentials, query and fragment";
        assert_eq!((error.message.as_str(), error.exit_code()), (expected, 2));
    }
    let server = "[profile.far]\nkind = \"api\"\nbase_url = \"https://a.example/v1\"\n";
    for (text, profile, kind) in [("", "default", "local"), (server, "far", "api")] {
        let error = decide(text, &[], &flags("http://127.0.0.1:4566")).expect_err("refused");
        let expected = format!(
            "--endpoint-url is for profiles of kind \"aws\", and profile \"{profile}\" is of kind \"{kind}\""
        );
        assert_eq!((error.message, error.hint.len()), (expected, 1));
    }
}

#[test]
fn a_profile_of_an_account_has_its_own_keys_and_a_directory_of_its_own() {
    let text = "[profile.cloud]\nkind = \"aws\"\naws.region = \"eu-west-1\"\naws.bucket = \"content\"\ndaemon.workers = 3\n";
    let found = settings(text);
    let aws = found.aws.as_ref().expect("an account");
    assert_eq!(aws.region.as_deref(), Some("eu-west-1"));
    assert_eq!(
        (aws.deployment.as_str(), aws.bucket.as_deref()),
        ("rat-things", Some("content"))
    );
    assert!(found.data_dir.value.ends_with("aws/cloud"), "{found:?}");
    assert_eq!(found.daemon.workers, 3);
    // Nobody starts one on a whim, where one runs elsewhere.
    assert!(!found.daemon.autostart);
    assert!(
        settings(&format!("{text}daemon.autostart = true\n"))
            .daemon
            .autostart
    );
    refused(
        "[profile.x]\naws.region = \"eu-west-1\"",
        "RT-0211",
        "/c/config.toml:2: `profile.x.aws` is not a known key",
        "`aws` belongs to profiles of kind \"aws\"",
    );
}
