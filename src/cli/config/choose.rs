//! Which profile a command uses.

use super::args::Overrides;
use super::file::{File, Found};
use super::keys::nearest;
use super::origin::{Origin, Resolved};
use super::value::Value;
use super::vars::Vars;
use crate::cli::out::{CliError, codes};

/// Name of the profile that needs no file.
const BUILT_IN: &str = "default";

/// The profile of this command.
pub(super) fn choose(
    file: &File,
    vars: &Vars,
    flags: &Overrides,
) -> Result<Resolved<String>, CliError> {
    let chosen = |value: String, origin: Origin| Resolved { value, origin };
    let profile = if let Some(name) = &flags.profile {
        chosen(name.clone(), Origin::Flag("--profile"))
    } else if let Some(name) = vars.text("RAT_THINGS_PROFILE") {
        chosen(name, Origin::Env("RAT_THINGS_PROFILE"))
    } else if let Some(Found {
        value: Value::Text(name),
        line,
    }) = &file.default_profile
    {
        chosen(
            name.clone(),
            Origin::File(format!("{}:{line}", file.path.display())),
        )
    } else {
        return the_obvious_profile(file);
    };
    if file.profiles.contains_key(&profile.value) || profile.value == BUILT_IN {
        return Ok(profile);
    }
    let message = format!(
        "there is no profile {:?} ({}); {}",
        profile.value,
        profile.origin,
        known_profiles(file)
    );
    let error = CliError::new(codes::CONFIG_PROFILE, message);
    Err(
        match nearest(&profile.value, file.profiles.keys().map(String::as_str)) {
            Some(near) => error.hint(format!("did you mean {near:?}?")),
            None => error,
        },
    )
}

/// Without any choice: the one called `default`, else the only one, else the built-in one if there is none at all.
fn the_obvious_profile(file: &File) -> Result<Resolved<String>, CliError> {
    let mut names = file.profiles.keys();
    let name = match (names.next(), names.next()) {
        _ if file.profiles.contains_key(BUILT_IN) => BUILT_IN,
        (None, _) => BUILT_IN,
        (Some(only), None) => only,
        (Some(_), Some(_)) => {
            let message = format!(
                "several profiles and none is chosen; {}",
                known_profiles(file)
            );
            return Err(CliError::new(codes::CONFIG_PROFILE, message).hint(
                "choose one with --profile NAME, or with default_profile at the top of the file",
            ));
        }
    };
    Ok(Resolved {
        value: name.to_owned(),
        origin: Origin::Default,
    })
}

fn known_profiles(file: &File) -> String {
    let names: Vec<_> = file.profiles.keys().map(String::as_str).collect();
    match names.is_empty() {
        true => format!("{} defines none", file.path.display()),
        false => format!("{} defines {}", file.path.display(), names.join(", ")),
    }
}
