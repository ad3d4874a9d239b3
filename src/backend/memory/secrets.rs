//! Secrets in memory, which can be made unavailable.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;

use crate::api::Secret;
use crate::engine::ports::{BlobScope, SecretError, SecretRef, Secrets};

/// Secrets for tests. Clones are the same store.
#[derive(Clone, Default)]
pub struct MemorySecrets {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    away: AtomicBool,
    values: Mutex<Values>,
}

#[derive(Default)]
struct Values {
    puts: u64,
    stored: HashMap<(BlobScope, SecretRef), Secret>,
}

impl MemorySecrets {
    /// An empty store.
    pub fn new() -> MemorySecrets {
        MemorySecrets::default()
    }

    /// From now on nothing works, or everything does again.
    pub fn be_away(&self, away: bool) {
        self.inner.away.store(away, Ordering::SeqCst);
    }

    /// How many values are stored.
    pub fn count(&self) -> usize {
        self.values().stored.len()
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.inner
            .values
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    fn there(&self) -> Result<MutexGuard<'_, Values>, SecretError> {
        match self.inner.away.load(Ordering::SeqCst) {
            true => Err(SecretError::Unavailable("it is away".to_owned())),
            false => Ok(self.values()),
        }
    }
}

#[async_trait]
impl Secrets for MemorySecrets {
    async fn put(&self, scope: &BlobScope, value: &Secret) -> Result<SecretRef, SecretError> {
        let mut values = self.there()?;
        values.puts += 1;
        let at = SecretRef(format!("secret-{}", values.puts));
        let key = (scope.clone(), at.clone());
        values.stored.insert(key, value.clone());
        Ok(at)
    }

    async fn get(&self, scope: &BlobScope, at: &SecretRef) -> Result<Secret, SecretError> {
        let key = (scope.clone(), at.clone());
        let found = self.there()?.stored.get(&key).cloned();
        found.ok_or_else(|| SecretError::Missing(at.0.clone()))
    }

    async fn erase(&self, scope: &BlobScope) -> Result<(), SecretError> {
        self.there()?.stored.retain(|(of, _), _| of != scope);
        Ok(())
    }
}
