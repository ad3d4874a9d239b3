//! A connection that does not wait for ever for its client to take what it is sent.
//!
//! Reading has no bound here: how long a request may take is the HTTP layer's business. Surprising: the time runs only while a
//! write waits, so a connection on which nothing is said lives on.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// See the module.
pub(super) struct Patient<T> {
    inner: T,
    patience: Duration,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    /// A write to `inner` may wait for so long.
    pub(super) fn new(inner: T, patience: Duration) -> Patient<T> {
        Patient {
            inner,
            patience,
            waiting: None,
        }
    }

    /// What a write came to; one that waits for too long is an error.
    fn bound<R>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.waiting = None;
            return wrote;
        }
        let patience = self.patience;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(sleep(patience)));
        match waiting.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                // Asked again, it is as late as it was.
                waiting.as_mut().reset(Instant::now());
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.bound(cx, wrote)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(cx);
        self.bound(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.bound(cx, shut)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.inner).poll_write_vectored(cx, pieces);
        self.bound(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_write_that_nobody_takes_fails_after_the_patience_and_a_silent_connection_lives() {
        let (near, mut far) = duplex(4);
        let mut near = Patient::new(near, Duration::from_secs(10));
        tokio::time::sleep(Duration::from_secs(100)).await;
        near.write_all(b"1234").await.expect("there is room");
        let since = Instant::now();
        let error = near.write_all(b"5").await.expect_err("nobody takes it");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(since.elapsed().as_secs(), 10);
        assert!(near.write_all(b"5").await.is_err(), "it stays too late");
        let mut taken = [0; 4];
        far.read_exact(&mut taken).await.expect("is there");
        near.write_all(b"5").await.expect("there is room again");
    }
}
