//! A scanner for Rust that keeps what rules look at: words and punctuation with their lines.

use std::iter::Peekable;
use std::str::Chars;

/// A word or one piece of punctuation; `::` is one piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
    /// Inside an item that exists for tests only.
    pub(super) is_test: bool,
}

/// Whether a token is a word.
pub(super) fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Identifiers and punctuation; comments, strings, characters, lifetimes and numbers are left out.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut scanner = Scanner {
        rest: text.chars().peekable(),
        line: 1,
        found: Vec::new(),
    };
    scanner.scan();
    scanner.found
}

struct Scanner<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
    found: Vec<Token>,
}

impl Scanner<'_> {
    fn scan(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '/' if self.peek() == Some('/') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.next();
                    }
                }
                '/' if self.peek() == Some('*') => self.block_comment(),
                '"' => self.string(),
                '\'' => self.quote(),
                ':' if self.peek() == Some(':') => {
                    self.next();
                    self.push("::".to_owned());
                }
                _ if c.is_ascii_digit() => {
                    while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                        self.next();
                    }
                }
                _ if c.is_alphabetic() || c == '_' => self.word(c),
                _ if c.is_whitespace() => {}
                _ => self.push(c.to_string()),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn peek(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    fn push(&mut self, text: String) {
        self.found.push(Token {
            text,
            line: self.line,
            is_test: false,
        });
    }

    fn block_comment(&mut self) {
        let mut depth = 1;
        self.next();
        while let (1.., Some(c)) = (depth, self.next()) {
            match (c, self.peek()) {
                ('*', Some('/')) => {
                    depth -= 1;
                    self.next();
                }
                ('/', Some('*')) => {
                    depth += 1;
                    self.next();
                }
                _ => {}
            }
        }
    }

    /// The rest of a string with escapes.
    fn string(&mut self) {
        while let Some(c) = self.next() {
            match c {
                '\\' => {
                    self.next();
                }
                '"' => return,
                _ => {}
            }
        }
    }

    /// A character or a lifetime.
    fn quote(&mut self) {
        match self.next() {
            Some('\\') => {
                self.next();
                while self.next().is_some_and(|c| c != '\'') {}
            }
            Some(_) if self.peek() == Some('\'') => {
                self.next();
            }
            _ => {
                while self.peek().is_some_and(|c| c.is_alphanumeric() || c == '_') {
                    self.next();
                }
            }
        }
    }

    /// An identifier, or the beginning of a raw or byte string.
    fn word(&mut self, first: char) {
        let mut word = String::from(first);
        while let Some(c) = self.peek().filter(|c| c.is_alphanumeric() || *c == '_') {
            word.push(c);
            self.next();
        }
        match (word.as_str(), self.peek()) {
            ("r" | "br" | "cr", Some('"' | '#')) => self.raw(),
            ("b" | "c", Some('"')) => {
                self.next();
                self.string();
            }
            ("b", Some('\'')) => {
                self.next();
                self.quote();
            }
            _ => self.push(word),
        }
    }

    /// The rest of a raw string, or of a raw identifier.
    fn raw(&mut self) {
        let mut hashes = 0;
        while self.peek() == Some('#') {
            hashes += 1;
            self.next();
        }
        if self.peek() != Some('"') {
            return;
        }
        self.next();
        while let Some(c) = self.next() {
            if c != '"' {
                continue;
            }
            let mut seen = 0;
            while seen < hashes && self.peek() == Some('#') {
                seen += 1;
                self.next();
            }
            if seen == hashes {
                return;
            }
        }
    }
}
