//! What others do to the head while a Turn is worked on, on its way to the harness: cancels, and messages.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::ports::{Signal, Steer};
use super::run::{Live, Stop};
use super::work::Desk;

/// A cancelled harness that has not ended by then is ended, with everything in its environment.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

impl Live {
    /// Passes on what others did to the head meanwhile: cancels, and steers (claimed before they are handed over).
    pub(super) async fn look_at_head(&mut self, desk: &mut Desk) -> Result<(), Stop> {
        let Some(turn) = self.loaded.head.turn.clone() else {
            return Ok(());
        };
        if turn.cancel.is_some() {
            raise(&desk.signal, Signal::Cancel);
            desk.force_at
                .get_or_insert_with(|| Instant::now() + CANCEL_PATIENCE);
            return Ok(());
        }
        let generation = self.grant.generation;
        let fresh = |p: &&super::session::Pending| p.turn == turn.number && p.claimed != generation;
        let steers: Vec<u64> = self
            .loaded
            .head
            .pending
            .iter()
            .filter(fresh)
            .map(|p| p.input)
            .collect();
        if steers.is_empty() {
            return self.hand_over_answers(desk).await;
        }
        self.change(|draft| {
            for pending in draft
                .head
                .pending
                .iter_mut()
                .filter(|p| steers.contains(&p.input))
            {
                pending.claimed = generation;
            }
            Ok(())
        })
        .await?;
        let feeds = self.feeds(&steers).await?;
        let histories = &self.worker.histories;
        histories.handed_over(&self.session, &self.loaded.head, &feeds);
        for feed in feeds {
            // A harness that is done takes nothing more: the steer stays pending and becomes the next Turn.
            let _ = desk.steer.try_send(Steer::Message(feed));
        }
        self.hand_over_answers(desk).await
    }
}

/// Raises the signal, never lowers it.
pub(super) fn raise(signal: &watch::Sender<Signal>, to: Signal) {
    signal.send_if_modified(|now| {
        let raised = *now < to;
        *now = (*now).max(to);
        raised
    });
}
