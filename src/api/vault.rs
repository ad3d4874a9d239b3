//! Vaults and their credentials as answers show them: everything but the secrets. Requests are in `vault_param`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::Metadata;
use crate::api::page::HasId;
use crate::api::words::{object_name, words};

object_name!(
    VaultObject = "vault",
    VaultDeletedObject = "vault.deleted",
    CredentialObject = "vault.credential",
    CredentialDeletedObject = "vault.credential.deleted",
);

/// A set of credentials that Sessions may be given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Vault {
    /// `vault_…`
    pub id: String,
    /// Unix seconds.
    pub created_at: u64,
    /// Never null in answers.
    pub metadata: Metadata,
    /// For people.
    pub name: Option<String>,
    /// Always `vault`.
    pub object: VaultObject,
}

/// The answer to deleting a vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `vault.deleted`.
    pub object: VaultDeletedObject,
}

impl VaultDeleted {
    /// The answer for this vault.
    pub fn of(id: impl Into<String>) -> VaultDeleted {
        VaultDeleted {
            id: id.into(),
            deleted: true,
            object: VaultDeletedObject::Only,
        }
    }
}

/// A credential without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Credential {
    /// `cred_…`
    pub id: String,
    /// How it is used, and where.
    pub auth: CredentialAuth,
    /// Unix seconds.
    pub created_at: u64,
    /// Never null in answers.
    pub metadata: Metadata,
    /// For people.
    pub name: String,
    /// Always `vault.credential`.
    pub object: CredentialObject,
    /// Unix seconds.
    pub updated_at: u64,
    /// Its vault.
    pub vault_id: String,
}

/// The answer to deleting a credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialDeleted {
    /// What was deleted.
    pub id: String,
    /// Always true.
    pub deleted: bool,
    /// Always `vault.credential.deleted`.
    pub object: CredentialDeletedObject,
}

impl CredentialDeleted {
    /// The answer for this credential.
    pub fn of(id: impl Into<String>) -> CredentialDeleted {
        CredentialDeleted {
            id: id.into(),
            deleted: true,
            object: CredentialDeletedObject::Only,
        }
    }
}

/// How a credential is used, without its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CredentialAuth {
    /// An OAuth access token for an MCP server.
    McpOauth {
        /// When the access token expires, as RFC 3339; null if that is not known.
        expires_at: Option<String>,
        /// HTTPS.
        mcp_server_url: String,
        /// How to get another access token; null: in no way.
        refresh: Option<OauthRefresh>,
    },
    /// A bearer token for an MCP server.
    StaticBearer {
        /// HTTPS.
        mcp_server_url: String,
    },
    /// A secret that commands of an environment use without seeing it.
    EnvironmentVariable {
        /// Where it may be sent.
        networking: CredentialNetworking,
        /// The variable.
        secret_name: String,
    },
}

/// How another access token is asked for, without the secrets of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OauthRefresh {
    /// Who asks.
    pub client_id: String,
    /// What it is for, as a URI.
    pub resource: Option<String>,
    /// Scopes, separated by blanks.
    pub scope: Option<String>,
    /// HTTPS.
    pub token_endpoint: String,
    /// How the client proves who it is.
    pub token_endpoint_auth: TokenEndpointAuth,
}

/// How a client proves to a token endpoint who it is, without its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TokenEndpointAuth {
    /// It does not.
    None,
    /// By HTTP Basic authentication.
    ClientSecretBasic,
    /// By its secret in the request's body.
    ClientSecretPost,
}

/// Where the secret of a variable may be sent. It opens no network by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CredentialNetworking {
    /// Wherever the environment may go.
    Unrestricted,
    /// To these hosts only.
    Limited {
        /// 1 to 16 host names or IPv4 addresses, in lower case.
        allowed_hosts: Vec<String>,
    },
}

words! {
    /// Whether a vault or a credential can be used. Nothing archives one.
    pub enum VaultStatus {
        /// It can.
        Active = "active",
        /// It was put away.
        Archived = "archived",
    }
}

impl HasId for Vault {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl HasId for Credential {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}
