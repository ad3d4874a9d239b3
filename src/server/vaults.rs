//! Vaults and credentials.

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::api::{
    ApiError, Credential, CredentialDeleted, Metadata, Page, Vault, VaultDeleted, VaultStatus,
    Words, parse_credential_create, parse_credential_update, parse_vault_create,
    parse_vault_update,
};

pub(super) async fn create(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_vault_create(&asked.take_body().await?)?;
    let core = &asked.server.core;
    shown(&core.create_vault(&asked.caller.owner, params).await?)
}

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    let (metadata, wants_active) = filter(&mut asked)?;
    if !wants_active {
        return shown(&Page::<Vault>::new(Vec::new(), false));
    }
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.list_vaults(owner, &page, &metadata).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let core = &asked.server.core;
    shown(&core.vault(&asked.caller.owner, asked.id(0)).await?)
}

pub(super) async fn update(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_vault_update(&asked.take_body().await?)?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.update_vault(owner, asked.id(0), params).await?)
}

pub(super) async fn delete(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, id) = (&asked.server.core, asked.id(0));
    core.delete_vault(&asked.caller.owner, id).await?;
    shown(&VaultDeleted::of(id))
}

pub(super) async fn create_credential(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_credential_create(&asked.take_body().await?)?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.create_credential(owner, asked.id(0), params).await?)
}

pub(super) async fn list_credentials(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    let (metadata, wants_active) = filter(&mut asked)?;
    let (core, owner, vault) = (&asked.server.core, &asked.caller.owner, asked.id(0));
    if !wants_active {
        core.vault(owner, vault).await?;
        return shown(&Page::<Credential>::new(Vec::new(), false));
    }
    let found = core.list_credentials(owner, vault, &page, &metadata).await;
    shown(&found?)
}

pub(super) async fn get_credential(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.credential(owner, asked.id(0), asked.id(1)).await?)
}

pub(super) async fn update_credential(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let params = parse_credential_update(&asked.take_body().await?)?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    let changed = core.update_credential(owner, asked.id(0), asked.id(1), params);
    shown(&changed.await?)
}

pub(super) async fn delete_credential(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, id) = (&asked.server.core, asked.id(1));
    core.delete_credential(&asked.caller.owner, asked.id(0), id)
        .await?;
    shown(&CredentialDeleted::of(id))
}

/// What is asked for beside a page: names and values, and whether what is active is wanted. Nothing is archived.
fn filter(asked: &mut Asked) -> Answered<(Metadata, bool)> {
    let metadata = asked.query.take_metadata("metadata")?;
    let mut wants_active = true;
    let words = asked.query.take_all("status");
    if !words.is_empty() {
        let read = words.iter().map(|word| VaultStatus::from_word(word));
        let read: Result<Vec<VaultStatus>, _> = read.collect();
        let read = read.map_err(|error| {
            ApiError::invalid_request("status", format!("Invalid 'status': {error}."))
        })?;
        wants_active = read.contains(&VaultStatus::Active);
    }
    asked.no_more_query()?;
    Ok((metadata, wants_active))
}
