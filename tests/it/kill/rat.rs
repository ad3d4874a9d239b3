//! The real program in a data directory of its own, with nothing of the caller's environment.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rat_things::backend::local::process::ProcessIdentity;
use rat_things::engine::ports::Liveness;
use serde_json::Value;
use tempfile::TempDir;

use super::processes::{self, Process, Role};

/// Longer than anything here takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Looks again and again until there is something, or fails and says `what` it waited for.
pub fn until<T>(what: impl Fn() -> String, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain: {}", what());
        std::thread::sleep(LOOK);
    }
}

/// A data directory, and the program that works in it.
pub struct Rat {
    dir: TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Rat {
    pub fn new() -> Rat {
        Rat::with("")
    }

    /// With these lines in the profile of its configuration file.
    pub fn with(profile: &str) -> Rat {
        let dir = tempfile::Builder::new()
            .prefix("rat-kill-")
            .tempdir()
            .expect("a temporary directory");
        let rat = Rat {
            dir,
            environment: Vec::new(),
        };
        std::fs::create_dir(rat.config()).expect("created");
        let text = format!("[profile.default]\nprovider.kind = \"demo\"\n{profile}\n");
        std::fs::write(rat.config().join("config.toml"), text).expect("written");
        rat
    }

    /// The same, with more variables in its environment.
    pub fn with_environment(
        mut self,
        variables: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Rat {
        self.environment.extend(variables);
        self
    }

    fn config(&self) -> PathBuf {
        self.dir.path().join("config")
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The variables that it sees, all of them.
    pub fn variables(&self) -> Vec<(&'static str, PathBuf)> {
        vec![
            ("HOME", self.dir.path().join("home")),
            ("RAT_THINGS_CONFIG_DIR", self.config()),
            ("RAT_THINGS_DATA_DIR", self.data()),
        ]
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rat-things"));
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        command
            .env_clear()
            .env("PATH", path)
            .envs(self.variables())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .args(args);
        command.current_dir("/").stdin(Stdio::null());
        command
    }

    pub fn output(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the program runs")
    }

    pub fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("the program runs")
    }

    /// Runs a command that must succeed; its standard output.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "{args:?}: {}\n{out}{err}{}",
            output.status,
            self.logs()
        );
        out
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.ok(&args)).expect("JSON")
    }

    /// Creates a Session with a message; its id.
    pub fn create(&self, input: &str) -> String {
        let args = [
            "sessions",
            "create",
            "--input",
            input,
            "--no-wait",
            "-o",
            "id",
        ];
        self.ok(&args).trim().to_owned()
    }

    pub fn send(&self, session: &str, input: &str, queue: bool) {
        let mut args = vec!["sessions", "send", session, "--input", input, "--no-wait"];
        args.extend(queue.then_some("--queue"));
        self.ok(&args);
    }

    /// The Items of a Session, oldest first.
    pub fn items(&self, session: &str) -> Vec<Value> {
        list(self.json(&["sessions", "items", session, "--all"]))
    }

    /// The Turns of a Session, oldest first.
    pub fn turns(&self, session: &str) -> Vec<Value> {
        list(self.json(&["sessions", "turns", session, "--all", "--order", "asc"]))
    }

    pub fn artifacts(&self, session: &str) -> Vec<Value> {
        list(self.json(&["sessions", "artifacts", session, "--all"]))
    }

    /// The workspace of a Session, on the host.
    pub fn workspace(&self, session: &str) -> PathBuf {
        let resource = self.json(&["sessions", "get", session]);
        let id = resource["environment"]["id"]
            .as_str()
            .expect("an environment")
            .to_owned();
        self.data().join("environments").join(id).join("workspace")
    }

    /// Lines of a file in a workspace; none if there is no file.
    pub fn lines(&self, session: &str, file: &str) -> Vec<String> {
        let path = self.workspace(session).join(file);
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Daemons and workers that live.
    pub fn program(&self, role: Role) -> Vec<Process> {
        let found = processes::of_program(self.marker());
        let of_role = found.iter().filter(|process| process.role == role);
        of_role
            .filter(|process| !processes::is_copy(process, &found))
            .cloned()
            .collect()
    }

    /// The daemon that says of itself that it is there.
    pub fn program_by_note(&self) -> Option<Process> {
        let note = std::fs::read(self.data().join("run/daemon.json")).ok()?;
        let note: Value = serde_json::from_slice(&note).ok()?;
        let identity = ProcessIdentity::parse(note["identity"].as_str()?)?;
        let lives = identity.inspect() == Liveness::Running;
        lives.then(|| Process::of(identity, Role::Daemon))
    }

    /// Every process of this data directory, sandboxes included.
    pub fn processes(&self) -> Vec<Process> {
        processes::all(self.marker())
    }

    /// Kills every daemon and worker at once, and waits until they are gone. Sandboxes have to end by themselves.
    pub fn kill_everything(&self) -> usize {
        let doomed = processes::of_program(self.marker());
        doomed.iter().for_each(|process| _ = process.kill());
        doomed.iter().for_each(Process::wait_gone);
        doomed.len()
    }

    /// Stops the daemon. Afterwards no process of this data directory is left, whatever was killed before.
    pub fn stop(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            // A daemon that a command started a moment ago may hold the data directory only now: it is stopped too.
            self.ok(&["daemon", "stop"]);
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "left over:\n{}{}",
                processes::shown(&left),
                self.logs()
            );
            std::thread::sleep(LOOK);
        }
    }

    /// What the background processes wrote, for a failure's message.
    pub fn logs(&self) -> String {
        let mut all = String::new();
        for entry in std::fs::read_dir(self.data().join("logs"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            all.push_str(&format!("\n--- {}\n{text}", entry.file_name().display()));
        }
        all
    }

    fn marker(&self) -> &str {
        let name = self.dir.path().file_name().and_then(|name| name.to_str());
        name.expect("a name that was made here")
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Rat {
    /// A test that failed leaves nothing behind either.
    fn drop(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let left = self.processes();
            left.iter().for_each(|process| _ = process.kill());
            if left.is_empty() || Instant::now() > deadline {
                return;
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn list(page: Value) -> Vec<Value> {
    page["data"].as_array().expect("a list").clone()
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
