//! A home of Codex for one test, and `codex exec` in it: the shortest way to a Turn of the real program, without a harness.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use serde_json::json;
use tokio::process::Command;

use super::installed::codex;

/// What the provider is asked with.
pub(crate) const KEY: &str = "planted-codex-key";

/// A home and a directory to work in; both go away with it.
pub(crate) struct Home {
    dir: tempfile::TempDir,
}

/// A model with plain tools: commands and patches, no code mode.
fn catalog_of_one() -> serde_json::Value {
    json!({"models": [{
        "slug": "stub-model",
        "display_name": "stub",
        "description": "",
        "default_reasoning_level": "low",
        "supported_reasoning_levels": [{"effort": "low", "description": ""}],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": true,
        "priority": 1,
        "base_instructions": "Be brief.",
        "apply_patch_tool_type": "freeform",
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "context_window": 200_000,
        "support_verbosity": false,
        "experimental_supported_tools": [],
        "input_modalities": ["text"],
    }]})
}

impl Home {
    /// An empty one, for this provider.
    pub(crate) fn new(base_url: &str) -> Home {
        Home::showing(base_url, KEY)
    }

    /// An empty one that shows this token to its provider.
    pub(crate) fn showing(base_url: &str, token: &str) -> Home {
        // Below the target directory, because Codex does not like homes below a temporary one.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("it can be written");
        std::fs::create_dir(dir.path().join("home")).expect("it can be written");
        std::fs::create_dir(dir.path().join("work")).expect("it can be written");
        let catalog = dir.path().join("models.json");
        std::fs::write(&catalog, catalog_of_one().to_string()).expect("it can be written");
        let catalog = catalog.display();
        let config = format!(
            r#"
model_catalog_json = "{catalog}"
model = "stub-model"
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "{base_url}"
wire_api = "responses"
experimental_bearer_token = "{token}"
request_max_retries = 0
stream_max_retries = 0
stream_idle_timeout_ms = 20000
supports_websockets = false
[features]
plugins = false
remote_plugin = false
plugin_sharing = false
apps = false
tool_suggest = false
memories = false
shell_snapshot = false
skill_mcp_dependency_install = false
[skills]
include_instructions = false
[skills.bundled]
enabled = false
"#
        );
        std::fs::write(dir.path().join("home/config.toml"), config).expect("it can be written");
        Home { dir }
    }

    /// Where its configuration and its threads are.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// Where its commands run.
    pub(crate) fn work(&self) -> PathBuf {
        self.dir.path().join("work")
    }

    /// A first Turn.
    pub(crate) async fn exec(&self, words: &str) -> Ran {
        self.run(Command::new(codex()), &["--skip-git-repo-check", words])
            .await
    }

    /// One Turn more of a thread.
    pub(crate) async fn resume(&self, thread: &str, words: &str) -> Ran {
        let args = ["--skip-git-repo-check", "resume", thread, words];
        self.run(Command::new(codex()), &args).await
    }

    /// The first Turn of a thread that begins where this one is.
    pub(crate) async fn fork(&self, thread: &str, words: &str) -> Ran {
        let args = ["--skip-git-repo-check", "fork", thread, words];
        self.run(Command::new(codex()), &args).await
    }

    /// A first Turn, with every address that is connected to written to `trace`.
    pub(crate) async fn exec_traced(&self, trace: &Path, words: &str) -> Ran {
        let mut strace = Command::new("strace");
        strace.args(["-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o"]);
        strace.arg(trace).arg(codex());
        self.run(strace, &["--skip-git-repo-check", words]).await
    }

    async fn run(&self, mut command: Command, args: &[&str]) -> Ran {
        let output = command
            .args(["--strict-config", "exec", "--json"])
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.dir.path())
            .env("CODEX_HOME", self.path())
            .current_dir(self.work())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .expect("it can be started");
        Ran { output }
    }
}

/// What a run of `codex exec --json` came to.
pub(crate) struct Ran {
    output: Output,
}

impl Ran {
    /// The thread's id. Panics with what was written if the Turn did not complete.
    pub(crate) fn completed(&self) -> String {
        let lines = self.lines();
        let kind = |kind: &str| lines.iter().find(|line| line["type"] == kind);
        match (kind("thread.started"), kind("turn.completed")) {
            (Some(started), Some(_)) if self.output.status.success() => started["thread_id"]
                .as_str()
                .expect("a thread has an id")
                .to_owned(),
            _ => panic!("the Turn did not complete: {self}"),
        }
    }

    /// What it reported.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        String::from_utf8_lossy(&self.output.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        write!(
            f,
            "{}\n{}\n{}",
            self.output.status,
            text(&self.output.stdout),
            text(&self.output.stderr)
        )
    }
}
