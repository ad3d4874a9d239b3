//! Files this process was started with and never asked for: a script's lock, a pipe of the shell. Our own files are closed in
//! children already; these are not, and a daemon or worker that keeps one open for hours holds up its owner.

/// First descriptor behind the three standard streams.
const FIRST: libc::c_uint = 3;

/// Marks every open file but the standard streams to be closed in children. For the first moments of a program: whoever means to
/// give a child a file afterwards must unmark it in that child.
pub fn keep_inherited_files_from_children() {
    // SAFETY: it changes a flag of descriptors and touches no memory. A kernel without it answers an error, and nothing changed.
    let _ = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}
