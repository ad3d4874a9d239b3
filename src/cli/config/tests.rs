//! Files, variables and flags together: what is decided, and how mistakes are told.

use std::path::{Path, PathBuf};

use super::file::{self, File};
use super::*;
use crate::api::HarnessChoice;
use crate::cli::out::{CliError, ColorChoice};
use crate::text::{Glyphs, TimeStyle};
use pretty_assertions::assert_eq;
use serde_json::json;

mod account;
mod server;

fn parsed(text: &str) -> Result<File, CliError> {
    file::parse(Path::new("/c/config.toml"), text)
}

fn decide(text: &str, vars: &[(&str, &str)], flags: &Overrides) -> Result<Settings, CliError> {
    let vars = Vars::fixed(
        [("HOME", "/home/me")]
            .into_iter()
            .chain(vars.iter().copied()),
    );
    Settings::decide(Some("/c/config.toml".into()), &parsed(text)?, &vars, flags)
}

fn settings(text: &str) -> Settings {
    decide(text, &[], &Overrides::default()).expect("a valid configuration")
}

#[track_caller]
fn refused(text: &str, code: &str, message: &str, hint: &str) {
    let error = decide(text, &[], &Overrides::default()).expect_err("an invalid configuration");
    let found = (
        error.code,
        error.message.as_str(),
        error.hint.first().map_or("", String::as_str),
    );
    assert_eq!(found, (code, message, hint), "{text}");
    assert_eq!(error.exit_code(), 2);
}

#[test]
fn no_file_at_all_is_a_working_configuration() {
    let settings = settings("");
    assert_eq!(settings.profile.value, "default");
    assert_eq!(
        settings.data_dir.value,
        PathBuf::from("/home/me/.local/state/rat-things")
    );
    assert_eq!(settings.provider.kind, ProviderKind::Demo);
    assert!(!settings.provider.configured);
    assert_eq!(settings.sandbox.isolation, IsolationChoice::Sandbox);
    assert_eq!(settings.sandbox.network, NetworkChoice::Disabled);
    assert_eq!(
        (settings.daemon.idle_exit_ms, settings.daemon.grace_ms),
        (600_000, 30_000)
    );
    assert!(settings.daemon.autostart && !settings.read_only);
    assert_eq!(settings.limits.recovery, RecoveryChoice::Continue);
    assert_eq!(
        (settings.ui.color, settings.ui.glyphs, settings.ui.time),
        (ColorChoice::Auto, None, TimeStyle::Relative)
    );
}

const FULL: &str = r#"
default_profile = "work"

[profile.work]
kind = "local"
data_dir = "~/rats"
read_only = true

[profile.work.provider]
kind = "responses"
base_url = "http://127.0.0.1:9000/v1"
api_key_command = ["pass", "show", "hidden-argument"]
model = "some-model"
timeout_ms = 60000
max_retries = 0

[profile.work.sandbox]
isolation = "unsafe-none"
network = "restricted"
allowed_domains = ["example.com", "*.crates.io"]
env = ["LANG"]
memory_bytes = 1073741824
pids = 100
cpu_seconds = 60
file_bytes = 1048576
bwrap = "/opt/bwrap"

[profile.work.daemon]
idle_exit_ms = 0
grace_ms = 5
workers = 2
runs_per_worker = 3
autostart = false
listen = "127.0.0.1:8790"
no_auth = true
tls_cert = "~/cert.pem"
tls_key = "/etc/key.pem"
requests_per_second = 7

[profile.work.limits]
turn_attempts = 1
model_calls_per_turn = 10
lease_ms = 2000
recovery = "fail"

[profile.other]
kind = "aws"
aws.region = "nowhere"

[ui]
color = "never"
glyphs = "ascii"
time = "utc"
"#;

#[test]
fn every_key_reaches_its_setting() {
    let settings = settings(FULL);
    assert_eq!(settings.profile.value, "work");
    assert_eq!(settings.data_dir.value, PathBuf::from("/home/me/rats"));
    assert!(settings.read_only);
    assert_eq!(
        settings.provider,
        ProviderSettings {
            kind: ProviderKind::Responses,
            configured: true,
            base_url: "http://127.0.0.1:9000/v1".into(),
            api_key_env: "OPENAI_API_KEY".into(),
            api_key_command: Some(vec!["pass".into(), "show".into(), "hidden-argument".into()]),
            api_key_secret: None,
            api_key: None,
            model: Some("some-model".into()),
            timeout_ms: 60_000,
            max_retries: 0,
        }
    );
    assert_eq!(
        settings.sandbox,
        SandboxSettings {
            isolation: IsolationChoice::UnsafeNone,
            network: NetworkChoice::Restricted(vec!["example.com".into(), "*.crates.io".into()]),
            env: vec!["LANG".into()],
            memory_bytes: 1 << 30,
            pids: 100,
            cpu_seconds: 60,
            file_bytes: 1 << 20,
            bwrap: Some("/opt/bwrap".into()),
        }
    );
    assert_eq!(
        settings.daemon,
        DaemonSettings {
            idle_exit_ms: 0,
            grace_ms: 5,
            workers: 2,
            runs_per_worker: 3,
            autostart: false,
            listen: Some(([127, 0, 0, 1], 8_790).into()),
            no_auth: true,
            tls: Some(("/home/me/cert.pem".into(), "/etc/key.pem".into())),
            requests_per_second: Some(7),
        }
    );
    assert_eq!(
        settings.limits,
        LimitSettings {
            turn_attempts: 1,
            model_calls_per_turn: 10,
            lease_ms: 2_000,
            recovery: RecoveryChoice::Fail,
        }
    );
    assert_eq!(
        settings.ui,
        UiSettings {
            color: ColorChoice::Never,
            glyphs: Some(Glyphs::Ascii),
            time: TimeStyle::Utc,
        }
    );
}

#[test]
fn flag_beats_environment_beats_profile_beats_default() {
    let text = "[profile.default]\ndata_dir = \"/profile\"\nread_only = false\n";
    let flags = Overrides {
        data_dir: Some("/flag".into()),
        read_only: true,
        no_autostart: true,
        color: Some(ColorChoice::Always),
        ..Overrides::default()
    };
    let vars = [
        ("RAT_THINGS_DATA_DIR", "/env"),
        ("RAT_THINGS_READ_ONLY", "1"),
        ("NO_COLOR", "1"),
    ];
    let origin = |settings: &Settings| {
        (
            settings.data_dir.origin.to_string(),
            settings.origin("read_only").to_string(),
        )
    };

    let all = decide(text, &vars, &flags).expect("valid");
    assert_eq!(all.data_dir.value, PathBuf::from("/flag"));
    assert_eq!(
        origin(&all),
        ("flag --data-dir".into(), "flag --read-only".into())
    );
    assert_eq!(
        (all.daemon.autostart, all.ui.color),
        (false, ColorChoice::Always)
    );

    let env = decide(text, &vars, &Overrides::default()).expect("valid");
    assert_eq!(env.data_dir.value, PathBuf::from("/env"));
    assert_eq!(
        origin(&env),
        (
            "env RAT_THINGS_DATA_DIR".into(),
            "env RAT_THINGS_READ_ONLY".into()
        )
    );
    assert_eq!((env.read_only, env.ui.color), (true, ColorChoice::Never));

    let profile = decide(text, &[], &Overrides::default()).expect("valid");
    assert_eq!(profile.data_dir.value, PathBuf::from("/profile"));
    let at = |line| format!("profile default, /c/config.toml:{line}");
    assert_eq!(origin(&profile), (at(2), at(3)));

    let default =
        decide("", &[("XDG_STATE_HOME", "/state")], &Overrides::default()).expect("valid");
    assert_eq!(default.data_dir.value, PathBuf::from("/state/rat-things"));
    assert_eq!(origin(&default), ("default".into(), "default".into()));
}

#[test]
fn autostart_is_forbidden_by_its_variable() {
    let autostart = |value| {
        decide(
            "",
            &[("RAT_THINGS_NO_AUTOSTART", value)],
            &Overrides::default(),
        )
        .expect("valid")
        .daemon
        .autostart
    };
    assert_eq!((autostart("1"), autostart("0")), (false, true));
}

#[test]
fn a_wrong_variable_is_named() {
    let error = decide(
        "",
        &[("RAT_THINGS_READ_ONLY", "maybe")],
        &Overrides::default(),
    )
    .expect_err("no Boolean");
    assert_eq!(
        error.message,
        "RAT_THINGS_READ_ONLY must be true or false, not \"maybe\""
    );
}

#[test]
fn unknown_keys_name_the_line_and_the_nearest_key() {
    refused(
        "\n[profile.x]\nread_onyl = true\n",
        "RT-0211",
        "/c/config.toml:3: `profile.x.read_onyl` is not a known key",
        "did you mean `read_only`?",
    );
    refused(
        "[profile.x.provider]\n\n  base-url = \"http://x\"\n",
        "RT-0211",
        "/c/config.toml:3: `profile.x.provider.base-url` is not a known key",
        "did you mean `base_url`?",
    );
    refused(
        "[profiles.x]\n",
        "RT-0211",
        "/c/config.toml:1: `profiles` is not a known key",
        "did you mean `profile`?",
    );
    refused(
        "profile.x.base_url = \"http://x\"\n",
        "RT-0211",
        "/c/config.toml:1: `profile.x.base_url` is not a known key",
        "`base_url` belongs into [profile.NAME.provider]",
    );
    refused(
        "[ui]\nwallpaper = 1\n",
        "RT-0211",
        "/c/config.toml:2: `ui.wallpaper` is not a known key",
        "keys here: color, glyphs, images, keys, mouse, time",
    );
}

#[test]
fn wrong_values_name_the_line_and_what_is_expected() {
    for (text, message) in [
        (
            "[profile.x.daemon]\ngrace_ms = \"30s\"",
            "2: `profile.x.daemon.grace_ms` must be a whole number from 0 to 86400000, not a string",
        ),
        (
            "[profile.x.daemon]\nworkers = 0",
            "2: `profile.x.daemon.workers` must be a whole number from 1 to 1024, not 0",
        ),
        (
            "[profile.x.daemon]\nworkers = -1",
            "2: `profile.x.daemon.workers` must be a whole number from 1 to 1024, not -1",
        ),
        (
            "[ui]\ncolor = \"alwys\"",
            "2: `ui.color` must be one of \"auto\", \"always\", \"never\", not \"alwys\"; did you mean \"always\"?",
        ),
        (
            "[profile.x]\nread_only = 1",
            "2: `profile.x.read_only` must be true or false, not an integer",
        ),
        (
            "[profile.x]\nprovider = 1",
            "2: `profile.x.provider` must be a table, not integer",
        ),
        ("profile = 1", "1: `profile` must be a table, not integer"),
        (
            "default_profile = []",
            "1: `default_profile` must be a text that is not empty, not an array",
        ),
        (
            "[profile.x]\ndata_dir = \"here\"",
            "2: `profile.x.data_dir` must be an absolute path, or one that starts with ~/, not \"here\"",
        ),
        (
            "[profile.x.sandbox]\nenv = [\"A B\"]",
            "2: `profile.x.sandbox.env` must be a list of which every entry is the name of an environment variable",
        ),
        (
            "[profile.x.sandbox]\nenv = [\n 1]",
            "2: `profile.x.sandbox.env` must be a list of texts, and every entry a text",
        ),
        (
            "[profile.\"x y\"]",
            "1: `profile.x y`: the name of a profile is made of letters, digits, - and _",
        ),
    ] {
        refused(text, "RT-0212", &format!("/c/config.toml:{message}"), "");
    }
}

#[test]
fn syntax_errors_name_the_line_and_quote_nothing() {
    let error = parsed("[ui]\ncolor = \"never\"\ntoken = sk-very-secret\n").expect_err("no TOML");
    assert!(
        error.message.starts_with("/c/config.toml:3: "),
        "{}",
        error.message
    );
    assert!(!error.message.contains("secret"), "{}", error.message);
}

#[test]
fn profiles_are_chosen_by_name_or_by_being_the_obvious_one() {
    let name = |text: &str, vars: &[(&str, &str)]| {
        decide(text, vars, &Overrides::default())
            .expect("valid")
            .profile
            .value
    };
    assert_eq!(name("[profile.only]", &[]), "only");
    assert_eq!(name("[profile.a]\n[profile.default]", &[]), "default");
    assert_eq!(
        name("default_profile = \"b\"\n[profile.a]\n[profile.b]", &[]),
        "b"
    );
    assert_eq!(
        name(
            "default_profile = \"b\"\n[profile.a]\n[profile.b]",
            &[("RAT_THINGS_PROFILE", "a")]
        ),
        "a"
    );
    refused(
        "[profile.a]\n[profile.b]",
        "RT-0213",
        "several profiles and none is chosen; /c/config.toml defines a, b",
        "choose one with --profile NAME, or with default_profile at the top of the file",
    );
    refused(
        "default_profile = \"wrok\"\n[profile.work]",
        "RT-0213",
        "there is no profile \"wrok\" (file /c/config.toml:1); /c/config.toml defines work",
        "did you mean \"work\"?",
    );
}

#[test]
fn contradictions_are_refused() {
    for (text, message, hint) in [
        (
            "[profile.x.sandbox]\nnetwork = \"restricted\"",
            "2: `sandbox.network` is \"restricted\" and `sandbox.allowed_domains` is empty",
            "name the hosts that commands may reach, or set sandbox.network = \"disabled\"",
        ),
        (
            "[profile.x.sandbox]\nnetwork = \"enabled\"\nallowed_domains = [\"a.com\"]",
            "3: `sandbox.allowed_domains` has no effect while `sandbox.network` is \"enabled\"",
            "set sandbox.network = \"restricted\"",
        ),
        (
            "[profile.x.provider]\nbase_url = \"http://x\"",
            "2: `provider.base_url` is set and `provider.kind` is not",
            "set provider.kind = \"responses\" to use it, or \"demo\" to leave it aside",
        ),
        (
            "[profile.x.provider]\nkind = \"responses\"\napi_key_env = \"K\"\napi_key_command = [\"k\"]",
            "4: `provider.api_key_command` and `provider.api_key_env` are both set; only one can be used",
            "",
        ),
        (
            "[profile.x]\nharness = \"codex\"",
            "2: `harness` is \"codex\" and `provider.kind` is \"demo\", which only our own loop can use",
            "set provider.kind = \"responses\"",
        ),
    ] {
        refused(text, "RT-0212", &format!("/c/config.toml:{message}"), hint);
    }
}

#[test]
fn codex_is_chosen_and_found_where_it_is_said_to_be() {
    let codex = |more: &str| {
        settings(&format!(
            "[profile.x]\nharness = \"codex\"\nprovider.kind = \"responses\"\n{more}"
        ))
        .harness
    };
    let usual = HarnessChoice::Codex;
    assert_eq!(codex(""), HarnessSettings { usual, codex: None });
    let program = Some(PathBuf::from("/home/me/codex"));
    assert_eq!(
        codex("codex.program = \"~/codex\""),
        HarnessSettings {
            usual,
            codex: program
        }
    );
    assert_eq!(settings("").harness.usual, HarnessChoice::Responses);
}

#[test]
fn entries_show_every_key_and_no_secret() {
    let settings = settings(FULL);
    let entries = settings.entries();
    let entry = |key: &str| {
        entries
            .iter()
            .find(|entry| entry.key == key)
            .expect("is listed")
    };
    assert_eq!(entry("profile").value, json!("work"));
    assert_eq!(entry("data_dir").value, json!("/home/me/rats"));
    assert_eq!(entry("sandbox.pids").value, json!(100));
    assert_eq!(
        entry("ui.color").origin.to_string(),
        "file /c/config.toml:51"
    );
    assert_eq!(entry("provider.api_key_env").origin, Origin::Default);
    assert_eq!(entry("sandbox.env").text(), "[\"LANG\"]");
    assert!(
        entries
            .iter()
            .all(|entry| !entry.text().contains("hidden-argument"))
    );
}

#[test]
fn read_only_mode_says_from_where_it_came() {
    let error = settings(FULL)
        .may_change("sessions delete")
        .expect_err("refused");
    assert_eq!(
        error.message,
        "sessions delete would change something, and read-only mode is on (profile work, /c/config.toml:7)"
    );
    assert!(settings("").may_change("sessions delete").is_ok());
}

#[test]
fn files_are_found_read_and_refused_by_what_they_are() {
    let home = tempfile::tempdir().expect("a directory");
    let directory = home.path().join("rat-things");
    let load = || {
        let vars = [("XDG_CONFIG_HOME", home.path()), ("HOME", home.path())];
        Settings::load(&Vars::fixed(vars), &Overrides::default())
    };
    assert_eq!(load().expect("no file is fine").profile.value, "default");
    std::fs::create_dir(&directory).expect("writes");
    let path = directory.join("config.toml");
    std::fs::write(&path, "[profile.mine]\n").expect("writes");
    assert_eq!(load().expect("valid").profile.value, "mine");
    std::fs::write(&path, b"\xff\xfe").expect("writes");
    assert_eq!(
        load().expect_err("no text").message,
        format!("{}: not UTF-8 text", path.display())
    );
    std::fs::remove_file(&path).expect("deletes");
    std::fs::create_dir(&path).expect("writes");
    let error = load().expect_err("a directory");
    assert_eq!(error.code, "RT-0214");
    assert!(
        error
            .message
            .starts_with(&format!("{}: cannot be read: ", path.display())),
        "{}",
        error.message
    );
}
