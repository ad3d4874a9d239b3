//! The key's file: made once, whole or not at all, for its owner alone. Everything here blocks.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ring::aead::{AES_256_GCM, LessSafeKey, UnboundKey};

use crate::backend::local::ids;
use crate::engine::ports::{SecretError, StoreFault};

/// Bytes of the key.
const KEY_BYTES: usize = 32;
/// Bits of a mode that let others than the owner in.
const OTHERS: u32 = 0o077;

/// See the module.
pub(super) struct KeyFile {
    path: PathBuf,
    key: OnceLock<LessSafeKey>,
}

impl KeyFile {
    /// The key at `path`, which is read when it is needed first.
    pub(super) fn new(path: PathBuf) -> KeyFile {
        KeyFile {
            path,
            key: OnceLock::new(),
        }
    }

    /// The key; made if `create` says so and there is none.
    pub(super) fn get(&self, create: bool) -> Result<&LessSafeKey, SecretError> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let bytes = match self.read() {
            Err(error) if create && error.kind() == io::ErrorKind::NotFound => {
                self.make().map_err(|error| self.sort("make", &error))?;
                self.read()
            }
            other => other,
        };
        let bytes = bytes.map_err(|error| self.sort("read", &error))?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes)
            .map_err(|_| self.damaged(&format!("it is not {KEY_BYTES} bytes long")))?;
        Ok(self.key.get_or_init(|| LessSafeKey::new(key)))
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(&self.path)?;
        if file.metadata()?.mode() & OTHERS != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let mut bytes = Vec::with_capacity(KEY_BYTES);
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Written aside and then given its name: nobody ever reads half a key, and of two processes one makes it.
    fn make(&self) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let mut random = [0; KEY_BYTES];
        ids::fill(&mut random);
        let mut name = [0; 8];
        ids::fill(&mut name);
        let aside = dir.join(format!(".key.{}", data_encoding::HEXLOWER.encode(&name)));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)
            .and_then(|mut file| {
                file.write_all(&random)?;
                file.sync_all()
            });
        let made = written.and_then(|()| std::fs::hard_link(&aside, &self.path));
        // Left behind, it is a key that nothing was sealed with.
        let _ = std::fs::remove_file(&aside);
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => {
                for dir in [Some(dir), dir.parent()].into_iter().flatten() {
                    File::open(dir)?.sync_all()?;
                }
                Ok(())
            }
        }
    }

    fn sort(&self, what: &str, error: &io::Error) -> SecretError {
        let path = self.path.display();
        let broken = |fault, message| SecretError::Broken { fault, message };
        match error.kind() {
            io::ErrorKind::NotFound => self.damaged("it is gone"),
            io::ErrorKind::PermissionDenied => broken(
                StoreFault::ReadOnly,
                format!("can't {what} the key {path}: it must be this user's and of mode 0600"),
            ),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => broken(
                StoreFault::DiskFull,
                format!("no space left to {what} the key {path}; free some space on that disk"),
            ),
            io::ErrorKind::ReadOnlyFilesystem => broken(
                StoreFault::ReadOnly,
                format!("can't {what} the key {path}: it is on a read-only file system"),
            ),
            _ => SecretError::Unavailable(format!("can't {what} the key {path}: {error}")),
        }
    }

    fn damaged(&self, why: &str) -> SecretError {
        SecretError::Broken {
            fault: StoreFault::Corrupt,
            message: format!(
                "the key {} can't be used: {why}; put it back from a backup, or delete the Sessions whose values it sealed",
                self.path.display()
            ),
        }
    }
}
