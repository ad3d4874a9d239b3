//! From the form of a request to the form for answers: defaults filled in, secrets left behind.

use crate::api::{
    AgentTool, AgentToolParam, ComputerUseTool, ComputerUseToolParam, FunctionTool,
    FunctionToolParam, McpStdio, McpTool, McpToolParam, McpTransport, McpTransportParam,
    PersistedAgentTool, PersistedAgentToolParam, PersistedMcpTransport, PersistedMcpTransportParam,
    ProgrammaticToolCallingTool, ProgrammaticToolCallingToolParam, WebSearchTool,
    WebSearchToolParam,
};

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
            include_screenshots: self.include_screenshots.unwrap_or(false),
        }
    }
}
