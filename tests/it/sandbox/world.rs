//! A place for environments in a temporary directory, and short ways to run commands in one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rat_things::backend::local::sandbox::{LocalEnvironments, LocalEnvironmentsConfig};
use rat_things::engine::ids::{Kind, random};
use rat_things::engine::ports::{
    Environment, EnvironmentSpec, Environments, ExecEnd, ExecHow, ExecSpec, Ids, Isolation,
    Network, Program,
};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A temporary directory with environments in it.
pub struct World {
    /// Removed with the world.
    pub dir: TempDir,
    root: PathBuf,
    /// The environments.
    pub environments: LocalEnvironments,
}

impl World {
    pub fn new() -> World {
        World::with(|_| {})
    }

    /// With another configuration.
    pub fn with(change: impl FnOnce(&mut LocalEnvironmentsConfig)) -> World {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join("environments");
        let mut config = config(root.clone());
        change(&mut config);
        let environments = LocalEnvironments::new(config).expect("our program can be opened");
        World {
            dir,
            root,
            environments,
        }
    }

    /// Over environments that another world made.
    pub fn at(root: &Path) -> World {
        let mut world = World::with(|config| config.root = root.to_owned());
        world.root = root.to_owned();
        world
    }

    /// The directory of all environments.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A new sandbox without network.
    pub async fn sandbox(&self) -> Sandbox {
        self.open(&spec(Network::Disabled)).await
    }

    pub async fn open(&self, spec: &EnvironmentSpec) -> Sandbox {
        let opened = self
            .environments
            .open(spec)
            .await
            .unwrap_or_else(|e| panic!("{e}"));
        let workspace = self
            .dir
            .path()
            .join("environments")
            .join(&spec.id)
            .join("workspace");
        Sandbox {
            id: spec.id.clone(),
            environment: opened.environment,
            workspace,
        }
    }
}

pub fn config(root: PathBuf) -> LocalEnvironmentsConfig {
    let mut config = LocalEnvironmentsConfig::new(root);
    config.program = std::env::var_os("RAT_THINGS_TEST_PROGRAM")
        .map_or_else(|| env!("CARGO_BIN_EXE_rat-things").into(), PathBuf::from);
    // To try the suite with another launcher.
    config.bwrap = std::env::var_os("RAT_THINGS_TEST_BWRAP").map(PathBuf::from);
    config.start_timeout_ms = 60_000;
    config.limits.free_space_bytes = 1 << 20;
    config
}

pub fn spec(network: Network) -> EnvironmentSpec {
    EnvironmentSpec {
        id: random(Kind::Environment, &Random),
        isolation: Isolation::Sandbox,
        network,
        env: BTreeMap::new(),
    }
}

/// The system's randomness.
pub struct Random;

impl Ids for Random {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("randomness");
    }
}

/// An open environment.
pub struct Sandbox {
    pub id: String,
    pub environment: Arc<dyn Environment>,
    /// On the host.
    pub workspace: PathBuf,
}

impl Sandbox {
    /// Runs a script to its end.
    pub async fn run(&self, script: &str) -> ExecEnd {
        self.exec(shell(script)).await
    }

    pub async fn exec(&self, spec: ExecSpec) -> ExecEnd {
        let (live, _) = mpsc::channel(1);
        let (_never, cancel) = watch::channel(false);
        let exec = self.environment.exec(spec, live, cancel);
        exec.await.unwrap_or_else(|e| panic!("{e}"))
    }

    /// Runs a script that must succeed; its output, trimmed.
    pub async fn ok(&self, script: &str) -> String {
        let end = self.run(script).await;
        assert_eq!(end.how, ExecHow::Exited(0), "{script}\n{}", end.output);
        end.output.trim().to_owned()
    }

    /// The error of a system call made by a command; 0 if it succeeded. `arguments` are Perl expressions.
    pub async fn errno(&self, call: libc::c_long, arguments: &str) -> i32 {
        let comma = if arguments.is_empty() { "" } else { "," };
        // Perl passes variables by address, so a string must not be a literal.
        let script = format!(
            "my @a = ({call}{comma} {arguments}); my $r = syscall($a[0], @a[1..$#a]); print $r == -1 ? $!+0 : 0"
        );
        let end = self.exec(argv(&["perl", "-e", &script])).await;
        end.output
            .parse()
            .unwrap_or_else(|_| panic!("{script}: {end:?}"))
    }

    /// Starts a script that goes on until it is cancelled or ends.
    pub fn begin(&self, spec: ExecSpec) -> Begun {
        let (live, output) = mpsc::channel(64);
        let (cancel, cancelled) = watch::channel(false);
        let environment = Arc::clone(&self.environment);
        let task = tokio::spawn(async move { environment.exec(spec, live, cancelled).await });
        Begun {
            output,
            cancel,
            task,
        }
    }
}

/// A command on its way.
pub struct Begun {
    pub output: mpsc::Receiver<Bytes>,
    pub cancel: watch::Sender<bool>,
    pub task: tokio::task::JoinHandle<Result<ExecEnd, rat_things::engine::ports::EnvironmentError>>,
}

impl Begun {
    /// Waits until its output so far contains `text`.
    pub async fn says(&mut self, text: &str) -> String {
        let mut all = String::new();
        let wait = async {
            while !all.contains(text) {
                let chunk = self
                    .output
                    .recv()
                    .await
                    .unwrap_or_else(|| panic!("it ended: {all}"));
                all.push_str(&String::from_utf8_lossy(&chunk));
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await;
        assert!(in_time.is_ok(), "it did not say {text:?}: {all}");
        all
    }

    pub async fn end(self) -> ExecEnd {
        self.task
            .await
            .expect("no panic")
            .unwrap_or_else(|e| panic!("{e}"))
    }
}

pub fn shell(script: &str) -> ExecSpec {
    program(Program::Shell(script.to_owned()))
}

pub fn argv(argv: &[&str]) -> ExecSpec {
    program(Program::Argv(
        argv.iter().map(|a| (*a).to_owned()).collect(),
    ))
}

pub fn program(program: Program) -> ExecSpec {
    ExecSpec {
        program,
        cwd: "/workspace".to_owned(),
        env: BTreeMap::new(),
        stdin: Bytes::new(),
        timeout_ms: 60_000,
        output_limit_bytes: 64 << 10,
    }
}

/// Polls until it holds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Processes of this machine whose command line contains `text`.
pub fn processes_with(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("proc").flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().bytes().all(|b| b.is_ascii_digit())
            && let Ok(line) = std::fs::read(entry.path().join("cmdline"))
        {
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(text) {
                found.push(format!("{} {line}", name.display()));
            }
        }
    }
    found
}

/// Root of the machine, and not of some user namespace in which root is an ordinary user.
pub fn is_machine_root() -> bool {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    rustix::process::geteuid().is_root() && map.split_ascii_whitespace().nth(1) == Some("0")
}

/// This test binary, to be run again as another process.
pub fn this_test_binary() -> std::process::Command {
    // Not by path: an ordinary user need not be able to reach it.
    std::process::Command::new("/proc/self/exe")
}
