//! The files behind the daemon's TLS: read at its start, and again when they change.
//!
//! They are looked at, not waited for by a signal: whoever renews certificates only has to write them. A pair that can't be used is
//! told in the log, once, and the one before it stays.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::watch;

use crate::cli::out::{CliError, codes};
use crate::server::tls::{Identity, Tls, TlsError};

/// The files are looked at this often.
const LOOK: Duration = Duration::from_secs(2);
/// Certificates and keys are small; more than this is another file.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Where a certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, followed by those that vouch for it.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What is in them.
#[derive(PartialEq, Eq)]
struct Texts {
    certificate: Vec<u8>,
    key: Vec<u8>,
}

impl TlsFiles {
    /// The identity that is in the files now, and in whatever they become until `stopped` turns true.
    ///
    /// # Errors
    /// Usage, naming the file: it can't be read, or does not hold what it should.
    pub(super) fn follow(self, stopped: watch::Receiver<bool>) -> Result<Tls, CliError> {
        let texts = self.read()?;
        let (tell, identities) = watch::channel(self.identity(&texts)?);
        tokio::spawn(self.look_again(texts, tell, stopped));
        Ok(Tls::following(identities))
    }

    async fn look_again(
        self,
        mut known: Texts,
        tell: watch::Sender<Identity>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut unreadable = false;
        loop {
            tokio::select! {
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = tokio::time::sleep(LOOK) => {}
            }
            let files = self.clone();
            // Files may be on a disk that is not there for a while.
            let Ok(read) = tokio::task::spawn_blocking(move || files.read()).await else {
                continue;
            };
            let texts = match read {
                Ok(texts) => texts,
                Err(error) => {
                    if !std::mem::replace(&mut unreadable, true) {
                        tracing::warn!(%error, "the certificate could not be looked at");
                    }
                    continue;
                }
            };
            unreadable = false;
            if texts == known {
                continue;
            }
            match self.identity(&texts) {
                Ok(identity) => {
                    tell.send_replace(identity);
                    tracing::info!("new connections get the new certificate");
                }
                Err(error) => tracing::warn!(%error, "the new certificate is not used"),
            }
            known = texts;
        }
    }

    fn read(&self) -> Result<Texts, CliError> {
        Ok(Texts {
            certificate: read("--tls-cert", &self.certificate)?,
            key: read("--tls-key", &self.key)?,
        })
    }

    fn identity(&self, texts: &Texts) -> Result<Identity, CliError> {
        let identity = Identity::from_pem(&texts.certificate, &texts.key);
        identity.map_err(|error| {
            let (certificate, key) = (self.certificate.display(), self.key.display());
            let message = match &error {
                TlsError::Certificate(_) => format!("--tls-cert: {certificate}: {error}"),
                TlsError::Key(_) => format!("--tls-key: {key}: {error}"),
                TlsError::Mismatch => {
                    format!("--tls-key: {key}: {error} in {certificate}")
                }
            };
            CliError::new(codes::INPUT, message)
                .hint("both are PEM files; the certificate's own comes first in its file")
        })
    }
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>, CliError> {
    let cannot = |why: String| {
        let message = format!("{option}: cannot read {}: {why}", path.display());
        CliError::new(codes::INPUT, message)
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path);
    let read = file.and_then(|file| file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 > FILE_MAX_BYTES => {
            Err(cannot("it is larger than 1 MiB".to_owned()))
        }
        Ok(_) => Ok(bytes),
        Err(error) => Err(cannot(error.to_string())),
    }
}
