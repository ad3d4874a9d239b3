//! What of a credential is shown and what is sealed, and how new secrets replace old ones. Pure.

use std::collections::BTreeMap;

use super::error::EngineError;
use crate::api::{
    CredentialAuth, CredentialAuthParam, CredentialAuthRotateParam, CredentialNetworking,
    OauthRefresh, OauthRefreshRotateParam, Patch, Secret, TokenEndpointAuth,
    TokenEndpointAuthParam, TokenEndpointAuthRotateParam,
};

/// A credential's secrets by the name of their field.
pub(super) type Secrets = BTreeMap<String, Secret>;

const ACCESS_TOKEN: &str = "access_token";
const REFRESH_TOKEN: &str = "refresh_token";
const CLIENT_SECRET: &str = "client_secret";
pub(super) const TOKEN: &str = "token";
const SECRET_VALUE: &str = "secret_value";

/// What is shown of a credential, and what is sealed.
pub(super) fn taken_apart(auth: CredentialAuthParam) -> (CredentialAuth, Secrets) {
    let mut secrets = Secrets::new();
    let auth = match auth {
        CredentialAuthParam::McpOauth {
            access_token,
            mcp_server_url,
            expires_at,
            refresh,
        } => {
            secrets.insert(ACCESS_TOKEN.into(), access_token);
            let refresh = refresh.map(|refresh| {
                secrets.insert(REFRESH_TOKEN.into(), refresh.refresh_token);
                let mut keep = |secret| drop(secrets.insert(CLIENT_SECRET.into(), secret));
                let proof = match refresh.token_endpoint_auth {
                    TokenEndpointAuthParam::None => TokenEndpointAuth::None,
                    TokenEndpointAuthParam::ClientSecretBasic { client_secret } => {
                        keep(client_secret);
                        TokenEndpointAuth::ClientSecretBasic
                    }
                    TokenEndpointAuthParam::ClientSecretPost { client_secret } => {
                        keep(client_secret);
                        TokenEndpointAuth::ClientSecretPost
                    }
                };
                OauthRefresh {
                    client_id: refresh.client_id,
                    resource: refresh.resource,
                    scope: refresh.scope,
                    token_endpoint: refresh.token_endpoint,
                    token_endpoint_auth: proof,
                }
            });
            CredentialAuth::McpOauth {
                expires_at,
                mcp_server_url,
                refresh,
            }
        }
        CredentialAuthParam::StaticBearer {
            token,
            mcp_server_url,
        } => {
            secrets.insert(TOKEN.into(), token);
            CredentialAuth::StaticBearer { mcp_server_url }
        }
        CredentialAuthParam::EnvironmentVariable {
            networking,
            secret_name,
            secret_value,
        } => {
            secrets.insert(SECRET_VALUE.into(), secret_value);
            CredentialAuth::EnvironmentVariable {
                networking: lower_case(networking),
                secret_name,
            }
        }
    };
    (auth, secrets)
}

fn lower_case(networking: CredentialNetworking) -> CredentialNetworking {
    match networking {
        CredentialNetworking::Unrestricted => CredentialNetworking::Unrestricted,
        CredentialNetworking::Limited { allowed_hosts } => {
            let hosts = allowed_hosts.iter().map(|host| host.to_ascii_lowercase());
            CredentialNetworking::Limited {
                allowed_hosts: hosts.collect(),
            }
        }
    }
}

/// Replaces secrets of a credential; what they are for stays as it is.
pub(super) fn rotate(
    auth: &mut CredentialAuth,
    secrets: &mut Secrets,
    given: &CredentialAuthRotateParam,
) -> Result<(), EngineError> {
    let mut keep = |name: &str, secret: &Option<Secret>| {
        if let Some(secret) = secret {
            secrets.insert(name.to_owned(), secret.clone());
        }
    };
    match (auth, given) {
        (
            CredentialAuth::McpOauth {
                expires_at,
                refresh,
                ..
            },
            CredentialAuthRotateParam::McpOauth {
                access_token,
                expires_at: new_expiry,
                refresh: new_refresh,
            },
        ) => {
            keep(ACCESS_TOKEN, access_token);
            match new_expiry {
                // What is known of the old token says nothing about the new one.
                Patch::Keep if access_token.is_some() => *expires_at = None,
                other => other.clone().apply(expires_at),
            }
            match (refresh, new_refresh) {
                (_, None) => Ok(()),
                (Some(refresh), Some(new)) => {
                    keep(REFRESH_TOKEN, &new.refresh_token);
                    new.scope.clone().apply(&mut refresh.scope);
                    keep(CLIENT_SECRET, new_client_secret(refresh, new)?);
                    Ok(())
                }
                (None, Some(_)) => Err(EngineError::invalid(
                    "auth.refresh",
                    "this credential can't be refreshed; make a new one",
                )),
            }
        }
        (
            CredentialAuth::StaticBearer { .. },
            CredentialAuthRotateParam::StaticBearer { token },
        ) => {
            keep(TOKEN, &Some(token.clone()));
            Ok(())
        }
        (
            CredentialAuth::EnvironmentVariable { .. },
            CredentialAuthRotateParam::EnvironmentVariable { secret_value },
        ) => {
            keep(SECRET_VALUE, &Some(secret_value.clone()));
            Ok(())
        }
        (
            CredentialAuth::McpOauth { .. }
            | CredentialAuth::StaticBearer { .. }
            | CredentialAuth::EnvironmentVariable { .. },
            _,
        ) => Err(EngineError::invalid(
            "auth.type",
            "the type of a credential can't change",
        )),
    }
}

/// The new secret of the client, if there is one. The way it proves who it is can't change.
fn new_client_secret<'a>(
    refresh: &OauthRefresh,
    new: &'a OauthRefreshRotateParam,
) -> Result<&'a Option<Secret>, EngineError> {
    match (&refresh.token_endpoint_auth, &new.token_endpoint_auth) {
        (_, None) => Ok(&None),
        (
            TokenEndpointAuth::ClientSecretBasic,
            Some(TokenEndpointAuthRotateParam::ClientSecretBasic { client_secret }),
        )
        | (
            TokenEndpointAuth::ClientSecretPost,
            Some(TokenEndpointAuthRotateParam::ClientSecretPost { client_secret }),
        ) => Ok(client_secret),
        (
            TokenEndpointAuth::None
            | TokenEndpointAuth::ClientSecretBasic
            | TokenEndpointAuth::ClientSecretPost,
            Some(_),
        ) => Err(EngineError::invalid(
            "auth.refresh.token_endpoint_auth.type",
            "how the client proves who it is can't change",
        )),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::api::{parse_credential_create, parse_credential_update};

    fn oauth() -> (CredentialAuth, Secrets) {
        let body = json!({"name": "n", "auth": {
            "type": "mcp_oauth", "access_token": "sk-access", "mcp_server_url": "https://a.example.org",
            "expires_at": "2030-01-01T00:00:00Z",
            "refresh": {
                "client_id": "c", "refresh_token": "sk-refresh", "token_endpoint": "https://a.example.org",
                "token_endpoint_auth": {"type": "client_secret_post", "client_secret": "sk-client"},
            },
        }});
        let params = parse_credential_create(body.to_string().as_bytes()).expect("valid");
        taken_apart(params.auth)
    }

    fn revealed(secrets: &Secrets) -> Vec<(&str, &str)> {
        let all = secrets.iter();
        all.map(|(name, secret)| (name.as_str(), secret.reveal()))
            .collect()
    }

    #[test]
    fn every_secret_is_sealed_and_none_is_shown() {
        let (auth, secrets) = oauth();
        assert_eq!(
            revealed(&secrets),
            [
                ("access_token", "sk-access"),
                ("client_secret", "sk-client"),
                ("refresh_token", "sk-refresh")
            ]
        );
        let shown = serde_json::to_string(&auth).expect("serialises");
        for (_, secret) in revealed(&secrets) {
            assert!(!shown.contains(secret), "{shown}");
        }
    }

    #[test]
    fn only_what_is_given_is_replaced() {
        let (mut auth, mut secrets) = oauth();
        let body = json!({"auth": {"type": "mcp_oauth", "refresh": {
            "token_endpoint_auth": {"type": "client_secret_post", "client_secret": "new"},
        }}});
        let params = parse_credential_update(body.to_string().as_bytes()).expect("valid");
        let before = auth.clone();
        assert_eq!(
            rotate(&mut auth, &mut secrets, &params.auth.expect("given")),
            Ok(())
        );
        assert_eq!(auth, before);
        assert_eq!(
            revealed(&secrets),
            [
                ("access_token", "sk-access"),
                ("client_secret", "new"),
                ("refresh_token", "sk-refresh")
            ]
        );
    }
}
