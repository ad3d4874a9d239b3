//! What the screens beside the list and the transcript read: asked for as data, read in one place.

use crate::api::Agent;
use crate::engine::ports::{Deployment, Told};
use crate::engine::read::ListQuery;

/// Saved Agents that can be chosen from.
const AGENTS: usize = 100;

/// What is read; a newer request replaces an older one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadAsk {
    /// The newest saved Agents.
    Agents,
}

/// What was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Saved Agents, newest first, and whether there are more.
    Agents(Vec<Agent>, bool),
}

/// Reads it.
///
/// # Errors
/// As the deployment says.
pub async fn read(of: &dyn Deployment, ask: ReadAsk) -> Told<Seen> {
    match ask {
        ReadAsk::Agents => {
            let query = ListQuery {
                limit: AGENTS,
                after: None,
                ascending: false,
            };
            let page = of.list_agents(&query).await?;
            Ok(Seen::Agents(page.data, page.has_more))
        }
    }
}
