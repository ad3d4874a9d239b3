//! Requests that create and change vaults and credentials. Secrets exist only here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{CredentialNetworking, Metadata, Patch, Secret};

mod read;

/// Body of `POST /vaults`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultCreateParams {
    /// Names and values for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Body of `POST /vaults/{vault_id}`. An absent field keeps what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VaultUpdateParams {
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// Null: none.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub name: Patch<String>,
}

/// Body of `POST /vaults/{vault_id}/credentials`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialCreateParams {
    /// How it is used, and its secrets.
    pub auth: CredentialAuthParam,
    /// For people; blanks around it are dropped.
    pub name: String,
    /// Names and values for the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// Body of `POST /vaults/{vault_id}/credentials/{credential_id}`. An absent field keeps what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialUpdateParams {
    /// New secrets for the same use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auth: Option<CredentialAuthRotateParam>,
    /// Replaced whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

/// How a credential is used, and its secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CredentialAuthParam {
    /// An OAuth access token for an MCP server.
    McpOauth {
        /// Write-only.
        access_token: Secret,
        /// HTTPS.
        mcp_server_url: String,
        /// RFC 3339.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<String>,
        /// How to get another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refresh: Option<OauthRefreshParam>,
    },
    /// A bearer token for an MCP server.
    StaticBearer {
        /// Write-only.
        token: Secret,
        /// HTTPS.
        mcp_server_url: String,
    },
    /// A secret that commands of an environment use without seeing it.
    EnvironmentVariable {
        /// Where it may be sent.
        networking: CredentialNetworking,
        /// The variable.
        secret_name: String,
        /// Write-only.
        secret_value: Secret,
    },
}

/// How another access token is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OauthRefreshParam {
    /// Who asks.
    pub client_id: String,
    /// Write-only.
    pub refresh_token: Secret,
    /// HTTPS.
    pub token_endpoint: String,
    /// How the client proves who it is.
    pub token_endpoint_auth: TokenEndpointAuthParam,
    /// What it is for, as a URI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Scopes, separated by blanks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
}

/// How a client proves to a token endpoint who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TokenEndpointAuthParam {
    /// It does not.
    None,
    /// By HTTP Basic authentication.
    ClientSecretBasic {
        /// Write-only.
        client_secret: Secret,
    },
    /// By its secret in the request's body.
    ClientSecretPost {
        /// Write-only.
        client_secret: Secret,
    },
}

/// New secrets of a credential. What it is for can't change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CredentialAuthRotateParam {
    /// Of an OAuth access token.
    McpOauth {
        /// The new one; absent: the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        access_token: Option<Secret>,
        /// RFC 3339; null: not known. Absent: the same, or not known if there is a new access token.
        #[serde(default, skip_serializing_if = "Patch::is_keep")]
        expires_at: Patch<String>,
        /// New secrets of the way to get another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refresh: Option<OauthRefreshRotateParam>,
    },
    /// Of a bearer token.
    StaticBearer {
        /// The new one.
        token: Secret,
    },
    /// Of a variable.
    EnvironmentVariable {
        /// The new one.
        secret_value: Secret,
    },
}

/// New secrets of the way to get another access token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OauthRefreshRotateParam {
    /// The new one; absent: the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<Secret>,
    /// Scopes; null: none.
    #[serde(default, skip_serializing_if = "Patch::is_keep")]
    pub scope: Patch<String>,
    /// A new secret of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint_auth: Option<TokenEndpointAuthRotateParam>,
}

/// A new secret of a client that proves who it is in the same way as before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TokenEndpointAuthRotateParam {
    /// By HTTP Basic authentication.
    ClientSecretBasic {
        /// The new one; absent: the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_secret: Option<Secret>,
    },
    /// By its secret in the request's body.
    ClientSecretPost {
        /// The new one; absent: the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        client_secret: Option<Secret>,
    },
}
