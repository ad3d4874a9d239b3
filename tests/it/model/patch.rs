//! The patch tool as the environment runs it: our own binary, a patch on standard input, the directory it is started in.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;
use rat_things::backend::harness::responses::patch::ROLE;

/// Exit code and standard output.
fn apply(patch: &[u8], directory: &Path) -> (Option<i32>, String) {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_rat-things"))
        .arg(ROLE)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = tool.stdin.take().expect("it has a standard input");
    stdin.write_all(patch).expect("it reads its input");
    drop(stdin);
    let output = tool.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("it prints text");
    (output.status.code(), text)
}

#[test]
fn exit_code_and_output_say_what_was_changed() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let root = directory.path();
    let add = b"*** Begin Patch\n*** Add File: a/b.txt\n+one\n*** End Patch\n";
    assert_eq!(apply(add, root), (Some(0), "A a/b.txt\n".to_owned()));

    let update = b"*** Begin Patch\n*** Update File: a/b.txt\n-two\n+three\n*** End Patch\n";
    let (code, text) = apply(update, root);
    assert_eq!(code, Some(1));
    assert!(text.starts_with("a/b.txt: line 3 of the patch: "), "{text}");

    let update = b"*** Begin Patch\n*** Update File: a/b.txt\n*** Move to: c.txt\n-one\n+two\n*** End Patch\n";
    assert_eq!(
        apply(update, root),
        (Some(0), "A c.txt\nD a/b.txt\n".to_owned())
    );
    let content = std::fs::read_to_string(root.join("c.txt")).expect("it is there");
    assert_eq!(content, "two\n");

    std::os::unix::fs::symlink("nowhere", root.join("link")).expect("it can be made");
    let (code, text) = apply(
        b"*** Begin Patch\n*** Add File: link/x\n+x\n*** End Patch\n",
        root,
    );
    assert_eq!(code, Some(2));
    assert!(text.ends_with("; nothing was changed\n"), "{text}");
}

#[test]
fn input_that_is_no_patch_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    for (input, word) in [
        (b"".as_slice(), "`*** Begin Patch` was expected"),
        (b"\xFF".as_slice(), "not UTF-8"),
        (b"hello".as_slice(), "found `hello`"),
    ] {
        let (code, text) = apply(input, directory.path());
        assert_eq!(code, Some(1));
        assert!(text.contains(word), "{text}");
    }
}
