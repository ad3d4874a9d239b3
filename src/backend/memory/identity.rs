//! A caller that is simply said to be so.

use async_trait::async_trait;

use crate::engine::ports::{Identity, IdentityError, Principal};

/// Always gives the same answer.
#[derive(Clone, Debug)]
pub struct FixedIdentity {
    answer: Result<Principal, IdentityError>,
}

impl FixedIdentity {
    /// The caller is `name`.
    pub fn new(name: impl Into<String>) -> FixedIdentity {
        FixedIdentity {
            answer: Ok(Principal { name: name.into() }),
        }
    }

    /// The caller can't be known.
    pub fn failing(error: IdentityError) -> FixedIdentity {
        FixedIdentity { answer: Err(error) }
    }
}

#[async_trait]
impl Identity for FixedIdentity {
    async fn caller(&self) -> Result<Principal, IdentityError> {
        self.answer.clone()
    }
}
