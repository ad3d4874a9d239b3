//! Files of a workspace from outside: listed, and put there.
//!
//! The agent may be running and may replace anything at any time, so paths are resolved one component at a time from a descriptor,
//! never through a link and never out of the workspace. A file appears whole under its name: it is written aside, in the directory
//! it goes to, and renamed.

use std::ffi::CString;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, ResolveFlags, Uid, fchown, fstat, mkdirat, open,
    openat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use tokio::io::{AsyncRead, AsyncReadExt};

use super::config::RunAs;
use super::home::directory as directory_of;
use crate::backend::local::ids;
use crate::engine::ports::{FilesQuery, WorkspaceError, WorkspaceFile, WorkspaceFiles};

/// The workspace, as the agent sees it.
const WORKSPACE: &str = "/workspace";
/// Directories within directories.
const MAX_DEPTH: usize = 64;
/// Entries looked at for one list.
const MAX_ENTRIES: usize = 50_000;
/// Bytes that go to disk in one step.
const STEP_BYTES: u64 = 256 << 10;
/// The file in an environment's directory that tells that its workspace was furnished.
const FURNISHED: &str = "furnished";
/// How names begin under which files are written aside.
const ASIDE: &str = ".rat-things-";

/// Lists regular files of an environment's workspace below this root.
pub(super) async fn list(
    root: &Path,
    id: &str,
    query: &FilesQuery,
) -> Result<WorkspaceFiles, WorkspaceError> {
    let (root, id, query) = (root.to_owned(), id.to_owned(), query.clone());
    blocking(move || list_now(&root, &id, &query)).await
}

fn list_now(root: &Path, id: &str, query: &FilesQuery) -> Result<WorkspaceFiles, WorkspaceError> {
    let root = open_workspace(root, id)?;
    let parts = components(&query.below)?;
    let start = match directory(root.as_fd(), &parts) {
        Ok(start) => start,
        Err(Errno::NOENT) => {
            return Ok(WorkspaceFiles {
                files: Vec::new(),
                more: false,
            });
        }
        Err(e) => return Err(no_directory(&query.below, e)),
    };
    let mut walk = Walk {
        found: Vec::new(),
        entries: 0,
    };
    walk.directory(&start, &parts.join("/"), parts.len())?;
    let mut found = walk.found;
    found.sort_by(|a, b| a.0.split('/').cmp(b.0.split('/')));
    if query.reverse {
        found.reverse();
    }
    let after = query.after.as_deref().map(|after| {
        let below = after.strip_prefix(WORKSPACE).unwrap_or(after);
        below.trim_start_matches('/').to_owned()
    });
    let behind = |path: &str| match &after {
        None => true,
        Some(after) => {
            let order = path.split('/').cmp(after.split('/'));
            match query.reverse {
                true => order.is_lt(),
                false => order.is_gt(),
            }
        }
    };
    let mut rest = found.into_iter().filter(|(path, _)| behind(path));
    let files = rest.by_ref().take(query.limit);
    let files: Vec<WorkspaceFile> = files
        .map(|(path, size_bytes)| WorkspaceFile {
            path: format!("{WORKSPACE}/{path}"),
            size_bytes,
        })
        .collect();
    Ok(WorkspaceFiles {
        files,
        more: rest.next().is_some(),
    })
}

/// Puts a file there, in place of a regular one; how long it is. Directories on the way are made. What is made belongs to whom the
/// workspace belongs to.
pub(super) async fn put(
    root: &Path,
    id: &str,
    path: &str,
    mut from: Box<dyn AsyncRead + Send + Unpin>,
    limit_bytes: u64,
) -> Result<u64, WorkspaceError> {
    let (root, id, path) = (root.to_owned(), id.to_owned(), path.to_owned());
    let mut aside = blocking(move || Aside::make(&root, &id, &path)).await?;
    let mut size_bytes = 0;
    loop {
        let mut step = Vec::new();
        let read = (&mut from).take(STEP_BYTES).read_to_end(&mut step).await;
        read.map_err(|error| WorkspaceError::Source(error.to_string()))?;
        size_bytes += step.len() as u64;
        if size_bytes > limit_bytes {
            let what = format!("the file is larger than {limit_bytes} bytes");
            return Err(WorkspaceError::TooMuch(what));
        }
        if step.is_empty() {
            break;
        }
        aside = blocking(move || aside.write(&step)).await?;
    }
    blocking(move || aside.publish()).await?;
    Ok(size_bytes)
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, WorkspaceError> + Send + 'static,
) -> Result<T, WorkspaceError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(answer) => answer,
        // It panicked, or the runtime is shutting down.
        Err(error) => Err(WorkspaceError::Failed(error.to_string())),
    }
}

/// A file that is being written. Dropped before it is published, it is removed.
struct Aside {
    dir: OwnedFd,
    file: std::fs::File,
    aside: String,
    name: String,
    path: String,
    published: bool,
}

impl Aside {
    fn make(root: &Path, id: &str, path: &str) -> Result<Aside, WorkspaceError> {
        let root = open_workspace(root, id)?;
        let stat = fstat(&root).map_err(failed)?;
        let owner = RunAs {
            uid: stat.st_uid,
            gid: stat.st_gid,
        };
        let mut parts = components(path)?;
        let name = parts.pop().ok_or_else(|| {
            WorkspaceError::Path(format!("{path} is the workspace, and no file in it"))
        })?;
        let mut dir = root;
        for part in &parts {
            dir = make_directory(dir.as_fd(), part, owner).map_err(|e| no_directory(path, e))?;
        }
        check_target(dir.as_fd(), &name, path)?;
        let mut random = [0; 8];
        ids::fill(&mut random);
        let aside = format!("{ASIDE}{}", data_encoding::HEXLOWER.encode(&random));
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&dir, &aside, flags, Mode::from_raw_mode(0o644)).map_err(failed)?;
        let made = Aside {
            dir,
            file: file.into(),
            aside,
            name,
            path: path.to_owned(),
            published: false,
        };
        give(made.file.as_fd(), owner).map_err(failed)?;
        Ok(made)
    }

    fn write(mut self, bytes: &[u8]) -> Result<Aside, WorkspaceError> {
        let written = self.file.write_all(bytes);
        written.map_err(|e| WorkspaceError::Failed(e.to_string()))?;
        Ok(self)
    }

    fn publish(mut self) -> Result<(), WorkspaceError> {
        let synced = self.file.sync_all();
        synced.map_err(|e| WorkspaceError::Failed(e.to_string()))?;
        check_target(self.dir.as_fd(), &self.name, &self.path)?;
        // A directory that came there meanwhile refuses; whatever else did is replaced, and never followed.
        let renamed = renameat(&self.dir, &self.aside, &self.dir, &self.name);
        renamed.map_err(|e| not_a_file(&self.path, e))?;
        self.published = true;
        rustix::fs::fsync(&self.dir).map_err(failed)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if !self.published {
            // What can't be removed now goes with the workspace.
            let _ = unlinkat(&self.dir, &self.aside, AtFlags::empty());
        }
    }
}

struct Walk {
    /// Paths below the workspace, and lengths.
    found: Vec<(String, u64)>,
    entries: usize,
}

impl Walk {
    fn directory(&mut self, dir: &OwnedFd, at: &str, depth: usize) -> Result<(), WorkspaceError> {
        for entry in Dir::read_from(dir).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name: CString = entry.file_name().to_owned();
            if name.as_c_str() == c"." || name.as_c_str() == c".." {
                continue;
            }
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                let what = format!("there are more than {MAX_ENTRIES} entries; name a directory");
                return Err(WorkspaceError::TooMuch(what));
            }
            // What has no name as text can't be told.
            let Ok(text) = name.to_str() else { continue };
            if text.starts_with(ASIDE) {
                continue;
            }
            let path = match at {
                "" => text.to_owned(),
                at => format!("{at}/{text}"),
            };
            let Ok(stat) = statat(dir, &name, AtFlags::SYMLINK_NOFOLLOW) else {
                // It was removed since the directory was read.
                continue;
            };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => {
                    let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
                    self.found.push((path, size_bytes));
                }
                FileType::Directory if depth < MAX_DEPTH => {
                    // One that can't be read is passed over, like one that is no directory any more.
                    if let Ok(child) = open_directory(dir.as_fd(), text) {
                        self.directory(&child, &path, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether this workspace was furnished since it was made.
pub(super) async fn is_furnished(root: &Path, id: &str) -> bool {
    let (root, id) = (root.to_owned(), id.to_owned());
    let looked = blocking(move || {
        let home = open_home(&root, &id)?;
        Ok(statat(&home, FURNISHED, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    });
    looked.await.unwrap_or(false)
}

/// Remembers that this workspace was furnished.
pub(super) async fn set_furnished(root: &Path, id: &str) -> Result<(), WorkspaceError> {
    let (root, id) = (root.to_owned(), id.to_owned());
    blocking(move || {
        let home = open_home(&root, &id)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&home, FURNISHED, flags, Mode::RUSR | Mode::WUSR).map_err(failed)?;
        rustix::fs::fsync(&home).map_err(failed)
    })
    .await
}

/// An environment's directory, which is ours and not the agent's.
fn open_home(root: &Path, id: &str) -> Result<OwnedFd, WorkspaceError> {
    let path = directory_of(root, id).map_err(|e| WorkspaceError::Failed(e.to_string()))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match open(path, flags, Mode::empty()) {
        Ok(home) => Ok(home),
        Err(Errno::NOENT) => Err(WorkspaceError::Missing(id.to_owned())),
        Err(e) => Err(failed(e)),
    }
}

fn open_workspace(root: &Path, id: &str) -> Result<OwnedFd, WorkspaceError> {
    let home = open_home(root, id)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&home, "workspace", flags, Mode::empty()) {
        Ok(root) => Ok(root),
        Err(Errno::NOENT) => Err(WorkspaceError::Missing(id.to_owned())),
        Err(e) => Err(failed(e)),
    }
}

/// The components of a path below the workspace.
fn components(path: &str) -> Result<Vec<String>, WorkspaceError> {
    let outside = || WorkspaceError::Path(format!("{path} is no path in {WORKSPACE}"));
    let below = path.strip_prefix(WORKSPACE).ok_or_else(outside)?;
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let below = below.strip_prefix('/').ok_or_else(outside)?;
    let parts: Vec<String> = below.split('/').map(str::to_owned).collect();
    let bad = |part: &String| matches!(part.as_str(), "" | "." | "..") || part.contains('\0');
    match parts.iter().any(bad) || parts.len() > MAX_DEPTH {
        true => Err(outside()),
        false => Ok(parts),
    }
}

fn directory(root: BorrowedFd<'_>, parts: &[String]) -> Result<OwnedFd, Errno> {
    let mut dir = open_directory(root, ".")?;
    for part in parts {
        dir = open_directory(dir.as_fd(), part)?;
    }
    Ok(dir)
}

fn open_directory(parent: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(parent, name, flags, Mode::empty(), resolve)
}

fn make_directory(parent: BorrowedFd<'_>, name: &str, owner: RunAs) -> Result<OwnedFd, Errno> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) => {
            let made = open_directory(parent, name)?;
            give(made.as_fd(), owner)?;
            Ok(made)
        }
        Err(Errno::EXIST) => open_directory(parent, name),
        Err(e) => Err(e),
    }
}

fn give(made: BorrowedFd<'_>, owner: RunAs) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(owner.uid), Gid::from_raw(owner.gid));
    match fstat(made)?.st_uid == owner.uid {
        true => Ok(()),
        false => fchown(made, Some(uid), Some(gid)),
    }
}

/// Only a regular file may be there already.
fn check_target(dir: BorrowedFd<'_>, name: &str, path: &str) -> Result<(), WorkspaceError> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Ok(()),
        Ok(_) => Err(WorkspaceError::Path(format!(
            "{path} exists and is no regular file"
        ))),
        Err(e) => Err(not_a_file(path, e)),
    }
}

fn no_directory(path: &str, e: Errno) -> WorkspaceError {
    match e {
        Errno::NOTDIR | Errno::LOOP | Errno::XDEV => WorkspaceError::Path(format!(
            "{path} leads through something that is no directory"
        )),
        e => not_a_file(path, e),
    }
}

fn not_a_file(path: &str, e: Errno) -> WorkspaceError {
    match e {
        Errno::NAMETOOLONG => WorkspaceError::Path(format!("{path} has a name that is too long")),
        Errno::ISDIR | Errno::NOTDIR | Errno::LOOP => {
            WorkspaceError::Path(format!("{path} exists and is no regular file"))
        }
        Errno::ACCESS | Errno::PERM => {
            WorkspaceError::Path(format!("{path} can't be reached: its mode forbids it"))
        }
        e => failed(e),
    }
}

fn failed(e: Errno) -> WorkspaceError {
    WorkspaceError::Failed(io::Error::from(e).to_string())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    use pretty_assertions::assert_eq;

    use super::*;

    const ID: &str = "env_aaaaaaaaaaaaaaaaaaaaaaaaaa";

    /// A root with a workspace in it, and where that is.
    fn place() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().expect("a directory");
        let workspace = root.path().join(ID).join("workspace");
        fs::create_dir_all(&workspace).expect("makes");
        (root, workspace)
    }

    async fn put_text(root: &Path, path: &str, text: &str) -> Result<u64, WorkspaceError> {
        let from = Box::new(io::Cursor::new(text.to_owned()));
        put(root, ID, path, from, 10).await
    }

    async fn paths(root: &Path, below: &str, reverse: bool) -> Vec<String> {
        let query = FilesQuery {
            below: below.to_owned(),
            limit: 100,
            reverse,
            after: None,
        };
        let found = list(root, ID, &query).await.expect("lists");
        found.files.into_iter().map(|file| file.path).collect()
    }

    #[tokio::test]
    async fn files_are_put_whole_replaced_and_listed_by_components() {
        let (dir, workspace) = place();
        for path in ["a/b", "a", "a-b", "B"] {
            let at = format!("/workspace/{path}/x");
            assert_eq!(put_text(dir.path(), &at, "one").await, Ok(3));
            assert_eq!(put_text(dir.path(), &at, "second").await, Ok(6));
        }
        assert_eq!(
            fs::read_to_string(workspace.join("a/b/x")).ok().as_deref(),
            Some("second")
        );
        let all = ["B/x", "a/b/x", "a/x", "a-b/x"].map(|path| format!("/workspace/{path}"));
        assert_eq!(paths(dir.path(), "/workspace", false).await, all);
        let reversed: Vec<String> = all.iter().rev().cloned().collect();
        assert_eq!(paths(dir.path(), "/workspace", true).await, reversed);
        assert_eq!(paths(dir.path(), "/workspace/a", false).await, &all[1..3]);
        assert_eq!(
            paths(dir.path(), "/workspace/none", false).await,
            Vec::<String>::new()
        );
        for reverse in [false, true] {
            let mut seen = Vec::new();
            let mut after = None;
            loop {
                let query = FilesQuery {
                    below: "/workspace".into(),
                    limit: 1,
                    reverse,
                    after,
                };
                let page = list(dir.path(), ID, &query).await.expect("lists");
                seen.extend(page.files.into_iter().map(|file| file.path));
                after = seen.last().cloned();
                if !page.more {
                    break;
                }
            }
            assert_eq!(seen, paths(dir.path(), "/workspace", reverse).await);
        }
    }

    #[tokio::test]
    async fn nothing_is_read_or_written_through_a_link() {
        let (dir, workspace) = place();
        let outside = tempfile::tempdir().expect("a directory");
        fs::write(outside.path().join("secret"), "s").expect("writes");
        symlink(outside.path(), workspace.join("out")).expect("links");
        symlink(outside.path().join("secret"), workspace.join("link")).expect("links");
        fs::create_dir(workspace.join("dir")).expect("makes");
        for path in [
            "out/secret",
            "out/new",
            "link",
            "dir",
            "link/x",
            "../x",
            "dir//x",
            "dir/./x",
        ] {
            let put = put_text(dir.path(), &format!("/workspace/{path}"), "evil").await;
            assert!(
                matches!(put, Err(WorkspaceError::Path(_))),
                "{path}: {put:?}"
            );
        }
        for path in ["/etc/x", "/workspacex", "workspace/x", "/workspace"] {
            let put = put_text(dir.path(), path, "evil").await;
            assert!(
                matches!(put, Err(WorkspaceError::Path(_))),
                "{path}: {put:?}"
            );
        }
        assert_eq!(
            paths(dir.path(), "/workspace", false).await,
            Vec::<String>::new()
        );
        let query = FilesQuery {
            below: "/workspace/out".into(),
            limit: 1,
            reverse: false,
            after: None,
        };
        assert!(list(dir.path(), ID, &query).await.is_err());
        assert_eq!(
            fs::read_to_string(outside.path().join("secret"))
                .ok()
                .as_deref(),
            Some("s")
        );
        assert_eq!(fs::read_dir(outside.path()).expect("lists").count(), 1);
    }

    #[tokio::test]
    async fn what_is_too_long_or_breaks_off_leaves_nothing() {
        let (dir, workspace) = place();
        let long = put_text(dir.path(), "/workspace/long", "eleven char").await;
        assert!(matches!(long, Err(WorkspaceError::TooMuch(_))), "{long:?}");
        assert_eq!(fs::read_dir(&workspace).expect("lists").count(), 0);
        let missing = put_text(&dir.path().join("none"), "/workspace/x", "x").await;
        assert_eq!(missing, Err(WorkspaceError::Missing(ID.into())));
    }

    #[tokio::test]
    async fn a_workspace_is_furnished_until_it_is_removed() {
        let (dir, workspace) = place();
        assert!(!is_furnished(dir.path(), ID).await);
        assert_eq!(set_furnished(dir.path(), ID).await, Ok(()));
        assert_eq!(set_furnished(dir.path(), ID).await, Ok(()));
        assert!(is_furnished(dir.path(), ID).await);
        assert_eq!(
            paths(dir.path(), "/workspace", false).await,
            Vec::<String>::new()
        );
        fs::remove_dir_all(workspace.parent().expect("has one")).expect("removes");
        assert!(!is_furnished(dir.path(), ID).await);
    }
}
