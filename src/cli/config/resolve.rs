//! Precedence: flag, environment, profile, file, default; and for every value, from where it came.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::args::Overrides;
use super::file::{File, Found, Profile};
use super::keys::{KEYS, KINDS, Key, Scope, nearest};
use super::locate;
use super::value::Value;
use super::vars::Vars;
use crate::cli::out::{CliError, codes};

/// Name of the profile that needs no file.
const BUILT_IN: &str = "default";

/// From where a value came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A flag of the command line.
    Flag(&'static str),
    /// An environment variable.
    Env(&'static str),
    /// A line of the chosen profile.
    Profile {
        /// Its name.
        name: String,
        /// File and line.
        at: String,
    },
    /// A line outside of every profile: file and line.
    File(String),
    /// Nobody chose it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Flag(flag) => write!(f, "flag {flag}"),
            Origin::Env(name) => write!(f, "env {name}"),
            Origin::Profile { name, at } => write!(f, "profile {name}, {at}"),
            Origin::File(at) => write!(f, "file {at}"),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and from where it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved<T> {
    /// The value.
    pub value: T,
    /// From where it came.
    pub origin: Origin,
}

/// One line of `config show`. Holds no secret: a key's value is never part of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// `provider.model`, `ui.color`, …
    pub key: String,
    /// `null` when it is not set.
    pub value: Json,
    /// From where it came.
    pub origin: Origin,
    /// What the key is for, in one sentence.
    pub meaning: &'static str,
}

impl Entry {
    /// The value in one line of text; nothing when it is not set.
    pub fn text(&self) -> String {
        match &self.value {
            Json::Null => String::new(),
            Json::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Every key, decided.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) profile: Resolved<String>,
    pub(super) data_dir: Resolved<PathBuf>,
    values: BTreeMap<&'static str, Resolved<Value>>,
    file: PathBuf,
}

impl Decided {
    /// Chooses the profile and decides every key.
    pub(super) fn new(file: &File, vars: &Vars, flags: &Overrides) -> Result<Decided, CliError> {
        let profile = choose_profile(file, vars, flags)?;
        let table = file.profiles.get(&profile.value);
        if let Some(table) = table {
            refuse_other_kinds(file, &profile.value, table)?;
        }
        let mut decided = Decided {
            data_dir: data_dir(file, &profile.value, table, vars, flags)?,
            profile,
            values: BTreeMap::new(),
            file: file.path.clone(),
        };
        for key in KEYS
            .iter()
            .filter(|key| key.scope != Scope::Top && key.path != "data_dir")
        {
            let found = match key.scope {
                Scope::Profile => table.and_then(|table| table.values.get(key.path)),
                Scope::Top | Scope::Ui => file.ui.get(key.path),
            };
            if let Some(resolved) = decided.decide(key, found, vars, flags)? {
                decided.values.insert(key.path, resolved);
            }
        }
        Ok(decided)
    }

    fn decide(
        &self,
        key: &Key,
        found: Option<&Found>,
        vars: &Vars,
        flags: &Overrides,
    ) -> Result<Option<Resolved<Value>>, CliError> {
        if let (Some(value), Some(flag)) = (flag_value(key.path, flags), key.flag) {
            let origin = Origin::Flag(flag);
            return Ok(Some(Resolved { value, origin }));
        }
        if let Some(resolved) = env_value(key, vars)? {
            return Ok(Some(resolved));
        }
        if let Some(found) = found {
            let at = format!("{}:{}", self.file.display(), found.line);
            let origin = match key.scope {
                Scope::Profile => Origin::Profile {
                    name: self.profile.value.clone(),
                    at,
                },
                Scope::Top | Scope::Ui => Origin::File(at),
            };
            let value = found.value.clone();
            return Ok(Some(Resolved { value, origin }));
        }
        let default = key.default.and_then(|text| key.kind.of_text(text).ok());
        Ok(default.map(|value| Resolved {
            value,
            origin: Origin::Default,
        }))
    }

    /// A text, if it is set.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        match &self.values.get(path)?.value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    /// A number; every key that is a number has a default.
    pub(super) fn whole(&self, path: &str) -> u64 {
        match self.values.get(path).map(|resolved| &resolved.value) {
            Some(Value::Whole(number)) => *number,
            other => unreachable!("{path} is a number with a default, not {other:?}"),
        }
    }

    /// Yes or no; every key that is a Boolean has a default.
    pub(super) fn flag(&self, path: &str) -> bool {
        match self.values.get(path).map(|resolved| &resolved.value) {
            Some(Value::Bool(yes)) => *yes,
            other => unreachable!("{path} is a Boolean with a default, not {other:?}"),
        }
    }

    /// A list; not set is empty.
    pub(super) fn texts(&self, path: &str) -> Vec<String> {
        match self.values.get(path).map(|resolved| &resolved.value) {
            Some(Value::Texts(texts)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    /// From where a value came; not set counts as the default.
    pub(super) fn origin(&self, path: &str) -> Origin {
        self.values
            .get(path)
            .map_or(Origin::Default, |resolved| resolved.origin.clone())
    }

    /// Every key in the order of the table.
    pub(super) fn entries(&self) -> Vec<Entry> {
        KEYS.iter().map(|key| self.entry(key)).collect()
    }

    fn entry(&self, key: &Key) -> Entry {
        let (name, value, origin) = match key.path {
            "default_profile" => (
                "profile".to_owned(),
                json!(self.profile.value),
                self.profile.origin.clone(),
            ),
            "data_dir" => (
                key.name(),
                json!(self.data_dir.value.to_string_lossy()),
                self.data_dir.origin.clone(),
            ),
            path => {
                let value = self
                    .values
                    .get(path)
                    .map_or(Json::Null, |found| found.value.shown(&key.kind));
                (key.name(), value, self.origin(path))
            }
        };
        Entry {
            key: name,
            value,
            origin,
            meaning: key.meaning,
        }
    }
}

fn choose_profile(
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

fn refuse_other_kinds(file: &File, name: &str, profile: &Profile) -> Result<(), CliError> {
    if profile.kind == KINDS[0] {
        return Ok(());
    }
    let at = format!("{}:{}", file.path.display(), profile.line);
    let message = format!(
        "{at}: profile {name:?} is of kind {:?}, which this build does not have yet",
        profile.kind
    );
    Err(CliError::new(codes::CONFIG_PROFILE, message)
        .hint("choose a profile of kind \"local\" with --profile NAME"))
}

fn data_dir(
    file: &File,
    name: &str,
    profile: Option<&Profile>,
    vars: &Vars,
    flags: &Overrides,
) -> Result<Resolved<PathBuf>, CliError> {
    let chosen = |value: &Path, origin: Origin| {
        // Relative paths of flags and variables count from where the command was typed.
        let value = std::path::absolute(value).map_err(|error| {
            CliError::new(
                codes::DATA_DIR,
                format!(
                    "the data directory {} ({origin}) is no path: {error}",
                    value.display()
                ),
            )
        })?;
        Ok(Resolved { value, origin })
    };
    if let Some(path) = &flags.data_dir {
        return chosen(path, Origin::Flag("--data-dir"));
    }
    if let Some(path) = vars.path("RAT_THINGS_DATA_DIR") {
        return chosen(&path, Origin::Env("RAT_THINGS_DATA_DIR"));
    }
    if let Some(Found {
        value: Value::Text(text),
        line,
    }) = profile.and_then(|profile| profile.values.get("data_dir"))
    {
        let at = format!("{}:{line}", file.path.display());
        let path = locate::expand_home(text, vars).ok_or_else(|| {
            CliError::new(
                codes::DATA_DIR,
                format!("{at}: `data_dir` starts with ~/ and HOME is not set"),
            )
        })?;
        let name = name.to_owned();
        return chosen(&path, Origin::Profile { name, at });
    }
    Ok(Resolved {
        value: locate::default_data_dir(vars)?,
        origin: Origin::Default,
    })
}

fn flag_value(path: &str, flags: &Overrides) -> Option<Value> {
    match path {
        "read_only" => flags.read_only.then_some(Value::Bool(true)),
        "daemon.autostart" => flags.no_autostart.then_some(Value::Bool(false)),
        "color" => {
            let color = flags.color?;
            let word = clap::ValueEnum::to_possible_value(&color)?;
            Some(Value::Text(word.get_name().to_owned()))
        }
        _ => None,
    }
}

fn env_value(key: &Key, vars: &Vars) -> Result<Option<Resolved<Value>>, CliError> {
    if key.path == "color" {
        return Ok(color_of_env(vars));
    }
    let Some((name, text)) = key.env.and_then(|name| Some((name, vars.os(name)?))) else {
        return Ok(None);
    };
    let value = env_text(name, text).and_then(|text| {
        key.kind.of_text(&text).map_err(|expected| {
            CliError::new(codes::CONFIG_VALUE, format!("{name} must be {expected}"))
        })
    })?;
    // The one variable that says no.
    let value = match value {
        Value::Bool(yes) if name == "RAT_THINGS_NO_AUTOSTART" => Value::Bool(!yes),
        value => value,
    };
    let origin = Origin::Env(name);
    Ok(Some(Resolved { value, origin }))
}

fn env_text(name: &str, text: OsString) -> Result<String, CliError> {
    text.into_string()
        .map_err(|_| CliError::new(codes::CONFIG_VALUE, format!("{name} is not UTF-8 text")))
}

/// `NO_COLOR` with any value, or `CLICOLOR=0`.
fn color_of_env(vars: &Vars) -> Option<Resolved<Value>> {
    let name = if vars.os("NO_COLOR").is_some() {
        "NO_COLOR"
    } else if vars.text("CLICOLOR").is_some_and(|value| value == "0") {
        "CLICOLOR"
    } else {
        return None;
    };
    Some(Resolved {
        value: Value::Text("never".to_owned()),
        origin: Origin::Env(name),
    })
}
