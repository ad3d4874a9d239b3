//! Which servers over HTTP may be reached, and the clients that reach no other.
//!
//! Whoever makes an Agent names addresses, and they are asked from where the engine is. So by default they must be public ones, which is
//! looked at after a name was looked up; the operator names the others. A server that the environment connects to is under the
//! environment's rules instead.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::HttpServer;
use crate::api::ConnectionOrigin;
use crate::backend::local::sandbox::proxy::{Authority, Host, Reach, Rules};
use crate::backend::outbound;
use crate::engine::ports::Network;

/// How long a connection may take to come about.
const CONNECT_TIMEOUT_MS: u64 = 10_000;

/// A connection that says nothing is kept no longer.
const IDLE: Duration = Duration::from_secs(90);

/// What may be reached.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Hosts (`host`, `host:port` or `*.domain`, lower case) that may be asked though their addresses are not public.
    pub private_hosts: Vec<String>,
    /// What commands in the environment may reach.
    pub network: Network,
    /// Tells which addresses are public.
    pub reach: Reach,
}

/// A client for one server.
pub struct Client {
    /// It reaches what the policy allows and nothing else.
    pub client: reqwest::Client,
    /// The server's address.
    pub url: Url,
}

/// Clients by what they may reach.
pub struct Clients {
    policy: Policy,
    /// For an address; it keeps connections.
    made: Mutex<HashMap<Url, reqwest::Client>>,
}

impl Clients {
    /// None is made yet.
    pub fn new(policy: Policy) -> Clients {
        Clients {
            policy,
            made: Mutex::default(),
        }
    }

    /// The client for a server.
    ///
    /// # Errors
    /// It may not be reached, with the reason.
    pub fn of(&self, server: &HttpServer) -> Result<Client, String> {
        let may = self.policy.may(&server.url, server.origin)?;
        let url = server.url.clone();
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(&url) {
            let client = client.clone();
            return Ok(Client { client, url });
        }
        // Through a proxy, the proxy would choose the address.
        let mut client = outbound::client(&url, CONNECT_TIMEOUT_MS)
            .no_proxy()
            .pool_idle_timeout(IDLE);
        if let May::IfPublic = may {
            client = client.dns_resolver(Arc::new(PublicOnly(self.policy.reach.clone())));
        }
        let client = client.build().map_err(|error| outbound::causes(&error))?;
        made.insert(url.clone(), client.clone());
        Ok(Client { client, url })
    }
}

/// What may be reached of an address that may be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// Wherever it is.
    Anyway,
    /// If what its name stands for is public.
    IfPublic,
}

impl Policy {
    fn may(&self, url: &Url, origin: ConnectionOrigin) -> Result<May, String> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(format!("{} is no scheme for a server here", url.scheme()));
        }
        let authority = authority(url).ok_or("its address has no host that is understood here")?;
        if origin == ConnectionOrigin::Environment {
            let rules = Rules::of(&self.network).map_err(|error| error.to_string())?;
            let rules = rules.ok_or(
                "connection_origin is environment, and the environment's network is disabled",
            )?;
            if !rules.allow(&authority) {
                return Err(format!(
                    "the environment's network does not allow {authority}"
                ));
            }
        } else if self.is_private_host(url, &authority) {
            return Ok(May::Anyway);
        }
        match authority.host {
            Host::Address(ip) if !self.reach.may_dial(ip) => Err(format!(
                "{authority} is not a public address; the operator can name it in `mcp.private_hosts`"
            )),
            _ => Ok(May::IfPublic),
        }
    }

    fn is_private_host(&self, url: &Url, authority: &Authority) -> bool {
        let host = url.host_str().unwrap_or_default();
        let with_port = format!("{host}:{}", authority.port);
        let fits = |named: &String| match named.strip_prefix('*') {
            // The dot stays: it is for what is below.
            Some(below) => host.len() > below.len() && host.ends_with(below),
            None => named == host || *named == with_port,
        };
        self.private_hosts.iter().any(fits)
    }
}

fn authority(url: &Url) -> Option<Authority> {
    let host = url.host_str()?;
    let port = url.port_or_known_default()?;
    Authority::parse(&format!("{host}:{port}"), None)
}

/// Looks names up and answers with what of it is public.
struct PublicOnly(Reach);

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let addresses = reach.addresses(name.as_str()).await?;
            let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses.collect::<Vec<_>>().into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn policy(network: Network) -> Policy {
        Policy {
            private_hosts: vec![
                "127.0.0.1:8080".into(),
                "mcp.internal".into(),
                "*.corp".into(),
            ],
            network,
            reach: Reach::default(),
        }
    }

    fn may(network: Network, url: &str, origin: ConnectionOrigin) -> Result<May, String> {
        let url = Url::parse(url).expect("an address");
        policy(network).may(&url, origin)
    }

    #[test]
    fn a_server_of_the_service_is_public_or_named_by_the_operator() {
        let of = |url: &str| may(Network::Disabled, url, ConnectionOrigin::Service);
        assert_eq!(of("https://mcp.example/x"), Ok(May::IfPublic));
        assert_eq!(of("https://93.184.216.34/"), Ok(May::IfPublic));
        assert_eq!(of("http://127.0.0.1:8080/mcp"), Ok(May::Anyway));
        assert_eq!(of("http://mcp.INTERNAL:1/"), Ok(May::Anyway));
        assert_eq!(of("http://a.corp/"), Ok(May::Anyway));
        assert_eq!(of("http://corp/"), Ok(May::IfPublic));
        for private in [
            "http://127.0.0.1:8081/",
            "http://[::1]/",
            "http://169.254.169.254/latest",
            "http://10.0.0.1/",
            "http://2130706433/",
            "ftp://mcp.example/",
        ] {
            assert!(of(private).is_err(), "{private}");
        }
    }

    #[test]
    fn a_server_of_the_environment_is_under_its_rules() {
        let of = |network: Network, url: &str| may(network, url, ConnectionOrigin::Environment);
        let restricted = || Network::Restricted {
            allowed_domains: vec!["mcp.example".into()],
        };
        let why = of(Network::Disabled, "https://mcp.example/").expect_err("there is no network");
        assert!(why.contains("network is disabled"), "{why}");
        assert_eq!(of(restricted(), "https://mcp.example/"), Ok(May::IfPublic));
        assert!(of(restricted(), "https://other.example/").is_err());
        assert_eq!(
            of(Network::Enabled, "https://other.example/"),
            Ok(May::IfPublic)
        );
        // What the operator named is for the service alone.
        assert!(of(Network::Enabled, "http://127.0.0.1:8080/").is_err());
    }
}
