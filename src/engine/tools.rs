//! Tools of a Session's Agent: which are served here, and what they may use that nobody may see.
//!
//! The values that a client gives for MCP servers are sealed in the Session's scope as one text, and read when a Turn begins. A vault's
//! credential is looked up then, too: it may have been rotated since.

use std::collections::{BTreeMap, HashSet};

use super::core::Core;
use super::credential_auth::TOKEN;
use super::credentials::{CredentialRow, credentials};
use super::error::EngineError;
use super::owned::Found;
use super::ports::{BlobScope, EnvironmentSpec, Network, ToolSecrets};
use super::sessions::Config;
use super::turn::Failure;
use crate::api::{
    Agent, AgentTool, AgentToolParam, ConnectionOrigin, CredentialAuth, HarnessChoice, McpTool,
    McpToolParam, McpTransport, McpTransportParam, PersistedAgentTool, PersistedMcpTransport,
    Secret, SessionAgent, TurnErrorCode,
};

/// Characters of a server's label at most.
const MAX_LABEL_CHARS: usize = 64;

/// What beside functions the harness of this deployment can offer to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServedTools {
    /// Tools of MCP servers.
    pub mcp: bool,
    /// Search on the web.
    pub web_search: bool,
}

impl ServedTools {
    /// Of a harness.
    pub fn of(harness: HarnessChoice) -> ServedTools {
        let is_codex = harness == HarnessChoice::Codex;
        ServedTools {
            mcp: is_codex,
            web_search: is_codex,
        }
    }
}

/// What MCP servers are shown, by their labels.
pub type SecretsByLabel = BTreeMap<String, ToolSecrets>;

/// What this deployment can't do is refused by name, not ignored.
pub(super) fn check(
    agent: &SessionAgent,
    environment: Option<&EnvironmentSpec>,
    served: ServedTools,
) -> Result<(), EngineError> {
    let mut labels = HashSet::new();
    for (at, tool) in agent.tools.iter().enumerate() {
        let path = format!("agent.tools[{at}]");
        match tool {
            AgentTool::Function(_) => {}
            AgentTool::Mcp(tool) if served.mcp => {
                check_server(&path, tool, environment)?;
                // Names in programs know no hyphen, and models are shown names like that.
                if !labels.insert(tool.server_label.replace('-', "_")) {
                    let message = "another server of this agent has this label, too";
                    return Err(EngineError::invalid(
                        &format!("{path}.server_label"),
                        message,
                    ));
                }
            }
            AgentTool::WebSearch(_) if served.web_search => {}
            AgentTool::Mcp(_) | AgentTool::WebSearch(_) => {
                let message = "tools of type mcp and web_search are served by the harness `codex` only (`harness`: `codex` of the agent or in the profile)";
                return Err(EngineError::invalid(&format!("{path}.type"), message));
            }
            AgentTool::ProgrammaticToolCalling(_)
            | AgentTool::ComputerUse(_)
            | AgentTool::Automations => {
                let message = "tools of this type are not served here: function is, and with the harness `codex` mcp and web_search (shell and apply_patch come with a managed environment)";
                return Err(EngineError::invalid(&format!("{path}.type"), message));
            }
        }
    }
    Ok(())
}

fn check_server(
    path: &str,
    tool: &McpTool<McpTransport>,
    environment: Option<&EnvironmentSpec>,
) -> Result<(), EngineError> {
    let refused = |field: &str, message: String| {
        Err(EngineError::invalid(&format!("{path}.{field}"), message))
    };
    let label = &tool.server_label;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if label.len() > MAX_LABEL_CHARS || !label.bytes().all(is_plain) {
        let message = format!("a label has at most {MAX_LABEL_CHARS} letters, digits, _ and -");
        return refused("server_label", message);
    }
    match &tool.transport {
        McpTransport::Stdio(stdio) => {
            if environment.is_none() {
                let message = "a server over stdio runs in the session's environment, and this session has none";
                return refused("transport", message.to_owned());
            }
            if stdio.command.is_empty() {
                return refused("transport.command", "it names no program".to_owned());
            }
            if tool.credential_id.is_some() {
                let message =
                    "a server over stdio is shown no credential of a vault; give it variables";
                return refused("credential_id", message.to_owned());
            }
        }
        McpTransport::Http { server_url } => {
            if !is_address(server_url) {
                let message = "it must be an http or https address without user and password";
                return refused("transport.server_url", message.to_owned());
            }
            if tool.connection_origin == ConnectionOrigin::Environment {
                let why = match environment.map(|environment| &environment.network) {
                    None => "this session has no environment",
                    Some(Network::Disabled) => "the network of the environment is disabled",
                    Some(Network::Restricted { .. } | Network::Enabled) => return Ok(()),
                };
                let message = format!("the environment can't connect to the server: {why}");
                return refused("connection_origin", message);
            }
        }
    }
    Ok(())
}

fn is_address(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    let rest = lower
        .strip_prefix("https://")
        .or_else(|| lower.strip_prefix("http://"));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
}

/// What the saved Agent's servers are shown.
pub(super) fn of_saved(agent: &Agent) -> SecretsByLabel {
    let servers = agent.tools.iter().filter_map(|tool| match tool {
        PersistedAgentTool::Mcp(tool) => Some(tool),
        _ => None,
    });
    let shown = servers.filter_map(|tool| match &tool.transport {
        PersistedMcpTransport::Http { headers, .. } if !headers.is_empty() => {
            let headers = headers.iter();
            let headers = headers.map(|(name, value)| (name.clone(), Secret::new(value.clone())));
            let secrets = ToolSecrets {
                headers: headers.collect(),
                ..ToolSecrets::default()
            };
            Some((tool.server_label.clone(), secrets))
        }
        _ => None,
    });
    shown.collect()
}

/// What servers are shown that a client gives to a Session.
pub(super) fn of_given(tools: &[AgentToolParam]) -> SecretsByLabel {
    let servers = tools.iter().filter_map(|tool| match tool {
        AgentToolParam::Mcp(tool) => Some(tool),
        _ => None,
    });
    let given = servers.map(|tool| (tool.server_label.clone(), given_to(tool)));
    given.filter(|(_, secrets)| !secrets.is_empty()).collect()
}

fn given_to(tool: &McpToolParam<McpTransportParam>) -> ToolSecrets {
    match &tool.transport {
        McpTransportParam::Http {
            authorization,
            headers,
            ..
        } => ToolSecrets {
            authorization: authorization.clone(),
            headers: headers.clone().unwrap_or_default(),
            ..ToolSecrets::default()
        },
        McpTransportParam::Stdio { env, .. } => ToolSecrets {
            env: env.clone().unwrap_or_default(),
            ..ToolSecrets::default()
        },
    }
}

/// As one text, to be sealed; `None`: there is nothing.
pub(super) fn to_seal(secrets: &SecretsByLabel) -> Option<Secret> {
    // Texts always serialise.
    let text = || serde_json::to_string(secrets).unwrap_or_default();
    (!secrets.is_empty()).then(|| Secret::new(text()))
}

/// Why a credential can't be used. Whoever made the Session has to act.
enum Unusable {
    /// There is none of this id in the Session's vaults.
    Missing,
    /// It is not for this server.
    NotFor(String),
}

impl Unusable {
    fn message(&self, id: &str) -> String {
        match self {
            Unusable::Missing => {
                format!("there is no credential {id} in the vaults of this session")
            }
            Unusable::NotFor(why) => format!("the credential {id} can't be used: {why}"),
        }
    }
}

/// The servers that are shown a credential: place among the tools, address, and the credential.
fn with_credential(
    agent: &SessionAgent,
) -> impl Iterator<Item = (usize, &McpTool<McpTransport>, &str, &str)> {
    agent
        .tools
        .iter()
        .enumerate()
        .filter_map(|(at, tool)| match tool {
            AgentTool::Mcp(tool) => match (&tool.transport, &tool.credential_id) {
                (McpTransport::Http { server_url }, Some(id)) => {
                    Some((at, tool, server_url.as_str(), id.as_str()))
                }
                _ => None,
            },
            _ => None,
        })
}

impl Core {
    /// Checks that the credentials which an Agent's servers are to be shown are there and meant for them.
    pub(super) async fn check_credentials(
        &self,
        owner: &str,
        vaults: &[String],
        agent: &SessionAgent,
    ) -> Result<(), EngineError> {
        for (at, _, url, id) in with_credential(agent) {
            if let Err(unusable) = self.credential_for(owner, vaults, url, id).await? {
                let param = format!("agent.tools[{at}].credential_id");
                return Err(EngineError::invalid(&param, unusable.message(id)));
            }
        }
        Ok(())
    }

    /// What the servers of a Session's Agent are shown now, or why the Turn fails.
    pub(super) async fn tool_secrets(
        &self,
        owner: &str,
        scope: &BlobScope,
        config: &Config,
    ) -> Result<Result<SecretsByLabel, Failure>, EngineError> {
        let mut all = match &config.tool_secrets {
            None => SecretsByLabel::new(),
            Some(at) => {
                let sealed = self.secrets.get(scope, at).await?;
                let read = serde_json::from_str(sealed.reveal());
                read.map_err(|_| EngineError::Damaged {
                    key: scope.session.clone(),
                    why: "its sealed value holds no secrets of tools".to_owned(),
                })?
            }
        };
        for (_, tool, url, id) in with_credential(&config.agent) {
            let found = self
                .credential_for(owner, &config.vault_ids, url, id)
                .await?;
            let row = match found {
                Ok(row) => row,
                Err(unusable) => {
                    return Ok(Err(Failure {
                        code: TurnErrorCode::AuthenticationError.to_string(),
                        message: format!(
                            "MCP server {}: {}",
                            tool.server_label,
                            unusable.message(id)
                        ),
                    }));
                }
            };
            let values = self.unsealed(owner, &row.sealed).await?;
            if let Some(token) = values.get(TOKEN) {
                let shown = all.entry(tool.server_label.clone()).or_default();
                shown.authorization = Some(Secret::new(format!("Bearer {}", token.reveal())));
            }
        }
        Ok(Ok(all))
    }

    async fn credential_for(
        &self,
        owner: &str,
        vaults: &[String],
        url: &str,
        id: &str,
    ) -> Result<Result<CredentialRow, Unusable>, EngineError> {
        for vault in vaults {
            let found = self.owned(owner, &credentials(vault), id).await;
            let row: CredentialRow = match found {
                Ok(Found { row, .. }) => row,
                Err(EngineError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
            let why = match &row.auth {
                CredentialAuth::StaticBearer { mcp_server_url } if mcp_server_url == url => {
                    return Ok(Ok(row));
                }
                CredentialAuth::StaticBearer { mcp_server_url } => {
                    format!("it is for {mcp_server_url}, and the server is at {url}")
                }
                CredentialAuth::McpOauth { .. } => {
                    "credentials of type mcp_oauth are kept and not used yet; static_bearer is used"
                        .to_owned()
                }
                CredentialAuth::EnvironmentVariable { .. } => {
                    "it is for commands of an environment".to_owned()
                }
            };
            return Ok(Err(Unusable::NotFor(why)));
        }
        Ok(Err(Unusable::Missing))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::ports::Isolation;

    const ALL: ServedTools = ServedTools {
        mcp: true,
        web_search: true,
    };

    fn agent(tools: Value) -> SessionAgent {
        let mut agent = SessionAgent::of_model("agent_1", "m");
        agent.tools = serde_json::from_value(tools).expect("they are tools");
        agent
    }

    fn mcp(label: &str, transport: Value, origin: &str) -> Value {
        json!({"type": "mcp", "allowed_tools": null, "connection_origin": origin, "credential_id": null,
            "request_metadata": {}, "required": false, "server_label": label, "transport": transport})
    }

    fn stdio() -> Value {
        json!({"type": "stdio", "command": "calc", "args": [], "cwd": "/workspace", "env_vars": []})
    }

    fn http(url: &str) -> Value {
        json!({"type": "http", "server_url": url})
    }

    fn search() -> Value {
        json!({"type": "web_search", "allowed_domains": null, "context_size": "low", "location": null, "mode": "live"})
    }

    fn environment(network: Network) -> EnvironmentSpec {
        EnvironmentSpec {
            id: "env_a".into(),
            isolation: Isolation::Sandbox,
            network,
            env: BTreeMap::new(),
        }
    }

    /// The field that is refused.
    fn refused(tools: Value, environment: Option<&EnvironmentSpec>, served: ServedTools) -> String {
        match check(&agent(tools), environment, served) {
            Ok(()) => "nothing".to_owned(),
            Err(EngineError::Invalid { param, .. }) => param.unwrap_or_default(),
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn what_the_harness_cant_offer_is_refused_by_its_place() {
        let place = environment(Network::Disabled);
        let tools = || json!([mcp("a", stdio(), "service"), search()]);
        assert_eq!(refused(tools(), Some(&place), ALL), "nothing");
        let none = ServedTools::default();
        assert_eq!(refused(tools(), Some(&place), none), "agent.tools[0].type");
        let mcp_alone = ServedTools { mcp: true, ..none };
        assert_eq!(
            refused(tools(), Some(&place), mcp_alone),
            "agent.tools[1].type"
        );
        let other = json!([{"type": "automations"}]);
        assert_eq!(refused(other, Some(&place), ALL), "agent.tools[0].type");
    }

    #[test]
    fn a_server_that_could_not_be_reached_is_refused_with_the_field_that_says_so() {
        let (off, on) = (
            environment(Network::Disabled),
            environment(Network::Enabled),
        );
        let of = |label: &str, transport: Value, origin: &str, place: Option<&EnvironmentSpec>| {
            refused(json!([mcp(label, transport, origin)]), place, ALL)
        };
        let field = |name: &str| format!("agent.tools[0].{name}");
        assert_eq!(of("a", stdio(), "service", None), field("transport"));
        let web = || http("https://mcp.example/x");
        assert_eq!(of("a", web(), "service", None), "nothing");
        for place in [None, Some(&off)] {
            assert_eq!(
                of("a", web(), "environment", place),
                field("connection_origin")
            );
        }
        assert_eq!(of("a", web(), "environment", Some(&on)), "nothing");
        for url in [
            "ftp://x/",
            "mcp.example",
            "https://me:secret@x/",
            "http:///x",
        ] {
            assert_eq!(
                of("a", http(url), "service", None),
                field("transport.server_url"),
                "{url}"
            );
        }
        for label in ["a b", "é", &"x".repeat(65)] {
            assert_eq!(
                of(label, web(), "service", None),
                field("server_label"),
                "{label}"
            );
        }
        let twice = json!([mcp("a-b", web(), "service"), mcp("a_b", web(), "service")]);
        assert_eq!(refused(twice, None, ALL), "agent.tools[1].server_label");
    }

    #[test]
    fn what_a_client_gives_for_a_server_is_sealed_under_its_label() {
        let tools: Vec<AgentToolParam> = serde_json::from_value(json!([
            {"type": "mcp", "server_label": "web", "transport":
                {"type": "http", "server_url": "https://x/", "authorization": "Bearer t", "headers": {"x-a": "1"}}},
            {"type": "mcp", "server_label": "calc", "transport":
                {"type": "stdio", "command": "c", "cwd": "/", "env": {"KEY": "v"}}},
            {"type": "mcp", "server_label": "open", "transport": {"type": "http", "server_url": "https://y/"}},
        ]))
        .expect("they are tools");
        let given = of_given(&tools);
        assert_eq!(given.keys().collect::<Vec<_>>(), ["calc", "web"]);
        assert_eq!(given["calc"].env["KEY"].reveal(), "v");
        let text = to_seal(&given).expect("there is something");
        let again: SecretsByLabel = serde_json::from_str(text.reveal()).expect("it is read");
        assert_eq!(again, given);
        assert_eq!(to_seal(&SecretsByLabel::new()), None);
    }
}
