//! Where the configuration file and the data are. XDG on every unix, macOS included.

use std::path::PathBuf;

use super::vars::Vars;
use crate::cli::out::{CliError, codes};

/// Name of our directory under every base directory.
const DIRECTORY: &str = "rat-things";

/// The configuration file, which may not exist; `None` without any home.
pub(super) fn config_file(vars: &Vars) -> Option<PathBuf> {
    let directory = vars
        .path("RAT_THINGS_CONFIG_DIR")
        .or_else(|| Some(base(vars, "XDG_CONFIG_HOME", ".config")?.join(DIRECTORY)))?;
    Some(directory.join("config.toml"))
}

/// The data directory that is used when nobody chose one.
pub(super) fn default_data_dir(vars: &Vars) -> Result<PathBuf, CliError> {
    let base = base(vars, "XDG_STATE_HOME", ".local/state").ok_or_else(|| {
        CliError::new(
            codes::DATA_DIR,
            "there is no data directory: HOME is not set",
        )
        .hint("choose one with --data-dir DIR or RAT_THINGS_DATA_DIR")
    })?;
    Ok(base.join(DIRECTORY))
}

/// A path as the user wrote it in the file: `~/` is the home directory.
pub(super) fn expand_home(path: &str, vars: &Vars) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => Some(vars.path("HOME")?.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

/// A base directory. The XDG rules say that a relative one is to be ignored.
fn base(vars: &Vars, variable: &str, below_home: &str) -> Option<PathBuf> {
    vars.path(variable)
        .filter(|path| path.is_absolute())
        .or_else(|| {
            Some(
                vars.path("HOME")
                    .filter(|home| home.is_absolute())?
                    .join(below_home),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_file_is_in_the_first_directory_that_is_named() {
        let all = [
            ("RAT_THINGS_CONFIG_DIR", "/c"),
            ("XDG_CONFIG_HOME", "/x"),
            ("HOME", "/h"),
        ];
        for (skip, expected) in [
            (0, Some("/c/config.toml")),
            (1, Some("/x/rat-things/config.toml")),
            (2, Some("/h/.config/rat-things/config.toml")),
            (3, None),
        ] {
            let vars = Vars::fixed(all.iter().skip(skip).copied());
            assert_eq!(config_file(&vars).as_deref(), expected.map(Path::new));
        }
    }

    #[test]
    fn relative_base_directories_are_ignored() {
        let vars = Vars::fixed([("XDG_STATE_HOME", "state"), ("HOME", "/h")]);
        let found = default_data_dir(&vars).expect("HOME is set");
        assert_eq!(found, Path::new("/h/.local/state/rat-things"));
        let error = default_data_dir(&Vars::fixed([("HOME", "h")])).expect_err("no home");
        assert_eq!(error.code, "RT-0220");
    }

    #[test]
    fn home_is_written_as_a_tilde() {
        let vars = Vars::fixed([("HOME", "/h")]);
        assert_eq!(
            expand_home("~/data", &vars).as_deref(),
            Some(Path::new("/h/data"))
        );
        assert_eq!(
            expand_home("/data", &vars).as_deref(),
            Some(Path::new("/data"))
        );
    }
}
