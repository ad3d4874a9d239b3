//! A Session of the real program in an account: created, worked on, talked to, read and deleted, over emulators.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use rat_things::backend::aws::store::DynamoStore;
use rat_things::engine::ports::{Range, Store};
use serde_json::Value;

use super::emulators::Place;
use super::place;

/// How long a busy machine may take for what is waited for.
const LONG: Duration = Duration::from_secs(90);

/// The program with a profile of an account, and nothing of the user's own.
struct Account<'p> {
    home: tempfile::TempDir,
    place: &'p Place,
}

impl Account<'_> {
    fn new(place: &Place) -> Account<'_> {
        let home = tempfile::tempdir().expect("a directory");
        let config = home.path().join("config/rat-things");
        std::fs::create_dir_all(&config).expect("a directory");
        let (table, bucket) = (&place.places.table, &place.places.bucket);
        let text = format!(
            "default_profile = \"cloud\"\n[profile.cloud]\nkind = \"aws\"\naws.table = \"{table}\"\naws.bucket = \"{bucket}\"\naws.region = \"eu-west-1\"\n"
        );
        std::fs::write(config.join("config.toml"), text).expect("a file");
        Account { home, place }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-things"));
        let home: &Path = self.home.path();
        command
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.place.dynamodb_url)
            .env("AWS_ENDPOINT_URL", &self.place.others_url)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["-o", "json"]].concat());
        assert!(out.status.success(), "{args:?}: {out:?}");
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    fn daemon(&self) -> Daemon {
        let mut daemon = self.command(&["daemon", "run"]);
        let log = std::fs::File::create(self.home.path().join("daemon.log")).expect("a file");
        Daemon(daemon.stderr(log).spawn().expect("it starts"))
    }
}

/// A daemon that ends with its test.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn ids(list: &Value) -> Vec<&str> {
    let data = list["data"].as_array().expect("a list");
    data.iter().filter_map(|one| one["id"].as_str()).collect()
}

#[tokio::test]
async fn a_session_lives_in_an_account_as_it_lives_in_a_directory() {
    let place = place();
    let account = Account::new(&place);
    // Input is accepted, and read, while nobody works.
    let session = account.json(&[
        "sessions",
        "create",
        "--input",
        "@exec echo one > outputs/a.txt\n@say done",
    ]);
    let id = session["id"].as_str().expect("an id").to_owned();
    assert_eq!(ids(&account.json(&["sessions", "list"])), [&id]);
    let daemon = account.daemon();
    let waited = account.run(&["sessions", "wait", &id, "--timeout", "90s"]);
    assert!(waited.status.success(), "{waited:?}");
    // A daemon that is killed delays what it had accepted, and no more.
    drop(daemon);
    account.json(&[
        "sessions",
        "send",
        &id,
        "--input",
        "@exec cat outputs/a.txt\n@say again",
    ]);
    // Who asks is remembered, so that a message takes what its acceptance takes.
    let stats = account.run(&["sessions", "send", &id, "--input", "@say more", "--stats"]);
    let words = String::from_utf8_lossy(&stats.stderr).into_owned();
    let total = words
        .lines()
        .find_map(|line| line.strip_suffix("requests to AWS"));
    let total: u64 = total.expect("a total").trim().parse().expect("a number");
    assert!(total <= 3, "{words}");
    let _daemon = account.daemon();
    let waited = account.run(&["sessions", "wait", &id, "--timeout", "90s"]);
    assert!(waited.status.success(), "{waited:?}");
    let turns = account.json(&["sessions", "turns", &id]);
    let states: Vec<_> = turns["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|turn| turn["status"].as_str())
        .collect();
    assert!(
        states.iter().all(|state| *state == Some("completed")),
        "{states:?}"
    );
    let items = account.json(&["sessions", "items", &id, "--order", "asc"]);
    assert!(ids(&items).len() >= 6, "{items}");
    assert!(items.to_string().contains("one"), "{items}");
    let artifacts = account.json(&["sessions", "artifacts", &id]);
    let artifact = ids(&artifacts)[0].to_owned();
    let got = account.run(&["artifacts", "get", &id, &artifact, "--to", "-"]);
    assert_eq!(got.stdout, b"one\n", "{got:?}");

    // What is deleted leaves no row and no object.
    let deleted = account.run(&["sessions", "delete", &id, "--yes"]);
    assert!(deleted.status.success(), "{deleted:?}");
    let store = DynamoStore::new(&place.clients, &place.places);
    let all = Range {
        partition: format!("S/{id}"),
        from: String::new(),
        until: None,
        reverse: false,
        limit: 1,
    };
    let begun = Instant::now();
    while !store.range(&all).await.expect("a page").records.is_empty() {
        let log = || std::fs::read_to_string(account.home.path().join("daemon.log"));
        assert!(begun.elapsed() < LONG, "rows are left: {:?}", log());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let objects = place.clients.s3().list_object_versions();
    let objects = objects
        .bucket(&place.places.bucket)
        .send()
        .await
        .expect("a list");
    let left: Vec<_> = objects
        .versions()
        .iter()
        .filter_map(|object| object.key())
        .collect();
    let of_session: Vec<_> = left.iter().filter(|name| name.contains(&id)).collect();
    assert!(of_session.is_empty(), "{of_session:?}");
}

#[test]
fn an_account_that_was_not_set_up_is_told_from_one_that_is() {
    let place = place();
    let account = Account::new(&place);
    let doctor = account.run(&["doctor"]);
    assert!(doctor.status.success(), "{doctor:?}");
    let mut elsewhere = account.command(&["sessions", "list"]);
    let config = account.home.path().join("config/rat-things/config.toml");
    let text = std::fs::read_to_string(&config).expect("reads");
    let text = text.replace(&place.places.table, "no-such-table");
    std::fs::write(&config, text).expect("writes");
    let refused = elsewhere.output().expect("it runs");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{words}");
    assert!(
        words.contains("no such DynamoDB table") && words.contains("no-such-table"),
        "{words}"
    );
}
