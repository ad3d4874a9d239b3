//! The rules as data, and the few lines that apply them.

use super::source::{Named, Source};

/// A folder of `src` and the folders whose code it may use. A folder that is not listed may not exist.
const MAY_USE: &[(&str, &[&str])] = &[
    ("api", &["api"]),
    ("text", &["text"]),
    ("engine", &["engine", "api"]),
    ("backend", &["backend", "engine", "api"]),
    ("server", &["server", "engine", "api", "text"]),
    ("cli", &["cli", "engine", "api", "text"]),
    ("tui", &["tui", "engine", "api", "text"]),
];

/// Files directly in `src` and what they may use.
const ROOT_FILES: &[(&str, &[&str])] = &[("src/main.rs", &["cli"]), ("src/lib.rs", &[])];

/// Files that may use one folder more than their own folder may, privately.
pub(super) const MAY_ALSO_USE: &[(&str, &str)] = &[
    ("src/cli/compose.rs", "backend"),
    ("src/cli/compose/account.rs", "backend"),
    ("src/cli/compose/harness.rs", "backend"),
    ("src/cli/compose/machines.rs", "backend"),
    ("src/cli/compose/requests.rs", "backend"),
    ("src/cli/compose/setup.rs", "backend"),
    ("src/cli/compose/workers.rs", "backend"),
    ("src/cli/daemon/http.rs", "server"),
    ("src/cli/daemon/tls.rs", "server"),
    ("src/cli/tui.rs", "tui"),
];

/// What a folder never names, in tests neither. A path is forbidden wherever it occurs in a longer one.
const NEVER: &[(&str, &[&str], &str)] = &[
    (
        "engine",
        &[
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "tokio::fs",
            "tokio::net",
            "tokio::process",
            "tokio::io::stdin",
            "tokio::io::stdout",
            "rusqlite",
            "reqwest",
            "rustix",
            "libc",
        ],
        "the engine has no IO of its own: ask a port",
    ),
    (
        "engine",
        // tokio's Instant stays allowed: the runtime owns that clock, and a test can pause it.
        &[
            "SystemTime",
            "std::time::Instant",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
        ],
        "the engine has no clock of its own: ask the Clock port",
    ),
    (
        "engine",
        &["getrandom", "rand"],
        "the engine has no randomness of its own: ask the Ids port",
    ),
    (
        "api",
        &[
            "tokio",
            "rusqlite",
            "reqwest",
            "rustix",
            "libc",
            "clap",
            "indicatif",
            "getrandom",
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "SystemTime",
            "Instant",
        ],
        "wire types are plain data",
    ),
    (
        "text",
        &[
            "tokio",
            "rusqlite",
            "reqwest",
            "rustix",
            "libc",
            "clap",
            "indicatif",
            "getrandom",
            "std::fs",
            "std::net",
            "std::process",
            "std::env",
            "SystemTime",
            "Instant",
            "jiff::Timestamp::now",
            "jiff::Zoned::now",
        ],
        "text is made of text: time, terminal and environment come from the caller",
    ),
    (
        "cli",
        &["rusqlite", "reqwest"],
        "faces reach the world through the engine",
    ),
    (
        "tui",
        &["rusqlite", "reqwest"],
        "faces reach the world through the engine",
    ),
    (
        "server",
        &["rusqlite", "reqwest"],
        "faces reach the world through the engine",
    ),
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] = &["utils", "helpers", "common", "manager", "misc"];

/// Lines of a file, tests not counted.
const FILE_LINES_MAX: usize = 600;

/// Methods that a folder does not call outside of tests.
const NEVER_CALLED: &[(&str, &str, &str)] = &[(
    "engine",
    "unwrap",
    "say with `expect` why it cannot fail, or return an error",
)];

/// Everything that breaks a rule, one line each.
pub(super) fn violations(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| {
            let named = source.named();
            [
                imports(source, &named),
                never(source, &named),
                names(source),
                length(source),
                calls(source),
                introduction(source),
            ]
        })
        .flatten()
        .collect()
}

/// Exceptions that nothing makes use of.
pub(super) fn unneeded_exceptions(sources: &[Source]) -> Vec<String> {
    let find = |path: &str| sources.iter().find(|source| source.path == path);
    MAY_ALSO_USE
        .iter()
        .filter(|(path, folder)| {
            let uses = |source: &Source| {
                source
                    .named()
                    .iter()
                    .any(|named| folder_of(named) == Some(folder))
            };
            !find(path).is_some_and(uses)
        })
        .map(|(path, folder)| format!("{path} may use {folder}"))
        .collect()
}

/// The folder of our own source that a path leads into.
fn folder_of(named: &Named) -> Option<&str> {
    let [first, second, ..] = &named.segments[..] else {
        return None;
    };
    let is_folder = MAY_USE.iter().any(|(folder, _)| folder == second);
    (first == "crate" && is_folder).then_some(second)
}

fn imports(source: &Source, named: &[Named]) -> Vec<String> {
    let allowed = match source.folder() {
        Some(folder) => MAY_USE.iter().find(|(name, _)| *name == folder),
        None => ROOT_FILES.iter().find(|(path, _)| *path == source.path),
    };
    let Some((user, allowed)) = allowed else {
        return vec![format!(
            "{}: this place is not part of the layout",
            source.path
        )];
    };
    let excepted = |named: &Named, folder: &str| {
        !named.reexported && MAY_ALSO_USE.contains(&(source.path.as_str(), folder))
    };
    named
        .iter()
        .filter_map(|named| Some((named, folder_of(named)?)))
        .filter(|(named, folder)| !allowed.contains(folder) && !excepted(named, folder))
        .map(|(named, folder)| {
            format!(
                "{}:{}: {user} may not use {folder} (`{}`)",
                source.path,
                named.line,
                named.segments.join("::")
            )
        })
        .collect()
}

fn never(source: &Source, named: &[Named]) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, paths, why) in NEVER {
        if source.folder() != Some(folder) {
            continue;
        }
        for path in *paths {
            let parts: Vec<&str> = path.split("::").collect();
            for named in named.iter().filter(|named| occurs(&parts, &named.segments)) {
                found.push(format!(
                    "{}:{}: `{}`: {why}",
                    source.path,
                    named.line,
                    named.segments.join("::")
                ));
            }
        }
    }
    found
}

/// A crate is meant only at the beginning of a path; a longer path or a type wherever it occurs.
fn occurs(parts: &[&str], segments: &[String]) -> bool {
    match parts {
        [name] if name.starts_with(|c: char| c.is_lowercase()) => {
            segments[0] == *name && segments.len() > 1
        }
        _ => segments.windows(parts.len()).any(|window| window == parts),
    }
}

fn names(source: &Source) -> Vec<String> {
    source
        .module_names()
        .iter()
        .filter(|name| EMPTY_NAMES.contains(&name.as_str()))
        .map(|name| {
            format!(
                "{}: a module called `{name}` says nothing about what is inside",
                source.path
            )
        })
        .collect()
}

fn length(source: &Source) -> Vec<String> {
    let lines = source.lines_without_tests();
    if source.is_test || lines <= FILE_LINES_MAX {
        return Vec::new();
    }
    vec![format!(
        "{}: {lines} lines without tests, more than {FILE_LINES_MAX}: two ideas in one file?",
        source.path
    )]
}

fn calls(source: &Source) -> Vec<String> {
    NEVER_CALLED
        .iter()
        .filter(|(folder, ..)| source.folder() == Some(folder) && !source.is_test)
        .flat_map(|(_, method, why)| {
            let line = move |line| format!("{}:{line}: `.{method}()`: {why}", source.path);
            source.calls(method).into_iter().map(line)
        })
        .collect()
}

fn introduction(source: &Source) -> Vec<String> {
    match source.text.starts_with("//! ") {
        true => Vec::new(),
        false => vec![format!(
            "{}: does not begin with a `//!` comment that says what it is",
            source.path
        )],
    }
}
