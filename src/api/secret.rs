//! A value that a client may send and that no answer, log or error repeats.
//!
//! It serialises as it is, because a client of this API must be able to send it; what keeps it out of answers is that no
//! resource type has a field for it. `Debug` shows only that something is there.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Write-only text: a token, a header's value, a variable of an environment.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Guards a value.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value itself. Every call is a place to check by eye.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
