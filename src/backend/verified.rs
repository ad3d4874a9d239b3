//! A reader that checks length and digest while bytes pass through it. Every blob store streams through it, so that damage
//! surfaces to the reader whatever holds the bytes.
//!
//! It is not a cache and keeps no bytes. It hashes as much in one poll as its source yields, which the source should bound. Only a read from offset 0 to the end can check the digest; one from the middle checks
//! the length alone.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, ReadBuf};

use crate::engine::ports::{BlobError, BlobRef};

/// Reads `from` and fails with [`BlobError::Corrupt`] (inside the `io::Error`) when what it yielded is not what `blob` names.
pub struct Verified<R> {
    from: R,
    blob: BlobRef,
    left_bytes: u64,
    hash: Option<Sha256>,
    over: bool,
}

impl<R: AsyncRead + Unpin> Verified<R> {
    /// `from` must stand at `offset` already. An offset behind the end reads nothing.
    pub fn new(from: R, blob: &BlobRef, offset: u64) -> Verified<R> {
        Verified {
            from,
            left_bytes: blob.size_bytes.saturating_sub(offset),
            blob: blob.clone(),
            hash: (offset == 0).then(Sha256::new),
            over: offset > blob.size_bytes,
        }
    }

    /// Checks the length alone, where no digest is known; `name` is what an error calls the bytes.
    pub fn length_of(from: R, name: &str, size_bytes: u64) -> Verified<R> {
        let blob = BlobRef {
            sha256: name.to_owned(),
            size_bytes,
        };
        Verified {
            hash: None,
            ..Verified::new(from, &blob, 0)
        }
    }

    fn corrupt(&mut self) -> Poll<io::Result<()>> {
        self.over = true;
        let error = BlobError::Corrupt(self.blob.sha256.clone());
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    fn end(&mut self) -> Poll<io::Result<()>> {
        self.over = true;
        let whole = self.left_bytes == 0;
        let right = match self.hash.take() {
            Some(hash) => data_encoding::HEXLOWER.encode(&hash.finalize()) == self.blob.sha256,
            None => true,
        };
        if whole && right {
            Poll::Ready(Ok(()))
        } else {
            self.corrupt()
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Verified<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.over || buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut this.from).poll_read(cx, buf))?;
        let read = &buf.filled()[before..];
        if read.is_empty() {
            return this.end();
        }
        let read_bytes = read.len() as u64;
        if read_bytes > this.left_bytes {
            buf.set_filled(before);
            return this.corrupt();
        }
        if let Some(hash) = &mut this.hash {
            hash.update(read);
        }
        this.left_bytes -= read_bytes;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::engine::ids::sha256_hex;

    fn blob(content: &[u8]) -> BlobRef {
        BlobRef {
            sha256: sha256_hex(content),
            size_bytes: content.len() as u64,
        }
    }

    async fn read(from: &[u8], blob: &BlobRef, offset: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        Verified::new(from, blob, offset)
            .read_to_end(&mut out)
            .await
            .map(|_| out)
    }

    #[tokio::test]
    async fn right_bytes_pass() {
        let content = vec![7u8; 300_005];
        assert_eq!(read(&content, &blob(&content), 0).await.ok(), Some(content));
        assert_eq!(read(b"", &blob(b""), 0).await.ok(), Some(Vec::new()));
    }

    #[tokio::test]
    async fn a_flipped_byte_a_missing_end_and_extra_bytes_are_errors() {
        let right = blob(b"hello");
        for wrong in [&b"hellO"[..], b"hell", b"hello!", b""] {
            let error = read(wrong, &right, 0).await.expect_err("must not pass");
            let inner = error
                .get_ref()
                .and_then(|e| e.downcast_ref::<BlobError>())
                .expect("carries the blob error");
            assert_eq!(inner, &BlobError::Corrupt(right.sha256.clone()));
        }
    }

    #[tokio::test]
    async fn a_read_from_the_middle_checks_the_length() {
        let right = blob(b"hello");
        assert_eq!(read(b"llo", &right, 2).await.ok(), Some(b"llo".to_vec()));
        assert!(read(b"ll", &right, 2).await.is_err());
        assert_eq!(read(b"", &right, 5).await.ok(), Some(Vec::new()));
        assert_eq!(read(b"", &right, 9).await.ok(), Some(Vec::new()));
    }
}
