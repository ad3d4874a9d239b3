//! What every command shares: parsing, versions, topics of help, configuration.

use std::fs;

use super::env::TestEnv;
use super::scrub::seen;

#[test]
fn mistakes_are_told_in_one_form() {
    let env = TestEnv::new();
    seen!(env.page(&[
        "sesions list",
        "sessions lits",
        "sessions get",
        "sessions list --limit 0",
        "sessions list --order up",
        "sessions list --status busy",
        "sessions send sess_a",
        "sessions create --input a --wait --agent-id x -f y",
        "sessions answer sess_a",
        "artifacts get sess_a",
        "runs list",
        "--color blue",
        "-q -v version",
        "completions tcsh",
        "sessions create --idempotency-key ''",
    ]));
    assert!(!env.data().exists(), "nothing was made");
}

#[test]
fn a_noun_alone_shows_its_help_on_standard_error() {
    let env = TestEnv::new();
    let ran = env.run("runs");
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("End a quarantine"), "{}", ran.stderr);
}

#[test]
fn who_asked_for_json_gets_mistakes_as_json() {
    let env = TestEnv::new();
    seen!(env.page(&[
        "sessions lits -o json",
        "sessions get -o jsonl",
        "runs --json",
        "sessions get sess_a -o json --limit 3",
        "sessions get no/id -o json",
    ]));
}

#[test]
fn versions_are_one_line_or_all_of_them() {
    let env = TestEnv::new();
    let own = env!("CARGO_PKG_VERSION");
    assert_eq!(env.ok("--version"), format!("rat-things {own}"));
    assert_eq!(env.ok("-V"), env.ok("--version"));
    assert!(!env.data().exists(), "asking for a version makes nothing");
    let version = env.json("version");
    assert_eq!(version["version"], own);
    assert_eq!(version["api"], "v1");
    assert_eq!(version["daemon"], serde_json::Value::Null);
    env.session("@say hi");
    assert_eq!(env.json("version")["daemon"], own);
    assert_eq!(env.ok("version -o id"), own);
}

#[test]
fn topics_and_codes_are_explained() {
    let env = TestEnv::new();
    seen!(env.page(&[
        "help exit-codes",
        "help RT-0300",
        "help rt-0600 -o json",
        "help RT-9999",
        "help environment",
        "help formats",
        "help nonsense",
    ]));
}

#[test]
fn the_configuration_in_force_is_shown_with_its_origins() {
    let env = TestEnv::configured(
        "default_profile = 'work'\n[profile.work]\nprovider.kind = 'demo'\nsandbox.env = ['LANG']\n[ui]\ntime = 'utc'\n",
    )
    .with("RAT_THINGS_READ_ONLY", "1")
    .with("RAT_THINGS_MODEL", "tiny");
    seen!(env.page(&[
        "config show --origin --no-autostart",
        "config show -o id",
        "config show -o json"
    ]));
}

#[test]
fn configuration_errors_name_the_line_and_the_way_out() {
    for (name, toml) in [
        ("key", "[profile.default]\nprovder.kind = 'demo'\n"),
        ("value", "[profile.default.daemon]\nworkers = 0\n"),
        ("syntax", "[profile.default\n"),
        (
            "profile",
            "default_profile = 'wrok'\n[profile.work]\nkind = 'local'\n",
        ),
        ("kind", "[profile.default]\nkind = 'cloud'\n"),
        (
            "secret",
            "[profile.default.provider]\nkind = 'responses'\napi_key_env = 'sk-planted'\n",
        ),
        (
            "contradiction",
            "[profile.default.sandbox]\nnetwork = 'restricted'\n",
        ),
    ] {
        let env = TestEnv::configured(toml);
        let ran = env.run("sessions list");
        assert!(!ran.stderr.contains("sk-planted"), "{}", ran.stderr);
        assert!(!env.data().exists(), "nothing was made");
        seen!(format!("config-error-{name}"), env.shown(&ran));
        // What needs no configuration works all the same; doctor says what is wrong.
        assert_eq!(env.run("help exit-codes").code, 0);
        assert_eq!(env.run("version").code, 0);
        let doctor = env.run("doctor -o json");
        assert_eq!(doctor.code, 1, "{doctor:#?}");
        assert!(doctor.stdout.contains("\"configuration\""), "{doctor:#?}");
    }
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let env = TestEnv::configured(
        "[profile.a]\nprovider.model = 'file'\n[profile.b]\nread_only = true\n",
    )
    .with("RAT_THINGS_PROFILE", "a");
    let value = |line: &str, key: &str| {
        let shown = env.json(line);
        let settings = shown["settings"].as_array().expect("a list").clone();
        let found = settings.iter().find(|s| s["key"] == key).expect("is shown");
        (
            found["value"].clone(),
            found["origin"].as_str().unwrap_or_default().to_owned(),
        )
    };
    let (model, origin) = value("config show --origin", "provider.model");
    assert_eq!(model, "file");
    assert!(origin.starts_with("profile a, "), "{origin}");
    assert_eq!(
        value("config show --origin -P b", "read_only"),
        (
            true.into(),
            format!(
                "profile b, {}:4",
                env.path("config/rat-things/config.toml").display()
            )
        )
    );
    let env = env.with("RAT_THINGS_MODEL", "variable");
    let shown = env.ok("config show --origin -o tsv");
    assert!(
        shown.contains("provider.model\tvariable\tenv RAT_THINGS_MODEL"),
        "{shown}"
    );
}

#[test]
fn the_data_directory_is_made_private() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::new();
    env.sandboxed("@exec mkdir -p outputs && echo hi > outputs/a");
    let mut looked_at = 0;
    let mut open = vec![env.data()];
    while let Some(path) = open.pop() {
        // What belongs to the sandbox's own user is reached through directories that nobody else can enter.
        if path.ends_with("environments") {
            continue;
        }
        let meta = fs::symlink_metadata(&path).expect("is there");
        let mode = meta.permissions().mode() & 0o777;
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode, wanted, "{} {mode:o}", path.display());
        looked_at += 1;
        if meta.is_dir() {
            open.extend(
                fs::read_dir(&path)
                    .expect("lists")
                    .map(|e| e.expect("an entry").path()),
            );
        }
    }
    assert!(looked_at > 10, "only {looked_at}");
}
