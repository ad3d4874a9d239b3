//! One app-server process: started with nothing of our environment, and ended with everything it started.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::home::Home;
use super::rpc::Rpc;

/// The end of what it wrote to standard error that is kept to explain its end.
const STDERR_KEPT_BYTES: usize = 4 << 10;

/// A running app-server. Dropped, it is killed.
pub struct AppServer {
    child: Child,
    said: Arc<Mutex<Vec<u8>>>,
    /// The conversation.
    pub rpc: Rpc,
}

impl AppServer {
    /// Starts one.
    ///
    /// # Errors
    /// The program can't be started.
    pub fn start(program: &Path, home: &Home) -> io::Result<AppServer> {
        let mut child = Command::new(program)
            .args(["app-server", "--strict-config"])
            .env_clear()
            .env("CODEX_HOME", home.path())
            .env("HOME", home.path())
            .env("TMPDIR", home.tmp())
            .env("LANG", "C.UTF-8")
            // It needs no program beside itself.
            .env("PATH", home.tmp())
            .env("RUST_LOG", "warn")
            .current_dir(home.path())
            .process_group(0)
            .kill_on_drop(true)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a stream of the process is missing");
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        tokio::spawn(async move {
            let mut chunk = [0; 1 << 10];
            while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&chunk[..read]);
                let surplus = kept.len().saturating_sub(STDERR_KEPT_BYTES);
                kept.drain(..surplus);
            }
        });
        Ok(AppServer {
            child,
            said,
            rpc: Rpc::new(to, BufReader::with_capacity(64 << 10, from)),
        })
    }

    /// Kills it and waits until it is gone. It writes nothing any more after that.
    ///
    /// It is killed and not asked: asked, it would note in its own files that the user interrupted it.
    pub async fn kill(&mut self) {
        // It fails only for a process that is gone.
        let _ = self.child.kill().await;
    }

    /// The end of what it complained about, as one line without colours.
    pub fn complaint(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&said);
        let mut line = String::new();
        let mut escape = false;
        for c in text.trim().chars() {
            match c {
                '\u{1b}' => escape = true,
                'm' if escape => escape = false,
                _ if escape => {}
                c if c.is_control() => line.push(' '),
                c => line.push(c),
            }
        }
        line
    }
}
