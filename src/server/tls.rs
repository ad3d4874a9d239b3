//! TLS on the server's own listener: what a certificate and its key become, and the handshake.
//!
//! Files are nobody's business here; whoever has them gives their text, and may give a newer pair at any time. Connections that are
//! open keep the pair that they began with.

use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{InconsistentKeys, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// What a listener proves itself with: TLS 1.2 or 1.3, and HTTP/1.1 inside.
#[derive(Clone, Debug)]
pub struct Identity(Arc<ServerConfig>);

/// Why a certificate and a key are no identity. An operator must give others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// The text of the certificate has none, or one that can't be read.
    #[error("{0}")]
    Certificate(String),
    /// The text of the key has none, or one that can't be read or used.
    #[error("{0}")]
    Key(String),
    /// Each is fine, and the key is another certificate's.
    #[error("the key does not belong to the certificate")]
    Mismatch,
}

impl Identity {
    /// From the text of a certificate, followed by those that vouch for it, and of its key; both PEM. The key may be PKCS #8, PKCS #1
    /// or SEC 1, and not encrypted.
    ///
    /// # Errors
    /// They are none, or do not belong together.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Result<Identity, TlsError> {
        let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| TlsError::Certificate(format!("no PEM: {error}")))?;
        if chain.is_empty() {
            let message = "there is no certificate in it".to_owned();
            return Err(TlsError::Certificate(message));
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| match error {
            rustls::pki_types::pem::Error::NoItemsFound => {
                TlsError::Key("there is no private key in it that is not encrypted".to_owned())
            }
            error => TlsError::Key(format!("no PEM: {error}")),
        })?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
        let built = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map(|builder| builder.with_no_client_auth());
        let built = built.and_then(|builder| builder.with_single_cert(chain, key));
        let mut config = built.map_err(|error| match error {
            rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::Mismatch,
            rustls::Error::InvalidCertificate(error) => {
                TlsError::Certificate(format!("the certificate can't be read: {error}"))
            }
            error => TlsError::Key(format!("the key can't be used: {error}")),
        })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Identity(Arc::new(config)))
    }
}

/// The identity as it is now.
#[derive(Clone, Debug)]
pub struct Tls(watch::Receiver<Identity>);

impl Tls {
    /// Follows this channel.
    pub fn following(identities: watch::Receiver<Identity>) -> Tls {
        Tls(identities)
    }

    /// Greets whoever connected; `None` if that came to nothing in time. Whoever speaks no TLS is told so in TLS and let go.
    pub(super) async fn greet<S>(&self, stream: S, patience: Duration) -> Option<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let config = Arc::clone(&self.0.borrow().0);
        let greeted = TlsAcceptor::from(config).accept(stream);
        match tokio::time::timeout(patience, greeted).await {
            Ok(Ok(stream)) => Some(stream),
            Ok(Err(error)) => {
                tracing::debug!(%error, "a TLS handshake failed");
                None
            }
            Err(_) => {
                tracing::debug!("a TLS handshake took too long");
                None
            }
        }
    }
}
