//! From the bytes of a request body to its type, strictly, with the rules that need only the body.

use serde_json::Value;

use crate::api::strict::{Node, Read};
use crate::api::{
    AgentCreateParams, AgentUpdateParams, ApiError, CredentialCreateParams, CredentialUpdateParams,
    EventCreateParams, HostedFileParam, SessionCreateParams, SessionUpdateParams,
    TemplateCreateParams, TemplateUpdateParams, VaultCreateParams, VaultUpdateParams, limits,
};

/// Reads the body of `POST /agents`.
pub fn parse_agent_create(body: &[u8]) -> Result<AgentCreateParams, ApiError> {
    let params = read(body)?;
    limits::check_agent_create(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/{agent_id}`; an empty one changes nothing.
pub fn parse_agent_update(body: &[u8]) -> Result<AgentUpdateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_agent_update(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/sessions`.
pub fn parse_session_create(body: &[u8]) -> Result<SessionCreateParams, ApiError> {
    let params = read(body)?;
    limits::check_session_create(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/sessions/{id}`; an empty one changes nothing.
pub fn parse_session_update(body: &[u8]) -> Result<SessionUpdateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_session_update(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/sessions/{id}/events`.
pub fn parse_events(body: &[u8]) -> Result<EventCreateParams, ApiError> {
    let params = read(body)?;
    limits::check_events(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/environments/templates`; an empty one makes a template that says nothing.
pub fn parse_template_create(body: &[u8]) -> Result<TemplateCreateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_template_create(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/environments/templates/{template_id}`; an empty one changes nothing.
pub fn parse_template_update(body: &[u8]) -> Result<TemplateUpdateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_template_update(&params)?;
    Ok(params)
}

/// Reads the body of `POST /agents/environments/{environment_id}/files`.
pub fn parse_environment_file(body: &[u8]) -> Result<HostedFileParam, ApiError> {
    let file = read(body)?;
    limits::check_environment_file(&file)?;
    Ok(file)
}

/// Reads the body of `POST /vaults`; an empty one makes a vault without a name.
pub fn parse_vault_create(body: &[u8]) -> Result<VaultCreateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_vault_create(&params)?;
    Ok(params)
}

/// Reads the body of `POST /vaults/{vault_id}`; an empty one changes nothing.
pub fn parse_vault_update(body: &[u8]) -> Result<VaultUpdateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_vault_update(&params)?;
    Ok(params)
}

/// Reads the body of `POST /vaults/{vault_id}/credentials`.
pub fn parse_credential_create(body: &[u8]) -> Result<CredentialCreateParams, ApiError> {
    let params = read(body)?;
    limits::check_credential_create(&params)?;
    Ok(params)
}

/// Reads the body of `POST /vaults/{vault_id}/credentials/{credential_id}`; an empty one changes nothing.
pub fn parse_credential_update(body: &[u8]) -> Result<CredentialUpdateParams, ApiError> {
    let params = read_optional(body)?;
    limits::check_credential_update(&params)?;
    Ok(params)
}

/// The JSON of a body, not yet anything in particular.
pub fn parse_json(body: &[u8]) -> Result<Value, ApiError> {
    let text = std::str::from_utf8(body).map_err(|error| {
        ApiError::invalid_request(
            "",
            format!(
                "The request body is not valid UTF-8: byte {} does not fit.",
                error.valid_up_to()
            ),
        )
    })?;
    serde_json::from_str(text).map_err(|error| {
        ApiError::invalid_request(
            "",
            format!("The request body could not be parsed as JSON: {error}."),
        )
    })
}

fn read<T: Read>(body: &[u8]) -> Result<T, ApiError> {
    T::read(Node::root(parse_json(body)?))
}

fn read_optional<T: Read + Default>(body: &[u8]) -> Result<T, ApiError> {
    match body {
        [] => Ok(T::default()),
        _ => read(body),
    }
}
