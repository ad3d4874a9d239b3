//! A harness at work: a task of its own, which never outlives the Run that drives it.

use tokio::task::JoinHandle;

use super::ports::TurnEnd;

/// The harness's task; it ends with the Run, however the Run ends.
pub(super) struct Driven(JoinHandle<TurnEnd>);

impl Driven {
    /// Starts it.
    pub(super) fn start(work: impl Future<Output = TurnEnd> + Send + 'static) -> Driven {
        Driven(tokio::spawn(work))
    }

    /// How it ended, once it did.
    pub(super) async fn join(&mut self) -> TurnEnd {
        (&mut self.0).await.unwrap_or_else(|error| TurnEnd::Failed {
            code: "internal_error".into(),
            message: format!("the harness ended unexpectedly: {error}"),
        })
    }

    /// Ends the task if it still goes on, and waits until it is gone.
    pub(super) async fn stop(&mut self) {
        if !self.0.is_finished() {
            self.0.abort();
            let _ = (&mut self.0).await;
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.abort();
    }
}
