//! Emptying a directory that an agent filled: never through a link, whatever the modes, however deep, with a handful of descriptors.
//!
//! Instead of descending, every sub-directory that is found is first moved up to the top under a new name. So a tree that is a hundred
//! thousand levels deep costs no stack and no descriptors, and an interruption anywhere leaves something that can be emptied again.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes everything in `top` except the named entries.
pub(super) fn contents(top: BorrowedFd<'_>, keep: &[&str]) -> io::Result<()> {
    let mut moved: u64 = 0;
    loop {
        let names = names(top)?;
        let doomed: Vec<CString> = names
            .into_iter()
            .filter(|name| !keep.iter().any(|k| k.as_bytes() == name.to_bytes()))
            .collect();
        if doomed.is_empty() {
            return Ok(());
        }
        for name in doomed {
            remove_entry(top, top, &name, &mut moved)?;
        }
    }
}

/// Unlinks a file; empties a directory by one level, moves its sub-directories to `top`, and removes it.
fn remove_entry(
    top: BorrowedFd<'_>,
    parent: BorrowedFd<'_>,
    name: &CStr,
    moved: &mut u64,
) -> io::Result<()> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(e) => return Err(e.into()),
    }
    let dir = open_directory(parent, name)?;
    for child in names(dir.as_fd())? {
        match unlinkat(&dir, child.as_c_str(), AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::ISDIR | Errno::PERM) => move_up(top, dir.as_fd(), &child, moved)?,
            Err(e) => return Err(e.into()),
        }
    }
    drop(dir);
    match unlinkat(parent, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

fn move_up(
    top: BorrowedFd<'_>,
    dir: BorrowedFd<'_>,
    child: &CStr,
    moved: &mut u64,
) -> io::Result<()> {
    // Moving a directory changes its "..", so it has to be writable itself.
    drop(open_directory(dir, child)?);
    loop {
        *moved += 1;
        let target = format!(".erase-{moved}");
        match renameat(dir, child, top, target.as_str()) {
            Ok(()) => return Ok(()),
            // A leftover of an interrupted run that is not empty.
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Opens a directory of ours whatever its mode is, and makes it usable.
fn open_directory(parent: BorrowedFd<'_>, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&handle)?.st_mode) != FileType::Directory {
        return Err(Errno::NOTDIR.into());
    }
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::chmod(path.as_str(), Mode::RWXU)?;
    Ok(openat(&handle, c".", flags, Mode::empty())?)
}

fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn erase(path: &std::path::Path, keep: &[&str]) -> io::Result<()> {
        let dir = std::fs::File::open(path)?;
        contents(dir.as_fd(), keep)
    }

    #[test]
    fn links_are_removed_and_never_followed() {
        let outside = tempfile::tempdir().expect("temp");
        std::fs::write(outside.path().join("precious"), "x").expect("write");
        let dir = tempfile::tempdir().expect("temp");
        symlink(outside.path(), dir.path().join("link")).expect("symlink");
        std::fs::create_dir(dir.path().join("sub")).expect("mkdir");
        symlink(outside.path(), dir.path().join("sub/link")).expect("symlink");
        std::fs::write(dir.path().join("kept"), "").expect("write");
        erase(dir.path(), &["kept"]).expect("erase");
        let left: Vec<_> = std::fs::read_dir(dir.path())
            .expect("read")
            .flatten()
            .collect();
        assert_eq!(left.len(), 1);
        assert!(outside.path().join("precious").exists());
    }

    #[test]
    fn modes_and_depth_are_no_obstacle() {
        let dir = tempfile::tempdir().expect("temp");
        let locked = dir.path().join("a/b");
        std::fs::create_dir_all(&locked).expect("mkdir");
        std::fs::write(locked.join("f"), "").expect("write");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).expect("chmod");
        // Deeper than any path may be long.
        let mut at = openat(
            std::fs::File::open(dir.path()).expect("open"),
            c".",
            OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .expect("open");
        for _ in 0..2_500 {
            rustix::fs::mkdirat(&at, c"d", Mode::RWXU).expect("mkdir");
            at = openat(
                &at,
                c"d",
                OFlags::DIRECTORY | OFlags::CLOEXEC,
                Mode::empty(),
            )
            .expect("open");
        }
        erase(dir.path(), &[]).expect("erase");
        assert_eq!(std::fs::read_dir(dir.path()).expect("read").count(), 0);
    }
}
