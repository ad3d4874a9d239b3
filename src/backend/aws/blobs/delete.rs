//! Deleting objects, with all their versions.

use super::sweep::sweep;
use super::{S3Blobs, sort};
use crate::backend::aws::fault::Fault;
use crate::engine::ports::BlobError;

impl S3Blobs {
    /// Removes the newest version of an object, if it was stored before then (Unix ms). One that is stored meanwhile stays.
    pub(in crate::backend::aws) async fn remove_old(
        &self,
        name: &str,
        before_ms: u64,
    ) -> Result<bool, BlobError> {
        let Some(head) = self.head(name).await? else {
            return Ok(false);
        };
        let stored_ms = head.stored_ms.and_then(|ms| u64::try_from(ms).ok());
        if stored_ms.is_none_or(|ms| ms >= before_ms) {
            return Ok(false);
        }
        let delete = self.s3.delete_object().bucket(&*self.bucket).key(name);
        let deleted = delete.set_version_id(head.version).send().await;
        deleted.map_err(|error| sort(Fault::of(&error)))?;
        Ok(true)
    }

    /// Removes everything whose name begins so. Begun anew, it goes on with what is left.
    pub(super) async fn delete_all(&self, prefix: &str) -> Result<(), BlobError> {
        sweep(&self.s3, &self.bucket, prefix).await.map_err(sort)
    }
}
