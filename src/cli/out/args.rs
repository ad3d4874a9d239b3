//! The options that every command has for its output.

use clap::{ArgAction, Args};

use super::format::Format;
use super::say::Level;
use super::terminal::ColorChoice;

/// How to print and how much to say.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Format of the data: table, wide, tsv, json, jsonl, yaml or id [default: table on a terminal, tsv elsewhere]
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT",
        global = true,
        value_enum,
        hide_possible_values = true
    )]
    pub format: Option<Format>,

    /// The same as `-o json`
    #[arg(long, global = true, conflicts_with = "format")]
    pub json: bool,

    /// When to use colour: auto, always or never [default: auto]
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        value_enum,
        hide_possible_values = true
    )]
    pub color: Option<ColorChoice>,

    /// Say nothing but errors; data is printed as ever
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,

    /// Say more on standard error; repeat for still more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,

    /// Never ask; fail where an answer would be needed
    #[arg(long, global = true)]
    pub no_input: bool,

    /// Say at the end how many requests were sent to AWS, and what for
    #[arg(long, global = true)]
    pub stats: bool,
}

impl OutputArgs {
    /// The format asked for, or the default of this stream.
    pub fn format(&self, stdout_tty: bool) -> Format {
        match self.format {
            Some(format) => format,
            None if self.json => Format::Json,
            None => Format::default_for(stdout_tty),
        }
    }

    /// How much to say.
    pub fn level(&self) -> Level {
        match (self.quiet, self.verbose) {
            (true, _) => Level::Quiet,
            (false, 0) => Level::Normal,
            (false, _) => Level::Verbose,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct Probe {
        #[command(flatten)]
        output: OutputArgs,
    }

    fn parse(args: &[&str]) -> Result<OutputArgs, clap::Error> {
        Probe::try_parse_from([&["probe"], args].concat()).map(|probe| probe.output)
    }

    #[test]
    fn the_options_are_consistent() {
        Probe::command().debug_assert();
    }

    #[test]
    fn the_default_format_depends_on_the_stream() {
        let none = parse(&[]).expect("no options");
        assert_eq!(
            (none.format(true), none.format(false)),
            (Format::Table, Format::Tsv)
        );
        let json = parse(&["--json"]).expect("an alias");
        assert_eq!(json.format(true), Format::Json);
        let id = parse(&["-o", "id"]).expect("a format");
        assert_eq!(id.format(true), Format::Id);
    }

    #[test]
    fn contradictions_are_refused() {
        for args in [
            &["--json", "-o", "tsv"][..],
            &["-q", "-v"],
            &["-o", "xml"],
            &["--color", "blue"],
        ] {
            assert!(parse(args).is_err(), "{args:?}");
        }
    }

    #[test]
    fn levels_follow_the_flags() {
        let level = |args: &[&str]| parse(args).expect("valid").level();
        assert_eq!(level(&["-q"]), Level::Quiet);
        assert_eq!(level(&[]), Level::Normal);
        assert_eq!(level(&["-vv"]), Level::Verbose);
    }
}
