//! Rules of vaults and credentials. No refusal repeats a secret.

use std::collections::HashSet;

use super::check_array;
use crate::api::{
    ApiError, CredentialAuthParam, CredentialAuthRotateParam, CredentialNetworking,
    OauthRefreshParam, Patch, Secret, TokenEndpointAuthParam, TokenEndpointAuthRotateParam,
};

/// Bytes of a name at most, blanks around it not counted.
pub const MAX_NAME_BYTES: usize = 256;
/// Hosts of a credential at most.
pub const MAX_ALLOWED_HOSTS: usize = 16;
/// Bytes of one secret at most; this project's own limit.
pub const MAX_SECRET_BYTES: usize = 64 << 10;
/// Bytes of an address or of another text of a credential at most; this project's own limit.
const MAX_TEXT_BYTES: usize = 2_048;
/// Variables that lead programs to a proxy or to certificates, in upper case.
const RESERVED: &[&str] = &[
    "ALL_PROXY",
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CURL_CA_BUNDLE",
    "FTP_PROXY",
    "GIT_SSL_CAINFO",
    "GRPC_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "WSS_PROXY",
    "WS_PROXY",
];

fn refuse<T>(param: &str, what: &str) -> Result<T, ApiError> {
    let message = format!("Invalid '{param}': {what}.");
    Err(ApiError::invalid_request(param, message))
}

pub(super) fn check_name(name: &str) -> Result<(), ApiError> {
    match (1..=MAX_NAME_BYTES).contains(&name.trim().len()) {
        true => Ok(()),
        false => refuse(
            "name",
            "expected 1 to 256 bytes, blanks around it not counted",
        ),
    }
}

pub(super) fn check_auth(auth: &CredentialAuthParam) -> Result<(), ApiError> {
    match auth {
        CredentialAuthParam::McpOauth {
            access_token,
            mcp_server_url,
            expires_at,
            refresh,
        } => {
            check_secret("auth.access_token", access_token)?;
            check_address("auth.mcp_server_url", mcp_server_url)?;
            if let Some(time) = expires_at {
                check_time("auth.expires_at", time)?;
            }
            refresh.as_ref().map_or(Ok(()), check_refresh)
        }
        CredentialAuthParam::StaticBearer {
            token,
            mcp_server_url,
        } => {
            check_secret("auth.token", token)?;
            check_address("auth.mcp_server_url", mcp_server_url)
        }
        CredentialAuthParam::EnvironmentVariable {
            networking,
            secret_name,
            secret_value,
        } => {
            check_networking(networking)?;
            check_variable(secret_name)?;
            check_secret("auth.secret_value", secret_value)
        }
    }
}

pub(super) fn check_rotation(auth: &CredentialAuthRotateParam) -> Result<(), ApiError> {
    match auth {
        CredentialAuthRotateParam::McpOauth {
            access_token,
            expires_at,
            refresh,
        } => {
            if let Some(token) = access_token {
                check_secret("auth.access_token", token)?;
            }
            if let Patch::Set(time) = expires_at {
                check_time("auth.expires_at", time)?;
            }
            let Some(refresh) = refresh else {
                return Ok(());
            };
            if let Some(token) = &refresh.refresh_token {
                check_secret("auth.refresh.refresh_token", token)?;
            }
            if let Patch::Set(scope) = &refresh.scope {
                check_text("auth.refresh.scope", scope)?;
            }
            match &refresh.token_endpoint_auth {
                Some(
                    TokenEndpointAuthRotateParam::ClientSecretBasic {
                        client_secret: Some(secret),
                    }
                    | TokenEndpointAuthRotateParam::ClientSecretPost {
                        client_secret: Some(secret),
                    },
                ) => check_client_secret(secret),
                Some(_) | None => Ok(()),
            }
        }
        CredentialAuthRotateParam::StaticBearer { token } => check_secret("auth.token", token),
        CredentialAuthRotateParam::EnvironmentVariable { secret_value } => {
            check_secret("auth.secret_value", secret_value)
        }
    }
}

fn check_refresh(refresh: &OauthRefreshParam) -> Result<(), ApiError> {
    check_text("auth.refresh.client_id", &refresh.client_id)?;
    check_secret("auth.refresh.refresh_token", &refresh.refresh_token)?;
    check_address("auth.refresh.token_endpoint", &refresh.token_endpoint)?;
    if let Some(resource) = &refresh.resource {
        check_text("auth.refresh.resource", resource)?;
    }
    if let Some(scope) = &refresh.scope {
        check_text("auth.refresh.scope", scope)?;
    }
    match &refresh.token_endpoint_auth {
        TokenEndpointAuthParam::None => Ok(()),
        TokenEndpointAuthParam::ClientSecretBasic { client_secret }
        | TokenEndpointAuthParam::ClientSecretPost { client_secret } => {
            check_client_secret(client_secret)
        }
    }
}

fn check_client_secret(secret: &Secret) -> Result<(), ApiError> {
    check_secret("auth.refresh.token_endpoint_auth.client_secret", secret)
}

fn check_secret(param: &str, secret: &Secret) -> Result<(), ApiError> {
    let text = secret.reveal();
    if !(1..=MAX_SECRET_BYTES).contains(&text.len()) {
        return refuse(param, "expected 1 to 65536 bytes");
    }
    match text.contains(['\r', '\n', '\0']) {
        true => refuse(param, "it has a line break or a NUL character"),
        false => Ok(()),
    }
}

fn check_text(param: &str, text: &str) -> Result<(), ApiError> {
    let length = (1..=MAX_TEXT_BYTES).contains(&text.len());
    match length && !text.chars().any(char::is_control) {
        true => Ok(()),
        false => refuse(param, "expected 1 to 2048 bytes without control characters"),
    }
}

fn check_address(param: &str, address: &str) -> Result<(), ApiError> {
    check_text(param, address)?;
    let rest = address
        .get(..8)
        .filter(|scheme| scheme.eq_ignore_ascii_case("https://"))
        .and_then(|_| address.get(8..));
    let host = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default());
    let is_one = host.is_some_and(|host| !host.is_empty() && !host.contains('@'));
    match is_one && !address.contains(char::is_whitespace) {
        true => Ok(()),
        false => refuse(param, "expected an https address without a user name"),
    }
}

fn check_time(param: &str, time: &str) -> Result<(), ApiError> {
    let parsed = time.parse::<jiff::Timestamp>();
    match parsed.is_ok() && time.contains(['T', 't']) && !time.contains('[') {
        true => Ok(()),
        false => refuse(param, "expected a time as RFC 3339 has it"),
    }
}

fn check_variable(name: &str) -> Result<(), ApiError> {
    let param = "auth.secret_name";
    let is_name = name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_name {
        let what = "expected letters, digits and underscores, not starting with a digit";
        return refuse(param, what);
    }
    let upper = name.to_ascii_uppercase();
    match upper.starts_with("CODEX_") || RESERVED.contains(&upper.as_str()) {
        true => refuse(param, "the name is reserved"),
        false => Ok(()),
    }
}

fn check_networking(networking: &CredentialNetworking) -> Result<(), ApiError> {
    let CredentialNetworking::Limited { allowed_hosts } = networking else {
        return Ok(());
    };
    let param = "auth.networking.allowed_hosts";
    if allowed_hosts.is_empty() {
        return Err(super::empty_array(param));
    }
    check_array(param, allowed_hosts.len(), MAX_ALLOWED_HOSTS)?;
    let mut seen = HashSet::new();
    for (at, host) in allowed_hosts.iter().enumerate() {
        let param = format!("{param}[{at}]");
        if !is_host(host) {
            let what = "expected a host name or an IPv4 address, and nothing else";
            return refuse(&param, what);
        }
        if !seen.insert(host.to_ascii_lowercase()) {
            return refuse(&param, "it is given twice");
        }
    }
    Ok(())
}

/// Whether this is a host name, or an IPv4 address.
fn is_host(text: &str) -> bool {
    let is_label = |label: &str| {
        let inner = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
        (1..=63).contains(&label.len()) && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    if !(1..=253).contains(&text.len()) || !text.split('.').all(is_label) {
        return false;
    }
    // What ends in a number is an address, or nothing.
    let last = text.rsplit('.').next().unwrap_or_default();
    let octet =
        |part: &str| !(part.len() > 1 && part.starts_with('0')) && part.parse::<u8>().is_ok();
    !last.bytes().all(|b| b.is_ascii_digit())
        || (text.split('.').count() == 4 && text.split('.').all(octet))
}
