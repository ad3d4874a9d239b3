//! A machine of its own for one test: directories, a cleared environment, and a daemon that is gone at the end.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::scrub::Scrub;

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_rat-things");

/// How long anything may take before the test gives up on it: more than twice as long as the slowest thing that is waited for,
/// a worker that falls silent and can't be seen, which is missed after 75 s at most.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// See the module.
pub struct TestEnv {
    dir: tempfile::TempDir,
    scrub: Scrub,
    vars: Vec<(OsString, OsString)>,
}

/// What a command did.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The command as it was typed.
    pub line: String,
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl TestEnv {
    /// An empty machine with one user.
    pub fn new() -> TestEnv {
        let dir = tempfile::tempdir().expect("a directory");
        for sub in ["home", "config", "tmp"] {
            fs::create_dir(dir.path().join(sub)).expect("makes");
        }
        let at = |sub: &str| dir.path().join(sub).into_os_string();
        let vars = vec![
            ("HOME".into(), at("home")),
            ("XDG_CONFIG_HOME".into(), at("config")),
            ("RAT_THINGS_DATA_DIR".into(), at("data")),
            ("TMPDIR".into(), at("tmp")),
            ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TZ".into(), "UTC".into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        let scrub = Scrub::new(dir.path());
        TestEnv { dir, scrub, vars }
    }

    /// The same with a configuration file.
    pub fn configured(toml: &str) -> TestEnv {
        let env = TestEnv::new();
        let path = env.dir.path().join("config/rat-things");
        fs::create_dir(&path).expect("makes");
        fs::write(path.join("config.toml"), toml).expect("writes");
        env
    }

    /// The same with one more variable.
    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> TestEnv {
        self.vars.retain(|(known, _)| known != name);
        self.vars.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Where everything is.
    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        let (_, dir) = self
            .vars
            .iter()
            .find(|(name, _)| name == "RAT_THINGS_DATA_DIR")
            .expect("it is always set");
        PathBuf::from(dir)
    }

    /// What makes output comparable.
    pub fn scrub(&self) -> &Scrub {
        &self.scrub
    }

    /// The environment of every command.
    pub fn vars(&self) -> &[(OsString, OsString)] {
        &self.vars
    }

    /// The program with these words, not started.
    pub fn command<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(words)
            .env_clear()
            .envs(self.vars.iter().map(|(name, value)| (name, value)))
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end. Words are separated by blanks; `'…'` holds one together.
    pub fn run(&self, line: &str) -> Ran {
        self.run_with(line, b"")
    }

    /// The same with something on its standard input.
    pub fn run_with(&self, line: &str, stdin: &[u8]) -> Ran {
        let mut child = self
            .command(words(line))
            .stdin(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut input = child.stdin.take().expect("is piped");
        let given = stdin.to_owned();
        let feeder = std::thread::spawn(move || {
            // A command that does not read its input closes it.
            let _ = input.write_all(&given);
        });
        let ran = self.finish(line, child);
        feeder.join().expect("feeds");
        ran
    }

    /// Waits for a command that was started otherwise.
    pub fn finish(&self, line: &str, child: Child) -> Ran {
        let output = child.wait_with_output().expect("ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
        Ran {
            line: line.to_owned(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// Runs a command that must succeed, and answers its standard output without the newline at its end.
    pub fn ok(&self, line: &str) -> String {
        let ran = self.run(line);
        assert_eq!(ran.code, 0, "{ran:#?}");
        ran.stdout.trim_end_matches('\n').to_owned()
    }

    /// Runs a command that must succeed, and reads its JSON.
    pub fn json(&self, line: &str) -> Value {
        let text = self.ok(&format!("{line} -o json"));
        serde_json::from_str(&text).expect("is JSON")
    }

    /// A Session without an environment whose first Turn did this and is over; its id.
    pub fn session(&self, input: &str) -> String {
        let ran = self.run_with(
            "sessions create --environment none --input - --wait -o id",
            input.as_bytes(),
        );
        assert!(ran.stdout.starts_with("sess_"), "{ran:#?}");
        ran.stdout.trim_end().to_owned()
    }

    /// The same with a sandbox.
    pub fn sandboxed(&self, input: &str) -> String {
        let ran = self.run_with("sessions create --input - --wait -o id", input.as_bytes());
        assert!(ran.stdout.starts_with("sess_"), "{ran:#?}");
        ran.stdout.trim_end().to_owned()
    }

    /// What a command printed, comparable between runs.
    pub fn shown(&self, ran: &Ran) -> String {
        let part = |name: &str, text: &str| match text.is_empty() {
            true => String::new(),
            false => format!("--- {name}\n{}", with_newline(text)),
        };
        let page = format!(
            "$ rat-things {}\n{}{}--- exit {}\n",
            ran.line,
            part("stdout", &ran.stdout),
            part("stderr", &ran.stderr),
            ran.code
        );
        self.scrub.page(&page)
    }

    /// Runs commands one after the other, and answers all they printed as one page.
    pub fn page(&self, lines: &[&str]) -> String {
        let pages: Vec<String> = lines
            .iter()
            .map(|line| self.shown(&self.run(line)))
            .collect();
        pages.join("\n")
    }

    /// The identity of the daemon that runs, if one does.
    pub fn daemon(&self) -> Option<String> {
        let status = self.json("daemon status");
        status["identity"].as_str().map(str::to_owned)
    }

    /// Processes of this machine, ours and those of its sandboxes: pid and command line.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let needle = self.data().into_os_string().into_string().expect("UTF-8");
        let entries = fs::read_dir("/proc").expect("there is a /proc");
        entries
            .filter_map(|entry| {
                let pid: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
                let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
                let line = String::from_utf8_lossy(&words).replace('\0', " ");
                (line.contains(&needle) && pid != std::process::id()).then_some((pid, line))
            })
            .collect()
    }

    /// Waits until no process of ours is left, or fails the test and says which is.
    pub fn until_alone(&self) {
        let deadline = Instant::now() + PATIENCE;
        while let left = self.processes()
            && !left.is_empty()
        {
            assert!(Instant::now() < deadline, "still there: {left:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until `done`, or fails the test.
    pub fn until(&self, what: &str, mut done: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < deadline, "not reached: {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        if !self.data().exists() {
            return;
        }
        // A test may have made a configuration that no command accepts.
        let stopped = self
            .command(["daemon", "stop", "--profile", "default"])
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("RAT_THINGS_READ_ONLY")
            .output();
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.processes().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        let left = self.processes();
        for (pid, _) in &left {
            end(*pid);
        }
        if !left.is_empty() && !std::thread::panicking() {
            panic!("left behind: {left:#?} after {stopped:?}");
        }
    }
}

/// Ends a process at once.
pub fn end(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("a pid");
    // It may be gone already.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

/// The pid in a process identity.
pub fn pid_of(identity: &str) -> u32 {
    let pid = identity.split(':').nth(1).expect("proc:<pid>:…");
    pid.parse().expect("a number")
}

/// The words of a line: blanks separate, single quotes hold together.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match (c, quoted) {
            ('\'', _) => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            (' ' | '\n', false) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "an open quote in {line:?}");
    words.extend(word);
    words
}

fn with_newline(text: &str) -> String {
    match text.ends_with('\n') {
        true => text.to_owned(),
        false => format!("{text}\n(no newline)\n"),
    }
}

/// Everything in a file, or nothing if there is none.
pub fn content(path: &Path) -> String {
    fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default()
}

/// Every file below a directory.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(path) = open.pop() {
        match path.is_dir() {
            true => open.extend(
                fs::read_dir(&path)
                    .expect("lists")
                    .map(|entry| entry.expect("an entry").path()),
            ),
            false => found.push(path),
        }
    }
    found
}
