//! The HTTP face inside a daemon: what it listens to, for whom, and its end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::tls::TlsFiles;
use crate::cli::compose::Local;
use crate::cli::out::{CliError, codes};
use crate::engine::measure::Measures;
use crate::engine::ports::Environments;
use crate::server::{Access, Server};

/// Answers that are under way get this long when the daemon stops.
const END_WITHIN: Duration = Duration::from_secs(5);

/// What the daemon serves over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serve {
    /// Where; port 0 is any free one.
    pub address: SocketAddr,
    /// Whoever reaches it is you.
    pub no_auth: bool,
    /// It may be an address that other machines reach.
    pub allow_remote: bool,
    /// What it proves itself with; `None`: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Requests a second of a key that says nothing else; without keys, of all together.
    pub requests_per_second: Option<u32>,
}

impl Serve {
    /// What can be refused before anything is looked at.
    ///
    /// # Errors
    /// Usage: the address is reached from elsewhere, and that was not wished for or would let everybody in.
    fn check(&self) -> Result<(), CliError> {
        if self.address.ip().is_loopback() {
            return Ok(());
        }
        let address = self.address;
        if self.no_auth {
            let message = format!(
                "--no-auth: {address} can be reached by other machines, and everybody there would be you"
            );
            return Err(
                CliError::new(codes::INPUT, message).hint("rat-things keys create --name NAME")
            );
        }
        if self.tls.is_none() && !self.allow_remote {
            let message = format!(
                "--listen: {address} can be reached by other machines, and HTTP without TLS shows them keys and content"
            );
            return Err(CliError::new(codes::INPUT, message)
                .hint("--tls-cert FILE --tls-key FILE")
                .hint("listen on 127.0.0.1, behind something that speaks TLS")
                .hint("--allow-remote, in a network that you trust"));
        }
        Ok(())
    }
}

/// The face at work.
pub(super) struct Face {
    /// Where it really listens.
    pub(super) address: SocketAddr,
    /// Whether it speaks TLS there.
    pub(super) is_tls: bool,
    serving: JoinHandle<()>,
}

/// Begins to listen and to answer, until `stopped` becomes true.
///
/// # Errors
/// The address is not one to serve like this, or is taken; there is no key and it was not wished to need none.
pub(super) async fn begin(
    local: &Local,
    serve: Serve,
    environments: Arc<dyn Environments>,
    measures: Measures,
    stopped: watch::Receiver<bool>,
) -> Result<Face, CliError> {
    serve.check()?;
    let is_tls = serve.tls.is_some();
    let tls = match serve.tls {
        Some(files) => Some(files.follow(stopped.clone())?),
        None => None,
    };
    let counting = stopped.clone();
    let access = match serve.no_auth {
        true => Access::Open {
            owner: local.owner.clone(),
        },
        false => {
            let now_ms = crate::cli::compose::now_ms();
            let keys = local.core.list_keys(&local.owner).await?;
            if keys.iter().all(|key| key.is_expired(now_ms)) {
                let message = "--listen: there is no access key, so nobody could use it";
                return Err(CliError::new(codes::AUTH, message)
                    .hint("rat-things keys create --name NAME")
                    .hint("--no-auth lets every user and program of this machine in, as you"));
            }
            Access::Keys
        }
    };
    let cannot = |error: std::io::Error| {
        let message = format!("--listen: cannot listen on {}: {error}", serve.address);
        CliError::new(codes::UNAVAILABLE, message).hint("choose another port; 0 is any free one")
    };
    let listener = TcpListener::bind(serve.address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let server = Server::new(local.core.clone(), access, stopped)
        .limited(serve.requests_per_second)
        .over(environments)
        .through(tls)
        .showing(measures.clone());
    tokio::spawn(measures.census.run(counting));
    Ok(Face {
        address,
        is_tls,
        serving: tokio::spawn(server.serve(listener)),
    })
}

impl Face {
    /// Waits for the answers that are under way, within bounds. It must have been told to stop.
    pub(super) async fn end(self) {
        let mut serving = self.serving;
        if tokio::time::timeout(END_WITHIN, &mut serving)
            .await
            .is_err()
        {
            serving.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_are_served_only_on_an_explicit_wish_or_with_tls_and_never_without_keys() {
        let files = TlsFiles {
            certificate: "c".into(),
            key: "k".into(),
        };
        let serve = |address: &str, no_auth, allow_remote, tls: bool| Serve {
            address: address.parse().expect("an address"),
            no_auth,
            allow_remote,
            tls: tls.then(|| files.clone()),
            requests_per_second: None,
        };
        for (address, no_auth, allow_remote, tls, allowed) in [
            ("127.0.0.1:0", false, false, false, true),
            ("127.0.0.1:0", true, false, false, true),
            ("127.0.0.1:0", true, false, true, true),
            ("[::1]:80", true, true, false, true),
            ("0.0.0.0:80", false, false, false, false),
            ("0.0.0.0:80", false, false, true, true),
            ("0.0.0.0:80", false, true, false, true),
            ("0.0.0.0:80", true, true, false, false),
            ("0.0.0.0:80", true, true, true, false),
            ("[::]:80", true, false, false, false),
            ("192.0.2.1:80", false, false, false, false),
            ("192.0.2.1:80", false, false, true, true),
        ] {
            let serve = serve(address, no_auth, allow_remote, tls);
            assert_eq!(serve.check().is_ok(), allowed, "{serve:?}");
        }
    }
}
