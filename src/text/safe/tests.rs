//! What must never reach a terminal, and what must arrive unchanged.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn line(raw: &str, expected: &str) {
    assert_eq!(SafeText::line(raw).as_str(), expected, "{raw:?}");
}

#[track_caller]
fn block(raw: &str, expected: &str) {
    assert_eq!(SafeBlock::block(raw).as_str(), expected, "{raw:?}");
}

#[test]
fn ordinary_text_of_any_script_is_unchanged() {
    for text in [
        "plain text, {punctuation} & all",
        "Grüße, naïve façade",
        "日本語と한국어",
        "e\u{301}\u{323} combining",
        "עברית and العربية",
        "می\u{200c}خواهم",
        "क्\u{200d}ष",
        "🦀 👍🏽 🇩🇪 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f} 1\u{fe0f}\u{20e3}",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 🏳\u{fe0f}\u{200d}🌈",
        "葛\u{e0100}飾区",
    ] {
        line(text, text);
        block(text, text);
    }
}

#[test]
fn escape_sequences_are_shown_not_obeyed() {
    line("\x1b[2J\x1b[H", "␛[2J␛[H");
    line("\x1b]0;title\x07", "␛]0;title␇");
    line("\x1b]52;c;cm0gLXJm\x1b\\", "␛]52;c;cm0gLXJm␛\\");
    line("\x1bP+q544e\x1b\\", "␛P+q544e␛\\");
    line(
        "\u{9b}31m\u{9d}0;x\u{9c}\u{90}q",
        "\\u{9b}31m\\u{9d}0;x\\u{9c}\\u{90}q",
    );
    line(
        "bell\x07 back\x08\x08 null\0 del\x7f shift\x0e\x0f",
        "bell␇ back␈␈ null␀ del␡ shift␎␏",
    );
}

#[test]
fn colours_are_dropped_and_leave_the_words() {
    block("\x1b[1;31merror\x1b[0m: \x1b[38:5:4mx\x1b[m", "error: x");
    block("\x1b[8mconcealed\x1b[28m", "concealed");
    line("\x1b[\x1b[0m31m", "␛[31m");
    line("\x1b[31", "␛[31");
    line("\x1b[31;m?", "?");
}

#[test]
fn lines_break_only_in_blocks() {
    block("a\r\nb\nc", "a\nb\nc");
    line("a\r\nb\nc", "a b c");
    block("10%\r20%", "10%␍20%");
    block("a\u{2028}b\u{85}c\x0bd\x0ce", "a\\u{2028}b\\u{85}c␋d␌e");
}

#[test]
fn tabs_become_spaces() {
    block("a\tb\n\tc\n日本\td", "a       b\n        c\n日本    d");
    line("a\tb", "a b");
}

#[test]
fn a_megabyte_of_tabs_is_not_worth_a_second_look() {
    // Measured from the start of the line at every tab, this would not end today.
    let safe = SafeBlock::block(&"\t".repeat(1 << 20));
    assert_eq!(safe.as_str().len(), TAB_CELLS << 20);
}

#[test]
fn reordering_and_hiding_characters_are_shown() {
    line("user\u{202e}gpj.exe", "user\\u{202e}gpj.exe");
    line(
        "\u{2066}x\u{2069}\u{200f}\u{61c}",
        "\\u{2066}x\\u{2069}\\u{200f}\\u{61c}",
    );
    line(
        "pass\u{200b}word\u{feff}\u{ad}",
        "pass\\u{200b}word\\u{feff}\\u{ad}",
    );
    line("pass\u{200d}word", "pass\\u{200d}word");
    line("a\u{e0068}\u{e0069}", "a\\u{e0068}\\u{e0069}");
    line("🏴\u{e0067}\u{e0067}", "🏴\\u{e0067}\\u{e0067}");
    line(
        "😀\u{fe0f}\u{fe01}\u{e0101}",
        "😀\u{fe0f}\\u{fe01}\\u{e0101}",
    );
    line("a\u{fe0f}", "a\\u{fe0f}");
    line("\u{3164}", "\\u{3164}");
}

#[test]
fn marks_need_a_character_to_sit_on_and_do_not_pile_up() {
    line("\u{301}x", "\\u{301}x");
    block("a\n\u{301}x", "a\n\\u{301}x");
    let pile = format!("a{}b", "\u{301}".repeat(10));
    let kept = format!("a{}\\u{{301}}\u{301}b", "\u{301}".repeat(8));
    line(&pile, &kept);
}

#[test]
fn bytes_that_are_not_text_show_as_replacement_characters() {
    assert_eq!(
        SafeBlock::from_bytes(b"a\xff\x9bb").as_str(),
        "a\u{fffd}\u{fffd}b"
    );
}

#[test]
fn glyphs_decide_what_leaves() {
    let text = SafeText::line("\x1b[K é 🦀");
    assert_eq!(text.shown(Glyphs::Unicode).as_str(), "␛[K é 🦀");
    assert_eq!(text.shown(Glyphs::Ascii).as_str(), "\\x1b[K é 🦀");
    assert_eq!(
        text.shown(Glyphs::SevenBit).as_str(),
        "\\x1b[K \\u{e9} \\u{1f980}"
    );
    let cyrillic = SafeBlock::block("Л\n");
    assert_eq!(cyrillic.shown(Glyphs::SevenBit).as_str(), "\\u{41b}\n");
}

#[test]
fn lines_of_a_block_are_single() {
    let lines: Vec<_> = SafeBlock::block("a\n\nb\n").lines().collect();
    assert_eq!(lines, ["a".into(), "".into(), "b".into()]);
}

/// Text made of what breaks sanitisers, mixed with ordinary letters.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        (0u32..0xa0).prop_map(|c| char::from_u32(c).map(String::from).unwrap_or_default()),
        (0x2000u32..0x2070).prop_map(|c| char::from_u32(c).map(String::from).unwrap_or_default()),
        (0x300u32..0x370).prop_map(|c| char::from_u32(c).map(String::from).unwrap_or_default()),
        (0xfe00u32..0xfe10).prop_map(|c| char::from_u32(c).map(String::from).unwrap_or_default()),
        (0xe0000u32..0xe0200).prop_map(|c| char::from_u32(c).map(String::from).unwrap_or_default()),
        Just("\x1b[".to_owned()),
        Just("\x1b[31m".to_owned()),
        Just("🏴".to_owned()),
        Just(TAG_FLAGS[0].to_owned()),
        Just("👩\u{200d}".to_owned()),
        Just("\r\n".to_owned()),
        "[a-z ]{0,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn acts_on_a_terminal(c: char) -> bool {
    is_control(c)
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}' | '\u{2028}' | '\u{2029}')
}

proptest! {
    #[test]
    fn nothing_that_a_terminal_acts_on_remains(raw in hostile()) {
        let safe = SafeText::line(&raw);
        prop_assert!(!safe.as_str().contains(acts_on_a_terminal), "{:?}", safe);
        let safe = SafeBlock::block(&raw);
        prop_assert!(!safe.as_str().contains(|c| c != '\n' && acts_on_a_terminal(c)), "{:?}", safe);
    }

    #[test]
    fn seven_bit_text_is_printable_ascii(raw in hostile()) {
        let safe = SafeText::line(&raw);
        let shown = safe.shown(Glyphs::SevenBit);
        prop_assert!(shown.as_str().bytes().all(|b| matches!(b, b' '..=b'~')), "{:?}", shown);
    }

    #[test]
    fn sanitising_twice_is_sanitising_once(raw in hostile()) {
        let line = SafeText::line(&raw);
        prop_assert_eq!(&SafeText::line(line.as_str()), &line);
        let block = SafeBlock::block(&raw);
        prop_assert_eq!(&SafeBlock::block(block.as_str()), &block);
        for glyphs in [Glyphs::Ascii, Glyphs::SevenBit] {
            let shown = line.shown(glyphs).into_owned();
            prop_assert_eq!(&SafeText::line(shown.as_str()), &shown);
        }
    }

    #[test]
    fn printable_ascii_is_unchanged(raw in "[ -~]{0,80}") {
        prop_assert_eq!(SafeText::line(&raw).as_str().to_owned(), raw.as_str());
        prop_assert_eq!(SafeBlock::block(&raw).as_str().to_owned(), raw.as_str());
    }

    #[test]
    fn letters_of_any_script_are_unchanged(mut raw in "\\p{L}{0,40}") {
        // Fillers have no shape of their own, and the vowels of old Hangul are marks when nothing stands before them.
        raw.retain(|c| !is_hidden(c) && c.width() != Some(0));
        prop_assert_eq!(SafeText::line(&raw).as_str().to_owned(), raw.as_str());
    }
}
