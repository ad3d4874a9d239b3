//! How much of everything the HTTP face takes, and how long it waits: one table, so that every bound can be seen and tested with
//! small values. What a request may contain is not here but with the wire types (`api::limits`).

use std::time::Duration;

use crate::engine::access::MAX_BODY_BYTES;
use crate::engine::files::MAX_FILE_BYTES;

/// Bounds of one server. The default is what a daemon serves with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections that may be open at once. Whoever comes then waits until one ends.
    pub connections: usize,
    /// Streams that may be open at once. One more is refused.
    pub streams: usize,
    /// A TLS handshake must be over after this time.
    pub handshake_patience: Duration,
    /// The head of a request may be this long, and so may the trailers of a body.
    pub head_bytes: usize,
    /// A head may have this many fields.
    pub head_fields: usize,
    /// The head of a request must be there after this time; so must the next request on a connection that is kept.
    pub head_patience: Duration,
    /// A body may be this long; a key may have less.
    pub body_bytes: usize,
    /// A body must be there after this time.
    pub body_patience: Duration,
    /// An uploaded file may be this long; a key may have less. Each piece of it must be there after `body_patience`.
    pub file_bytes: u64,
    /// An upload must be over after this time: far less than the day after which what it stored is erased.
    pub upload_patience: Duration,
    /// A stream whose client takes nothing for so long is told so, and ends.
    pub stream_patience: Duration,
    /// A connection whose client takes nothing of an answer for so long is closed. It is longer than `stream_patience`, so that a
    /// stream's last words can still be taken.
    pub write_patience: Duration,
    /// A stream is silent for so long at most; then it says that it is there.
    pub keep_alive: Duration,
    /// Text that waits for the client of one stream. One event that is longer waits alone.
    pub stream_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 2_048,
            streams: 1_024,
            handshake_patience: Duration::from_secs(10),
            head_bytes: 64 << 10,
            head_fields: 100,
            head_patience: Duration::from_secs(60),
            body_bytes: usize::try_from(MAX_BODY_BYTES).unwrap_or(usize::MAX),
            body_patience: Duration::from_secs(60),
            file_bytes: MAX_FILE_BYTES,
            upload_patience: Duration::from_secs(6 * 3_600),
            stream_patience: Duration::from_secs(60),
            write_patience: Duration::from_secs(120),
            keep_alive: Duration::from_secs(15),
            stream_bytes: 256 << 10,
        }
    }
}
