//! Reading the configuration file into values that know their line. Nothing is resolved here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, TableLike};

use super::keys::{self, KEYS, Key, LOCAL, Scope, Serves, nearest};
use super::value::Value;
use crate::cli::out::{CliError, codes};

/// A configuration is small; more than this is another file.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// A value and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) value: Value,
    pub(super) line: usize,
}

/// Values of one table and those below it, by path.
pub(super) type Values = BTreeMap<&'static str, Found>;

/// `[profile.NAME]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Profile {
    pub(super) line: usize,
    /// One of [`keys::KINDS`].
    pub(super) kind: String,
    pub(super) values: Values,
}

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) default_profile: Option<Found>,
    pub(super) profiles: BTreeMap<String, Profile>,
    pub(super) ui: Values,
}

/// Reads and checks the file; one that does not exist says nothing.
pub(super) fn read(path: &Path) -> Result<File, CliError> {
    let failed =
        |what: String| CliError::new(codes::CONFIG_FILE, format!("{}: {what}", path.display()));
    let mut bytes = Vec::new();
    match fs::File::open(path)
        .and_then(|file| file.take(FILE_MAX_BYTES + 1).read_to_end(&mut bytes))
    {
        Ok(_) if bytes.len() as u64 > FILE_MAX_BYTES => Err(failed(
            "larger than 1 MiB; this is no configuration".to_owned(),
        )),
        Ok(_) => match String::from_utf8(bytes) {
            Ok(text) => parse(path, &text),
            Err(_) => Err(failed("not UTF-8 text".to_owned())),
        },
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(File {
                path: path.to_owned(),
                ..File::default()
            })
        }
        Err(error) => Err(failed(format!("cannot be read: {error}")).because(error)),
    }
}

/// Checks `text`, which stands in `path`.
pub(super) fn parse(path: &Path, text: &str) -> Result<File, CliError> {
    let document = Document::parse(text).map_err(|error| {
        let line = line_of(text, error.span());
        // Only the parser's message: its full form quotes the line, which may hold a secret.
        CliError::new(
            codes::CONFIG_SYNTAX,
            format!("{}:{line}: {}", path.display(), error.message()),
        )
    })?;
    let mut reader = Reader {
        text,
        file: File {
            path: path.to_owned(),
            ..File::default()
        },
    };
    reader.top(document.as_table())?;
    Ok(reader.file)
}

/// Which keys a table may hold.
#[derive(Clone, Copy, Debug)]
struct Place<'a> {
    scope: Scope,
    /// Of the profile.
    kind: &'a str,
}

impl Place<'_> {
    fn has(self, key: &Key) -> bool {
        key.scope == self.scope && key.is_of(self.kind)
    }
}

struct Reader<'a> {
    text: &'a str,
    file: File,
}

impl Reader<'_> {
    fn top(&mut self, table: &dyn TableLike) -> Result<(), CliError> {
        for (name, item) in table.iter() {
            let line = self.line(table, name, item);
            match name {
                "profile" => self.profiles(self.table(name, item, line)?)?,
                "ui" => {
                    let mut values = Values::new();
                    let place = Place {
                        scope: Scope::Ui,
                        kind: LOCAL,
                    };
                    self.values(place, "ui", "", self.table(name, item, line)?, &mut values)?;
                    self.file.ui = values;
                }
                _ => match keys::find(Scope::Top, LOCAL, name) {
                    Some(key) => {
                        self.file.default_profile = Some(self.value(key, name, item, line)?)
                    }
                    None => {
                        let place = Place {
                            scope: Scope::Top,
                            kind: LOCAL,
                        };
                        return Err(self.unknown(place, "", "", name, line));
                    }
                },
            }
        }
        Ok(())
    }

    fn profiles(&mut self, table: &dyn TableLike) -> Result<(), CliError> {
        for (name, item) in table.iter() {
            let line = self.line(table, name, item);
            let shown = format!("profile.{name}");
            if name.is_empty()
                || name.len() > 64
                || !name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            {
                let message = format!(
                    "{}: the name of a profile is made of letters, digits, - and _",
                    self.at(line, &shown)
                );
                return Err(CliError::new(codes::CONFIG_VALUE, message));
            }
            let table = self.table(&shown, item, line)?;
            let mut values = Values::new();
            let kind = match table.get("kind") {
                Some(item) => {
                    let line = self.line(table, "kind", item);
                    let key = keys::find(Scope::Profile, LOCAL, "kind");
                    let key = key.expect("the table of keys has a kind");
                    match self.value(key, &format!("{shown}.kind"), item, line)?.value {
                        Value::Text(kind) => kind,
                        _ => LOCAL.to_owned(),
                    }
                }
                None => LOCAL.to_owned(),
            };
            let place = Place {
                scope: Scope::Profile,
                kind: &kind,
            };
            self.values(place, &shown, "", table, &mut values)?;
            self.file
                .profiles
                .insert(name.to_owned(), Profile { line, kind, values });
        }
        Ok(())
    }

    /// Reads the keys of `table`, which is called `shown` and stands at `prefix` below its scope.
    fn values(
        &self,
        place: Place<'_>,
        shown: &str,
        prefix: &str,
        table: &dyn TableLike,
        into: &mut Values,
    ) -> Result<(), CliError> {
        for (name, item) in table.iter() {
            let line = self.line(table, name, item);
            let path = format!("{prefix}{name}");
            let shown_key = format!("{shown}.{name}");
            if let Some(key) = keys::find(place.scope, place.kind, &path) {
                into.insert(key.path, self.value(key, &shown_key, item, line)?);
            } else if prefix.is_empty() && sections(place).any(|section| section == name) {
                let below = self.table(&shown_key, item, line)?;
                self.values(place, &shown_key, &format!("{name}."), below, into)?;
            } else {
                return Err(self.unknown(place, shown, prefix, name, line));
            }
        }
        Ok(())
    }

    fn value(&self, key: &Key, shown: &str, item: &Item, line: usize) -> Result<Found, CliError> {
        let checked = match item.as_value() {
            Some(value) => key.kind.of_toml(value),
            None => Err(format!("{}, not a table", key.kind.expected())),
        };
        match checked {
            Ok(value) => Ok(Found { value, line }),
            Err(expected) => {
                let message = format!("{} must be {expected}", self.at(line, shown));
                Err(CliError::new(codes::CONFIG_VALUE, message))
            }
        }
    }

    fn table<'i>(
        &self,
        shown: &str,
        item: &'i Item,
        line: usize,
    ) -> Result<&'i dyn TableLike, CliError> {
        item.as_table_like().ok_or_else(|| {
            let message = format!(
                "{} must be a table, not {}",
                self.at(line, shown),
                item.type_name()
            );
            CliError::new(codes::CONFIG_VALUE, message)
        })
    }

    fn unknown(
        &self,
        place: Place<'_>,
        shown: &str,
        prefix: &str,
        name: &str,
        line: usize,
    ) -> CliError {
        let full = if shown.is_empty() {
            name.to_owned()
        } else {
            format!("{shown}.{name}")
        };
        let error = CliError::new(
            codes::CONFIG_KEY,
            format!("{} is not a known key", self.at(line, &full)),
        );
        let siblings = siblings(place, prefix);
        if let Some(near) = nearest(name, siblings.iter().map(String::as_str)) {
            return error.hint(format!("did you mean `{near}`?"));
        }
        // The right key in the wrong table.
        let mut named = KEYS.iter().filter(|key| {
            [key.path.rsplit('.').next(), key.path.split('.').next()].contains(&Some(name))
        });
        match named
            .clone()
            .find(|key| key.is_of(place.kind))
            .or_else(|| named.next())
        {
            Some(Key {
                serves: Serves::Kinds(others),
                ..
            }) if place.scope == Scope::Profile && !others.contains(&place.kind) => {
                let others: Vec<_> = others.iter().map(|kind| format!("{kind:?}")).collect();
                let others = others.join(" or ");
                error.hint(format!("`{name}` belongs to profiles of kind {others}"))
            }
            Some(key) => error.hint(format!("`{name}` belongs into {}", home_of(key))),
            None => error.hint(format!("keys here: {}", siblings.join(", "))),
        }
    }

    fn at(&self, line: usize, shown: &str) -> String {
        format!("{}:{line}: `{shown}`", self.file.path.display())
    }

    fn line(&self, table: &dyn TableLike, name: &str, item: &Item) -> usize {
        let key = table.key(name).and_then(toml_edit::Key::span);
        line_of(self.text, key.or_else(|| item.span()))
    }
}

/// Tables below the table of a scope.
fn sections(place: Place<'_>) -> impl Iterator<Item = &'static str> {
    KEYS.iter()
        .filter(move |key| place.has(key))
        .filter_map(|key| Some(key.path.split_once('.')?.0))
}

/// Names that may stand beside each other at `prefix`, tables included.
fn siblings(place: Place<'_>, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = KEYS
        .iter()
        .filter(|key| place.has(key))
        .filter_map(|key| key.path.strip_prefix(prefix)?.split('.').next())
        .map(str::to_owned)
        .collect();
    if place.scope == Scope::Top {
        names.extend(["profile".to_owned(), "ui".to_owned()]);
    }
    names.dedup();
    names
}

/// The table that a key belongs into, as it is written in a file.
fn home_of(key: &Key) -> String {
    match (key.scope, key.path.split_once('.')) {
        (Scope::Top, _) => "the top of the file".to_owned(),
        (Scope::Ui, _) => "[ui]".to_owned(),
        (Scope::Profile, Some((section, _))) => format!("[profile.NAME.{section}]"),
        (Scope::Profile, None) => "[profile.NAME]".to_owned(),
    }
}

fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let end = span.map_or(0, |span| span.start).min(text.len());
    1 + text.as_bytes()[..end]
        .iter()
        .filter(|b| **b == b'\n')
        .count()
}
