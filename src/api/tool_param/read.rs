//! Strict reading of tools.

use crate::api::strict::{Fields, Node, Read};
use crate::api::words::words;
use crate::api::{
    AgentToolParam, ApiError, ComputerUseToolParam, FunctionToolParam, McpToolParam,
    McpTransportParam, PersistedAgentToolParam, PersistedMcpTransportParam,
    ProgrammaticToolCallingToolParam, WebSearchLocation, WebSearchToolParam,
};

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
        let tool = match fields.tag("type")? {
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
        let tool = match fields.tag("type")? {
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
        let transport = match fields.tag("type")? {
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
        let transport = match fields.tag("type")? {
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
