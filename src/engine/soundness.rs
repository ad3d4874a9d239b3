//! Whether bytes are what the record that names them says.

use tokio::io::AsyncReadExt;

use super::core::Core;
use super::error::EngineError;
use super::ports::{BlobError, BlobRef, BlobScope};

/// Bytes read at once.
const STEP_BYTES: usize = 256 << 10;

impl Core {
    /// What is wrong with these bytes, if something is, in words that follow their name. All of them are read.
    ///
    /// # Errors
    /// Whether they are there can't be told now.
    pub(super) async fn blob_problem(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
    ) -> Result<Option<String>, EngineError> {
        let mut content = match self.blobs.open(scope, blob, 0).await {
            Ok(content) => content,
            Err(error) => return absence(error),
        };
        let mut space = vec![0; STEP_BYTES];
        loop {
            match content.read(&mut space).await {
                Ok(0) => return Ok(None),
                Ok(_) => {}
                Err(error) => return Ok(Some(format!("can't be read: {error}"))),
            }
        }
    }

    /// The same without reading them: are they there, and as many?
    pub(super) async fn blob_absence(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
    ) -> Result<Option<String>, EngineError> {
        match self.blobs.open(scope, blob, 0).await {
            Ok(_) => Ok(None),
            Err(error) => absence(error),
        }
    }
}

fn absence(error: BlobError) -> Result<Option<String>, EngineError> {
    match error {
        BlobError::Missing(_) => Ok(Some("are not stored".to_owned())),
        BlobError::Corrupt(_) => Ok(Some("have another length".to_owned())),
        error => Err(error.into()),
    }
}
