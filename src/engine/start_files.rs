//! Files that an environment has from its beginning, and again when it had to be made anew.
//!
//! Their bytes are copied into the Session when it is created: what happens to an uploaded file or to a template afterwards changes
//! nothing. They are put into the workspace when it is opened, before any command runs there, and the workspace itself remembers that
//! it was done. A crash in between has them put again, over what was put.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::chores::scope_of;
use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind};
use super::ports::{BlobRef, BlobScope, BlobSource, Blobs, EnvironmentError, Environments};
use crate::api::{FilePurpose, HostedFile, HostedFileParam};

/// One uploaded file that is copied into an environment at most.
pub const MAX_COPIED_BYTES: u64 = 50 << 20;

/// A file that a Session's environment has from its beginning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFile {
    /// `cfile_…`
    pub id: String,
    /// Absolute, below `/workspace`.
    pub path: String,
    /// The uploaded file that it was copied from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// Its bytes, in the Session's scope.
    pub blob: BlobRef,
}

impl StartFile {
    /// As a Session and an environment show it.
    pub fn shown(&self) -> HostedFile {
        let (id, path) = (self.id.clone(), self.path.clone());
        let size_bytes = self.blob.size_bytes;
        match self.file_id.clone() {
            Some(file_id) => HostedFile::FileId {
                id,
                file_id,
                path,
                size_bytes,
            },
            None => HostedFile::Inline {
                id,
                path,
                size_bytes,
            },
        }
    }
}

/// A file that is asked for, and where its bytes are now.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) path: String,
    pub(super) file_id: Option<String>,
    pub(super) from: From,
}

/// Where bytes are.
#[derive(Clone, Debug)]
pub(super) enum From {
    /// In memory.
    Bytes(Bytes),
    /// Stored somewhere else.
    Stored(BlobScope, BlobRef),
}

impl Core {
    /// What a request's file is. `param` is its place in the request.
    ///
    /// # Errors
    /// An uploaded file is not found, is too large, or was uploaded for something else.
    pub(super) async fn wanted_file(
        &self,
        owner: &str,
        param: &str,
        file: &HostedFileParam,
    ) -> Result<Wanted, EngineError> {
        match file {
            HostedFileParam::FileId { file_id, path } => {
                let blob = self.file_to_copy(owner, param, file_id).await?;
                Ok(Wanted {
                    path: path.clone(),
                    file_id: Some(file_id.clone()),
                    from: From::Stored(scope_of(owner, file_id), blob),
                })
            }
            HostedFileParam::Inline { data, path } => Ok(Wanted {
                path: path.clone(),
                file_id: None,
                from: From::Bytes(inline_bytes(param, data.reveal())?),
            }),
        }
    }

    /// The bytes of an uploaded file that may be copied into an environment.
    pub(super) async fn file_to_copy(
        &self,
        owner: &str,
        param: &str,
        file_id: &str,
    ) -> Result<BlobRef, EngineError> {
        let (_, row) = self.file(owner, file_id).await?;
        let param = format!("{param}file_id");
        if row.purpose != FilePurpose::UserData {
            let message = format!("{param} must be a file with purpose user_data");
            return Err(EngineError::invalid(&param, message));
        }
        if row.blob.size_bytes > MAX_COPIED_BYTES {
            let message = format!("{param} is larger than {MAX_COPIED_BYTES} bytes");
            return Err(EngineError::invalid(&param, message));
        }
        Ok(row.blob)
    }

    /// Stores the bytes of a file in a scope.
    pub(super) async fn copy_bytes(
        &self,
        scope: &BlobScope,
        from: &From,
    ) -> Result<BlobRef, EngineError> {
        let source = match from {
            From::Bytes(bytes) => BlobSource::Bytes(bytes.clone()),
            From::Stored(there, blob) => BlobSource::Stream {
                from: self.blobs.open(there, blob, 0).await?,
                limit_bytes: blob.size_bytes,
            },
        };
        Ok(self.blobs.put(scope, source).await?)
    }

    /// Stores the bytes of all of them in a Session's scope.
    pub(super) async fn keep_files(
        &self,
        scope: &BlobScope,
        wanted: &[Wanted],
    ) -> Result<Vec<StartFile>, EngineError> {
        let mut kept = Vec::with_capacity(wanted.len());
        for file in wanted {
            kept.push(StartFile {
                id: ids::random(Kind::EnvironmentFile, &*self.ids),
                path: file.path.clone(),
                file_id: file.file_id.clone(),
                blob: self.copy_bytes(scope, &file.from).await?,
            });
        }
        Ok(kept)
    }
}

/// The content of an inline file.
pub fn inline_bytes(param: &str, data: &str) -> Result<Bytes, EngineError> {
    let bytes = STANDARD.decode(data);
    bytes.map(Bytes::from).map_err(|_| {
        let param = format!("{param}data");
        let message = format!("{param} must be a standard-base64 string");
        EngineError::invalid(&param, message)
    })
}

/// The files of one Session, on their way into its workspace.
pub(super) struct Placing {
    pub(super) files: Vec<StartFile>,
    pub(super) scope: BlobScope,
    pub(super) blobs: Arc<dyn Blobs>,
}

impl Placing {
    /// Puts them into the workspace, unless that was done since it was made.
    pub(super) async fn place(
        &self,
        environments: &dyn Environments,
        id: &str,
        created: bool,
    ) -> Result<(), EnvironmentError> {
        if self.files.is_empty() || (!created && environments.is_furnished(id).await) {
            return Ok(());
        }
        for StartFile { path, blob, .. } in &self.files {
            let opened = self.blobs.open(&self.scope, blob, 0).await;
            let content = opened.map_err(|error| cannot(path, &error))?;
            let put = environments.put_file(id, path, content, blob.size_bytes);
            put.await.map_err(|error| cannot(path, &error))?;
        }
        let furnished = environments.set_furnished(id).await;
        furnished.map_err(|error| EnvironmentError::Failed(error.to_string()))
    }
}

fn cannot(path: &str, error: &dyn std::fmt::Display) -> EnvironmentError {
    EnvironmentError::Failed(format!("{path} can't be put there: {error}"))
}
