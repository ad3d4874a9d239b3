//! The program that machines run: where it is in the bucket, and an address under which a machine without any tool fetches it.

use std::time::Duration;

use aws_sdk_s3::presigning::PresigningConfig;

use crate::backend::aws::calls::{Purpose, for_purpose};
use crate::backend::aws::client::AwsClients;
use crate::backend::aws::fault::Fault;
use crate::backend::aws::setup::program::object;

/// An address is good for so long: longer than any machine takes to start.
const ADDRESS_LIVES: Duration = Duration::from_secs(900);

/// The program in the deployment's bucket, pinned by its digest.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    client: aws_sdk_s3::Client,
    bucket: String,
    sha256: String,
}

impl WorkerProgram {
    /// The program with this digest. Sends nothing.
    pub fn new(clients: &AwsClients, bucket: &str, sha256: &str) -> WorkerProgram {
        WorkerProgram {
            client: clients.s3(),
            bucket: bucket.to_owned(),
            sha256: sha256.to_owned(),
        }
    }

    /// Its digest in lower-case hexadecimal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Its name in the bucket.
    pub fn key(&self) -> String {
        object(&self.sha256)
    }

    /// Whether it is there.
    ///
    /// # Errors
    /// S3 did not say.
    pub async fn is_there(&self) -> Result<bool, Fault> {
        let head = self
            .client
            .head_object()
            .bucket(&self.bucket)
            .key(self.key());
        let found = for_purpose(Purpose::Machine, head.send()).await;
        match found.map_err(|error| Fault::of(&error)) {
            Ok(_) => Ok(true),
            Err(fault) if fault.is("404") || fault.is("NotFound") || fault.is("NoSuchKey") => {
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    /// An address that whoever knows it can read it from, for a while.
    ///
    /// # Errors
    /// There are no credentials to sign it with.
    pub async fn address(&self) -> Result<String, Fault> {
        let broken = |why: String| Fault::Refused {
            code: "InvalidRequest".to_owned(),
            message: why,
        };
        let config = PresigningConfig::expires_in(ADDRESS_LIVES);
        let config = config.map_err(|error| broken(error.to_string()))?;
        let get = self
            .client
            .get_object()
            .bucket(&self.bucket)
            .key(self.key());
        let signed = get.presigned(config).await;
        let signed = signed.map_err(|error| Fault::of(&error))?;
        Ok(signed.uri().to_owned())
    }
}
