//! Where a blob lies: `<root>/<owner>/<session>/<first two hex digits>/<sha256>`.
//!
//! Owner and Session come from outside this file, so each must be a plain name before it becomes part of a path. The three
//! directories of our own start with a dot, which no plain name does.

use std::path::{Path, PathBuf};

use crate::engine::ports::{BlobError, BlobScope};

/// Puts that are being written.
pub(super) const TEMP: &str = ".tmp";
/// Scopes that were renamed aside and are being removed.
pub(super) const TRASH: &str = ".trash";
/// Files that were found in a blob's place with another length than the blob's.
pub(super) const DAMAGED: &str = ".damaged";

/// Longest owner or Session name; both are far shorter.
const NAME_CHARS: usize = 64;

/// The directory of a scope.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// `<root>/<owner>`
    pub owner: PathBuf,
    /// `<root>/<owner>/<session>`
    pub scope: PathBuf,
    /// `<owner>.<session>.`: how names in the trash begin. Neither part holds a dot, so no scope's tag begins another's.
    pub tag: String,
}

impl Place {
    /// Refuses owners and Sessions that are not plain names.
    pub(super) fn of(root: &Path, scope: &BlobScope) -> Result<Place, BlobError> {
        for part in [&scope.owner, &scope.session] {
            if !plain_name(part) {
                return Err(BlobError::Invalid(format!(
                    "{part:?} can't name a blob scope"
                )));
            }
        }
        let owner = root.join(&scope.owner);
        Ok(Place {
            scope: owner.join(&scope.session),
            owner,
            tag: format!("{}.{}.", scope.owner, scope.session),
        })
    }

    /// The directory of a blob's first two digits.
    pub(super) fn shelf(&self, digest: &str) -> PathBuf {
        self.scope.join(&digest[..2])
    }

    /// The blob's file.
    pub(super) fn file(&self, digest: &str) -> PathBuf {
        self.shelf(digest).join(digest)
    }
}

/// Whether `text` is a SHA-256 in lower-case hex. Anything else names no blob.
pub(super) fn is_digest(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

fn plain_name(text: &str) -> bool {
    (1..=NAME_CHARS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_the_root_are_refused() {
        for bad in [
            "",
            ".",
            "..",
            ".tmp",
            "a/b",
            "a\0b",
            "A",
            "é",
            "a.b",
            &"a".repeat(65),
        ] {
            let scope = BlobScope {
                owner: bad.to_owned(),
                session: "sess_a".to_owned(),
            };
            assert!(
                matches!(
                    Place::of(Path::new("/r"), &scope),
                    Err(BlobError::Invalid(_))
                ),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn only_lower_case_hex_of_full_length_is_a_digest() {
        assert!(is_digest(&"0f".repeat(32)));
        for bad in ["", "../../etc/passwd", &"0F".repeat(32), &"0".repeat(63)] {
            assert!(!is_digest(bad), "{bad:?}");
        }
    }
}
