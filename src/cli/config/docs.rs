//! `docs/configuration.md` holds the same table as the code.

use super::keys::{KEYS, Key};
use super::value::Type;

const PAGE: &str = include_str!("../../../docs/configuration.md");

fn row(key: &Key) -> String {
    let overrides: Vec<_> = [key.flag, key.env]
        .into_iter()
        .flatten()
        .map(|name| format!("`{name}`"))
        .collect();
    let default = match (key.default, key.default_words) {
        (Some(default), _) => format!("`{default}`"),
        (None, Some(words)) => words.to_owned(),
        (None, None) => "not set".to_owned(),
    };
    let name = key.name();
    format!(
        "| `{name}` | {} | {default} | {} | {} |\n",
        documented(&key.kind),
        overrides.join(", "),
        key.meaning
    )
}

fn documented(kind: &Type) -> String {
    match kind {
        Type::OneOf(words) => words
            .iter()
            .map(|word| format!("`\"{word}\"`"))
            .collect::<Vec<_>>()
            .join(", "),
        Type::Whole(bounds) => format!("{} to {}", bounds.start(), bounds.end()),
        Type::Text => "text".to_owned(),
        Type::Bool => "`true`, `false`".to_owned(),
        Type::Texts(_) => "list of texts".to_owned(),
        Type::Command => "list: program, arguments".to_owned(),
        Type::Path => "absolute path or `~/…`".to_owned(),
        Type::VariableName => "variable name".to_owned(),
        Type::Name => "3 to 63 of `a`–`z`, `0`–`9`, `-`, `.`".to_owned(),
        Type::BaseUrl => "http(s) URL".to_owned(),
        Type::Address => "IP address and port".to_owned(),
    }
}

#[test]
fn the_page_of_keys_says_what_the_code_does() {
    let rows: String = KEYS.iter().map(row).collect();
    let table = format!(
        "| Key | Values | Default | Overridden by | Meaning |\n| --- | --- | --- | --- | --- |\n{rows}"
    );
    assert!(
        PAGE.contains(&table),
        "docs/configuration.md must contain:\n{table}"
    );
}

#[test]
fn the_example_of_the_page_is_valid() {
    let example = PAGE
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the page has an example");
    let file = super::file::parse("config.toml".as_ref(), example).expect("the example is valid");
    assert!(!file.profiles.is_empty());
}
