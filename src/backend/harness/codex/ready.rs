//! What must be true before a Codex process is started: the program is there, is the right one, can be enclosed, and takes the
//! configuration that it is given. What a process has to be started for, or 300 MB read, is found out once for each file.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use data_encoding::HEXLOWER;
use ring::digest;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::Options;
use super::enclosure::{Enclosure, OWN_PROGRAM};
use super::home::Home;
use super::process;
use super::program::{NoProgram, PINNED, Program};
use crate::api::TurnErrorCode;
use crate::engine::ports::{EnvironmentError, HarnessProgram, Isolation};

/// How long a program may look at its configuration.
const PATIENCE: Duration = Duration::from_secs(30);

/// Binaries of [`PINNED`] that this harness was tried with.
const TRIED: &[&str] = &["b76a027d6b210f9a8da7aaf321dd235c700f0ef7a794d4a5314b9af6c134f0f0"];

/// Where the digest of the last program is kept between workers, in the directory of all homes.
const REMEMBERED: &str = ".digest";

/// What a process is started from.
pub struct Ready {
    /// The binary.
    pub program: Program,
    /// What it runs in; `None`: in nothing.
    pub enclosure: Option<Enclosure>,
    /// Its directory.
    pub home: Home,
    /// What is recorded of it.
    pub info: HarnessProgram,
}

/// Why no process can be started.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The operator has to install it.
    #[error(transparent)]
    NoProgram(#[from] NoProgram),
    /// The operator has to act, or to decide.
    #[error(
        "Codex was not started, because it can't be isolated here: {0}. With `sandbox.isolation = \"unsafe-none\"` it runs as any other process of \
         this machine"
    )]
    NotEnclosed(EnvironmentError),
    /// The machine refuses something.
    #[error("Codex could not be started: {0}")]
    NotStarted(#[from] io::Error),
    /// The operator has to install another one.
    #[error("Codex is version {0:?}, and this harness speaks with {PINNED} only")]
    Version(String),
    /// It is ours to mend.
    #[error("Codex refuses the configuration that it is given: {0}")]
    Configuration(String),
    /// Nobody knows; it may work the next time.
    #[error("it ended before it was ready: {0}")]
    Ended(String),
}

impl NotReady {
    /// For the Turn's error.
    pub fn code(&self) -> TurnErrorCode {
        match self {
            NotReady::NotEnclosed(_) => TurnErrorCode::SandboxError,
            NotReady::Version(_) => TurnErrorCode::ExecutorVersionIncompatible,
            NotReady::NoProgram(_)
            | NotReady::NotStarted(_)
            | NotReady::Configuration(_)
            | NotReady::Ended(_) => TurnErrorCode::InternalError,
        }
    }
}

/// A file as it is now: another one, and one that was changed, is another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity(String);

impl Identity {
    fn of(path: &Path) -> io::Result<Identity> {
        let found = std::fs::metadata(path)?;
        Ok(Identity(format!(
            "{}.{}.{}.{}.{}.{}.{}",
            found.dev(),
            found.ino(),
            found.size(),
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec()
        )))
    }
}

/// What was found out so far, by file and by whether there is an environment for commands.
#[derive(Default)]
pub struct Known(Mutex<HashMap<(Identity, bool), HarnessProgram>>);

/// Makes everything ready for one process whose model is `model`; `has_environment`: it may run commands.
///
/// # Errors
/// Nothing was started that goes on, and nothing is left behind.
pub async fn ready(
    options: &Options,
    known: &Known,
    model: &str,
    has_environment: bool,
) -> Result<Ready, NotReady> {
    let path = std::env::var_os("PATH");
    let program = Program::find(options.program.as_deref(), path.as_deref())?;
    let find = || Enclosure::find(options.bwrap.as_ref(), &options.own);
    let enclosure = match options.isolation {
        Isolation::Sandbox => Some(find().map_err(NotReady::NotEnclosed)?),
        Isolation::UnsafeNone => None,
    };
    let own = match enclosure {
        Some(_) => Path::new(OWN_PROGRAM),
        None => &options.own,
    };
    let home = Home::make(&options.homes, has_environment.then_some(own), model)?;
    let key = (Identity::of(&program.path)?, has_environment);
    // Held while it is looked at: whoever comes meanwhile waits for the same answer.
    let mut known = known.0.lock().await;
    let info = match known.get(&key) {
        Some(info) => info.clone(),
        None => {
            let version = preflight(&program, &home, enclosure.as_ref()).await?;
            let info = HarnessProgram {
                name: "codex".to_owned(),
                version,
                sha256: digest_of(&program, &key.0, &options.homes).await?,
            };
            if !is_tried(&info) {
                let path = program.path.display();
                tracing::warn!(%path, info.sha256, "this Codex is no binary that was tried");
            }
            known.insert(key, info.clone());
            info
        }
    };
    Ok(Ready {
        program,
        enclosure,
        home,
        info,
    })
}

/// Whether a program is one that this harness was tried with. Only those for x86-64 were.
pub fn is_tried(program: &HarnessProgram) -> bool {
    cfg!(not(target_arch = "x86_64")) || TRIED.contains(&program.sha256.as_str())
}

/// Has the program read its configuration and nothing else; its version.
async fn preflight(
    program: &Program,
    home: &Home,
    enclosure: Option<&Enclosure>,
) -> Result<String, NotReady> {
    let mut command = process::command(program, home, enclosure);
    command
        .arg("--print-startup-config")
        .stdin(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    // Open until it has ended: it is what an enclosure ends with.
    let stdin = child.stdin.take();
    let output = timeout(PATIENCE, child.wait_with_output()).await;
    drop(stdin);
    let output = output.map_err(|_| NotReady::Ended("it does not come to an end".to_owned()))??;
    let complaint = process::one_line(&output.stderr);
    match read(&output.stdout) {
        Some(Ok(version)) if version == PINNED => Ok(version),
        Some(Ok(version)) => Err(NotReady::Version(version)),
        Some(Err(detail)) => Err(NotReady::Configuration(detail)),
        None => Err(
            match enclosure.and_then(|enclosure| enclosure.refusal(&complaint)) {
                Some(refusal) => NotReady::NotEnclosed(refusal),
                None => NotReady::Ended(complaint),
            },
        ),
    }
}

/// The program's version, or what it refuses; `None`: it says neither.
fn read(said: &[u8]) -> Option<Result<String, String>> {
    let said: Value = serde_json::from_slice(said).ok()?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let error = &said["error"];
    match text(&error["data"]["detail"]).or_else(|| text(&error["message"])) {
        Some(detail) => Some(Err(detail)),
        None => text(&said["appServerVersion"]).map(Ok),
    }
}

/// The digest of the program's file: remembered, or computed, which takes a second of its own.
async fn digest_of(program: &Program, identity: &Identity, homes: &Path) -> io::Result<String> {
    let remembered = homes.join(REMEMBERED);
    let last = std::fs::read_to_string(&remembered).unwrap_or_default();
    if let Some((of, sha256)) = last.trim_end().split_once(' ')
        && of == identity.0
        && sha256.len() == 64
    {
        return Ok(sha256.to_owned());
    }
    let path = program.path.clone();
    let computed = tokio::task::spawn_blocking(move || sha256(&path)).await;
    let sha256 = computed.map_err(io::Error::other)??;
    // Whoever can't read it computes it again.
    let _ = std::fs::write(&remembered, format!("{} {sha256}\n", identity.0));
    Ok(sha256)
}

fn sha256(path: &Path) -> io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let mut context = digest::Context::new(&digest::SHA256);
    let mut chunk = vec![0; 1 << 20];
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(HEXLOWER.encode(context.finish().as_ref())),
            read => context.update(&chunk[..read]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_says_of_its_configuration_is_a_version_or_what_it_refuses() {
        let version = read(br#"{"appServerVersion":"0.171.0","configRequirements":{}}"#);
        assert_eq!(version, Some(Ok("0.171.0".to_owned())));
        let refused = read(
            br#"{"error":{"code":-32600,"data":{"reason":"configLoad","detail":"config.toml:2:1: unknown"},"message":"failed"}}"#,
        );
        assert_eq!(refused, Some(Err("config.toml:2:1: unknown".to_owned())));
        let bare = read(br#"{"error":{"message":"failed"}}"#);
        assert_eq!(bare, Some(Err("failed".to_owned())));
        assert_eq!(read(b"usage: codex"), None);
        assert_eq!(read(b"{}"), None);
    }

    #[tokio::test]
    async fn a_file_is_read_once_and_again_when_it_is_another_one() {
        let homes = tempfile::tempdir().expect("there is room");
        let path = homes.path().join("codex");
        std::fs::write(&path, b"abc").expect("it can be written");
        let program = Program { path: path.clone() };
        let identity = Identity::of(&path).expect("it is there");
        let first = digest_of(&program, &identity, homes.path()).await;
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(first.ok().as_deref(), Some(abc));
        // Remembered: nothing is read any more.
        let gone = Program {
            path: homes.path().join("gone"),
        };
        let again = digest_of(&gone, &identity, homes.path()).await;
        assert_eq!(again.ok().as_deref(), Some(abc));
        std::fs::write(&path, b"abcd").expect("it can be written");
        let other = Identity::of(&path).expect("it is there");
        assert_ne!(other, identity);
        let changed = digest_of(&program, &other, homes.path()).await;
        assert!(changed.is_ok_and(|sha256| sha256 != abc));
        std::fs::write(homes.path().join(REMEMBERED), "torn").expect("it can be written");
        assert!(digest_of(&program, &other, homes.path()).await.is_ok());
    }
}
