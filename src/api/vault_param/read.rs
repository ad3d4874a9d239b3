//! Strict reading of requests about vaults and credentials.

use crate::api::strict::{Node, Read};
use crate::api::words::words;
use crate::api::{
    ApiError, CredentialAuthParam, CredentialAuthRotateParam, CredentialCreateParams,
    CredentialNetworking, CredentialUpdateParams, OauthRefreshParam, OauthRefreshRotateParam,
    TokenEndpointAuthParam, TokenEndpointAuthRotateParam, VaultCreateParams, VaultUpdateParams,
};

words! {
    /// The `type` of a credential.
    enum AuthKind {
        McpOauth = "mcp_oauth",
        StaticBearer = "static_bearer",
        EnvironmentVariable = "environment_variable",
    }

    /// The `type` of a client's proof.
    enum ProofKind {
        None = "none",
        Basic = "client_secret_basic",
        Post = "client_secret_post",
    }

    /// The `type` of a proof that has a secret.
    enum SecretProofKind {
        Basic = "client_secret_basic",
        Post = "client_secret_post",
    }

    /// The `type` of a credential's destinations.
    enum NetworkingKind {
        Unrestricted = "unrestricted",
        Limited = "limited",
    }
}

impl Read for VaultCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = VaultCreateParams {
            metadata: fields.nullable("metadata")?,
            name: fields.optional("name")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for VaultUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = VaultUpdateParams {
            metadata: fields.optional("metadata")?,
            name: fields.patch("name")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for CredentialCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = CredentialCreateParams {
            auth: fields.required("auth")?,
            name: fields.required("name")?,
            metadata: fields.optional("metadata")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for CredentialUpdateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = CredentialUpdateParams {
            auth: fields.optional("auth")?,
            metadata: fields.optional("metadata")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for CredentialAuthParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let auth = match fields.tag("type")? {
            AuthKind::McpOauth => CredentialAuthParam::McpOauth {
                access_token: fields.required("access_token")?,
                mcp_server_url: fields.required("mcp_server_url")?,
                expires_at: fields.nullable("expires_at")?,
                refresh: fields.nullable("refresh")?,
            },
            AuthKind::StaticBearer => CredentialAuthParam::StaticBearer {
                token: fields.required("token")?,
                mcp_server_url: fields.required("mcp_server_url")?,
            },
            AuthKind::EnvironmentVariable => CredentialAuthParam::EnvironmentVariable {
                networking: fields.required("networking")?,
                secret_name: fields.required("secret_name")?,
                secret_value: fields.required("secret_value")?,
            },
        };
        fields.end()?;
        Ok(auth)
    }
}

impl Read for CredentialNetworking {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let networking = match fields.tag("type")? {
            NetworkingKind::Unrestricted => CredentialNetworking::Unrestricted,
            NetworkingKind::Limited => CredentialNetworking::Limited {
                allowed_hosts: fields.required("allowed_hosts")?,
            },
        };
        fields.end()?;
        Ok(networking)
    }
}

impl Read for OauthRefreshParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let refresh = OauthRefreshParam {
            client_id: fields.required("client_id")?,
            refresh_token: fields.required("refresh_token")?,
            token_endpoint: fields.required("token_endpoint")?,
            token_endpoint_auth: fields.required("token_endpoint_auth")?,
            resource: fields.nullable("resource")?,
            scope: fields.nullable("scope")?,
        };
        fields.end()?;
        Ok(refresh)
    }
}

impl Read for TokenEndpointAuthParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let auth = match fields.tag("type")? {
            ProofKind::None => TokenEndpointAuthParam::None,
            ProofKind::Basic => TokenEndpointAuthParam::ClientSecretBasic {
                client_secret: fields.required("client_secret")?,
            },
            ProofKind::Post => TokenEndpointAuthParam::ClientSecretPost {
                client_secret: fields.required("client_secret")?,
            },
        };
        fields.end()?;
        Ok(auth)
    }
}

impl Read for CredentialAuthRotateParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let auth = match fields.tag("type")? {
            AuthKind::McpOauth => CredentialAuthRotateParam::McpOauth {
                access_token: fields.nullable("access_token")?,
                expires_at: fields.patch("expires_at")?,
                refresh: fields.nullable("refresh")?,
            },
            AuthKind::StaticBearer => CredentialAuthRotateParam::StaticBearer {
                token: fields.required("token")?,
            },
            AuthKind::EnvironmentVariable => CredentialAuthRotateParam::EnvironmentVariable {
                secret_value: fields.required("secret_value")?,
            },
        };
        fields.end()?;
        Ok(auth)
    }
}

impl Read for OauthRefreshRotateParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let refresh = OauthRefreshRotateParam {
            refresh_token: fields.nullable("refresh_token")?,
            scope: fields.patch("scope")?,
            token_endpoint_auth: fields.nullable("token_endpoint_auth")?,
        };
        fields.end()?;
        Ok(refresh)
    }
}

impl Read for TokenEndpointAuthRotateParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let auth = match fields.tag("type")? {
            SecretProofKind::Basic => TokenEndpointAuthRotateParam::ClientSecretBasic {
                client_secret: fields.nullable("client_secret")?,
            },
            SecretProofKind::Post => TokenEndpointAuthRotateParam::ClientSecretPost {
                client_secret: fields.nullable("client_secret")?,
            },
        };
        fields.end()?;
        Ok(auth)
    }
}
