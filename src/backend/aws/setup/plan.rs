//! A plan: what is wanted against what was found, property by property. Pure.

use std::collections::BTreeMap;

use super::desired::{Kind, Property, Resource};

/// How a resource or a property stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The resource does not exist; it will be made.
    Create,
    /// The property differs; it will be changed.
    Change,
    /// Nothing is to be done.
    AsItShouldBe,
    /// The property differs and can't be changed.
    Fixed,
    /// Nobody could look at it, so that nothing is done about it.
    Unseen,
}

impl Standing {
    /// In a table.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Create => "create",
            Standing::Change => "change",
            Standing::AsItShouldBe => "as it should be",
            Standing::Fixed => "differs, can't be changed",
            Standing::Unseen => "can't be seen",
        }
    }
}

/// One line of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Of which resource.
    pub kind: Kind,
    /// What the resource is called.
    pub resource: String,
    /// Which of its properties.
    pub property: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What it must be.
    pub wanted: String,
    /// What it is, or why nobody knows; `None`: the resource does not exist.
    pub found: Option<String>,
}

/// A property of a resource that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// What it is, in the words of the description.
    Is(String),
    /// Why it could not be looked at.
    Hidden(String),
}

impl<T: Into<String>> From<T> for Seen {
    fn from(words: T) -> Seen {
        Seen::Is(words.into())
    }
}

/// The properties of a resource that exists. One that is missing is not set.
pub type Properties = BTreeMap<&'static str, Seen>;

/// What was found of a deployment: each resource that exists.
pub type Found = BTreeMap<Kind, Properties>;

/// What is to be done, in the order in which it is done.
pub fn plan(desired: &[Resource], found: &Found) -> Vec<Step> {
    let of = |resource| steps(resource, found.get(&resource.kind));
    desired.iter().flat_map(of).collect()
}

/// What is to be done about one resource; `found`: if it exists.
pub fn steps(resource: &Resource, found: Option<&Properties>) -> Vec<Step> {
    let step = |property: &Property| {
        let (standing, is) = match found.map(|found| found.get(property.name)) {
            None => (Standing::Create, None),
            Some(Some(Seen::Hidden(why))) => (Standing::Unseen, Some(why.clone())),
            Some(Some(Seen::Is(is))) if *is == property.wanted => {
                (Standing::AsItShouldBe, Some(is.clone()))
            }
            Some(other) => {
                let is = match other {
                    Some(Seen::Is(is)) => is.as_str(),
                    _ => "not set",
                };
                let standing = match property.fixed {
                    true => Standing::Fixed,
                    false => Standing::Change,
                };
                (standing, Some(is.to_owned()))
            }
        };
        Step {
            kind: resource.kind,
            resource: resource.name.clone(),
            property: property.name,
            standing,
            wanted: property.wanted.clone(),
            found: is,
        }
    };
    resource.properties.iter().map(step).collect()
}

/// Whether something is left to do that can be done.
pub fn is_due(steps: &[Step]) -> bool {
    steps
        .iter()
        .any(|step| matches!(step.standing, Standing::Create | Standing::Change))
}
