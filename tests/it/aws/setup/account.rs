//! The program in front of an account in which a deployment is to be set up: emulators for the most, our stand-in for EC2.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::aws::emulators::Place;
use crate::aws::place;
use crate::aws::stand::ec2::Ec2;

/// A deployment of one test, in the emulators' account.
pub(super) struct Account {
    pub(super) home: tempfile::TempDir,
    pub(super) place: Place,
    pub(super) ec2: Ec2,
    /// Its name.
    pub(super) name: String,
    /// Where DynamoDB is for the program, if not at the emulator itself.
    pub(super) through: Option<String>,
    /// Where EC2 is for the program, if not at the stand-in.
    pub(super) ec2_url: Option<String>,
}

impl Account {
    pub(super) fn new() -> Account {
        let place = place();
        let home = tempfile::tempdir().expect("a directory");
        let config = home.path().join("config/rat-things");
        std::fs::create_dir_all(&config).expect("a directory");
        let name = place.places.table.replace("rat-things", "setup");
        let text = format!(
            "default_profile = \"cloud\"\n[profile.cloud]\nkind = \"aws\"\naws.deployment = \"{name}\"\naws.region = \"eu-west-1\"\n"
        );
        std::fs::write(config.join("config.toml"), text).expect("a file");
        Account {
            home,
            place,
            ec2: Ec2::start("eu-west-1").expect("loopback"),
            name,
            through: None,
            ec2_url: None,
        }
    }

    pub(super) fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("it runs")
    }

    pub(super) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-things"));
        let home: &Path = self.home.path();
        let dynamodb = self.through.as_ref().unwrap_or(&self.place.dynamodb_url);
        let ec2 = self.ec2_url.clone().unwrap_or_else(|| self.ec2.url());
        command
            .args(line.split(' '))
            .env_clear()
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_DYNAMODB", dynamodb)
            .env("AWS_ENDPOINT_URL_EC2", ec2)
            .env("AWS_ENDPOINT_URL", &self.place.others_url)
            .stdin(Stdio::null());
        command
    }

    /// Adds lines to the profile.
    pub(super) fn configure(&self, lines: &str) {
        let path = self.home.path().join("config/rat-things/config.toml");
        let text = std::fs::read_to_string(&path).expect("a file");
        std::fs::write(&path, format!("{text}{lines}")).expect("a file");
    }

    /// The exit code and the JSON that was printed.
    pub(super) fn asked(&self, line: &str) -> (i32, Value) {
        let out = self.run(&format!("{line} -o json"));
        let json = serde_json::from_slice(&out.stdout);
        let code = out.status.code().expect("it was not killed");
        (code, json.unwrap_or_else(|_| panic!("{line}: {out:?}")))
    }

    /// Something that says it runs on Graviton.
    pub(super) fn program(&self) -> PathBuf {
        self.program_for("program", 0xb7)
    }

    /// Something that says it runs on such processors, as ELF numbers them.
    pub(super) fn program_for(&self, name: &str, machine: u8) -> PathBuf {
        let path = self.home.path().join(name);
        let mut header = b"\x7fELF\x02\x01\x01".to_vec();
        header.resize(18, 0);
        header.extend([machine, 0]);
        header.extend(self.name.as_bytes());
        std::fs::write(&path, header).expect("a file");
        path
    }

    pub(super) fn bucket(&self, plan: &Value) -> String {
        format!(
            "{}-{}-eu-west-1",
            self.name,
            plan["account"].as_str().expect("an account")
        )
    }
}

/// Checks of `doctor`: name, result, message.
pub(super) fn examined(account: &Account) -> (i32, Vec<(String, String, String)>) {
    let (code, report) = account.asked("doctor");
    let checks = report["checks"].as_array().expect("checks").iter();
    let seen = checks.map(|check| {
        let word = |name: &str| check[name].as_str().expect("words").to_owned();
        (word("name"), word("result"), word("message"))
    });
    (code, seen.collect())
}

/// Results of the checks of this name.
pub(super) fn results(checks: &[(String, String, String)], name: &str) -> Vec<String> {
    let of_it = checks.iter().filter(|(of, _, _)| of == name);
    of_it.map(|(_, result, _)| result.clone()).collect()
}

/// What dynoxide does not show.
pub(super) const HIDDEN_BY_DYNOXIDE: [&str; 3] = ["table", "point-in-time recovery", "hidden"];

/// Lines that are not right: resource, property, standing.
pub(super) fn not_right(plan: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = plan["lines"].as_array().expect("lines").iter();
    lines
        .filter(|line| line["standing"] != "right")
        .map(|line| {
            (
                text(&line["resource"]),
                text(&line["property"]),
                text(&line["standing"]),
            )
        })
        .collect()
}

/// What was done, and how it ended.
pub(super) fn outcomes(deeds: &Value) -> Vec<(&str, &str)> {
    let deeds = deeds["deeds"].as_array().expect("deeds").iter();
    deeds
        .map(|deed| {
            let word = |name: &str| deed[name].as_str().expect("words");
            (word("what"), word("outcome"))
        })
        .collect()
}
