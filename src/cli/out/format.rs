//! Output formats and what each promises.

use clap::ValueEnum;

/// How data is printed. The layout of `table` and `wide` may change in any release; the others stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people, fitted to the terminal. The default on a terminal.
    Table,
    /// `table` with more columns.
    Wide,
    /// Full values separated by tabs, no header, `\t` `\n` `\\` escaped. The default off a terminal.
    Tsv,
    /// The Agents API resource: indented on a terminal, one line elsewhere.
    Json,
    /// One JSON object a line, each flushed when it is complete.
    Jsonl,
    /// The same value as `json`, as YAML.
    Yaml,
    /// Ids only, one a line.
    Id,
}

impl Format {
    /// What is used when none was asked for.
    pub fn default_for(tty: bool) -> Format {
        if tty { Format::Table } else { Format::Tsv }
    }

    /// Whether errors are for a program as well: then they are one JSON object on stderr.
    pub fn wants_json_errors(self) -> bool {
        matches!(self, Format::Json | Format::Jsonl)
    }

    /// Whether the output is laid out for a person, so that following a Turn prints lines rather than records.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Wide)
    }
}
