//! What the engine refused or could not do, as the command line says it: who must act, and with which exit code.

use super::out::{CliError, codes};
use super::resolve::listing;
use crate::api::ApiError;
use crate::engine::archive::ArchiveError;
use crate::engine::error::EngineError;
use crate::engine::ports::{DeploymentError, StoreFault};

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

impl From<DeploymentError> for CliError {
    fn from(error: DeploymentError) -> Self {
        let message = error.to_string();
        match error {
            DeploymentError::Engine(error) => CliError::from(error),
            DeploymentError::Denied(_) => CliError::new(codes::AUTH, message)
                .hint("rat-things doctor says which key is used, and whether the server takes it"),
            DeploymentError::Lacks { instead, .. } => {
                CliError::new(codes::LACKING, message).hint(instead)
            }
            DeploymentError::Uncertain { find_out, .. } => {
                CliError::new(codes::UNKNOWN_OUTCOME, message).hint(find_out)
            }
        }
    }
}

impl From<ArchiveError> for CliError {
    fn from(error: ArchiveError) -> Self {
        let message = error.to_string();
        match error {
            ArchiveError::Refused { .. } => CliError::new(codes::ARCHIVE, message)
                .hint("nothing was imported; export the session again, or copy the archive again"),
            ArchiveError::Unreadable(_) => CliError::new(codes::INPUT, message),
            ArchiveError::Unwritable(_) => CliError::new(codes::OUTPUT, message)
                .hint("nothing was written; free some space, and run the command again"),
            ArchiveError::Engine(EngineError::Damaged { .. }) => {
                CliError::new(codes::STORE, message).hint("rat-things fsck")
            }
            ArchiveError::Engine(EngineError::Unknown(_)) => {
                CliError::new(codes::UNKNOWN_OUTCOME, message)
                    .hint("import the same archive again to find out")
            }
            ArchiveError::Engine(error) => CliError::from(error),
        }
    }
}

/// The store's own message names the path and the way out. Somebody must act before the same command can work, so these are no
/// passing trouble.
fn broken(fault: StoreFault, message: String) -> CliError {
    match fault {
        StoreFault::Replaced => {
            CliError::new(codes::UNAVAILABLE, message).hint("run the command again")
        }
        StoreFault::DiskFull | StoreFault::ReadOnly | StoreFault::Corrupt => {
            CliError::new(codes::STORE, message)
                .hint("or keep the data elsewhere: --data-dir DIR, or RAT_THINGS_DATA_DIR")
        }
        StoreFault::NewerSchema => CliError::new(codes::STORE, message),
        StoreFault::NotSetUp => CliError::new(codes::STORE, message)
            .hint("set it up: rat-things aws init")
            .hint("or choose another one with aws.table, aws.bucket or aws.deployment"),
        StoreFault::Credentials => CliError::new(codes::AUTH, message)
            .hint("log in again: aws sso login, with --profile NAME where the profile has one"),
        StoreFault::Denied => CliError::new(codes::AUTH, message)
            .hint("ask who looks after the account for the permission that is named"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(fault: StoreFault) -> EngineError {
        EngineError::Broken {
            fault,
            message: "m".into(),
        }
    }

    #[test]
    fn every_failure_of_the_engine_has_its_exit_code() {
        let refused = || EngineError::invalid("agent.model", "it is empty");
        for (error, code) in [
            (EngineError::not_found("session", "s"), 3),
            (refused(), 2),
            (EngineError::Conflict("c".into()), 5),
            (
                EngineError::KeyReused {
                    stored: "a".into(),
                    given: "b".into(),
                },
                5,
            ),
            (EngineError::Busy { attempts: 1 }, 7),
            (EngineError::Unavailable("u".into()), 7),
            (EngineError::Unknown("u".into()), 6),
            (broken(StoreFault::DiskFull), 2),
            (broken(StoreFault::ReadOnly), 2),
            (broken(StoreFault::Corrupt), 2),
            (broken(StoreFault::NewerSchema), 2),
            (broken(StoreFault::Replaced), 7),
            (broken(StoreFault::NotSetUp), 2),
            (broken(StoreFault::Credentials), 4),
            (broken(StoreFault::Denied), 4),
            (
                EngineError::Damaged {
                    key: "k".into(),
                    why: "w".into(),
                },
                70,
            ),
        ] {
            let shown = error.to_string();
            assert_eq!(CliError::from(error).exit_code(), code, "{shown}");
        }
        assert_eq!(
            CliError::from(refused()).message,
            "agent.model: it is empty"
        );
    }

    #[test]
    fn every_failure_of_an_archive_has_its_exit_code() {
        let damaged = EngineError::Damaged {
            key: "k".into(),
            why: "w".into(),
        };
        for (error, code) in [
            (ArchiveError::refused("w"), 2),
            (ArchiveError::Unreadable("u".into()), 2),
            (ArchiveError::Unwritable("u".into()), 7),
            (EngineError::not_found("session", "s").into(), 3),
            (EngineError::Conflict("c".into()).into(), 5),
            (EngineError::Unknown("u".into()).into(), 6),
            (damaged.into(), 2),
        ] {
            let shown = error.to_string();
            assert_eq!(CliError::from(error).exit_code(), code, "{shown}");
        }
    }

    #[test]
    fn every_status_of_the_wire_has_its_exit_code() {
        for (error, code) in [
            (ApiError::invalid_request("input", "it is empty"), 2),
            (ApiError::unauthorized("who are you"), 4),
            (ApiError::forbidden("not you"), 4),
            (ApiError::not_found("Session 's'"), 3),
            (ApiError::conflict("no"), 5),
            (ApiError::new(503, "server_overloaded", "later"), 7),
        ] {
            let status = error.status;
            assert_eq!(CliError::from(error).exit_code(), code, "{status}");
        }
    }
}
