//! Help: every command has examples that work as they stand, and what is generated is what is checked in.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use rat_things::cli::Cli;

use super::env::{TestEnv, words};
use super::scrub::seen;

/// Every command that does something, with the words that lead to it.
fn leaves() -> Vec<(Vec<String>, clap::Command)> {
    fn walk(
        path: &[String],
        command: &clap::Command,
        found: &mut Vec<(Vec<String>, clap::Command)>,
    ) {
        for below in command
            .get_subcommands()
            .filter(|c| !c.is_hide_set() && c.get_name() != "help")
        {
            let mut path = path.to_vec();
            path.push(below.get_name().to_owned());
            match below.has_subcommands() {
                true => walk(&path, below, found),
                false => found.push((path, below.clone())),
            }
        }
    }
    let mut found = Vec::new();
    walk(&[], &Cli::grammar(), &mut found);
    found
}

/// The examples in a command's help, without what a shell does with them.
fn examples(command: &clap::Command) -> Vec<String> {
    let help = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    help.lines()
        .filter_map(|line| line.strip_prefix("  rat-things"))
        .map(|line| {
            let end = [" < ", " > ", " | ", " && "]
                .iter()
                .filter_map(|shell| line.find(shell))
                .min()
                .unwrap_or(line.len());
            line[..end].trim().to_owned()
        })
        .collect()
}

#[test]
fn every_command_has_two_examples_that_parse() {
    let leaves = leaves();
    assert!(leaves.len() > 30, "only {}", leaves.len());
    for (path, command) in leaves {
        let examples = examples(&command);
        assert!(examples.len() >= 2, "{path:?} has {examples:?}");
        for example in examples {
            let line = words(&example);
            assert!(line.starts_with(&path), "{example:?} stands under {path:?}");
            let typed = std::iter::once("rat-things".to_owned()).chain(line);
            if let Err(error) = Cli::read(typed.map(OsString::from)) {
                panic!("{example}: {error}");
            }
        }
    }
}

#[test]
fn every_option_says_what_it_is_for() {
    for (path, command) in leaves() {
        assert!(command.get_about().is_some(), "{path:?}");
        for arg in command.get_arguments() {
            assert!(arg.get_help().is_some(), "{path:?} {}", arg.get_id());
        }
    }
}

#[test]
fn the_page_of_commands_names_every_one() {
    let page = include_str!("../../../docs/cli.md");
    for (path, _) in leaves() {
        let name = format!("`{}`", path.join(" "));
        let below = format!("`{} ", path.join(" "));
        assert!(
            page.contains(&name) || page.contains(&below),
            "docs/cli.md does not name {name}"
        );
    }
}

#[test]
fn without_words_the_program_says_what_it_can_do() {
    let env = TestEnv::new();
    seen!(env.shown(&env.run("")));
    assert_eq!(env.ok("help"), env.ok(""));
    assert_eq!(
        env.ok("help sessions create"),
        env.ok("sessions create --help")
    );
    assert!(!env.data().exists(), "help makes no data directory");
}

#[test]
fn completions_that_are_checked_in_are_those_of_this_program() {
    let env = TestEnv::new();
    for (shell, file) in [
        ("bash", "rat-things.bash"),
        ("zsh", "_rat-things"),
        ("fish", "rat-things.fish"),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("completions")
            .join(file);
        let made = env.run(&format!("completions {shell}"));
        assert_eq!((made.code, made.stderr.as_str()), (0, ""));
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == made.stdout,
            "{} is old: rat-things completions {shell} > completions/{file}",
            path.display()
        );
    }
}
