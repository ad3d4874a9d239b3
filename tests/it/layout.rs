//! The layout of the source, enforced: who may use whom, what the engine never touches, how files are named and how long
//! they get. `ARCHITECTURE.md` says why.
//!
//! The rules are data (`rules.rs`). `source.rs` and `tokens.rs` read Rust well enough to see paths through groups, `super`, comments and
//! strings. Each rule has a test that plants a violation, so that a rule that no longer bites is noticed.

mod bites;
mod rules;
mod source;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

use source::Source;

#[test]
fn the_source_keeps_the_rules() {
    let sources = sources();
    assert!(sources.len() > 30, "only {} files found", sources.len());
    let violations = rules::violations(&sources);
    assert!(
        violations.is_empty(),
        "{} violations:\n{}",
        violations.len(),
        violations.join("\n")
    );
}

#[test]
fn every_exception_is_still_needed() {
    let unneeded = rules::unneeded_exceptions(&sources());
    assert!(
        unneeded.is_empty(),
        "no longer needed:\n{}",
        unneeded.join("\n")
    );
}

/// Every Rust file under `src`, with the files that only exist for tests marked.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(&root.join("src"), &mut files);
    files.sort();
    let mut sources: Vec<Source> = files
        .iter()
        .map(|file| {
            let path = file.strip_prefix(root).expect("files are below the root");
            let text = fs::read_to_string(file).expect("source files are readable text");
            Source::new(&path.to_string_lossy(), &text)
        })
        .collect();
    source::mark_test_files(&mut sources);
    sources
}

fn collect(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("source directories are readable") {
        let path = entry.expect("source directories are readable").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}
