//! A file that appears under its name only when it is whole: written beside it, synced, renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::cli::out::{CliError, codes};
use crate::text::{is_control, is_hidden};

/// A file that is being written. Dropped without [`NewFile::finish`], nothing of it is left.
pub(in crate::cli) struct NewFile {
    file: File,
    partial: PathBuf,
    to: PathBuf,
    replace: bool,
    done: bool,
}

impl NewFile {
    /// Begins a file that will be called `to`. With `replace`, one that has the name already goes.
    ///
    /// # Errors
    /// Conflict when the name is taken; usage when the directory can't be written.
    pub(in crate::cli) fn begin(to: &Path, replace: bool) -> Result<NewFile, CliError> {
        NewFile::with_mode(to, replace, 0o666)
    }

    /// The same, readable by nobody else, whatever the umask allows.
    pub(in crate::cli) fn begin_private(to: &Path, replace: bool) -> Result<NewFile, CliError> {
        NewFile::with_mode(to, replace, 0o600)
    }

    fn with_mode(to: &Path, replace: bool, mode: u32) -> Result<NewFile, CliError> {
        if !replace && to.symlink_metadata().is_ok() {
            return Err(taken(to));
        }
        let name = to.file_name().unwrap_or_default().to_string_lossy();
        let partial = to.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&partial)
            .map_err(|error| failed(to, &error))?;
        Ok(NewFile {
            file,
            partial,
            to: to.to_owned(),
            replace,
            done: false,
        })
    }

    /// A second handle on the file, for whoever writes it step by step.
    pub(in crate::cli) fn handle(&self) -> Result<File, CliError> {
        self.file
            .try_clone()
            .map_err(|error| failed(&self.to, &error))
    }

    /// The directory that the file will be in.
    pub(in crate::cli) fn directory(&self) -> &Path {
        match self.to.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        }
    }

    /// Adds bytes.
    pub(in crate::cli) fn write(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.file
            .write_all(bytes)
            .map_err(|error| failed(&self.to, &error))
    }

    /// Gives the file its name, and answers how long it is.
    pub(in crate::cli) fn finish(mut self) -> Result<u64, CliError> {
        let synced = self.file.sync_all().and_then(|()| self.file.metadata());
        let size_bytes = synced.map_err(|error| failed(&self.to, &error))?.len();
        let named = match self.replace {
            true => fs::rename(&self.partial, &self.to),
            // A name that was taken meanwhile is not overwritten: a link is refused where a rename would not be.
            false => fs::hard_link(&self.partial, &self.to).or_else(|error| match error.kind() {
                io::ErrorKind::AlreadyExists => Err(error),
                // File systems without links.
                _ => fs::rename(&self.partial, &self.to),
            }),
        };
        match named {
            Ok(()) => {
                self.done = self.replace;
                Ok(size_bytes)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken(&self.to)),
            Err(error) => Err(failed(&self.to, &error)),
        }
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.done {
            // It may have been renamed, and there is nothing better to report than what went wrong before.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

/// Where to write: a directory stands for the Artifact's own name in it.
///
/// # Errors
/// Usage when that name is none that a terminal could show.
pub(in crate::cli) fn destination(to: &Path, artifact_path: &str) -> Result<PathBuf, CliError> {
    if !to.is_dir() {
        return Ok(to.to_owned());
    }
    let name = artifact_path.rsplit('/').next().unwrap_or_default();
    let odd = name.is_empty()
        || name == "."
        || name == ".."
        || name.chars().any(|c| is_control(c) || is_hidden(c));
    if odd {
        let message = format!("--to: the artifact's own name, {name:?}, is no good file name");
        return Err(CliError::new(codes::INPUT, message).hint("name the file: --to DIR/FILE"));
    }
    Ok(to.join(name))
}

fn taken(to: &Path) -> CliError {
    let message = format!("--to: {} exists already; nothing was written", to.display());
    CliError::new(codes::CONFLICT, message).hint("choose another name, or replace it with --force")
}

fn failed(to: &Path, error: &io::Error) -> CliError {
    let (code, hint) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (codes::OUTPUT, "free some space, and run the command again")
        }
        _ => (codes::INPUT, "choose a place that you can write to"),
    };
    CliError::new(
        code,
        format!("--to: cannot write {}: {error}", to.display()),
    )
    .hint(hint)
    .because(io::Error::from(error.kind()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("a");
        let names = || {
            let mut names: Vec<_> = fs::read_dir(dir.path())
                .expect("lists")
                .map(|entry| entry.expect("an entry").file_name())
                .collect();
            names.sort();
            names
        };
        let mut file = NewFile::begin(&to, false).expect("begins");
        file.write(b"half").expect("writes");
        drop(file);
        assert!(names().is_empty());
        for (replace, text) in [(false, "one"), (true, "two")] {
            let mut file = NewFile::begin(&to, replace).expect("begins");
            file.write(text.as_bytes()).expect("writes");
            file.finish().expect("named");
            assert_eq!(names(), ["a"]);
            assert_eq!(fs::read_to_string(&to).expect("reads"), text);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_kept_even_if_it_is_taken_late() {
        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("a");
        let mut file = NewFile::begin(&to, false).expect("begins");
        file.write(b"new").expect("writes");
        fs::write(&to, "old").expect("writes");
        assert_eq!(file.finish().expect_err("taken").exit_code(), 5);
        assert_eq!(fs::read_to_string(&to).expect("reads"), "old");
        assert!(NewFile::begin(&to, false).is_err());
        assert_eq!(fs::read_dir(dir.path()).expect("lists").count(), 1);
    }

    proptest::proptest! {
        /// Whatever an agent called its file, it is written into the directory itself, or nowhere.
        #[test]
        fn no_name_of_an_artifact_leads_out_of_the_directory(path in "(/|\\.|[a-zé \u{1}\u{200b}]){0,12}") {
            let dir = std::env::temp_dir();
            if let Ok(to) = destination(&dir, &path) {
                proptest::prop_assert_eq!(to.parent(), Some(&*dir));
                proptest::prop_assert!(to.file_name().is_some_and(|name| path.ends_with(&*name.to_string_lossy())));
            }
        }
    }

    #[test]
    fn a_directory_takes_the_artifacts_own_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let into = |path| destination(dir.path(), path);
        assert_eq!(
            into("/workspace/outputs/a/report.md").expect("a name"),
            dir.path().join("report.md")
        );
        for odd in ["/workspace/outputs/..", "/", "/workspace/outputs/a\x1b[2J"] {
            assert_eq!(into(odd).expect_err("odd").exit_code(), 2, "{odd:?}");
        }
        let file = dir.path().join("x");
        assert_eq!(destination(&file, "/a/b").expect("as given"), file);
    }
}
