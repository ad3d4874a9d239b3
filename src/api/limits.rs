//! Rules about a request body that its types do not show, checked with nothing but the body.
//!
//! What needs a look at stored records (a pending call, a template's policy) is the engine's. Limits on text count
//! characters where the contract does, bytes where they protect this server.

mod bounds;
mod environment;
mod input;
mod tool;
mod vault;

use crate::api::{
    AgentCreateParams, AgentUpdateParams, ApiError, CredentialCreateParams, CredentialUpdateParams,
    EnvironmentParam, EventCreateParams, Metadata, SessionCreateParams, SessionUpdateParams,
    VaultCreateParams, VaultUpdateParams,
};

pub use bounds::{BOUNDS, Bound, bound};
pub use environment::{
    MAX_ALLOWED_DOMAINS, MAX_CAPABILITY_DIRECTORIES, MAX_FILES, MAX_INLINE_BYTES,
    MAX_INLINE_FILE_BYTES, check_environment_file, check_template_create, check_template_update,
    check_workspace_directory,
};
pub use vault::{MAX_ALLOWED_HOSTS, MAX_NAME_BYTES, MAX_SECRET_BYTES};

/// Pairs of one resource's metadata at most.
pub const MAX_METADATA_PAIRS: usize = 16;
/// Characters of a metadata key at most.
pub const MAX_METADATA_KEY_CHARS: usize = 64;
/// Characters of a metadata value at most.
pub const MAX_METADATA_VALUE_CHARS: usize = 512;
/// Text of one input at most, over all its messages; this project's own limit.
pub const MAX_INPUT_TEXT_BYTES: usize = 1 << 20;
/// Tools of one Agent at most, as compact JSON with defaults filled in.
pub const MAX_TOOLS_BYTES: usize = 3 << 20;

/// What the types of `POST /agents` do not show.
pub fn check_agent_create(params: &AgentCreateParams) -> Result<(), ApiError> {
    not_empty("model", &params.model)?;
    if let Some(metadata) = &params.metadata {
        check_metadata(metadata)?;
    }
    tool::check_saved("tools", params.tools.as_deref().unwrap_or_default())
}

/// What the types of `POST /agents/{agent_id}` do not show.
pub fn check_agent_update(params: &AgentUpdateParams) -> Result<(), ApiError> {
    if let Some(model) = &params.model {
        not_empty("model", model)?;
    }
    if let Some(metadata) = params.metadata.as_set() {
        check_metadata(metadata)?;
    }
    match params.tools.as_set() {
        Some(tools) => tool::check_saved("tools", tools),
        None => Ok(()),
    }
}

/// What the types of `POST /agents/sessions` do not show.
pub fn check_session_create(params: &SessionCreateParams) -> Result<(), ApiError> {
    let agent = params.agent.as_ref();
    let model = agent.and_then(|agent| agent.model.as_deref());
    if model.is_none() && params.agent_id.is_none() {
        return Err(ApiError::invalid_request(
            "agent.model",
            "Missing required parameter: 'agent.model'. It is required without 'agent_id'.",
        ));
    }
    if let Some(id) = &params.agent_id {
        not_empty("agent_id", id)?;
    }
    if let Some(model) = model {
        not_empty("agent.model", model)?;
    }
    if let Some(tools) = agent.and_then(|agent| agent.tools.as_set()) {
        tool::check("agent.tools", tools)?;
    }
    environment::check("environment", &params.environment)?;
    if let Some(metadata) = &params.metadata {
        check_metadata(metadata)?;
    }
    check_first_input(params)?;
    if let Some(input) = &params.input {
        input::check_session_input("input", input)?;
    }
    check_spend_limit(params.spend_control.and_then(|control| control.limit))
}

fn check_first_input(params: &SessionCreateParams) -> Result<(), ApiError> {
    let streams = params.stream == Some(true);
    if params.stream_options.is_some() && !streams {
        return Err(ApiError::invalid_request(
            "stream_options",
            "Invalid 'stream_options': it is allowed only when 'stream' is true.",
        ));
    }
    let why = match params.environment {
        EnvironmentParam::None => "the environment is 'none'",
        EnvironmentParam::OpenaiHosted(_) if streams => "'stream' is true",
        EnvironmentParam::OpenaiHosted(_) | EnvironmentParam::SelfHosted { .. } => return Ok(()),
    };
    match params.input {
        Some(_) => Ok(()),
        None => Err(ApiError::invalid_request(
            "input",
            format!("Missing required parameter: 'input'. It is required when {why}."),
        )),
    }
}

/// What the types of `POST /agents/sessions/{id}` do not show.
pub fn check_session_update(params: &SessionUpdateParams) -> Result<(), ApiError> {
    if let Some(agent) = &params.agent {
        if let Some(model) = &agent.model {
            not_empty("agent.model", model)?;
        }
        if let Some(tools) = agent.tools.as_set() {
            tool::check("agent.tools", tools)?;
        }
    }
    if let Some(metadata) = params.metadata.as_set() {
        check_metadata(metadata)?;
    }
    check_spend_limit(
        params
            .spend_control
            .as_set()
            .and_then(|control| control.limit),
    )
}

/// What the types of `POST /agents/sessions/{id}/events` do not show.
pub fn check_events(params: &EventCreateParams) -> Result<(), ApiError> {
    if params.events.is_empty() {
        return Err(empty_array("events"));
    }
    for (i, event) in params.events.iter().enumerate() {
        input::check_event(&format!("events[{i}]"), event)?;
    }
    Ok(())
}

/// What the types of `POST /vaults` do not show.
pub fn check_vault_create(params: &VaultCreateParams) -> Result<(), ApiError> {
    if let Some(name) = &params.name {
        vault::check_name(name)?;
    }
    params.metadata.as_ref().map_or(Ok(()), check_metadata)
}

/// What the types of `POST /vaults/{vault_id}` do not show.
pub fn check_vault_update(params: &VaultUpdateParams) -> Result<(), ApiError> {
    if let Some(name) = params.name.as_set() {
        vault::check_name(name)?;
    }
    params.metadata.as_ref().map_or(Ok(()), check_metadata)
}

/// What the types of `POST /vaults/{vault_id}/credentials` do not show.
pub fn check_credential_create(params: &CredentialCreateParams) -> Result<(), ApiError> {
    vault::check_name(&params.name)?;
    vault::check_auth(&params.auth)?;
    params.metadata.as_ref().map_or(Ok(()), check_metadata)
}

/// What the types of `POST /vaults/{vault_id}/credentials/{credential_id}` do not show.
pub fn check_credential_update(params: &CredentialUpdateParams) -> Result<(), ApiError> {
    if let Some(auth) = &params.auth {
        vault::check_rotation(auth)?;
    }
    params.metadata.as_ref().map_or(Ok(()), check_metadata)
}

/// Metadata of any resource, under the field `metadata`.
pub fn check_metadata(metadata: &Metadata) -> Result<(), ApiError> {
    if metadata.len() > MAX_METADATA_PAIRS {
        return Err(ApiError::invalid_request(
            "metadata",
            format!(
                "Invalid 'metadata': too many pairs. Expected an object with at most \
                 {MAX_METADATA_PAIRS} pairs, but got {} instead.",
                metadata.len()
            ),
        ));
    }
    for (key, value) in metadata {
        let chars = key.chars().count();
        if chars > MAX_METADATA_KEY_CHARS {
            let start: String = key.chars().take(MAX_METADATA_KEY_CHARS).collect();
            return Err(ApiError::invalid_request(
                "metadata",
                format!(
                    "Invalid 'metadata': key '{start}…' too long. Expected a key with maximum \
                     length {MAX_METADATA_KEY_CHARS}, but got one with length {chars} instead."
                ),
            ));
        }
        check_text(
            &format!("metadata.{key}"),
            value.chars().count(),
            MAX_METADATA_VALUE_CHARS,
        )?;
    }
    Ok(())
}

fn check_spend_limit(limit: Option<u64>) -> Result<(), ApiError> {
    match limit {
        Some(0) => Err(ApiError::invalid_request(
            "spend_control.limit",
            "Invalid 'spend_control.limit': expected a positive number of cents, or null for no limit.",
        )),
        Some(_) | None => Ok(()),
    }
}

fn not_empty(param: &str, text: &str) -> Result<(), ApiError> {
    match text {
        "" => Err(ApiError::invalid_request(
            param,
            format!(
                "Invalid '{param}': empty string. \
                 Expected a string with minimum length 1, but got an empty string instead."
            ),
        )),
        _ => Ok(()),
    }
}

fn empty_array(param: &str) -> ApiError {
    ApiError::invalid_request(
        param,
        format!(
            "Invalid '{param}': empty array. \
             Expected an array with minimum length 1, but got an empty array instead."
        ),
    )
}

fn check_array(param: &str, length: usize, max: usize) -> Result<(), ApiError> {
    if length <= max {
        return Ok(());
    }
    Err(ApiError::invalid_request(
        param,
        format!(
            "Invalid '{param}': array too long. Expected an array with maximum length {max}, \
             but got an array with length {length} instead."
        ),
    ))
}

fn check_text(param: &str, length: usize, max: usize) -> Result<(), ApiError> {
    if length <= max {
        return Ok(());
    }
    Err(ApiError::invalid_request(
        param,
        format!(
            "Invalid '{param}': string too long. Expected a string with maximum length {max}, \
             but got a string with length {length} instead."
        ),
    ))
}

/// Length of a value as compact JSON.
fn json_bytes<T: serde::Serialize>(value: &T) -> usize {
    serde_json::to_vec(value)
        .expect("wire types hold only what JSON can write")
        .len()
}
