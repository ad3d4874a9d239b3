//! Rules of tools.

use std::collections::HashSet;

use super::{MAX_TOOLS_BYTES, check_array, json_bytes, not_empty};
use crate::api::{
    AgentToolParam, ApiError, PersistedAgentToolParam, PersistedMcpTransportParam,
    WebSearchToolParam,
};

/// Characters of a function's name at most.
pub(super) const MAX_NAME_CHARS: usize = 64;
/// Domains of a web search at most.
pub(super) const MAX_SEARCH_DOMAINS: usize = 100;
/// Headers that carry credentials. A saved Agent is shown to every reader, headers included, so these are refused there.
const CREDENTIAL_HEADERS: [&str; 4] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "x-api-key",
];

pub(super) fn check(path: &str, tools: &[AgentToolParam]) -> Result<(), ApiError> {
    let mut names = Names::default();
    for (i, tool) in tools.iter().enumerate() {
        let path = format!("{path}[{i}]");
        match tool {
            AgentToolParam::Function(function) => names.check(&path, &function.name)?,
            AgentToolParam::Mcp(mcp) => {
                not_empty(&format!("{path}.server_label"), &mcp.server_label)?;
            }
            AgentToolParam::WebSearch(search) => check_search(&path, search)?,
            AgentToolParam::ToolSearch
            | AgentToolParam::ProgrammaticToolCalling(_)
            | AgentToolParam::ComputerUse(_)
            | AgentToolParam::Automations => {}
        }
    }
    let shown: Vec<_> = tools.iter().filter_map(AgentToolParam::shown).collect();
    check_size(path, json_bytes(&shown))
}

pub(super) fn check_saved(path: &str, tools: &[PersistedAgentToolParam]) -> Result<(), ApiError> {
    let mut names = Names::default();
    for (i, tool) in tools.iter().enumerate() {
        let path = format!("{path}[{i}]");
        match tool {
            PersistedAgentToolParam::Function(function) => names.check(&path, &function.name)?,
            PersistedAgentToolParam::Mcp(mcp) => {
                not_empty(&format!("{path}.server_label"), &mcp.server_label)?;
                check_saved_transport(&path, &mcp.transport)?;
            }
            PersistedAgentToolParam::WebSearch(search) => check_search(&path, search)?,
            PersistedAgentToolParam::ToolSearch
            | PersistedAgentToolParam::ProgrammaticToolCalling(_)
            | PersistedAgentToolParam::ComputerUse(_)
            | PersistedAgentToolParam::Automations => {}
        }
    }
    let shown: Vec<_> = tools.iter().map(PersistedAgentToolParam::shown).collect();
    check_size(path, json_bytes(&shown))
}

/// Function names seen so far in one list.
#[derive(Default)]
struct Names<'a>(HashSet<&'a str>);

impl<'a> Names<'a> {
    fn check(&mut self, path: &str, name: &'a str) -> Result<(), ApiError> {
        let param = format!("{path}.name");
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.bytes().all(allowed) {
            return Err(ApiError::invalid_request(
                &param,
                format!(
                    "Invalid '{param}': string does not match pattern. \
                     Expected a string that matches the pattern '^[a-zA-Z0-9_-]{{1,{MAX_NAME_CHARS}}}$'."
                ),
            ));
        }
        if !self.0.insert(name) {
            return Err(ApiError::invalid_request(
                &param,
                format!("Invalid '{param}': another function is named '{name}' too."),
            ));
        }
        Ok(())
    }
}

fn check_saved_transport(
    path: &str,
    transport: &PersistedMcpTransportParam,
) -> Result<(), ApiError> {
    let PersistedMcpTransportParam::Http {
        headers: Some(headers),
        ..
    } = transport
    else {
        return Ok(());
    };
    let is_credential =
        |name: &&String| CREDENTIAL_HEADERS.contains(&name.trim().to_ascii_lowercase().as_str());
    match headers.keys().find(is_credential) {
        None => Ok(()),
        Some(name) => {
            let param = format!("{path}.transport.headers.{name}");
            Err(ApiError::invalid_request(
                &param,
                format!(
                    "Invalid '{param}': a saved Agent can't hold credentials. \
                     Give them when a Session is created, or name a vault's credential by 'credential_id'."
                ),
            ))
        }
    }
}

fn check_search(path: &str, search: &WebSearchToolParam) -> Result<(), ApiError> {
    let domains = search.allowed_domains.as_deref().unwrap_or_default();
    check_array(
        &format!("{path}.allowed_domains"),
        domains.len(),
        MAX_SEARCH_DOMAINS,
    )
}

fn check_size(path: &str, size_bytes: usize) -> Result<(), ApiError> {
    match size_bytes {
        0..=MAX_TOOLS_BYTES => Ok(()),
        _ => Err(ApiError::invalid_request(
            path,
            format!(
                "Invalid '{path}': too large. \
                 Expected at most {MAX_TOOLS_BYTES} bytes of compact JSON, but got {size_bytes}."
            ),
        )),
    }
}
