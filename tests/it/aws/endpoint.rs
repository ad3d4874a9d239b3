//! `--endpoint-url`: one address for all of AWS, and everybody that a command starts goes there, too.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::emulators::Place;
use super::place;
use super::stand::proxy::Proxy;

/// Where nobody listens: whoever asks there gets nowhere.
const NOWHERE: &str = "http://127.0.0.1:9";

/// The program with a profile and with variables that lead nowhere.
struct Account {
    home: tempfile::TempDir,
}

impl Account {
    fn new(place: &Place) -> Account {
        let home = tempfile::tempdir().expect("a directory");
        let config = home.path().join("config/rat-things");
        std::fs::create_dir_all(&config).expect("a directory");
        let (table, bucket) = (&place.places.table, &place.places.bucket);
        let text = format!(
            "default_profile = \"cloud\"\n[profile.cloud]\nkind = \"aws\"\naws.table = \"{table}\"\naws.bucket = \"{bucket}\"\n\
             aws.region = \"eu-west-1\"\naws.endpoint_url = \"{NOWHERE}\"\ndaemon.autostart = true\ndaemon.idle_exit_ms = 60000\n"
        );
        std::fs::write(config.join("config.toml"), text).expect("a file");
        Account { home }
    }

    fn run(&self, url: &str, args: &[&str]) -> Output {
        let home: &Path = self.home.path();
        Command::new(env!("CARGO_BIN_EXE_rat-things"))
            .args(args)
            .args(["--endpoint-url", url])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL", NOWHERE)
            .env("AWS_ENDPOINT_URL_DYNAMODB", NOWHERE)
            .env("AWS_ENDPOINT_URL_S3", NOWHERE)
            .env("AWS_ENDPOINT_URL_STS", NOWHERE)
            .env("AWS_ENDPOINT_URL_SECRETS_MANAGER", NOWHERE)
            .stdin(Stdio::null())
            .output()
            .expect("it runs")
    }

    fn ok(&self, url: &str, args: &[&str]) -> Output {
        let out = self.run(url, args);
        assert!(out.status.success(), "{args:?}: {out:?} {}", self.log());
        out
    }

    fn json(&self, url: &str, args: &[&str]) -> Value {
        let out = self.ok(url, &[args, &["-o", "json"]].concat());
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    fn log(&self) -> String {
        let log = "state/rat-things/aws/cloud/logs/daemon.log";
        std::fs::read_to_string(self.home.path().join(log)).unwrap_or_default()
    }
}

/// The daemon ends with its test, and its worker with it.
struct Ended<'a>(&'a Account, &'a str);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let _ = self.0.run(self.1, &["daemon", "stop"]);
    }
}

#[test]
fn a_daemon_that_was_started_by_itself_and_its_worker_go_where_the_command_line_says_that_aws_is() {
    let place = place();
    let proxy = Proxy::before_both(place.dynamodb, place.others).expect("a port");
    let (account, url) = (Account::new(&place), proxy.url());
    let shown = account.json(&url, &["config", "show", "--origin"]);
    let settings = shown["settings"].as_array().expect("a list");
    let endpoint = settings.iter().find(|row| row["key"] == "aws.endpoint_url");
    assert_eq!(
        endpoint,
        Some(&serde_json::json!({
            "key": "aws.endpoint_url", "value": url, "origin": "flag --endpoint-url",
        }))
    );
    let ended = Ended(&account, &url);
    let create = ["sessions", "create", "--no-wait", "--input"];
    // A command and its output: records and content are written by the worker, too.
    let input = "@exec echo one > outputs/a.txt\n@say done";
    let session = account.json(&url, &[&create[..], &[input]].concat());
    let id = session["id"].as_str().expect("an id");
    account.ok(&url, &["sessions", "wait", id, "--timeout", "120s"]);
    let turns = account.json(&url, &["sessions", "turns", id]);
    assert_eq!(turns["data"][0]["status"], "completed", "{turns}");
    let status = account.json(&url, &["daemon", "status"]);
    assert_eq!(status["endpoint_url"], url.as_str(), "{status}");

    // With another place of AWS that daemon is of no use, and that is said instead of waiting for it.
    let twin = Proxy::before_both(place.dynamodb, place.others).expect("a port");
    let sent = account.ok(
        &twin.url(),
        &["sessions", "send", id, "--no-wait", "--input", "@say two"],
    );
    let words = String::from_utf8_lossy(&sent.stderr).into_owned();
    let expected = format!("was told that AWS is at {url}, so it does not work on this");
    assert!(
        words.contains(&expected) && words.contains("--data-dir"),
        "{words}"
    );
    let refused = account.run(&twin.url(), &["daemon", "start"]);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    drop(ended);
}
