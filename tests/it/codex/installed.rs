//! The Codex that tests/codex/install puts below the target directory.

use std::path::{Path, PathBuf};

/// The program, or how it gets there.
pub(crate) fn codex() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("..");
    let program = target.join("codex/native/bin/codex");
    assert!(
        program.exists(),
        "{} is missing: tests/codex/install puts it there, and ./check runs that",
        program.display()
    );
    program.canonicalize().expect("it is there")
}
