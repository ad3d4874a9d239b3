//! Environments as resources: what one is, and the files of its workspace as they are now.

use super::chores::scope_of;
use super::core::{Core, decode};
use super::error::EngineError;
use super::ids::{self, Kind, SessionId};
use super::keys;
use super::ports::{Environments, FilesQuery, Key, WorkspaceError, WorkspaceFiles};
use super::read::SessionRead;
use super::start_files::{MAX_COPIED_BYTES, StartFile, inline_bytes};
use crate::api::{
    EnvironmentFile, EnvironmentFileObject, EnvironmentInfo, EnvironmentKind, EnvironmentObject,
    EnvironmentStatus, HostedFileParam,
};

impl Core {
    /// The Session whose environment this is.
    ///
    /// # Errors
    /// [`EngineError::NotFound`] if the owner has no such environment.
    pub async fn environment_session(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<SessionRead, EngineError> {
        let missing = || EngineError::not_found("environment", id);
        if !ids::well_formed(Kind::Environment, id) {
            return Err(missing());
        }
        let key = Key::new(keys::owner_partition(owner), keys::environment(id));
        let record = self.store.get(&key).await?.ok_or_else(missing)?;
        let session: SessionId = decode(&record)?;
        match self.read_session(owner, &session).await {
            Err(EngineError::NotFound { .. }) => Err(missing()),
            other => other,
        }
    }

    /// The same for one that has not expired.
    async fn live_environment(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        match self.environment_session(owner, id).await?.head.expiry {
            None => Ok(()),
            Some(expiry) => Err(EngineError::Conflict(format!(
                "{}; its files are gone",
                expiry.words()
            ))),
        }
    }

    /// An environment: its state and what was put there.
    pub async fn environment_info(
        &self,
        owner: &str,
        id: &str,
    ) -> Result<EnvironmentInfo, EngineError> {
        let read = self.environment_session(owner, id).await?;
        let status = read.head.environment_status;
        Ok(EnvironmentInfo {
            id: id.to_owned(),
            files: read.config.files.iter().map(StartFile::shown).collect(),
            object: EnvironmentObject::Only,
            plugins: Vec::new(),
            skills: Vec::new(),
            status: status.unwrap_or(EnvironmentStatus::Pending),
            kind: EnvironmentKind::OpenaiHosted,
        })
    }

    /// Files in an environment's workspace.
    ///
    /// # Errors
    /// [`EngineError::Conflict`] when the environment is not there (yet), or not any more.
    pub async fn environment_files(
        &self,
        environments: &dyn Environments,
        owner: &str,
        id: &str,
        query: &FilesQuery,
    ) -> Result<WorkspaceFiles, EngineError> {
        self.live_environment(owner, id).await?;
        Ok(environments.list_files(id, query).await?)
    }

    /// Puts a file into an environment's workspace, in place of one that is there.
    ///
    /// # Errors
    /// As [`Core::environment_files`]; [`EngineError::Invalid`] when something else than a file is there.
    pub async fn put_environment_file(
        &self,
        environments: &dyn Environments,
        owner: &str,
        id: &str,
        file: &HostedFileParam,
    ) -> Result<EnvironmentFile, EngineError> {
        self.live_environment(owner, id).await?;
        let (path, put) = match file {
            HostedFileParam::Inline { data, path } => {
                let bytes = inline_bytes("", data.reveal())?;
                let limit_bytes = bytes.len() as u64;
                let content = Box::new(std::io::Cursor::new(bytes));
                (path, environments.put_file(id, path, content, limit_bytes))
            }
            HostedFileParam::FileId { file_id, path } => {
                let blob = self.file_to_copy(owner, "", file_id).await?;
                let scope = scope_of(owner, file_id);
                let content = self.blobs.open(&scope, &blob, 0).await?;
                (
                    path,
                    environments.put_file(id, path, content, MAX_COPIED_BYTES),
                )
            }
        };
        let size_bytes = put.await?;
        Ok(EnvironmentFile {
            environment_id: id.to_owned(),
            object: EnvironmentFileObject::Only,
            path: path.clone(),
            size_bytes,
        })
    }
}

impl From<WorkspaceError> for EngineError {
    fn from(error: WorkspaceError) -> Self {
        match error {
            WorkspaceError::Missing(_) => EngineError::Conflict(
                "the environment is not there; it is made before its first command runs".to_owned(),
            ),
            WorkspaceError::Path(message) | WorkspaceError::TooMuch(message) => {
                EngineError::invalid("path", message)
            }
            WorkspaceError::Source(_) | WorkspaceError::Failed(_) => {
                EngineError::Unavailable(error.to_string())
            }
        }
    }
}
