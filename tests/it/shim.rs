//! Builds the library that is preloaded to make syncs slow or fail.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the shim into `dir` and answers where it is. The compiler that built SQLite is there for this as well.
pub fn build(dir: &Path) -> PathBuf {
    let library = dir.join("sync_shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/sync_shim.c");
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-O2", "-o"])
        .args([library.as_os_str(), source.as_ref()])
        .arg("-ldl")
        .status()
        .expect("a C compiler");
    assert!(status.success(), "{status}");
    library
}
