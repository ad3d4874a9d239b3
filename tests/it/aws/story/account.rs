//! An account with everything in it that a daemon with `ec2` workers needs, and the program in front of it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use aws_sdk_ec2::types::{
    InstanceType, LaunchTemplateHttpTokensState,
    LaunchTemplateIamInstanceProfileSpecificationRequest,
    LaunchTemplateInstanceMetadataOptionsRequest, LaunchTemplateInstanceMetadataTagsState,
    RequestLaunchTemplateData, ShutdownBehavior,
};
use aws_sdk_s3::primitives::ByteStream;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::aws::emulators::Place;
use crate::aws::place;
use crate::aws::stand::ec2::State;
use crate::aws::stand::ec2::tests::client;
use crate::aws::stand::host::Host;
use crate::aws::stand::host::tests::host;

/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(180);

/// See the module.
pub(super) struct Account {
    pub(super) host: Host,
    place: Place,
    home: tempfile::TempDir,
    /// Digest of the program for machines.
    sha256: String,
}

impl Account {
    /// With these lines in the profile besides.
    pub(super) async fn new(lines: &str) -> Account {
        let place = tokio::task::spawn_blocking(place).await.expect("a place");
        let host = host(vec![place.dynamodb, place.others]);
        template(&host).await;
        let program = program();
        let bytes = std::fs::read(program).expect("a program");
        let sha256 = data_encoding::HEXLOWER.encode(&Sha256::digest(&bytes));
        let put = place.clients.s3().put_object();
        let put = put
            .bucket(&place.places.bucket)
            .key(format!("bin/{sha256}/rat-things"))
            .body(ByteStream::from(bytes));
        put.send().await.expect("uploaded");
        let home = tempfile::tempdir().expect("a directory");
        let config = home.path().join("config/rat-things");
        std::fs::create_dir_all(&config).expect("a directory");
        let (table, bucket) = (&place.places.table, &place.places.bucket);
        let text = format!(
            "[profile.cloud]\nkind = \"aws\"\naws.table = \"{table}\"\naws.bucket = \"{bucket}\"\naws.region = \"eu-west-1\"\naws.workers = \"ec2\"\naws.worker_program = \"{sha256}\"\n{lines}"
        );
        std::fs::write(config.join("config.toml"), text).expect("a file");
        Account {
            host,
            place,
            home,
            sha256,
        }
    }

    pub(super) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-things"));
        command.args(args);
        self.at_home(command)
    }

    /// With the environment of this account's programs, and nothing else.
    fn at_home(&self, mut command: Command) -> Command {
        let home: &Path = self.home.path();
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_STATE_HOME", home.join("state"))
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_ENDPOINT_URL_DYNAMODB", &self.place.dynamodb_url)
            .env("AWS_ENDPOINT_URL_EC2", self.host.ec2().url())
            .env("AWS_ENDPOINT_URL", &self.place.others_url)
            .stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("it runs")
    }

    pub(super) fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["-o", "json"]].concat());
        assert!(out.status.success(), "{args:?}: {out:?}");
        serde_json::from_slice(&out.stdout).expect("JSON")
    }

    pub(super) fn daemon(&self) -> Daemon {
        // The kernel ends it with the thread that started it: nothing of a test outlives the test.
        let mut daemon = Command::new("setpriv");
        daemon.args(["--pdeathsig", "KILL", env!("CARGO_BIN_EXE_rat-things")]);
        daemon.args(["daemon", "run"]);
        let mut daemon = self.at_home(daemon);
        let log = self.home.path().join("daemon.log");
        let file = std::fs::File::options().append(true).create(true).open(log);
        Daemon(
            daemon
                .stderr(file.expect("a file"))
                .spawn()
                .expect("it starts"),
        )
    }

    /// A Session with a first message.
    pub(super) fn create(&self, input: &str) -> String {
        let session = self.json(&["sessions", "create", "--input", input]);
        session["id"].as_str().expect("an id").to_owned()
    }

    pub(super) fn send(&self, session: &str, input: &str) {
        self.json(&["sessions", "send", session, "--input", input]);
    }

    /// Waits until its work is over.
    pub(super) fn wait(&self, session: &str) {
        let waited = self.run(&["sessions", "wait", session, "--timeout", "170s"]);
        assert!(waited.status.success(), "{waited:?}\n{}", self.said());
    }

    /// States of its Turns, oldest first.
    pub(super) fn turns(&self, session: &str) -> Vec<String> {
        let turns = self.json(&["sessions", "turns", session, "--order", "asc"]);
        texts(&turns, "status")
    }

    /// Commands of its transcript: each with its state and its output.
    pub(super) fn commands(&self, session: &str) -> Vec<(String, String, String)> {
        let items = self.json(&["sessions", "items", session, "--all"]);
        let items = items["data"].as_array().cloned().unwrap_or_default();
        let commands = { items.iter() }.filter(|item| item["type"] == "command_execution");
        let text = |item: &Value, key: &str| item[key].as_str().unwrap_or_default().to_owned();
        commands
            .map(|item| {
                (
                    text(item, "command"),
                    text(item, "status"),
                    text(item, "output"),
                )
            })
            .collect()
    }

    /// How often it was told that the environment had to be made again.
    pub(super) fn resets(&self, session: &str) -> usize {
        let events = self.json(&["sessions", "events", session, "--all"]);
        let kinds = texts(&events, "type");
        let reset =
            { kinds.iter() }.filter(|kind| kind.contains("environment") && kind.ends_with("reset"));
        reset.count()
    }

    /// Instances that have not ended, oldest first.
    pub(super) fn living(&self) -> Vec<String> {
        let all = self.host.ec2().instances(|i| (i.id.clone(), i.state));
        let living = all
            .into_iter()
            .filter(|(_, state)| *state != State::Terminated);
        living.map(|(id, _)| id).collect()
    }

    /// How many were ever launched.
    pub(super) fn launched(&self) -> usize {
        self.host.ec2().instances(|_| ()).len()
    }

    /// Waits until this is so.
    pub(super) fn until(&self, what: &str, mut so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !so() {
            assert!(begun.elapsed() < LONG, "never: {what}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    /// Waits until a command is in the transcript that has not ended.
    pub(super) fn until_running(&self, session: &str, command: &str) {
        self.until(&format!("{command} runs"), || {
            let commands = self.commands(session);
            { commands.iter() }.any(|(text, status, _)| text == command && status == "in_progress")
        });
    }

    /// What the daemon and the machines have said.
    fn said(&self) -> String {
        let daemon = std::fs::read_to_string(self.home.path().join("daemon.log"));
        let mut said = format!("daemon:\n{}", daemon.unwrap_or_default());
        for id in self.host.ec2().instances(|i| i.id.clone()) {
            said.push_str(&format!("\n{id}:\n{}", self.host.console(&id)));
        }
        said
    }

    /// The configuration file.
    pub(super) fn config(&self) -> PathBuf {
        self.home.path().join("config/rat-things/config.toml")
    }

    pub(super) fn sha256(&self) -> &str {
        &self.sha256
    }
}

/// A daemon that is killed with its test.
pub(super) struct Daemon(Child);

impl Daemon {
    /// Asks it to end, and waits until it has.
    pub(super) fn end(mut self) -> bool {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        self.0.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn texts(list: &Value, key: &str) -> Vec<String> {
    let data = list["data"].as_array().expect("a list");
    let texts = data.iter().filter_map(|one| one[key].as_str());
    texts.map(str::to_owned).collect()
}

/// The program without what only a debugger wants, which machines would have to fetch.
fn program() -> &'static Path {
    static STRIPPED: OnceLock<PathBuf> = OnceLock::new();
    STRIPPED.get_or_init(|| {
        let to = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("rat-things-stripped-{}", std::process::id()));
        let mut strip = Command::new("strip");
        strip
            .arg("-o")
            .arg(&to)
            .arg(env!("CARGO_BIN_EXE_rat-things"));
        assert!(
            strip.status().is_ok_and(|status| status.success()),
            "strip (binutils) is needed"
        );
        to
    })
}

/// As `aws init` makes it, as far as machines notice.
async fn template(host: &Host) {
    let metadata = LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_tokens(LaunchTemplateHttpTokensState::Required)
        .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Enabled)
        .http_put_response_hop_limit(1);
    let profile = LaunchTemplateIamInstanceProfileSpecificationRequest::builder();
    let data = RequestLaunchTemplateData::builder()
        .image_id("ami-0123456789abcdef0")
        .instance_type(InstanceType::M7iLarge)
        .iam_instance_profile(profile.name("rat-things-worker").build())
        .metadata_options(metadata.build())
        .instance_initiated_shutdown_behavior(ShutdownBehavior::Terminate);
    let create = client(&host.ec2().url()).create_launch_template();
    let create = create
        .launch_template_name("rat-things-worker")
        .launch_template_data(data.build());
    create.send().await.expect("a template");
}
