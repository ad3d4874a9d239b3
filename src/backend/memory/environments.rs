//! Environments without processes: what a command does is a function of the test.
//!
//! [`ScriptedEnvironments`] is the world outside the worker: it outlives simulated crashes, and its log says what was ever
//! begun, by whom it was finished or not. An `exec` whose future is dropped stays in the log as begun and never ended.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{mpsc, watch};

use crate::engine::ports::{
    CaptureLimits, Environment, EnvironmentError, EnvironmentSpec, Environments, ExecEnd, ExecHow,
    ExecSpec, FilesQuery, Isolation, LeftOut, Opened, OutputFile, Outputs, Program, WorkspaceError,
    WorkspaceFile, WorkspaceFiles,
};

/// Files of one environment by absolute path; those below `/workspace/outputs/` are its outputs.
pub type Files = BTreeMap<String, Bytes>;

/// What a scripted command does.
#[derive(Clone, Debug)]
pub enum Scripted {
    /// It writes `output` and exits with `exit_code`.
    Exits {
        /// Exit code.
        exit_code: i32,
        /// Everything it writes.
        output: String,
    },
    /// It writes `output` and goes on until it is cancelled or its environment is lost; its timeout does not end it.
    Hangs {
        /// Everything it writes.
        output: String,
    },
    /// It ends in any other way.
    Ends(ExecEnd),
    /// Its environment is lost while it runs: it and everything else there.
    Lost(String),
    /// It can't be run.
    Fails(String),
}

impl Scripted {
    /// Exits with 0 after writing `output`.
    pub fn ok(output: impl Into<String>) -> Scripted {
        Scripted::Exits {
            exit_code: 0,
            output: output.into(),
        }
    }
}

/// One command that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// Environment id.
    pub environment: String,
    /// The command's text: the shell's, the arguments joined by blanks, or the patch.
    pub text: String,
    /// How it ended; `None` while it runs, and for ever if its worker died or its environment was lost.
    pub how: Option<ExecHow>,
}

type Script = dyn Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync;

/// A world of scripted environments. Clones are the same world.
#[derive(Clone)]
pub struct ScriptedEnvironments {
    world: Arc<World>,
}

struct World {
    script: Box<Script>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    refused: Option<EnvironmentError>,
    places: HashMap<String, Place>,
    log: Vec<Executed>,
    opened_with: Vec<EnvironmentSpec>,
}

#[derive(Default)]
struct Place {
    files: Files,
    /// Its outputs as they were captured last in this life.
    captured: Option<Files>,
    /// The opened life of it, if it is open.
    live: Option<watch::Sender<Option<String>>>,
    /// What it starts with was put there.
    furnished: bool,
}

impl World {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }
}

impl ScriptedEnvironments {
    /// A world in which every command does what `script` says; it may change the environment's files, and must not call this
    /// world (it is locked meanwhile).
    pub fn new(
        script: impl Fn(&ExecSpec, &mut Files) -> Scripted + Send + Sync + 'static,
    ) -> ScriptedEnvironments {
        ScriptedEnvironments {
            world: Arc::new(World {
                script: Box::new(script),
                state: Mutex::default(),
            }),
        }
    }

    /// Every command that was ever begun, in order.
    pub fn log(&self) -> Vec<Executed> {
        self.world.state().log.clone()
    }

    /// What environments were opened with, in order.
    pub fn opened_with(&self) -> Vec<EnvironmentSpec> {
        self.world.state().opened_with.clone()
    }

    /// Puts a file into an environment, open or not.
    pub fn write(&self, id: &str, path: &str, content: impl Into<Bytes>) {
        let mut state = self.world.state();
        let place = state.places.entry(id.to_owned()).or_default();
        place.files.insert(path.to_owned(), content.into());
    }

    /// An environment's files; `None` if there is no such environment.
    pub fn files(&self, id: &str) -> Option<Files> {
        self.world.state().places.get(id).map(|p| p.files.clone())
    }

    /// Ends an open environment under its users: commands that run are lost. Files stay.
    pub fn lose(&self, id: &str) {
        let mut state = self.world.state();
        if let Some(live) = state.places.get_mut(id).and_then(|p| p.live.take()) {
            live.send_replace(Some("it was ended from outside".to_owned()));
        }
    }

    /// Ends all open environments, as the death of the worker that holds them does.
    pub fn lose_all(&self) {
        let ids: Vec<String> = self.world.state().places.keys().cloned().collect();
        for id in ids {
            self.lose(&id);
        }
    }

    /// From now on `check` and `open` answer this, or work again.
    pub fn refuse(&self, error: Option<EnvironmentError>) {
        self.world.state().refused = error;
    }
}

#[async_trait]
impl Environments for ScriptedEnvironments {
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError> {
        let mut state = self.world.state();
        if let Some(error) = &state.refused {
            return Err(error.clone());
        }
        state.opened_with.push(spec.clone());
        let created = !state.places.contains_key(&spec.id);
        let place = state.places.entry(spec.id.clone()).or_default();
        let warm = place.live.is_some();
        if !warm {
            place.captured = None;
        }
        let live = place.live.get_or_insert_with(|| watch::Sender::new(None));
        let environment = ScriptedEnvironment {
            id: spec.id.clone(),
            lost: live.subscribe(),
            world: self.world.clone(),
        };
        Ok(Opened {
            environment: Arc::new(environment),
            created,
            warm,
        })
    }

    async fn held(&self, id: &str) -> Option<Arc<dyn Environment>> {
        let state = self.world.state();
        let live = state.places.get(id)?.live.as_ref()?;
        let lost = live.subscribe();
        Some(Arc::new(ScriptedEnvironment {
            id: id.to_owned(),
            lost,
            world: self.world.clone(),
        }))
    }

    async fn close(&self, id: &str) {
        self.lose(id);
    }

    async fn remove(&self, id: &str) -> Result<(), EnvironmentError> {
        self.lose(id);
        self.world.state().places.remove(id);
        Ok(())
    }

    async fn list_files(
        &self,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, WorkspaceError> {
        let state = self.world.state();
        let missing = || WorkspaceError::Missing(id.to_owned());
        let place = state.places.get(id).ok_or_else(missing)?;
        let below = format!("{}/", query.below);
        let within = place
            .files
            .iter()
            .filter(|(path, _)| path.starts_with(&below));
        let mut files: Vec<WorkspaceFile> = within
            .map(|(path, content)| WorkspaceFile {
                path: path.clone(),
                size_bytes: content.len() as u64,
            })
            .collect();
        files.sort_by(|a, b| a.path.split('/').cmp(b.path.split('/')));
        if query.reverse {
            files.reverse();
        }
        if let Some(after) = &query.after {
            let behind = files.iter().position(|file| file.path == *after);
            files.drain(..behind.map_or(0, |at| at + 1));
        }
        let more = files.len() > query.limit;
        files.truncate(query.limit);
        Ok(WorkspaceFiles { files, more })
    }

    async fn put_file(
        &self,
        id: &str,
        path: &str,
        mut from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<u64, WorkspaceError> {
        let mut content = Vec::new();
        let read = from.read_to_end(&mut content).await;
        read.map_err(|error| WorkspaceError::Source(error.to_string()))?;
        let size_bytes = content.len() as u64;
        if size_bytes > limit_bytes {
            return Err(WorkspaceError::TooMuch("it is too long".to_owned()));
        }
        let mut state = self.world.state();
        let missing = || WorkspaceError::Missing(id.to_owned());
        let place = state.places.get_mut(id).ok_or_else(missing)?;
        place.files.insert(path.to_owned(), content.into());
        Ok(size_bytes)
    }

    async fn is_furnished(&self, id: &str) -> bool {
        let state = self.world.state();
        state.places.get(id).is_some_and(|place| place.furnished)
    }

    async fn set_furnished(&self, id: &str) -> Result<(), WorkspaceError> {
        let mut state = self.world.state();
        let missing = || WorkspaceError::Missing(id.to_owned());
        state.places.get_mut(id).ok_or_else(missing)?.furnished = true;
        Ok(())
    }

    async fn check(&self, _isolation: Isolation) -> Result<(), EnvironmentError> {
        match &self.world.state().refused {
            Some(error) => Err(error.clone()),
            None => Ok(()),
        }
    }
}

/// One life of a scripted environment.
struct ScriptedEnvironment {
    id: String,
    lost: watch::Receiver<Option<String>>,
    world: Arc<World>,
}

impl ScriptedEnvironment {
    /// Logs the command and asks the script; the log's index and what the command does.
    fn begin(&self, spec: &ExecSpec) -> Result<(usize, Scripted), EnvironmentError> {
        if let Some(why) = self.lost.borrow().clone() {
            return Err(EnvironmentError::Lost(why));
        }
        let mut state = self.world.state();
        let state = &mut *state;
        state.log.push(Executed {
            environment: self.id.clone(),
            text: text_of(spec),
            how: None,
        });
        let place = state.places.entry(self.id.clone()).or_default();
        let scripted = (self.world.script)(spec, &mut place.files);
        Ok((state.log.len() - 1, scripted))
    }

    fn end(&self, entry: usize, end: ExecEnd) -> Result<ExecEnd, EnvironmentError> {
        self.world.state().log[entry].how = Some(end.how.clone());
        Ok(end)
    }

    fn lose(&self, why: String) {
        let mut state = self.world.state();
        if let Some(live) = state.places.get_mut(&self.id).and_then(|p| p.live.take()) {
            live.send_replace(Some(why));
        }
    }
}

#[async_trait]
impl Environment for ScriptedEnvironment {
    async fn exec(
        &self,
        spec: ExecSpec,
        output: mpsc::Sender<Bytes>,
        mut cancel: watch::Receiver<bool>,
    ) -> Result<ExecEnd, EnvironmentError> {
        let (entry, scripted) = self.begin(&spec)?;
        match scripted {
            Scripted::Exits {
                exit_code,
                output: text,
            } => {
                let _ = output.try_send(text.clone().into());
                self.end(entry, ended(ExecHow::Exited(exit_code), text))
            }
            Scripted::Hangs { output: text } => {
                let _ = output.try_send(text.clone().into());
                let mut lost = self.lost.clone();
                tokio::select! {
                    biased;
                    Ok(_) = cancel.wait_for(|asked| *asked) => {
                        self.end(entry, ended(ExecHow::Cancelled, text))
                    }
                    why = gone(&mut lost) => Err(EnvironmentError::Lost(why)),
                }
            }
            Scripted::Ends(end) => {
                let _ = output.try_send(end.output.clone().into());
                self.end(entry, end)
            }
            Scripted::Lost(why) => {
                self.lose(why.clone());
                Err(EnvironmentError::Lost(why))
            }
            Scripted::Fails(why) => {
                self.end(
                    entry,
                    ended(ExecHow::NotStarted(why.clone()), String::new()),
                )?;
                Err(EnvironmentError::Failed(why))
            }
        }
    }

    async fn outputs(&self, limits: CaptureLimits) -> Result<Outputs, EnvironmentError> {
        if let Some(why) = self.lost.borrow().clone() {
            return Err(EnvironmentError::Lost(why));
        }
        let mut state = self.world.state();
        let place = state.places.get_mut(&self.id);
        let files = place.map(|place| &*place.captured.insert(place.files.clone()));
        let mut found = Outputs {
            files: Vec::new(),
            left_out: Vec::new(),
        };
        let mut turn_bytes = 0;
        for (path, content) in files.into_iter().flatten() {
            if !path.starts_with("/workspace/outputs/") {
                continue;
            }
            let size_bytes = content.len() as u64;
            let reason = if size_bytes > limits.file_bytes {
                "the file is too large"
            } else if turn_bytes + size_bytes > limits.turn_bytes {
                "the Turn's outputs are too large"
            } else if found.files.len() >= limits.files {
                "the Turn has too many outputs"
            } else {
                turn_bytes += size_bytes;
                found.files.push(OutputFile {
                    path: path.clone(),
                    size_bytes,
                    content: Box::new(std::io::Cursor::new(content.clone())),
                });
                continue;
            };
            found.left_out.push(LeftOut {
                path: path.clone(),
                reason: reason.to_owned(),
            });
        }
        Ok(found)
    }

    async fn has_new_outputs(&self) -> bool {
        let state = self.world.state();
        let place = state.places.get(&self.id);
        place.is_none_or(|place| place.captured.as_ref() != Some(&place.files))
    }

    async fn close(&self) {
        self.lose("it was closed".to_owned());
    }
}

/// Waits until the environment is lost; why.
async fn gone(lost: &mut watch::Receiver<Option<String>>) -> String {
    match lost.wait_for(Option::is_some).await {
        Ok(why) => why.clone().unwrap_or_default(),
        Err(_) => "its world ended".to_owned(),
    }
}

fn ended(how: ExecHow, output: String) -> ExecEnd {
    ExecEnd {
        how,
        output_bytes: output.len() as u64,
        output,
        duration_ms: 0,
    }
}

fn text_of(spec: &ExecSpec) -> String {
    match &spec.program {
        Program::Shell(text) => text.clone(),
        Program::Argv(argv) => argv.join(" "),
        Program::ApplyPatch => String::from_utf8_lossy(&spec.stdin).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> ExecSpec {
        ExecSpec {
            program: Program::Shell(text.to_owned()),
            cwd: "/workspace".to_owned(),
            env: BTreeMap::new(),
            stdin: Bytes::new(),
            timeout_ms: 1_000,
            output_limit_bytes: 1_000,
        }
    }

    fn world() -> ScriptedEnvironments {
        ScriptedEnvironments::new(|spec, files| match &spec.program {
            Program::Shell(text) if text == "hang" => Scripted::Hangs {
                output: "…".to_owned(),
            },
            Program::Shell(text) => {
                files.insert("/workspace/outputs/a".to_owned(), text.clone().into());
                Scripted::ok(text.clone())
            }
            _ => Scripted::Fails("no such thing".to_owned()),
        })
    }

    async fn open(world: &ScriptedEnvironments) -> Opened {
        let spec = EnvironmentSpec {
            id: "env_a".to_owned(),
            isolation: Isolation::Sandbox,
            network: Default::default(),
            env: BTreeMap::new(),
        };
        world.open(&spec).await.expect("opens")
    }

    fn quiet() -> (mpsc::Sender<Bytes>, watch::Sender<bool>) {
        (mpsc::channel(8).0, watch::Sender::new(false))
    }

    #[tokio::test]
    async fn a_command_runs_the_script_and_is_logged() {
        let world = world();
        let opened = open(&world).await;
        assert!(opened.created && !opened.warm);
        let (output, cancel) = quiet();
        let end = opened
            .environment
            .exec(spec("echo"), output, cancel.subscribe())
            .await
            .expect("runs");
        assert_eq!(end.how, ExecHow::Exited(0));
        assert_eq!(world.log()[0].how, Some(ExecHow::Exited(0)));
        let outputs = opened
            .environment
            .outputs(CaptureLimits::default())
            .await
            .expect("lists");
        assert_eq!(outputs.files.len(), 1);
        let again = open(&world).await;
        assert!(!again.created && again.warm);
    }

    #[tokio::test]
    async fn a_hanging_command_ends_by_cancel_or_by_loss() {
        let world = world();
        let opened = open(&world).await;
        let (output, cancel) = quiet();
        let asked = cancel.subscribe();
        cancel.send_replace(true);
        let end = opened.environment.exec(spec("hang"), output, asked).await;
        assert_eq!(end.map(|end| end.how), Ok(ExecHow::Cancelled));

        let (output, cancel) = quiet();
        let run = opened
            .environment
            .exec(spec("hang"), output, cancel.subscribe());
        let lose = async { world.lose("env_a") };
        let (end, ()) = tokio::join!(run, lose);
        assert!(matches!(end, Err(EnvironmentError::Lost(_))));
        assert_eq!(world.log()[1].how, None);
        let (output, cancel) = quiet();
        let end = opened
            .environment
            .exec(spec("x"), output, cancel.subscribe());
        assert!(matches!(end.await, Err(EnvironmentError::Lost(_))));
        assert!(!open(&world).await.warm);
    }
}
