//! Where a profile's Sessions live, for commands that do not care where: the store of this machine, or a server.

use std::ops::Deref;
use std::sync::Arc;

use super::Context;
use super::compose::{self, Local};
use super::config::Settings;
use super::daemon;
use super::out::CliError;
use crate::engine::ids::SessionId;
use crate::engine::operating::{Operating, process_of};
use crate::engine::ports::{Deployment, Operator};

/// See the module. It is the deployment itself, and knows whether somebody has to work here on what it accepted.
pub struct Deployed {
    deployment: Arc<dyn Deployment>,
    local: Option<Local>,
}

impl Deref for Deployed {
    type Target = dyn Deployment;

    fn deref(&self) -> &Self::Target {
        &*self.deployment
    }
}

impl Deployed {
    /// The engine in this process.
    pub fn here(local: Local) -> Deployed {
        Deployed {
            deployment: Arc::new(local.deployment()),
            local: Some(local),
        }
    }

    /// A server somewhere.
    pub fn elsewhere(deployment: Box<dyn Deployment>) -> Deployed {
        Deployed {
            deployment: Arc::from(deployment),
            local: None,
        }
    }

    /// The port, for who keeps it.
    pub fn port(&self) -> Arc<dyn Deployment> {
        Arc::clone(&self.deployment)
    }

    /// What only who has the records at hand may see and settle; `None`: they are somewhere else.
    pub fn operator(&self, settings: &Settings) -> Option<Arc<dyn Operator>> {
        let local = self.local.as_ref()?;
        let (core, owner) = (local.core.clone(), local.owner.clone());
        // Without them everything but files is told all the same.
        let environments = compose::environments(settings, &local.places).ok();
        let operating = Operating::new(core, owner, compose::is_alive);
        Some(Arc::new(operating.with_environments(environments)))
    }

    /// The engine in this process, if it is here.
    pub fn local(&self) -> Option<&Local> {
        self.local.as_ref()
    }

    /// Makes sure that somebody works on what was accepted, where that is up to this machine.
    pub async fn ensure_daemon(&self, context: &mut Context) {
        if let Some(local) = &self.local {
            daemon::ensure(context, &local.places).await;
        }
    }

    /// The command that says more of a Session.
    pub fn look_into(&self, session: &str) -> String {
        match self.local {
            Some(_) => format!("rat-things sessions explain {session}"),
            None => format!("rat-things sessions get {session}"),
        }
    }

    /// Whether anybody works on a Session now. What can't be seen from here is taken to be so.
    pub async fn is_worked_on(&self, settings: &Settings, session: &str) -> Result<bool, CliError> {
        let (Some(local), Some(id)) = (&self.local, SessionId::parse(session)) else {
            return Ok(true);
        };
        let loaded = local.core.load_owned(&local.owner, &id).await?;
        let lease = loaded.head.fence.lease.as_ref();
        if lease.is_some_and(|lease| compose::is_on_machine(&lease.execution)) {
            return Ok(true);
        }
        let worker = lease.and_then(|lease| compose::is_alive(process_of(&lease.execution.0)));
        Ok(worker == Some(true) || daemon::serving(settings, &local.places).is_some())
    }
}
