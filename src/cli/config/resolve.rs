//! Precedence: flag, environment, profile, file, default; for every value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::args::Overrides;
use super::file::{File, Found, Profile};
use super::keys::{AWS, KEYS, Key, LOCAL, Scope};
use super::origin::{Entry, Origin, Resolved};
use super::value::Value;
use super::vars::Vars;
use super::{choose, locate};
use crate::cli::out::{CliError, codes};

/// Every key, decided.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) profile: Resolved<String>,
    pub(super) data_dir: Resolved<PathBuf>,
    /// Kind of the profile.
    pub(super) kind: String,
    values: BTreeMap<&'static str, Resolved<Value>>,
    file: PathBuf,
}

impl Decided {
    /// Chooses the profile and decides every key.
    pub(super) fn new(file: &File, vars: &Vars, flags: &Overrides) -> Result<Decided, CliError> {
        let profile = choose::choose(file, vars, flags)?;
        let table = file.profiles.get(&profile.value);
        let mut decided = Decided {
            data_dir: data_dir(file, &profile.value, table, vars, flags)?,
            profile,
            kind: table.map_or(LOCAL, |table| &table.kind).to_owned(),
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
        if let Some(flag) = key.flag
            && let Some(value) = flag_value(key, flag, flags)?
        {
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

    /// Every key that profiles of this kind have, in the order of the table.
    pub(super) fn entries(&self) -> Vec<Entry> {
        let keys = KEYS.iter().filter(|key| key.is_of(&self.kind));
        keys.map(|key| self.entry(key)).collect()
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
    let mut value = locate::default_data_dir(vars)?;
    if profile.is_some_and(|profile| profile.kind == AWS) {
        // What this machine keeps beside the records is of this deployment alone.
        value = value.join("aws").join(name);
    }
    Ok(Resolved {
        value,
        origin: Origin::Default,
    })
}

fn flag_value(key: &Key, flag: &str, flags: &Overrides) -> Result<Option<Value>, CliError> {
    Ok(match key.path {
        "read_only" => flags.read_only.then_some(Value::Bool(true)),
        "daemon.autostart" => flags.no_autostart.then_some(Value::Bool(false)),
        "aws.endpoint_url" => {
            let Some(text) = &flags.endpoint_url else {
                return Ok(None);
            };
            // What is wrong is not repeated: credentials may be in it.
            let value = key.kind.of_text(text).map_err(|expected| {
                CliError::new(codes::CONFIG_VALUE, format!("{flag} must be {expected}"))
            })?;
            Some(value)
        }
        "color" => {
            let word = flags
                .color
                .as_ref()
                .and_then(clap::ValueEnum::to_possible_value);
            word.map(|word| Value::Text(word.get_name().to_owned()))
        }
        _ => None,
    })
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
