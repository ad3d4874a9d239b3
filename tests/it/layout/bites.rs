//! Each rule catches what it is there for, and leaves alone what only looks like it.

use super::rules::{MAY_ALSO_USE, unneeded_exceptions, violations};
use super::source::{Source, mark_test_files};

/// A file with an introduction and this code.
fn file(path: &str, code: &str) -> Source {
    Source::new(path, &format!("//! A planted file.\n{code}\n"))
}

#[track_caller]
fn caught(path: &str, code: &str, what: &str) {
    let found = violations(&[file(path, code)]);
    assert!(
        found.len() == 1 && found[0].contains(what),
        "{path}: {code}\nfound {found:?}, not one with {what:?}"
    );
}

#[track_caller]
fn fine(path: &str, code: &str) {
    assert_eq!(
        violations(&[file(path, code)]),
        Vec::<String>::new(),
        "{path}: {code}"
    );
}

#[test]
fn folders_use_only_what_they_may() {
    caught(
        "src/engine/x.rs",
        "use crate::backend::memory;",
        ":2: engine may not use backend",
    );
    caught(
        "src/engine/x.rs",
        "use crate::{api::Turn, cli::out::Out};",
        "engine may not use cli (`crate::cli::out::Out`)",
    );
    caught(
        "src/engine/x.rs",
        "use super::super::backend::local;",
        "engine may not use backend",
    );
    caught(
        "src/engine/x/y.rs",
        "use super::super::super::text::SafeText;",
        "engine may not use text",
    );
    caught(
        "src/engine/x.rs",
        "mod inner {\n use super::super::super::cli;\n}",
        ":3: engine may not use cli",
    );
    caught(
        "src/engine/x.rs",
        "fn f() { crate::backend::open() }",
        "engine may not use backend",
    );
    caught(
        "src/engine/mod.rs",
        "use super::text::SafeText;",
        "engine may not use text",
    );
    caught(
        "src/backend/x.rs",
        "use crate::cli::out::Say;",
        "backend may not use cli",
    );
    caught(
        "src/backend/x.rs",
        "use crate::text::SafeText;",
        "backend may not use text",
    );
    caught(
        "src/api/x.rs",
        "use crate::engine::ids;",
        "api may not use engine",
    );
    caught(
        "src/text/x.rs",
        "pub(crate) use crate::api::Turn;",
        "text may not use api",
    );
    caught(
        "src/cli/x.rs",
        "use crate::backend::local;",
        "cli may not use backend",
    );
    caught(
        "src/cli/x.rs",
        "use crate::tui::run;",
        "cli may not use tui",
    );
    caught(
        "src/server/x.rs",
        "use crate::cli::config::Vars;",
        "server may not use cli",
    );
    caught(
        "src/tui/x.rs",
        "#[cfg(test)]\nmod tests { use crate::server::routes; }",
        "tui may not use server",
    );
    caught(
        "src/main.rs",
        "fn main() { rat_things::backend::x() }",
        "src/main.rs may not use backend",
    );
    fine(
        "src/engine/x.rs",
        "use crate::api::Turn;\nuse super::ids;\nuse crate::engine::ports::{Store, Blobs};",
    );
    fine(
        "src/engine/x.rs",
        "mod tests { use super::super::ids; use super::*; }",
    );
    fine(
        "src/engine/x.rs",
        "// use crate::backend::local;\n/// [`crate::backend`]\nconst S: &str = \"use crate::backend\";",
    );
    fine("src/main.rs", "fn main() { rat_things::cli::main() }");
}

#[test]
fn one_file_names_backends_and_passes_none_on() {
    fine("src/cli/compose.rs", "use crate::backend::local::store;");
    caught(
        "src/cli/compose.rs",
        "pub use crate::backend::local::store;",
        "cli may not use backend",
    );
    caught(
        "src/cli/compose.rs",
        "pub(crate) use crate::backend::local::store;",
        "cli may not use backend",
    );
    caught(
        "src/cli/compose.rs",
        "use crate::tui::run;",
        "cli may not use tui",
    );
}

#[test]
fn places_outside_of_the_layout_are_refused() {
    caught("src/plumbing/mod.rs", "", "not part of the layout");
    caught("src/extra.rs", "", "not part of the layout");
}

#[test]
fn the_engine_has_no_io_clock_or_randomness() {
    for code in [
        "use std::fs;",
        "use std::{collections::BTreeMap, fs::File};",
        "fn f() { std::net::TcpStream::connect(a) }",
        "use std::process::Command;",
        "use tokio::{fs, sync::mpsc};",
        "use tokio::net::TcpStream;",
        "use tokio::process::Command;",
        "use rusqlite::Connection;",
        "use reqwest::Client;",
        "use std::time::SystemTime;",
        "use std::time::{Duration, Instant};",
        "fn f() { std::time::Instant::now() }",
        "fn f() { getrandom::fill(b) }",
        "#[cfg(test)]\nmod tests { use std::fs; }",
    ] {
        let found = violations(&[file("src/engine/x.rs", code)]);
        assert_eq!(found.len(), 1, "{code}: {found:?}");
    }
    fine(
        "src/engine/x.rs",
        "use std::time::Duration;\nuse tokio::sync::mpsc;\nuse std::fmt;\n// std::fs\nconst S: &str = \"std::fs\";",
    );
    fine(
        "src/backend/x.rs",
        "use std::fs;\nuse rusqlite::Connection;\nuse std::time::SystemTime;",
    );
    caught("src/text/x.rs", "use std::env;", "text is made of text");
    caught("src/api/x.rs", "use tokio::sync::mpsc;", "plain data");
    caught("src/cli/x.rs", "use rusqlite::Connection;", "faces");
}

#[test]
fn names_that_say_nothing_are_refused() {
    caught("src/engine/utils.rs", "", "`utils`");
    caught("src/engine/helpers/x.rs", "", "`helpers`");
    caught("src/backend/x.rs", "mod common;", "`common`");
    caught("src/backend/x.rs", "mod misc { }", "`misc`");
    caught("src/cli/manager/mod.rs", "", "`manager`");
    fine("src/engine/x.rs", "struct Manager;\nfn helpers() {}");
}

#[test]
fn long_files_are_refused_and_tests_do_not_count() {
    let long = "fn f() {}\n".repeat(601);
    caught("src/engine/x.rs", &long, "more than 600");
    let tested = format!(
        "fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}",
        "fn t() {}\n\n".repeat(400)
    );
    fine("src/engine/x.rs", &tested);
    let mut files = [
        file("src/engine/x.rs", "#[cfg(test)]\nmod tests;"),
        file("src/engine/x/tests.rs", &long),
    ];
    mark_test_files(&mut files);
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn the_engine_unwraps_only_in_tests() {
    caught("src/engine/x.rs", "fn f() { a.unwrap() }", "`.unwrap()`");
    caught(
        "src/engine/x.rs",
        "fn f() {\n a\n .b()\n .unwrap() }",
        ":5: `.unwrap()`",
    );
    caught(
        "src/engine/x.rs",
        "#[cfg(not(test))]\nfn f() { a.unwrap() }",
        "`.unwrap()`",
    );
    caught(
        "src/engine/x.rs",
        "#[cfg(test)]\nuse a::b;\nfn f() { a.unwrap() }",
        "`.unwrap()`",
    );
    fine(
        "src/engine/x.rs",
        "#[cfg(test)]\nmod tests { fn f() { a.unwrap() } }",
    );
    fine(
        "src/engine/x.rs",
        "fn f() { a.unwrap_or(0); a.unwrap_or_default() } // .unwrap()",
    );
    fine("src/backend/x.rs", "fn f() { a.unwrap() }");
}

#[test]
fn files_introduce_themselves() {
    for text in [
        "",
        "fn f() {}\n",
        "// A comment.\n",
        "/// Not of the file.\nfn f() {}\n",
    ] {
        let found = violations(&[Source::new("src/engine/x.rs", text)]);
        assert!(
            found.len() == 1 && found[0].contains("`//!`"),
            "{text:?}: {found:?}"
        );
    }
}

#[test]
fn strings_and_characters_do_not_confuse_the_reader() {
    let code = r####"
        const A: char = '"';
        const B: &str = "\" use crate::backend; \\";
        const C: &str = r#"" use crate::backend; "#;
        const D: &[u8] = b"}{";
        const E: u8 = b'\'';
        fn f<'a>(x: &'a str) -> char { '\u{7f}' }
        /* nested /* use crate::backend; */ still */
        use crate::cli::x;
    "####;
    caught("src/engine/x.rs", code, ":10: engine may not use cli");
}

#[test]
fn exceptions_that_nothing_needs_are_told() {
    let unused = [file("src/cli/compose.rs", "")];
    assert_eq!(unneeded_exceptions(&unused).len(), MAY_ALSO_USE.len());
}
