//! The shortest client of the app-server: one request after the other, and Turns that are waited for.

use std::io;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::exec::Home;
use super::installed::codex;

/// One process.
pub struct AppServer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl AppServer {
    /// Starts it in this home.
    pub async fn start(home: &Home) -> io::Result<AppServer> {
        let mut child = Command::new(codex())
            .args(["app-server", "--strict-config"])
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", home.work())
            .env("CODEX_HOME", home.path())
            .current_dir(home.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let gone = || io::Error::other("the app-server has no pipes");
        let mut server = AppServer {
            stdin: child.stdin.take().ok_or_else(gone)?,
            lines: BufReader::new(child.stdout.take().ok_or_else(gone)?).lines(),
            child,
            asked: 0,
        };
        let client = json!({"name": "rat-things-bench", "title": null, "version": "0"});
        let abilities = json!({"experimentalApi": true, "requestAttestation": false});
        let params = json!({"clientInfo": client, "capabilities": abilities});
        server.ask("initialize", params).await?;
        server.send(&json!({"method": "initialized"})).await?;
        Ok(server)
    }

    /// A new thread.
    pub async fn thread(&mut self, home: &Home) -> io::Result<String> {
        let params =
            json!({"cwd": home.work(), "approvalPolicy": "never", "sandbox": "danger-full-access"});
        let answer = self.ask("thread/start", params).await?;
        let id = answer["thread"]["id"].as_str();
        id.map(str::to_owned)
            .ok_or_else(|| io::Error::other(answer.to_string()))
    }

    /// A thread that is in the home already.
    pub async fn resume(&mut self, home: &Home, thread: &str) -> io::Result<()> {
        let params = json!({"threadId": thread, "excludeTurns": true, "cwd": home.work(),
            "approvalPolicy": "never", "sandbox": "danger-full-access"});
        self.ask("thread/resume", params).await.map(drop)
    }

    /// One Turn, up to its end.
    pub async fn turn(&mut self, thread: &str, words: &str) -> io::Result<()> {
        let input = json!([{"type": "text", "text": words, "text_elements": []}]);
        self.ask("turn/start", json!({"threadId": thread, "input": input}))
            .await?;
        loop {
            let news = self.next().await?;
            if news["method"] == "turn/completed" {
                return match news["params"]["turn"]["status"] == "completed" {
                    true => Ok(()),
                    false => Err(io::Error::other(news.to_string())),
                };
            }
        }
    }

    /// Ends it as it likes to be ended.
    pub async fn end(self) -> io::Result<()> {
        let AppServer {
            mut child, stdin, ..
        } = self;
        drop(stdin);
        child.wait().await.map(drop)
    }

    async fn ask(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"id": id, "method": method, "params": params}))
            .await?;
        loop {
            let mut answer = self.next().await?;
            // News, and requests of its own, have a method.
            if answer["id"] == id && answer["method"].is_null() {
                return match answer["error"].is_null() {
                    true => Ok(answer["result"].take()),
                    false => Err(io::Error::other(answer["error"].to_string())),
                };
            }
        }
    }

    async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.stdin
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        self.stdin.flush().await
    }

    async fn next(&mut self) -> io::Result<Value> {
        let line = self.lines.next_line().await?;
        let line = line.ok_or_else(|| io::Error::other("the app-server has ended"))?;
        serde_json::from_str(&line).map_err(io::Error::other)
    }
}
