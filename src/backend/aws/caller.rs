//! Who the caller is, remembered: AWS never gives an access key's id to anybody else, so that STS need not be asked with each command.
//!
//! What is kept is no secret: a digest of the key's id, and the owner's name. It is forgotten after half a day, and when AWS does not let the
//! caller in any more.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::client::AwsClients;
use super::identity::StsIdentity;
use crate::backend::local::clock::SystemClock;
use crate::engine::ids::sha256_hex;
use crate::engine::ports::{Clock, Identity, IdentityError, Principal};

/// How long an answer of STS holds.
const HOLDS_MS: u64 = 12 * 3_600_000;

/// Whoever STS said that the credentials belong to.
pub struct RememberedIdentity {
    asked: StsIdentity,
    clients: AwsClients,
    file: PathBuf,
}

/// A caller, and until when that holds (Unix ms).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    name: String,
    until_ms: u64,
}

type Callers = BTreeMap<String, Known>;

impl RememberedIdentity {
    /// The caller of these clients, as `asked` says, remembered in this file.
    pub fn new(asked: StsIdentity, clients: &AwsClients, file: PathBuf) -> RememberedIdentity {
        RememberedIdentity {
            asked,
            clients: clients.clone(),
            file,
        }
    }
}

/// Forgets all callers. A file that can't be removed is trusted until its time is over.
pub fn forget(file: &Path) {
    let _ = std::fs::remove_file(file);
}

#[async_trait]
impl Identity for RememberedIdentity {
    async fn caller(&self) -> Result<Principal, IdentityError> {
        // Whoever has no credentials hears from STS what to do.
        let Some(key) = self.clients.key_of_caller().await else {
            return self.asked.caller().await;
        };
        let key = sha256_hex(key.as_bytes());
        let now_ms = SystemClock.now_ms();
        let mut known = read(&self.file);
        known.retain(|_, known| (now_ms..=now_ms + HOLDS_MS).contains(&known.until_ms));
        if let Some(known) = known.remove(&key) {
            return Ok(Principal { name: known.name });
        }
        let caller = self.asked.caller().await?;
        let name = caller.name.clone();
        let until_ms = now_ms + HOLDS_MS;
        known.insert(key, Known { name, until_ms });
        if let Err(error) = write(&self.file, &known) {
            // The next command asks again.
            tracing::debug!(%error, "who the caller is could not be remembered");
        }
        Ok(caller)
    }
}

/// What can't be read is not known.
fn read(file: &Path) -> Callers {
    let text = std::fs::read(file).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Whole or not at all.
fn write(file: &Path, known: &Callers) -> std::io::Result<()> {
    let new = file.with_extension(format!("{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&new)?.write_all(&serde_json::to_vec(known)?)?;
    std::fs::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_what_is_damaged_is_not_known() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("callers.json");
        assert_eq!(read(&file), Callers::new());
        let known = Known {
            name: "aws:111122223333:role/Ops".to_owned(),
            until_ms: 7,
        };
        let callers = Callers::from([("ab".to_owned(), known)]);
        write(&file, &callers).expect("writes");
        assert_eq!(read(&file), callers);
        std::fs::write(&file, "{").expect("writes");
        assert_eq!(read(&file), Callers::new());
        write(&file, &callers).expect("writes");
        forget(&file);
        assert_eq!(read(&file), Callers::new());
        assert!(
            std::fs::read_dir(dir.path())
                .expect("a directory")
                .next()
                .is_none()
        );
    }
}
