//! One app-server process: started with nothing of our environment, and ended with everything it started.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::enclosure::Enclosure;
use super::home::Home;
use super::program::Program;
use super::rpc::Rpc;

/// The end of what it wrote to standard error that is kept to explain its end.
const STDERR_KEPT_BYTES: usize = 4 << 10;

/// How long everything may take to be gone once nobody speaks with it any more.
const GOING: Duration = Duration::from_secs(5);

/// A running app-server. Dropped, it ends, with all it started if it is enclosed.
pub struct AppServer {
    child: Child,
    is_enclosed: bool,
    said: Arc<Mutex<Vec<u8>>>,
    /// Reads what it complains about.
    hearing: JoinHandle<()>,
    /// The conversation.
    pub rpc: Rpc,
}

impl AppServer {
    /// Starts one, in an enclosure or as any other process of this machine.
    ///
    /// # Errors
    /// The program can't be started.
    pub fn start(
        program: &Program,
        home: &Home,
        enclosure: Option<&Enclosure>,
    ) -> io::Result<AppServer> {
        let mut child = command(program, home, enclosure)
            // An enclosed one ends with its standard input. A launcher that is killed could leave a half-made namespace behind.
            .kill_on_drop(enclosure.is_none())
            .spawn()?;
        let missing = || io::Error::other("a stream of the process is missing");
        let to = child.stdin.take().ok_or_else(missing)?;
        let from = child.stdout.take().ok_or_else(missing)?;
        let mut stderr = child.stderr.take().ok_or_else(missing)?;
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        let hearing = tokio::spawn(async move {
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
            is_enclosed: enclosure.is_some(),
            said,
            hearing,
            rpc: Rpc::new(to, BufReader::with_capacity(64 << 10, from)),
        })
    }

    /// Ends it and waits until it is gone. It writes nothing any more after that.
    ///
    /// It is killed and not asked: asked, it would note in its own files that the user interrupted it.
    pub async fn kill(&mut self) {
        if self.is_enclosed {
            // PID 1 leaves when nobody hears its complaints, which Codex does not notice: at the end of its input it would still write into its
            // files that its calls were cancelled. The launcher comes back when the kernel has ended the last process in there.
            if matches!(self.child.try_wait(), Ok(None)) {
                self.hearing.abort();
                let _ = (&mut self.hearing).await;
            }
            if timeout(GOING, self.child.wait()).await.is_ok() {
                return;
            }
            self.rpc.close();
            if timeout(GOING, self.child.wait()).await.is_ok() {
                return;
            }
        }
        // It fails only for a process that is gone.
        let _ = self.child.kill().await;
    }

    /// The end of what it complained about, as one line without colours.
    pub fn complaint(&self) -> String {
        one_line(&self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The command that starts an app-server, with nothing of our environment. More words may follow.
pub fn command(program: &Program, home: &Home, enclosure: Option<&Enclosure>) -> Command {
    let mut command = match enclosure {
        Some(enclosure) => enclosure.command(&program.path, program.package(), home.path()),
        None => Command::new(&program.path),
    };
    command
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
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// The end of what was complained about, as one line without colours.
pub fn one_line(said: &[u8]) -> String {
    let kept = &said[said.len().saturating_sub(STDERR_KEPT_BYTES)..];
    let text = String::from_utf8_lossy(kept);
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// What a program that does this says in its process, up to its end.
    async fn run(
        script: &str,
    ) -> (
        AppServer,
        Vec<crate::backend::harness::codex::rpc::Incoming>,
    ) {
        let homes = tempfile::tempdir().expect("there is room");
        let home = Home::make(homes.path(), None, "m").expect("it can be made");
        let path = homes.path().join("codex");
        std::fs::write(&path, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n"))
            .expect("it can be written");
        let may_run = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&path, may_run).expect("it is ours");
        let mut server = AppServer::start(&Program { path }, &home, None).expect("it starts");
        let mut said = Vec::new();
        while let Some(one) = server.rpc.next().await {
            said.push(one);
        }
        server.kill().await;
        (server, said)
    }

    #[tokio::test]
    async fn of_a_flood_of_complaints_the_end_is_kept_and_nothing_else_is_held_up() {
        let flood = "yes complaint | head -c 3000000 >&2; printf '\\033[31mlast \\033[0mwords\\n' >&2; exec 2>&-; echo '{\"method\":\"x\"}'";
        let (server, said) = run(flood).await;
        assert_eq!(said.len(), 1);
        // Another task reads them, perhaps after the other stream has come to its end.
        while !server.complaint().ends_with("last words") {
            tokio::task::yield_now().await;
        }
        assert!(server.complaint().len() <= STDERR_KEPT_BYTES);
    }

    #[tokio::test]
    async fn what_is_no_message_is_passed_over_and_a_line_without_end_ends_the_conversation() {
        let (_, said) = run("echo warning; echo '{\"method\":\"x\"}'; yes | tr -d '\\n' | head -c 9000000; echo; echo '{\"method\":\"y\"}'").await;
        assert_eq!(said.len(), 1);
    }

    #[tokio::test]
    async fn nothing_of_our_environment_is_in_its() {
        let (_, said) =
            run("printf '{\"method\":\"%s\"}\\n' \"$(env | cut -d= -f1 | sort | tr '\\n' ' ')\"")
                .await;
        let crate::backend::harness::codex::rpc::Incoming::Notice { method, .. } = &said[0] else {
            panic!("{said:?}");
        };
        assert_eq!(
            method.trim(),
            "CODEX_HOME HOME LANG PATH PWD RUST_LOG TMPDIR"
        );
    }
}
