//! Artifacts: immutable output files of Turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::object_name;

object_name!(
    ArtifactObject = "agent.session.artifact",
    ArtifactDeletedObject = "agent.session.artifact.deleted",
);

/// One output file of one Turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionArtifact {
    /// `artf_…`
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// The environment it was in.
    pub environment_id: String,
    /// Always `agent.session.artifact`.
    pub object: ArtifactObject,
    /// Where it was; with `turn_id` it tells versions apart.
    pub path: String,
    /// Its Session.
    pub session_id: String,
    /// Exact length.
    pub size_bytes: u64,
    /// The Turn that published it.
    pub turn_id: String,
}

/// The answer to deleting an Artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionArtifactDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `agent.session.artifact.deleted`.
    pub object: ArtifactDeletedObject,
}

impl SessionArtifactDeleted {
    /// The answer for this Artifact.
    pub fn of(id: impl Into<String>) -> SessionArtifactDeleted {
        SessionArtifactDeleted {
            id: id.into(),
            deleted: true,
            object: ArtifactDeletedObject::Only,
        }
    }
}

impl HasId for SessionArtifact {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
