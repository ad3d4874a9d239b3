//! The directory of one Codex process: made for it, readable by this user alone, and gone with it.

use std::fs::File;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::config;
use super::exec::ROLE;

/// Locked by whoever makes or sweeps directories.
const TURNSTILE: &str = ".lock";

/// In each directory: locked as long as its process is wanted.
const IN_USE: &str = "in-use";

const PREFIX: &str = "codex-";

/// A directory that is removed when this is dropped.
pub struct Home {
    dir: tempfile::TempDir,
    _in_use: File,
}

impl Home {
    /// Makes one below `homes`. `relay` is what commands go through; `None`: no commands.
    ///
    /// # Errors
    /// It can't be made; nothing is left behind.
    pub fn make(homes: &Path, relay: Option<&Path>, model: &str) -> io::Result<Home> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(homes)?;
        let turnstile = File::create(homes.join(TURNSTILE))?;
        flock(&turnstile, FlockOperation::LockExclusive)?;
        sweep(homes);
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(homes)?;
        let in_use = File::create(dir.path().join(IN_USE))?;
        flock(&in_use, FlockOperation::NonBlockingLockExclusive)?;
        drop(turnstile);
        let home = Home {
            dir,
            _in_use: in_use,
        };
        std::fs::create_dir(home.tmp())?;
        let catalog = home.path().join("models.json");
        std::fs::write(&catalog, config::models(model, relay.is_some()).to_string())?;
        let main = config::main(&catalog.to_string_lossy(), model, relay.is_some());
        std::fs::write(home.path().join("config.toml"), main)?;
        let relay = relay.map(|program| program.to_string_lossy());
        let relay = relay.as_deref().map(|program| (program, ROLE));
        let environments = config::environments(relay, &home.path().to_string_lossy());
        std::fs::write(home.path().join("environments.toml"), environments)?;
        Ok(home)
    }

    /// Absolute.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// For temporary files of the process.
    pub fn tmp(&self) -> PathBuf {
        self.dir.path().join("tmp-files")
    }
}

/// Removes what workers that were killed left behind.
fn sweep(homes: &Path) {
    let entries = std::fs::read_dir(homes).into_iter().flatten().flatten();
    for entry in entries {
        if !entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
        {
            continue;
        }
        let is_used = File::open(entry.path().join(IN_USE))
            .is_ok_and(|in_use| flock(&in_use, FlockOperation::NonBlockingLockExclusive).is_err());
        if !is_used && let Err(error) = std::fs::remove_dir_all(entry.path()) {
            tracing::debug!(%error, "a directory that is not used any more could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_goes_with_its_process_and_one_that_was_left_goes_with_the_next() {
        let homes = tempfile::tempdir().expect("there is room");
        let left = homes.path().join("codex-left");
        std::fs::create_dir(&left).expect("it can be made");
        let one = Home::make(homes.path(), None, "m").expect("it can be made");
        assert!(!left.exists());
        let other = Home::make(homes.path(), None, "m").expect("it can be made");
        assert!(one.path().join("config.toml").exists() && other.path().exists());
        let path = one.path().to_owned();
        drop(one);
        assert!(!path.exists());
    }
}
