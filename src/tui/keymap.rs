//! Keys as a person wants them: what the configuration says, over the action table. Pure.
//!
//! Actions are named by their place and themselves, `session.ask-cancel`; [`docs/keys.md`](super::action::page) has all names.

use super::action::{Action, BINDINGS, Binding, Place};

/// Said instead of keys: the action has none.
const NONE: &str = "none";
/// Keys with a name of their own, as the table writes them.
const NAMED: [&str; 15] = [
    "enter",
    "esc",
    "tab",
    "shift-tab",
    "backspace",
    "delete",
    "left",
    "right",
    "up",
    "down",
    "home",
    "end",
    "pgup",
    "pgdn",
    "space",
];

/// What is different from the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap {
    changed: Vec<(Place, Action, Vec<String>)>,
}

impl Keymap {
    /// Understands `PLACE.ACTION=KEY KEY` and `PLACE.ACTION=none`, one of each entry.
    ///
    /// # Errors
    /// In one sentence, for the person: a name that is none, a key that is none, a key that would mean two things at one place, or no way out.
    pub fn parse(entries: &[String]) -> Result<Keymap, String> {
        let mut keymap = Keymap::default();
        for entry in entries {
            let (name, keys) = entry
                .split_once('=')
                .ok_or_else(|| format!("{entry:?} is not PLACE.ACTION=KEY"))?;
            let binding = named(name.trim())?;
            let mut wanted = Vec::new();
            for key in keys.split_whitespace().filter(|key| *key != NONE) {
                wanted.push(checked(key).ok_or_else(|| {
                    format!("{key:?} in {entry:?} is no key, such as x, ctrl-x, alt-x or pgup")
                })?);
            }
            keymap
                .changed
                .retain(|(place, action, _)| (*place, *action) != (binding.place, binding.action));
            keymap.changed.push((binding.place, binding.action, wanted));
        }
        keymap.clash()?;
        keymap.way_out()?;
        Ok(keymap)
    }

    /// The keys of a row of the table, the one to show first.
    pub fn keys<'a>(&'a self, binding: &'a Binding) -> Vec<&'a str> {
        let of = |(place, action, _): &&(Place, Action, Vec<String>)| {
            (*place, *action) == (binding.place, binding.action)
        };
        match self.changed.iter().find(of) {
            Some((_, _, keys)) => keys.iter().map(String::as_str).collect(),
            None => binding.keys.to_vec(),
        }
    }

    /// Whether a row has this key.
    pub fn has(&self, binding: &Binding, key: &str) -> bool {
        match self.changed.is_empty() {
            true => binding.keys.contains(&key),
            false => self.keys(binding).contains(&key),
        }
    }

    /// No key may mean two things at one place.
    fn clash(&self) -> Result<(), String> {
        for (at, binding) in BINDINGS.iter().enumerate() {
            let is_other = |b: &&Binding| b.place == binding.place && b.action != binding.action;
            for other in BINDINGS[..at].iter().filter(is_other) {
                let theirs = self.keys(other);
                if let Some(key) = self.keys(binding).iter().find(|key| theirs.contains(key)) {
                    return Err(format!(
                        "{key:?} would mean both {} and {}",
                        name(other),
                        name(binding)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whoever is in the screen must be able to leave it.
    fn way_out(&self) -> Result<(), String> {
        let mut quits = BINDINGS.iter().filter(|b| b.action == Action::Quit);
        match quits.any(|quit| !self.keys(quit).is_empty()) {
            true => Ok(()),
            false => Err("no key would quit".to_owned()),
        }
    }
}

/// The name of a row: `session.ask-cancel`.
pub fn name(binding: &Binding) -> String {
    format!(
        "{}.{}",
        dashed(&format!("{:?}", binding.place)),
        dashed(&format!("{:?}", binding.action))
    )
}

/// The row with this name.
fn named(wanted: &str) -> Result<&'static Binding, String> {
    if let Some(binding) = BINDINGS.iter().find(|binding| name(binding) == wanted) {
        return Ok(binding);
    }
    let (place, _) = wanted.split_once('.').unwrap_or((wanted, ""));
    let here: Vec<String> = BINDINGS
        .iter()
        .map(name)
        .filter(|name| name.split_once('.').is_some_and(|(of, _)| of == place))
        .collect();
    Err(match here.is_empty() {
        true => {
            let places: Vec<String> = Place::ALL
                .iter()
                .map(|place| dashed(&format!("{place:?}")))
                .collect();
            format!("{wanted:?} is at no place; there are {}", places.join(", "))
        }
        false => format!("{wanted:?} is no action; there are {}", here.join(", ")),
    })
}

/// A key as the table writes it.
fn checked(key: &str) -> Option<String> {
    let (with, plain) = match key.split_once('-') {
        Some((with @ ("ctrl" | "alt"), plain)) if !plain.is_empty() => (Some(with), plain),
        _ => (None, key),
    };
    let is_letter = plain.chars().count() == 1;
    if !is_letter && !NAMED.contains(&plain) {
        return None;
    }
    Some(match with {
        // Terminals don't tell them apart.
        Some("ctrl") => format!("ctrl-{}", plain.to_lowercase()),
        Some(with) => format!("{with}-{plain}"),
        None => plain.to_owned(),
    })
}

/// `AskCancel` as `ask-cancel`.
fn dashed(name: &str) -> String {
    let mut dashed = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !dashed.is_empty() {
            dashed.push('-');
        }
        dashed.extend(letter.to_lowercase());
    }
    dashed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::action::find_in;

    fn parsed(entries: &[&str]) -> Result<Keymap, String> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        Keymap::parse(&entries)
    }

    #[test]
    fn a_key_that_was_given_away_means_its_new_action_and_no_other() {
        let keymap = parsed(&["session.ask-cancel=ctrl-x", "session.fold=x"]).expect("good");
        let find = |key| find_in(&keymap, Place::Session, key, false);
        assert_eq!(find("ctrl-x"), Some(Action::AskCancel));
        assert_eq!(find("x"), Some(Action::Fold));
        assert_eq!(find("z"), None);
        assert_eq!(find("j"), Some(Action::Down), "the rest is as in the table");
    }

    #[test]
    fn what_is_wrong_is_said_in_one_sentence() {
        for (entries, expected) in [
            (
                &["session.fold=x"][..],
                "\"x\" would mean both session.ask-cancel and session.fold",
            ),
            (
                &["sesion.fold=x"],
                "\"sesion.fold\" is at no place; there are sessions, filter, ",
            ),
            (
                &["help.fold=x"],
                "\"help.fold\" is no action; there are help.back, ",
            ),
            (
                &["session.fold=hyper-x"],
                "\"hyper-x\" in \"session.fold=hyper-x\" is no key, such as ",
            ),
            (
                &["session.fold"],
                "\"session.fold\" is not PLACE.ACTION=KEY",
            ),
        ] {
            let error = parsed(entries).expect_err("wrong");
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn there_is_always_a_key_that_quits() {
        assert_eq!(
            parsed(&["everywhere.quit=none"]).map(|_| ()),
            Err("no key would quit".to_owned())
        );
        parsed(&["session.ask-cancel=none"]).expect("any other may have none");
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let names: Vec<String> = BINDINGS.iter().map(name).collect();
        let several = ["everywhere.quit"];
        for (at, name) in names.iter().enumerate() {
            let known = names[..at].contains(name);
            assert!(!known || several.contains(&name.as_str()), "{name} twice");
        }
    }
}
