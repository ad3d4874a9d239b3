//! Profiles of a server.

use super::*;
use pretty_assertions::assert_eq;

const FAR: &str = r#"
default_profile = "far"
[profile.far]
kind = "api"
base_url = "https://agents.example.com/v1"
key_file = "~/key"
ca_file = "/etc/own-ca.pem"
timeout_s = 90
read_only = true
provider.model = "some-model"
"#;

#[test]
fn a_profile_of_a_server_reaches_its_settings() {
    let settings = settings(FAR);
    let expected = ServerSettings {
        base_url: "https://agents.example.com/v1".into(),
        key: KeyOrigin::File("/home/me/key".into()),
        ca_file: Some("/etc/own-ca.pem".into()),
        timeout_ms: 90_000,
    };
    assert_eq!(settings.server, Some(expected));
    assert_eq!(settings.default_model().as_deref(), Some("some-model"));
    assert!(settings.read_only && !settings.answers_with_demo_by_default());
    let keys: Vec<String> = settings.entries().into_iter().map(|e| e.key).collect();
    assert!(keys.iter().any(|key| key == "timeout_s"), "{keys:?}");
    assert!(
        !keys.iter().any(|key| key.starts_with("sandbox.")),
        "{keys:?}"
    );
}

#[test]
fn keys_of_one_kind_of_profile_are_none_of_the_other() {
    for (text, code, message, hint) in [
        (
            "[profile.x]\nkind = \"api\"\nbase_url = \"https://a.example/v1\"\nkeyfile = \"/k\"",
            "RT-0211",
            "/c/config.toml:4: `profile.x.keyfile` is not a known key",
            "did you mean `key_file`?",
        ),
        (
            "[profile.x]\nkind = \"api\"\nbase_url = \"https://a.example/v1\"\n[profile.x.sandbox]\nnetwork = \"enabled\"",
            "RT-0211",
            "/c/config.toml:4: `profile.x.sandbox` is not a known key",
            "`sandbox` belongs to profiles of kind \"local\" or \"aws\"",
        ),
        (
            "[profile.x]\nkind = \"api\"\nbase_url = \"https://a.example/v1\"\ndata_dir = \"/d\"",
            "RT-0211",
            "/c/config.toml:4: `profile.x.data_dir` is not a known key",
            "`data_dir` belongs to profiles of kind \"local\" or \"aws\"",
        ),
        (
            "[profile.x]\nkey_command = [\"pass\"]",
            "RT-0211",
            "/c/config.toml:2: `profile.x.key_command` is not a known key",
            "`key_command` belongs to profiles of kind \"api\"",
        ),
        (
            "[profile.x]\nkind = \"api\"",
            "RT-0212",
            "/c/config.toml:2: a profile of kind \"api\" needs `base_url`",
            "base_url = \"https://agents.example.com/v1\"",
        ),
        (
            "[profile.x]\nkind = \"api\"\nbase_url = \"https://a.example/v1\"\nkey_env = \"K\"\nkey_command = [\"k\"]",
            "RT-0212",
            "/c/config.toml:5: `key_env` and `key_command` are both set; only one can be used",
            "",
        ),
        (
            "[profile.x]\nkind = \"api\"\nbase_url = \"https://me:secret@a.example/v1\"",
            "RT-0212",
            "/c/config.toml:3: `profile.x.base_url` must be an http or https URL without credentials, query and fragment",
            "",
        ),
    ] {
        refused(text, code, message, hint);
    }
}

#[test]
fn a_server_keeps_its_own_data() {
    let flags = Overrides {
        data_dir: Some("/d".into()),
        ..Overrides::default()
    };
    let error = decide(FAR, &[], &flags).expect_err("a contradiction");
    assert!(
        error.message.starts_with("--data-dir is for profiles"),
        "{error}"
    );
    // A variable is set once for all profiles.
    assert!(decide(FAR, &[("RAT_THINGS_DATA_DIR", "/d")], &Overrides::default()).is_ok());
}
