//! A request of the query protocol as a tree: `Filter.1.Name=a&Filter.1.Value.1=b` is a list of one structure with a list.

use std::collections::BTreeMap;

/// A value, a structure or a list, whose members are numbered from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Params {
    value: Option<String>,
    members: BTreeMap<String, Params>,
}

impl Params {
    /// The parameters of a form, all texts.
    pub(super) fn parse(form: &str) -> Params {
        let mut params = Params::default();
        for pair in form.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let mut at = &mut params;
            for part in decoded(name).split('.') {
                at = at.members.entry(part.to_owned()).or_default();
            }
            at.value = Some(decoded(value));
        }
        params
    }

    /// The member of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Params> {
        self.members.get(name)
    }

    /// This itself, as a text.
    pub(super) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// A text, by the names that lead to it.
    pub(super) fn text(&self, path: &[&str]) -> Option<&str> {
        let mut at = self;
        for name in path {
            at = at.get(name)?;
        }
        at.value()
    }

    /// The members of a list, in their order.
    pub(super) fn list(&self, name: &str) -> Vec<&Params> {
        self.get(name).map(Params::items).unwrap_or_default()
    }

    /// The members of a list of texts.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        let texts = self.list(name).into_iter().filter_map(Params::value);
        texts.map(str::to_owned).collect()
    }

    /// The members of this list, in their order.
    pub(super) fn items(&self) -> Vec<&Params> {
        let mut items: Vec<(u64, &Params)> = { self.members.iter() }
            .filter_map(|(name, item)| Some((name.parse().ok()?, item)))
            .collect();
        items.sort_by_key(|(number, _)| *number);
        items.into_iter().map(|(_, item)| item).collect()
    }

    /// Whether this is a list.
    pub(super) fn is_list(&self) -> bool {
        !self.members.is_empty() && self.members.keys().all(|name| name.parse::<u64>().is_ok())
    }

    /// The members of this structure.
    pub(super) fn members(&self) -> impl Iterator<Item = (&str, &Params)> {
        let members = self.members.iter();
        members.map(|(name, member)| (name.as_str(), member))
    }

    /// Whether one of the texts contains this.
    pub(super) fn contain(&self, text: &str) -> bool {
        let mine = self
            .value
            .as_ref()
            .is_some_and(|value| value.contains(text));
        mine || self.members.values().any(|member| member.contain(text))
    }

    /// The same without these members.
    pub(super) fn without(&self, names: &[&str]) -> Params {
        let mut params = self.clone();
        params
            .members
            .retain(|name, _| !names.contains(&name.as_str()));
        params
    }

    /// These, and from `below` what is not among them.
    pub(super) fn over(&self, below: &Params) -> Params {
        let mut params = below.clone();
        params.members.extend(self.members.clone());
        params
    }
}

/// Percent signs and pluses resolved. What can't be is kept.
fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let hex = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        let escaped = tail.get(..2).filter(|_| *first == b'%').and_then(hex);
        bytes.push(match (escaped, first) {
            (Some(byte), _) => byte,
            (None, b'+') => b' ',
            (None, byte) => *byte,
        });
        rest = if escaped.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
