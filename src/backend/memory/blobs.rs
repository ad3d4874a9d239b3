//! Blobs in memory, with faults on request. Whether a call fails is decided by a hook that sees the call, so the same calls
//! with the same hook end the same way.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::backend::verified::Verified;
use crate::engine::ids::sha256_hex;
use crate::engine::ports::{BlobError, BlobRef, BlobScope, BlobSource, Blobs};

/// One call, as the fault hook sees it.
#[derive(Clone, Debug)]
pub struct BlobCall<'a> {
    /// What is asked.
    pub op: BlobOp,
    /// Where.
    pub scope: &'a BlobScope,
    /// Which bytes; `None` when they are deleted.
    pub blob: Option<&'a BlobRef>,
}

/// The port's calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobOp {
    /// `put`, with its source read already.
    Put,
    /// `get`
    Get,
    /// `open`
    Open,
    /// `has`
    Has,
    /// `remove`
    Remove,
    /// `delete_scope`
    DeleteScope,
}

/// What goes wrong with a call. A fault that makes no sense for the call is taken as [`BlobFault::Unavailable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlobFault {
    /// Nothing happens; the caller is told to try again.
    Unavailable,
    /// It happens, but the caller is told to try again. (put, delete)
    LostAnswer,
    /// Half of the bytes end up in the blob's place and the caller is told to try again. A later put mends it. (put)
    Torn,
    /// The bytes read are not those that were stored. (get, open)
    Corrupt,
    /// The bytes are not found. (get, open, has)
    Lost,
}

type Hook = dyn Fn(&BlobCall<'_>) -> Option<BlobFault> + Send + Sync;
type Shelf = BTreeMap<String, Bytes>;

/// Blobs in memory. Clones share the same bytes.
#[derive(Clone)]
pub struct MemoryBlobs {
    shelves: Arc<Mutex<HashMap<BlobScope, Shelf>>>,
    hook: Arc<Hook>,
}

impl Default for MemoryBlobs {
    fn default() -> Self {
        MemoryBlobs::new()
    }
}

impl MemoryBlobs {
    /// Empty, and nothing ever fails.
    pub fn new() -> MemoryBlobs {
        MemoryBlobs::with_faults(|_| None)
    }

    /// Empty; `hook` is asked before every call what shall go wrong.
    pub fn with_faults(
        hook: impl Fn(&BlobCall<'_>) -> Option<BlobFault> + Send + Sync + 'static,
    ) -> MemoryBlobs {
        MemoryBlobs {
            shelves: Arc::default(),
            hook: Arc::new(hook),
        }
    }

    /// What is stored in a scope, by digest; torn bytes are shown torn.
    pub fn stored(&self, scope: &BlobScope) -> BTreeMap<String, Bytes> {
        self.shelves().get(scope).cloned().unwrap_or_default()
    }

    /// Bytes stored in all scopes.
    pub fn stored_bytes(&self) -> u64 {
        let shelves = self.shelves();
        let blobs = shelves.values().flat_map(Shelf::values);
        blobs.map(|bytes| bytes.len() as u64).sum()
    }

    /// Replaces stored bytes behind the port's back, as a failing disk does; `None` removes them.
    pub fn damage(&self, scope: &BlobScope, sha256: &str, bytes: Option<Bytes>) {
        let mut shelves = self.shelves();
        let shelf = shelves.entry(scope.clone()).or_default();
        match bytes {
            Some(bytes) => shelf.insert(sha256.to_owned(), bytes),
            None => shelf.remove(sha256),
        };
    }

    fn shelves(&self) -> MutexGuard<'_, HashMap<BlobScope, Shelf>> {
        self.shelves
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    fn fault(&self, op: BlobOp, scope: &BlobScope, blob: Option<&BlobRef>) -> Option<BlobFault> {
        (self.hook)(&BlobCall { op, scope, blob })
    }

    /// The bytes a read sees, faults included; not verified.
    fn read(&self, op: BlobOp, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        let missing = || BlobError::Missing(blob.sha256.clone());
        let fault = self.fault(op, scope, Some(blob));
        let shelves = self.shelves();
        let found = shelves.get(scope).and_then(|shelf| shelf.get(&blob.sha256));
        match fault {
            None => found.cloned().ok_or_else(missing),
            Some(BlobFault::Lost) => Err(missing()),
            Some(BlobFault::Corrupt) => found.map(flipped).ok_or_else(missing),
            Some(BlobFault::Unavailable | BlobFault::LostAnswer | BlobFault::Torn) => {
                Err(unavailable())
            }
        }
    }
}

#[async_trait]
impl Blobs for MemoryBlobs {
    async fn put(&self, scope: &BlobScope, source: BlobSource) -> Result<BlobRef, BlobError> {
        let bytes = gather(source).await?;
        let blob = BlobRef {
            sha256: sha256_hex(&bytes),
            size_bytes: bytes.len() as u64,
        };
        let fault = self.fault(BlobOp::Put, scope, Some(&blob));
        let stored = match fault {
            None | Some(BlobFault::LostAnswer) => bytes,
            Some(BlobFault::Torn) => bytes.slice(..bytes.len() / 2),
            Some(_) => return Err(unavailable()),
        };
        let mut shelves = self.shelves();
        let shelf = shelves.entry(scope.clone()).or_default();
        let there = shelf
            .get(&blob.sha256)
            .is_some_and(|there| there.len() as u64 == blob.size_bytes);
        if !there {
            shelf.insert(blob.sha256.clone(), stored);
        }
        match fault {
            None => Ok(blob),
            Some(_) => Err(unavailable()),
        }
    }

    async fn get(&self, scope: &BlobScope, blob: &BlobRef) -> Result<Bytes, BlobError> {
        let bytes = self.read(BlobOp::Get, scope, blob)?;
        if bytes.len() as u64 != blob.size_bytes || sha256_hex(&bytes) != blob.sha256 {
            return Err(BlobError::Corrupt(blob.sha256.clone()));
        }
        Ok(bytes)
    }

    async fn open(
        &self,
        scope: &BlobScope,
        blob: &BlobRef,
        offset: u64,
    ) -> Result<Box<dyn AsyncRead + Send + Unpin>, BlobError> {
        let bytes = self.read(BlobOp::Open, scope, blob)?;
        if bytes.len() as u64 != blob.size_bytes {
            return Err(BlobError::Corrupt(blob.sha256.clone()));
        }
        let from = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let rest = std::io::Cursor::new(bytes.slice(from..));
        Ok(Box::new(Verified::new(rest, blob, offset)))
    }

    async fn has(&self, scope: &BlobScope, blob: &BlobRef) -> Result<bool, BlobError> {
        match self.read(BlobOp::Has, scope, blob) {
            Ok(bytes) => Ok(bytes.len() as u64 == blob.size_bytes),
            Err(BlobError::Missing(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Nothing here has an age: what is asked for is old enough.
    async fn remove(
        &self,
        scope: &BlobScope,
        sha256: &str,
        _before_ms: u64,
    ) -> Result<bool, BlobError> {
        let fault = self.fault(BlobOp::Remove, scope, None);
        let mut shelves = self.shelves();
        let mut remove = || {
            let shelf = shelves.get_mut(scope);
            shelf.is_some_and(|shelf| shelf.remove(sha256).is_some())
        };
        match fault {
            None => Ok(remove()),
            Some(BlobFault::LostAnswer) => {
                remove();
                Err(unavailable())
            }
            Some(_) => Err(unavailable()),
        }
    }

    async fn delete_scope(&self, scope: &BlobScope) -> Result<(), BlobError> {
        match self.fault(BlobOp::DeleteScope, scope, None) {
            None => {
                self.shelves().remove(scope);
                Ok(())
            }
            Some(BlobFault::LostAnswer) => {
                self.shelves().remove(scope);
                Err(unavailable())
            }
            Some(_) => Err(unavailable()),
        }
    }
}

async fn gather(source: BlobSource) -> Result<Bytes, BlobError> {
    match source {
        BlobSource::Bytes(bytes) => Ok(bytes),
        BlobSource::Stream { from, limit_bytes } => {
            let mut bytes = Vec::new();
            from.take(limit_bytes.saturating_add(1))
                .read_to_end(&mut bytes)
                .await
                .map_err(|error| BlobError::Source(error.to_string()))?;
            if bytes.len() as u64 > limit_bytes {
                return Err(BlobError::TooLarge { limit_bytes });
            }
            Ok(bytes.into())
        }
    }
}

fn flipped(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    match bytes.last_mut() {
        Some(last) => *last ^= 1,
        None => bytes.push(0),
    }
    bytes.into()
}

fn unavailable() -> BlobError {
    BlobError::Unavailable("a fault was asked for".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope() -> BlobScope {
        BlobScope {
            owner: "o".to_owned(),
            session: "sess_a".to_owned(),
        }
    }

    /// Blobs whose next calls of one kind fail so.
    fn failing(op: BlobOp, fault: BlobFault, times: usize) -> MemoryBlobs {
        let left = Mutex::new(times);
        MemoryBlobs::with_faults(move |call| {
            let mut left = left.lock().expect("no test thread panicked");
            (call.op == op && *left > 0).then(|| {
                *left -= 1;
                fault
            })
        })
    }

    async fn put(blobs: &MemoryBlobs) -> Result<BlobRef, BlobError> {
        let bytes = Bytes::from_static(b"hello");
        blobs.put(&scope(), BlobSource::Bytes(bytes)).await
    }

    #[tokio::test]
    async fn a_torn_put_reads_as_damage_until_it_is_repeated() {
        let blobs = failing(BlobOp::Put, BlobFault::Torn, 1);
        assert!(matches!(put(&blobs).await, Err(BlobError::Unavailable(_))));
        let blob = BlobRef {
            sha256: sha256_hex(b"hello"),
            size_bytes: 5,
        };
        assert_eq!(
            blobs.get(&scope(), &blob).await,
            Err(BlobError::Corrupt(blob.sha256.clone()))
        );
        assert_eq!(blobs.has(&scope(), &blob).await, Ok(false));
        assert_eq!(put(&blobs).await, Ok(blob.clone()));
        assert_eq!(blobs.get(&scope(), &blob).await, Ok("hello".into()));
    }

    #[tokio::test]
    async fn a_lost_answer_stores_and_an_unavailable_store_does_not() {
        for (fault, kept_bytes) in [(BlobFault::LostAnswer, 5), (BlobFault::Unavailable, 0)] {
            let blobs = failing(BlobOp::Put, fault, 1);
            assert!(matches!(put(&blobs).await, Err(BlobError::Unavailable(_))));
            assert_eq!(blobs.stored_bytes(), kept_bytes);
            assert!(put(&blobs).await.is_ok());
        }
    }

    #[tokio::test]
    async fn corrupt_and_lost_reads_pass_when_read_again() {
        let blobs = failing(BlobOp::Get, BlobFault::Corrupt, 1);
        let blob = put(&blobs).await.expect("stored");
        assert!(matches!(
            blobs.get(&scope(), &blob).await,
            Err(BlobError::Corrupt(_))
        ));
        assert!(blobs.get(&scope(), &blob).await.is_ok());

        let blobs = failing(BlobOp::Open, BlobFault::Corrupt, 1);
        let blob = put(&blobs).await.expect("stored");
        let mut stream = blobs.open(&scope(), &blob, 0).await.expect("opens");
        assert!(stream.read_to_end(&mut Vec::new()).await.is_err());

        let blobs = failing(BlobOp::Get, BlobFault::Lost, 1);
        let blob = put(&blobs).await.expect("stored");
        assert!(matches!(
            blobs.get(&scope(), &blob).await,
            Err(BlobError::Missing(_))
        ));
        assert!(blobs.get(&scope(), &blob).await.is_ok());
    }
}
