//! Where the key of a server comes from, and when it is asked for again.

use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::Mutex;

use crate::api::Secret;

/// A longer key is no key.
const KEY_LIMIT_BYTES: u64 = 16 << 10;

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The server needs none.
    None,
    /// It is here.
    Given(Secret),
    /// The value of an environment variable.
    Env {
        /// Its name.
        name: String,
    },
    /// What a file holds that its owner alone can read.
    File {
        /// The file.
        path: PathBuf,
    },
    /// What a command prints.
    Command {
        /// Run with `sh -c`.
        command: String,
        /// After this it is ended, with all it started.
        timeout_ms: u64,
    },
}

/// Why there is no key. Nothing of what was found instead is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct KeyError(String);

/// Gets the key once and keeps it until the provider refuses it.
#[derive(Debug)]
pub struct Keys {
    source: KeySource,
    kept: Mutex<Option<Secret>>,
}

impl Keys {
    /// Nothing is read or run before the first call.
    pub fn new(source: KeySource) -> Keys {
        Keys {
            source,
            kept: Mutex::new(None),
        }
    }

    /// The key, or `None` if the server needs none. Calls at the same time run the command once.
    pub async fn get(&self) -> Result<Option<Secret>, KeyError> {
        let mut kept = self.kept.lock().await;
        if kept.is_none() {
            *kept = read(&self.source).await?;
        }
        Ok(kept.clone())
    }

    /// Another key than the one that was refused, if the source has one by now.
    pub async fn renew(&self, refused: &Secret) -> Result<Option<Secret>, KeyError> {
        let mut kept = self.kept.lock().await;
        // Another call may have renewed it already.
        if kept.as_ref() == Some(refused) {
            *kept = None;
            *kept = read(&self.source).await?;
        }
        Ok(kept.clone().filter(|key| key != refused))
    }
}

async fn read(source: &KeySource) -> Result<Option<Secret>, KeyError> {
    let (text, from) = match source {
        KeySource::None => return Ok(None),
        KeySource::Given(key) => return Ok(Some(key.clone())),
        KeySource::Env { name } => {
            let from = format!("environment variable {name}");
            match std::env::var(name) {
                Ok(text) => (text, from),
                Err(std::env::VarError::NotPresent) => {
                    return Err(no_key(format!("{from} is not set")));
                }
                Err(std::env::VarError::NotUnicode(_)) => {
                    return Err(no_key(format!("{from} does not hold text")));
                }
            }
        }
        KeySource::File { path } => (read_file(path)?, format!("the file {}", path.display())),
        KeySource::Command {
            command,
            timeout_ms,
        } => (
            run(command, *timeout_ms).await?,
            "the key command".to_owned(),
        ),
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(no_key(format!("{from} gave an empty key")));
    }
    // What is no header value can't be sent; what it is instead is not for any message.
    if !text.chars().all(|c| c.is_ascii_graphic()) {
        return Err(no_key(format!(
            "{from} gave something that can't be a key (white space, or characters other than ASCII)"
        )));
    }
    Ok(Some(Secret::new(text)))
}

/// The text of a key file. Whoever can read it can act with the key, so one that others can read is refused.
fn read_file(path: &Path) -> Result<String, KeyError> {
    let from = path.display();
    let failed = |error: std::io::Error| no_key(format!("the file {from} can't be read: {error}"));
    // Of something that is no file, opening must not wait for anybody.
    let mut options = std::fs::OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK);
    let file = options.open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(no_key(format!("{from} is not a file")));
    }
    if found.permissions().mode() & 0o077 != 0 {
        return Err(no_key(format!(
            "others can read the file {from}: close it with chmod 600 {from}"
        )));
    }
    let mut text = Vec::new();
    file.take(KEY_LIMIT_BYTES)
        .read_to_end(&mut text)
        .map_err(failed)?;
    String::from_utf8(text).map_err(|_| no_key(format!("the file {from} does not hold text")))
}

/// Runs the command in a process group of its own, so that all of it can be ended. What it writes to standard error may hold
/// anything, so it is not kept.
async fn run(command: &str, timeout_ms: u64) -> Result<String, KeyError> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| no_key(format!("the key command could not be started: {error}")))?;
    let group = Group(child.id());
    let output = async {
        let mut text = Vec::new();
        if let Some(stdout) = child.stdout.take() {
            stdout.take(KEY_LIMIT_BYTES).read_to_end(&mut text).await?;
        }
        Ok::<_, std::io::Error>((text, child.wait().await?))
    };
    let output = tokio::time::timeout(Duration::from_millis(timeout_ms), output).await;
    drop(group);
    let by_hand = "run it by hand to see why";
    match output {
        Err(_) => Err(no_key(format!(
            "the key command did not end within {timeout_ms} ms; {by_hand}"
        ))),
        Ok(Err(error)) => Err(no_key(format!(
            "the key command could not be read: {error}"
        ))),
        Ok(Ok((_, status))) if !status.success() => Err(no_key(format!(
            "the key command failed ({status}); {by_hand}"
        ))),
        Ok(Ok((text, _))) => String::from_utf8(text)
            .map_err(|_| no_key("the key command did not print text".to_owned())),
    }
}

/// Ends a process group when dropped: also when the Turn is cancelled while the command runs.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = id.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        }
    }
}

fn no_key(message: String) -> KeyError {
    KeyError(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(command: &str) -> Keys {
        Keys::new(KeySource::Command {
            command: command.into(),
            timeout_ms: 20_000,
        })
    }

    fn env(name: &str) -> Keys {
        Keys::new(KeySource::Env { name: name.into() })
    }

    #[tokio::test]
    async fn a_command_runs_once_and_again_only_for_the_key_that_was_refused() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let runs = dir.path().join("runs");
        let keys = command(&format!(
            "echo >> {0}; printf 'key-%s\\n' $(wc -l < {0})",
            runs.display()
        ));
        let first = keys.get().await.expect("it runs").expect("it prints a key");
        assert_eq!(first.reveal(), "key-1");
        assert_eq!(keys.get().await, Ok(Some(first.clone())));
        let second = keys
            .renew(&first)
            .await
            .expect("it runs")
            .expect("it prints another key");
        assert_eq!(second.reveal(), "key-2");
        // A call that still had the first key finds the second one without running anything.
        assert_eq!(keys.renew(&first).await, Ok(Some(second.clone())));
        assert_eq!(keys.get().await, Ok(Some(second)));
        let runs = std::fs::read_to_string(runs).expect("it was written");
        assert_eq!(runs.lines().count(), 2);
    }

    #[tokio::test]
    async fn the_same_key_again_is_no_new_key() {
        let keys = command("echo same");
        let key = keys.get().await.expect("it runs").expect("it prints a key");
        assert_eq!(keys.renew(&key).await, Ok(None));
        let given = Keys::new(KeySource::Given(key.clone()));
        assert_eq!(given.get().await, Ok(Some(key.clone())));
        assert_eq!(given.renew(&key).await, Ok(None));
        assert_eq!(Keys::new(KeySource::None).get().await, Ok(None));
    }

    #[tokio::test]
    async fn what_is_no_key_is_an_error_that_shows_nothing_of_it() {
        for (keys, word) in [
            (command("echo oops-secret >&2; exit 3"), "exit status: 3"),
            (command("true"), "empty key"),
            (command("echo two-secret words"), "can't be a key"),
            (command("printf 'a\\377-secret'"), "did not print text"),
            (env("RAT_THINGS_TEST_NO_SUCH_VARIABLE"), "is not set"),
        ] {
            let error = keys.get().await.expect_err(word);
            assert!(error.to_string().contains(word), "{error}");
            assert!(!format!("{error:?}").contains("secret"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_key_file_is_read_unless_others_can_read_it() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let path = dir.path().join("key");
        std::fs::write(&path, "the-secret\n").expect("it can be written");
        let keys = || Keys::new(KeySource::File { path: path.clone() });
        let mode = |mode: u32| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("it is ours");
        };
        mode(0o600);
        let key = keys().get().await.expect("it is ours alone");
        assert_eq!(key.as_ref().map(Secret::reveal), Some("the-secret"));
        for open in [0o640, 0o604, 0o620] {
            mode(open);
            let error = keys().get().await.expect_err("it is open");
            assert!(error.to_string().contains("chmod 600"), "{error}");
            assert!(!error.to_string().contains("the-secret"), "{error}");
        }
        let directory = Keys::new(KeySource::File {
            path: dir.path().to_owned(),
        });
        let error = directory.get().await.expect_err("it is no file");
        assert!(error.to_string().contains("is not a file"), "{error}");
    }

    #[tokio::test]
    async fn a_command_that_hangs_is_ended_with_what_it_started() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let pid = dir.path().join("pid");
        let keys = Keys::new(KeySource::Command {
            command: format!("sleep 1000 & echo $! > {}; wait", pid.display()),
            timeout_ms: 300,
        });
        let error = keys.get().await.expect_err("it hangs");
        assert!(
            error.to_string().contains("did not end within 300 ms"),
            "{error}"
        );
        let Ok(pid) = std::fs::read_to_string(pid) else {
            // The machine was too slow to start it at all.
            return;
        };
        let proc = format!("/proc/{}/stat", pid.trim());
        for _ in 0..1_000 {
            match std::fs::read_to_string(&proc) {
                Ok(stat) if !stat.contains(") Z") => {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                _ => return,
            }
        }
        panic!("the background process is still there");
    }
}
