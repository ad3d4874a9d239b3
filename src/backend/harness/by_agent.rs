//! A harness for each Agent: the one that it names, or the one that the profile names.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{HarnessChoice, SessionAgent, TurnErrorCode};
use crate::engine::ports::{Harness, TurnEnd, TurnLink, TurnTask};

/// Both harnesses of a worker. Neither opens anything before its first Turn.
pub struct ByAgent {
    /// Of Agents that name none.
    pub usual: HarnessChoice,
    /// Our own loop.
    pub responses: Arc<dyn Harness>,
    /// Codex, or why this worker can have none: the words of the Turn's error.
    pub codex: Result<Arc<dyn Harness>, String>,
}

impl ByAgent {
    /// The harness of this Agent, or why there is none.
    fn of(&self, agent: &SessionAgent) -> Result<&Arc<dyn Harness>, &String> {
        match agent.harness.unwrap_or(self.usual) {
            HarnessChoice::Responses => Ok(&self.responses),
            HarnessChoice::Codex => self.codex.as_ref(),
        }
    }
}

#[async_trait]
impl Harness for ByAgent {
    async fn run(&self, task: TurnTask, link: TurnLink) -> TurnEnd {
        match self.of(&task.agent) {
            Ok(harness) => harness.run(task, link).await,
            Err(why) => TurnEnd::Failed {
                code: TurnErrorCode::InternalError.to_string(),
                message: why.clone(),
            },
        }
    }

    fn name(&self) -> &'static str {
        match self.usual {
            HarnessChoice::Responses => self.responses.name(),
            HarnessChoice::Codex => "codex",
        }
    }

    fn keeps_checkpoints(&self, agent: &SessionAgent) -> bool {
        self.of(agent)
            .is_ok_and(|harness| harness.keeps_checkpoints(agent))
    }

    fn useful_past_bytes(&self) -> usize {
        let codex = self.codex.as_ref().ok();
        let codex_bytes = codex.map_or(0, |codex| codex.useful_past_bytes());
        self.responses.useful_past_bytes().max(codex_bytes)
    }
}
