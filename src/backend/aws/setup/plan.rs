//! A plan: what is wanted against what was found, property by property. Pure.

use std::collections::BTreeMap;

use super::desired::{Kind, Resource};

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
}

impl Standing {
    /// In a table.
    pub fn name(self) -> &'static str {
        match self {
            Standing::Create => "create",
            Standing::Change => "change",
            Standing::AsItShouldBe => "as it should be",
            Standing::Fixed => "differs, can't be changed",
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
    /// What it is; `None`: the resource does not exist.
    pub found: Option<String>,
}

/// What was found of a deployment: each resource that exists with its properties, in the words of the description.
pub type Found = BTreeMap<Kind, BTreeMap<&'static str, String>>;

/// What is to be done, in the order in which it is done.
pub fn plan(desired: &[Resource], found: &Found) -> Vec<Step> {
    let mut steps = Vec::new();
    for resource in desired {
        let exists = found.get(&resource.kind);
        for property in &resource.properties {
            let is = exists.map(|found| found.get(property.name).cloned());
            let standing = match &is {
                None => Standing::Create,
                Some(Some(is)) if *is == property.wanted => Standing::AsItShouldBe,
                Some(_) if property.fixed => Standing::Fixed,
                Some(_) => Standing::Change,
            };
            steps.push(Step {
                kind: resource.kind,
                resource: resource.name.clone(),
                property: property.name,
                standing,
                wanted: property.wanted.clone(),
                found: is.map(|is| is.unwrap_or_else(|| "not set".to_owned())),
            });
        }
    }
    steps
}

/// Whether something is left to do that can be done.
pub fn is_due(steps: &[Step]) -> bool {
    steps
        .iter()
        .any(|step| matches!(step.standing, Standing::Create | Standing::Change))
}
