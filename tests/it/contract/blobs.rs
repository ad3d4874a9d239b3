//! What every blob store promises.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use pretty_assertions::assert_eq;
use rat_things::backend::aws::blobs::S3Blobs;
use rat_things::backend::local::blobs::LocalBlobs;
use rat_things::backend::memory::blobs::MemoryBlobs;
use rat_things::engine::ids::sha256_hex;
use rat_things::engine::ports::{BlobError, BlobRef, BlobScope, BlobSource, Blobs};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::aws::place;

/// Makes one test per promise and implementation.
macro_rules! suite {
    ($($promise:ident),* $(,)?) => {
        mod local {
            use super::*;
            $(#[tokio::test]
            async fn $promise() {
                let dir = tempfile::tempdir().expect("a temporary directory");
                super::$promise(&LocalBlobs::new(dir.path().join("blobs"))).await;
            })*
        }
        mod memory {
            use super::*;
            $(#[tokio::test]
            async fn $promise() {
                super::$promise(&MemoryBlobs::new()).await;
            })*
        }
        mod s3 {
            use super::*;
            $(#[tokio::test]
            async fn $promise() {
                let place = place();
                super::$promise(&S3Blobs::new(&place.clients, &place.places)).await;
            })*
        }
    };
}

suite!(
    stored_bytes_are_read_back_whole_and_in_part,
    the_same_bytes_are_the_same_blob,
    a_stream_is_stored_up_to_its_limit,
    a_source_that_fails_keeps_nothing,
    absent_bytes_are_missing,
    a_reference_with_a_wrong_length_is_corrupt,
    scopes_do_not_see_one_another,
    a_deleted_scope_is_empty_and_can_be_used_again,
    many_puts_of_the_same_bytes_at_once_agree,
);

fn scope(session: &str) -> BlobScope {
    BlobScope {
        owner: "owner2a".to_owned(),
        session: session.to_owned(),
    }
}

fn blob(bytes: &[u8]) -> BlobRef {
    BlobRef {
        sha256: sha256_hex(bytes),
        size_bytes: bytes.len() as u64,
    }
}

/// Bytes that are not the same everywhere.
fn pattern(size_bytes: usize) -> Vec<u8> {
    (0..size_bytes).map(|i| (i % 251) as u8).collect()
}

fn whole(bytes: impl Into<Bytes>) -> BlobSource {
    BlobSource::Bytes(bytes.into())
}

fn stream(bytes: &[u8], limit_bytes: u64) -> BlobSource {
    BlobSource::Stream {
        from: Box::new(io::Cursor::new(bytes.to_vec())),
        limit_bytes,
    }
}

async fn read(blobs: &dyn Blobs, scope: &BlobScope, blob: &BlobRef, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    blobs
        .open(scope, blob, offset)
        .await
        .expect("opens")
        .read_to_end(&mut bytes)
        .await
        .expect("reads");
    bytes
}

async fn stored_bytes_are_read_back_whole_and_in_part(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    for size_bytes in [0, 1, 4_096, 300_000] {
        let bytes = pattern(size_bytes);
        let stored = blobs.put(&scope, whole(bytes.clone())).await.expect("put");
        assert_eq!(stored, blob(&bytes));
        assert_eq!(blobs.has(&scope, &stored).await, Ok(true));
        assert_eq!(blobs.get(&scope, &stored).await, Ok(bytes.clone().into()));
        for offset in [0, size_bytes / 3, size_bytes, size_bytes + 7] {
            let rest = bytes.get(offset..).unwrap_or_default();
            assert_eq!(read(blobs, &scope, &stored, offset as u64).await, rest);
        }
    }
}

async fn the_same_bytes_are_the_same_blob(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    let first = blobs.put(&scope, whole("same")).await.expect("put");
    let second = blobs.put(&scope, stream(b"same", 4)).await.expect("put");
    assert_eq!(first, second);
    assert_eq!(blobs.get(&scope, &first).await, Ok("same".into()));
}

async fn a_stream_is_stored_up_to_its_limit(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    for size_bytes in [0usize, 10, 262_144, 262_145, 1_000_000] {
        let bytes = pattern(size_bytes);
        let limit_bytes = size_bytes as u64;
        let stored = blobs.put(&scope, stream(&bytes, limit_bytes)).await;
        assert_eq!(stored, Ok(blob(&bytes)));
        assert_eq!(read(blobs, &scope, &blob(&bytes), 0).await, bytes);

        let more = pattern(size_bytes + 1);
        assert_eq!(
            blobs.put(&scope, stream(&more, limit_bytes)).await,
            Err(BlobError::TooLarge { limit_bytes })
        );
        assert_eq!(blobs.has(&scope, &blob(&more)).await, Ok(false));
    }
}

/// Yields some bytes, then fails.
struct Failing {
    left_bytes: usize,
}

impl AsyncRead for Failing {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left_bytes == 0 {
            return Poll::Ready(Err(io::Error::other("the pipe burst")));
        }
        let part = self.left_bytes.min(buf.remaining());
        buf.put_slice(&vec![1; part]);
        self.left_bytes -= part;
        Poll::Ready(Ok(()))
    }
}

async fn a_source_that_fails_keeps_nothing(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    for left_bytes in [0, 10, 600_000] {
        let source = BlobSource::Stream {
            from: Box::new(Failing { left_bytes }),
            limit_bytes: 1 << 30,
        };
        let error = blobs.put(&scope, source).await.expect_err("must fail");
        assert_eq!(error, BlobError::Source("the pipe burst".to_owned()));
        let part = blob(&vec![1; left_bytes]);
        assert_eq!(blobs.has(&scope, &part).await, Ok(false));
    }
}

async fn absent_bytes_are_missing(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    blobs.put(&scope, whole("other")).await.expect("put");
    let mut absent = blob(b"never stored");
    for digest in [absent.sha256.clone(), "..".to_owned(), String::new()] {
        absent.sha256 = digest.clone();
        let missing = BlobError::Missing(digest);
        assert_eq!(blobs.has(&scope, &absent).await, Ok(false));
        assert_eq!(blobs.get(&scope, &absent).await, Err(missing.clone()));
        assert_eq!(blobs.open(&scope, &absent, 0).await.err(), Some(missing));
    }
}

async fn a_reference_with_a_wrong_length_is_corrupt(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    let mut wrong = blobs.put(&scope, whole("hello")).await.expect("put");
    wrong.size_bytes = 4;
    let corrupt = BlobError::Corrupt(wrong.sha256.clone());
    assert_eq!(blobs.get(&scope, &wrong).await, Err(corrupt.clone()));
    assert_eq!(blobs.open(&scope, &wrong, 0).await.err(), Some(corrupt));
    assert_eq!(blobs.has(&scope, &wrong).await, Ok(false));
}

async fn scopes_do_not_see_one_another(blobs: &dyn Blobs) {
    let stored = blobs.put(&scope("sess_a"), whole("mine")).await;
    let stored = stored.expect("put");
    let other_owner = BlobScope {
        owner: "owner2b".to_owned(),
        session: "sess_a".to_owned(),
    };
    for other in [scope("sess_b"), scope("sess_aa"), other_owner] {
        assert_eq!(blobs.has(&other, &stored).await, Ok(false));
        assert!(matches!(
            blobs.get(&other, &stored).await,
            Err(BlobError::Missing(_))
        ));
        blobs.delete_scope(&other).await.expect("delete");
    }
    assert_eq!(blobs.has(&scope("sess_a"), &stored).await, Ok(true));
}

async fn a_deleted_scope_is_empty_and_can_be_used_again(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    blobs.delete_scope(&scope).await.expect("nothing to delete");
    for round in 0..2 {
        let stored = blobs.put(&scope, whole("here")).await.expect("put");
        assert_eq!(blobs.has(&scope, &stored).await, Ok(true), "round {round}");
        for _ in 0..2 {
            blobs.delete_scope(&scope).await.expect("delete");
            assert_eq!(blobs.has(&scope, &stored).await, Ok(false));
        }
    }
}

async fn many_puts_of_the_same_bytes_at_once_agree(blobs: &dyn Blobs) {
    let scope = scope("sess_a");
    let bytes = pattern(100_000);
    let puts = (0..16).map(|n| {
        let source = if n % 2 == 0 {
            whole(bytes.clone())
        } else {
            stream(&bytes, 100_000)
        };
        blobs.put(&scope, source)
    });
    for stored in futures_util::future::join_all(puts).await {
        assert_eq!(stored, Ok(blob(&bytes)));
    }
    assert_eq!(read(blobs, &scope, &blob(&bytes), 0).await, bytes);
}
