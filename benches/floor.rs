//! The floor: what the disk itself takes to make 4 KiB durable, measured in the same run as everything that is compared with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// One block, as SQLite writes them.
const BLOCK_BYTES: usize = 4096;

/// Blocks in the file, written in turn.
const BLOCKS: u64 = 1024;

/// A file that is overwritten in place.
pub struct Floor {
    file: File,
    next: u64,
}

impl Floor {
    /// Creates the file in `dir`, with all its blocks on the disk.
    pub fn new(dir: &Path) -> io::Result<Floor> {
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(dir.join("floor"))?;
        file.write_all_at(&vec![1; BLOCK_BYTES * BLOCKS as usize], 0)?;
        file.sync_all()?;
        Ok(Floor { file, next: 0 })
    }

    /// Overwrites blocks one by one, each followed by `fdatasync`; the time that each took.
    pub fn sample(&mut self, count: usize) -> io::Result<Vec<Duration>> {
        let mut block = [7; BLOCK_BYTES];
        (0..count)
            .map(|_| {
                self.next += 1;
                block[..8].copy_from_slice(&self.next.to_le_bytes());
                let begun = Instant::now();
                let at = self.next % BLOCKS * BLOCK_BYTES as u64;
                self.file.write_all_at(&block, at)?;
                self.file.sync_data()?;
                Ok(begun.elapsed())
            })
            .collect()
    }
}

/// The value that `percent` of the samples do not exceed.
pub fn percentile(samples: &[Duration], percent: f64) -> Duration {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    let last = sorted.len().saturating_sub(1);
    let at = (percent / 100.0 * last as f64).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// The middle of some figures.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
