//! A model for the real harness: the demo model, behind a line that stalls, breaks off and asks to come back later.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use rat_things::backend::model::demo::DemoModel;
use rat_things::engine::ports::{Model, ModelError, ModelRequest, ModelStream};

use super::faults::Fault;
use super::life::Life;

/// The model as one worker has it.
pub struct SimModel {
    /// Whose.
    pub life: Arc<Life>,
}

fn trouble(code: &str, retryable: bool, retry_after_ms: Option<u64>) -> ModelError {
    ModelError {
        code: code.into(),
        message: "by chance".into(),
        retryable,
        retry_after_ms,
    }
}

#[async_trait]
impl Model for SimModel {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.life.instant("model").await;
        let shared = &self.life.shared;
        shared.count("model calls");
        let faults = [
            Fault::ModelFails,
            Fault::ModelBusy,
            Fault::ModelStalls,
            Fault::ModelBreaks,
        ];
        let mut breaks_after = u64::MAX;
        match shared.one_of(&faults) {
            None => {}
            Some(Fault::ModelFails) => return Err(trouble("authentication_error", false, None)),
            Some(Fault::ModelBusy) => {
                let after_ms = 500 + shared.below(4_000);
                return Err(trouble("rate_limit_exceeded", true, Some(after_ms)));
            }
            Some(Fault::ModelStalls) => tokio::time::sleep(Duration::from_secs(40)).await,
            Some(_) => breaks_after = shared.below(4),
        }
        let stream = DemoModel.call(request).await?;
        let (life, mut events) = (Arc::clone(&self.life), 0);
        let watched = stream.then(move |event| {
            events += 1;
            let (life, broken) = (Arc::clone(&life), events > breaks_after);
            async move {
                tokio::time::sleep(Duration::from_millis(life.shared.below(40))).await;
                life.instant("model event").await;
                match broken {
                    true => Err(trouble("server_overloaded", true, None)),
                    false => event,
                }
            }
        });
        Ok(watched.boxed())
    }

    fn name(&self) -> String {
        "simulated".into()
    }
}
