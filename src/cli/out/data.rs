//! Standard output: data, in the format that was asked for.

use std::io::{BufWriter, Write};

use serde::Serialize;

use super::cell::{Cell, Times, tsv_row};
use super::details::{Details, prose};
use super::error::CliError;
use super::format::Format;
use super::progress::Spot;
use super::table::{Table, loose_row};
use super::terminal::Stream;
use super::{json, yaml};
use crate::text::{Glyphs, SafeBlock, escape};

/// The writer of data. Every method writes one whole thing; [`Out::finish`] must be called at the end, because only then is
/// it known that everything arrived.
pub struct Out {
    sink: Box<dyn Write + Send>,
    format: Format,
    stream: Stream,
    times: Times,
    spot: Spot,
    /// YAML documents written so far; each further one needs a separator.
    documents: u64,
}

impl Out {
    /// A writer over any stream. `spot` is what moves on the same terminal, if anything does.
    pub fn new(
        sink: impl Write + Send + 'static,
        format: Format,
        stream: Stream,
        times: Times,
        spot: Spot,
    ) -> Out {
        Out {
            sink: Box::new(BufWriter::new(sink)),
            format,
            stream,
            times,
            spot,
            documents: 0,
        }
    }

    /// The format of this command's data.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Where the data goes.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Prints a list. `document` is the whole of it (`json`, `yaml`), `items` its entries (`jsonl`), `id` names an entry.
    pub fn list<D: Serialize, T: Serialize>(
        &mut self,
        document: &D,
        items: &[T],
        id: impl Fn(&T) -> &str,
        table: impl FnOnce() -> Table,
    ) -> Result<(), CliError> {
        let text = match self.format {
            Format::Table | Format::Wide => {
                table().lines(self.format == Format::Wide, &self.stream, &self.times)
            }
            Format::Tsv => table().tsv(),
            Format::Id => items
                .iter()
                .map(|item| format!("{}\n", escape(id(item))))
                .collect(),
            Format::Jsonl => {
                for item in items {
                    let line = self.json(item, false)?;
                    self.put(&line, true)?;
                }
                return Ok(());
            }
            Format::Json | Format::Yaml => self.document(document)?,
        };
        self.put(&text, self.stream.tty)
    }

    /// Prints a page of help: a table for a person in whatever stream, and a line below it; data only for who asked for it.
    pub fn help_page<D: Serialize, T: Serialize>(
        &mut self,
        document: &D,
        items: &[T],
        id: impl Fn(&T) -> &str,
        table: &Table,
        below: &str,
    ) -> Result<(), CliError> {
        match self.format {
            Format::Table | Format::Wide | Format::Tsv => {
                let lines = table.paragraphs(&self.stream, &self.times);
                self.put(&lines, false)?;
                self.put("\n", false)?;
                self.lines(below)
            }
            _ => self.list(document, items, id, || table.clone()),
        }
    }

    /// Prints one thing.
    pub fn one<D: Serialize>(
        &mut self,
        document: &D,
        id: &str,
        details: impl FnOnce() -> Details,
    ) -> Result<(), CliError> {
        let text = match self.format {
            Format::Table | Format::Wide => {
                details().lines(self.format == Format::Wide, &self.stream, &self.times)
            }
            Format::Tsv => details().tsv(),
            Format::Id => format!("{}\n", escape(id)),
            Format::Json | Format::Jsonl | Format::Yaml => self.document(document)?,
        };
        self.put(&text, self.stream.tty)
    }

    /// Prints one entry of a list that comes piece by piece, and flushes it. `cells` are those of the list's table.
    pub fn record<T: Serialize>(
        &mut self,
        item: &T,
        id: &str,
        cells: impl FnOnce() -> Vec<Cell>,
    ) -> Result<(), CliError> {
        let text = match self.format {
            Format::Table | Format::Wide => loose_row(&cells(), &self.stream, &self.times),
            Format::Tsv => tsv_row(&cells()),
            Format::Id => format!("{}\n", escape(id)),
            Format::Json | Format::Jsonl | Format::Yaml => self.document(item)?,
        };
        self.put(&text, true)
    }

    /// Prints lines for a person, wrapped on a terminal, whatever the format; flushes them.
    pub fn lines(&mut self, text: impl Into<SafeBlock>) -> Result<(), CliError> {
        let lines = prose(text, 0, &self.stream);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.put(&text, true)
    }

    /// Prints bytes exactly as they are: the content of a file that was asked for.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        let sink = &mut self.sink;
        self.spot.suspend(|| sink.write_all(bytes)).map_err(failed)
    }

    /// Makes sure that everything arrived.
    pub fn finish(&mut self) -> Result<(), CliError> {
        let sink = &mut self.sink;
        self.spot.suspend(|| sink.flush()).map_err(failed)
    }

    /// Writes text that is safe for this stream already.
    pub(super) fn put(&mut self, text: &str, flush: bool) -> Result<(), CliError> {
        let sink = &mut self.sink;
        let mut write = || {
            sink.write_all(text.as_bytes())?;
            if flush { sink.flush() } else { Ok(()) }
        };
        self.spot.suspend(&mut write).map_err(failed)
    }

    fn document<D: Serialize>(&mut self, document: &D) -> Result<String, CliError> {
        match self.format {
            Format::Yaml => {
                let value = serde_json::to_value(document).map_err(|error| {
                    CliError::bug(format!("a result cannot be written as YAML: {error}"))
                        .because(error)
                })?;
                let separator = if self.documents > 0 { "---\n" } else { "" };
                self.documents += 1;
                let glyphs = if self.stream.tty {
                    self.stream.glyphs
                } else {
                    Glyphs::Unicode
                };
                Ok(format!("{separator}{}", yaml::encode(&value, glyphs)))
            }
            format => self.json(document, self.stream.tty && format != Format::Jsonl),
        }
    }

    fn json<D: Serialize>(&self, document: &D, indented: bool) -> Result<String, CliError> {
        let mut text = json::encode(document, indented)?;
        if self.stream.tty {
            text = json::for_terminal(&text, self.stream.glyphs);
        }
        text.push('\n');
        Ok(text)
    }
}

fn failed(error: std::io::Error) -> CliError {
    CliError::writing("standard output", error)
}

#[cfg(test)]
mod tests {
    use super::super::capture::{Capture, Refusing};
    use super::super::kind::Kind;
    use super::super::table::Column;
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};
    use std::io::ErrorKind;

    const ALL: [Format; 7] = [
        Format::Table,
        Format::Wide,
        Format::Tsv,
        Format::Json,
        Format::Jsonl,
        Format::Yaml,
        Format::Id,
    ];

    fn id(value: &Value) -> &str {
        value["id"].as_str().unwrap_or_default()
    }

    fn list(format: Format, stream: Stream) -> String {
        let items = [
            json!({"id": "a", "title": "x\u{9b}\x1b"}),
            json!({"id": "b", "title": "y"}),
        ];
        let document = json!({"object": "list", "data": items});
        let captured = Capture::default();
        let mut out = Out::new(
            captured.clone(),
            format,
            stream,
            Times::relative_to(0),
            Spot::default(),
        );
        let table = || {
            let mut table = Table::new([Column::new("ID"), Column::new("TITLE")]);
            for item in &items {
                table.row([
                    Cell::text(id(item)),
                    Cell::text(item["title"].as_str().unwrap_or_default()),
                ]);
            }
            table
        };
        out.list(&document, &items, id, table).expect("writes");
        out.finish().expect("flushes");
        captured.text()
    }

    fn tty() -> Stream {
        Stream {
            tty: true,
            width: Some(80),
            ..Stream::plain()
        }
    }

    #[test]
    fn every_format_of_a_list() {
        for (format, expected) in [
            (Format::Table, "ID  TITLE\na   x\\u{9b}␛\nb   y\n"),
            (Format::Wide, "ID  TITLE\na   x\\u{9b}␛\nb   y\n"),
            (Format::Tsv, "a\tx\\u{9b}\\u{1b}\nb\ty\n"),
            (
                Format::Json,
                "{\"object\":\"list\",\"data\":[{\"id\":\"a\",\"title\":\"x\u{9b}\\u001b\"},{\"id\":\"b\",\"title\":\"y\"}]}\n",
            ),
            (
                Format::Jsonl,
                "{\"id\":\"a\",\"title\":\"x\u{9b}\\u001b\"}\n{\"id\":\"b\",\"title\":\"y\"}\n",
            ),
            (
                Format::Yaml,
                "object: list\ndata:\n- id: a\n  title: \"x\\x9b\\x1b\"\n- id: b\n  title: \"y\"\n",
            ),
            (Format::Id, "a\nb\n"),
        ] {
            assert_eq!(list(format, Stream::plain()), expected, "{format:?}");
        }
    }

    #[test]
    fn no_format_sends_a_control_to_a_terminal() {
        for format in ALL {
            let text = list(format, tty());
            // The tabs are those between two fields.
            assert!(
                !text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')),
                "{format:?}: {text:?}"
            );
        }
    }

    #[test]
    fn json_is_indented_on_a_terminal_and_one_line_elsewhere() {
        assert!(list(Format::Json, tty()).lines().count() > 5);
        assert_eq!(list(Format::Json, Stream::plain()).lines().count(), 1);
        assert_eq!(list(Format::Jsonl, tty()).lines().count(), 2);
    }

    #[test]
    fn one_thing_in_every_format() {
        for (format, expected) in [
            (Format::Table, "Id  a\n"),
            (Format::Wide, "Id  a\n"),
            (Format::Tsv, "Id\ta\n"),
            (Format::Json, "{\"id\":\"a\"}\n"),
            (Format::Jsonl, "{\"id\":\"a\"}\n"),
            (Format::Yaml, "id: a\n"),
            (Format::Id, "a\n"),
        ] {
            let captured = Capture::default();
            let mut out = Out::new(
                captured.clone(),
                format,
                Stream::plain(),
                Times::relative_to(0),
                Spot::default(),
            );
            out.one(&json!({"id": "a"}), "a", || {
                Details::new().value("Id", Cell::text("a"))
            })
            .expect("writes");
            out.finish().expect("flushes");
            assert_eq!(captured.text(), expected, "{format:?}");
        }
    }

    #[test]
    fn records_are_flushed_one_by_one_and_yaml_documents_are_separated() {
        let captured = Capture::default();
        let mut out = Out::new(
            captured.clone(),
            Format::Yaml,
            Stream::plain(),
            Times::relative_to(0),
            Spot::default(),
        );
        out.record(&json!({"id": "a"}), "a", Vec::new)
            .expect("writes");
        assert_eq!(captured.text(), "id: a\n");
        out.record(&json!({"id": "b"}), "b", Vec::new)
            .expect("writes");
        assert_eq!(captured.text(), "id: a\n---\nid: b\n");
    }

    #[test]
    fn a_closed_pipe_is_the_silent_kind_in_every_format() {
        for format in ALL {
            let mut out = Out::new(
                Refusing(ErrorKind::BrokenPipe),
                format,
                Stream::plain(),
                Times::relative_to(0),
                Spot::default(),
            );
            let written = out.record(&json!({"id": "a"}), "a", || vec![Cell::text("a")]);
            assert_eq!(
                written.expect_err("refused").kind,
                Kind::BrokenPipe,
                "{format:?}"
            );
        }
    }

    #[test]
    fn a_full_disk_is_found_at_the_latest_when_finishing() {
        let full = Refusing(ErrorKind::StorageFull);
        let mut out = Out::new(
            full,
            Format::Json,
            Stream::plain(),
            Times::relative_to(0),
            Spot::default(),
        );
        out.one(&json!({}), "", Details::new).expect("is buffered");
        assert_eq!(out.finish().expect_err("refused").kind, Kind::Unavailable);
    }
}
