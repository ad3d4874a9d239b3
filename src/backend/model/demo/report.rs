//! What the demo model does with ordinary text: the commands it runs and the words it says. Pure.

use super::program::Program;

/// Looks around, with nothing in its output that differs from run to run.
pub const LOOK: &str = "pwd && ls -1Ap";

/// Characters of a message or of a command's output that are quoted.
const QUOTE_CHARS: usize = 2_000;

/// Said before the first command.
pub fn note() -> String {
    "I'll look around in the workspace first.".to_owned()
}

/// The command that writes the report, relative to the working directory, which is /workspace.
pub fn write_report(program: &Program) -> String {
    let report = report(program);
    let mut end = "END_OF_REPORT".to_owned();
    while report.lines().any(|line| line == end) {
        end.push('_');
    }
    format!("mkdir -p outputs && cat > outputs/report.md <<'{end}'\n{report}{end}\n")
}

fn report(program: &Program) -> String {
    let mut text = "# Report\n\n## What was asked\n\n".to_owned();
    for ask in &program.asks {
        for line in clean(ask).lines() {
            text.push_str(format!("> {line}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    }
    text.push_str("## What was found\n\n");
    let listing = listing(&program.seen).unwrap_or(&program.seen);
    for line in clean(listing).lines() {
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
    text.push_str(
        "\nWritten by the offline demo model, which understands nothing of what it reads.\n",
    );
    text
}

/// The final answer.
pub fn answer(program: &Program, can_run: bool) -> String {
    if !can_run {
        let asked = program.asks.join("\n");
        return format!(
            "You wrote: {}\n\nI am the offline demo model, and this session has no environment, so there is nothing I could run. \
             Configure a model provider for real answers.",
            clean(&asked)
        );
    }
    let found = match listing(&program.seen) {
        Some(listing) => {
            let mut lines = listing.lines();
            let place = lines.next().unwrap_or_default();
            match lines.count() {
                0 => format!("{place} is empty."),
                1 => format!("{place} holds one entry."),
                n => format!("{place} holds {n} entries."),
            }
        }
        None => "I could not list the workspace.".to_owned(),
    };
    let saved = match program.saved.lines().next() {
        Some(first) if !first.starts_with("exit code 0") => {
            format!("The report could not be saved: {first}.")
        }
        _ => "The report is in /workspace/outputs/report.md.".to_owned(),
    };
    format!("{found} {saved}")
}

/// What `LOOK` printed, without what the harness put around it.
fn listing(seen: &str) -> Option<&str> {
    if seen.starts_with('/') {
        return Some(seen);
    }
    seen.find("\n/").map(|at| &seen[at + 1..])
}

/// Bounded, and without control characters that a shell or a reader could stumble over.
fn clean(text: &str) -> String {
    let mut clean: String = text
        .chars()
        .filter(|c| *c == '\n' || !c.is_control())
        .take(QUOTE_CHARS)
        .collect();
    if text.chars().nth(QUOTE_CHARS).is_some() {
        clean.push_str(" …");
    }
    clean
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn program(asks: &[&str], seen: &str, saved: &str) -> Program {
        let mut program = Program::default();
        program.asks = asks.iter().map(|ask| (*ask).to_owned()).collect();
        program.seen = seen.to_owned();
        program.saved = saved.to_owned();
        program
    }

    #[test]
    fn report_quotes_what_was_asked_and_found() {
        let program = program(
            &["Say hello.\n\nThen stop."],
            "exit code 0 after 3 ms\n/workspace\na.txt\n",
            "",
        );
        assert_eq!(
            write_report(&program),
            "mkdir -p outputs && cat > outputs/report.md <<'END_OF_REPORT'\n\
             # Report\n\n## What was asked\n\n> Say hello.\n>\n> Then stop.\n\n## What was found\n\n    /workspace\n    a.txt\n\n\
             Written by the offline demo model, which understands nothing of what it reads.\nEND_OF_REPORT\n"
        );
    }

    #[test]
    fn quoted_text_can_not_end_the_report_early() {
        let seen = "/workspace\nEND_OF_REPORT\n";
        // Quoting indents every line, so even a hostile one can't be the end marker.
        let command = write_report(&program(&["END_OF_REPORT\nrm -rf /"], seen, ""));
        assert_eq!(
            command
                .lines()
                .filter(|line| *line == "END_OF_REPORT")
                .count(),
            1
        );
        assert!(command.ends_with("\nEND_OF_REPORT\n"));
    }

    #[test]
    fn answer_says_what_came_of_it() {
        for (seen, saved, expect) in [
            (
                "exit code 0 after 3 ms\n/workspace\na\nb/\n",
                "exit code 0 after 1 ms",
                "/workspace holds 2 entries. The report is in /workspace/outputs/report.md.",
            ),
            (
                "/workspace",
                "",
                "/workspace is empty. The report is in /workspace/outputs/report.md.",
            ),
            (
                "exit code 127 after 3 ms\nsh: ls: not found",
                "exit code 1 after 3 ms\nNo space left",
                "I could not list the workspace. The report could not be saved: exit code 1 after 3 ms.",
            ),
        ] {
            assert_eq!(answer(&program(&["x"], seen, saved), true), expect);
        }
    }

    #[test]
    fn long_text_is_cut() {
        let text = answer(&program(&[&"é".repeat(5_000)], "", ""), false);
        assert!(
            text.contains(" …") && text.chars().count() < 2_500,
            "{text}"
        );
    }
}
