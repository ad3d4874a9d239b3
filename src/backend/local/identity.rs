//! The local caller: the user this process runs as. The kernel is the proof.

use async_trait::async_trait;

use crate::engine::ports::{Identity, IdentityError, Principal};

/// The user of this process, `local:<uid>`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalIdentity;

#[async_trait]
impl Identity for LocalIdentity {
    async fn caller(&self) -> Result<Principal, IdentityError> {
        let uid = rustix::process::geteuid().as_raw();
        Ok(Principal {
            name: format!("local:{uid}"),
        })
    }
}
