//! Environment variables, read through one injected lookup, so that tests see only what they set.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

type Lookup = dyn Fn(&str) -> Option<OsString> + Send + Sync;

/// The environment of this command.
pub struct Vars(Box<Lookup>);

impl Vars {
    /// The process's own environment.
    pub fn process() -> Vars {
        Vars(Box::new(|name| std::env::var_os(name)))
    }

    /// Exactly these variables.
    pub fn fixed<N: Into<String>, V: Into<OsString>>(
        pairs: impl IntoIterator<Item = (N, V)>,
    ) -> Vars {
        let map: BTreeMap<String, OsString> = pairs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        Vars(Box::new(move |name| map.get(name).cloned()))
    }

    /// The value of `name`; one that is empty counts as not set.
    pub fn os(&self, name: &str) -> Option<OsString> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// The value of `name` as text; bytes that are not UTF-8 become U+FFFD.
    pub fn text(&self, name: &str) -> Option<String> {
        self.os(name)
            .map(|value| value.to_string_lossy().into_owned())
    }

    /// The value of `name` as a path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.os(name).map(PathBuf::from)
    }

    /// Whether `name` is set to anything but nothing, `0`, `false`, `no` or `off`.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name).is_some_and(|value| {
            !["0", "false", "no", "off"]
                .iter()
                .any(|off| off.eq_ignore_ascii_case(&value))
        })
    }
}

impl fmt::Debug for Vars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values may be secrets, and there is no list of names to show.
        f.write_str("Vars(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_variables_count_as_unset() {
        let vars = Vars::fixed([("EMPTY", ""), ("SET", "x"), ("OFF", "False"), ("ON", "1")]);
        assert_eq!(vars.text("EMPTY"), None);
        assert_eq!(vars.text("SET").as_deref(), Some("x"));
        assert_eq!(
            (vars.flag("OFF"), vars.flag("ON"), vars.flag("NONE")),
            (false, true, false)
        );
    }
}
