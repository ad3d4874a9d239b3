//! What the engine refused or could not do, as the command line says it: who must act, and with which exit code.

use super::out::{CliError, codes};
use super::resolve::listing;
use crate::api::ApiError;
use crate::engine::error::EngineError;
use crate::engine::ports::StoreFault;

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> Self {
        let message = error.to_string();
        match error {
            EngineError::NotFound { what, id } => {
                CliError::not_found(format!("no {what} {id}")).hint(listing(what))
            }
            EngineError::Invalid {
                param: Some(param),
                message,
            } if !message.contains(&param) => {
                CliError::new(codes::INPUT, format!("{param}: {message}"))
            }
            EngineError::Invalid { .. } => CliError::new(codes::INPUT, message),
            EngineError::Conflict(_) => CliError::new(codes::CONFLICT, message),
            EngineError::KeyReused { .. } => CliError::new(codes::KEY_REUSED, message)
                .hint("use another --idempotency-key for another input"),
            EngineError::Busy { .. } | EngineError::Unavailable(_) => {
                CliError::new(codes::UNAVAILABLE, message).hint("nothing happened; try again")
            }
            EngineError::Unknown(_) => CliError::new(codes::UNKNOWN_OUTCOME, message)
                .hint("repeat the same command with the same --idempotency-key to find out"),
            EngineError::Broken { fault, .. } => broken(fault, message),
            EngineError::Damaged { .. } => CliError::bug(message),
        }
    }
}

/// The store's own message names the path and the way out; what it does not say is added. Somebody must act before the same
/// command can work, so these are no passing trouble.
fn broken(fault: StoreFault, message: String) -> CliError {
    let error = CliError::new(codes::STORE, message);
    match fault {
        StoreFault::DiskFull => error.hint("free some space; nothing was lost"),
        StoreFault::ReadOnly => error.hint("make it writable, or choose another --data-dir"),
        StoreFault::Corrupt => error.hint("restore it from a backup, or choose another --data-dir"),
        StoreFault::NewerSchema => error.hint("use the version that wrote it, or a newer one"),
        StoreFault::Replaced => {
            CliError::new(codes::UNAVAILABLE, error.message).hint("run the command again")
        }
    }
}

impl From<ApiError> for CliError {
    fn from(error: ApiError) -> Self {
        let message = match &error.param {
            Some(param) if !error.message.contains(param.as_str()) => {
                format!("{param}: {}", error.message)
            }
            _ => error.message.clone(),
        };
        match error.status {
            404 => CliError::new(codes::NOT_FOUND, message),
            409 => CliError::new(codes::CONFLICT, message),
            401 | 403 => CliError::new(codes::AUTH, message),
            500.. => CliError::new(codes::UNAVAILABLE, message),
            _ => CliError::new(codes::INPUT, message),
        }
    }
}
