//! Storing one object, if it is absent.

use std::time::Duration;

use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart, ServerSideEncryption,
};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::spool::{PART_BYTES, Place, Spooled};
use super::{S3Blobs, sort};
use crate::backend::aws::fault::Fault;
use crate::backend::local::clock::SystemClock;
use crate::engine::ports::{BlobError, Clock};

/// A blob that was stored so long ago is stored anew, because whoever removes what is old may be about to.
const OLD_MS: u64 = 6 * 3_600_000;
/// Attempts while somebody else stores the same object.
const ATTEMPTS: u32 = 5;

impl S3Blobs {
    /// Stores the bytes under this name, unless they are there and young.
    pub(super) async fn upload(&self, name: &str, spooled: Spooled) -> Result<(), BlobError> {
        let checksum = spooled.checksum();
        match spooled.place {
            Place::Memory(bytes) => {
                let mut only_if_absent = true;
                for attempt in 0..ATTEMPTS {
                    let stored = self.store(name, &bytes, &checksum, only_if_absent).await;
                    match stored {
                        Ok(()) => return Ok(()),
                        Err(fault) if fault.is("PreconditionFailed") => {
                            if self.is_young(name).await? {
                                return Ok(());
                            }
                            only_if_absent = false;
                        }
                        Err(fault) if fault.is("ConditionalRequestConflict") => {
                            tokio::time::sleep(Duration::from_millis(50 << attempt)).await;
                        }
                        Err(fault) => return Err(sort(fault)),
                    }
                }
                Err(BlobError::Unavailable(
                    "the same bytes are being stored again and again".to_owned(),
                ))
            }
            // Parts are worth a question first.
            Place::File(file) => match self.is_young(name).await? {
                true => Ok(()),
                false => self.store_in_parts(name, file).await,
            },
        }
    }

    /// Whether the object is there, and not about to be taken for a leftover.
    async fn is_young(&self, name: &str) -> Result<bool, BlobError> {
        let head = self.head(name).await?;
        let stored_ms = head.and_then(|head| head.stored_ms);
        let stored_ms = stored_ms.and_then(|ms| u64::try_from(ms).ok());
        Ok(stored_ms.is_some_and(|ms| ms + OLD_MS > SystemClock.now_ms()))
    }

    async fn store(
        &self,
        name: &str,
        bytes: &Bytes,
        checksum: &str,
        only_if_absent: bool,
    ) -> Result<(), Fault> {
        let mut put = self
            .s3
            .put_object()
            .bucket(&*self.bucket)
            .key(name)
            .checksum_sha256(checksum)
            .body(ByteStream::from(bytes.clone()));
        if only_if_absent {
            put = put.if_none_match("*");
        }
        if let Some(key) = &self.kms_key {
            put = put
                .server_side_encryption(ServerSideEncryption::AwsKms)
                .ssekms_key_id(&**key)
                .bucket_key_enabled(true);
        }
        let stored = put.send().await;
        stored.map(drop).map_err(|error| Fault::of(&error))
    }

    async fn store_in_parts(&self, name: &str, file: File) -> Result<(), BlobError> {
        let mut create = self
            .s3
            .create_multipart_upload()
            .bucket(&*self.bucket)
            .key(name)
            // Without it S3 takes no checksums of parts when they are put together.
            .checksum_algorithm(ChecksumAlgorithm::Sha256);
        if let Some(key) = &self.kms_key {
            create = create
                .server_side_encryption(ServerSideEncryption::AwsKms)
                .ssekms_key_id(&**key)
                .bucket_key_enabled(true);
        }
        let created = create.send().await;
        let created = created.map_err(|error| sort(Fault::of(&error)))?;
        let Some(upload) = created.upload_id() else {
            return Err(BlobError::Unavailable("S3 named no upload".to_owned()));
        };
        let stored = self.parts(name, upload, file).await;
        if stored.is_err() {
            // What is left of it costs money until the bucket's own rule removes it.
            let abort = self.s3.abort_multipart_upload().bucket(&*self.bucket);
            let aborted = abort.key(name).upload_id(upload).send().await;
            if let Err(error) = aborted {
                let error = Fault::of(&error);
                tracing::warn!(%error, "an upload in parts that failed could not be given up");
            }
        }
        stored
    }

    async fn parts(&self, name: &str, upload: &str, mut file: File) -> Result<(), BlobError> {
        let mut parts = Vec::new();
        loop {
            let mut part = Vec::new();
            let mut limited = (&mut file).take(PART_BYTES as u64);
            let read = limited.read_to_end(&mut part).await;
            read.map_err(|error| BlobError::Source(error.to_string()))?;
            if part.is_empty() {
                break;
            }
            let number = i32::try_from(parts.len() + 1).unwrap_or(i32::MAX);
            let checksum = data_encoding::BASE64.encode(&Sha256::digest(&part));
            let sent = self
                .s3
                .upload_part()
                .bucket(&*self.bucket)
                .key(name)
                .upload_id(upload)
                .part_number(number)
                .checksum_sha256(&checksum)
                .body(ByteStream::from(part))
                .send()
                .await;
            let sent = sent.map_err(|error| sort(Fault::of(&error)))?;
            let done = CompletedPart::builder()
                .part_number(number)
                .set_e_tag(sent.e_tag().map(str::to_owned))
                .checksum_sha256(checksum);
            parts.push(done.build());
        }
        let all = CompletedMultipartUpload::builder().set_parts(Some(parts));
        let completed = self
            .s3
            .complete_multipart_upload()
            .bucket(&*self.bucket)
            .key(name)
            .upload_id(upload)
            .multipart_upload(all.build())
            .send()
            .await;
        completed.map(drop).map_err(|error| sort(Fault::of(&error)))
    }
}
