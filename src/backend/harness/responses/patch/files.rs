//! Applies a patch to files: everything is read, matched and decided before anything is written.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use super::{Change, Done, PatchError, hunk};

/// A larger file is not changed by a patch.
const FILE_LIMIT_BYTES: u64 = 64 << 20;

/// What will be written.
pub struct Plan<'a> {
    root: &'a Path,
    steps: Vec<Step>,
}

enum Step {
    Write {
        path: PathBuf,
        content: String,
        /// Of the file it replaces.
        permissions: Option<fs::Permissions>,
        done: Done,
    },
    Remove {
        path: PathBuf,
        done: Done,
    },
}

/// Decides what a patch does below `root`. Nothing is written.
pub fn plan<'a>(changes: &[Change], root: &'a Path) -> Result<Plan<'a>, PatchError> {
    let mut steps = Vec::new();
    let mut named = HashSet::new();
    for change in changes {
        let mut name = |path: &str| {
            let relative = checked(path)?;
            if named.insert(relative.clone()) {
                Ok(relative)
            } else {
                Err(refused(path, "the patch names it twice"))
            }
        };
        match change {
            Change::Add { path, content } => {
                let relative = name(path)?;
                absent(root, path, &relative)?;
                steps.push(Step::Write {
                    path: relative,
                    content: content.clone(),
                    permissions: None,
                    done: Done::Added(path.clone()),
                });
            }
            Change::Delete { path } => {
                let relative = name(path)?;
                existing(root, path, &relative)?;
                steps.push(Step::Remove {
                    path: relative,
                    done: Done::Deleted(path.clone()),
                });
            }
            Change::Update { path, to, hunks } => {
                let from = name(path)?;
                let metadata = existing(root, path, &from)?;
                let text = read(root, path, &from, &metadata)?;
                let content = hunk::apply(&text, hunks).map_err(|reason| refused(path, reason))?;
                let permissions = Some(metadata.permissions());
                let Some(to) = to else {
                    steps.push(Step::Write {
                        path: from,
                        content,
                        permissions,
                        done: Done::Modified(path.clone()),
                    });
                    continue;
                };
                let target = name(to)?;
                absent(root, to, &target)?;
                steps.push(Step::Write {
                    path: target,
                    content,
                    permissions,
                    done: Done::Added(to.clone()),
                });
                steps.push(Step::Remove {
                    path: from,
                    done: Done::Deleted(path.clone()),
                });
            }
        }
    }
    Ok(Plan { root, steps })
}

impl Plan<'_> {
    /// Writes new content beside its place, then moves it there, then removes what goes. Only the last two can leave a patch half
    /// done, and they fail only where the file system itself does.
    pub fn write(self) -> Result<Vec<Done>, PatchError> {
        let mut staged = Staged::default();
        for step in &self.steps {
            if let Step::Write {
                path,
                content,
                permissions,
                ..
            } = step
            {
                let target = self.root.join(path);
                staged
                    .add(&target, content, permissions.as_ref())
                    .map_err(|error| broken(path, &error, &[]))?;
            }
        }
        let mut done = Vec::new();
        for step in self.steps {
            let (path, result, what) = match step {
                Step::Write {
                    path, done: what, ..
                } => {
                    let result = staged.commit_next();
                    (path, result, what)
                }
                Step::Remove { path, done: what } => {
                    let result = fs::remove_file(self.root.join(&path));
                    (path, result, what)
                }
            };
            match result {
                Ok(()) => done.push(what),
                Err(error) => return Err(broken(&path, &error, &done)),
            }
        }
        Ok(done)
    }
}

/// Files that were written beside their places, and directories that were made for them. What was not moved into place is removed
/// when this is dropped.
#[derive(Default)]
struct Staged {
    files: std::collections::VecDeque<(PathBuf, PathBuf)>,
    made: Vec<PathBuf>,
}

impl Staged {
    fn add(
        &mut self,
        target: &Path,
        content: &str,
        permissions: Option<&fs::Permissions>,
    ) -> io::Result<()> {
        let parent = target.parent().unwrap_or(Path::new(""));
        self.make_directories(parent)?;
        let (mut file, staged) = create_beside(parent)?;
        self.files.push_back((staged.clone(), target.to_owned()));
        file.write_all(content.as_bytes())?;
        if let Some(permissions) = permissions {
            fs::set_permissions(&staged, permissions.clone())?;
        }
        Ok(())
    }

    fn make_directories(&mut self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
            .collect();
        for path in missing.into_iter().rev() {
            fs::create_dir(path)?;
            self.made.push(path.to_owned());
        }
        Ok(())
    }

    /// Moves the oldest one that waits into place.
    fn commit_next(&mut self) -> io::Result<()> {
        let Some((staged, target)) = self.files.front() else {
            return Ok(());
        };
        fs::rename(staged, target)?;
        self.files.pop_front();
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (staged, _) in &self.files {
            let _ = fs::remove_file(staged);
        }
        // Only those that stayed empty can be removed.
        for path in self.made.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// A new file in a directory, under a name that nothing else has.
fn create_beside(parent: &Path) -> io::Result<(fs::File, PathBuf)> {
    let mut n = 0;
    loop {
        let path = parent.join(format!(".patch-{}-{n}", std::process::id()));
        match fs::File::create_new(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && n < 1_000 => n += 1,
            result => return result.map(|file| (file, path)),
        }
    }
}

/// A path that stays below the directory it is joined to.
fn checked(path: &str) -> Result<PathBuf, PatchError> {
    if path.contains('\0') {
        return Err(refused(path, "a path can't hold a NUL character"));
    }
    let mut relative = PathBuf::new();
    for component in Path::new(path).components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            Component::ParentDir => return Err(refused(path, "a path may not hold `..`")),
            Component::RootDir | Component::Prefix(_) => {
                return Err(refused(
                    path,
                    "a path must be relative to the working directory",
                ));
            }
        }
    }
    if relative.as_os_str().is_empty() || path.ends_with('/') {
        return Err(refused(path, "this is no path of a file"));
    }
    Ok(relative)
}

fn absent(root: &Path, path: &str, relative: &Path) -> Result<(), PatchError> {
    match fs::symlink_metadata(root.join(relative)) {
        Ok(_) => Err(refused(
            path,
            "it exists already; change it with `*** Update File:`",
        )),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(refused(path, error.to_string())),
    }
}

fn existing(root: &Path, path: &str, relative: &Path) -> Result<fs::Metadata, PatchError> {
    let metadata = match fs::symlink_metadata(root.join(relative)) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refused(path, "there is no such file"));
        }
        Err(error) => return Err(refused(path, error.to_string())),
    };
    if metadata.is_symlink() {
        return Err(refused(
            path,
            "it is a symbolic link; name the file it points to",
        ));
    }
    if !metadata.is_file() {
        return Err(refused(path, "it is no regular file"));
    }
    Ok(metadata)
}

fn read(
    root: &Path,
    path: &str,
    relative: &Path,
    metadata: &fs::Metadata,
) -> Result<String, PatchError> {
    if metadata.len() > FILE_LIMIT_BYTES {
        return Err(refused(path, "it is larger than 64 MiB"));
    }
    let bytes = fs::read(root.join(relative)).map_err(|error| refused(path, error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| refused(path, "it is not UTF-8 text"))
}

fn refused(path: &str, reason: impl Into<String>) -> PatchError {
    PatchError::Refused {
        path: path.to_owned(),
        reason: reason.into(),
    }
}

fn broken(path: &Path, error: &io::Error, done: &[Done]) -> PatchError {
    PatchError::Broken {
        path: path.display().to_string(),
        reason: error.to_string(),
        done: done.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use pretty_assertions::assert_eq;

    use super::super::run;
    use super::*;

    fn directory() -> tempfile::TempDir {
        tempfile::tempdir().expect("a temporary directory can be made")
    }

    fn put(root: &Path, path: &str, content: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("it can be made");
        fs::write(path, content).expect("it can be written");
    }

    fn get(root: &Path, path: &str) -> Option<String> {
        fs::read_to_string(root.join(path)).ok()
    }

    /// Every file and directory below `root`.
    fn tree(root: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in fs::read_dir(&directory).expect("it can be read") {
                let path = entry.expect("it can be read").path();
                let name = path
                    .strip_prefix(root)
                    .expect("it is below")
                    .display()
                    .to_string();
                found.push(name);
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                }
            }
        }
        found.sort();
        found
    }

    fn patch(body: &str) -> String {
        format!("*** Begin Patch\n{body}*** End Patch\n")
    }

    #[test]
    fn files_are_added_changed_moved_and_deleted() {
        let dir = directory();
        let root = dir.path();
        put(root, "old.txt", "a\nb\n");
        put(root, "src/move.sh", "x\n");
        put(root, "gone", "");
        let mode = fs::Permissions::from_mode(0o750);
        fs::set_permissions(root.join("src/move.sh"), mode).expect("it can be set");
        let patch = patch(
            "*** Add File: new/deep/file.txt\n+hello\n\
             *** Update File: ./old.txt\n a\n-b\n+c\n\
             *** Update File: src/move.sh\n*** Move to: bin/moved.sh\n-x\n+y\n\
             *** Delete File: gone\n",
        );
        let done = run(&patch, root).expect("it applies");
        let lines: Vec<String> = done.iter().map(Done::to_string).collect();
        assert_eq!(
            lines,
            [
                "A new/deep/file.txt",
                "M ./old.txt",
                "A bin/moved.sh",
                "D src/move.sh",
                "D gone"
            ]
        );
        assert_eq!(get(root, "new/deep/file.txt").as_deref(), Some("hello\n"));
        assert_eq!(get(root, "old.txt").as_deref(), Some("a\nc\n"));
        assert_eq!(get(root, "bin/moved.sh").as_deref(), Some("y\n"));
        let mode = fs::metadata(root.join("bin/moved.sh"))
            .expect("it is there")
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o750);
        assert_eq!(
            tree(root),
            [
                "bin",
                "bin/moved.sh",
                "new",
                "new/deep",
                "new/deep/file.txt",
                "old.txt",
                "src"
            ]
        );
    }

    #[test]
    fn a_patch_that_does_not_fit_changes_nothing() {
        let dir = directory();
        let root = dir.path();
        put(root, "a", "1\n");
        put(root, "dir/b", "2\n");
        fs::write(root.join("binary"), b"\xFF\xFE\n").expect("it can be written");
        std::os::unix::fs::symlink("a", root.join("link")).expect("it can be made");
        let before = tree(root);
        for (body, word) in [
            (
                "*** Update File: a\n-1\n+x\n*** Update File: dir/b\n-9\n",
                "dir/b: line",
            ),
            (
                "*** Add File: c\n+x\n*** Delete File: nothing\n",
                "nothing: there is no such file",
            ),
            ("*** Add File: a\n+x\n", "a: it exists already"),
            ("*** Delete File: dir\n", "dir: it is no regular file"),
            ("*** Delete File: link\n", "link: it is a symbolic link"),
            (
                "*** Update File: binary\n-x\n",
                "binary: it is not UTF-8 text",
            ),
            (
                "*** Update File: a\n*** Move to: dir/b\n",
                "dir/b: it exists already",
            ),
            (
                "*** Delete File: a\n*** Update File: ./a\n-1\n",
                "./a: the patch names it twice",
            ),
            (
                "*** Add File: /etc/x\n+x\n",
                "/etc/x: a path must be relative",
            ),
            ("*** Add File: x/../../y\n+x\n", "may not hold `..`"),
            ("*** Add File: .\n+x\n", "no path of a file"),
            ("*** Add File: x/\n+x\n", "no path of a file"),
            ("*** Add File: x\0y\n+x\n", "NUL"),
            ("*** Add File: a/b\n+x\n", "a/b: "),
        ] {
            let error = run(&patch(body), root).expect_err(body);
            assert!(error.to_string().contains(word), "{body}: {error}");
            assert!(
                !matches!(error, PatchError::Broken { .. }),
                "{body}: {error:?}"
            );
            assert_eq!(tree(root), before, "{body}");
            assert_eq!(get(root, "a").as_deref(), Some("1\n"), "{body}");
        }
    }

    #[test]
    fn a_write_that_fails_early_leaves_nothing_behind() {
        let dir = directory();
        let root = dir.path();
        put(root, "file", "1\n");
        std::os::unix::fs::symlink("nowhere", root.join("link")).expect("it can be made");
        let before = tree(root);
        // The first file is staged in a new directory before the second one meets a link that leads nowhere.
        let body = "*** Add File: new/dir/x\n+x\n*** Add File: link/y\n+y\n";
        let error = run(&patch(body), root).expect_err("the link leads nowhere");
        assert!(
            matches!(&error, PatchError::Broken { path, done, .. } if path == "link/y" && done.is_empty())
        );
        assert!(
            error.to_string().ends_with("; nothing was changed"),
            "{error}"
        );
        assert_eq!(tree(root), before);
    }
}
