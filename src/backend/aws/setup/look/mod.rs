//! What is there, in the words of the description: each property is read from what AWS answers and never from what was asked for.

mod bucket;
mod network;
mod table;

pub(super) use network::{Flow, Peer, flows};

use super::deployment::DEPLOYMENT_TAG;

/// The deployment's tag among others, in words.
fn tag_of<'t>(mut tags: impl Iterator<Item = (&'t str, &'t str)>) -> String {
    match tags.find(|(key, _)| *key == DEPLOYMENT_TAG) {
        Some((key, value)) => format!("{key} = {value}"),
        None => "not set".to_owned(),
    }
}
