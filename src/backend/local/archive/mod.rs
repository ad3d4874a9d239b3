//! Archives as files: the entries of an archive in a tar, and the tar in one frame of zstd.
//!
//! Only what an export writes is read: plain files with short names, one after the other, zeros between and behind them, and
//! nothing after the frame. The surprise: tools of this world write many other things into a tar (links, long names, times of
//! access), and each of them is refused here, because none has a meaning in an archive of a Session.

mod reader;
mod writer;

pub use reader::TarZstdReader;
pub use writer::TarZstdWriter;

/// Everything in a tar is a multiple of this.
const BLOCK_BYTES: usize = 512;
/// Bytes passed on in one step.
const STEP_BYTES: usize = 256 << 10;

/// Zeros that fill the last block of so many bytes.
fn padding(size_bytes: u64) -> usize {
    let block = BLOCK_BYTES as u64;
    usize::try_from((block - size_bytes % block) % block).unwrap_or(0)
}

#[cfg(test)]
mod tests;
