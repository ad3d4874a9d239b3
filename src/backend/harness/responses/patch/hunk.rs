//! Applies the hunks of one file to its text. Pure.
//!
//! A line matches if it is equal; if a whole hunk fits nowhere that way, white space at line ends is disregarded. Lines that stay
//! keep the file's own bytes, and lines that come get the file's own line ends.

use super::parse::{Hunk, Line, excerpt};

/// Changes `text`; the error says which line did not match.
pub fn apply(text: &str, hunks: &[Hunk]) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line_end = match lines.first() {
        Some(line) if line.ends_with("\r\n") => "\r\n",
        _ => "\n",
    };
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for hunk in hunks {
        let at = place(&lines, done, hunk)?;
        out.extend(lines[done..at].iter().copied());
        done = at;
        for line in &hunk.lines {
            match line {
                Line::Keep(_) => {
                    push_line(&mut out, lines[done], line_end);
                    done += 1;
                }
                Line::Remove(_) => done += 1,
                Line::Insert(text) => push_line(&mut out, text, line_end),
            }
        }
    }
    out.extend(lines[done..].iter().copied());
    // A file whose last line had no end keeps that.
    if lines.last().is_some_and(|last| !last.ends_with('\n')) && out.ends_with(line_end) {
        out.truncate(out.len() - line_end.len());
    }
    Ok(out)
}

/// Adds a line, and the end that the line before it may lack.
fn push_line(out: &mut String, line: &str, line_end: &str) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push_str(line_end);
    }
    out.push_str(line);
    if !line.ends_with('\n') {
        out.push_str(line_end);
    }
}

/// Where in `lines`, at or after `from`, the hunk begins.
fn place(lines: &[&str], from: usize, hunk: &Hunk) -> Result<usize, String> {
    let mut from = from;
    let mut after_anchor = None;
    for anchor in &hunk.anchors {
        let wanted = anchor.trim();
        let found = lines[from..].iter().position(|line| line.trim() == wanted);
        let Some(offset) = found else {
            return Err(format!(
                "line {} of the patch: no line `{}` at or after line {}",
                hunk.line,
                excerpt(anchor),
                from + 1,
            ));
        };
        from += offset;
        after_anchor = Some(from + 1);
    }
    let old: Vec<&str> = hunk.lines.iter().filter_map(old_line).collect();
    if old.is_empty() {
        return Ok(match after_anchor {
            Some(at) if !hunk.at_end => at,
            _ => lines.len(),
        });
    }
    if hunk.at_end {
        // What comes last in the file can only be there.
        from = from.max(lines.len().saturating_sub(old.len()));
    }
    let exact = |line: &str, old: &str| content(line) == old;
    let loose = |line: &str, old: &str| line.trim_end() == old.trim_end();
    find(lines, from, &old, exact)
        .or_else(|| find(lines, from, &old, loose))
        .ok_or_else(|| mismatch(lines, from, &old, hunk))
}

fn old_line(line: &Line) -> Option<&str> {
    match line {
        Line::Keep(text) | Line::Remove(text) => Some(text),
        Line::Insert(_) => None,
    }
}

fn content(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn find(
    lines: &[&str],
    from: usize,
    old: &[&str],
    same: impl Fn(&str, &str) -> bool,
) -> Option<usize> {
    let last = lines.len().checked_sub(old.len())?;
    (from..=last).find(|at| matching(&lines[*at..], old, &same) == old.len())
}

/// How many lines of `old` match one after another.
fn matching(lines: &[&str], old: &[&str], same: impl Fn(&str, &str) -> bool) -> usize {
    let pairs = lines.iter().zip(old);
    pairs.take_while(|(line, old)| same(line, old)).count()
}

/// Names the first line that did not match where most of them did.
fn mismatch(lines: &[&str], from: usize, old: &[&str], hunk: &Hunk) -> String {
    let loose = |line: &str, old: &str| line.trim_end() == old.trim_end();
    let best = (from..lines.len())
        .map(|at| (matching(&lines[at..], old, loose), at))
        .filter(|(matched, _)| *matched > 0)
        // Of equal ones the first.
        .max_by_key(|(matched, at)| (*matched, std::cmp::Reverse(*at)));
    let begins = hunk.line;
    let place = if hunk.at_end {
        "at the end of the file"
    } else {
        "in the file"
    };
    let Some((matched, at)) = best else {
        let earlier = find(lines, 0, old, loose);
        let hint = match earlier {
            Some(at) => format!(
                "; they are at line {}, but changes must be in the order of the file",
                at + 1
            ),
            None => String::new(),
        };
        return format!(
            "line {begins} of the patch: the lines to change were not found {place} after line {from}, beginning with `{}`{hint}",
            excerpt(old[0])
        );
    };
    let found = match lines.get(at + matched) {
        Some(line) => format!("has `{}`", excerpt(content(line))),
        None => "is behind the end of the file".to_owned(),
    };
    format!(
        "line {begins} of the patch: the lines to change were not found {place}; they match best from line {}, but line {} {found} where \
         the patch has `{}`",
        at + 1,
        at + matched + 1,
        excerpt(old[matched]),
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::super::parse::{Change, parse};
    use super::*;

    fn hunks(body: &str) -> Vec<Hunk> {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n");
        match parse(&patch)
            .expect("the test's patch can be read")
            .remove(0)
        {
            Change::Update { hunks, .. } => hunks,
            other => panic!("{other:?}"),
        }
    }

    fn check(text: &str, body: &str, expect: &str) {
        assert_eq!(apply(text, &hunks(body)).as_deref(), Ok(expect), "{body}");
    }

    fn refused(text: &str, body: &str, words: &[&str]) {
        let error = apply(text, &hunks(body)).expect_err(body);
        for word in words {
            assert!(error.contains(word), "{body}\n{error}\nlacks: {word}");
        }
    }

    #[test]
    fn lines_are_replaced_inserted_and_removed() {
        check("a\nb\nc\n", " a\n-b\n+B\n c", "a\nB\nc\n");
        check("a\nb\nc\n", "-a", "b\nc\n");
        check("a\nb\nc\n", "+z", "a\nb\nc\nz\n");
        check("", "+a\n+b", "a\nb\n");
        check("a\n", "-a", "");
        check("a\nb\n", "-a\n+x\n@@\n-b\n+y", "x\ny\n");
    }

    #[test]
    fn anchors_choose_among_equal_places() {
        let text = "fn a() {\n    x\n}\nfn b() {\n    x\n}\n";
        check(
            text,
            "-    x\n+    y",
            "fn a() {\n    y\n}\nfn b() {\n    x\n}\n",
        );
        let second = "fn a() {\n    x\n}\nfn b() {\n    y\n}\n";
        check(text, "@@ fn b() {\n-    x\n+    y", second);
        check(text, "@@ fn b() {\n fn b() {\n-    x\n+    y", second);
        check(
            text,
            "@@ fn b() {\n+    // new",
            "fn a() {\n    x\n}\nfn b() {\n    // new\n    x\n}\n",
        );
        check(
            "p\n q\n  x\np\n  x\n",
            "@@ p\n@@ q\n-  x\n+  y",
            "p\n q\n  y\np\n  x\n",
        );
    }

    #[test]
    fn a_change_at_the_end_is_only_looked_for_there() {
        check("x\ny\nx\n", "-x\n+z\n*** End of File", "x\ny\nz\n");
        check("x\n", "+z\n*** End of File", "x\nz\n");
        refused(
            "x\ny\n",
            "-x\n+z\n*** End of File",
            &["at the end of the file"],
        );
    }

    #[test]
    fn only_white_space_at_line_ends_is_disregarded() {
        check("a  \nb\t\n", " a\n-b\n+c", "a  \nc\n");
        check("x \nx\n", "-x\n+y", "x \ny\n");
        refused("  a\n", "-a\n+b", &["were not found", "beginning with `a`"]);
    }

    #[test]
    fn the_files_own_line_ends_are_kept() {
        check("a\r\nb\r\n", " a\n-b\n+c\n+d", "a\r\nc\r\nd\r\n");
        check("a\nb", "-b\n+c", "a\nc");
        check("a\nb", " b\n+c", "a\nb\nc");
        check("a\r\nb", " b\n+c", "a\r\nb\r\nc");
        check("a\nb", "-b", "a");
    }

    #[test]
    fn the_line_that_did_not_match_is_named() {
        refused(
            "a\nb\nc\n",
            " a\n-x\n+y",
            &[
                "line 3 of the patch",
                "best from line 1",
                "line 2 has `b`",
                "the patch has `x`",
            ],
        );
        refused(
            "a\nb\n",
            " b\n-c",
            &["line 3 is behind the end of the file", "`c`"],
        );
        refused(
            "a\nb\n",
            "-b\n@@\n-a",
            &["they are at line 1", "in the order of the file"],
        );
        refused(
            "a\n",
            "@@ nowhere\n-a",
            &["no line `nowhere` at or after line 1"],
        );
        refused("", "-a", &["were not found"]);
    }

    fn text() -> impl Strategy<Value = String> {
        ("([ab ]{0,2}(\r)?\n){0,8}", "[ab]{0,2}").prop_map(|(lines, last)| lines + &last)
    }

    fn any_hunks() -> impl Strategy<Value = Vec<Hunk>> {
        let line = ("[ab ]{0,2}", 0..3).prop_map(|(text, kind)| match kind {
            0 => Line::Keep(text),
            1 => Line::Remove(text),
            _ => Line::Insert(text),
        });
        let anchors = proptest::collection::vec("[ab]{1,2}", 0..2);
        let lines = proptest::collection::vec(line, 1..5);
        let hunk = (anchors, lines, any::<bool>()).prop_map(|(anchors, lines, at_end)| Hunk {
            line: 1,
            anchors,
            lines,
            at_end,
        });
        proptest::collection::vec(hunk, 0..3)
    }

    proptest! {
        /// A patch that keeps every line and removes none gives the text back, plus what it inserts.
        #[test]
        fn keeping_everything_changes_nothing(text in text()) {
            let lines: Vec<Line> = text
                .split_inclusive('\n')
                .map(|line| Line::Keep(content(line).to_owned()))
                .collect();
            prop_assume!(!lines.is_empty());
            let hunk = Hunk { line: 1, lines, at_end: true, ..Hunk::default() };
            prop_assert_eq!(apply(&text, &[hunk]), Ok(text));
        }

        /// From any text to any other, by a patch that replaces all lines.
        #[test]
        fn any_text_can_become_any_other(
            from in proptest::collection::vec("[ab ]{0,3}", 0..6),
            to in proptest::collection::vec("[ab ]{0,3}", 0..6),
        ) {
            let whole = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let removed = from.iter().cloned().map(Line::Remove);
            let inserted = to.iter().cloned().map(Line::Insert);
            let lines = removed.chain(inserted).collect();
            let hunk = Hunk { line: 1, lines, ..Hunk::default() };
            prop_assert_eq!(apply(&whole(&from), &[hunk]), Ok(whole(&to)));
        }

        /// Whatever the patch, there is an answer, and lines that no hunk names keep their bytes and order.
        #[test]
        fn any_patch_is_applied_or_refused(text in text(), hunks in any_hunks()) {
            if let Ok(changed) = apply(&text, &hunks) {
                let removed: usize = hunks.iter().flat_map(|hunk| &hunk.lines)
                    .filter(|line| matches!(line, Line::Remove(_))).count();
                let inserted: usize = hunks.iter().flat_map(|hunk| &hunk.lines)
                    .filter(|line| matches!(line, Line::Insert(_))).count();
                let before = text.split_inclusive('\n').count();
                let after = changed.split_inclusive('\n').count();
                // One line can vanish from the count: an empty last line without an end is no line.
                let expect = before + inserted - removed;
                prop_assert!(after == expect || after + 1 == expect, "{before} {after} {expect}");
            }
        }
    }
}
