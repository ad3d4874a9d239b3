//! A server of the Agents API somewhere else, as a [`Deployment`](crate::engine::ports::Deployment).
//!
//! It keeps nothing: no cache and no copy. What it must not do is happen twice: every call says how it may be repeated
//! (`call::Repeat`), and what may have happened without an answer is told as that. Surprising: what a server can beyond the API is
//! taken from its answers alone ([`Extension`]), never from its address.

mod answer;
mod call;
mod deployment;
mod events;
mod failure;
mod feed;
mod lists;
mod missed;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Certificate, Client, Url};

use self::call::Call;
use super::key::{KeySource, Keys};
use super::outbound::{self, causes, shown};
use crate::api::{Extension, Words};
use crate::engine::ports::Told;

/// Who only asks whether a server is there does not wait for longer.
const ASKING: Duration = Duration::from_secs(10);
/// How long connecting may take.
const CONNECT_TIMEOUT_MS: u64 = 10_000;

/// Which server, and how to call it.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Such as `https://agents.example.com/v1`.
    pub base_url: String,
    /// Where the key comes from.
    pub key: KeySource,
    /// Certificates of the authorities to trust, in PEM, instead of the system's.
    pub ca_pem: Option<Vec<u8>>,
    /// How long one call may take, with all its repetitions.
    pub timeout_ms: u64,
}

/// Why there can be no such client: the configuration or the machine must be mended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// Not an `http` or `https` address.
    #[error("base_url '{url}' can't be used: {why}")]
    BaseUrl {
        /// As configured, without a password.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// The certificates can't be read.
    #[error("the certificates of ca_file can't be used: {why}")]
    Certificates {
        /// The library's reason.
        why: String,
    },
    /// TLS could not be set up.
    #[error(
        "a client for '{url}' can't be made: {why}; are the system's CA certificates installed?"
    )]
    Client {
        /// As configured, without a password.
        url: String,
        /// The library's reason.
        why: String,
    },
}

/// A server, as its caller sees it. Clones share everything.
#[derive(Clone)]
pub struct Remote(Arc<Inner>);

struct Inner {
    client: Client,
    base: Url,
    /// What may be shown of the address.
    shown: String,
    keys: Keys,
    timeout: Duration,
    /// What the server can, as its last answer said; `None` before the first.
    extensions: Mutex<Option<BTreeSet<Extension>>>,
}

impl Remote {
    /// Prepares the client; nothing is sent, and no key is read.
    ///
    /// # Errors
    /// The options can't be used.
    pub fn new(options: RemoteOptions) -> Result<Remote, RemoteError> {
        let name = shown(&options.base_url);
        let refuse = |why: String| RemoteError::BaseUrl {
            url: name.clone(),
            why,
        };
        let base = Url::parse(&options.base_url).map_err(|error| refuse(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(refuse("it must begin with http:// or https://".to_owned()));
        }
        let mut client = outbound::client(&base, CONNECT_TIMEOUT_MS);
        if let Some(pem) = &options.ca_pem {
            let bad = |why: String| RemoteError::Certificates { why };
            let all = Certificate::from_pem_bundle(pem).map_err(|error| bad(causes(&error)))?;
            if all.is_empty() {
                return Err(bad("there is none in it".to_owned()));
            }
            client = client.tls_certs_only(all);
        }
        let client = client.build().map_err(|error| RemoteError::Client {
            url: name.clone(),
            why: causes(&error),
        })?;
        Ok(Remote(Arc::new(Inner {
            client,
            base,
            shown: name,
            keys: Keys::new(options.key),
            timeout: Duration::from_millis(options.timeout_ms),
            extensions: Mutex::default(),
        })))
    }

    /// What may be shown of the address.
    pub fn address(&self) -> &str {
        &self.0.shown
    }

    /// Asks the server something harmless: what it has beyond the API.
    ///
    /// # Errors
    /// It can't be reached, or does not take the key.
    pub async fn extensions(&self) -> Told<Vec<Extension>> {
        let mut call = Call::get(&["agents"]);
        call.query.push(("limit".to_owned(), "1".to_owned()));
        call.within = Some(self.0.timeout.min(ASKING));
        let answered = self.fetch::<serde_json::Value>(&call).await;
        answered.map_err(|failure| failure.about("agent", ""))?;
        let all = Extension::ALL.iter().copied();
        Ok(all.filter(|one| self.has(*one) == Some(true)).collect())
    }

    /// Whether the server said that it has this; `None` if it has not answered anything yet.
    fn has(&self, extension: Extension) -> Option<bool> {
        let told = self.0.extensions.lock();
        let told = told.unwrap_or_else(PoisonError::into_inner);
        told.as_ref().map(|all| all.contains(&extension))
    }

    fn learn(&self, all: BTreeSet<Extension>) {
        let told = self.0.extensions.lock();
        *told.unwrap_or_else(PoisonError::into_inner) = Some(all);
    }
}
