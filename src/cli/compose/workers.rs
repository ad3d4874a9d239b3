//! The worker processes of a daemon, and a worker's line to its daemon.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Local, machines};
use crate::backend::local::compute::{
    ProcessCompute, ProcessComputeConfig, WorkerCommand, WorkerCommandLine, WorkerPipe,
    WorkerReports,
};
use crate::cli::config::Settings;
use crate::cli::out::CliError;
use crate::engine::ports::{Compute, RunGrant};

/// The workers of a daemon: processes, which are this program again with these arguments, or machines of the account, as the profile says.
///
/// # Errors
/// This very program can't be read, which is what machines run.
pub async fn worker_pool(
    settings: &Settings,
    local: &Local,
    args: Vec<String>,
) -> Result<WorkerPool, CliError> {
    let processes = ProcessCompute::new(ProcessComputeConfig {
        worker: WorkerCommandLine {
            program: PathBuf::from("/proc/self/exe"),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            log_dir: local.places.logs(),
        },
        workers: settings.daemon.workers,
        runs_per_worker: settings.daemon.runs_per_worker,
        stop_grace_ms: 1_000,
    });
    let compute = machines::beside(settings, local, Arc::new(processes.clone())).await?;
    Ok(WorkerPool { processes, compute })
}

/// Where the runs of a profile execute, for a command that looks at workers and ends them; it starts none.
///
/// # Errors
/// This very program can't be read, which is what machines run.
pub async fn compute(settings: &Settings, local: &Local) -> Result<Arc<dyn Compute>, CliError> {
    let pool = worker_pool(settings, local, Vec::new()).await?;
    Ok(pool.compute())
}

/// The workers of a daemon. What it says of them is about processes: machines need no daemon to end.
#[derive(Clone)]
pub struct WorkerPool {
    processes: ProcessCompute,
    compute: Arc<dyn Compute>,
}

impl WorkerPool {
    /// For a dispatcher.
    pub fn compute(&self) -> Arc<dyn Compute> {
        Arc::clone(&self.compute)
    }

    /// Whether no run goes on.
    pub fn idle(&self) -> bool {
        self.processes.idle()
    }

    /// Asks workers without a run for so long to end.
    pub async fn ask_idle_to_leave(&self, idle_ms: u64, grace_ms: u64) {
        self.processes.ask_idle_to_leave(idle_ms, grace_ms).await;
    }

    /// Asks all workers to bring their runs to a safe point within the grace period, and to end.
    pub async fn ask_leave(&self, grace_ms: u64) {
        self.processes.ask_leave(grace_ms).await;
    }

    /// Waits until no worker is left.
    pub async fn all_gone(&self) {
        self.processes.all_gone().await;
    }
}

/// What a daemon tells a worker.
pub enum Told {
    /// Begin this run.
    Run(RunGrant),
    /// Bring runs to a safe point within this time, and end.
    Leave {
        /// How long that may take.
        grace_ms: u64,
    },
    /// The daemon is gone: finish what runs, then end.
    DaemonGone,
}

/// A worker's line to its daemon.
pub struct DaemonLine(WorkerPipe);

impl DaemonLine {
    /// Takes over standard input and output, which must be the daemon's pipes.
    ///
    /// # Errors
    /// Nobody started this process as a worker.
    pub fn open() -> std::io::Result<DaemonLine> {
        WorkerPipe::stdin_stdout().map(DaemonLine)
    }

    /// What the daemon says next. Safe to drop while it waits.
    pub async fn next(&mut self) -> Told {
        match self.0.next().await {
            WorkerCommand::Run(grant) => Told::Run(grant),
            WorkerCommand::Leave { grace_ms } => Told::Leave { grace_ms },
            WorkerCommand::DaemonGone => Told::DaemonGone,
        }
    }

    /// For telling the daemon.
    pub fn reports(&self) -> Reports {
        Reports(self.0.reports())
    }
}

/// What a worker tells its daemon. It only helps the daemon to choose, and may get lost.
#[derive(Clone)]
pub struct Reports(WorkerReports);

impl Reports {
    /// Runs may come.
    pub fn ready(&self) {
        self.0.report_ready();
    }

    /// A run is over, and these Sessions have their environments here.
    pub fn ended(&self, session: &str, generation: u64, holds: Vec<String>) {
        self.0.report_ended(session, generation);
        self.0.report_holds(holds);
    }

    /// Waits until everything said has left.
    pub async fn flush(&self) {
        self.0.flush().await;
    }
}
