//! Splits a stream of server-sent events where events end, and keeps every byte. Pure; bytes may be split anywhere.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};

use crate::backend::sse::{Event, LIMIT_BYTES, Parser};

/// An event is larger than [`LIMIT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// One event as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// All its bytes, with the empty line that ends it.
    pub bytes: Bytes,
    /// What it says; `None` for comments and what else has no data.
    pub event: Option<Event>,
}

/// Takes bytes, gives frames. All frames together are the bytes.
#[derive(Debug)]
pub struct Frames {
    /// The frame that is not complete yet.
    open: BytesMut,
    /// Nothing is in the current line: another line end ends the frame.
    at_line_start: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    ready: VecDeque<Frame>,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames {
            open: BytesMut::new(),
            at_line_start: true,
            after_return: false,
            ready: VecDeque::new(),
        }
    }
}

impl Frames {
    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        for &byte in bytes {
            self.open.put_u8(byte);
            let follows_return = std::mem::take(&mut self.after_return);
            match byte {
                b'\n' if follows_return => {
                    // The frame ended with the carriage return already: this is what is left of it.
                    if self.open.len() == 1 {
                        self.end();
                    }
                }
                b'\r' | b'\n' => {
                    self.after_return = byte == b'\r';
                    if std::mem::replace(&mut self.at_line_start, true) {
                        self.end();
                    }
                }
                _ => self.at_line_start = false,
            }
        }
        match self.open.len() > LIMIT_BYTES {
            true => Err(TooLarge),
            false => Ok(()),
        }
    }

    /// The next complete frame.
    pub fn next(&mut self) -> Option<Frame> {
        self.ready.pop_front()
    }

    /// The stream is over: what is left, complete or not.
    pub fn finish(&mut self) -> Option<Frame> {
        if !self.open.is_empty() {
            self.end();
        }
        self.next()
    }

    fn end(&mut self) {
        let bytes = self.open.split().freeze();
        let mut parser = Parser::default();
        // Nothing in a frame is larger than the frame, and that is not too large.
        let event = match parser.push(&bytes) {
            Ok(()) => parser.next().or_else(|| parser.finish()),
            Err(_) => None,
        };
        self.ready.push_back(Frame { bytes, event });
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const STREAM: &str = "\u{FEFF}: hello\n\nevent: a\ndata: {\"é€😀\":1}\r\n\r\ndata:two\rdata: \r\rid: 7\n\n\n\n\
        event: b\ndata: last";

    fn split<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Frame> {
        let mut frames = Frames::default();
        let mut all = Vec::new();
        for piece in pieces {
            frames.push(piece).expect("this is small");
            all.extend(std::iter::from_fn(|| frames.next()));
        }
        all.extend(std::iter::from_fn(|| frames.finish()));
        all
    }

    fn said(frames: &[Frame]) -> Vec<(&str, &str)> {
        let events = frames.iter().filter_map(|frame| frame.event.as_ref());
        events
            .map(|event| (event.name.as_str(), event.data.as_str()))
            .collect()
    }

    const EVENTS: [(&str, &str); 3] = [("a", "{\"é€😀\":1}"), ("", "two\n"), ("b", "last")];

    #[test]
    fn a_frame_ends_with_its_event_whatever_the_line_ends_are() {
        let frames = split([STREAM.as_bytes()]);
        assert_eq!(said(&frames), EVENTS);
        let first = frames.iter().find(|frame| frame.event.is_some());
        let first = first.expect("there are events");
        assert_eq!(first.bytes, "event: a\ndata: {\"é€😀\":1}\r\n\r");
    }

    #[test]
    fn an_event_without_end_is_too_large_at_some_time() {
        let mut frames = Frames::default();
        let piece = vec![b'x'; 1 << 20];
        let pushed = (0..8).map(|_| frames.push(&piece)).collect::<Vec<_>>();
        assert!(pushed.iter().all(Result::is_ok));
        assert_eq!(frames.push(b"x"), Err(TooLarge));
    }

    proptest! {
        #[test]
        fn no_byte_and_no_event_depends_on_where_a_stream_is_split(cuts in prop::collection::vec(0..STREAM.len(), 0..12)) {
            let mut cuts = cuts;
            cuts.extend([0, STREAM.len()]);
            cuts.sort_unstable();
            let frames = split(cuts.windows(2).map(|at| &STREAM.as_bytes()[at[0]..at[1]]));
            let bytes: Vec<u8> = frames.iter().flat_map(|frame| frame.bytes.to_vec()).collect();
            prop_assert_eq!(&bytes[..], STREAM.as_bytes());
            prop_assert_eq!(said(&frames), EVENTS);
        }
    }
}
