//! Wide values take less room: text is compressed where that saves something.
//!
//! A value that was packed is a Zstandard frame and begins with its magic number. One that begins with it by itself is always packed, so that
//! what is stored says what it is. Values of files older than schema 4 never begin with it: they are JSON.

/// What a frame begins with (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Shorter values are left as they are: they share a page anyway, and an accept would wait for it.
const WORTH_BYTES: usize = 2_048;
/// The widest value that is believed in. Rows are much smaller; a damaged length must not take all memory.
const WIDEST_BYTES: u64 = 64 << 20;
/// The quickest of the ordinary levels.
const LEVEL: i32 = 1;

/// A stored value that says it is packed and can't be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a packed value can't be read: {0}")]
pub(super) struct Damaged(String);

/// What to store instead of the value; `None`: itself.
pub(super) fn pack(value: &[u8]) -> Option<Vec<u8>> {
    let must = value.starts_with(&MAGIC);
    if !must && value.len() < WORTH_BYTES {
        return None;
    }
    let packed = zstd::bulk::compress(value, LEVEL).ok()?;
    (must || packed.len() <= value.len() / 8 * 7).then_some(packed)
}

/// The value that was stored.
///
/// # Errors
/// It was packed, and is damaged.
pub(super) fn unpack(stored: Vec<u8>) -> Result<Vec<u8>, Damaged> {
    if !stored.starts_with(&MAGIC) {
        return Ok(stored);
    }
    let size_bytes = match zstd::zstd_safe::get_frame_content_size(&stored) {
        Ok(Some(size_bytes)) if size_bytes <= WIDEST_BYTES => size_bytes as usize,
        Ok(_) => return Err(Damaged("it has no length that could be right".into())),
        Err(error) => return Err(Damaged(error.to_string())),
    };
    zstd::bulk::decompress(&stored, size_bytes).map_err(|error| Damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest, Sha256};

    use super::*;

    fn stored(value: &[u8]) -> Vec<u8> {
        pack(value).unwrap_or_else(|| value.to_vec())
    }

    proptest! {
        #[test]
        fn whatever_is_stored_comes_back(
            magic in any::<bool>(),
            bytes in prop::collection::vec(any::<u8>(), 0..6_000),
            line in "[a-z ]{0,40}",
            times in 0..400usize,
        ) {
            let begins: &[u8] = if magic { &MAGIC } else { b"" };
            for rest in [bytes, line.repeat(times).into_bytes()] {
                let value = [begins, &rest].concat();
                let stored = stored(&value);
                prop_assert!(magic || stored.len() <= value.len());
                prop_assert_eq!(unpack(stored), Ok(value));
            }
        }
    }

    #[test]
    fn text_gets_smaller_and_what_would_not_is_left_alone() {
        let text: String = (0..500)
            .map(|n| format!("line {n} of the output\n"))
            .collect();
        assert!(stored(text.as_bytes()).len() * 3 < text.len());
        let noise: Vec<u8> = (0..250u32)
            .flat_map(|n| Sha256::digest(n.to_le_bytes()))
            .collect();
        assert_eq!(pack(&noise), None);
        assert_eq!(pack(&text.as_bytes()[..WORTH_BYTES - 1]), None);
    }

    #[test]
    fn a_packed_value_that_is_damaged_is_said_to_be() {
        let packed = stored(&[b'x'; 5_000]);
        assert!(unpack(packed[..packed.len() - 1].to_vec()).is_err());
        let endless = [&MAGIC[..], &[0xe0], &[0xff; 12]].concat();
        assert!(unpack(endless).is_err());
    }
}
