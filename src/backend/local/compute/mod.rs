//! Where runs execute on this machine: in worker processes ([`ProcessCompute`]), or as tasks of this process
//! ([`InProcessCompute`]).
//!
//! Both name an execution by a process's identity, so each can inspect and stop what the other, or an earlier daemon, started.
//! Neither adopts workers of an earlier life: those finish what they run under the lease they have, and leave.

mod in_process;
mod log;
mod pool;
mod process;
mod protocol;
mod worker;
mod worker_pipe;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::mpsc;

pub use self::in_process::{InProcessCompute, RunWork};
pub use self::pool::Load;
pub use self::process::{ProcessCompute, ProcessComputeConfig};
pub use self::worker::WorkerCommandLine;
pub use self::worker_pipe::{WorkerCommand, WorkerPipe, WorkerReports};
use crate::backend::local::process::ProcessIdentity;
use crate::engine::ports::{ComputeError, ExecutionId, Liveness};

/// Between a process's identity and the number of a task in it.
const NUMBER_SIGN: char = '#';

/// How long a killed process may take to be gone. Only one that is stuck in the kernel takes longer.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// The process an execution is in; `None` if the name is none of ours.
fn process_of(execution: &ExecutionId) -> Option<ProcessIdentity> {
    let name = match execution.0.split_once(NUMBER_SIGN) {
        Some((process, number)) => {
            number.parse::<u64>().ok()?;
            process
        }
        None => &execution.0,
    };
    ProcessIdentity::parse(name)
}

fn inspect_process(execution: &ExecutionId) -> Liveness {
    process_of(execution).map_or(Liveness::Unknown, |process| process.inspect())
}

/// Ends the process of an execution and waits until it is gone.
async fn end_process(execution: &ExecutionId, grace: Duration) -> Result<(), ComputeError> {
    let process = process_of(execution).ok_or_else(|| {
        ComputeError::Unknown(format!("{execution} names no process of this machine"))
    })?;
    if ProcessIdentity::current().is_ok_and(|me| me == process) {
        let why = format!("{execution} is in this very process, which does not end itself");
        return Err(ComputeError::Unknown(why));
    }
    let ended = tokio::task::spawn_blocking(move || process.end(grace, KILL_PATIENCE)).await;
    match ended {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ComputeError::Unknown(error.to_string())),
        Err(error) => Err(ComputeError::Unknown(error.to_string())),
    }
}

/// Those who want to know when executions end.
#[derive(Default)]
struct Deaths(Mutex<Vec<mpsc::UnboundedSender<ExecutionId>>>);

impl Deaths {
    fn listen(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        let (to, notices) = mpsc::unbounded_channel();
        self.all().push(to);
        notices
    }

    fn tell(&self, name: &ExecutionId) {
        self.all().retain(|to| to.send(name.clone()).is_ok());
    }

    fn all(&self) -> MutexGuard<'_, Vec<mpsc::UnboundedSender<ExecutionId>>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}
