//! Uploaded files: bytes first, then the record that names them; on deletion the record first, then the bytes.
//!
//! Each file's bytes have a scope of their own, named by its id, so that nothing is shared and erasing one file is erasing a scope.
//! An expired file is gone for every reader at once, whoever erases it when.

use serde::{Deserialize, Serialize};
use tokio::io::AsyncRead;

use super::chores::{Chore, Promise, scope_of};
use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind};
use super::owned::{Collection, Found};
use super::ports::{BlobError, BlobRef, BlobSource, Change, Key, Write};
use super::read::ListQuery;
use crate::api::{FileObject, FileObjectName, FilePurpose, FileStatus, Page};

/// One file at most.
pub const MAX_FILE_BYTES: u64 = 512 << 20;
/// Files for a batch expire after this, unless something else is asked for.
const BATCH_LIFETIME_S: u64 = 30 * 24 * 3_600;

/// An owner's files.
pub fn collection() -> Collection {
    Collection::new("file", Kind::File, "file".into(), "files".into())
}

/// Row of an uploaded file. It never changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRow {
    /// As the client called it.
    pub filename: String,
    /// What for.
    pub purpose: FilePurpose,
    /// Its bytes, in the scope that its id names.
    pub blob: BlobRef,
    /// Unix ms.
    pub created_ms: u64,
    /// Unix ms; `None`: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
}

impl FileRow {
    fn is_expired(&self, now_ms: u64) -> bool {
        self.expires_ms.is_some_and(|expires| expires <= now_ms)
    }

    fn shown(&self, id: String) -> FileObject {
        FileObject {
            id,
            bytes: self.blob.size_bytes,
            created_at: self.created_ms / 1000,
            filename: self.filename.clone(),
            object: FileObjectName::Only,
            purpose: self.purpose,
            status: FileStatus::Processed,
            expires_at: self.expires_ms.map(|ms| ms / 1000),
            status_details: None,
        }
    }
}

/// What a client says about the bytes that it uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// As the client calls it.
    pub filename: String,
    /// What for.
    pub purpose: FilePurpose,
    /// Seconds from now; `None`: as the purpose has it.
    pub expires_after_s: Option<u64>,
}

/// A file whose bytes are on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    id: String,
    promise: Promise,
}

impl Core {
    /// Begins an upload. It must end, well or not, within a day.
    pub async fn begin_upload(&self, owner: &str) -> Result<Upload, EngineError> {
        let id = ids::random(Kind::File, &*self.ids);
        let promise = self.promise(owner, &id).await?;
        Ok(Upload { id, promise })
    }

    /// Stores the bytes of an upload, at most `limit_bytes`.
    ///
    /// # Errors
    /// As [`crate::engine::ports::Blobs::put`].
    pub async fn upload_bytes(
        &self,
        upload: &Upload,
        from: Box<dyn AsyncRead + Send + Unpin>,
        limit_bytes: u64,
    ) -> Result<BlobRef, BlobError> {
        let source = BlobSource::Stream { from, limit_bytes };
        self.blobs.put(upload.promise.scope(), source).await
    }

    /// Makes a file of the bytes that were stored.
    pub async fn end_upload(
        &self,
        owner: &str,
        upload: &Upload,
        blob: BlobRef,
        file: NewFile,
    ) -> Result<FileObject, EngineError> {
        let now_ms = self.clock.now_ms();
        let lifetime_s = match file.purpose {
            FilePurpose::Batch => file.expires_after_s.or(Some(BATCH_LIFETIME_S)),
            _ => file.expires_after_s,
        };
        let row = FileRow {
            filename: file.filename,
            purpose: file.purpose,
            blob,
            created_ms: now_ms,
            // Told in whole seconds, so it is one.
            expires_ms: lifetime_s.map(|s| (now_ms / 1000).saturating_add(s) * 1000),
        };
        let of = collection();
        let mut writes = vec![upload.promise.redeemed()];
        writes.extend(self.add_owned(owner, &of, (&upload.id, now_ms), &row));
        if let Some(expires_ms) = row.expires_ms {
            writes.push(self.chore(owner, &upload.id, expires_ms, &Chore::File));
        }
        self.commit_writes(writes).await?;
        Ok(row.shown(upload.id.clone()))
    }

    /// Gives an upload up: nothing of it stays.
    pub async fn give_up_upload(&self, upload: &Upload) {
        self.break_promise(&upload.promise).await;
    }

    /// A file and its row.
    pub async fn file(&self, owner: &str, id: &str) -> Result<(FileObject, FileRow), EngineError> {
        let found: Found<FileRow> = self.owned(owner, &collection(), id).await?;
        if found.row.is_expired(self.clock.now_ms()) {
            return Err(EngineError::not_found("file", id));
        }
        Ok((found.row.shown(id.to_owned()), found.row))
    }

    /// The bytes of a file, verified as they are read to their end.
    pub async fn open_file(
        &self,
        owner: &str,
        id: &str,
        row: &FileRow,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, EngineError> {
        let scope = scope_of(owner, id);
        Ok(self.blobs.open(&scope, &row.blob, 0).await?)
    }

    /// Files by creation time.
    pub async fn list_files(
        &self,
        owner: &str,
        query: &ListQuery,
        purpose: Option<FilePurpose>,
    ) -> Result<Page<FileObject>, EngineError> {
        let now_ms = self.clock.now_ms();
        let wanted = |row: &FileRow| {
            !row.is_expired(now_ms) && purpose.is_none_or(|purpose| row.purpose == purpose)
        };
        let of = collection();
        let (found, more) = self.list_owned(owner, &of, query, wanted).await?;
        let files = found.into_iter().map(|(id, row)| row.shown(id));
        Ok(Page::new(files.collect(), more))
    }

    /// Deletes a file: it is gone once this answers, and its bytes soon.
    pub async fn delete_file(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        self.file(owner, id).await?;
        let at = self.drop_file(owner, id).await?;
        self.do_now(&at).await;
        Ok(())
    }

    /// Deletes a file that has expired, if it is still there.
    pub(super) async fn expire_file(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        match self.drop_file(owner, id).await {
            Ok(_) | Err(EngineError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes the record, and answers where the chore is that erases the bytes.
    async fn drop_file(&self, owner: &str, id: &str) -> Result<Key, EngineError> {
        let of = collection();
        let now_ms = self.clock.now_ms();
        let erase = self.chore(owner, id, now_ms, &Chore::Scope);
        let at = erase.key.clone();
        let decide = |found: Found<FileRow>| {
            let mut writes = self.drop_owned(owner, &of, id, &found).to_vec();
            writes.push(erase.clone());
            if let Some(expires_ms) = found.row.expires_ms {
                let expiry = self.chore(owner, id, expires_ms, &Chore::File);
                writes.push(Write {
                    change: Change::Delete,
                    ..expiry
                });
            }
            Ok((writes, ()))
        };
        self.change_owned(owner, &of, id, decide).await?;
        Ok(at)
    }
}
