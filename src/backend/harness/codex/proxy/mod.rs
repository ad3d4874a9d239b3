//! A model provider on loopback for agents that are programs of their own. It stands between them and the real provider.
//!
//! - The real key is here and nowhere else. The agent has a token that is good for one admission: one run of a harness for one Session. When
//!   that ends, or a newer one begins, the token opens nothing and what is still streaming is cut.
//! - It is a witness. What the model asks for passes here before the agent can act on it, so a call is recorded first, or never arrives.
//!   Tokens are counted where they are spent.
//! - It waits. What the agent tells the model passes when the harness says so, which is when it is recorded.
//! - What the provider streams arrives as it was sent, byte for byte and at the speed at which it is read. Nothing that passes is logged.

mod admission;
mod answer;
pub(super) mod frames;
mod listen;
mod relay;
mod request;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::mcp::http::Relay;

use self::admission::Door;
pub use self::admission::{Admission, Budget, FromProxy};
use crate::backend::model::http::caller::Caller;
use crate::backend::model::http::{HttpModelError, HttpOptions};

/// Why there can be no proxy.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The provider is configured in a way that can't work: the operator must mend it.
    #[error(transparent)]
    Provider(#[from] HttpModelError),
    /// No port of this machine's loopback could be had.
    #[error("no port on loopback for the agent's model requests: {0}")]
    Listen(#[from] io::Error),
}

/// What all requests have in common.
struct Shared {
    door: Arc<Door>,
    caller: Caller,
}

/// The proxy of a process. It ends when this is dropped.
pub struct ModelProxy {
    address: SocketAddr,
    door: Arc<Door>,
    accepting: JoinHandle<()>,
}

impl ModelProxy {
    /// Listens on a port of loopback. Nothing is sent, and no key is read, before an agent asks.
    pub async fn start(provider: HttpOptions) -> Result<ModelProxy, ProxyError> {
        let caller = Caller::new(provider)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let door = Arc::new(Door::new());
        let shared = Arc::new(Shared {
            door: Arc::clone(&door),
            caller,
        });
        Ok(ModelProxy {
            address,
            door,
            accepting: tokio::spawn(listen::serve(listener, shared)),
        })
    }

    /// What an agent is configured with; it adds `/responses`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Lets one run of a harness in. An earlier one of the same Session is refused from now on: two never speak for one Session.
    ///
    /// Whoever takes it must read what the proxy says, because requests wait for that.
    pub fn admit(
        &self,
        session: &str,
        budget: Budget,
    ) -> (Admission, tokio::sync::mpsc::Receiver<FromProxy>) {
        self.door.admit(session, budget, None)
    }

    /// The same for a run whose Agent has MCP servers over HTTP.
    pub fn admit_with(
        &self,
        session: &str,
        budget: Budget,
        mcp: Arc<Relay>,
    ) -> (Admission, tokio::sync::mpsc::Receiver<FromProxy>) {
        self.door.admit(session, budget, Some(mcp))
    }

    /// Where an agent reaches its MCP servers; it adds the place of one.
    pub fn mcp_url(&self) -> String {
        format!("http://{}{}", self.address, listen::MCP)
    }
}

impl Drop for ModelProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.door.close();
    }
}
