//! Uploaded files: bytes that a client keeps here and names by id elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::page::HasId;
use crate::api::words::{object_name, words};

object_name!(FileObjectName = "file");

/// An uploaded file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileObject {
    /// `file_…`
    pub id: String,
    /// Exact length.
    pub bytes: u64,
    /// Unix seconds.
    pub created_at: u64,
    /// As the client called it.
    pub filename: String,
    /// Always `file`.
    pub object: FileObjectName,
    /// What for.
    pub purpose: FilePurpose,
    /// Always processed: nothing is done with it but keeping it.
    pub status: FileStatus,
    /// From then on it does not exist. Unix seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Why its status is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_details: Option<String>,
}

/// The answer to deleting a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `file`.
    pub object: FileObjectName,
}

impl FileDeleted {
    /// The answer for this file.
    pub fn of(id: impl Into<String>) -> FileDeleted {
        FileDeleted {
            id: id.into(),
            deleted: true,
            object: FileObjectName::Only,
        }
    }
}

impl HasId for FileObject {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

words! {
    /// What an uploaded file is for. What only servers make can't be uploaded.
    pub enum FilePurpose {
        /// For assistants.
        Assistants = "assistants",
        /// Made by assistants.
        AssistantsOutput = "assistants_output",
        /// Input of a batch.
        Batch = "batch",
        /// Made by a batch.
        BatchOutput = "batch_output",
        /// Examples to learn from.
        FineTune = "fine-tune",
        /// Made by learning.
        FineTuneResults = "fine-tune-results",
        /// Images.
        Vision = "vision",
        /// Whatever the client needs, such as a file to put into an environment.
        UserData = "user_data",
        /// For evaluations.
        Evals = "evals",
    }

    /// What became of an uploaded file.
    pub enum FileStatus {
        /// It is there.
        Uploaded = "uploaded",
        /// It is there, and can be used.
        Processed = "processed",
        /// It can't be used.
        Error = "error",
    }
}

impl FilePurpose {
    /// Whether a client may upload a file for this.
    pub fn is_for_clients(self) -> bool {
        match self {
            FilePurpose::AssistantsOutput
            | FilePurpose::BatchOutput
            | FilePurpose::FineTuneResults => false,
            FilePurpose::Assistants
            | FilePurpose::Batch
            | FilePurpose::FineTune
            | FilePurpose::Vision
            | FilePurpose::UserData
            | FilePurpose::Evals => true,
        }
    }
}
