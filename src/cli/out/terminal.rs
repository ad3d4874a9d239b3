//! What is known about the three standard streams: decided once, from the environment, before anything is printed.

use std::io::IsTerminal;

use clap::ValueEnum;

use crate::cli::config::Vars;
use crate::text::Glyphs;

/// Cells of a terminal that does not say how wide it is.
const FALLBACK_CELLS: usize = 80;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal that can, unless the environment says no.
    #[default]
    Auto,
    /// Even in a pipe.
    Always,
    /// Not at all.
    Never,
}

/// One output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// It is a terminal.
    pub tty: bool,
    /// Colours may be written.
    pub colour: bool,
    /// Cells a line may take; `None` off a terminal, where nothing is cut.
    pub width: Option<usize>,
    /// Characters that may leave.
    pub glyphs: Glyphs,
}

impl Stream {
    /// A pipe or a file: no colour, no width, UTF-8.
    pub fn plain() -> Stream {
        Stream {
            tty: false,
            colour: false,
            width: None,
            glyphs: Glyphs::Unicode,
        }
    }
}

/// All three streams and what the user needs from them.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// Somebody can answer on standard input.
    pub stdin_tty: bool,
    /// Where data goes.
    pub stdout: Stream,
    /// Where talk goes.
    pub stderr: Stream,
    /// `ACCESSIBLE` is set: lines are only ever added, nothing is redrawn.
    pub accessible: bool,
    /// `CI` is set: nobody watches.
    pub ci: bool,
    /// `TERM=dumb`: nothing is redrawn.
    pub dumb: bool,
}

/// What only the operating system knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Standard input, output and error are terminals.
    pub ttys: [bool; 3],
    /// Columns of standard output and error, as their terminals say.
    pub columns: [Option<u16>; 2],
}

impl Facts {
    /// Asks the operating system.
    pub fn probe() -> Facts {
        Facts {
            ttys: [
                std::io::stdin().is_terminal(),
                std::io::stdout().is_terminal(),
                std::io::stderr().is_terminal(),
            ],
            columns: [columns_of(std::io::stdout()), columns_of(std::io::stderr())],
        }
    }
}

fn columns_of(stream: impl std::os::fd::AsFd) -> Option<u16> {
    rustix::termios::tcgetwinsize(stream)
        .ok()
        .map(|size| size.ws_col)
        .filter(|columns| *columns > 0)
}

/// Columns and rows of the terminal that standard output is now; `None` off a terminal, and where it does not tell.
pub(super) fn size_now() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    let (columns, rows) = (usize::from(size.ws_col), usize::from(size.ws_row));
    (columns > 0 && rows > 0).then_some((columns, rows))
}

impl Terminal {
    /// Decides from facts, environment and settings. `glyphs` is the configured choice, if there is one.
    pub fn new(facts: Facts, vars: &Vars, color: ColorChoice, glyphs: Option<Glyphs>) -> Terminal {
        let dumb = vars.text("TERM").is_some_and(|term| term == "dumb");
        let for_terminals = match (glyphs, glyphs_of_locale(vars)) {
            // Who asks for Unicode knows the terminal better than the locale does.
            (Some(Glyphs::Unicode), _) => Glyphs::Unicode,
            (None, locale) | (Some(_), locale @ Glyphs::SevenBit) => locale,
            (Some(chosen), _) => chosen,
        };
        let stream = |tty: bool, columns: Option<u16>| Stream {
            tty,
            colour: match color {
                ColorChoice::Always => true,
                ColorChoice::Never => false,
                ColorChoice::Auto => tty && !dumb && !colour_is_refused(vars),
            },
            width: tty.then(|| width(vars, columns)),
            // A file or a pipe gets the text as it is, whatever the locale of this terminal.
            glyphs: if tty {
                for_terminals
            } else {
                glyphs.unwrap_or_default()
            },
        };
        Terminal {
            stdin_tty: facts.ttys[0],
            stdout: stream(facts.ttys[1], facts.columns[0]),
            stderr: stream(facts.ttys[2], facts.columns[1]),
            accessible: vars.flag("ACCESSIBLE"),
            ci: vars.flag("CI"),
            dumb,
        }
    }
}

/// `NO_COLOR` with any value, or `CLICOLOR=0`.
fn colour_is_refused(vars: &Vars) -> bool {
    vars.os("NO_COLOR").is_some() || vars.text("CLICOLOR").is_some_and(|value| value == "0")
}

fn width(vars: &Vars, columns: Option<u16>) -> usize {
    let said = vars
        .text("COLUMNS")
        .and_then(|text| text.trim().parse::<usize>().ok());
    said.filter(|cells| (1..=10_000).contains(cells))
        .or(columns.map(usize::from))
        .unwrap_or(FALLBACK_CELLS)
}

/// Without a UTF-8 locale the terminal may read the bytes of a letter as controls, so that only ASCII is safe.
fn glyphs_of_locale(vars: &Vars) -> Glyphs {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| vars.text(name));
    let utf8 = locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    });
    if utf8 {
        Glyphs::Unicode
    } else {
        Glyphs::SevenBit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TTY: Facts = Facts {
        ttys: [true; 3],
        columns: [Some(120), Some(100)],
    };

    fn terminal(vars: &[(&str, &str)], color: ColorChoice) -> Terminal {
        Terminal::new(TTY, &Vars::fixed(vars.iter().copied()), color, None)
    }

    #[test]
    fn colour_follows_flag_then_environment_then_stream() {
        let auto = ColorChoice::Auto;
        for (vars, color, expected) in [
            (&[][..], auto, true),
            (&[("NO_COLOR", "1")], auto, false),
            (&[("NO_COLOR", "")], auto, true),
            (&[("CLICOLOR", "0")], auto, false),
            (&[("CLICOLOR", "1")], auto, true),
            (&[("TERM", "dumb")], auto, false),
            (
                &[("NO_COLOR", "1"), ("TERM", "dumb")],
                ColorChoice::Always,
                true,
            ),
            (&[], ColorChoice::Never, false),
        ] {
            assert_eq!(
                terminal(vars, color).stdout.colour,
                expected,
                "{vars:?} {color:?}"
            );
        }
    }

    #[test]
    fn each_stream_decides_for_itself() {
        let facts = Facts {
            ttys: [true, false, true],
            columns: [None, Some(100)],
        };
        let terminal = Terminal::new(
            facts,
            &Vars::fixed([("LANG", "C.UTF-8")]),
            ColorChoice::Auto,
            None,
        );
        assert_eq!(terminal.stdout, Stream::plain());
        assert_eq!(
            terminal.stderr,
            Stream {
                tty: true,
                colour: true,
                width: Some(100),
                glyphs: Glyphs::Unicode
            }
        );
        let always = Terminal::new(
            facts,
            &Vars::fixed([("LANG", "C")]),
            ColorChoice::Always,
            None,
        );
        assert!(always.stdout.colour && always.stderr.colour);
    }

    #[test]
    fn width_comes_from_columns_then_the_terminal_then_eighty() {
        for (vars, expected) in [
            (&[("COLUMNS", "72")][..], 72),
            (&[("COLUMNS", "0")], 120),
            (&[("COLUMNS", "many")], 120),
            (&[], 120),
        ] {
            assert_eq!(
                terminal(vars, ColorChoice::Auto).stdout.width,
                Some(expected)
            );
        }
        let silent = Facts {
            columns: [None; 2],
            ..TTY
        };
        let terminal = Terminal::new(
            silent,
            &Vars::fixed::<&str, &str>([]),
            ColorChoice::Auto,
            None,
        );
        assert_eq!(terminal.stdout.width, Some(80));
    }

    #[test]
    fn only_utf8_locales_get_more_than_ascii() {
        for (vars, expected) in [
            (&[("LANG", "de_DE.UTF-8")][..], Glyphs::Unicode),
            (&[("LC_CTYPE", "C.utf8")], Glyphs::Unicode),
            (&[("LC_ALL", "C"), ("LANG", "C.UTF-8")], Glyphs::SevenBit),
            (&[("LANG", "de_DE.ISO-8859-1")], Glyphs::SevenBit),
            (&[], Glyphs::SevenBit),
        ] {
            assert_eq!(
                terminal(vars, ColorChoice::Auto).stdout.glyphs,
                expected,
                "{vars:?}"
            );
        }
        for (chosen, locale, expected) in [
            (Glyphs::Ascii, "C.UTF-8", Glyphs::Ascii),
            (Glyphs::Ascii, "C", Glyphs::SevenBit),
            (Glyphs::Unicode, "C", Glyphs::Unicode),
        ] {
            let vars = Vars::fixed([("LANG", locale)]);
            let terminal = Terminal::new(TTY, &vars, ColorChoice::Auto, Some(chosen));
            assert_eq!(terminal.stdout.glyphs, expected, "{chosen:?} {locale}");
        }
    }

    #[test]
    fn accessible_and_ci_are_read() {
        let terminal = terminal(&[("ACCESSIBLE", "1"), ("CI", "true")], ColorChoice::Auto);
        assert!(terminal.accessible && terminal.ci);
    }
}
