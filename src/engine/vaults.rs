//! Vaults: sets of credentials that Sessions may be given.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chores::Chore;
use super::core::Core;
use super::error::EngineError;
use super::ids::{self, Kind};
use super::owned::{Collection, Found};
use super::read::ListQuery;
use crate::api::{Metadata, Page, Vault, VaultCreateParams, VaultObject, VaultUpdateParams};

/// An owner's vaults.
pub fn vaults() -> Collection {
    Collection::new("vault", Kind::Vault, "vault".into(), "vaults".into())
}

/// Row of a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultRow {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The client's names and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// Unix ms.
    pub created_ms: u64,
}

impl VaultRow {
    fn shown(&self, id: String) -> Vault {
        Vault {
            id,
            created_at: self.created_ms / 1000,
            metadata: self.metadata.clone(),
            name: self.name.clone(),
            object: VaultObject::Only,
        }
    }
}

impl Core {
    /// Makes a vault.
    pub async fn create_vault(
        &self,
        owner: &str,
        params: VaultCreateParams,
    ) -> Result<Vault, EngineError> {
        let id = ids::random(Kind::Vault, &*self.ids);
        let row = VaultRow {
            name: params.name,
            metadata: params.metadata.unwrap_or_default(),
            created_ms: self.clock.now_ms(),
        };
        let writes = self.add_owned(owner, &vaults(), (&id, row.created_ms), &row);
        self.commit_writes(writes.to_vec()).await?;
        Ok(row.shown(id))
    }

    /// A vault.
    pub async fn vault(&self, owner: &str, id: &str) -> Result<Vault, EngineError> {
        let found: Found<VaultRow> = self.owned(owner, &vaults(), id).await?;
        Ok(found.row.shown(id.to_owned()))
    }

    /// Vaults by creation time that have all of these names and values.
    pub async fn list_vaults(
        &self,
        owner: &str,
        query: &ListQuery,
        metadata: &Metadata,
    ) -> Result<Page<Vault>, EngineError> {
        let wanted = |row: &VaultRow| has_all(&row.metadata, metadata);
        let (found, more) = self.list_owned(owner, &vaults(), query, wanted).await?;
        let shown = found.into_iter().map(|(id, row)| row.shown(id));
        Ok(Page::new(shown.collect(), more))
    }

    /// Changes a vault.
    pub async fn update_vault(
        &self,
        owner: &str,
        id: &str,
        params: VaultUpdateParams,
    ) -> Result<Vault, EngineError> {
        let of = vaults();
        let decide = |mut found: Found<VaultRow>| {
            params.name.clone().apply(&mut found.row.name);
            if let Some(metadata) = &params.metadata {
                found.row.metadata.clone_from(metadata);
            }
            let write = self.put_owned(owner, &of, id, &found);
            Ok((vec![write], found.row.shown(id.to_owned())))
        };
        self.change_owned(owner, &of, id, decide).await
    }

    /// Deletes a vault: it and its credentials are gone once this answers, and their secrets soon.
    pub async fn delete_vault(&self, owner: &str, id: &str) -> Result<(), EngineError> {
        let of = vaults();
        let empty = self.chore(owner, id, self.clock.now_ms(), &Chore::Vault);
        let decide = |found: Found<VaultRow>| {
            let mut writes = self.drop_owned(owner, &of, id, &found).to_vec();
            writes.push(empty.clone());
            Ok((writes, ()))
        };
        self.change_owned(owner, &of, id, decide).await?;
        self.do_now(&empty.key).await;
        Ok(())
    }
}

/// Whether all of these names and values are there.
pub(super) fn has_all(metadata: &Metadata, wanted: &Metadata) -> bool {
    wanted.iter().all(|(k, v)| metadata.get(k) == Some(v))
}
