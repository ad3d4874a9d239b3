//! The Blobs port on one S3 bucket: an object per blob, named by owner, Session and digest.
//!
//! What is read whole is checked against its digest; what is stored is checked by S3, too. The surprise: the bucket keeps versions, so that a
//! blob that is removed because it is old stays if somebody stores it anew at the same moment, and what is deleted is deleted in all its
//! versions.

mod delete;
mod spool;
pub(in crate::backend::aws) mod sweep;
mod upload;

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::AsyncRead;

use self::spool::Spooled;
use super::calls::{Purpose, for_purpose};
use super::client::AwsClients;
use super::fault::Fault;
use super::store::Places;
use crate::backend::verified::Verified;
use crate::engine::ports::{BlobError, BlobRef, BlobScope, BlobSource, Blobs, StoreFault};

/// Bytes in S3. Cheap to clone.
#[derive(Clone)]
pub struct S3Blobs {
    s3: aws_sdk_s3::Client,
    bucket: Arc<str>,
    kms_key: Option<Arc<str>>,
}

impl S3Blobs {
    /// Blobs in the bucket of these places, which must exist. Sends nothing.
    pub fn new(clients: &AwsClients, places: &Places) -> S3Blobs {
        S3Blobs {
            s3: clients.s3(),
            bucket: places.bucket.as_str().into(),
            kms_key: places.kms_key.as_deref().map(Into::into),
        }
    }

    /// What is known of an object: its length and version. Nothing, if there is none.
    async fn head(&self, name: &str) -> Result<Option<Head>, BlobError> {
        let request = self.s3.head_object().bucket(&*self.bucket).key(name);
        match for_purpose(Purpose::Blob, request.send()).await {
            Ok(found) => Ok(Some(Head {
                size_bytes: found.content_length().and_then(|n| u64::try_from(n).ok()),
                version: found.version_id().map(str::to_owned),
                stored_ms: found.last_modified().and_then(|at| at.to_millis().ok()),
            })),
            Err(error) => match Fault::of(&error) {
                fault if fault.is("NotFound") || fault.is("404") => Ok(None),
                fault => Err(sort(fault)),
            },
        }
    }
}

/// What is known of an object without reading it.
struct Head {
    size_bytes: Option<u64>,
    version: Option<String>,
    /// Unix ms.
    stored_ms: Option<i64>,
}

/// The namespace of a scope. Both parts must be names.
pub(super) fn prefix(scope: &BlobScope) -> Result<String, BlobError> {
    for part in [&scope.owner, &scope.session] {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        if part.is_empty() || part.starts_with('.') || !part.bytes().all(plain) {
            return Err(BlobError::Invalid(format!("{part:?} is no name")));
        }
    }
    Ok(format!("blobs/{}/{}/", scope.owner, scope.session))
}

/// The name of a blob's object.
fn name(scope: &BlobScope, sha256: &str) -> Result<String, BlobError> {
    let digest = sha256.len() == 64
        && sha256
            .bytes()
            .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match digest {
        true => Ok(format!("{}{sha256}", prefix(scope)?)),
        // Nothing is stored under what is no digest.
        false => Err(BlobError::Missing(sha256.to_owned())),
    }
}

/// What a request means to the engine that did not do as asked. What may have happened is put again: its name is its content.
pub(super) fn sort(fault: Fault) -> BlobError {
    let broken = |kind| BlobError::Broken {
        fault: kind,
        message: fault.to_string(),
    };
    if let Some(message) = fault.not_set_up() {
        return BlobError::Broken {
            fault: StoreFault::NotSetUp,
            message,
        };
    }
    match &fault {
        Fault::Unreachable(_) | Fault::Uncertain(_) | Fault::Throttled(_) => {
            BlobError::Unavailable(fault.to_string())
        }
        Fault::Credentials(_) => broken(StoreFault::Credentials),
        Fault::Denied(_) => broken(StoreFault::Denied),
        // Two conditional writes of one name met: neither is at fault.
        Fault::Refused { code, .. } if code == "ConditionalRequestConflict" => {
            BlobError::Unavailable(fault.to_string())
        }
        Fault::Refused { .. } => BlobError::Invalid(fault.to_string()),
    }
}

#[async_trait]
impl Blobs for S3Blobs {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        let prefix = prefix(scope)?;
        let spooled = Spooled::of(source).await?;
        let blob = spooled.blob();
        let name = format!("{prefix}{}", blob.sha256);
        for_purpose(Purpose::Blob, self.upload(&name, spooled)).await?;
        Ok(blob)
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        let mut bytes = Vec::new();
        let mut from = self.open(scope, blob, 0).await?;
        let read = tokio::io::AsyncReadExt::read_to_end(&mut from, &mut bytes).await;
        match read {
            Ok(_) => Ok(bytes.into()),
            Err(error) => match error.get_ref().and_then(|e| e.downcast_ref::<BlobError>()) {
                Some(error) => Err(error.clone()),
                None => Err(BlobError::Unavailable(error.to_string())),
            },
        }
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        let name = name(scope, &blob.sha256)?;
        if offset >= blob.size_bytes {
            // A range that begins at the end is refused; what is read there is nothing, if the blob is right.
            return match self.head(&name).await? {
                None => Err(BlobError::Missing(blob.sha256.clone())),
                Some(head) if head.size_bytes != Some(blob.size_bytes) => {
                    Err(BlobError::Corrupt(blob.sha256.clone()))
                }
                Some(_) => Ok(Box::new(Verified::new(tokio::io::empty(), blob, offset))),
            };
        }
        let mut request = self.s3.get_object().bucket(&*self.bucket).key(&name);
        if offset > 0 {
            request = request.range(format!("bytes={offset}-"));
        }
        let found = for_purpose(Purpose::Blob, request.send()).await;
        let found = found.map_err(|error| match Fault::of(&error) {
            fault if fault.is("NoSuchKey") => BlobError::Missing(blob.sha256.clone()),
            fault => sort(fault),
        })?;
        let expected = i64::try_from(blob.size_bytes - offset).ok();
        if found.content_length() != expected {
            return Err(BlobError::Corrupt(blob.sha256.clone()));
        }
        let body = found.body.into_async_read();
        Ok(Box::new(Verified::new(body, blob, offset)))
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        let name = match name(scope, &blob.sha256) {
            Err(BlobError::Missing(_)) => return Ok(false),
            name => name?,
        };
        let head = self.head(&name).await?;
        Ok(head.is_some_and(|head| head.size_bytes == Some(blob.size_bytes)))
    }

    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        let name = match name(scope, sha256) {
            Err(BlobError::Missing(_)) => return Ok(false),
            name => name?,
        };
        for_purpose(Purpose::Care, self.remove_old(&name, before_ms)).await
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        let rows = super::content::prefix(&format!("S/{}", scope.session));
        for prefix in [prefix(scope)?, rows] {
            for_purpose(Purpose::Care, self.delete_all(&prefix)).await?;
        }
        Ok(())
    }
}
