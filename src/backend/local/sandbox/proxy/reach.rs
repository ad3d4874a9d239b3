//! Names to addresses, once, and from there only to addresses that passed the check.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::net::TcpStream;

use super::address;
use super::rules::{Authority, Host};

/// Addresses tried for one name.
const MAX_ADDRESSES: usize = 8;
/// How long one address may take to answer.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// How long a look-up may take.
const RESOLVE_TIME: Duration = Duration::from_secs(15);

/// Looks up a name.
type Resolve = dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync;

/// How a proxy reaches hosts: the system's resolver and the public Internet, unless a test says otherwise.
#[derive(Clone)]
pub struct Reach {
    resolve: Arc<Resolve>,
    may_dial: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
}

/// Why no connection was made.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// It has addresses, and none is public.
    #[error("its address is not public")]
    NotPublic,
    /// The look-up failed.
    #[error("no address was found ({0})")]
    NoAddress(io::Error),
    /// Nobody answered.
    #[error("no connection was made ({0})")]
    NoConnection(io::Error),
}

impl Default for Reach {
    fn default() -> Self {
        Reach::new(
            |name| Box::pin(system_resolver(name)),
            |ip| address::is_public(ip) && !address::own().contains(&ip),
        )
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").finish_non_exhaustive()
    }
}

impl Reach {
    /// With another resolver and another idea of what may be dialled.
    pub fn new(
        resolve: impl Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync + 'static,
        may_dial: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Reach {
        Reach {
            resolve: Arc::new(resolve),
            may_dial: Arc::new(may_dial),
        }
    }

    /// Whether an address may be dialled.
    pub fn may_dial(&self, ip: IpAddr) -> bool {
        (self.may_dial)(ip)
    }

    /// What a name stands for, as far as it may be dialled.
    ///
    /// # Errors
    /// The look-up failed, or nothing is left.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Unreachable> {
        let look_up = (self.resolve)(name.to_owned());
        let found = tokio::time::timeout(RESOLVE_TIME, look_up)
            .await
            .unwrap_or_else(|late| Err(late.into()))
            .map_err(Unreachable::NoAddress)?;
        let allowed: Vec<IpAddr> = found.into_iter().filter(|ip| self.may_dial(*ip)).collect();
        match allowed.is_empty() {
            true => Err(Unreachable::NotPublic),
            false => Ok(allowed),
        }
    }

    /// A connection to the first address that passes the check and answers.
    pub(super) async fn dial(&self, authority: &Authority) -> Result<TcpStream, Unreachable> {
        let allowed = match &authority.host {
            Host::Address(address) if self.may_dial(*address) => vec![*address],
            Host::Address(_) => return Err(Unreachable::NotPublic),
            Host::Name(name) => self.addresses(name).await?,
        };
        let mut trouble = None;
        for ip in allowed.into_iter().take(MAX_ADDRESSES) {
            let connect = TcpStream::connect(SocketAddr::new(ip, authority.port));
            match tokio::time::timeout(CONNECT_TIME, connect).await {
                Ok(Ok(stream)) => {
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(e)) => trouble = Some(e),
                Err(late) => trouble = Some(late.into()),
            }
        }
        Err(trouble.map_or(Unreachable::NotPublic, Unreachable::NoConnection))
    }
}

async fn system_resolver(name: String) -> io::Result<Vec<IpAddr>> {
    // The port is not looked up, but the call wants one.
    let addresses = tokio::net::lookup_host((name, 0)).await?;
    Ok(addresses.map(|address| address.ip()).collect())
}
