//! Where agents run in an account, and what a machine of its own is told of a profile.

use serde_json::Value as Json;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

use super::origin::{Entry, Origin};
use super::resolve::Decided;

/// How instances are launched, and how long they stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Each Session has an instance; otherwise agents run on the daemon's machine.
    pub on_machines: bool,
    /// The launch template, if it is not called as the deployment says.
    pub launch_template: Option<String>,
    /// Instead of the template's.
    pub instance_type: Option<String>,
    /// Instead of the template's.
    pub subnets: Vec<String>,
    /// Spot instances.
    pub spot: bool,
    /// SHA-256 of the program for instances, if it is not this very program.
    pub program: Option<String>,
    /// An instance stays for so long without work.
    pub idle_s: u64,
    /// And for so long without its store.
    pub unreachable_s: u64,
    /// What 1,000 hours cost in US dollars; `None`: nobody said.
    pub usd_per_1000_hours: Option<u64>,
}

impl WorkerSettings {
    pub(super) fn of(decided: &Decided) -> WorkerSettings {
        WorkerSettings {
            on_machines: decided.text("aws.workers").as_deref() == Some("ec2"),
            launch_template: decided.text("aws.launch_template"),
            instance_type: decided.text("aws.instance_type"),
            subnets: decided.texts("aws.subnets"),
            spot: decided.flag("aws.spot"),
            program: decided.text("aws.worker_program"),
            idle_s: decided.whole("aws.worker_idle_s"),
            unreachable_s: decided.whole("aws.worker_unreachable_s"),
            usd_per_1000_hours: match decided.whole("aws.usd_per_1000_hours") {
                0 => None,
                usd => Some(usd),
            },
        }
    }
}

/// Tables that matter to a worker.
const TABLES: [&str; 4] = ["aws", "provider", "sandbox", "limits"];
/// What is about the operator's own machine, or about launching.
const NOT_TOLD: &[&str] = &[
    "aws.profile",
    "aws.workers",
    "aws.launch_template",
    "aws.instance_type",
    "aws.subnets",
    "aws.spot",
    "aws.worker_program",
    "aws.usd_per_1000_hours",
    "provider.api_key_env",
    "provider.api_key_command",
    "sandbox.env",
    "sandbox.bwrap",
];

/// The configuration file of a machine's worker: everything that was decided and matters to it, and these values besides. The profile is
/// called `worker`. No secret is in it, because none is in any configuration.
pub fn for_machines(entries: &[Entry], besides: &[(&str, &str)]) -> String {
    let mut profile = Table::new();
    profile.insert("kind", Item::Value("aws".into()));
    for entry in entries {
        let told = TABLES.iter().any(|table| {
            let rest = entry.key.strip_prefix(table);
            rest.is_some_and(|rest| rest.starts_with('.'))
        });
        if told
            && entry.origin != Origin::Default
            && !NOT_TOLD.contains(&entry.key.as_str())
            && let Some(value) = value(&entry.value)
        {
            set(&mut profile, &entry.key, value);
        }
    }
    for (key, text) in besides {
        set(&mut profile, key, (*text).into());
    }
    let mut profiles = Table::new();
    profiles.set_implicit(true);
    profiles.insert("worker", Item::Table(profile));
    let mut document = DocumentMut::new();
    document.insert("profile", Item::Table(profiles));
    document.to_string()
}

/// Keys have two parts at most.
fn set(profile: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        None => drop(profile.insert(key, Item::Value(value))),
        Some((table, name)) => {
            let table = profile
                .entry(table)
                .or_insert_with(|| Item::Table(Table::new()));
            if let Some(table) = table.as_table_mut() {
                table.insert(name, Item::Value(value));
            }
        }
    }
}

fn value(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => Some(text.as_str().into()),
        Json::Bool(yes) => Some((*yes).into()),
        Json::Number(number) => Some(number.as_i64()?.into()),
        Json::Array(texts) => {
            let texts = texts.iter().filter_map(Json::as_str);
            Some(Value::Array(texts.collect::<Array>()))
        }
        Json::Null | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::Overrides;
    use super::super::vars::Vars;
    use super::super::{Settings, file};
    use super::*;

    fn settings(toml: &str) -> Settings {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("config.toml");
        std::fs::write(&path, toml).expect("written");
        let read = file::read(&path).expect("a configuration");
        let vars = Vars::fixed([("HOME", "/h")]);
        let flags = Overrides::default();
        Settings::decide(Some(path), &read, &vars, &flags).expect("it holds")
    }

    #[test]
    fn a_machine_is_told_what_matters_to_a_worker_and_reads_it_back() {
        let here = settings(
            r#"[profile.cloud]
kind = "aws"
data_dir = "/elsewhere"
aws.profile = "ops"
aws.workers = "ec2"
aws.deployment = "mine"
aws.worker_idle_s = 42
provider.kind = "responses"
provider.base_url = "https://models.example/v1"
provider.api_key_secret = "mine/provider"
sandbox.network = "restricted"
sandbox.allowed_domains = ["a.example", "*.b.example"]
sandbox.env = ["HOME"]
limits.turn_attempts = 3
daemon.workers = 7
"#,
        );
        let text = for_machines(&here.entries(), &[("aws.region", "eu-west-1")]);
        for absent in ["ops", "elsewhere", "daemon", "\"ec2\"", "sandbox.env"] {
            assert!(!text.contains(absent), "{absent} in {text}");
        }
        let there = settings(&text);
        assert_eq!(there.profile.value, "worker");
        assert_eq!(there.limits, here.limits);
        assert_eq!(there.sandbox.network, here.sandbox.network);
        assert_eq!(there.provider, here.provider);
        let aws = there.aws.expect("an account");
        assert_eq!(aws.region.as_deref(), Some("eu-west-1"));
        assert_eq!((aws.deployment.as_str(), aws.workers.idle_s), ("mine", 42));
        assert!(!aws.workers.on_machines);
    }
}
