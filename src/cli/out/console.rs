//! Everything a command talks with, opened once and ended once.

use std::io::Write;
use std::process::ExitCode;

use jiff::tz::TimeZone;

use super::args::OutputArgs;
use super::cell::Times;
use super::data::Out;
use super::error::CliError;
use super::progress::Spot;
use super::prompt::Prompts;
use super::say::Say;
use super::terminal::{Facts, Terminal};
use crate::cli::config::{UiSettings, Vars};

/// The standard streams of one command.
pub struct Console {
    /// Data.
    pub out: Out,
    /// Talk.
    pub say: Say,
    /// What is known about the streams.
    pub terminal: Terminal,
    no_input: bool,
}

impl Console {
    /// Opens the process's own streams. `now_ms` is what relative times are seen from.
    pub fn open(output: &OutputArgs, ui: &UiSettings, vars: &Vars, now_ms: u64) -> Console {
        Console::over(
            std::io::stdout(),
            std::io::stderr(),
            Facts::probe(),
            output,
            ui,
            vars,
            now_ms,
        )
    }

    /// Opens any two streams, described by `facts`.
    pub fn over(
        stdout: impl Write + Send + 'static,
        stderr: impl Write + Send + 'static,
        facts: Facts,
        output: &OutputArgs,
        ui: &UiSettings,
        vars: &Vars,
        now_ms: u64,
    ) -> Console {
        let terminal = Terminal::new(facts, vars, output.color.unwrap_or(ui.color), ui.glyphs);
        let format = output.format(terminal.stdout.tty);
        let times = Times {
            style: ui.time,
            zone: TimeZone::system(),
            now_ms,
        };
        let spot = Spot::default();
        // Data in a pipe or a file does not disturb what moves on the terminal.
        let out_spot = if terminal.stdout.tty {
            spot.clone()
        } else {
            Spot::default()
        };
        Console {
            out: Out::new(stdout, format, terminal.stdout, times, out_spot),
            say: Say::new(
                stderr,
                &terminal,
                output.level(),
                format.wants_json_errors(),
                spot,
            ),
            terminal,
            no_input: output.no_input,
        }
    }

    /// Questions on this terminal; `yes` answers all of them.
    pub fn prompts(&self, yes: bool) -> Prompts {
        Prompts::new(&self.terminal, self.no_input, yes)
    }

    /// Ends the command: makes sure that its data arrived, says why it failed, and turns that into the exit code. The one
    /// place where a reader that left becomes success.
    pub fn end(mut self, result: Result<(), CliError>) -> ExitCode {
        ExitCode::from(self.settle(result))
    }

    fn settle(&mut self, result: Result<(), CliError>) -> u8 {
        let finished = self.out.finish();
        match result.and(finished) {
            Ok(()) => 0,
            Err(error) => {
                self.say.error(&error);
                error.exit_code()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::capture::{Capture, Refusing};
    use super::super::cell::Cell;
    use super::super::codes;
    use super::super::details::Details;
    use super::super::format::Format;
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;
    use std::io::ErrorKind;

    fn console(stdout: impl Write + Send + 'static, stderr: &Capture, format: Format) -> Console {
        let output = OutputArgs {
            format: Some(format),
            ..OutputArgs::default()
        };
        let vars = Vars::fixed::<&str, &str>([]);
        Console::over(
            stdout,
            stderr.clone(),
            Facts::default(),
            &output,
            &UiSettings::default(),
            &vars,
            0,
        )
    }

    fn print(console: &mut Console) -> Result<(), CliError> {
        console.out.one(&json!({"id": "a"}), "a", || {
            Details::new().value("Id", Cell::text("a"))
        })
    }

    #[test]
    fn success_is_zero_and_says_nothing() {
        let (stdout, stderr) = (Capture::default(), Capture::default());
        let mut console = console(stdout.clone(), &stderr, Format::Tsv);
        let result = print(&mut console);
        assert_eq!(console.settle(result), 0);
        assert_eq!(
            (stdout.text(), stderr.text()),
            ("Id\ta\n".to_owned(), String::new())
        );
    }

    #[test]
    fn every_code_is_said_and_becomes_its_exit_code() {
        for code in codes::ALL.iter().filter(|code| code.id != "RT-0000") {
            let (stdout, stderr) = (Capture::default(), Capture::default());
            let mut console = console(stdout.clone(), &stderr, Format::Tsv);
            let exit = console.settle(Err(CliError::new(*code, "planted")));
            assert_eq!(exit, code.kind.exit_code());
            assert_eq!(stderr.text(), format!("error: planted [{}]\n", code.id));
            assert_eq!(stdout.text(), "");
        }
    }

    #[test]
    fn a_reader_that_left_is_success_without_a_word() {
        for format in [Format::Tsv, Format::Json, Format::Jsonl, Format::Id] {
            let stderr = Capture::default();
            let mut console = console(Refusing(ErrorKind::BrokenPipe), &stderr, format);
            let result = print(&mut console);
            assert_eq!(
                (console.settle(result), stderr.text()),
                (0, String::new()),
                "{format:?}"
            );
        }
    }

    #[test]
    fn a_full_disk_is_told_even_when_the_command_worked() {
        let stderr = Capture::default();
        let mut console = console(Refusing(ErrorKind::StorageFull), &stderr, Format::Json);
        let result = print(&mut console);
        assert!(result.is_ok(), "the data is still in the buffer");
        assert_eq!(console.settle(result), 7);
        assert!(
            stderr
                .text()
                .starts_with("{\"error\":{\"code\":\"RT-0701\","),
            "{}",
            stderr.text()
        );
    }

    #[test]
    fn the_error_of_the_command_is_told_before_that_of_the_output() {
        let stderr = Capture::default();
        let mut console = console(Refusing(ErrorKind::BrokenPipe), &stderr, Format::Tsv);
        assert!(print(&mut console).is_ok());
        assert_eq!(console.settle(Err(CliError::not_found("gone"))), 3);
        assert_eq!(stderr.text(), "error: gone [RT-0300]\n");
    }
}
