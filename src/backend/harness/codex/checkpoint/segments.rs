//! A file in packed segments that are named by what they hold. Pure.
//!
//! A file has as many of the largest segments as fit, then as many of the next smaller ones, and what is left is the last one. So it has few, however
//! long it is, and what a file has grown by is packed three times at most. Where a segment ends depends on what comes before it alone.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::manifest::SavedSegment;
use super::{RestoreError, damaged};
use crate::engine::ids::sha256_hex;
use crate::engine::ports::BlobRef;

/// A segment ends with the first line that makes it as large as one of these. The last one, which grows, is smaller than any.
const SIZES_BYTES: [usize; 3] = [16 << 20, 1 << 20, 64 << 10];

/// How hard packing tries: text like this shrinks to a tenth whatever is chosen.
const LEVEL: i32 = 1;

/// One segment, to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What the manifest says of it.
    pub saved: SavedSegment,
    /// What is stored under [`SavedSegment::blob`].
    pub packed: Bytes,
}

/// A file's bytes, which end with a line's end, in segments.
pub fn split(bytes: &[u8]) -> std::io::Result<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut left = bytes;
    while !left.is_empty() {
        let (segment, rest) = left.split_at(end(left));
        segments.push(pack(segment)?);
        left = rest;
    }
    Ok(segments)
}

/// Where the first segment ends: with a line.
fn end(bytes: &[u8]) -> usize {
    let size = SIZES_BYTES.into_iter().find(|size| bytes.len() >= *size);
    let end = size.and_then(|size| {
        let from = size - 1;
        memchr::memchr(b'\n', &bytes[from..]).map(|at| from + at + 1)
    });
    end.unwrap_or(bytes.len())
}

/// How many of the first segments that a file had are its segments still when it is `size_bytes` long, and how many bytes they hold.
pub fn kept(before: &[SavedSegment], size_bytes: u64) -> (usize, u64) {
    let mut held_bytes = 0;
    for (count, segment) in before.iter().enumerate() {
        let left = size_bytes.saturating_sub(held_bytes);
        let mut sizes = SIZES_BYTES.into_iter().map(|size| size as u64);
        let is_kept = sizes
            .find(|size| left >= *size)
            .is_some_and(|size| segment.raw_bytes >= size && segment.raw_bytes <= left);
        if !is_kept {
            return (count, held_bytes);
        }
        held_bytes += segment.raw_bytes;
    }
    (before.len(), held_bytes)
}

/// Any bytes as one segment.
pub fn pack(bytes: &[u8]) -> std::io::Result<Segment> {
    let packed = zstd::bulk::compress(bytes, LEVEL)?;
    Ok(Segment {
        saved: SavedSegment {
            blob: BlobRef {
                sha256: sha256_hex(&packed),
                size_bytes: packed.len() as u64,
            },
            raw_bytes: bytes.len() as u64,
        },
        packed: packed.into(),
    })
}

/// A file's bytes of its segments. No more is unpacked than they say.
pub fn join(
    saved: &[SavedSegment],
    packed: &BTreeMap<String, Bytes>,
) -> Result<Vec<u8>, RestoreError> {
    let mut bytes = Vec::new();
    for segment in saved {
        let name = &segment.blob.sha256;
        let found = packed.get(name).ok_or_else(|| RestoreError::Missing {
            digest: name.clone(),
        })?;
        if sha256_hex(found) != *name {
            return Err(damaged(&format!("segment {name} holds something else")));
        }
        let size = usize::try_from(segment.raw_bytes).unwrap_or(usize::MAX);
        let unpacked = zstd::bulk::decompress(found, size)
            .map_err(|error| damaged(&format!("segment {name}: {error}")))?;
        if unpacked.len() != size {
            return Err(damaged(&format!("segment {name} has another size")));
        }
        bytes.extend_from_slice(&unpacked);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn lines(count: usize) -> Vec<u8> {
        let line = |n| format!("{{\"ordinal\":{n},\"text\":\"{}\"}}\n", "é".repeat(n % 500));
        (0..count).flat_map(|n| line(n).into_bytes()).collect()
    }

    fn sizes(bytes: &[u8]) -> Vec<u64> {
        let segments = split(bytes).expect("it can be packed");
        segments
            .iter()
            .map(|segment| segment.saved.raw_bytes)
            .collect()
    }

    #[test]
    fn a_segment_ends_with_the_line_that_fills_it() {
        let line = |size: usize| [vec![b'x'; size - 1], vec![b'\n']].concat();
        let [_, middle, small] = SIZES_BYTES;
        let full = small as u64;
        assert_eq!(sizes(b""), Vec::<u64>::new());
        assert_eq!(sizes(&line(3)), [3]);
        assert_eq!(sizes(&[line(small), line(3)].concat()), [full, 3]);
        assert_eq!(
            sizes(&[line(small - 1), line(3), line(5)].concat()),
            [full + 2, 5]
        );
        // One line is never divided, however long it is.
        assert_eq!(sizes(&[line(3 * small), line(3)].concat()), [3 * full, 3]);
        // What fills a larger one is one.
        let many = line(small).repeat(middle / small);
        assert_eq!(sizes(&many), [middle as u64]);
        assert_eq!(
            sizes(&[many, line(small), line(7)].concat()),
            [middle as u64, full, 7]
        );
    }

    #[test]
    fn what_is_kept_of_the_segments_before_is_what_a_longer_file_is_split_into() {
        // From nothing to beyond the middle size, in steps of all kinds.
        let line = |size: usize| [vec![b'x'; size - 1], vec![b'\n']].concat();
        let mut file = Vec::new();
        let mut before: Vec<SavedSegment> = Vec::new();
        for step in 0..140 {
            file.extend(line(1 + step * 997 % 40_000));
            let (count, held_bytes) = kept(&before, file.len() as u64);
            let rest = split(&file[held_bytes as usize..]).expect("it can be packed");
            let rest = rest.into_iter().map(|segment| segment.saved);
            let now: Vec<SavedSegment> = before[..count].iter().cloned().chain(rest).collect();
            let whole = split(&file).expect("it can be packed");
            let whole: Vec<SavedSegment> = whole.into_iter().map(|s| s.saved).collect();
            assert_eq!(now, whole, "step {step}");
            before = now;
        }
        assert!(file.len() > SIZES_BYTES[1] && before.len() < 40);
        // One that was longer before is none of these.
        assert_eq!(kept(&before, 3), (0, 0));
    }

    #[test]
    fn what_grows_keeps_all_its_segments_but_the_last() {
        let all = lines(1_500);
        let whole = split(&all).expect("it can be packed");
        assert!(whole.len() > 5);
        for count in [1, 500, 1_000, 1_499] {
            let some = split(&lines(count)).expect("it can be packed");
            let closed = some.len() - 1;
            assert_eq!(some[..closed], whole[..closed]);
        }
    }

    #[test]
    fn segments_are_put_together_or_refused() {
        let all = lines(1_000);
        let segments = split(&all).expect("it can be packed");
        let saved: Vec<_> = segments
            .iter()
            .map(|segment| segment.saved.clone())
            .collect();
        let stored: BTreeMap<String, Bytes> = segments
            .iter()
            .map(|segment| (segment.saved.blob.sha256.clone(), segment.packed.clone()))
            .collect();
        assert!(join(&saved, &stored).is_ok_and(|bytes| bytes == all));

        let name = &saved[1].blob.sha256;
        let mut missing = stored.clone();
        missing.remove(name);
        let refused = join(&saved, &missing);
        assert!(matches!(&refused, Err(RestoreError::Missing { digest }) if digest == name));

        let mut other = stored.clone();
        other.insert(name.clone(), stored[&saved[0].blob.sha256].clone());
        assert!(matches!(
            join(&saved, &other),
            Err(RestoreError::Damaged { .. })
        ));

        for raw_bytes in [0, 1, saved[1].raw_bytes - 1, saved[1].raw_bytes + 1] {
            let mut lying = saved.clone();
            lying[1].raw_bytes = raw_bytes;
            let refused = join(&lying, &stored);
            assert!(
                matches!(refused, Err(RestoreError::Damaged { .. })),
                "{raw_bytes}"
            );
        }
    }
}
