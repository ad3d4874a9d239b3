//! The environments of this process: which are open, how one is started, whether any can be.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::ChildStderr;
use tokio::sync::{Semaphore, mpsc, watch};

use super::config::{LocalEnvironmentsConfig, RunAs};
use super::control::Control;
use super::environment::{End, LocalEnvironment};
use super::home::{self, Home};
use super::launch::{self, Launched, Launcher};
use super::orphan;
use super::proxy::{Proxy, Reach, Rules};
use super::wire::Setup;
use super::witness::Witness;
use super::{descriptors, facts, identity, refusal, variables, workspace};
use crate::engine::ids::{Kind, random};
use crate::engine::ports::{
    Environment, EnvironmentError, EnvironmentSpec, Environments, ExecHow, ExecSpec, FilesQuery,
    Ids, Isolation, Network, Opened, Program, WorkspaceError, WorkspaceFiles,
};

/// What the launcher may say before it is cut off.
const SAID_BYTES: u64 = 8 << 10;

/// Managed environments on this machine. See the module's documentation.
pub struct LocalEnvironments {
    config: LocalEnvironmentsConfig,
    program: OwnedFd,
    /// Whom sandboxes run as, if that is not us.
    run_as: Option<RunAs>,
    reach: Reach,
    /// For all proxies together, so that agents cannot use up this process's descriptors.
    connections: Arc<Semaphore>,
    launcher: OnceLock<Launcher>,
    open: Mutex<HashMap<String, Arc<Slot>>>,
    works: OnceLock<()>,
}

/// One id; the lock makes opening and removing it one at a time.
type Slot = tokio::sync::Mutex<Option<Arc<LocalEnvironment>>>;

impl LocalEnvironments {
    /// Opens the program that will be PID 1 and raises this process's limit of open descriptors; makes nothing and starts nothing.
    pub fn new(mut config: LocalEnvironmentsConfig) -> io::Result<LocalEnvironments> {
        // The launcher is started elsewhere than here.
        let read_only = config.read_only.iter_mut();
        for path in read_only.chain(&mut config.bwrap).chain([&mut config.root]) {
            *path = std::path::absolute(&path)?;
        }
        let program = launch::open_program(&config.program)?;
        let run_as = identity::to_become(config.run_as);
        Ok(LocalEnvironments {
            config,
            program,
            run_as,
            reach: Reach::default(),
            // Two descriptors each, and half of all for everything else.
            connections: Arc::new(Semaphore::new(
                usize::try_from(descriptors::allow_many() / 4)
                    .unwrap_or(256)
                    .min(Semaphore::MAX_PERMITS),
            )),
            launcher: OnceLock::new(),
            open: Mutex::new(HashMap::new()),
            works: OnceLock::new(),
        })
    }

    /// With another way to reach hosts, for tests.
    pub fn with_reach(mut self, reach: Reach) -> LocalEnvironments {
        self.reach = reach;
        self
    }

    fn slot(&self, id: &str) -> Arc<Slot> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that ended meanwhile still hold their socket. A slot that somebody waits for has a second holder.
        open.retain(|_, slot| {
            let alive =
                |open: &Option<Arc<LocalEnvironment>>| open.as_ref().is_some_and(|e| e.is_alive());
            Arc::strong_count(slot) > 1 || slot.try_lock().is_ok_and(|open| alive(&open))
        });
        Arc::clone(open.entry(id.to_owned()).or_default())
    }

    /// Found once; a machine on which bubblewrap is missing is looked at again.
    fn launcher(&self) -> Result<&Launcher, EnvironmentError> {
        if let Some(launcher) = self.launcher.get() {
            return Ok(launcher);
        }
        let bwrap = facts::find_launcher(self.config.bwrap.as_ref())
            .ok_or_else(|| self.refused(false, false, String::new()))?;
        let program = self
            .program
            .try_clone()
            .map_err(|e| failed("cannot hold the program", &e))?;
        Ok(self.launcher.get_or_init(|| Launcher {
            bwrap,
            program,
            run_as: self.run_as,
            read_only: self.config.read_only.clone(),
            tmp_bytes: self.config.limits.tmp_bytes,
        }))
    }

    fn refused(&self, has_launcher: bool, start_refused: bool, said: String) -> EnvironmentError {
        let mut facts = facts::read(has_launcher, &self.program, self.run_as);
        facts.start_refused = start_refused;
        facts.said = said;
        refusal::explain(&facts)
    }

    async fn start(
        &self,
        spec: &EnvironmentSpec,
    ) -> Result<(LocalEnvironment, bool), EnvironmentError> {
        let sandboxed = spec.isolation == Isolation::Sandbox;
        let rules =
            Rules::of(&spec.network).map_err(|e| EnvironmentError::Failed(e.to_string()))?;
        let rules = rules.filter(|_| sandboxed);
        let launcher = if sandboxed {
            Some(self.launcher()?)
        } else {
            None
        };
        let owner = if sandboxed { self.run_as } else { None };
        let wait = Duration::from_millis(self.config.lock_wait_ms);
        let home = home::acquire(&self.config.root, &spec.id, owner, wait).await?;
        let started = match launcher {
            Some(launcher) => launcher.start(&spec.id, &home.workspace, &home.lock),
            None => Launcher::start_bare(&self.program, &spec.id, &home.lock),
        };
        let started = started.map_err(|e| match e.kind() {
            io::ErrorKind::PermissionDenied if sandboxed => self.refused(true, true, e.to_string()),
            _ => failed("cannot start the sandbox", &e),
        })?;
        let created = home.created;
        let environment = self.greet(spec, home, started, rules).await?;
        Ok((environment, created))
    }

    /// From a started launcher to a sandbox that takes commands.
    async fn greet(
        &self,
        spec: &EnvironmentSpec,
        home: Home,
        mut started: Launched,
        rules: Option<Rules>,
    ) -> Result<LocalEnvironment, EnvironmentError> {
        let stderr = started.child.stderr.take();
        let control = Control::new(started.control)
            .map(Arc::new)
            .map_err(|e| failed("cannot use the control socket", &e))?;
        let sandboxed = spec.isolation == Isolation::Sandbox;
        let proxied = rules.is_some();
        let workspace = home.workspace.display().to_string();
        let setup = self.setup(
            sandboxed,
            proxied,
            if sandboxed { "/workspace" } else { &workspace },
        );
        let patience = Duration::from_millis(self.config.start_timeout_ms);
        let mut killed_by = None;
        let greeted = {
            let mut greeting = pin!(tokio::time::timeout(patience, control.greet(setup)));
            loop {
                tokio::select! {
                    biased;
                    greeted = &mut greeting => break greeted,
                    Ok(status) = started.child.wait(), if killed_by.is_none() => {
                        // Its inner process may wait for it for ever, and keeps the control socket open.
                        killed_by = Some(status.signal());
                        orphan::end(&spec.id);
                    }
                }
            }
        };
        let Ok(Ok(listener)) = greeted else {
            control.hang_up();
            let too_late = greeted.is_err();
            if too_late {
                launch::kill_half_started(&mut started.child).await;
            }
            let said = said(stderr).await;
            let _ = started.child.wait().await;
            return Err(if too_late {
                let ms = patience.as_millis();
                EnvironmentError::Failed(format!("the sandbox was not ready after {ms} ms"))
            } else if let Some(Some(signal)) = killed_by {
                EnvironmentError::Failed(format!("its launcher was killed by signal {signal}"))
            } else if sandboxed {
                self.refused(true, false, said)
            } else {
                EnvironmentError::Failed(said)
            });
        };
        let proxy = self.proxy(listener, rules)?;
        let witness = started.child.id().and_then(|pid| match spec.isolation {
            Isolation::Sandbox => Witness::child_of(pid),
            Isolation::UnsafeNone => Witness::of(pid),
        });
        if let Some(witness) = &witness {
            home::note(&home.lock, witness).map_err(|e| failed("cannot note its process", &e))?;
        }
        tokio::spawn(Arc::clone(&control).listen());
        let variables = match spec.isolation {
            Isolation::Sandbox => variables::sandboxed(proxied),
            Isolation::UnsafeNone => variables::bare(&workspace),
        };
        Ok(LocalEnvironment {
            spec: spec.clone(),
            end: End::of(started.child, witness, home.lock, Arc::clone(&control)),
            control,
            workspace: home.workspace,
            captured: std::sync::Mutex::default(),
            variables,
            proxy: std::sync::Mutex::new(proxy),
        })
    }

    fn proxy(
        &self,
        listener: Option<OwnedFd>,
        rules: Option<Rules>,
    ) -> Result<Option<Proxy>, EnvironmentError> {
        let (Some(listener), Some(rules)) = (listener, rules) else {
            return Ok(None);
        };
        let shared = Arc::clone(&self.connections);
        Proxy::start(listener, rules, self.reach.clone(), shared)
            .map(Some)
            .map_err(|e| failed("cannot start its proxy", &e))
    }

    fn setup(&self, sandboxed: bool, proxy: bool, workspace: &str) -> Setup {
        let limits = &self.config.limits;
        Setup {
            sandboxed,
            proxy,
            workspace: workspace.to_owned(),
            processes: limits.processes,
            memory_bytes: limits.memory_bytes,
            file_bytes: limits.file_bytes,
            cpu_seconds: limits.cpu_seconds,
            free_space_bytes: limits.free_space_bytes,
        }
    }

    /// Launches the real thing and runs `true` in it.
    async fn try_out(&self) -> Result<(), EnvironmentError> {
        let spec = EnvironmentSpec {
            id: random(Kind::Environment, &SystemIds),
            isolation: Isolation::Sandbox,
            network: Network::Disabled,
            env: BTreeMap::new(),
        };
        let tried = async {
            let opened = self.open(&spec).await?;
            let exec = ExecSpec {
                program: Program::Shell("true".to_owned()),
                cwd: "/workspace".to_owned(),
                env: BTreeMap::new(),
                stdin: Bytes::new(),
                timeout_ms: self.config.start_timeout_ms,
                output_limit_bytes: 4 << 10,
            };
            let (live, _) = mpsc::channel(1);
            let (_never, cancel) = watch::channel(false);
            opened.environment.exec(exec, live, cancel).await
        };
        let end = tried.await;
        let removed = self.remove(&spec.id).await;
        match end?.how {
            ExecHow::Exited(0) => removed,
            other => Err(self.refused(true, false, format!("`true` ended with {other:?}"))),
        }
    }
}

#[async_trait]
impl Environments for LocalEnvironments {
    async fn open(&self, spec: &EnvironmentSpec) -> Result<Opened, EnvironmentError> {
        let slot = self.slot(&spec.id);
        let mut slot = slot.lock().await;
        if let Some(open) = slot.as_ref() {
            if open.is_alive() && open.spec == *spec {
                return Ok(Opened {
                    environment: Arc::clone(open) as Arc<dyn Environment>,
                    created: false,
                    warm: true,
                });
            }
            open.close().await;
            *slot = None;
        }
        let (environment, created) = self.start(spec).await?;
        let environment = Arc::new(environment);
        *slot = Some(Arc::clone(&environment));
        Ok(Opened {
            environment,
            created,
            warm: false,
        })
    }

    async fn held(&self, id: &str) -> Option<Arc<dyn Environment>> {
        let slot = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.get(id).cloned()
        };
        // One that is being opened, closed or removed at this moment is not there for others.
        let slot = slot?;
        let open = slot.try_lock().ok()?;
        let alive = open.as_ref().filter(|open| open.is_alive())?;
        Some(Arc::clone(alive) as Arc<dyn Environment>)
    }

    async fn close(&self, id: &str) {
        let slot = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.get(id).cloned()
        };
        let Some(slot) = slot else { return };
        if let Some(environment) = slot.lock().await.take() {
            environment.close().await;
        }
    }

    async fn remove(&self, id: &str) -> Result<(), EnvironmentError> {
        let slot = self.slot(id);
        let mut open = slot.lock().await;
        if let Some(environment) = open.take() {
            environment.close().await;
        }
        let wait = Duration::from_millis(self.config.lock_wait_ms);
        home::remove(&self.config.root, id, wait).await
    }

    async fn list_files(
        &self,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, WorkspaceError> {
        workspace::list(&self.config.root, id, query).await
    }

    async fn put_file(
        &self,
        id: &str,
        path: &str,
        from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<u64, WorkspaceError> {
        workspace::put(&self.config.root, id, path, from, limit_bytes).await
    }

    async fn is_furnished(&self, id: &str) -> bool {
        workspace::is_furnished(&self.config.root, id).await
    }

    async fn set_furnished(&self, id: &str) -> Result<(), WorkspaceError> {
        workspace::set_furnished(&self.config.root, id).await
    }

    async fn check(&self, isolation: Isolation) -> Result<(), EnvironmentError> {
        if isolation == Isolation::UnsafeNone || self.works.get().is_some() {
            return Ok(());
        }
        self.try_out().await?;
        let _ = self.works.set(());
        Ok(())
    }
}

/// What the launcher or PID 1 said before it left.
async fn said(stderr: Option<ChildStderr>) -> String {
    let mut said = Vec::new();
    if let Some(stderr) = stderr {
        let patience = Duration::from_secs(1);
        let _ =
            tokio::time::timeout(patience, stderr.take(SAID_BYTES).read_to_end(&mut said)).await;
    }
    String::from_utf8_lossy(&said).into_owned()
}

fn failed(what: &str, e: &io::Error) -> EnvironmentError {
    EnvironmentError::Failed(format!("{what}: {e}"))
}

/// The system's randomness, for the id of an environment that lives for one check.
struct SystemIds;

impl Ids for SystemIds {
    fn fill(&self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            // Without randomness two simultaneous checks may meet; the lock then makes one wait.
            bytes.fill(0);
        }
    }
}
