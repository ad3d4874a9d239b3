//! The directives of the demo model: lines of a message that start with `@`. Pure text to data.

/// What one directive asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// `@say TEXT`: a message.
    Say(String),
    /// `@slow MS TEXT`: a message whose words come one by one, with a pause before each.
    Slow {
        /// Pause before each word.
        ms: u64,
        /// The message.
        text: String,
    },
    /// `@reason TEXT`: a reasoning item.
    Reason(String),
    /// `@exec COMMAND`: a call of the shell tool.
    Exec(String),
    /// `@call NAME JSON`: a call of any tool. The arguments are passed on exactly as written, valid or not.
    Call {
        /// Tool name.
        name: String,
        /// Arguments; `{}` if none are written.
        arguments: String,
    },
    /// `@sleep MS`: the stream stalls.
    Sleep {
        /// How long.
        ms: u64,
    },
    /// `@fail CODE MESSAGE`: the call fails, and repeating it is not offered.
    Fail {
        /// One of the Agents API's turn error codes.
        code: String,
        /// In words.
        message: String,
    },
}

/// The directives in `text`, in order. Other lines are ignored. A directive that can't be read becomes a message that says so.
pub fn read(text: &str) -> Vec<Directive> {
    text.lines().filter_map(read_line).collect()
}

fn read_line(line: &str) -> Option<Directive> {
    let line = line.trim();
    // Whole histories are read like this.
    if !line.starts_with('@') {
        return None;
    }
    let (word, rest) = split(line);
    Some(match word {
        "@say" if !rest.is_empty() => Directive::Say(rest.to_owned()),
        "@reason" if !rest.is_empty() => Directive::Reason(rest.to_owned()),
        "@exec" if !rest.is_empty() => Directive::Exec(rest.to_owned()),
        "@call" if !rest.is_empty() => {
            let (name, arguments) = split(rest);
            Directive::Call {
                name: name.to_owned(),
                arguments: if arguments.is_empty() {
                    "{}"
                } else {
                    arguments
                }
                .to_owned(),
            }
        }
        "@sleep" => match rest.parse() {
            Ok(ms) => Directive::Sleep { ms },
            Err(_) => unreadable(line, "@sleep MS"),
        },
        "@slow" => {
            let (ms, text) = split(rest);
            match ms.parse() {
                Ok(ms) if !text.is_empty() => Directive::Slow {
                    ms,
                    text: text.to_owned(),
                },
                _ => unreadable(line, "@slow MS TEXT"),
            }
        }
        "@fail" if !rest.is_empty() => {
            let (code, message) = split(rest);
            Directive::Fail {
                code: code.to_owned(),
                message: if message.is_empty() {
                    "the demo model was told to fail"
                } else {
                    message
                }
                .to_owned(),
            }
        }
        "@say" => unreadable(line, "@say TEXT"),
        "@reason" => unreadable(line, "@reason TEXT"),
        "@exec" => unreadable(line, "@exec COMMAND"),
        "@call" => unreadable(line, "@call NAME JSON"),
        "@fail" => unreadable(line, "@fail CODE MESSAGE"),
        _ => return None,
    })
}

fn unreadable(line: &str, form: &str) -> Directive {
    Directive::Say(format!(
        "I can't read the directive `{line}`; it is written `{form}`."
    ))
}

/// The first word, and what follows it without the white space between.
fn split(text: &str) -> (&str, &str) {
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim()),
        None => (text, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_holds_no_directive() {
        assert_eq!(read("mail @alice about @exec, please\n@bob too"), []);
    }

    #[test]
    fn call_arguments_are_kept_exactly() {
        assert_eq!(
            read("@call f {\"a\":  \"b\"\n  @call g"),
            [
                Directive::Call {
                    name: "f".into(),
                    arguments: "{\"a\":  \"b\"".into()
                },
                Directive::Call {
                    name: "g".into(),
                    arguments: "{}".into()
                },
            ]
        );
    }

    #[test]
    fn unreadable_directives_say_how_they_are_written() {
        for line in [
            "@say",
            "@reason",
            "@sleep soon",
            "@slow x y",
            "@slow 5",
            "@exec",
            "@call",
            "@fail",
        ] {
            let read = read(line);
            assert!(
                matches!(&read[..], [Directive::Say(text)] if text.contains("is written `@")),
                "{line}: {read:?}"
            );
        }
    }
}
