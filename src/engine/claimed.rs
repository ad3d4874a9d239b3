//! Effects of one Turn in a worker's hands: each is recorded as claimed before it happens, and so is its end.

use tokio::sync::oneshot;

use super::item::{CallState, Delegation, ItemBody, ItemRow, Told};
use super::observe::Op;
use super::ports::{Claim, Fenced, ToolEnd};
use super::run::{Live, Stop};
use super::subagents::call_body;
use super::work::Desk;

/// Words before a command's output that its row holds beside it.
const TOLD_FIRST_BYTES: usize = 1_000;

impl Live {
    /// Records an effect as claimed, with everything seen before it, and only then lets it happen (I6).
    pub(super) async fn claim_effect(
        &mut self,
        desk: &mut Desk,
        claim: Claim,
        delegates: Option<Box<Delegation>>,
        answer: oneshot::Sender<Result<(), Fenced>>,
    ) -> Result<(), Stop> {
        let arguments = self.keep(claim.arguments.clone().into()).await?;
        desk.ops.push(Op::Began {
            claim: claim.clone(),
            arguments: arguments.clone(),
            delegates: delegates.clone(),
        });
        let Some(placed) = self.flush(desk).await? else {
            return Ok(());
        };
        let call_id = claim.call_id.clone();
        let body = call_body(claim, arguments, delegates);
        let row = ItemRow {
            turn: placed.turn,
            output_index: placed.output_index,
            at_ms: placed.at_ms,
            body,
        };
        desk.calls.insert(call_id, (placed.item, row));
        // A harness that is gone does not run the effect; the call stays claimed and ends as unknown.
        let _ = answer.send(Ok(()));
        Ok(())
    }

    /// A claimed call ended: its final row, with its large bodies stored.
    pub(super) async fn tool_ended(
        &self,
        desk: &mut Desk,
        call_id: &str,
        end: ToolEnd,
        output: String,
    ) -> Result<Option<Op>, Stop> {
        let Some((number, mut row)) = desk.calls.remove(call_id) else {
            tracing::warn!(session = %self.session, call_id, "a call ended that was never claimed");
            return Ok(None);
        };
        let told = match output.strip_suffix(&end.output) {
            Some("") => None,
            Some(first) if first.len() <= TOLD_FIRST_BYTES => Some(Told::Before(first.to_owned())),
            Some(_) | None => Some(Told::Instead(self.keep(output.into()).await?)),
        };
        let ended = CallState::Done {
            status: end.status,
            exit_code: end.exit_code,
            output: self.keep(end.output.into()).await?,
            told,
            duration_ms: end.duration_ms,
        };
        if let ItemBody::Call { state, .. } = &mut row.body {
            *state = ended;
        }
        Ok(Some(Op::Ended(number, Box::new(row))))
    }
}
