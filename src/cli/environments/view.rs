//! An environment, printed.

use serde_json::json;

use crate::api::EnvironmentStatus;
use crate::cli::Context;
use crate::cli::compose::Local;
use crate::cli::out::{Cell, CliError, Details, Role};
use crate::engine::error::EngineError;
use crate::engine::ids::SessionId;

/// Prints the environment of a Session as it is now: as the API shows it, and since when and why it is over.
pub(super) async fn print(
    context: &mut Context,
    local: &Local,
    session: &SessionId,
) -> Result<(), CliError> {
    let read = local.core.read_session(&local.owner, session).await?;
    let environment = read.config.environment.as_ref().map(|own| own.id.clone());
    let missing = || EngineError::not_found("environment of session", session.as_str());
    let id = environment.ok_or_else(missing)?;
    let info = local.core.environment_info(&local.owner, &id).await?;
    let expiry = read.head.expiry.as_ref();
    let mut document = json!(info);
    document["session_id"] = json!(session.as_str());
    document["reset_count"] = json!(read.head.resets);
    document["expired_at"] = json!(expiry.map(|expiry| expiry.at_ms / 1_000));
    document["expired_because"] = json!(expiry.map(|expiry| &expiry.why));
    document["erased"] = json!(expiry.map(|expiry| expiry.erased));
    context.console.out.one(&document, &id, || {
        let details = Details::new()
            .value("environment", Cell::text(&id))
            .value("session", Cell::text(session.as_str()))
            .value(
                "status",
                Cell::word(info.status.to_string(), role(info.status)),
            )
            .value("resets", Cell::Count(u64::from(read.head.resets)))
            .value("files put there", Cell::Count(info.files.len() as u64));
        match expiry {
            None => details,
            Some(expiry) => details
                .value("expired", Cell::Time(expiry.at_ms))
                .value("because", Cell::text(&expiry.why))
                .value(
                    "workspace",
                    Cell::text(match expiry.erased {
                        true => "erased",
                        false => "is being erased",
                    }),
                ),
        }
    })
}

fn role(status: EnvironmentStatus) -> Role {
    match status {
        EnvironmentStatus::Connected => Role::Active,
        EnvironmentStatus::Pending
        | EnvironmentStatus::Ready
        | EnvironmentStatus::Disconnected
        | EnvironmentStatus::Suspended => Role::Plain,
        EnvironmentStatus::Expired => Role::Dim,
        EnvironmentStatus::Failed => Role::Bad,
    }
}
