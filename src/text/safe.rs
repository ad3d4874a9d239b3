//! Text from agents, tools and users, made harmless for a terminal.
//!
//! [`SafeText`] is one line, [`SafeBlock`] is several; both can be made from any string and neither can be made around the
//! sanitiser. What would steer a terminal, reorder a line or hide in it is shown instead (`␛`, `\u{202e}`). Surprising:
//! complete colour sequences (`ESC [ … m`) are dropped rather than shown, because without them nothing is hidden and the
//! output of ordinary tools stays readable; and a newline in a one-line text becomes a space.

use std::borrow::Cow;
use std::fmt;

use unicode_width::UnicodeWidthChar;

use super::cells::cells;
use super::hidden::{is_control, is_hidden, is_joiner, is_selector};

/// Columns between tab stops.
const TAB_CELLS: usize = 8;

/// Combining marks kept on one character. Real scripts need fewer; a longer pile covers the lines above and below.
const MARKS_MAX: usize = 8;

/// The flags that are written with tag characters (England, Scotland, Wales), without the black flag they start with.
const TAG_FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// What may leave for a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Text as it is; our own marks are Unicode (`…`, `␛`).
    #[default]
    Unicode,
    /// Text as it is; our own marks are ASCII (`~`, `\x1b`).
    Ascii,
    /// ASCII only. For terminals that are not UTF-8: there, the second byte of an innocent letter can be a control.
    SevenBit,
}

impl Glyphs {
    /// The mark of text that was cut; one cell.
    pub fn ellipsis(self) -> &'static str {
        match self {
            Glyphs::Unicode => "…",
            Glyphs::Ascii | Glyphs::SevenBit => "~",
        }
    }
}

/// One line of safe text: no control, nothing hidden, no line break.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SafeText(String);

/// Safe text of any number of lines; `\n` is its only control.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SafeBlock(String);

impl SafeText {
    /// Sanitises `raw`; line breaks and tabs become one space each.
    pub fn line(raw: &str) -> SafeText {
        SafeText(scrub(raw, Form::Line))
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Display cells it takes.
    pub fn cells(&self) -> usize {
        cells(&self.0)
    }

    /// The text with what `glyphs` does not allow written out in ASCII. Do this before measuring.
    pub fn shown(&self, glyphs: Glyphs) -> Cow<'_, SafeText> {
        match in_ascii(&self.0, glyphs) {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(text) => Cow::Owned(SafeText(text)),
        }
    }

    /// A part or a concatenation of safe text, which is safe by construction.
    pub(super) fn already_safe(text: String) -> SafeText {
        SafeText(text)
    }
}

impl SafeBlock {
    /// Sanitises `raw`; line breaks stay (CR LF counts as one), tabs go to the next multiple of eight.
    pub fn block(raw: &str) -> SafeBlock {
        SafeBlock(scrub(raw, Form::Block))
    }

    /// Sanitises bytes of any kind; what is not UTF-8 shows as U+FFFD.
    pub fn from_bytes(raw: &[u8]) -> SafeBlock {
        SafeBlock::block(&String::from_utf8_lossy(raw))
    }

    /// The safe text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its lines, each safe. A newline at the end does not begin another line.
    pub fn lines(&self) -> impl Iterator<Item = SafeText> + '_ {
        self.0.lines().map(|line| SafeText(line.to_owned()))
    }

    /// The text with what `glyphs` does not allow written out in ASCII. Do this before measuring.
    pub fn shown(&self, glyphs: Glyphs) -> Cow<'_, SafeBlock> {
        match in_ascii(&self.0, glyphs) {
            Cow::Borrowed(_) => Cow::Borrowed(self),
            Cow::Owned(text) => Cow::Owned(SafeBlock(text)),
        }
    }
}

impl fmt::Display for SafeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Display for SafeBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for SafeText {
    fn from(raw: &str) -> SafeText {
        SafeText::line(raw)
    }
}

impl From<String> for SafeText {
    fn from(raw: String) -> SafeText {
        SafeText::line(&raw)
    }
}

impl From<&str> for SafeBlock {
    fn from(raw: &str) -> SafeBlock {
        SafeBlock::block(raw)
    }
}

impl From<String> for SafeBlock {
    fn from(raw: String) -> SafeBlock {
        SafeBlock::block(&raw)
    }
}

impl From<SafeText> for SafeBlock {
    fn from(line: SafeText) -> SafeBlock {
        SafeBlock(line.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Line,
    Block,
}

fn scrub(raw: &str, form: Form) -> String {
    if raw.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return raw.to_owned();
    }
    let mut scrubber = Scrubber {
        out: String::with_capacity(raw.len() + 16),
        column: 0,
        measured: 0,
        base: None,
        marks: 0,
        form,
    };
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let eaten = scrubber.take(c, after);
        rest = &after[eaten..];
    }
    scrubber.out
}

/// Writes safe text and remembers what the next character would attach to. All it remembers can be read off the end of
/// what it wrote; that is what makes sanitising twice the same as once.
struct Scrubber {
    out: String,
    /// Column of the byte `measured` of `out`; measuring goes on from there, so that many tabs cost no more than few.
    column: usize,
    measured: usize,
    /// The visible character that marks attach to; `None` at the start of a line.
    base: Option<char>,
    /// Marks on it so far.
    marks: usize,
    form: Form,
}

impl Scrubber {
    /// Handles `c`, which `after` follows; returns how many bytes of `after` it used up as well.
    fn take(&mut self, c: char, after: &str) -> usize {
        match c {
            '\n' => self.newline(),
            '\r' if after.starts_with('\n') => {}
            '\t' => self.tab(),
            '\x1b' => match colour_sequence(after) {
                Some(len) => return len,
                None => self.picture(c),
            },
            _ if is_control(c) => self.picture(c),
            '\u{e0067}' if self.base == Some('\u{1f3f4}') && self.marks == 0 => {
                match tag_flag(after) {
                    Some(tags) => {
                        self.out.push(c);
                        self.out.push_str(tags);
                        self.marks = MARKS_MAX;
                        return tags.len();
                    }
                    None => self.written_out(c),
                }
            }
            _ if is_hidden(c) => self.written_out(c),
            _ if is_joiner(c) => self.joiner(c, after),
            _ if is_selector(c) => self.selector(c),
            _ if c.width() == Some(0) => self.mark(c),
            _ => self.visible(c),
        }
        0
    }

    fn visible(&mut self, c: char) {
        self.out.push(c);
        self.base = Some(c);
        self.marks = 0;
    }

    fn newline(&mut self) {
        match self.form {
            Form::Line => self.visible(' '),
            Form::Block => {
                self.out.push('\n');
                self.column = 0;
                self.measured = self.out.len();
                self.base = None;
                self.marks = 0;
            }
        }
    }

    fn tab(&mut self) {
        if self.form == Form::Line {
            return self.visible(' ');
        }
        self.column += cells(&self.out[self.measured..]);
        let spaces = TAB_CELLS - self.column % TAB_CELLS;
        (0..spaces).for_each(|_| self.visible(' '));
        self.column += spaces;
        self.measured = self.out.len();
    }

    /// C0 and DEL have pictures in Unicode; C1 has none.
    fn picture(&mut self, c: char) {
        match picture_of(c) {
            Some(picture) => self.visible(picture),
            None => self.written_out(c),
        }
    }

    fn written_out(&mut self, c: char) {
        self.out.extend(c.escape_unicode());
        self.base = Some('}');
        self.marks = 0;
    }

    /// A joiner stays only where it can join: between two visible characters beyond ASCII.
    fn joiner(&mut self, c: char, after: &str) {
        let joins = |c: char| {
            !c.is_ascii()
                && !c.is_whitespace()
                && !is_control(c)
                && !is_hidden(c)
                && !is_joiner(c)
                && pictured(c).is_none()
                && c.width().unwrap_or(0) > 0
        };
        let before = self.base.is_some_and(joins) && !self.out.ends_with(is_joiner);
        if before && after.chars().next().is_some_and(joins) {
            self.out.push(c);
        } else {
            self.written_out(c);
        }
    }

    /// A selector stays if it is the first thing after a character that has variants.
    fn selector(&mut self, c: char) {
        let has_variants = |base: char| {
            let beyond = !base.is_ascii() && !base.is_whitespace() && pictured(base).is_none();
            beyond || base.is_ascii_digit() || matches!(base, '#' | '*')
        };
        if self.marks == 0 && self.base.is_some_and(has_variants) && !self.out.ends_with(is_joiner)
        {
            self.out.push(c);
            self.marks = 1;
        } else {
            self.written_out(c);
        }
    }

    fn mark(&mut self, c: char) {
        if self.base.is_some() && self.marks < MARKS_MAX {
            self.out.push(c);
            self.marks += 1;
        } else {
            self.written_out(c);
        }
    }
}

/// The length of the rest of `ESC [ digits ; : m`, if that is what follows the escape.
fn colour_sequence(after: &str) -> Option<usize> {
    let parameters = after.strip_prefix('[')?;
    let end = parameters.find(|c: char| !matches!(c, '0'..='9' | ';' | ':'))?;
    parameters[end..].starts_with('m').then_some(end + 2)
}

/// The rest of a flag's tags after the first one.
fn tag_flag(after: &str) -> Option<&'static str> {
    TAG_FLAGS
        .iter()
        .map(|tags| &tags['\u{e0067}'.len_utf8()..])
        .find(|rest| after.starts_with(rest))
}

fn picture_of(c: char) -> Option<char> {
    match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)),
        '\x7f' => Some('␡'),
        _ => None,
    }
}

/// The control that a picture stands for.
fn pictured(c: char) -> Option<u8> {
    match c {
        '\u{2400}'..='\u{241f}' => Some((u32::from(c) - 0x2400) as u8),
        '␡' => Some(0x7f),
        _ => None,
    }
}

fn in_ascii(safe: &str, glyphs: Glyphs) -> Cow<'_, str> {
    let kept = |c: char| match glyphs {
        Glyphs::Unicode => true,
        Glyphs::Ascii => pictured(c).is_none(),
        Glyphs::SevenBit => c.is_ascii(),
    };
    if safe.chars().all(kept) {
        return Cow::Borrowed(safe);
    }
    let mut out = String::with_capacity(safe.len() * 2);
    for c in safe.chars() {
        match pictured(c) {
            _ if kept(c) => out.push(c),
            Some(control) => out.push_str(&format!("\\x{control:02x}")),
            None => out.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests;
