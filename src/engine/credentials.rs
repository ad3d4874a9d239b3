//! Credentials of vaults: what they are for is a record, what they hold is sealed.
//!
//! All secrets of a credential are one sealed value in a scope of its own. New secrets are sealed in a new scope, and the commit that
//! names it has the old one erased: at no moment are there two values of which one might be used by mistake.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chores::{Chore, Promise, scope_of};
use super::core::{Core, backoff};
use super::credential_auth::{Secrets, rotate, taken_apart};
use super::error::EngineError;
use super::ids::{self, Kind};
use super::owned::{Collection, Found};
use super::ports::{Change, Guard, Key, SecretRef, StoreError, Write};
use super::read::ListQuery;
use super::vaults::{VaultRow, has_all, vaults};
use crate::api::{
    Credential, CredentialAuth, CredentialCreateParams, CredentialObject, CredentialUpdateParams,
    Metadata, Page, Secret,
};

/// Credentials of a deleted vault that one commit removes, at three rows each.
const CREDENTIALS_AT_ONCE: usize = 8;

/// A vault's credentials.
pub fn credentials(vault: &str) -> Collection {
    Collection::new(
        "credential",
        Kind::Credential,
        format!("credential/{vault}"),
        format!("credentials/{vault}"),
    )
}

/// Row of a credential. Nothing in it is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialRow {
    /// For people.
    pub name: String,
    /// The client's names and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// How it is used, and where.
    pub auth: CredentialAuth,
    /// Where its secrets are.
    pub sealed: Sealed,
    /// Unix ms.
    pub created_ms: u64,
    /// Unix ms.
    pub updated_ms: u64,
}

impl CredentialRow {
    fn shown(&self, vault: &str, id: String) -> Credential {
        Credential {
            id,
            auth: self.auth.clone(),
            created_at: self.created_ms / 1000,
            metadata: self.metadata.clone(),
            name: self.name.clone(),
            object: CredentialObject::Only,
            updated_at: self.updated_ms / 1000,
            vault_id: vault.to_owned(),
        }
    }
}

/// A sealed value in a scope of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sealed {
    /// The scope's name in its owner's namespace.
    pub scope: String,
    /// The value.
    pub value: SecretRef,
}

impl Core {
    /// Removes what was in a vault that is deleted. No credential can come into it any more.
    pub(super) async fn empty_vault(&self, owner: &str, vault: &str) -> Result<(), EngineError> {
        let of = credentials(vault);
        let query = ListQuery {
            limit: CREDENTIALS_AT_ONCE,
            ..ListQuery::default()
        };
        let now_ms = self.clock.now_ms();
        loop {
            let any = |_: &CredentialRow| true;
            let (found, more) = self.list_owned(owner, &of, &query, any).await?;
            let mut writes = Vec::new();
            for (id, row) in &found {
                for sort in [of.id_row(id), of.time_row(row.created_ms, id)] {
                    writes.push(self.owner_write(owner, sort, Guard::Any, Change::Delete));
                }
                writes.push(self.chore(owner, &row.sealed.scope, now_ms, &Chore::Scope));
            }
            if !writes.is_empty() {
                self.commit_writes(writes).await?;
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// Puts a credential into a vault.
    pub async fn create_credential(
        &self,
        owner: &str,
        vault: &str,
        params: CredentialCreateParams,
    ) -> Result<Credential, EngineError> {
        self.vault(owner, vault).await?;
        let id = ids::random(Kind::Credential, &*self.ids);
        let (auth, secrets) = taken_apart(params.auth);
        let (promise, sealed) = self.seal(owner, &secrets).await?;
        let now_ms = self.clock.now_ms();
        let row = CredentialRow {
            name: params.name.trim().to_owned(),
            metadata: params.metadata.unwrap_or_default(),
            auth,
            sealed,
            created_ms: now_ms,
            updated_ms: now_ms,
        };
        let (in_vaults, of) = (vaults(), credentials(vault));
        // Into a vault that is there, and in no other case.
        let decide = |found: Found<VaultRow>| {
            let mut writes = vec![Write {
                change: Change::Check,
                ..self.put_owned(owner, &in_vaults, vault, &found)
            }];
            writes.push(promise.redeemed());
            writes.extend(self.add_owned(owner, &of, (&id, now_ms), &row));
            Ok((writes, ()))
        };
        let added = self.change_owned(owner, &in_vaults, vault, decide).await;
        self.settle_promise(&promise, added).await?;
        Ok(row.shown(vault, id))
    }

    /// A credential.
    pub async fn credential(
        &self,
        owner: &str,
        vault: &str,
        id: &str,
    ) -> Result<Credential, EngineError> {
        self.vault(owner, vault).await?;
        let found: Found<CredentialRow> = self.owned(owner, &credentials(vault), id).await?;
        Ok(found.row.shown(vault, id.to_owned()))
    }

    /// A vault's credentials by creation time that have all of these names and values.
    pub async fn list_credentials(
        &self,
        owner: &str,
        vault: &str,
        query: &ListQuery,
        metadata: &Metadata,
    ) -> Result<Page<Credential>, EngineError> {
        self.vault(owner, vault).await?;
        let wanted = |row: &CredentialRow| has_all(&row.metadata, metadata);
        let of = credentials(vault);
        let (found, more) = self.list_owned(owner, &of, query, wanted).await?;
        let shown = found.into_iter().map(|(id, row)| row.shown(vault, id));
        Ok(Page::new(shown.collect(), more))
    }

    /// Changes a credential, or gives it new secrets for the same use.
    ///
    /// # Errors
    /// [`EngineError::Invalid`] when it would be for another use.
    pub async fn update_credential(
        &self,
        owner: &str,
        vault: &str,
        id: &str,
        params: CredentialUpdateParams,
    ) -> Result<Credential, EngineError> {
        let of = credentials(vault);
        for attempt in self.decisions() {
            if attempt > 0 {
                tokio::time::sleep(backoff(attempt.min(6))).await;
            }
            self.vault(owner, vault).await?;
            let mut found: Found<CredentialRow> = self.owned(owner, &of, id).await?;
            if let Some(metadata) = &params.metadata {
                found.row.metadata.clone_from(metadata);
            }
            let now_ms = self.clock.now_ms();
            found.row.updated_ms = now_ms;
            let mut writes = Vec::new();
            let mut promised = None;
            if let Some(auth) = &params.auth {
                let mut secrets = self.unsealed(owner, &found.row.sealed).await?;
                rotate(&mut found.row.auth, &mut secrets, auth)?;
                let (promise, sealed) = self.seal(owner, &secrets).await?;
                let old = std::mem::replace(&mut found.row.sealed, sealed);
                writes.push(promise.redeemed());
                writes.push(self.chore(owner, &old.scope, now_ms, &Chore::Scope));
                promised = Some(promise);
            }
            writes.push(self.put_owned(owner, &of, id, &found));
            let erase = writes.get(1).map(|write| write.key.clone());
            let committed = self.commit_writes(writes).await;
            let again = matches!(committed, Err(StoreError::Conflict(_)));
            let changed = committed.map_err(EngineError::from);
            let done = match &promised {
                Some(promise) => self.settle_promise(promise, changed).await,
                None => changed,
            };
            match done {
                Ok(()) => {
                    if let (Some(_), Some(erase)) = (promised, erase) {
                        self.do_now(&erase).await;
                    }
                    return Ok(found.row.shown(vault, id.to_owned()));
                }
                Err(_) if again => {}
                Err(error) => return Err(error),
            }
        }
        Err(EngineError::Busy {
            attempts: self.decisions().end,
        })
    }

    /// Deletes a credential: it is gone once this answers, and its secrets soon.
    pub async fn delete_credential(
        &self,
        owner: &str,
        vault: &str,
        id: &str,
    ) -> Result<(), EngineError> {
        self.vault(owner, vault).await?;
        let of = credentials(vault);
        let now_ms = self.clock.now_ms();
        let decide = |found: Found<CredentialRow>| {
            let erase = self.chore(owner, &found.row.sealed.scope, now_ms, &Chore::Scope);
            let at: Key = erase.key.clone();
            let mut writes = self.drop_owned(owner, &of, id, &found).to_vec();
            writes.push(erase);
            Ok((writes, at))
        };
        let erase = self.change_owned(owner, &of, id, decide).await?;
        self.do_now(&erase).await;
        Ok(())
    }

    /// Seals secrets in a scope that is erased unless a record comes to name it.
    async fn seal(&self, owner: &str, secrets: &Secrets) -> Result<(Promise, Sealed), EngineError> {
        // Texts always serialise.
        let value = Secret::new(serde_json::to_string(secrets).unwrap_or_default());
        let scope = ids::random(Kind::Seal, &*self.ids);
        let promise = self.promise(owner, &scope).await?;
        let sealed = self.secrets.put(promise.scope(), &value).await;
        let sealed = sealed.map_err(EngineError::from);
        let value = self.settle_promise(&promise, sealed).await?;
        Ok((promise, Sealed { scope, value }))
    }

    /// The secrets of a credential.
    pub(super) async fn unsealed(
        &self,
        owner: &str,
        sealed: &Sealed,
    ) -> Result<Secrets, EngineError> {
        let scope = scope_of(owner, &sealed.scope);
        let value = self.secrets.get(&scope, &sealed.value).await?;
        serde_json::from_str(value.reveal()).map_err(|_| EngineError::Damaged {
            key: sealed.scope.clone(),
            why: "it holds no secrets of a credential".to_owned(),
        })
    }
}
