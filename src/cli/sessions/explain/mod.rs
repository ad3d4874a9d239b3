//! `sessions explain`: why is it not moving? [`explanation`] is pure: what is known in, causes out.

mod cause;
mod expired;
mod facts;
mod screen;

pub use self::cause::{Cause, Explanation, explanation};
pub use self::facts::{Attendance, Call, Facts, Waiting, Worker};

use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{CliError, codes};

/// Say why a Session does or does not move, and what would unblock it. Exits with 1 if it needs a person.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions explain sess_7f
  rat-things sessions explain sess_7f -o json")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
}

/// The explanation, for who shows it in another way.
pub(in crate::cli) async fn explain(
    context: &Context,
    local: &Local,
    session: &str,
) -> Result<Explanation, CliError> {
    let read = local.read(session).await?;
    let facts = Facts::gather(context, local, &read).await?;
    Ok(explanation(&facts))
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let facts = Facts::gather(context, &local, &read).await?;
    let explained = explanation(&facts);
    let document = screen::document(&facts, &explained);
    context.console.out.one(&document, read.id.as_str(), || {
        screen::details(&facts, &explained)
    })?;
    match explained.needs_person {
        false => Ok(()),
        true => Err(CliError::new(
            codes::NEGATIVE,
            "the session does not go on without a person",
        )),
    }
}
