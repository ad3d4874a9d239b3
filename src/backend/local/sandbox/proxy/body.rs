//! Passing on exactly one request body: not a byte of what follows it, which could be a second request for another host.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::request::Body;

/// Bytes of a chunk's size line or of a trailer line.
const MAX_LINE_BYTES: u64 = 4 << 10;
/// Lines of trailers.
const MAX_TRAILERS: usize = 64;

/// Copies the body. What `from` holds behind it stays there.
pub(super) async fn copy(
    body: Body,
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    match body {
        Body::Length(length) => exactly(length, from, to).await?,
        Body::Chunked => chunks(from, to).await?,
    }
    to.flush().await
}

async fn exactly(
    length: u64,
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    match tokio::io::copy_buf(&mut from.take(length), to).await? {
        copied if copied == length => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

async fn chunks(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    loop {
        let line = line(from).await?;
        let size = line
            .split(';')
            .next()
            .unwrap_or_default()
            .trim_end_matches([' ', '\t']);
        let size = chunk_size(size).ok_or(io::ErrorKind::InvalidData)?;
        // Extensions are dropped: nobody needs them, and they have been used to smuggle.
        to.write_all(format!("{size:x}\r\n").as_bytes()).await?;
        if size == 0 {
            return trailers(from, to).await;
        }
        exactly(size, from, to).await?;
        if !self::line(from).await?.is_empty() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        to.write_all(b"\r\n").await?;
    }
}

fn chunk_size(text: &str) -> Option<u64> {
    let digits = (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    digits.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// Trailers are read to their end and dropped.
async fn trailers(
    from: &mut (impl AsyncBufRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> io::Result<()> {
    for _ in 0..MAX_TRAILERS {
        if line(from).await?.is_empty() {
            return to.write_all(b"\r\n").await;
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// A line without its CRLF. A bare line feed is an error.
async fn line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    from.take(MAX_LINE_BYTES)
        .read_until(b'\n', &mut line)
        .await?;
    let text = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
    match text.strip_suffix("\r\n") {
        Some(text) if !text.contains('\r') => Ok(text.to_owned()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(body: Body, bytes: &str) -> (io::Result<()>, String, String) {
        let mut from = bytes.as_bytes();
        let mut to = Vec::new();
        let copied = copy(body, &mut from, &mut to).await;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (copied, text(&to), text(from))
    }

    #[tokio::test]
    async fn what_follows_the_body_stays_behind() {
        let (done, to, rest) = passed(Body::Length(3), "abcGET http://evil/").await;
        assert!(done.is_ok());
        assert_eq!((to.as_str(), rest.as_str()), ("abc", "GET http://evil/"));
        let (done, to, rest) = passed(
            Body::Chunked,
            "3;x=y\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET /",
        )
        .await;
        assert!(done.is_ok());
        assert_eq!(to, "3\r\nabc\r\na\r\n0123456789\r\n0\r\n\r\n");
        assert_eq!(rest, "GET /");
    }

    #[tokio::test]
    async fn malformed_chunks_end_the_exchange() {
        for bytes in [
            "",
            "3\nabc\n0\n\n",
            "+3\r\nabc\r\n",
            "0x3\r\nabc\r\n",
            "3\r\nabcd\r\n",
            "ffffffffffffffffff\r\n",
            "3\r\nab",
            "0\r\n",
        ] {
            assert!(passed(Body::Chunked, bytes).await.0.is_err(), "{bytes:?}");
        }
        assert!(passed(Body::Length(3), "ab").await.0.is_err());
    }
}
