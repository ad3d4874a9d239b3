//! Rust source as the rules see it: the paths it names, the modules it declares, and which lines are tests.

use super::tokens::{Token, is_identifier, tokens};

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    /// From the root of the repository: `src/engine/ids.rs`.
    pub(super) path: String,
    pub(super) text: String,
    /// The whole file is compiled for tests only.
    pub(super) is_test: bool,
    tokens: Vec<Token>,
    /// First and last line of each item that exists for tests only.
    test_spans: Vec<(usize, usize)>,
}

/// A path somewhere in the code: `crate::text::cells`, `Instant::now`, one leaf of a `use` group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// `crate`, `self` and `super` are resolved: paths of our own crate begin with `crate`.
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
    /// It is part of a `pub use`.
    pub(super) reexported: bool,
}

impl Source {
    pub(super) fn new(path: &str, text: &str) -> Source {
        let mut tokens = tokens(text);
        let test_spans = mark_test_items(&mut tokens);
        Source {
            path: path.to_owned(),
            text: text.to_owned(),
            is_test: false,
            tokens,
            test_spans,
        }
    }

    /// `engine` for `src/engine/ids.rs`; nothing for files directly in `src`.
    pub(super) fn folder(&self) -> Option<&str> {
        let (folder, _) = self.path.strip_prefix("src/")?.split_once('/')?;
        Some(folder)
    }

    /// Path of the module that this file is: `["engine", "ids"]`.
    fn module(&self) -> Vec<String> {
        let inner = self.path.strip_prefix("src/").unwrap_or(&self.path);
        let inner = inner.strip_suffix(".rs").unwrap_or(inner);
        let mut parts: Vec<String> = inner.split('/').map(str::to_owned).collect();
        if parts
            .last()
            .is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main"))
        {
            parts.pop();
        }
        parts
    }

    /// Every path that the code names.
    pub(super) fn named(&self) -> Vec<Named> {
        let mut reader = Reader {
            tokens: &self.tokens,
            at: 0,
            module: self.module(),
            depths: Vec::new(),
            depth: 0,
            named: Vec::new(),
        };
        reader.read();
        reader.named
    }

    /// Names of modules: this file's, its directories' and those declared in it.
    pub(super) fn module_names(&self) -> Vec<String> {
        let mut names = self.module();
        for pair in self.tokens.windows(2) {
            if pair[0].text == "mod" && is_identifier(&pair[1].text) {
                names.push(pair[1].text.clone());
            }
        }
        names
    }

    /// Lines of `.method()` calls outside of tests.
    pub(super) fn calls(&self, method: &str) -> Vec<usize> {
        self.tokens
            .windows(3)
            .filter(|t| {
                t[0].text == "." && t[1].text == method && t[2].text == "(" && !t[1].is_test
            })
            .map(|t| t[1].line)
            .collect()
    }

    /// Lines that are not part of test items.
    pub(super) fn lines_without_tests(&self) -> usize {
        let tests: usize = self
            .test_spans
            .iter()
            .map(|(first, last)| last - first + 1)
            .sum();
        self.text.lines().count().saturating_sub(tests)
    }

    /// Files of `#[cfg(test)] mod name;`.
    fn test_files(&self) -> Vec<String> {
        let directory = format!("src/{}", self.module().join("/"));
        self.tokens
            .windows(3)
            .filter(|t| t[0].text == "mod" && t[2].text == ";" && t[0].is_test)
            .flat_map(|t| {
                let base = format!("{}/{}", directory.trim_end_matches('/'), t[1].text);
                [format!("{base}.rs"), format!("{base}/mod.rs")]
            })
            .collect()
    }
}

/// Marks the files that are declared under `#[cfg(test)]`.
pub(super) fn mark_test_files(sources: &mut [Source]) {
    let files: Vec<String> = sources.iter().flat_map(Source::test_files).collect();
    for source in sources {
        source.is_test = files.contains(&source.path);
    }
}

/// Walks over tokens and collects paths; knows in which inline module it is.
struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    module: Vec<String>,
    /// Brace depth at which each inline module began.
    depths: Vec<usize>,
    depth: usize,
    named: Vec<Named>,
}

impl Reader<'_> {
    fn read(&mut self) {
        while let Some(token) = self.tokens.get(self.at) {
            match token.text.as_str() {
                "{" => self.depth += 1,
                "}" => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depths.last() == Some(&self.depth) {
                        self.depths.pop();
                        self.module.pop();
                    }
                }
                "mod" if self.text(2) == "{" => {
                    self.module.push(self.text(1).to_owned());
                    self.depths.push(self.depth);
                    self.depth += 1;
                    self.at += 3;
                    continue;
                }
                "use" => {
                    let reexported = self.is_public();
                    self.at += 1;
                    self.tree(Vec::new(), reexported);
                    continue;
                }
                text if is_identifier(text) => {
                    self.path();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    fn text(&self, ahead: usize) -> &str {
        self.tokens
            .get(self.at + ahead)
            .map_or("", |token| &token.text)
    }

    /// Whether `pub` or `pub(…)` stands before the current token.
    fn is_public(&self) -> bool {
        let before = |n: usize| {
            self.at
                .checked_sub(n)
                .map_or("", |at| self.tokens[at].text.as_str())
        };
        before(1) == "pub" || (before(1) == ")" && (2..8).any(|n| before(n) == "pub"))
    }

    /// A path in an expression or a type.
    fn path(&mut self) {
        let line = self.tokens[self.at].line;
        let mut segments = vec![self.tokens[self.at].text.clone()];
        self.at += 1;
        while self.text(0) == "::" && is_identifier(self.text(1)) {
            segments.push(self.text(1).to_owned());
            self.at += 2;
        }
        self.push(segments, line, false);
    }

    /// The rest of a `use` after `prefix`, with groups taken apart.
    fn tree(&mut self, prefix: Vec<String>, reexported: bool) {
        let mut segments = prefix;
        let mut line = self.tokens.get(self.at).map_or(0, |token| token.line);
        loop {
            match self.text(0) {
                "::" => self.at += 1,
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | "") {
                        self.tree(segments.clone(), reexported);
                        if self.text(0) == "," {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                "as" => self.at += 2,
                text if is_identifier(text) || text == "*" => {
                    line = self.tokens[self.at].line;
                    segments.push(text.to_owned());
                    self.at += 1;
                }
                _ => break,
            }
        }
        self.push(segments, line, reexported);
    }

    fn push(&mut self, segments: Vec<String>, line: usize, reexported: bool) {
        if segments.is_empty() {
            return;
        }
        self.named.push(Named {
            segments: self.resolve(segments),
            line,
            reexported,
        });
    }

    fn resolve(&self, segments: Vec<String>) -> Vec<String> {
        let supers = segments.iter().take_while(|s| *s == "super").count();
        let (up, rest) = match segments[0].as_str() {
            "super" => (supers, &segments[supers..]),
            "self" if segments.len() > 1 => (0, &segments[1..]),
            // The library as the binary sees it.
            "rat_things" => return [&["crate".to_owned()], &segments[1..]].concat(),
            _ => return segments,
        };
        let kept = self.module.len().saturating_sub(up);
        let mut whole = vec!["crate".to_owned()];
        whole.extend_from_slice(&self.module[..kept]);
        whole.extend_from_slice(rest);
        whole
    }
}

/// Marks every token of an item behind `#[cfg(test)]`; returns the lines of these items.
fn mark_test_items(tokens: &mut [Token]) -> Vec<(usize, usize)> {
    let mut spans = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(attribute) = test_attribute(&tokens[at..]) else {
            at += 1;
            continue;
        };
        let end = item_end(tokens, at + attribute);
        let item = &mut tokens[at..end];
        item.iter_mut().for_each(|token| token.is_test = true);
        spans.push((item[0].line, item[item.len() - 1].line));
        at = end;
    }
    spans
}

/// The length of `#[cfg(… test …)]`, if the tokens begin with it.
fn test_attribute(tokens: &[Token]) -> Option<usize> {
    let texts: Vec<&str> = tokens
        .iter()
        .take(16)
        .map(|token| token.text.as_str())
        .collect();
    if !texts.starts_with(&["#", "[", "cfg", "("]) {
        return None;
    }
    let end = texts.iter().position(|text| *text == "]")?;
    let inside = &texts[4..end];
    (inside.contains(&"test") && !inside.contains(&"not")).then_some(end + 1)
}

/// Where the item that begins at `at` ends: behind its block, or behind its semicolon.
fn item_end(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0usize;
    for (i, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token.text == "}" {
                    return i + 1;
                }
            }
            ";" if depth == 0 => return i + 1,
            _ => {}
        }
    }
    tokens.len()
}
