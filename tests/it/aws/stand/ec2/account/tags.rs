//! Tags, and which of them may be.

use std::collections::BTreeMap;

use super::super::query::Params;
use super::super::refusal::Refusal;
use super::super::xml::{Xml, fields, items, text};
use super::{Account, Answer};

pub(crate) type Tags = BTreeMap<String, String>;

/// Tags that a resource may have.
const TAGS_MAX: usize = 50;

/// The tags that a request gives to what it makes of this type, over those it has anyway.
pub(super) fn given(params: &Params, kind: &str, mut tags: Tags) -> Result<Tags, Refusal> {
    for specification in params.list("TagSpecification") {
        if specification.text(&["ResourceType"]) == Some(kind) {
            tags.extend(read(specification)?);
        }
    }
    fewer(tags)
}

/// A tag specification for something that a request does not make would be without effect.
pub(super) fn only_for(params: &Params, kinds: &[&str]) -> Result<(), Refusal> {
    for specification in params.list("TagSpecification") {
        let kind = specification.text(&["ResourceType"]).unwrap_or_default();
        if !kinds.contains(&kind) {
            let message =
                format!("'{kind}' is not a valid taggable resource type for this operation.");
            return Err(Refusal::value(message));
        }
    }
    Ok(())
}

/// As an answer lists them.
pub(super) fn xml(tags: &Tags) -> Xml {
    items({ tags.iter() }.map(|(key, value)| fields([("key", text(key)), ("value", text(value))])))
}

fn read(params: &Params) -> Result<Tags, Refusal> {
    let read = |tag: &Params| {
        let key = tag.text(&["Key"]).unwrap_or_default();
        let value = tag.text(&["Value"]).unwrap_or_default();
        if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
            return Err(Refusal::value(format!(
                "Tag key or value is too long or empty: '{key}'"
            )));
        }
        if key.to_ascii_lowercase().starts_with("aws:") {
            let message = "Tag keys starting with 'aws:' are reserved for internal use";
            return Err(Refusal::value(message));
        }
        Ok((key.to_owned(), value.to_owned()))
    };
    params.list("Tag").into_iter().map(read).collect()
}

fn fewer(tags: Tags) -> Result<Tags, Refusal> {
    // Those that AWS gives do not count.
    match tags.keys().filter(|key| !key.starts_with("aws:")).count() {
        0..=TAGS_MAX => Ok(tags),
        n => Err(Refusal::new(
            "TagLimitExceeded",
            format!("{n} tags are more than {TAGS_MAX}"),
        )),
    }
}

/// The metadata service serves a tag under its key as a path, so that an instance that shows its tags takes only such keys.
pub(super) fn fit_for_metadata(tags: &Tags) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-=.,_:@".contains(c);
    let fits = |key: &str| key.chars().all(plain) && !matches!(key, "." | ".." | "_index");
    match tags.keys().find(|key| !fits(key)) {
        None => Ok(()),
        Some(key) => Err(Refusal::value(format!(
            "'{key}' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\-_+=,.@:]{{1,255}}), and must not be a reserved name ('.', '..', '_index')"
        ))),
    }
}

impl Account {
    pub(super) fn create_tags(&mut self, params: &Params) -> Answer {
        let new = read(params)?;
        for id in params.texts("ResourceId") {
            let tags = self.tags_of(&id)?;
            let mut all = tags.clone();
            all.extend(new.clone());
            *tags = fewer(all)?;
        }
        Ok(fields([("return", text(true))]))
    }

    pub(super) fn delete_tags(&mut self, params: &Params) -> Answer {
        for id in params.texts("ResourceId") {
            let tags = self.tags_of(&id)?;
            for tag in params.list("Tag") {
                let (key, value) = (tag.text(&["Key"]), tag.text(&["Value"]));
                // With a value it deletes that tag, without one whatever the value is.
                tags.retain(|k, v| {
                    Some(k.as_str()) != key || value.is_some_and(|value| value != v)
                });
            }
        }
        Ok(fields([("return", text(true))]))
    }
}
