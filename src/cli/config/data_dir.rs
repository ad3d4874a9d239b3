//! The data directory: made, made private, and refused with a reason where it cannot be used.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};

use super::origin::{Origin, Resolved};
use crate::cli::out::{CliError, codes};

/// Nobody but the owner.
const PRIVATE_DIR: u32 = 0o700;
const PRIVATE_FILE: u32 = 0o600;

/// Makes sure that the data directory exists, is ours alone and can be written.
///
/// A directory of ours that others can enter is closed to them; one that belongs to somebody else and is open is refused.
///
/// # Errors
/// Usage, naming the path, from where it came and the way out.
pub fn prepare_data_dir(data_dir: &Resolved<impl AsRef<Path>>) -> Result<(), CliError> {
    let path = data_dir.value.as_ref();
    let refuse = |why: String, way_out: String| {
        let message = format!(
            "cannot use the data directory {}{}: {why}",
            path.display(),
            from(&data_dir.origin)
        );
        CliError::new(codes::DATA_DIR, message).hint(way_out)
    };
    let failed = |error: io::Error| refuse(reason(&error), way_out(&error, path)).because(error);
    create(path).map_err(failed)?;
    let found = fs::metadata(path).map_err(failed)?;
    if !found.is_dir() {
        return Err(refuse(
            "it is not a directory".to_owned(),
            ELSEWHERE.to_owned(),
        ));
    }
    let open_to_others = found.permissions().mode() & 0o077 != 0;
    if open_to_others && found.uid() == rustix::process::geteuid().as_raw() {
        let private = fs::Permissions::from_mode(found.permissions().mode() & !0o077);
        fs::set_permissions(path, private).map_err(failed)?;
    } else if open_to_others {
        let why = format!(
            "it belongs to user {} and others can look into it",
            found.uid()
        );
        return Err(refuse(why, ELSEWHERE.to_owned()));
    }
    let wanted = Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK;
    rustix::fs::accessat(CWD, path, wanted, AtFlags::EACCESS).map_err(|errno| failed(errno.into()))
}

/// Opens a file for appending, readable for its owner alone from its first moment; one that was wider is closed to others.
///
/// # Errors
/// As the system says.
pub fn private_file(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(PRIVATE_FILE)
        .open(path)?;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(PRIVATE_FILE))?;
    }
    Ok(file)
}

/// Makes the directory and what is missing above it, all private. One that is there already is fine.
fn create(path: &Path) -> io::Result<()> {
    match DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_DIR)
        .create(path)
    {
        // Something else of that name: `prepare_data_dir` says what.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

const ELSEWHERE: &str = "choose another with --data-dir DIR or RAT_THINGS_DATA_DIR";

fn from(origin: &Origin) -> String {
    match origin {
        Origin::Default => String::new(),
        origin => format!(" ({origin})"),
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => "permission denied".to_owned(),
        ErrorKind::ReadOnlyFilesystem => "its file system is read-only".to_owned(),
        ErrorKind::NotADirectory => "something above it is not a directory".to_owned(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "the disk is full".to_owned(),
        _ => error.to_string(),
    }
}

fn way_out(error: &io::Error, path: &Path) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("make {} yours and writable, or {ELSEWHERE}", path.display())
        }
        ErrorKind::ReadOnlyFilesystem => format!("make it writable, or {ELSEWHERE}"),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("free some space, or {ELSEWHERE}")
        }
        _ => ELSEWHERE.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn resolved(path: PathBuf) -> Resolved<PathBuf> {
        Resolved {
            value: path,
            origin: Origin::Flag("--data-dir"),
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("exists").permissions().mode() & 0o777
    }

    #[test]
    fn a_missing_directory_is_made_private_with_its_parents() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("a/b");
        prepare_data_dir(&resolved(path.clone())).expect("can be made");
        assert_eq!((mode(&path), mode(&home.path().join("a"))), (0o700, 0o700));
        prepare_data_dir(&resolved(path)).expect("is there already");
    }

    #[test]
    fn an_open_directory_of_ours_is_closed() {
        let home = tempfile::tempdir().expect("a directory");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("is ours");
        prepare_data_dir(&resolved(home.path().to_owned())).expect("is ours");
        assert_eq!(mode(home.path()), 0o700);
    }

    #[test]
    fn files_are_not_directories() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("file");
        fs::write(&file, "x").expect("writes");
        for (path, why) in [
            (file.clone(), "it is not a directory"),
            (file.join("below"), "something above it is not a directory"),
        ] {
            let error = prepare_data_dir(&resolved(path.clone())).expect_err("refused");
            let expected = format!(
                "cannot use the data directory {} (flag --data-dir): {why}",
                path.display()
            );
            assert_eq!((error.message, error.code), (expected, "RT-0220"));
            assert!(error.hint[0].contains("--data-dir"));
        }
    }

    #[test]
    fn a_directory_without_rights_is_refused() {
        // Root may write everywhere, so there is nothing to refuse.
        if rustix::process::geteuid().is_root() {
            return;
        }
        let home = tempfile::tempdir().expect("a directory");
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o500)).expect("is ours");
        for path in [home.path().to_owned(), home.path().join("below")] {
            let error = prepare_data_dir(&resolved(path)).expect_err("refused");
            assert!(
                error.message.ends_with("permission denied"),
                "{}",
                error.message
            );
        }
        fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).expect("is ours");
    }

    #[test]
    fn every_reason_names_a_way_out() {
        for kind in [
            ErrorKind::PermissionDenied,
            ErrorKind::ReadOnlyFilesystem,
            ErrorKind::StorageFull,
            ErrorKind::Other,
        ] {
            assert!(way_out(&kind.into(), Path::new("/data")).contains(ELSEWHERE));
        }
    }

    #[test]
    fn files_are_private_from_the_start() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("log");
        private_file(&path).expect("can be made");
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("is ours");
        private_file(&path).expect("is there already");
        assert_eq!(mode(&path), 0o600);
    }
}
