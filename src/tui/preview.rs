//! What the first bytes of an Artifact are, as lines that can be read. Pure.
//!
//! Nothing is run or fetched: an image is told in words here, and decoded elsewhere.

use super::reader::Reader;
use super::transcript::Role;
use crate::text::{SafeText, cells, clusters, pad, size};

/// Bytes of an Artifact that are read for a preview.
pub const HEAD_BYTES: usize = 64 << 10;
/// Cells of the widest column of a table.
const COLUMN_CELLS: usize = 40;
/// Bytes in a row of hexadecimal.
const HEX_ROW: usize = 16;

/// What it is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Plain text.
    Text,
    /// Markdown.
    Markdown,
    /// A difference of files.
    Diff,
    /// Values in rows.
    Table,
    /// An image, in words.
    Image,
    /// Bytes that are no text.
    Hex,
}

impl Kind {
    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Markdown => "markdown",
            Kind::Diff => "diff",
            Kind::Table => "table",
            Kind::Image => "image",
            Kind::Hex => "bytes",
        }
    }
}

/// Lines of a preview.
#[derive(Clone, Debug)]
pub struct Shown {
    /// What it is shown as.
    pub kind: Kind,
    /// The text.
    pub reader: Reader,
    /// What each line is.
    pub roles: Vec<Role>,
}

/// The first bytes of a file as what they seem to be, or as bytes in any case. `whole`: there are no more.
pub fn show(path: &str, head: &[u8], whole: bool, as_bytes: bool) -> Shown {
    let kind = match as_bytes {
        true => Kind::Hex,
        false => kind_of(path, head, whole),
    };
    let text = match kind {
        Kind::Text | Kind::Markdown | Kind::Diff => {
            text(head, whole).unwrap_or_default().to_owned()
        }
        Kind::Table => table(text(head, whole).unwrap_or_default(), separator(path)),
        Kind::Image => image(head).unwrap_or_default(),
        Kind::Hex => hex(head),
    };
    let reader = Reader::new(text);
    let roles = roles(kind, &reader);
    Shown {
        kind,
        reader,
        roles,
    }
}

fn kind_of(path: &str, head: &[u8], whole: bool) -> Kind {
    if image(head).is_some() {
        return Kind::Image;
    }
    let Some(text) = text(head, whole) else {
        return Kind::Hex;
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "md" | "markdown" => Kind::Markdown,
        "diff" | "patch" => Kind::Diff,
        "csv" | "tsv" => Kind::Table,
        _ if text.starts_with("diff --git ") || text.starts_with("--- a/") => Kind::Diff,
        _ => Kind::Text,
    }
}

/// The head as text, if it is: without the rest of a character that its end cuts through.
fn text(head: &[u8], whole: bool) -> Option<&str> {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && !whole => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

fn separator(path: &str) -> char {
    match path.to_ascii_lowercase().ends_with(".tsv") {
        true => '\t',
        false => ',',
    }
}

fn roles(kind: Kind, reader: &Reader) -> Vec<Role> {
    let mut in_code = false;
    let lines = (0..reader.lines()).map(|at| reader.line_text(at));
    lines
        .enumerate()
        .map(|(at, line)| match kind {
            Kind::Text | Kind::Image => Role::Text,
            Kind::Hex => Role::Text,
            Kind::Table if at == 0 => Role::Agent,
            Kind::Table => Role::Text,
            Kind::Diff => match line.as_bytes() {
                [b'+', b'+', b'+', ..]
                | [b'-', b'-', b'-', ..]
                | [b'd', b'i', b'f', b'f', b' ', ..] => Role::User,
                [b'+', ..] => Role::Good,
                [b'-', ..] => Role::Bad,
                [b'@', b'@', ..] => Role::Agent,
                _ => Role::Text,
            },
            Kind::Markdown => {
                let fence = line.trim_start().starts_with("```");
                in_code ^= fence;
                match line.trim_start().as_bytes() {
                    _ if fence || in_code => Role::Dim,
                    [b'#', ..] => Role::Agent,
                    [b'>', ..] => Role::Dim,
                    _ => Role::Text,
                }
            }
        })
        .collect()
}

/// Rows of values with their columns under one another.
fn table(text: &str, separator: char) -> String {
    let rows = values(text, separator);
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, value) in widths.iter_mut().zip(row) {
            *width = (*width).max(value.cells()).min(COLUMN_CELLS);
        }
    }
    let mut lines = String::new();
    for row in &rows {
        let shown: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(value, width)| pad(value, *width).to_string())
            .collect();
        lines.push_str(shown.join(" | ").trim_end());
        lines.push('\n');
    }
    lines
}

/// Values in rows, by the rules of quotes; each made harmless and cut to a column.
fn values(text: &str, separator: char) -> Vec<Vec<SafeText>> {
    let mut rows = Vec::new();
    let mut row: Vec<SafeText> = Vec::new();
    let (mut value, mut quoted) = (String::new(), false);
    let mut chars = text.chars().peekable();
    let finish = |value: &mut String, row: &mut Vec<SafeText>| {
        row.push(cut(&SafeText::line(&std::mem::take(value))));
    };
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => value.extend(chars.next()),
            '"' if quoted => quoted = false,
            '"' if value.is_empty() => quoted = true,
            c if c == separator && !quoted => finish(&mut value, &mut row),
            '\r' if !quoted && chars.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                finish(&mut value, &mut row);
                rows.push(std::mem::take(&mut row));
            }
            c => value.push(c),
        }
    }
    if !value.is_empty() || !row.is_empty() {
        finish(&mut value, &mut row);
        rows.push(row);
    }
    rows
}

fn cut(value: &SafeText) -> SafeText {
    if value.cells() <= COLUMN_CELLS {
        return value.clone();
    }
    let mut kept = String::new();
    for (cluster, _) in clusters(value.as_str()) {
        if cells(&kept) + cells(cluster) >= COLUMN_CELLS {
            break;
        }
        kept.push_str(cluster);
    }
    SafeText::line(&format!("{kept}~"))
}

fn hex(head: &[u8]) -> String {
    let mut lines = String::with_capacity(head.len() * 5);
    for (row, bytes) in head.chunks(HEX_ROW).enumerate() {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let letters: String = bytes
            .iter()
            .map(|byte| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '.',
            })
            .collect();
        let (at, digits) = (row * HEX_ROW, digits.join(" "));
        lines.push_str(&format!("{at:06x}  {digits:<47}  {letters}\n"));
    }
    lines
}

/// Whether these are the first bytes of an image.
pub fn is_image(head: &[u8]) -> bool {
    image(head).is_some()
}

/// What an image is, in words; `None`: it is none that is known here.
fn image(head: &[u8]) -> Option<String> {
    let be32 = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
    let le16 = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let be16 = |at: usize| Some(u16::from_be_bytes(head.get(at..at + 2)?.try_into().ok()?));
    let (name, pixels): (&str, Option<(u32, u32)>) = match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => ("PNG", be32(16).zip(be32(20))),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => (
            "GIF",
            le16(6).zip(le16(8)).map(|(w, h)| (w.into(), h.into())),
        ),
        [0xff, 0xd8, 0xff, ..] => ("JPEG", jpeg(head, be16)),
        [b'B', b'M', _, _, _, _, 0, 0, 0, 0, ..] => {
            let le32 = |at: usize| Some(le16(at)? as u32 | (le16(at + 2)? as u32) << 16);
            ("BMP", le32(18).zip(le32(22)))
        }
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => ("WebP", None),
        _ => return None,
    };
    let mut words = format!("{name} image\n");
    if let Some((width, height)) = pixels {
        words.push_str(&format!("{width} x {height} pixels\n"));
    }
    Some(words)
}

/// Width and height in the first frame header.
fn jpeg(head: &[u8], be16: impl Fn(usize) -> Option<u16>) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let (0xff, marker) = (*head.get(at)?, *head.get(at + 1)?) else {
            return None;
        };
        // Frame headers, without the tables that have numbers among them.
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let (height, width) = (be16(at + 5)?, be16(at + 7)?);
            return Some((width.into(), height.into()));
        }
        at += 2 + usize::from(be16(at + 2)?.max(2));
    }
}

/// How much of it is shown, in words.
pub fn extent(shown_bytes: usize, size_bytes: u64) -> String {
    match shown_bytes as u64 >= size_bytes {
        true => size(size_bytes),
        false => format!("first {} of {}", size(shown_bytes as u64), size(size_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(shown: &Shown) -> Vec<&str> {
        shown.reader.text().lines().collect()
    }

    #[test]
    fn values_stand_under_one_another_whatever_is_quoted() {
        let shown = show(
            "/o/a.csv",
            b"name,note\r\nann,\"a, \"\"b\"\"\nc\"\nbo,\n",
            true,
            false,
        );
        assert_eq!(shown.kind, Kind::Table);
        assert_eq!(
            lines(&shown),
            ["name | note", "ann  | a, \"b\" c", "bo   |"]
        );
    }

    #[test]
    fn a_difference_has_its_lines_told_apart() {
        let shown = show(
            "/o/p",
            b"diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n c\n",
            true,
            false,
        );
        let roles = [Role::User, Role::Agent, Role::Bad, Role::Good, Role::Text];
        assert_eq!((shown.kind, &shown.roles[..]), (Kind::Diff, &roles[..]));
    }

    #[test]
    fn code_in_markdown_is_no_heading() {
        let shown = show("/o/a.md", b"# a\n```\n# b\n```\n# c\n", true, false);
        let roles = [Role::Agent, Role::Dim, Role::Dim, Role::Dim, Role::Agent];
        assert_eq!(shown.roles, roles);
    }

    #[test]
    fn text_whose_last_character_is_cut_is_text_and_other_bytes_are_not() {
        let cut = &"é".as_bytes()[..1];
        let head = [b"abc", cut].concat();
        assert_eq!(lines(&show("/o/a", &head, false, false)), ["abc"]);
        assert_eq!(show("/o/a", &head, true, false).kind, Kind::Hex);
        let shown = show("/o/a", b"\x00\x01AB\xff", true, false);
        assert_eq!(shown.kind, Kind::Hex);
        let expected = format!("000000  {:<47}  ..AB.", "00 01 41 42 ff");
        assert_eq!(lines(&shown), [expected]);
    }

    #[test]
    fn images_are_told_in_words() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend(640u32.to_be_bytes());
        png.extend(480u32.to_be_bytes());
        let shown = show("/o/a.png", &png, true, false);
        assert_eq!(lines(&shown)[..2], ["PNG image", "640 x 480 pixels"]);
        let gif = b"GIF89a\x02\x00\x03\x00";
        assert_eq!(lines(&show("/o/a", gif, true, false))[1], "2 x 3 pixels");
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x07\x00\x09";
        assert_eq!(lines(&show("/o/a", jpeg, true, false))[1], "9 x 7 pixels");
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_are_too_odd(head in proptest::collection::vec(proptest::num::u8::ANY, 0..300), whole: bool, path in "/o/a\\.(csv|md|diff|png|x)") {
            let shown = show(&path, &head, whole, false);
            proptest::prop_assert_eq!(shown.roles.len(), shown.reader.lines());
        }
    }
}
