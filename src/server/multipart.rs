//! `multipart/form-data`, part by part and piece by piece: what is in memory is one piece and the head of one part.

use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem;

use super::body;
use crate::api::ApiError;

/// The head of one part at most.
const MAX_HEAD_BYTES: usize = 16 << 10;
/// Characters of a boundary at most.
const MAX_BOUNDARY_CHARS: usize = 70;
/// Parts of one body at most.
const MAX_PARTS: u32 = 64;

/// What stands before a part's content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PartHead {
    /// The field.
    pub(super) name: String,
    /// As the client calls the file; `None`: it is no file.
    pub(super) filename: Option<String>,
}

/// Where the reader is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// In a part's content, or before the first part.
    Content,
    /// Behind a boundary.
    Boundary,
    /// Behind the last one.
    End,
}

/// A body that is being read.
pub(super) struct Multipart {
    pieces: BodyDataStream,
    /// For the next piece.
    patience: Duration,
    buffer: BytesMut,
    /// With the line break before it.
    boundary: memmem::Finder<'static>,
    at: At,
    parts: u32,
}

impl Multipart {
    /// Of a request with these headers.
    ///
    /// # Errors
    /// Its content type is another one, or names no boundary.
    pub(super) fn new(
        headers: &HeaderMap,
        body: Body,
        patience: Duration,
    ) -> Result<Multipart, ApiError> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let boundary = boundary_of(kind).ok_or_else(|| {
            let message = "The request body must be multipart/form-data with a boundary.";
            ApiError::invalid_request("", message)
        })?;
        let boundary = format!("\r\n--{boundary}");
        Ok(Multipart {
            pieces: body.into_data_stream(),
            patience,
            // So that the first boundary has a line break before it, too.
            buffer: BytesMut::from(&b"\r\n"[..]),
            boundary: memmem::Finder::new(&boundary).into_owned(),
            at: At::Content,
            parts: 0,
        })
    }

    /// The next part, behind what is left of this one; `None` behind the last one.
    pub(super) async fn next(&mut self) -> Result<Option<PartHead>, ApiError> {
        while self.piece().await?.is_some() {}
        if self.at == At::End {
            return Ok(None);
        }
        while self.buffer.len() < 2 {
            self.fill().await?;
        }
        if self.buffer.starts_with(b"--") {
            self.at = At::End;
            return Ok(None);
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            let message = format!("The request body has more than {MAX_PARTS} parts.");
            return Err(ApiError::invalid_request("", message));
        }
        let head = self.head().await?;
        self.at = At::Content;
        Ok(Some(head))
    }

    /// More of this part's content; `None` at its end.
    pub(super) async fn piece(&mut self) -> Result<Option<Bytes>, ApiError> {
        if self.at != At::Content {
            return Ok(None);
        }
        loop {
            let length = self.boundary.needle().len();
            let ready = match self.boundary.find(&self.buffer) {
                Some(0) => {
                    self.buffer.advance(length);
                    self.at = At::Boundary;
                    return Ok(None);
                }
                Some(end) => end,
                // The rest may be the beginning of a boundary.
                None => (self.buffer.len() + 1).saturating_sub(length),
            };
            if ready > 0 {
                return Ok(Some(self.buffer.split_to(ready).freeze()));
            }
            self.fill().await?;
        }
    }

    /// The body, for who reads on.
    pub(super) fn into_pieces(self) -> BodyDataStream {
        self.pieces
    }

    async fn fill(&mut self) -> Result<(), ApiError> {
        match body::next(&mut self.pieces, self.patience).await? {
            Some(piece) => self.buffer.extend_from_slice(&piece),
            None => {
                let message = "The request body ends before its last boundary.";
                return Err(ApiError::invalid_request("", message));
            }
        }
        Ok(())
    }

    async fn head(&mut self) -> Result<PartHead, ApiError> {
        let malformed = || ApiError::invalid_request("", "A part of the request body has no head.");
        let end = loop {
            match memmem::find(&self.buffer, b"\r\n\r\n") {
                Some(end) => break end,
                None if self.buffer.len() > MAX_HEAD_BYTES => return Err(malformed()),
                None => self.fill().await?,
            }
        };
        if end > MAX_HEAD_BYTES {
            return Err(malformed());
        }
        let head = self.buffer.split_to(end);
        self.buffer.advance(4);
        // Between a boundary and its line break there may be blanks.
        let text = std::str::from_utf8(&head).map_err(|_| malformed())?;
        let (blanks, lines) = text.split_once("\r\n").ok_or_else(malformed)?;
        if !blanks.trim().is_empty() {
            return Err(malformed());
        }
        lines
            .split("\r\n")
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"))
            .and_then(|(_, value)| disposition(value))
            .ok_or_else(malformed)
    }
}

/// The boundary of a content type.
fn boundary_of(kind: &str) -> Option<String> {
    let (name, parameters) = kind.split_once(';')?;
    if !name.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let found = parameters_of(parameters).find(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let (_, boundary) = found?;
    (1..=MAX_BOUNDARY_CHARS)
        .contains(&boundary.len())
        .then_some(boundary)
}

/// Name and file name of a `form-data` disposition.
fn disposition(value: &str) -> Option<PartHead> {
    let (kind, parameters) = value.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        return None;
    }
    let mut head = PartHead::default();
    let mut is_named = false;
    for (name, value) in parameters_of(parameters) {
        match name.to_ascii_lowercase().as_str() {
            "name" => {
                head.name = value;
                is_named = true;
            }
            "filename" => head.filename = Some(value),
            _ => {}
        }
    }
    is_named.then_some(head)
}

/// Parameters behind the first semicolon, quoted or not. A backslash stands for itself unless a quote or another one follows: it is
/// in names of files.
fn parameters_of(text: &str) -> impl Iterator<Item = (String, String)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches([';', ' ', '\t']);
        let (name, value) = rest.split_once('=')?;
        let name = name.trim().to_owned();
        let Some(quoted) = value.trim_start().strip_prefix('"') else {
            let (value, left) = value.split_once(';').unwrap_or((value, ""));
            rest = left;
            return Some((name, value.trim().to_owned()));
        };
        let mut read = String::new();
        let mut chars = quoted.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    rest = &quoted[at + 1..];
                    return Some((name, read));
                }
                '\\' => match chars.next_if(|(_, next)| matches!(next, '"' | '\\')) {
                    Some((_, escaped)) => read.push(escaped),
                    None => read.push('\\'),
                },
                other => read.push(other),
            }
        }
        // No closing quote: nothing of it is believed.
        rest = "";
        None
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use futures_util::stream;
    use pretty_assertions::assert_eq;

    use super::*;

    /// Reads a body that comes in pieces of so many bytes: parts with their contents.
    async fn parts(
        kind: &str,
        body: &[u8],
        step: usize,
    ) -> Result<Vec<(PartHead, Vec<u8>)>, ApiError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_str(kind).expect("a header"),
        );
        let pieces: Vec<Result<Bytes, std::io::Error>> = body
            .chunks(step)
            .map(|piece| Ok(Bytes::copy_from_slice(piece)))
            .collect();
        let body = Body::from_stream(stream::iter(pieces));
        let mut multipart = Multipart::new(&headers, body, Duration::from_secs(60))?;
        let mut found = Vec::new();
        while let Some(head) = multipart.next().await? {
            let mut content = Vec::new();
            while let Some(piece) = multipart.piece().await? {
                content.extend_from_slice(&piece);
            }
            found.push((head, content));
        }
        Ok(found)
    }

    fn head(name: &str, filename: Option<&str>) -> PartHead {
        PartHead {
            name: name.to_owned(),
            filename: filename.map(str::to_owned),
        }
    }

    const KIND: &str = "multipart/form-data; boundary=XyZ";

    #[tokio::test]
    async fn parts_are_the_same_however_the_body_is_cut() {
        let body = b"preamble\r\n--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.txt\"\r\n\
            Content-Type: text/plain\r\n\r\none\r\n-two\r\n--XyZ \r\ncontent-disposition: form-data; name=purpose\r\n\r\n\
            user_data\r\n--XyZ--\r\nepilogue";
        for step in 1..=body.len() {
            assert_eq!(
                parts(KIND, body, step).await,
                Ok(vec![
                    (head("file", Some("a b.txt")), b"one\r\n-two".to_vec()),
                    (head("purpose", None), b"user_data".to_vec()),
                ]),
                "step {step}"
            );
        }
    }

    #[tokio::test]
    async fn contents_keep_their_line_breaks_and_may_be_empty() {
        let body = b"--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"C:\\x\\\"y\\\".bin\"\r\n\r\n\r\n\r\na\r\n--Xy\r\n\r\n--XyZ\r\n\
            Content-Disposition: form-data; name=\"purpose\"\r\n\r\n\r\n--XyZ--";
        for step in [1, 2, 3, 7, 4096] {
            assert_eq!(
                parts(KIND, body, step).await,
                Ok(vec![
                    (
                        head("file", Some("C:\\x\"y\".bin")),
                        b"\r\n\r\na\r\n--Xy\r\n".to_vec()
                    ),
                    (head("purpose", None), Vec::new()),
                ])
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_form_is_refused() {
        for (kind, body) in [
            ("application/json", &b"{}"[..]),
            ("multipart/form-data", b"--XyZ--"),
            ("multipart/form-data; boundary=", b"--XyZ--"),
            ("multipart/form-data; boundary=\"XyZ", b"--XyZ--"),
            (KIND, b""),
            (KIND, b"--XyZ"),
            (KIND, b"no boundary at all"),
            (KIND, b"--XyZ\r\n\r\nno head\r\n--XyZ--"),
            (
                KIND,
                b"--XyZ\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--XyZ--",
            ),
            (
                KIND,
                b"--XyZ\r\nContent-Disposition: form-data; filename=a\r\n\r\n\r\n--XyZ--",
            ),
            (
                KIND,
                b"--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\ncut off\r\n--Xy",
            ),
        ] {
            let error = parts(kind, body, 5).await.expect_err("is refused");
            assert_eq!(error.status, 400, "{kind} {}", body.escape_ascii());
        }
    }

    #[tokio::test]
    async fn a_head_without_an_end_is_not_gathered_for_ever() {
        let mut body = b"--XyZ\r\nContent-Disposition: form-data; name=\"".to_vec();
        body.extend(std::iter::repeat_n(b'a', 1 << 20));
        assert!(parts(KIND, &body, 4096).await.is_err());
    }

    #[tokio::test]
    async fn more_parts_than_anybody_needs_are_refused() {
        let part = "--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\n\r\n";
        let body = format!("{}--XyZ--", part.repeat(MAX_PARTS as usize + 1));
        assert!(parts(KIND, body.as_bytes(), 4096).await.is_err());
    }

    #[test]
    fn a_boundary_may_be_quoted() {
        let quoted = boundary_of("Multipart/Form-Data; charset=utf-8; Boundary=\"a b;c\"");
        assert_eq!(quoted.as_deref(), Some("a b;c"));
    }
}
