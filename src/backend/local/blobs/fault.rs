//! What an IO error means to the caller of a blob store: act, or try again.

use std::io;
use std::path::Path;

use crate::engine::ports::{BlobError, StoreFault};

/// Sorts an error met while doing `what` with `path`. A missing file is not sorted here: only the caller knows what it means.
pub(super) fn sort(what: &str, path: &Path, error: &io::Error) -> BlobError {
    let code = error.raw_os_error().unwrap_or(0);
    let shown = path.display();
    match code {
        libc::ENOSPC | libc::EDQUOT => BlobError::Broken {
            fault: StoreFault::DiskFull,
            message: format!("no space left to {what} {shown}; free some space on that disk"),
        },
        libc::EROFS => BlobError::Broken {
            fault: StoreFault::ReadOnly,
            message: format!("can't {what} {shown}: it is on a read-only file system"),
        },
        libc::EACCES | libc::EPERM => BlobError::Broken {
            fault: StoreFault::ReadOnly,
            message: format!("no permission to {what} {shown}; check who owns the data directory"),
        },
        libc::ENOTDIR | libc::EISDIR | libc::ELOOP => BlobError::Broken {
            fault: StoreFault::Replaced,
            message: format!("can't {what} {shown}: something else lies in its place ({error})"),
        },
        _ => BlobError::Unavailable(format!("can't {what} {shown}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_and_read_only_disks_call_for_an_operator_and_the_rest_for_patience() {
        let sorted = |code| {
            sort(
                "write",
                Path::new("/d"),
                &io::Error::from_raw_os_error(code),
            )
        };
        for (code, want) in [
            (libc::ENOSPC, StoreFault::DiskFull),
            (libc::EDQUOT, StoreFault::DiskFull),
            (libc::EROFS, StoreFault::ReadOnly),
            (libc::EACCES, StoreFault::ReadOnly),
            (libc::ENOTDIR, StoreFault::Replaced),
        ] {
            assert!(matches!(sorted(code), BlobError::Broken { fault, .. } if fault == want));
        }
        assert!(matches!(sorted(libc::EIO), BlobError::Unavailable(_)));
    }
}
