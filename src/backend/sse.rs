//! Splits a byte stream into server-sent events. Pure; bytes may be split anywhere.

use std::collections::VecDeque;

/// A line or an event's data may not be larger.
pub const LIMIT_BYTES: usize = 8 << 20;

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its data lines, joined.
    pub data: String,
}

/// A line or an event is larger than [`LIMIT_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than 8 MiB")]
pub struct TooLarge;

/// Takes bytes, gives events.
#[derive(Debug, Default)]
pub struct Parser {
    /// The line that is not complete yet.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return: a line feed that follows belongs to it.
    after_return: bool,
    /// A byte order mark can only be at the very beginning.
    begun: bool,
    ready: VecDeque<Event>,
}

impl Parser {
    /// Takes the next bytes.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLarge> {
        while let Some(at) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let follows_return = std::mem::take(&mut self.after_return);
            if at == 0 && bytes[0] == b'\n' && follows_return {
                bytes = &bytes[1..];
                continue;
            }
            self.extend(&bytes[..at])?;
            self.after_return = bytes[at] == b'\r';
            bytes = &bytes[at + 1..];
            self.end_line()?;
        }
        if !bytes.is_empty() {
            self.after_return = false;
        }
        self.extend(bytes)
    }

    /// The next complete event.
    pub fn next(&mut self) -> Option<Event> {
        self.ready.pop_front()
    }

    /// The stream is over. An event that only lacks its last line ends is given too; whether it is whole shows in its data.
    pub fn finish(&mut self) -> Option<Event> {
        if self.end_line().is_ok() {
            self.end_event();
        }
        self.next()
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), TooLarge> {
        if self.line.len() + bytes.len() > LIMIT_BYTES {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), TooLarge> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&bytes);
        if !std::mem::replace(&mut self.begun, true)
            && let Some(rest) = line.strip_prefix('\u{FEFF}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            self.end_event();
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                let data = &mut self.event.data;
                if data.len() + value.len() + 1 > LIMIT_BYTES {
                    return Err(TooLarge);
                }
                if self.has_data {
                    data.push('\n');
                }
                data.push_str(value);
                self.has_data = true;
            }
            "event" => value.clone_into(&mut self.event.name),
            // Comments, ids and fields that nobody knows.
            _ => {}
        }
        Ok(())
    }

    fn end_event(&mut self) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            self.ready.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event {
            name: name.into(),
            data: data.into(),
        }
    }

    fn read<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Event> {
        let mut parser = Parser::default();
        for chunk in chunks {
            parser.push(chunk).expect("this is small");
        }
        let mut events: Vec<Event> = std::iter::from_fn(|| parser.next()).collect();
        events.extend(parser.finish());
        events
    }

    const STREAM: &str = "\u{FEFF}: hello\n\nevent: a\ndata: {\"é€😀\":1}\nid: 7\nretry: 5\n\ndata:two\ndata: \ndata\ndata:  lines\n\n\
        event: dropped\n\nevent:b\ndata: last";

    fn expected() -> Vec<Event> {
        vec![
            event("a", "{\"é€😀\":1}"),
            event("", "two\n\n\n lines"),
            event("b", "last"),
        ]
    }

    #[test]
    fn events_are_the_same_wherever_the_bytes_are_split() {
        for line_end in ["\n", "\r\n", "\r"] {
            let stream = STREAM.replace('\n', line_end);
            let bytes = stream.as_bytes();
            assert_eq!(read([bytes]), expected(), "{line_end:?}");
            assert_eq!(read(bytes.chunks(1)), expected(), "{line_end:?}");
            for at in 0..=bytes.len() {
                assert_eq!(
                    read([&bytes[..at], b"", &bytes[at..]]),
                    expected(),
                    "{line_end:?} {at}"
                );
            }
        }
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stop_the_stream() {
        assert_eq!(
            read([b"data: \xFF\n\ndata: b\n\n".as_slice()]),
            [event("", "\u{FFFD}"), event("", "b")]
        );
    }

    #[test]
    fn a_line_and_an_event_are_bounded() {
        let mut parser = Parser::default();
        let half = vec![b'x'; LIMIT_BYTES / 2];
        assert_eq!(parser.push(b"data: "), Ok(()));
        assert_eq!(parser.push(&half), Ok(()));
        assert_eq!(parser.push(&half), Err(TooLarge));

        let mut parser = Parser::default();
        let line = [b"data: ", half.as_slice(), b"\n"].concat();
        assert_eq!(parser.push(&line), Ok(()));
        assert_eq!(parser.push(&line), Err(TooLarge));
    }

    proptest::proptest! {
        #[test]
        fn any_split_of_any_bytes_gives_the_same_events(
            bytes in proptest::collection::vec(proptest::sample::select(b"dat:e \r\n\xEF\xBB\xBFx".to_vec()), 0..60),
            at in 0_usize..60,
        ) {
            let at = at.min(bytes.len());
            proptest::prop_assert_eq!(read([&bytes[..at], &bytes[at..]]), read([bytes.as_slice()]));
        }
    }
}
