//! An Artifact: immutable bytes of one output file of one Turn.
//!
//! A deleted one leaves its row behind, empty (JSON `null`): its Turn, which never changes again, goes on counting it. Its bytes go
//! later, when no row of the Session names them: the same bytes of another Turn are stored once.

use serde::{Deserialize, Serialize};

use super::chores::Chore;
use super::core::Core;
use super::error::EngineError;
use super::ids::SessionId;
use super::keys;
use super::ports::{BlobRef, Guard};
use super::read::artifact_number;

/// Bytes of a deleted Artifact are kept this long: a Turn that stores the same bytes just now has named them long before.
pub(super) const KEPT_MS: u64 = 2 * 3_600_000;

/// Row `artifact/<turn>/<n>`. It may exist before its Turn ends; it is visible once the Turn's row counts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRow {
    /// Absolute path as the agent saw it.
    pub path: String,
    /// Its bytes.
    pub blob: BlobRef,
    /// The environment it was made in.
    pub environment: String,
    /// Captured at. Unix ms.
    pub at_ms: u64,
}

/// The number in an Artifact's id: Turn and position.
pub fn id_number(turn: u64, n: u64) -> u64 {
    (turn << 16) | n
}

/// Turn and position of an Artifact's id number.
pub fn of_id_number(number: u64) -> (u64, u64) {
    (number >> 16, number & 0xffff)
}

impl Core {
    /// Deletes an Artifact: it is gone once this answers. Neither the file in the environment nor an uploaded file is touched.
    pub async fn delete_artifact(
        &self,
        owner: &str,
        session: &SessionId,
        id: &str,
    ) -> Result<(), EngineError> {
        let read = self.read_session(owner, session).await?;
        let (turn, n) = artifact_number(session, id)?;
        // A published Artifact never changes, but to be deleted; who deletes it twice at once finds the same bytes named by nobody.
        let (_, row) = self.get_artifact(&read, id).await?;
        let sha256 = row.blob.sha256;
        let name = format!("{session}.{sha256}");
        let chore = Chore::Blob {
            session: session.clone(),
            sha256,
        };
        let due_ms = self.clock.now_ms() + KEPT_MS;
        let chore = self.chore(owner, &name, due_ms, &chore);
        self.amend(owner, session, |draft, _| {
            draft.put(keys::artifact(turn, n), &None::<ArtifactRow>);
            draft.write(chore.key.clone(), Guard::Any, chore.change.clone());
            Ok(())
        })
        .await
    }
}
