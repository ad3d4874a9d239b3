//! Keys as the table `k` has them: the partition's number, and the sort key in a string of bits that sorts as it does, with short
//! codes for what sort keys are made of.
//!
//! A row of `k` is mostly its key, and rows per page decide how often pages split. So each byte of a sort key has a code of its own
//! length, as in a Huffman code, but one that keeps the order: the codes are the leaves, from left to right, of one binary tree. An
//! end, before every byte, closes the sort key, and zeros fill the last byte. No statistics are kept in the file: the tree follows
//! from the weights below, which therefore never change within a schema version.

use std::sync::LazyLock;

/// Symbols: the end, then the 256 values of a byte.
const SYMBOLS: usize = 257;

/// The end of a sort key.
const END: usize = 0;

/// A code: its bits, at the right of the number, and how many they are.
#[derive(Clone, Copy, Default)]
struct Code {
    bits: u32,
    length: u32,
}

/// What stands below one side of an inner node of the tree.
#[derive(Clone, Copy)]
enum Below {
    Node(u16),
    Symbol(u16),
}

/// The code in both directions.
struct Tree {
    codes: [Code; SYMBOLS],
    nodes: Vec<[Below; 2]>,
}

static TREE: LazyLock<Tree> = LazyLock::new(Tree::new);

/// How often a symbol is expected, in no unit: as in the keys of Sessions at work, which are a word, a number padded with zeros, and
/// sometimes a hash or the 26 random characters of an id.
fn weight(symbol: usize) -> u32 {
    let Some(byte) = symbol.checked_sub(1).and_then(|b| u8::try_from(b).ok()) else {
        return 500;
    };
    match byte {
        b'/' => 500,
        b'0' => 3000,
        b'1' => 400,
        b'2'..=b'7' => 250,
        b'8' | b'9' => 180,
        b'_' => 40,
        b'e' | b't' => 300,
        b'a'..=b'd' | b'f' | b'i' | b'n' | b'p' | b'r' | b's' | b'u' => 180,
        b'g'..=b'z' => 90,
        b' '..=b'~' => 4,
        _ => 1,
    }
}

impl Tree {
    fn new() -> Tree {
        let mut before = [0; SYMBOLS + 1];
        for symbol in 0..SYMBOLS {
            before[symbol + 1] = before[symbol] + weight(symbol);
        }
        let mut tree = Tree {
            codes: [Code::default(); SYMBOLS],
            nodes: Vec::with_capacity(SYMBOLS - 1),
        };
        tree.grow(&before, 0, SYMBOLS, Code::default());
        tree
    }

    /// Grows the part of the tree that holds the symbols `from..until`, and divides them where both sides weigh about the same.
    fn grow(&mut self, before: &[u32], from: usize, until: usize, code: Code) -> Below {
        if until - from == 1 {
            self.codes[from] = code;
            return Below::Symbol(from as u16);
        }
        let uneven =
            |at: &usize| (before[*at] - before[from]).abs_diff(before[until] - before[*at]);
        let middle = (from + 1..until).min_by_key(uneven).unwrap_or(from + 1);
        let node = self.nodes.len();
        self.nodes.push([Below::Symbol(0); 2]);
        let side = |bit| Code {
            bits: code.bits << 1 | bit,
            length: code.length + 1,
        };
        let left = self.grow(before, from, middle, side(0));
        let right = self.grow(before, middle, until, side(1));
        self.nodes[node] = [left, right];
        Below::Node(node as u16)
    }
}

/// Bits in the making.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    rest: u64,
    length: u32,
}

impl Bits {
    fn code(&mut self, code: Code) {
        self.rest = self.rest << code.length | u64::from(code.bits);
        self.length += code.length;
        while self.length >= 8 {
            self.length -= 8;
            self.bytes.push((self.rest >> self.length) as u8);
        }
    }

    /// The bytes, with zeros behind the last bit.
    fn finish(mut self) -> Vec<u8> {
        if self.length > 0 {
            self.bytes.push((self.rest << (8 - self.length)) as u8);
        }
        self.bytes
    }
}

/// The stored form of a key: a number in as few bytes as it needs, and before it how many they are; then the sort key.
pub(super) fn encode(partition: i64, sort: &str) -> Vec<u8> {
    let codes = &TREE.codes;
    let mut bits = Bits {
        bytes: prefix(partition, sort.len()),
        ..Bits::default()
    };
    for byte in sort.bytes() {
        bits.code(codes[usize::from(byte) + 1]);
    }
    bits.code(codes[END]);
    bits.finish()
}

/// What sorts behind every key of the partition, and before every key of a later one.
pub(super) fn behind(partition: i64) -> Vec<u8> {
    prefix(partition.saturating_add(1), 0)
}

/// The number of the partition in a stored form; nothing, if it is none.
pub(super) fn partition(bytes: &[u8]) -> Option<i64> {
    let length = usize::from(*bytes.first()?);
    let digits = bytes.get(1..=length).filter(|_| length <= 8)?;
    let number = digits
        .iter()
        .fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    i64::try_from(number)
        .ok()
        .filter(|number| prefix(*number, 0) == bytes[..=length])
}

/// The sort key of a stored form; nothing, if it is none.
pub(super) fn decode(bytes: &[u8]) -> Option<String> {
    let number = usize::from(*bytes.first()?);
    let bytes = bytes.get(1 + number..)?;
    let (mut sort, mut node) = (Vec::new(), 0);
    for at in 0..bytes.len() * 8 {
        let bit = bytes[at / 8] >> (7 - at % 8) & 1;
        match TREE.nodes[node][usize::from(bit)] {
            Below::Node(next) => node = usize::from(next),
            Below::Symbol(symbol) => match symbol.checked_sub(1) {
                Some(byte) => {
                    sort.push(u8::try_from(byte).ok()?);
                    node = 0;
                }
                None => return String::from_utf8(sort).ok(),
            },
        }
    }
    None
}

/// The number in as few bytes as it needs, after how many they are; with room for so many bytes more.
fn prefix(partition: i64, room: usize) -> Vec<u8> {
    let bytes = partition.to_be_bytes();
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    let mut out = Vec::with_capacity(1 + bytes.len() + room);
    out.push((bytes.len() - zeros) as u8);
    out.extend_from_slice(&bytes[zeros..]);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Keys as the engine has them, and any others.
    fn keys() -> impl Strategy<Value = (i64, String)> {
        let usual = "(head|config|(turn|item|input|end)/0{7}[0-9]{3}|receipt/[0-9a-f]{32}|[0-9]{15}/sess_[a-z2-7]{26})";
        let sort = prop_oneof![usual, "[a-c\\x00/]{0,3}", any::<String>()];
        let number = prop_oneof![1..4i64, 250..260i64, 1..i64::MAX];
        (number, sort)
    }

    fn stored((partition, sort): &(i64, String)) -> Vec<u8> {
        encode(*partition, sort)
    }

    proptest! {
        #[test]
        fn stored_forms_sort_as_keys_do(a in keys(), b in keys()) {
            prop_assert_eq!(stored(&a).cmp(&stored(&b)), a.cmp(&b));
        }

        #[test]
        fn a_stored_form_is_read_back(key in keys()) {
            prop_assert_eq!(partition(&stored(&key)), Some(key.0));
            prop_assert_eq!(decode(&stored(&key)), Some(key.1));
        }

        #[test]
        fn behind_a_partition_is_behind_its_keys_alone(a in keys(), b in keys()) {
            prop_assert_eq!(stored(&b) < behind(a.0), b.0 <= a.0);
        }

        #[test]
        fn garbage_is_read_without_harm(bytes in any::<Vec<u8>>()) {
            let _ = (decode(&bytes), partition(&bytes));
        }
    }

    /// What is in the files of those who use this version. Should this fail, they need a migration.
    #[test]
    fn the_stored_form_never_changes() {
        let keys = [
            (1, "head"),
            (300, "receipt/0123456789abcdef0123456789abcdef"),
            (70_000, "001795991631368/sess_tqt6wrq6ndoscl3hpqwpn2w5yt"),
            (i64::MAX, ""),
            (2, "\u{0}ÿ~"),
        ];
        let forms =
            keys.map(|(partition, sort)| data_encoding::HEXLOWER.encode(&encode(partition, sort)));
        assert_eq!(
            forms,
            [
                "0101c2d46b00",
                "02012cdf6aad8edd0ca2b3c228e4968d35576b8a2b3c228e4968d35576b800",
                "0301117025239612ca913234520f96e727faddd45eb7ee8b4af5e5599b0db77adb45f50f9d00",
                "087fffffffffffffff00",
                "0102083f97fc7fe300",
            ]
        );
    }

    #[test]
    fn numbered_rows_have_short_keys() {
        let sizes = ["head", "turn/0000000012", "journal/000000000123"]
            .map(|sort| encode(1000, sort).len());
        assert_eq!(sizes, [7, 12, 15]);
        let longest = TREE.codes.iter().map(|code| code.length).max();
        assert!(longest <= Some(24), "{longest:?}");
    }
}
