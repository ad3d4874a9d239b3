//! Who asks, what time it is, chance, and wake-ups.

use async_trait::async_trait;
use tokio::sync::mpsc;

use super::live::LiveText;

/// Who is asking, as proven.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    /// `local:1000`, an STS caller, or a key's name.
    pub name: String,
}

/// Why the caller is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// Log in first: the message names the command.
    #[error("{0}")]
    Expired(String),
    /// It could not be found out now.
    #[error("{0}")]
    Unavailable(String),
}

/// Who the caller is.
#[async_trait]
pub trait Identity: Send + Sync {
    /// The proven caller.
    async fn caller(&self) -> Result<Principal, IdentityError>;
}

/// The only source of wall-clock time. Clocks of several programs may differ by any amount, and each may jump: what a time is for is
/// to be told, and to put work in order. Whoever waits for another program waits on tokio's monotonic clock.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The only source of randomness.
pub trait Ids: Send + Sync {
    /// Fills `bytes` with random bits.
    fn fill(&self, bytes: &mut [u8]);
}

/// A wake-up that may be lost: nothing depends on it but promptness (I13).
#[async_trait]
pub trait Bell: Send + Sync {
    /// Tells every listener, here and in other processes, that this Session may owe work. Never blocks.
    fn ring(&self, session: &str);

    /// Tells those who follow Sessions that something about this one changed. Never blocks.
    fn ring_change(&self, session: &str);

    /// Session ids as they are rung for either reason, from the moment of the call. A slow listener loses rings.
    fn listen(&self) -> mpsc::Receiver<String>;

    /// The same, only for rings about work.
    fn listen_work(&self) -> mpsc::Receiver<String>;

    /// Tells all who overhear this Session, here and in other processes, what is being written. Never blocks; costs next to nothing
    /// when there is nobody, and what somebody has no room for is lost.
    fn tell(&self, text: &LiveText);

    /// What is being written in this Session, from the moment of the call until the receiver is dropped. Some of it may be lost,
    /// and some may come from a worker that is not the live one any more: [`crate::engine::overhear`] judges that.
    fn overhear(&self, session: &str) -> mpsc::Receiver<LiveText>;
}
