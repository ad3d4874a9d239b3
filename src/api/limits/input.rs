//! Rules of inputs.

use super::{MAX_INPUT_TEXT_BYTES, check_array, empty_array, not_empty};
use crate::api::{
    ApiError, BrowserAuthenticationAnswer, ComputerUseResponse, FunctionOutput, InputContent,
    InputEvent, InputMessage, SessionInput, ToolResultInput,
};

/// Fields of a filled-in login form at most.
pub(super) const MAX_LOGIN_FIELDS: usize = 6;
/// A filled-in login form at most, as compact JSON.
const MAX_LOGIN_BYTES: usize = 120 << 10;

pub(super) fn check_event(path: &str, event: &InputEvent) -> Result<(), ApiError> {
    match event {
        InputEvent::Message(message) => check_messages(&format!("{path}.input"), &message.input),
        InputEvent::Cancel(cancel) => match &cancel.turn_id {
            Some(turn) => not_empty(&format!("{path}.turn_id"), turn),
            None => Ok(()),
        },
        InputEvent::ToolResult(result) => check_tool_result(path, result),
        InputEvent::McpApprovalRequestResult(answer) => {
            not_empty(&format!("{path}.request_id"), &answer.request_id)
        }
        InputEvent::ComputerUseApprovalRequestResult(answer) => {
            not_empty(&format!("{path}.request_id"), &answer.request_id)?;
            check_login(&format!("{path}.response"), &answer.response)
        }
    }
}

pub(super) fn check_session_input(path: &str, input: &SessionInput) -> Result<(), ApiError> {
    match input {
        SessionInput::Text(text) => {
            not_empty(path, text)?;
            check_size(path, text.len())
        }
        SessionInput::Messages(messages) => check_messages(path, messages),
    }
}

fn check_messages(path: &str, messages: &[InputMessage]) -> Result<(), ApiError> {
    if messages.is_empty() {
        return Err(empty_array(path));
    }
    let mut size_bytes = 0;
    for (i, message) in messages.iter().enumerate() {
        let path = format!("{path}[{i}].content");
        if message.content.is_empty() {
            return Err(empty_array(&path));
        }
        for (i, part) in message.content.iter().enumerate() {
            match part {
                InputContent::InputText { text } => {
                    not_empty(&format!("{path}[{i}].text"), text)?;
                    size_bytes += text.len();
                }
                InputContent::InputImage { image_url } => {
                    not_empty(&format!("{path}[{i}].image_url"), image_url)?;
                }
            }
        }
    }
    check_size(path, size_bytes)
}

fn check_tool_result(path: &str, result: &ToolResultInput) -> Result<(), ApiError> {
    not_empty(&format!("{path}.call_id"), &result.call_id)?;
    not_empty(&format!("{path}.turn_id"), &result.turn_id)?;
    if let Some(error) = &result.error {
        check_size(&format!("{path}.error"), error.len())?;
    }
    let size_bytes = match &result.output {
        None => 0,
        Some(FunctionOutput::Text(text)) => text.len(),
        Some(FunctionOutput::Parts(parts)) => parts.iter().map(text_bytes).sum(),
    };
    check_size(&format!("{path}.output"), size_bytes)
}

fn text_bytes(part: &InputContent) -> usize {
    match part {
        InputContent::InputText { text } => text.len(),
        InputContent::InputImage { .. } => 0,
    }
}

fn check_size(path: &str, size_bytes: usize) -> Result<(), ApiError> {
    match size_bytes {
        0..=MAX_INPUT_TEXT_BYTES => Ok(()),
        _ => Err(ApiError::invalid_request(
            path,
            format!(
                "Invalid '{path}': text too long. \
                 Expected at most {MAX_INPUT_TEXT_BYTES} bytes in all, but got {size_bytes}."
            ),
        )),
    }
}

fn check_login(path: &str, response: &ComputerUseResponse) -> Result<(), ApiError> {
    let ComputerUseResponse::BrowserAuthentication(BrowserAuthenticationAnswer::Submit {
        fields,
        ..
    }) = response
    else {
        return Ok(());
    };
    check_array(&format!("{path}.fields"), fields.len(), MAX_LOGIN_FIELDS)?;
    let size_bytes = super::json_bytes(response);
    if size_bytes > MAX_LOGIN_BYTES {
        return Err(ApiError::invalid_request(
            path,
            format!("Invalid '{path}': more than {MAX_LOGIN_BYTES} bytes of JSON."),
        ));
    }
    Ok(())
}
