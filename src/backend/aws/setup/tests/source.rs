//! Which operations of AWS clients the source calls.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What ends a request that was built.
const ENDS: [&str; 3] = [".send()", ".into_paginator()", ".send_with_plugins("];

/// The methods of clients that are called anywhere in the AWS world.
pub(super) fn calls() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/backend/aws");
    let mut found = BTreeSet::new();
    walk(&root, &mut found);
    found
}

fn walk(directory: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).expect("source directories are readable") {
        let path = entry.expect("source directories are readable").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "tests") {
                walk(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("source files are readable");
            found.extend(in_text(&text));
        }
    }
}

/// A request begins with a method without arguments, and what follows it has some.
fn in_text(text: &str) -> Vec<String> {
    let code: String = text.split_whitespace().collect();
    let mut found = Vec::new();
    for end in ENDS {
        for (at, _) in code.match_indices(end) {
            found.extend(first_of_chain(&code[..at]));
        }
    }
    found
}

/// The nearest method without arguments of the chain that ends where `code` does.
fn first_of_chain(code: &str) -> Option<String> {
    let mut rest = code;
    loop {
        let open = rest.strip_suffix(')').and_then(opening)?;
        let arguments = &rest[open + 1..rest.len() - 1];
        let name_from = rest[..open].rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let name = &rest[name_from + 1..open];
        if !rest[..=name_from].ends_with('.') {
            return None;
        }
        // These change how a request is sent: `.into_paginator().send()` is one, not two.
        if arguments.is_empty() && !["into_paginator", "customize"].contains(&name) {
            return Some(name.to_owned());
        }
        rest = &rest[..name_from];
    }
}

/// Where the parenthesis was opened that was closed behind `code`.
fn opening(code: &str) -> Option<usize> {
    let mut depth = 1;
    for (at, c) in code.char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[test]
fn calls_are_found_through_their_arguments() {
    let text = "
        let a = self.db.get_item().table_name(t).key(\"p\", f(1, 2)).send().await;
        let b = client.query()
            .limit(3)
            .into_paginator();
        let e = client.list_secrets().into_paginator().send();
        let f = client.put_object().body(b).customize().config_override(c).send();
        let c = request.send().await;
        channel(4).send();";
    assert_eq!(
        in_text(text),
        [
            "get_item",
            "list_secrets",
            "put_object",
            "query",
            "list_secrets"
        ]
    );
}
