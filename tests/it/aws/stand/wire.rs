//! HTTP/1.1 messages as bytes: read whole, kept as they came, so that they can be passed on unchanged or not at all.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// The longest head that is read.
const HEAD_BYTES: usize = 64 * 1024;
/// The longest body that is read.
const BODY_BYTES: usize = 64 * 1024 * 1024;

/// One request or one answer.
pub(super) struct Message {
    /// The request line or the status line.
    pub(super) start: String,
    headers: Vec<(String, String)>,
    /// The body as it came, with the framing of its chunks.
    body: Vec<u8>,
}

impl Message {
    /// The value of a header, by its name in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(given, _)| given.eq_ignore_ascii_case(name))?;
        Some(&found.1)
    }

    /// The body of a message that was not sent in chunks, as a text.
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The message as it came, without what only concerned the connection it came over.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{}\r\n", self.start).into_bytes();
        for (name, value) in &self.headers {
            if !name.eq_ignore_ascii_case("expect") {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// The next request of a connection, and `None` at its end.
pub(super) fn request(from: &mut BufReader<TcpStream>) -> io::Result<Option<Message>> {
    let Some(mut message) = head(from)? else {
        return Ok(None);
    };
    if message.header("expect").is_some() {
        from.get_mut().write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    message.body = framed(&message, from)?.unwrap_or_default();
    Ok(Some(message))
}

/// The answer to a request of this method.
pub(super) fn answer(from: &mut BufReader<TcpStream>, method: &str) -> io::Result<Message> {
    loop {
        let Some(mut message) = head(from)? else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        let status = message.start.split(' ').nth(1).unwrap_or_default();
        if status.starts_with('1') {
            continue;
        }
        if method != "HEAD" && status != "204" && status != "304" {
            message.body = match framed(&message, from)? {
                Some(body) => body,
                None => to_the_end(from)?,
            };
        }
        return Ok(message);
    }
}

fn head(from: &mut BufReader<TcpStream>) -> io::Result<Option<Message>> {
    let start = line(from)?;
    if start.is_empty() {
        return Ok(None);
    }
    let (mut headers, mut size) = (Vec::new(), 0);
    loop {
        let next = line(from)?;
        let text = next.trim_end();
        if text.is_empty() {
            break;
        }
        size += next.len();
        let header = text.split_once(':').filter(|_| size <= HEAD_BYTES);
        let (name, value) = header.ok_or(io::ErrorKind::InvalidData)?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Ok(Some(Message {
        start: start.trim_end().to_owned(),
        headers,
        body: Vec::new(),
    }))
}

/// The body whose length the head tells; `None` when it tells none.
fn framed(head: &Message, from: &mut BufReader<TcpStream>) -> io::Result<Option<Vec<u8>>> {
    if head.header("transfer-encoding").is_some() {
        return chunks(from).map(Some);
    }
    let Some(length) = head.header("content-length") else {
        return Ok(None);
    };
    let length = length.parse().map_err(|_| io::ErrorKind::InvalidData)?;
    exactly(from, length).map(Some)
}

fn chunks(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(from)?;
        body.extend_from_slice(size.as_bytes());
        let digits = size.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        if length == 0 {
            break;
        }
        body.extend(exactly(from, length)?);
        body.extend(exactly(from, 2)?);
        if body.len() > BODY_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    // Trailers, and the empty line after them.
    loop {
        let trailer = line(from)?;
        body.extend_from_slice(trailer.as_bytes());
        if trailer.trim_end().is_empty() {
            return Ok(body);
        }
    }
}

fn line(from: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    from.take(HEAD_BYTES as u64).read_line(&mut line)?;
    Ok(line)
}

fn exactly(from: &mut BufReader<TcpStream>, length: usize) -> io::Result<Vec<u8>> {
    if length > BODY_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn to_the_end(from: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(BODY_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
