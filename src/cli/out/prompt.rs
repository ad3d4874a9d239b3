//! Questions. Asked only where somebody can answer; anywhere else the error names the flag that answers.

use std::io::{BufRead, BufReader, Read};

use super::codes;
use super::error::CliError;
use super::say::Say;
use super::terminal::Terminal;

/// An answer is a line; more than this is not one.
const ANSWER_MAX_BYTES: u64 = 4096;

/// Asks before something that cannot be undone.
pub struct Prompts {
    /// Why nobody can be asked.
    refused: Option<&'static str>,
    yes: bool,
    answers: Box<dyn BufRead + Send>,
}

impl Prompts {
    /// Prompts on this terminal. `yes` answers every question; `no_input` forbids asking.
    pub fn new(terminal: &Terminal, no_input: bool, yes: bool) -> Prompts {
        Prompts::reading(BufReader::new(std::io::stdin()), terminal, no_input, yes)
    }

    /// Prompts that read their answers from elsewhere.
    pub fn reading(
        answers: impl BufRead + Send + 'static,
        terminal: &Terminal,
        no_input: bool,
        yes: bool,
    ) -> Prompts {
        let refused = if no_input {
            Some("--no-input was given")
        } else if terminal.ci {
            Some("the variable CI is set")
        } else if !terminal.stdin_tty {
            Some("standard input is not a terminal")
        } else if !terminal.stderr.tty {
            Some("standard error is not a terminal")
        } else {
            None
        };
        Prompts {
            refused,
            yes,
            answers: Box::new(answers),
        }
    }

    /// Lets something severe happen only when `id` is typed. `action` is a sentence that says what will happen.
    ///
    /// # Errors
    /// Usage when nobody can be asked and `--yes` was not given; negative when anything but the id was typed.
    pub fn confirm_typed(&mut self, say: &Say, action: &str, id: &str) -> Result<(), CliError> {
        let question = format!("Type {id} to confirm:");
        match self.answer(say, action, &question)? {
            None => Ok(()),
            Some(answer) if answer == id.as_bytes() => Ok(()),
            Some(_) => Err(declined(format!("{id} was not typed"))),
        }
    }

    /// Lets something happen only when somebody says yes; anything else, and nothing, is no. `action` is a sentence that says what will
    /// happen.
    ///
    /// # Errors
    /// Usage when nobody can be asked and `--yes` was not given; negative when the answer is no.
    pub fn confirm(&mut self, say: &Say, action: &str) -> Result<(), CliError> {
        match self.answer(say, action, "Go on? [y/N]")? {
            None => Ok(()),
            Some(answer) => match answer.to_ascii_lowercase().as_slice() {
                b"y" | b"yes" => Ok(()),
                _ => Err(declined("the answer was not yes".to_owned())),
            },
        }
    }

    /// What somebody answers; nothing, if `--yes` did.
    fn answer(
        &mut self,
        say: &Say,
        action: &str,
        question: &str,
    ) -> Result<Option<Vec<u8>>, CliError> {
        if self.yes {
            return Ok(None);
        }
        if let Some(reason) = self.refused {
            let message = format!("{action}: this needs a confirmation, and {reason}");
            return Err(CliError::new(codes::NEEDS_YES, message).hint("add --yes to confirm"));
        }
        say.plain(format!("{action}."));
        say.ask(question.to_owned());
        let mut answer = Vec::new();
        (&mut self.answers)
            .take(ANSWER_MAX_BYTES)
            .read_until(b'\n', &mut answer)
            .map_err(|error| {
                CliError::new(codes::DECLINED, format!("no answer could be read: {error}"))
                    .because(error)
            })?;
        Ok(Some(answer.trim_ascii().to_vec()))
    }
}

fn declined(why: String) -> CliError {
    CliError::new(codes::DECLINED, format!("{why}; nothing happened"))
}

#[cfg(test)]
mod tests {
    use super::super::capture::Capture;
    use super::super::kind::Kind;
    use super::super::progress::Spot;
    use super::super::say::Level;
    use super::super::terminal::{ColorChoice, Facts};
    use super::*;
    use crate::cli::config::Vars;

    fn ask(
        answer: &'static str,
        ttys: [bool; 3],
        vars: &[(&str, &str)],
        no_input: bool,
        yes: bool,
    ) -> (Result<(), CliError>, String) {
        let question = |prompts: &mut Prompts, say: &Say| {
            prompts.confirm_typed(say, "Run run_a is released", "run_a")
        };
        put(answer, ttys, vars, [no_input, yes], question)
    }

    fn put(
        answer: &'static str,
        ttys: [bool; 3],
        vars: &[(&str, &str)],
        [no_input, yes]: [bool; 2],
        question: impl FnOnce(&mut Prompts, &Say) -> Result<(), CliError>,
    ) -> (Result<(), CliError>, String) {
        let facts = Facts {
            ttys,
            columns: [None; 2],
        };
        let terminal = Terminal::new(
            facts,
            &Vars::fixed(vars.iter().copied()),
            ColorChoice::Never,
            None,
        );
        let captured = Capture::default();
        let say = Say::new(
            captured.clone(),
            &terminal,
            Level::Quiet,
            false,
            Spot::default(),
        );
        let mut prompts = Prompts::reading(answer.as_bytes(), &terminal, no_input, yes);
        let result = question(&mut prompts, &say);
        (result, captured.text())
    }

    const TTY: [bool; 3] = [true; 3];

    #[test]
    fn only_the_whole_id_confirms() {
        let (result, asked) = ask("run_a\n", TTY, &[], false, false);
        assert!(result.is_ok());
        assert_eq!(asked, "Run run_a is released.\nType run_a to confirm: ");
        for answer in ["", "\n", "y\n", "yes\n", "run_\n", "run_ab\n"] {
            let error = ask(answer, TTY, &[], false, false).0.expect_err("declined");
            assert_eq!(
                (error.kind, error.code),
                (Kind::Negative, "RT-0101"),
                "{answer:?}"
            );
        }
    }

    #[test]
    fn a_plain_question_is_answered_with_yes_or_it_is_no() {
        let put = |answer| {
            let question = |prompts: &mut Prompts, say: &Say| prompts.confirm(say, "It is made");
            put(answer, TTY, &[], [false, false], question)
        };
        for yes in ["y\n", "YES\n", " y \n"] {
            let (result, asked) = put(yes);
            assert!(result.is_ok(), "{yes:?}");
            assert_eq!(asked, "It is made.\nGo on? [y/N] ");
        }
        for no in ["", "\n", "n\n", "yep\n"] {
            let error = put(no).0.expect_err("declined");
            assert_eq!(error.code, "RT-0101", "{no:?}");
        }
    }

    #[test]
    fn where_nobody_can_answer_the_flag_is_named() {
        for (ttys, vars, no_input) in [
            ([false, true, true], &[][..], false),
            ([true, true, false], &[], false),
            (TTY, &[("CI", "true")], false),
            (TTY, &[], true),
        ] {
            let (result, asked) = ask("run_a\n", ttys, vars, no_input, false);
            let error = result.expect_err("refused");
            assert_eq!(
                (error.kind, error.hint),
                (Kind::Usage, vec!["add --yes to confirm".to_owned()])
            );
            assert_eq!(asked, "");
        }
    }

    #[test]
    fn yes_asks_nothing() {
        let (result, asked) = ask("", [false; 3], &[("CI", "1")], true, true);
        assert!(result.is_ok());
        assert_eq!(asked, "");
    }
}
