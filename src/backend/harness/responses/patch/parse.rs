//! Reads the patch format. Pure text to data.

use super::PatchError;

/// What a patch does to one file. Paths are as written, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new file.
    Add {
        /// Where.
        path: String,
        /// All of it.
        content: String,
    },
    /// A file goes.
    Delete {
        /// Where.
        path: String,
    },
    /// A file changes, moves, or both.
    Update {
        /// Where it is.
        path: String,
        /// Where it goes.
        to: Option<String>,
        /// Changes in file order; may be empty if it moves.
        hunks: Vec<Hunk>,
    },
}

/// One place of a file that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Line of the patch where it begins, from 1.
    pub line: usize,
    /// Lines that come before it in the file, outermost first.
    pub anchors: Vec<String>,
    /// Its lines, in order.
    pub lines: Vec<Line>,
    /// Whether it is at the end of the file.
    pub at_end: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// Stays.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Insert(String),
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

/// Reads a patch. Blank lines around it, and line ends of the other convention throughout, are accepted.
pub fn parse(patch: &str) -> Result<Vec<Change>, PatchError> {
    let mut lines = Lines::new(patch);
    lines.skip_blank();
    match lines.next() {
        Some((_, line)) if line.trim_end() == BEGIN => {}
        found => return Err(lines.wrong(found, format!("`{BEGIN}` was expected"))),
    }
    let mut changes = Vec::new();
    loop {
        let header = lines.next();
        let Some((number, line)) = header else {
            return Err(lines.wrong(None, format!("`{END}` is missing")));
        };
        if line.trim_end() == END {
            break;
        }
        if let Some(path) = argument(line, ADD) {
            changes.push(add(&mut lines, number, path)?);
        } else if let Some(path) = argument(line, DELETE) {
            changes.push(Change::Delete {
                path: named(number, path)?,
            });
        } else if let Some(path) = argument(line, UPDATE) {
            changes.push(update(&mut lines, number, path)?);
        } else {
            let reason = format!("`{ADD} …`, `{DELETE} …`, `{UPDATE} …` or `{END}` was expected");
            return Err(lines.wrong(header, reason));
        }
    }
    lines.skip_blank();
    if let Some(found) = lines.next() {
        return Err(lines.wrong(Some(found), format!("nothing may follow `{END}`")));
    }
    if changes.is_empty() {
        return Err(lines.wrong(None, "the patch changes nothing".to_owned()));
    }
    Ok(changes)
}

fn add(lines: &mut Lines, number: usize, path: &str) -> Result<Change, PatchError> {
    let path = named(number, path)?;
    let mut content = String::new();
    while let Some(text) = lines.peek().and_then(|line| line.strip_prefix('+')) {
        content.push_str(text);
        content.push('\n');
        lines.next();
    }
    Ok(Change::Add { path, content })
}

fn update(lines: &mut Lines, number: usize, path: &str) -> Result<Change, PatchError> {
    let path = named(number, path)?;
    let mut to = None;
    if let Some(target) = lines.peek().and_then(|line| argument(line, MOVE)) {
        to = Some(named(number + 1, target)?);
        lines.next();
    }
    let mut hunks = Vec::new();
    while let Some(hunk) = hunk(lines)? {
        hunks.push(hunk);
    }
    if hunks.is_empty() && to.is_none() {
        return Err(PatchError::Syntax {
            line: number,
            reason: "an update needs lines to change".to_owned(),
        });
    }
    Ok(Change::Update { path, to, hunks })
}

/// The next hunk, or `None` where the next file or the end begins.
fn hunk(lines: &mut Lines) -> Result<Option<Hunk>, PatchError> {
    let mut hunk = Hunk {
        line: lines.number(),
        ..Hunk::default()
    };
    while let Some(anchor) = lines.peek().and_then(|line| line.strip_prefix("@@")) {
        // `@@ -1,3 +1,4 @@` of other formats counts lines, which says nothing certain here.
        let anchor = anchor.strip_prefix(' ').unwrap_or(anchor);
        if !anchor.trim().is_empty() && !is_line_count(anchor) {
            hunk.anchors.push(anchor.to_owned());
        }
        lines.next();
    }
    let headed = hunk.line != lines.number();
    let mut blank_tail = 0;
    while let Some(line) = lines.peek() {
        if line.trim_end() == END_OF_FILE {
            hunk.at_end = true;
            lines.next();
            break;
        }
        let mut letters = line.chars();
        let letter = letters.next();
        blank_tail = if letter.is_none() { blank_tail + 1 } else { 0 };
        match letter {
            Some(' ') => hunk.lines.push(Line::Keep(letters.as_str().to_owned())),
            Some('-') => hunk.lines.push(Line::Remove(letters.as_str().to_owned())),
            Some('+') => hunk.lines.push(Line::Insert(letters.as_str().to_owned())),
            // Editors and models drop the one space that an empty line should have.
            None => hunk.lines.push(Line::Keep(String::new())),
            _ if line.starts_with("@@") || line.starts_with("***") => break,
            _ => {
                let found = lines.next();
                let reason = "a line of a change begins with a space, `-` or `+`".to_owned();
                return Err(lines.wrong(found, reason));
            }
        }
        lines.next();
    }
    // Blank lines at its end are more likely layout than content, and as lines that stay they say nothing.
    hunk.lines.truncate(hunk.lines.len() - blank_tail);
    if hunk.lines.is_empty() {
        return if headed || hunk.at_end {
            Err(PatchError::Syntax {
                line: hunk.line,
                reason: "this change has no lines".to_owned(),
            })
        } else {
            Ok(None)
        };
    }
    Ok(Some(hunk))
}

fn is_line_count(anchor: &str) -> bool {
    let mut words = anchor.split_whitespace();
    let counts = |word: Option<&str>, sign: char| {
        word.and_then(|word| word.strip_prefix(sign))
            .is_some_and(|numbers| numbers.chars().all(|c| c.is_ascii_digit() || c == ','))
    };
    counts(words.next(), '-') && counts(words.next(), '+')
}

fn argument<'a>(line: &'a str, header: &str) -> Option<&'a str> {
    line.strip_prefix(header).map(str::trim)
}

fn named(line: usize, path: &str) -> Result<String, PatchError> {
    if path.is_empty() {
        return Err(PatchError::Syntax {
            line,
            reason: "a path is missing".to_owned(),
        });
    }
    Ok(path.to_owned())
}

/// The patch's lines with their numbers.
struct Lines<'a> {
    lines: Vec<&'a str>,
    next: usize,
}

impl<'a> Lines<'a> {
    fn new(patch: &'a str) -> Lines<'a> {
        let mut first = patch.trim_start().split('\n');
        let carriage_returns = first.next().is_some_and(|line| line.ends_with('\r'));
        let lines = patch.split('\n').map(|line| match line.strip_suffix('\r') {
            Some(stripped) if carriage_returns => stripped,
            _ => line,
        });
        let mut lines: Vec<&str> = lines.collect();
        // What follows the last line end is no line.
        if lines.last() == Some(&"") {
            lines.pop();
        }
        Lines { lines, next: 0 }
    }

    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.next).copied()
    }

    /// The number of the next line, from 1.
    fn number(&self) -> usize {
        self.next + 1
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let line = self.peek()?;
        self.next += 1;
        Some((self.next, line))
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.next += 1;
        }
    }

    fn wrong(&self, found: Option<(usize, &str)>, reason: String) -> PatchError {
        match found {
            Some((line, text)) => PatchError::Syntax {
                line,
                reason: format!("{reason}, found `{}`", excerpt(text)),
            },
            None => PatchError::Syntax {
                line: self.lines.len().max(1),
                reason,
            },
        }
    }
}

/// Enough of a line to recognise it.
pub fn excerpt(line: &str) -> String {
    const CHARS: usize = 120;
    match line.char_indices().nth(CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn keep(text: &str) -> Line {
        Line::Keep(text.into())
    }

    fn remove(text: &str) -> Line {
        Line::Remove(text.into())
    }

    fn insert(text: &str) -> Line {
        Line::Insert(text.into())
    }

    const ALL: &str = "\n*** Begin Patch\n\
        *** Add File: a/b.txt\n+one\n+\n+ two\n\
        *** Delete File: gone\n\
        *** Update File: c\n*** Move to: d\n \
        first\n-old\n+new\n\
        @@ fn main() {\n@@     inner\n keep\n\n+more\n*** End of File\n\
        *** Update File: e\n@@\n-x\n@@ -1,2 +3,4 @@\n+y\n\
        *** End Patch\n\n";

    #[test]
    fn every_form_is_read() {
        let expect = vec![
            Change::Add {
                path: "a/b.txt".into(),
                content: "one\n\n two\n".into(),
            },
            Change::Delete {
                path: "gone".into(),
            },
            Change::Update {
                path: "c".into(),
                to: Some("d".into()),
                hunks: vec![
                    Hunk {
                        line: 10,
                        lines: vec![keep("first"), remove("old"), insert("new")],
                        ..Hunk::default()
                    },
                    Hunk {
                        line: 13,
                        anchors: vec!["fn main() {".into(), "    inner".into()],
                        lines: vec![keep("keep"), keep(""), insert("more")],
                        at_end: true,
                    },
                ],
            },
            Change::Update {
                path: "e".into(),
                to: None,
                hunks: vec![
                    Hunk {
                        line: 20,
                        lines: vec![remove("x")],
                        ..Hunk::default()
                    },
                    Hunk {
                        line: 22,
                        lines: vec![insert("y")],
                        ..Hunk::default()
                    },
                ],
            },
        ];
        assert_eq!(parse(ALL), Ok(expect.clone()));
        assert_eq!(parse(&ALL.replace('\n', "\r\n")), Ok(expect));
    }

    #[test]
    fn carriage_returns_of_single_lines_are_content() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\r\n*** End Patch";
        let expect = Change::Add {
            path: "a".into(),
            content: "x\r\n".into(),
        };
        assert_eq!(parse(patch), Ok(vec![expect]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (patch, line, word) in [
            ("", 1, "`*** Begin Patch` was expected"),
            ("hello", 1, "found `hello`"),
            ("*** Begin Patch", 1, "`*** End Patch` is missing"),
            ("*** Begin Patch\n*** End Patch", 2, "changes nothing"),
            ("*** Begin Patch\n*** End Patch\nx", 3, "nothing may follow"),
            (
                "*** Begin Patch\n*** Add File:\n*** End Patch",
                2,
                "a path is missing",
            ),
            (
                "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
                3,
                "was expected, found `x`",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n*** End Patch",
                2,
                "needs lines",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n*** Move to: \n*** End Patch",
                3,
                "a path is missing",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch",
                3,
                "no lines",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n*** End of File\n*** End Patch",
                3,
                "no lines",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n-x\nwhat\n*** End Patch",
                4,
                "begins with a space",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n-x",
                3,
                "`*** End Patch` is missing",
            ),
        ] {
            match parse(patch) {
                Err(PatchError::Syntax { line: at, reason }) => {
                    assert_eq!(at, line, "{patch}: {reason}");
                    assert!(reason.contains(word), "{patch}: {reason}");
                }
                other => panic!("{patch}: {other:?}"),
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(\\*\\*\\* (Begin Patch|End Patch|Add File: a|Update File: b|Move to: c|End of File)|[@+ -]{0,3}[a-z]{0,3}|\r|\n){0,40}") {
            let _ = parse(&text);
        }
    }
}
