//! From Codex' account of a failed turn to the Agents API's. Pure.

use serde_json::Value;

use crate::api::TurnErrorCode;

/// Longer messages are cut: a provider's answer may be a whole page.
const MESSAGE_BYTES: usize = 2_000;

/// Code and words of the error of a turn.
pub fn read(error: &Value) -> (String, String) {
    let info = &error["codexErrorInfo"];
    let message = error["message"].as_str().unwrap_or("Codex gave no reason");
    let mut message = match error["additionalDetails"].as_str() {
        Some(details) if !details.is_empty() => format!("{message}: {details}"),
        _ => message.to_owned(),
    };
    message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
    (code(info).to_string(), message)
}

fn of_status(status: u64) -> TurnErrorCode {
    match status {
        401 | 403 => TurnErrorCode::AuthenticationError,
        404 => TurnErrorCode::ResourceNotFound,
        408 | 504 => TurnErrorCode::RequestTimeout,
        413 => TurnErrorCode::ContextLengthExceeded,
        429 => TurnErrorCode::RateLimitExceeded,
        400..=499 => TurnErrorCode::InvalidRequest,
        503 => TurnErrorCode::ServerOverloaded,
        500..=599 => TurnErrorCode::ServerError,
        _ => TurnErrorCode::InternalError,
    }
}

fn code(info: &Value) -> TurnErrorCode {
    if let Some(word) = info.as_str() {
        return match word {
            "contextWindowExceeded" => TurnErrorCode::ContextLengthExceeded,
            "sessionBudgetExceeded" => TurnErrorCode::SessionBudgetExceeded,
            "usageLimitExceeded" => TurnErrorCode::UsageLimitExceeded,
            "rateLimitExceeded" => TurnErrorCode::RateLimitExceeded,
            "flexUnavailable" => TurnErrorCode::FlexUnavailable,
            "serverOverloaded" | "policyCapacityUnavailable" => TurnErrorCode::ServerOverloaded,
            "modelNotFound" => TurnErrorCode::ResourceNotFound,
            "cyberPolicy" | "bioPolicy" => TurnErrorCode::CyberPolicy,
            "misalignmentPolicyViolation" => TurnErrorCode::MisalignmentPolicyViolation,
            "internalServerError" => TurnErrorCode::ServerError,
            "unauthorized" => TurnErrorCode::AuthenticationError,
            "badRequest" => TurnErrorCode::InvalidRequest,
            "sandboxError" => TurnErrorCode::SandboxError,
            _ => TurnErrorCode::InternalError,
        };
    }
    let kinds = info.as_object().into_iter().flatten();
    let Some((kind, detail)) = kinds.into_iter().next() else {
        return TurnErrorCode::InternalError;
    };
    match (kind.as_str(), detail["httpStatusCode"].as_u64()) {
        (_, Some(status)) => of_status(status),
        (
            "httpConnectionFailed"
            | "responseStreamConnectionFailed"
            | "responseStreamDisconnected"
            | "responseTooManyFailedAttempts",
            None,
        ) => TurnErrorCode::ConnectionFailed,
        _ => TurnErrorCode::InternalError,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_providers_answer_decides_the_code() {
        let of = |info: Value| code(&info);
        let too_many = |status: Value| {
            of(json!({"responseTooManyFailedAttempts": {"httpStatusCode": status}}))
        };
        assert_eq!(too_many(json!(429)), TurnErrorCode::RateLimitExceeded);
        assert_eq!(too_many(json!(null)), TurnErrorCode::ConnectionFailed);
        assert_eq!(too_many(json!(401)), TurnErrorCode::AuthenticationError);
        assert_eq!(of(json!("internalServerError")), TurnErrorCode::ServerError);
        assert_eq!(
            of(json!("contextWindowExceeded")),
            TurnErrorCode::ContextLengthExceeded
        );
        assert_eq!(of(json!("what is new")), TurnErrorCode::InternalError);
        assert_eq!(of(json!(null)), TurnErrorCode::InternalError);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let (_, message) = read(&json!({"message": "é".repeat(2_000)}));
        assert!(message.len() <= MESSAGE_BYTES && message.chars().all(|c| c == 'é'));
    }
}
