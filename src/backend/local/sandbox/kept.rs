//! The part of a command's output that is kept: its beginning and its end, in bounded memory, however much there was.

use std::collections::VecDeque;

/// Output so far.
#[derive(Debug)]
pub(super) struct Kept {
    head: Vec<u8>,
    head_limit: usize,
    tail: VecDeque<u8>,
    tail_limit: usize,
    total_bytes: u64,
}

impl Kept {
    /// Keeps at most `limit_bytes`: the first and the last half.
    pub(super) fn new(limit_bytes: usize) -> Kept {
        let head_limit = limit_bytes / 2;
        Kept {
            head: Vec::new(),
            head_limit,
            tail: VecDeque::new(),
            tail_limit: limit_bytes - head_limit,
            total_bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total_bytes += bytes.len() as u64;
        let room = self.head_limit - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_limit)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Bytes that were written in all.
    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    /// The text, with a note where something is missing. Bytes that are not UTF-8 are replaced; a character that the cut went through
    /// counts as left out.
    pub(super) fn into_text(self) -> String {
        let Kept { head, tail, .. } = self;
        let mut tail = Vec::from(tail);
        let left_out = self.total_bytes - (head.len() + tail.len()) as u64;
        if left_out == 0 {
            let mut whole = head;
            whole.append(&mut tail);
            return String::from_utf8_lossy(&whole).into_owned();
        }
        let head_end = whole_characters(&head);
        let tail_start = tail
            .iter()
            .take(3)
            .take_while(|b| **b & 0xc0 == 0x80)
            .count();
        let left_out = left_out + (head.len() - head_end + tail_start) as u64;
        format!(
            "{}\n[… {left_out} bytes left out …]\n{}",
            String::from_utf8_lossy(&head[..head_end]),
            String::from_utf8_lossy(&tail[tail_start..]),
        )
    }
}

/// Where the last character ends that is complete.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // Cut short at the very end, not merely wrong.
        Err(e) if e.error_len().is_none() => e.valid_up_to(),
        // Wrong somewhere before: look at the last three bytes only.
        Err(_) => (1..=3.min(bytes.len()))
            .map(|back| bytes.len() - back)
            .find(|at| bytes[*at] & 0xc0 == 0xc0)
            .filter(|at| matches!(std::str::from_utf8(&bytes[*at..]), Err(e) if e.error_len().is_none()))
            .unwrap_or(bytes.len()),
        Ok(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limit: usize, chunks: &[&[u8]], expect: &str) {
        let mut kept = Kept::new(limit);
        for chunk in chunks {
            kept.push(chunk);
        }
        let total: usize = chunks.iter().map(|c| c.len()).sum();
        assert_eq!(kept.total_bytes(), total as u64);
        assert_eq!(kept.into_text(), expect);
    }

    #[test]
    fn the_first_and_last_half_are_kept_with_a_note_between() {
        check(8, &[b"abcdefgh"], "abcdefgh");
        check(8, &[b"abc", b"", b"defgh"], "abcdefgh");
        check(8, &[b"abcdefghi"], "abcd\n[… 1 bytes left out …]\nfghi");
        check(
            8,
            &[b"ab", b"cdefgh", b"ijklmnop"],
            "abcd\n[… 8 bytes left out …]\nmnop",
        );
        check(0, &[b"xy"], "\n[… 2 bytes left out …]\n");
        check(1, &[b"xy"], "\n[… 1 bytes left out …]\ny");
    }

    #[test]
    fn a_cut_leaves_no_half_character() {
        check(
            8,
            &["abcö".as_bytes(), b"------", "öxyz".as_bytes()],
            "abc\n[… 10 bytes left out …]\nxyz",
        );
        check(
            8,
            &[b"\xff\xffab----cdef"],
            "\u{fffd}\u{fffd}ab\n[… 4 bytes left out …]\ncdef",
        );
        check(4, &["€€€€".as_bytes()], "\n[… 12 bytes left out …]\n");
    }

    #[test]
    fn bytes_that_are_not_text_are_replaced() {
        check(100, &[b"a\xff\xc3", b"\xa4b"], "a\u{fffd}äb");
    }
}
