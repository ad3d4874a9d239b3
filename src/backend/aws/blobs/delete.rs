//! Deleting objects, with all their versions.

use aws_sdk_s3::types::{Delete, ObjectIdentifier};

use super::{S3Blobs, sort};
use crate::backend::aws::fault::Fault;
use crate::engine::ports::BlobError;

impl S3Blobs {
    /// Removes the newest version of an object, if it was stored before then (Unix ms). One that is stored meanwhile stays.
    pub(super) async fn remove_old(&self, name: &str, before_ms: u64) -> Result<bool, BlobError> {
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
        loop {
            let list = self.s3.list_object_versions().bucket(&*self.bucket);
            let page = list.prefix(prefix).send().await;
            let page = page.map_err(|error| sort(Fault::of(&error)))?;
            let versions = page.versions().iter().map(|v| (v.key(), v.version_id()));
            let markers = page.delete_markers().iter();
            let markers = markers.map(|marker| (marker.key(), marker.version_id()));
            let mut objects = Vec::new();
            for (key, version) in versions.chain(markers) {
                let Some(key) = key else { continue };
                let object = ObjectIdentifier::builder()
                    .key(key)
                    .set_version_id(version.map(str::to_owned))
                    .build();
                objects.push(object.map_err(|error| BlobError::Invalid(error.to_string()))?);
            }
            if objects.is_empty() {
                return Ok(());
            }
            let all = Delete::builder().set_objects(Some(objects)).quiet(true);
            let all = all.build();
            let all = all.map_err(|error| BlobError::Invalid(error.to_string()))?;
            let delete = self.s3.delete_objects().bucket(&*self.bucket).delete(all);
            let deleted = delete.send().await;
            let deleted = deleted.map_err(|error| sort(Fault::of(&error)))?;
            if let Some(error) = deleted.errors().first() {
                let why = error.message().or(error.code()).unwrap_or_default();
                return Err(BlobError::Unavailable(format!(
                    "an object could not be deleted: {why}"
                )));
            }
        }
    }
}
