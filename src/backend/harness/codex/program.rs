//! Finding the Codex binary. What `npm` puts into `PATH` is a script around it; we start the binary itself, so that there is one process
//! to watch and to end.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The version that this harness speaks with.
pub const PINNED: &str = "0.171.0";

/// Where a package for one kind of machine keeps the binary.
const PLATFORMS: &[(&str, &str)] = &[
    ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
];

/// The binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Absolute.
    pub path: PathBuf,
}

impl Program {
    /// What belongs to it, as one directory: its own tools are beside it. The binary itself, if it is not in a package.
    pub fn package(&self) -> &Path {
        let above = self.path.parent().filter(|dir| dir.ends_with("bin"));
        above
            .and_then(Path::parent)
            .filter(|dir| dir.join("codex-path").is_dir())
            .unwrap_or(&self.path)
    }
}

/// Why there is none. An operator has to act; nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProgram {
    /// Nothing of that name is in `PATH`.
    #[error("there is no `codex` in PATH; {}", install())]
    NotInPath,
    /// What the configuration names is not there, or is no Codex.
    #[error("{path} is no Codex binary and no Codex package; {}", install())]
    NotThere {
        /// As configured.
        path: String,
    },
}

fn install() -> String {
    format!(
        "install it with `npm install -g @openai/codex@{PINNED}`, or set `codex.program` to where it is"
    )
}

impl Program {
    /// The one that is `named`, or the first in `path` (a list as in `PATH`).
    ///
    /// # Errors
    /// There is none, with how to install it.
    pub fn find(named: Option<&Path>, path: Option<&OsStr>) -> Result<Program, NoProgram> {
        if let Some(named) = named {
            return of(named).ok_or_else(|| NoProgram::NotThere {
                path: named.display().to_string(),
            });
        }
        let directories = std::env::split_paths(path.unwrap_or_default());
        directories
            .filter(|directory| directory.is_absolute())
            .find_map(|directory| of(&directory.join("codex")))
            .ok_or(NoProgram::NotInPath)
    }
}

/// The binary at this path, or the one of the package that it belongs to.
fn of(path: &Path) -> Option<Program> {
    let path = std::fs::canonicalize(path).ok()?;
    if is_binary(&path) {
        return Some(Program { path });
    }
    // `…/node_modules/@openai/codex/bin/codex.js`, that package, or a directory that has `node_modules`.
    let scopes = path
        .ancestors()
        .take(4)
        .flat_map(|above| [above.to_owned(), above.join("node_modules/@openai")]);
    let vendored = scopes.flat_map(|scope| {
        PLATFORMS.iter().flat_map(move |(package, target)| {
            let inside = format!("{package}/vendor/{target}/bin/codex");
            [
                scope.join(&inside),
                scope.join("codex/node_modules/@openai").join(&inside),
                scope.join("bin/codex"),
            ]
        })
    });
    let mut found = vendored.filter(|candidate| is_binary(candidate));
    found.next().map(|path| Program { path })
}

fn is_binary(path: &Path) -> bool {
    let mut magic = [0; 4];
    let mut read = || std::fs::File::open(path)?.read_exact(&mut magic);
    path.is_file() && read().is_ok() && magic == *b"\x7fELF"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, content: &[u8]) {
        std::fs::create_dir_all(path.parent().expect("it has a parent")).expect("it can be made");
        std::fs::write(path, content).expect("it can be written");
    }

    #[test]
    fn the_binary_behind_the_script_that_npm_installs_is_found() {
        let dir = tempfile::tempdir().expect("there is room");
        let scope = dir.path().join("lib/node_modules/@openai");
        put(&scope.join("codex/bin/codex.js"), b"#!/usr/bin/env node\n");
        let binary = scope.join(
            "codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        );
        put(&binary, b"\x7fELF and more");
        std::fs::create_dir(dir.path().join("bin")).expect("it can be made");
        let link = dir.path().join("bin/codex");
        std::os::unix::fs::symlink(scope.join("codex/bin/codex.js"), link).expect("it can be made");
        let path = std::env::join_paths([Path::new("/nowhere"), &dir.path().join("bin")]);
        let found = Program::find(None, path.ok().as_deref()).expect("it is there");
        assert_eq!(
            found.path,
            std::fs::canonicalize(binary).expect("it is there")
        );
    }

    #[test]
    fn a_missing_binary_is_told_with_how_to_install_it() {
        let dir = tempfile::tempdir().expect("there is room");
        let nothing = Program::find(None, Some(dir.path().as_os_str())).expect_err("none is there");
        assert!(
            nothing
                .to_string()
                .contains("npm install -g @openai/codex@0.171.0"),
            "{nothing}"
        );
        let script = dir.path().join("codex");
        put(&script, b"#!/bin/sh\n");
        let nothing = Program::find(Some(&script), None).expect_err("it is no binary");
        assert!(nothing.to_string().contains("codex.program"), "{nothing}");
    }
}
