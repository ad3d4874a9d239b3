//! The MCP servers of an Agent, and what Codex is told of them. Pure.

use std::collections::BTreeMap;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use crate::api::{AgentTool, ConnectionOrigin, McpTool, McpTransport, Secret, SessionAgent};
use crate::backend::harness::codex::config::{ENVIRONMENT, WORKSPACE};
use crate::engine::ports::ToolSecrets;

/// The program that Codex asks for stands for the server at the place that follows. The real one is none of its business.
const PROGRAM: &str = "mcp-server-";

/// How long a server may take to come up. Codex gives `thread/start` no answer before the required ones are there.
const STARTUP_S: u64 = 30;

/// How long the first model call waits for servers that are not required.
const OPTIONAL_STARTUP_MS: u64 = 20_000;

/// One server.
#[derive(Clone, Debug)]
pub struct Server {
    /// Its name in tool calls.
    pub label: String,
    /// Without it there is no Turn.
    pub required: bool,
    /// Tools that may be called; `None`: all.
    pub allowed_tools: Option<Vec<String>>,
    /// Sent along with every request.
    pub metadata: Map<String, Value>,
    /// Where it is.
    pub place: Place,
}

/// Where a server is.
#[derive(Clone, Debug)]
pub enum Place {
    /// In the environment.
    Stdio(StdioServer),
    /// Somewhere else.
    Http(HttpServer),
}

/// A server that is a process in the environment.
#[derive(Clone, Debug)]
pub struct StdioServer {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// An absolute path.
    pub cwd: String,
    /// Its own variables.
    pub env: BTreeMap<String, Secret>,
    /// Names of the environment's variables that it is given.
    pub variables: Vec<String>,
}

/// A server behind an address.
#[derive(Clone, Debug)]
pub struct HttpServer {
    /// The address.
    pub url: Url,
    /// Sent with every request. Those that are secret are marked so.
    pub headers: HeaderMap,
    /// Whose rules say whether it may be reached.
    pub origin: ConnectionOrigin,
}

/// What Codex reaches the servers over HTTP at.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// The place is added to it.
    pub url: &'a str,
    /// What has to be shown there.
    pub token: &'a str,
}

impl Server {
    /// Whether a tool of this name may be called.
    pub fn allows(&self, tool: &str) -> bool {
        let allowed = self.allowed_tools.as_ref();
        allowed.is_none_or(|allowed| allowed.iter().any(|name| name == tool))
    }
}

/// The servers of an Agent, with the secrets of each by its label.
///
/// # Errors
/// In words, what can't be used of which one: who made the Agent must mend it.
pub fn of_agent(
    agent: &SessionAgent,
    secrets: &BTreeMap<String, ToolSecrets>,
) -> Result<Vec<Server>, String> {
    let servers = agent.tools.iter().filter_map(|tool| match tool {
        AgentTool::Mcp(server) => Some(server),
        _ => None,
    });
    let nothing = ToolSecrets::default();
    servers
        .map(|tool| {
            let secrets = secrets.get(&tool.server_label).unwrap_or(&nothing);
            server(tool, secrets).map_err(|why| format!("MCP server {}: {why}", tool.server_label))
        })
        .collect()
}

fn server(tool: &McpTool<McpTransport>, secrets: &ToolSecrets) -> Result<Server, String> {
    let place = match &tool.transport {
        McpTransport::Stdio(stdio) => {
            let program = std::iter::once(&stdio.command);
            Place::Stdio(StdioServer {
                argv: program.chain(&stdio.args).cloned().collect(),
                cwd: match stdio.cwd.starts_with('/') {
                    true => stdio.cwd.clone(),
                    false => format!("{WORKSPACE}/{}", stdio.cwd),
                },
                env: secrets.env.clone(),
                variables: stdio.env_vars.clone(),
            })
        }
        McpTransport::Http { server_url } => Place::Http(HttpServer {
            url: Url::parse(server_url).map_err(|error| format!("server_url: {error}"))?,
            headers: headers(secrets)?,
            origin: tool.connection_origin,
        }),
    };
    Ok(Server {
        label: tool.server_label.clone(),
        required: tool.required,
        allowed_tools: tool.allowed_tools.clone(),
        metadata: tool.request_metadata.clone(),
        place,
    })
}

/// An error names the header and never its value.
fn headers(secrets: &ToolSecrets) -> Result<HeaderMap, String> {
    let authorization = secrets.authorization.iter();
    let authorization = authorization.map(|value| (AUTHORIZATION.as_str(), value));
    let others = secrets.headers.iter();
    let mut headers = HeaderMap::new();
    for (name, value) in others
        .map(|(name, value)| (name.as_str(), value))
        .chain(authorization)
    {
        let odd = || format!("the header {name:?} can't be sent");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| odd())?;
        let mut value = HeaderValue::from_str(value.reveal()).map_err(|_| odd())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// The place of the server that a program stands for.
pub fn place_of_program(program: &str) -> Option<usize> {
    program.strip_prefix(PROGRAM)?.parse().ok()
}

/// What of Codex' configuration is about the servers, to be added to the rest. A call may take `tool_timeout_s`.
pub fn config(
    servers: &[Server],
    endpoint: Endpoint<'_>,
    tool_timeout_s: u64,
) -> Map<String, Value> {
    let mut all = Map::new();
    for (at, server) in servers.iter().enumerate() {
        let mut entry = match &server.place {
            Place::Stdio(_) => json!({
                "command": format!("{PROGRAM}{at}"),
                "cwd": WORKSPACE,
                "environment_id": ENVIRONMENT,
            }),
            Place::Http(_) => json!({
                "url": format!("{}{at}", endpoint.url),
                "http_headers": {"Authorization": format!("Bearer {}", endpoint.token)},
            }),
        };
        entry["required"] = server.required.into();
        entry["startup_timeout_sec"] = STARTUP_S.into();
        entry["tool_timeout_sec"] = tool_timeout_s.into();
        // Nobody is asked: whom an Agent may call is said by its tools.
        entry["default_tools_approval_mode"] = "approve".into();
        if let Some(allowed) = &server.allowed_tools {
            entry["enabled_tools"] = json!(allowed);
        }
        all.insert(server.label.clone(), entry);
    }
    let mut config = Map::new();
    if !all.is_empty() {
        config.insert("mcp_servers".to_owned(), all.into());
        let grace = OPTIONAL_STARTUP_MS.into();
        config.insert("mcp_optional_startup_grace_ms".to_owned(), grace);
    }
    config
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn agent(tools: Value) -> SessionAgent {
        let mut agent = SessionAgent::of_model("agent_1", "m");
        agent.tools = serde_json::from_value(tools).expect("they are tools");
        agent
    }

    fn tool(label: &str, transport: Value) -> Value {
        json!({"type": "mcp", "allowed_tools": ["add"], "connection_origin": "service", "credential_id": null,
            "request_metadata": {"team": "blue"}, "required": true, "server_label": label, "transport": transport})
    }

    fn both() -> SessionAgent {
        let stdio = json!({"type": "stdio", "command": "calc", "args": ["-x"], "cwd": "tools", "env_vars": ["GIVEN"]});
        let http = json!({"type": "http", "server_url": "https://mcp.example/v1"});
        agent(json!([tool("calc", stdio), {"type": "automations"}, tool("web", http)]))
    }

    fn secrets() -> BTreeMap<String, ToolSecrets> {
        let secret = |text: &str| Secret::new(text);
        let calc = ToolSecrets {
            env: [("KEY".to_owned(), secret("planted-env"))].into(),
            ..ToolSecrets::default()
        };
        let web = ToolSecrets {
            authorization: Some(secret("Bearer planted-bearer")),
            headers: [("x-team".to_owned(), secret("planted-header"))].into(),
            ..ToolSecrets::default()
        };
        [("calc".to_owned(), calc), ("web".to_owned(), web)].into()
    }

    #[test]
    fn codex_is_told_neither_where_a_server_is_nor_what_it_is_shown() {
        let servers = of_agent(&both(), &secrets()).expect("they can be used");
        let endpoint = Endpoint {
            url: "http://127.0.0.1:1/mcp/",
            token: "t",
        };
        let config = Value::Object(config(&servers, endpoint, 60));
        let text = config.to_string();
        for hidden in ["planted", "mcp.example", "calc\",\"-x", "GIVEN", "blue"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
        let all = &config["mcp_servers"];
        assert_eq!(all["calc"]["command"], "mcp-server-0");
        assert_eq!(all["calc"]["environment_id"], "session");
        assert_eq!(all["web"]["url"], "http://127.0.0.1:1/mcp/1");
        assert_eq!(all["web"]["http_headers"]["Authorization"], "Bearer t");
        for server in ["calc", "web"] {
            assert_eq!(all[server]["required"], true);
            assert_eq!(all[server]["enabled_tools"], json!(["add"]));
            assert_eq!(all[server]["default_tools_approval_mode"], "approve");
        }
        assert_eq!(place_of_program("mcp-server-0"), Some(0));
        assert_eq!(place_of_program("mcp-server-x"), None);
        assert!(!format!("{servers:?}").contains("planted"));
    }

    #[test]
    fn a_server_is_where_and_what_its_tool_says() {
        let servers = of_agent(&both(), &secrets()).expect("they can be used");
        let (Place::Stdio(calc), Place::Http(web)) = (&servers[0].place, &servers[1].place) else {
            panic!("one of each: {servers:?}");
        };
        assert_eq!(calc.argv, ["calc", "-x"]);
        assert_eq!(calc.cwd, "/workspace/tools");
        assert_eq!(calc.env["KEY"].reveal(), "planted-env");
        assert_eq!(web.headers["authorization"], "Bearer planted-bearer");
        assert_eq!(web.headers["x-team"], "planted-header");
        assert!(servers[0].allows("add") && !servers[0].allows("remove"));
    }

    #[test]
    fn a_header_that_cant_be_sent_is_named_without_its_value() {
        let mut secrets = secrets();
        let web = secrets.get_mut("web").expect("it is there");
        web.headers
            .insert("x-odd".into(), Secret::new("planted\nline"));
        let why = of_agent(&both(), &secrets).expect_err("it can't be sent");
        assert!(
            why.contains("web") && why.contains("x-odd") && !why.contains("planted"),
            "{why}"
        );
    }

    #[test]
    fn an_agent_without_servers_changes_nothing() {
        let none = of_agent(&agent(json!([])), &BTreeMap::new()).expect("nothing is wrong");
        let endpoint = Endpoint {
            url: "u",
            token: "t",
        };
        assert_eq!(config(&none, endpoint, 60), Map::new());
    }
}
