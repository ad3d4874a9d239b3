//! Tools as requests give them: to a Session ([`AgentToolParam`]) and to a saved Agent ([`PersistedAgentToolParam`]).
//!
//! Only here are there secrets of tools: MCP authorization, headers and variables, each a [`Secret`]. `shown` makes the form
//! for answers and leaves them behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::strict::{Fields, Node, Read};
use crate::api::words::words;
use crate::api::{
    AgentTool, ApiError, ComputerUseTool, ConnectionOrigin, FunctionTool, McpStdio, McpTool,
    McpTransport, PersistedAgentTool, PersistedMcpTransport, ProgrammaticToolCallingTool, Secret,
    WebSearchContextSize, WebSearchLocation, WebSearchMode, WebSearchTool,
};

/// A tool given to a Session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AgentToolParam {
    /// A function that the client answers.
    Function(FunctionToolParam),
    /// Tools are found when they are needed.
    ToolSearch,
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingToolParam),
    /// Tools of an MCP server.
    Mcp(McpToolParam<McpTransportParam>),
    /// Search on the web.
    WebSearch(WebSearchToolParam),
    /// A browser.
    ComputerUse(ComputerUseToolParam),
    /// Work at a later time.
    Automations,
}

/// A tool given to a saved Agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedAgentToolParam {
    /// A function that the client answers.
    Function(FunctionToolParam),
    /// Tools are found when they are needed.
    ToolSearch,
    /// Tools called from code that the model writes.
    ProgrammaticToolCalling(ProgrammaticToolCallingToolParam),
    /// Tools of an MCP server.
    Mcp(McpToolParam<PersistedMcpTransportParam>),
    /// Search on the web.
    WebSearch(WebSearchToolParam),
    /// A browser.
    ComputerUse(ComputerUseToolParam),
    /// Work at a later time.
    Automations,
}

/// A function that the client answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionToolParam {
    /// For the model.
    pub description: String,
    /// `[a-zA-Z0-9_-]{1,64}`, unique in its list.
    pub name: String,
    /// A JSON Schema.
    pub parameters: Map<String, Value>,
    /// The agent goes on without waiting for the result.
    #[serde(rename = "async", default, skip_serializing_if = "Option::is_none")]
    pub is_async: Option<bool>,
    /// Kept from the model until it is searched for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defer_loading: Option<bool>,
}

/// Tools called from code that the model writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgrammaticToolCallingToolParam {
    /// Whether it may; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Tools of an MCP server, reached by `T`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolParam<T> {
    /// Unique in its list.
    pub server_label: String,
    /// How it is reached.
    pub transport: T,
    /// Absent: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Who connects; the service if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_origin: Option<ConnectionOrigin>,
    /// The credential of a vault, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_id: Option<String>,
    /// Sent along with every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_metadata: Option<Map<String, Value>>,
    /// Without this server the Session can't start; false if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// How a Session's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum McpTransportParam {
    /// Streamable HTTP.
    Http {
        /// Absolute URL.
        server_url: String,
        /// Value of the `Authorization` header; write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        authorization: Option<Secret>,
        /// Further headers; write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<BTreeMap<String, Secret>>,
    },
    /// A process in the environment.
    Stdio {
        /// What is executed.
        command: String,
        /// Where.
        cwd: String,
        /// Arguments of the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Vec<String>>,
        /// Variables for it; the values are write-only.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env: Option<BTreeMap<String, Secret>>,
        /// Names of environment variables that it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env_vars: Option<Vec<String>>,
    },
}

/// How a saved Agent's MCP server is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PersistedMcpTransportParam {
    /// Streamable HTTP.
    Http {
        /// Absolute URL.
        server_url: String,
        /// Further headers, shown to every reader of the Agent; those that carry credentials are refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        headers: Option<BTreeMap<String, String>>,
    },
    /// A process in the environment.
    Stdio {
        /// What is executed.
        command: String,
        /// Where.
        cwd: String,
        /// Arguments of the command.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<Vec<String>>,
        /// Names of environment variables that it is given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        env_vars: Option<Vec<String>>,
    },
}

/// Search on the web.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WebSearchToolParam {
    /// Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// How much of the results the model is given; medium if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_size: Option<WebSearchContextSize>,
    /// Where the searcher seems to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<WebSearchLocation>,
    /// Whether, and how fresh; live if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<WebSearchMode>,
}

/// A browser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComputerUseToolParam {
    /// Whether Items show what the browser showed; true if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_screenshots: Option<bool>,
}

impl AgentToolParam {
    /// The form for answers; `None` for `tool_search`, which a Session does not show.
    pub fn shown(&self) -> Option<AgentTool> {
        Some(match self {
            AgentToolParam::Function(tool) => AgentTool::Function(tool.shown()),
            AgentToolParam::ToolSearch => return None,
            AgentToolParam::ProgrammaticToolCalling(tool) => {
                AgentTool::ProgrammaticToolCalling(tool.shown())
            }
            AgentToolParam::Mcp(tool) => AgentTool::Mcp(tool.shown(tool.transport.shown())),
            AgentToolParam::WebSearch(tool) => AgentTool::WebSearch(tool.shown()),
            AgentToolParam::ComputerUse(tool) => AgentTool::ComputerUse(tool.shown()),
            AgentToolParam::Automations => AgentTool::Automations,
        })
    }
}

impl PersistedAgentToolParam {
    /// The form for answers.
    pub fn shown(&self) -> PersistedAgentTool {
        match self {
            PersistedAgentToolParam::Function(tool) => PersistedAgentTool::Function(tool.shown()),
            PersistedAgentToolParam::ToolSearch => PersistedAgentTool::ToolSearch,
            PersistedAgentToolParam::ProgrammaticToolCalling(tool) => {
                PersistedAgentTool::ProgrammaticToolCalling(tool.shown())
            }
            PersistedAgentToolParam::Mcp(tool) => {
                PersistedAgentTool::Mcp(tool.shown(tool.transport.shown()))
            }
            PersistedAgentToolParam::WebSearch(tool) => PersistedAgentTool::WebSearch(tool.shown()),
            PersistedAgentToolParam::ComputerUse(tool) => {
                PersistedAgentTool::ComputerUse(tool.shown())
            }
            PersistedAgentToolParam::Automations => PersistedAgentTool::Automations,
        }
    }
}

impl PersistedAgentTool {
    /// What a Session made from the Agent shows; `None` for `tool_search`.
    pub fn in_session(&self) -> Option<AgentTool> {
        Some(match self {
            PersistedAgentTool::Function(tool) => AgentTool::Function(tool.clone()),
            PersistedAgentTool::ToolSearch => return None,
            PersistedAgentTool::ProgrammaticToolCalling(tool) => {
                AgentTool::ProgrammaticToolCalling(*tool)
            }
            PersistedAgentTool::Mcp(tool) => AgentTool::Mcp(McpTool {
                allowed_tools: tool.allowed_tools.clone(),
                connection_origin: tool.connection_origin,
                credential_id: tool.credential_id.clone(),
                request_metadata: tool.request_metadata.clone(),
                required: tool.required,
                server_label: tool.server_label.clone(),
                transport: match &tool.transport {
                    PersistedMcpTransport::Http { server_url, .. } => McpTransport::Http {
                        server_url: server_url.clone(),
                    },
                    PersistedMcpTransport::Stdio(stdio) => McpTransport::Stdio(stdio.clone()),
                },
            }),
            PersistedAgentTool::WebSearch(tool) => AgentTool::WebSearch(tool.clone()),
            PersistedAgentTool::ComputerUse(tool) => AgentTool::ComputerUse(*tool),
            PersistedAgentTool::Automations => AgentTool::Automations,
        })
    }
}

impl FunctionToolParam {
    fn shown(&self) -> FunctionTool {
        FunctionTool {
            defer_loading: self.defer_loading.unwrap_or(false),
            description: self.description.clone(),
            name: self.name.clone(),
            parameters: self.parameters.clone(),
            is_async: self.is_async,
        }
    }
}

impl ProgrammaticToolCallingToolParam {
    fn shown(&self) -> ProgrammaticToolCallingTool {
        ProgrammaticToolCallingTool {
            enabled: self.enabled.unwrap_or(true),
        }
    }
}

impl<T> McpToolParam<T> {
    fn shown<S>(&self, transport: S) -> McpTool<S> {
        McpTool {
            allowed_tools: self.allowed_tools.clone(),
            connection_origin: self.connection_origin.unwrap_or_default(),
            credential_id: self.credential_id.clone(),
            request_metadata: self.request_metadata.clone().unwrap_or_default(),
            required: self.required.unwrap_or(false),
            server_label: self.server_label.clone(),
            transport,
        }
    }
}

impl McpTransportParam {
    fn shown(&self) -> McpTransport {
        match self {
            McpTransportParam::Http { server_url, .. } => McpTransport::Http {
                server_url: server_url.clone(),
            },
            McpTransportParam::Stdio {
                command,
                cwd,
                args,
                env: _,
                env_vars,
            } => McpTransport::Stdio(stdio(command, cwd, args, env_vars)),
        }
    }
}

impl PersistedMcpTransportParam {
    fn shown(&self) -> PersistedMcpTransport {
        match self {
            PersistedMcpTransportParam::Http {
                server_url,
                headers,
            } => PersistedMcpTransport::Http {
                headers: headers.clone().unwrap_or_default(),
                server_url: server_url.clone(),
            },
            PersistedMcpTransportParam::Stdio {
                command,
                cwd,
                args,
                env_vars,
            } => PersistedMcpTransport::Stdio(stdio(command, cwd, args, env_vars)),
        }
    }
}

fn stdio(
    command: &str,
    cwd: &str,
    args: &Option<Vec<String>>,
    env_vars: &Option<Vec<String>>,
) -> McpStdio {
    McpStdio {
        args: args.clone().unwrap_or_default(),
        command: command.to_owned(),
        cwd: cwd.to_owned(),
        env_vars: env_vars.clone().unwrap_or_default(),
    }
}

impl WebSearchToolParam {
    fn shown(&self) -> WebSearchTool {
        WebSearchTool {
            allowed_domains: self.allowed_domains.clone(),
            context_size: self.context_size.unwrap_or_default(),
            location: self.location.clone(),
            mode: self.mode.unwrap_or_default(),
        }
    }
}

impl ComputerUseToolParam {
    fn shown(&self) -> ComputerUseTool {
        ComputerUseTool {
            include_screenshots: self.include_screenshots.unwrap_or(true),
        }
    }
}

words! {
    /// The `type` of a tool.
    enum ToolKind {
        Function = "function",
        ToolSearch = "tool_search",
        ProgrammaticToolCalling = "programmatic_tool_calling",
        Mcp = "mcp",
        WebSearch = "web_search",
        ComputerUse = "computer_use",
        Automations = "automations",
    }

    /// The `type` of an MCP transport.
    enum TransportKind {
        Http = "http",
        Stdio = "stdio",
    }
}

impl Read for AgentToolParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let tool = match fields.required("type")? {
            ToolKind::Function => AgentToolParam::Function(function(&mut fields)?),
            ToolKind::ToolSearch => AgentToolParam::ToolSearch,
            ToolKind::ProgrammaticToolCalling => {
                AgentToolParam::ProgrammaticToolCalling(programmatic(&mut fields)?)
            }
            ToolKind::Mcp => AgentToolParam::Mcp(mcp(&mut fields)?),
            ToolKind::WebSearch => AgentToolParam::WebSearch(web_search(&mut fields)?),
            ToolKind::ComputerUse => AgentToolParam::ComputerUse(computer_use(&mut fields)?),
            ToolKind::Automations => AgentToolParam::Automations,
        };
        fields.end()?;
        Ok(tool)
    }
}

impl Read for PersistedAgentToolParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let tool = match fields.required("type")? {
            ToolKind::Function => PersistedAgentToolParam::Function(function(&mut fields)?),
            ToolKind::ToolSearch => PersistedAgentToolParam::ToolSearch,
            ToolKind::ProgrammaticToolCalling => {
                PersistedAgentToolParam::ProgrammaticToolCalling(programmatic(&mut fields)?)
            }
            ToolKind::Mcp => PersistedAgentToolParam::Mcp(mcp(&mut fields)?),
            ToolKind::WebSearch => PersistedAgentToolParam::WebSearch(web_search(&mut fields)?),
            ToolKind::ComputerUse => {
                PersistedAgentToolParam::ComputerUse(computer_use(&mut fields)?)
            }
            ToolKind::Automations => PersistedAgentToolParam::Automations,
        };
        fields.end()?;
        Ok(tool)
    }
}

fn function(fields: &mut Fields) -> Result<FunctionToolParam, ApiError> {
    Ok(FunctionToolParam {
        description: fields.required("description")?,
        name: fields.required("name")?,
        parameters: fields.required("parameters")?,
        is_async: fields.optional("async")?,
        defer_loading: fields.optional("defer_loading")?,
    })
}

fn programmatic(fields: &mut Fields) -> Result<ProgrammaticToolCallingToolParam, ApiError> {
    Ok(ProgrammaticToolCallingToolParam {
        enabled: fields.optional("enabled")?,
    })
}

fn mcp<T: Read>(fields: &mut Fields) -> Result<McpToolParam<T>, ApiError> {
    Ok(McpToolParam {
        server_label: fields.required("server_label")?,
        transport: fields.required("transport")?,
        allowed_tools: fields.nullable("allowed_tools")?,
        connection_origin: fields.nullable("connection_origin")?,
        credential_id: fields.nullable("credential_id")?,
        request_metadata: fields.nullable("request_metadata")?,
        required: fields.optional("required")?,
    })
}

fn web_search(fields: &mut Fields) -> Result<WebSearchToolParam, ApiError> {
    Ok(WebSearchToolParam {
        allowed_domains: fields.nullable("allowed_domains")?,
        context_size: fields.nullable("context_size")?,
        location: fields.nullable("location")?,
        mode: fields.nullable("mode")?,
    })
}

fn computer_use(fields: &mut Fields) -> Result<ComputerUseToolParam, ApiError> {
    Ok(ComputerUseToolParam {
        include_screenshots: fields.optional("include_screenshots")?,
    })
}

impl Read for McpTransportParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let transport = match fields.required("type")? {
            TransportKind::Http => McpTransportParam::Http {
                server_url: fields.required("server_url")?,
                authorization: fields.nullable("authorization")?,
                headers: fields.nullable("headers")?,
            },
            TransportKind::Stdio => McpTransportParam::Stdio {
                command: fields.required("command")?,
                cwd: fields.required("cwd")?,
                args: fields.nullable("args")?,
                env: fields.nullable("env")?,
                env_vars: fields.nullable("env_vars")?,
            },
        };
        fields.end()?;
        Ok(transport)
    }
}

impl Read for PersistedMcpTransportParam {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let transport = match fields.required("type")? {
            TransportKind::Http => PersistedMcpTransportParam::Http {
                server_url: fields.required("server_url")?,
                headers: fields.nullable("headers")?,
            },
            TransportKind::Stdio => PersistedMcpTransportParam::Stdio {
                command: fields.required("command")?,
                cwd: fields.required("cwd")?,
                args: fields.nullable("args")?,
                env_vars: fields.nullable("env_vars")?,
            },
        };
        fields.end()?;
        Ok(transport)
    }
}

impl Read for WebSearchLocation {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let location = WebSearchLocation {
            city: fields.nullable("city")?,
            country: fields.nullable("country")?,
            region: fields.nullable("region")?,
            timezone: fields.nullable("timezone")?,
        };
        fields.end()?;
        Ok(location)
    }
}
