//! Strict reading of inputs.

use crate::api::strict::{Fields, Node, Read};
use crate::api::words::words;
use crate::api::{
    ApiError, BrowserAuthenticationAnswer, BrowserAuthenticationValue, CancelInput,
    ComputerUseApprovalInput, ComputerUseResponse, EventCreateParams, InputEvent, InputKind,
    InputMessage, McpApprovalInput, McpApprovalResponse, MessageInput, ToolResultInput,
};

words! {
    /// The `type` of an MCP answer.
    enum McpResponseKind {
        McpToolCall = "mcp_tool_call",
    }

    /// The `type` of a browser answer.
    enum ComputerUseKind {
        BrowserAuthentication = "browser_authentication",
        BrowserOriginAccess = "browser_origin_access",
    }

    /// The `action` of a login.
    enum LoginAction {
        Submit = "submit",
        Cancel = "cancel",
    }
}

impl Read for EventCreateParams {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let params = EventCreateParams {
            events: fields.required("events")?,
        };
        fields.end()?;
        Ok(params)
    }
}

impl Read for InputEvent {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let event = match fields.tag("type")? {
            InputKind::Message => InputEvent::Message(MessageInput {
                input: fields.required("input")?,
                delivery: fields.nullable("delivery")?,
            }),
            InputKind::Cancel => InputEvent::Cancel(CancelInput {
                turn_id: fields.nullable("turn_id")?,
            }),
            InputKind::ToolResult => InputEvent::ToolResult(ToolResultInput {
                call_id: fields.required("call_id")?,
                success: fields.required("success")?,
                turn_id: fields.required("turn_id")?,
                error: fields.nullable("error")?,
                output: fields.nullable("output")?,
            }),
            InputKind::McpApprovalRequestResult => {
                InputEvent::McpApprovalRequestResult(McpApprovalInput {
                    request_id: fields.required("request_id")?,
                    response: fields.required("response")?,
                })
            }
            InputKind::ComputerUseApprovalRequestResult => {
                InputEvent::ComputerUseApprovalRequestResult(ComputerUseApprovalInput {
                    request_id: fields.required("request_id")?,
                    response: fields.required("response")?,
                })
            }
        };
        fields.end()?;
        Ok(event)
    }
}

impl Read for InputMessage {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let message = InputMessage {
            content: fields.required("content")?,
            role: fields.required("role")?,
            kind: fields.optional("type")?,
        };
        fields.end()?;
        Ok(message)
    }
}

impl Read for McpApprovalResponse {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let McpResponseKind::McpToolCall = fields.tag("type")?;
        let response = McpApprovalResponse {
            decision: fields.required("decision")?,
        };
        fields.end()?;
        Ok(response)
    }
}

impl Read for ComputerUseResponse {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let response = match fields.tag("type")? {
            ComputerUseKind::BrowserAuthentication => {
                ComputerUseResponse::BrowserAuthentication(login(&mut fields)?)
            }
            ComputerUseKind::BrowserOriginAccess => ComputerUseResponse::BrowserOriginAccess {
                decision: fields.required("decision")?,
            },
        };
        fields.end()?;
        Ok(response)
    }
}

fn login(fields: &mut Fields) -> Result<BrowserAuthenticationAnswer, ApiError> {
    Ok(match fields.tag("action")? {
        LoginAction::Submit => BrowserAuthenticationAnswer::Submit {
            fields: fields.required("fields")?,
            selected_option: fields.nullable("selected_option")?,
        },
        LoginAction::Cancel => BrowserAuthenticationAnswer::Cancel,
    })
}

impl Read for BrowserAuthenticationValue {
    fn read(node: Node) -> Result<Self, ApiError> {
        let mut fields = node.fields()?;
        let value = BrowserAuthenticationValue {
            field_id: fields.required("field_id")?,
            value: fields.required("value")?,
        };
        fields.end()?;
        Ok(value)
    }
}
