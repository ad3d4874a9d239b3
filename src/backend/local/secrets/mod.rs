//! Secrets as sealed files: each value is encrypted with a key that lies beside them, readable for this user alone.
//!
//! It guards against what reads the data directory without being this user: a backup, a copy for support, a disk that is
//! thrown away without its key. It guards nothing from who can read the key. Surprising: sealed bytes are immutable, so they
//! are stored as blobs of a directory of their own, with the same care for power loss, and a reference is the digest of what is
//! sealed, which is another one for each sealing.

mod key;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use ring::aead::{Aad, LessSafeKey, NONCE_LEN, Nonce};

use self::key::KeyFile;
use super::blobs::{LocalBlobs, Swept};
use super::ids;
use crate::api::Secret;
use crate::engine::ports::{
    BlobError, BlobRef, BlobScope, BlobSource, Blobs, SecretError, SecretRef, Secrets,
};

/// First byte of what is sealed; another form gets another one.
const FORM: u8 = 1;
/// Directory of the sealed values, below the root.
const SEALED: &str = "sealed";
/// The key's file, below the root.
const KEY: &str = "key";

/// Secrets below one directory. Cheap to clone.
#[derive(Clone)]
pub struct LocalSecrets {
    sealed: LocalBlobs,
    key: Arc<KeyFile>,
}

impl LocalSecrets {
    /// Secrets below `root`, which need not exist yet.
    pub fn new(root: impl Into<PathBuf>) -> LocalSecrets {
        let root = root.into();
        LocalSecrets {
            sealed: LocalBlobs::new(root.join(SEALED)),
            key: Arc::new(KeyFile::new(root.join(KEY))),
        }
    }

    /// Removes what crashes left behind, as [`LocalBlobs::sweep_temp`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn sweep_temp(&self, now_ms: u64, older_than_ms: u64) -> Result<Swept, BlobError> {
        self.sealed.sweep_temp(now_ms, older_than_ms).await
    }

    /// Does something with the key, on a thread that may wait for the disk.
    async fn with_key<T: Send + 'static>(
        &self,
        create: bool,
        work: impl FnOnce(&LessSafeKey) -> T + Send + 'static,
    ) -> Result<T, SecretError> {
        let key = Arc::clone(&self.key);
        let done = tokio::task::spawn_blocking(move || key.get(create).map(work)).await;
        done.unwrap_or_else(|error| Err(SecretError::Unavailable(error.to_string())))
    }
}

#[async_trait]
impl Secrets for LocalSecrets {
    async fn put(&self, scope: &BlobScope, value: &Secret) -> Result<SecretRef, SecretError> {
        let (context, value) = (context(scope), value.clone());
        let sealed = self
            .with_key(true, move |key| seal(key, &context, value.reveal()))
            .await?;
        let sealed = sealed.ok_or_else(|| SecretError::Invalid("it is too long".to_owned()))?;
        let source = BlobSource::Bytes(sealed.into());
        let blob = self.sealed.put(scope, source).await.map_err(sort)?;
        Ok(SecretRef(format!("{}-{}", blob.sha256, blob.size_bytes)))
    }

    async fn get(&self, scope: &BlobScope, at: &SecretRef) -> Result<Secret, SecretError> {
        let blob = blob_of(at).ok_or_else(|| SecretError::Missing(at.0.clone()))?;
        let sealed = self.sealed.get(scope, &blob).await.map_err(sort)?;
        let context = context(scope);
        let value = self
            .with_key(false, move |key| unseal(key, &context, &sealed))
            .await?;
        value.ok_or_else(|| SecretError::Sealed(at.0.clone()))
    }

    async fn erase(&self, scope: &BlobScope) -> Result<(), SecretError> {
        self.sealed.delete_scope(scope).await.map_err(sort)
    }
}

fn blob_of(at: &SecretRef) -> Option<BlobRef> {
    let (sha256, size) = at.0.split_once('-')?;
    Some(BlobRef {
        sha256: sha256.to_owned(),
        size_bytes: size.parse().ok()?,
    })
}

/// What is bound to a sealed value without being in it: moved to another scope, it does not open.
fn context(scope: &BlobScope) -> Vec<u8> {
    format!("rat-things/secret/1\0{}\0{}", scope.owner, scope.session).into_bytes()
}

fn seal(key: &LessSafeKey, context: &[u8], value: &str) -> Option<Vec<u8>> {
    let mut nonce = [0; NONCE_LEN];
    ids::fill(&mut nonce);
    let mut sealed = value.as_bytes().to_vec();
    let nonce_now = Nonce::assume_unique_for_key(nonce);
    key.seal_in_place_append_tag(nonce_now, Aad::from(context), &mut sealed)
        .ok()?;
    Some([&[FORM], &nonce[..], &sealed].concat())
}

fn unseal(key: &LessSafeKey, context: &[u8], sealed: &[u8]) -> Option<Secret> {
    let (&FORM, rest) = sealed.split_first()? else {
        return None;
    };
    let (nonce, sealed) = rest.split_at_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let mut value = sealed.to_vec();
    let value = key
        .open_in_place(nonce, Aad::from(context), &mut value)
        .ok()?;
    Some(Secret::new(std::str::from_utf8(value).ok()?))
}

fn sort(error: BlobError) -> SecretError {
    match error {
        BlobError::Missing(digest) => SecretError::Missing(digest),
        BlobError::Corrupt(digest) => SecretError::Sealed(digest),
        BlobError::Broken { fault, message } => SecretError::Broken { fault, message },
        BlobError::Invalid(why) => SecretError::Invalid(why),
        BlobError::Unavailable(why) => SecretError::Unavailable(why),
        BlobError::TooLarge { .. } | BlobError::Source(_) => {
            SecretError::Unavailable(error.to_string())
        }
    }
}

/// Where the key of a root is, for tests and for who explains it.
pub fn key_path(root: &Path) -> PathBuf {
    root.join(KEY)
}
