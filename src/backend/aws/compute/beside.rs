//! Workers of one account that are not all of one kind: machines, and processes of this host. Each execution is asked about where it is, and
//! new ones begin where the profile says.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::ec2::Ec2Compute;
use super::names::is_machine;
use crate::engine::ports::{Compute, ComputeError, ExecutionId, Liveness, Machine, RunGrant};

/// See the module. Cheap to clone.
#[derive(Clone)]
pub struct Beside {
    machines: Ec2Compute,
    processes: Arc<dyn Compute>,
    launch_machines: bool,
}

impl Beside {
    /// New workers are machines, or processes of this host.
    pub fn new(machines: Ec2Compute, processes: Arc<dyn Compute>, launch_machines: bool) -> Beside {
        Beside {
            machines,
            processes,
            launch_machines,
        }
    }

    fn of(&self, machine: bool) -> &dyn Compute {
        match machine {
            true => &self.machines,
            false => &*self.processes,
        }
    }
}

#[async_trait]
impl Compute for Beside {
    async fn reserve(
        &self,
        session: &str,
        last: Option<&ExecutionId>,
    ) -> Result<ExecutionId, ComputeError> {
        self.of(self.launch_machines).reserve(session, last).await
    }

    async fn launch(&self, grant: &RunGrant) -> Result<(), ComputeError> {
        self.of(is_machine(&grant.execution)).launch(grant).await
    }

    async fn inspect(&self, execution: &ExecutionId) -> Liveness {
        self.of(is_machine(execution)).inspect(execution).await
    }

    async fn stop(&self, execution: &ExecutionId) -> Result<(), ComputeError> {
        self.of(is_machine(execution)).stop(execution).await
    }

    fn deaths(&self) -> mpsc::UnboundedReceiver<ExecutionId> {
        // Of machines nobody gives notice: whoever watches one inspects it.
        self.processes.deaths()
    }

    fn starting_ms(&self, execution: &ExecutionId) -> u64 {
        self.of(is_machine(execution)).starting_ms(execution)
    }

    async fn machines(&self) -> Result<Vec<Machine>, ComputeError> {
        self.machines.machines().await
    }
}
