//! Types of configuration values: what a key accepts, and how a refusal is worded.

use std::ops::RangeInclusive;

use serde_json::{Value as Json, json};

use super::keys::nearest;

/// A checked value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Whole(u64),
    Bool(bool),
    Texts(Vec<String>),
}

/// What a key accepts.
#[derive(Clone, Debug)]
pub(super) enum Type {
    /// Any text but none.
    Text,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A whole number in these bounds.
    Whole(RangeInclusive<u64>),
    /// `true` or `false`.
    Bool,
    /// A list of texts; the check is for each.
    Texts(fn(&str) -> Result<(), &'static str>),
    /// A program and its arguments.
    Command,
    /// An absolute path, or one below the home directory (`~/…`).
    Path,
    /// Name of an environment variable. Never shown when it is wrong: people put keys here by mistake.
    VariableName,
    /// What AWS takes as the name of a table and of a bucket.
    Name,
    /// `http` or `https`, without credentials, query and fragment.
    BaseUrl,
    /// An IP address and a port.
    Address,
}

impl Type {
    /// In words, as in "must be …".
    pub(super) fn expected(&self) -> String {
        match self {
            Type::Text => "a text that is not empty".to_owned(),
            Type::OneOf(words) => format!("one of {}", quoted(words)),
            Type::Whole(bounds) => {
                format!("a whole number from {} to {}", bounds.start(), bounds.end())
            }
            Type::Bool => "true or false".to_owned(),
            Type::Texts(_) => "a list of texts".to_owned(),
            Type::Command => "a list of texts: a program and its arguments".to_owned(),
            Type::Path => "an absolute path, or one that starts with ~/".to_owned(),
            Type::VariableName => {
                "the name of an environment variable, not a key itself".to_owned()
            }
            Type::Name => "3 to 63 lower-case letters, digits, - and .".to_owned(),
            Type::BaseUrl => {
                "an http or https URL without credentials, query and fragment".to_owned()
            }
            Type::Address => "an IP address and a port, such as 127.0.0.1:8790".to_owned(),
        }
    }

    /// Checks a value of the file. The error goes behind "must be ".
    pub(super) fn of_toml(&self, item: &toml_edit::Value) -> Result<Value, String> {
        let wrong = || format!("{}, not {}", self.expected(), article(item.type_name()));
        match self {
            Type::Whole(bounds) => {
                let number = item.as_integer().ok_or_else(wrong)?;
                match u64::try_from(number) {
                    Ok(number) if bounds.contains(&number) => Ok(Value::Whole(number)),
                    _ => Err(format!("{}, not {number}", self.expected())),
                }
            }
            Type::Bool => item.as_bool().map(Value::Bool).ok_or_else(wrong),
            Type::Texts(_) | Type::Command => {
                let list = item.as_array().ok_or_else(wrong)?;
                let texts: Option<Vec<_>> = list
                    .iter()
                    .map(|entry| entry.as_str().map(str::to_owned))
                    .collect();
                self.of_texts(
                    texts.ok_or_else(|| format!("{}, and every entry a text", self.expected()))?,
                )
            }
            _ => self.of_text(item.as_str().ok_or_else(wrong)?),
        }
    }

    /// Checks a value of the environment. The error goes behind "must be ".
    pub(super) fn of_text(&self, text: &str) -> Result<Value, String> {
        let plain = || Value::Text(text.to_owned());
        let wrong = || format!("{}, not {text:?}", self.expected());
        match self {
            Type::Text => (!text.trim().is_empty())
                .then(plain)
                .ok_or_else(|| self.expected()),
            Type::OneOf(words) if words.contains(&text) => Ok(plain()),
            Type::OneOf(words) => Err(match nearest(text, words.iter().copied()) {
                Some(word) => format!("{}; did you mean {word:?}?", wrong()),
                None => wrong(),
            }),
            Type::Whole(bounds) => match text.parse() {
                Ok(number) if bounds.contains(&number) => Ok(Value::Whole(number)),
                _ => Err(wrong()),
            },
            Type::Bool => match text.to_ascii_lowercase().as_str() {
                "1" | "true" | "yes" | "on" => Ok(Value::Bool(true)),
                "0" | "false" | "no" | "off" => Ok(Value::Bool(false)),
                _ => Err(wrong()),
            },
            // Lists have no variable of their own.
            Type::Texts(_) | Type::Command => Err(wrong()),
            Type::Path => (text.starts_with('/') || text.starts_with("~/"))
                .then(plain)
                .ok_or_else(wrong),
            Type::VariableName => is_variable_name(text)
                .then(plain)
                .ok_or_else(|| self.expected()),
            Type::Name => is_name(text).then(plain).ok_or_else(|| self.expected()),
            Type::BaseUrl => is_base_url(text).then(plain).ok_or_else(|| self.expected()),
            Type::Address => text
                .parse::<std::net::SocketAddr>()
                .map(|_| plain())
                .map_err(|_| self.expected()),
        }
    }

    fn of_texts(&self, texts: Vec<String>) -> Result<Value, String> {
        match self {
            Type::Texts(check) => {
                for text in &texts {
                    check(text)
                        .map_err(|expected| format!("a list of which every entry is {expected}"))?;
                }
            }
            _ if texts.first().is_none_or(String::is_empty) => return Err(self.expected()),
            _ => {}
        }
        Ok(Value::Texts(texts))
    }
}

impl Value {
    /// For `config show`. A command is shown without its arguments, which may hold secrets.
    pub(super) fn shown(&self, kind: &Type) -> Json {
        match (self, kind) {
            (Value::Texts(words), Type::Command) => {
                let program = words.first().map(String::as_str).unwrap_or_default();
                match words.len() {
                    0 | 1 => json!(program),
                    n => json!(format!("{program} [{} arguments not shown]", n - 1)),
                }
            }
            (Value::Text(text), _) => json!(text),
            (Value::Whole(number), _) => json!(number),
            (Value::Bool(yes), _) => json!(yes),
            (Value::Texts(texts), _) => json!(texts),
        }
    }
}

/// Name of an environment variable.
pub(super) fn variable_name(text: &str) -> Result<(), &'static str> {
    is_variable_name(text)
        .then_some(())
        .ok_or("the name of an environment variable")
}

/// Keys for an action of the screen: `PLACE.ACTION=KEY KEY`. Whether there is such an action is known to the screen.
pub(super) fn key_binding(text: &str) -> Result<(), &'static str> {
    let named = text.split_once('=').filter(|(name, keys)| {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
        let parts = name.trim().split_once('.');
        let named = parts.is_some_and(|(place, action)| {
            [place, action]
                .iter()
                .all(|part| !part.is_empty() && part.chars().all(is_name))
        });
        named && !keys.trim().is_empty()
    });
    named
        .map(|_| ())
        .ok_or("PLACE.ACTION=KEY, such as session.fold=f")
}

/// Host pattern: `host`, `host:port` or `*.domain`, in lower case.
pub(super) fn host_pattern(text: &str) -> Result<(), &'static str> {
    const EXPECTED: &str = "a lower-case host, host:port or *.domain";
    let (host, port) = text
        .split_once(':')
        .map_or((text, None), |(host, port)| (host, Some(port)));
    let labels = host.strip_prefix("*.").unwrap_or(host);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'))
    };
    let port_fits = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    (labels.split('.').all(label) && port_fits)
        .then_some(())
        .ok_or(EXPECTED)
}

/// The id of a subnet.
pub(super) fn subnet(text: &str) -> Result<(), &'static str> {
    let id = text.strip_prefix("subnet-").unwrap_or_default();
    let plain = id
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    (!id.is_empty() && plain)
        .then_some(())
        .ok_or("the id of a subnet, such as subnet-0a1b2c3d")
}

fn is_variable_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_base_url(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let Some(rest) = rest else { return false };
    let authority = rest.split('/').next().unwrap_or_default();
    // The brackets of an IPv6 address hold colons.
    let behind_host = authority.rsplit(']').next().unwrap_or_default();
    let port_fits = match behind_host.split_once(':') {
        None => true,
        Some((_, port)) => port.parse::<u16>().is_ok_and(|port| port > 0),
    };
    let harmless =
        |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#' | '\\' | '"' | '<' | '>');
    !authority.is_empty() && !authority.starts_with(':') && port_fits && rest.chars().all(harmless)
}

fn quoted(words: &[&str]) -> String {
    words
        .iter()
        .map(|word| format!("{word:?}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn article(type_name: &str) -> String {
    match type_name.starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => format!("an {type_name}"),
        false => format!("a {type_name}"),
    }
}

/// What is a name of a table and of a bucket.
fn is_name(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    (3..=63).contains(&text.len())
        && text.bytes().all(plain)
        && !text.starts_with(['-', '.'])
        && !text.ends_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_urls_hold_no_secrets() {
        for good in [
            "https://api.example.com/v1",
            "http://127.0.0.1:8080",
            "http://[::1]:80/x",
        ] {
            assert!(is_base_url(good), "{good}");
        }
        for bad in [
            "",
            "api.example.com",
            "ftp://x",
            "https://",
            "https:///x",
            "https://u:p@x/",
            "https://x/?k=1",
            "https://x y",
        ] {
            assert!(!is_base_url(bad), "{bad}");
        }
    }

    #[test]
    fn keys_of_the_screen_are_given_to_an_action_by_its_name() {
        for good in [
            "session.fold=f",
            "sessions.page-down=ctrl-f pgdn",
            "session.fold=none",
        ] {
            assert_eq!(key_binding(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "fold=f",
            "session.fold",
            "session.fold=",
            "Session.Fold=f",
        ] {
            key_binding(bad).expect_err(bad);
        }
    }

    #[test]
    fn host_patterns_are_lower_case_hosts() {
        for good in [
            "example.com",
            "*.example.com",
            "localhost:8080",
            "127.0.0.1",
        ] {
            assert_eq!(host_pattern(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "*",
            "Example.com",
            "https://x",
            "a..b",
            "x:0",
            "x:99999",
            "x/y",
            "*.*.x",
        ] {
            assert!(host_pattern(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_misplaced_key_is_never_repeated() {
        let error = Type::VariableName
            .of_text("sk-secret")
            .expect_err("not a name");
        assert!(!error.contains("secret"), "{error}");
        let error = Type::BaseUrl
            .of_text("https://me:secret@host/")
            .expect_err("has credentials");
        assert!(!error.contains("secret"), "{error}");
    }

    #[test]
    fn commands_are_shown_without_arguments() {
        let value = Value::Texts(vec!["pass".into(), "show".into(), "secret".into()]);
        assert_eq!(
            value.shown(&Type::Command),
            json!("pass [2 arguments not shown]")
        );
    }
}
