//! Credentials that are found once and used until they end, so that several clients do not each log in.

use aws_credential_types::Credentials;
use aws_credential_types::provider::{
    ProvideCredentials, Result as Found, SharedCredentialsProvider, future,
};
use tokio::sync::Mutex;

use crate::backend::local::clock::SystemClock;
use crate::engine::ports::Clock;

/// Credentials that end sooner than this are found anew.
const SPARE_MS: u64 = 5 * 60_000;

/// What another provider finds, kept.
#[derive(Debug)]
pub(super) struct Kept {
    found_by: SharedCredentialsProvider,
    kept: Mutex<Option<Credentials>>,
}

impl Kept {
    pub(super) fn new(found_by: SharedCredentialsProvider) -> Kept {
        Kept {
            found_by,
            kept: Mutex::new(None),
        }
    }

    async fn find(&self) -> Found {
        // Held while they are found: whoever comes meanwhile waits for the same ones.
        let mut kept = self.kept.lock().await;
        if let Some(credentials) = kept.as_ref().filter(|found| holds(found)) {
            return Ok(credentials.clone());
        }
        let found = self.found_by.provide_credentials().await?;
        *kept = Some(found.clone());
        Ok(found)
    }
}

/// Those without an end hold for as long as the process lives.
fn holds(credentials: &Credentials) -> bool {
    let Some(end) = credentials.expiry() else {
        return true;
    };
    let end = end.duration_since(std::time::UNIX_EPOCH);
    end.is_ok_and(|end| end.as_millis() > u128::from(SystemClock.now_ms() + SPARE_MS))
}

impl ProvideCredentials for Kept {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.find())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{Duration, SystemTime};

    use super::*;

    #[derive(Debug)]
    struct Counted(AtomicU32, Option<Duration>);

    impl ProvideCredentials for Counted {
        fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
        where
            Self: 'a,
        {
            let n = self.0.fetch_add(1, Ordering::SeqCst);
            let end = self.1.map(|after| SystemTime::now() + after);
            let found = Credentials::new(format!("key-{n}"), "secret", None, end, "test");
            future::ProvideCredentials::ready(Ok(found))
        }
    }

    async fn found_twice(end: Option<Duration>) -> [String; 2] {
        let kept = Kept::new(SharedCredentialsProvider::new(Counted(
            AtomicU32::new(0),
            end,
        )));
        let key = async || {
            let found = kept.provide_credentials().await.expect("credentials");
            found.access_key_id().to_owned()
        };
        [key().await, key().await]
    }

    #[tokio::test]
    async fn credentials_are_found_once_until_they_are_about_to_end() {
        assert_eq!(found_twice(None).await, ["key-0", "key-0"]);
        let hour = Some(Duration::from_secs(3_600));
        assert_eq!(found_twice(hour).await, ["key-0", "key-0"]);
        let minute = Some(Duration::from_secs(60));
        assert_eq!(found_twice(minute).await, ["key-0", "key-1"]);
    }
}
