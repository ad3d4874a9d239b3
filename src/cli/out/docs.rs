//! `docs/exit-codes.md` holds the same tables as the code.

use super::codes;
use super::kind::Kind;

const PAGE: &str = include_str!("../../../docs/exit-codes.md");

fn exit_table() -> String {
    let rows = Kind::ALL.iter().map(|kind| {
        format!(
            "| {} | `{}` | {} |\n",
            kind.exit_code(),
            kind.name(),
            kind.meaning()
        )
    });
    ["| Exit | Kind | Meaning |\n| --- | --- | --- |\n".to_owned()]
        .into_iter()
        .chain(rows)
        .collect()
}

fn code_table() -> String {
    let rows = codes::ALL.iter().map(|code| {
        format!(
            "| {} | {} | {} |\n",
            code.id,
            code.kind.exit_code(),
            code.meaning
        )
    });
    ["| Code | Exit | Meaning |\n| --- | --- | --- |\n".to_owned()]
        .into_iter()
        .chain(rows)
        .collect()
}

#[test]
fn the_page_of_exit_codes_says_what_the_code_does() {
    for table in [exit_table(), code_table()] {
        assert!(
            PAGE.contains(&table),
            "docs/exit-codes.md must contain:\n{table}"
        );
    }
}
