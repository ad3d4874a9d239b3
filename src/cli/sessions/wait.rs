//! `sessions wait`

use std::time::Duration;

use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::daemon;
use crate::cli::follow::{Followed, Interrupts, Until, follow, verdict};
use crate::cli::out::{CliError, codes};
use crate::cli::span::span;
use crate::engine::ids::SessionId;

/// Wait until a Session's work is over.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions wait sess_7f
  rat-things sessions wait sess_7f --timeout 10m -o id")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Only until this Turn is over: its id, or the beginning of it
    #[arg(long, value_name = "TURN")]
    turn: Option<String>,
    /// Give up after so long: 30s, 10m, 2h
    #[arg(long, value_name = "TIME", value_parser = span)]
    timeout: Option<Duration>,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    let until = match &args.turn {
        Some(typed) => Until::Turn(local.turn(&read, typed).await?),
        None => Until::Idle,
    };
    // Work that is waited for must be worked on; an idle Session needs nobody.
    if read.head.turn.is_some() {
        daemon::ensure(context, &local.places).await;
    }
    let first = match until {
        Until::Turn(number) => number,
        Until::Idle => read
            .head
            .turn
            .as_ref()
            .map_or(read.head.next.turn - 1, |turn| turn.number),
    };
    if first == 0 {
        return super::create::print(
            context,
            &local.core.get_session(&local.owner, &read.id).await?,
        );
    }
    if !context.console.out.format().is_for_people() {
        let over = until_over(&local, &read.id, until, args.timeout).await?;
        let resource = local.core.get_session(&local.owner, &read.id).await?;
        super::create::print(context, &resource)?;
        return verdict(over);
    }
    let console = &mut context.console;
    let following = follow(
        &local,
        &mut console.out,
        &console.say,
        &read.id,
        first,
        until,
    );
    let followed = match args.timeout {
        Some(timeout) => tokio::time::timeout(timeout, following)
            .await
            .map_err(|_| over_time(&read.id))??,
        None => following.await?,
    };
    if followed == Followed::Detached {
        return Err(CliError::interrupted());
    }
    verdict(followed)
}

fn over_time(session: &SessionId) -> CliError {
    CliError::new(
        codes::TIMEOUT,
        "the session's work is not over yet; it goes on",
    )
    .hint(format!("rat-things sessions explain {session}"))
}

/// Waits without printing.
pub(super) async fn until_over(
    local: &Local,
    session: &SessionId,
    until: Until,
    timeout: Option<Duration>,
) -> Result<Followed, CliError> {
    const LOOK: Duration = Duration::from_millis(250);
    let mut rings = local.core.bell.listen();
    let mut interrupts = Interrupts::listen()?;
    let deadline = timeout.map(|timeout| tokio::time::Instant::now() + timeout);
    loop {
        let read = local.core.read_session(&local.owner, session).await?;
        let number = match until {
            Until::Turn(number) => number,
            Until::Idle => read.head.next.turn - 1,
        };
        let status = match number {
            0 => None,
            number => Some(local.core.get_turn(&read, number).await?.0.status),
        };
        let over = status.is_none_or(|status| status.is_terminal());
        if over && (until != Until::Idle || read.head.turn.is_none()) {
            return Ok(Followed::Over(status));
        }
        if read.head.status() == crate::api::SessionStatus::RequiresAction {
            return Ok(Followed::Waits);
        }
        if deadline.is_some_and(|deadline| tokio::time::Instant::now() >= deadline) {
            return Err(over_time(session));
        }
        let look = deadline.map_or(LOOK, |d| {
            LOOK.min(d.saturating_duration_since(tokio::time::Instant::now()))
        });
        tokio::select! {
            _ = rings.recv() => {}
            () = tokio::time::sleep(look) => {}
            () = interrupts.heard() => return Err(CliError::interrupted()),
        }
    }
}
