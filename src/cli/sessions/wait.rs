//! `sessions wait`

use std::time::Duration;

use crate::api::SessionStatus;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::deployed::Deployed;
use crate::cli::follow::{Followed, From, Interrupts, Until, ended, follow, turn_at, verdict};
use crate::cli::out::{CliError, Kind, codes};
use crate::cli::resolve;
use crate::cli::span::span;
use crate::engine::ports::{Deployment, TurnRead};
use crate::engine::read::ListQuery;

/// Turns read at once.
const TURNS_AT_ONCE: usize = 20;

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
    let of = compose::deployment(&context.settings).await?;
    let id = resolve::session(&*of, &args.session).await?;
    let session = of.session(&id).await?;
    let (from, until) = match &args.turn {
        Some(typed) => (
            From::Turn(resolve::turn(&*of, &id, typed).await?),
            Until::OneTurn,
        ),
        None => match newest_that_matters(&*of, &id).await? {
            Some(turn) => (From::Turn(turn), Until::Idle),
            None => return super::create::print(context, &session),
        },
    };
    // Work that is waited for must be worked on; an idle Session needs nobody.
    if session.status != SessionStatus::Idle {
        of.ensure_daemon(context).await;
    }
    if !context.console.out.format().is_for_people() {
        let over = until_over(&*of, &id, from, until, args.timeout).await;
        let over = over.map_err(|error| explained(error, &of, &id))?;
        super::create::print(context, &of.session(&id).await?)?;
        return verdict(over);
    }
    let console = &mut context.console;
    let (out, say) = (&mut console.out, &console.say);
    let following = follow(&*of, out, say, &id, from, until);
    let followed = match args.timeout {
        Some(timeout) => tokio::time::timeout(timeout, following)
            .await
            .map_err(|_| explained(over_time(), &of, &id))??,
        None => following.await?,
    };
    if followed == Followed::Detached {
        return Err(CliError::interrupted());
    }
    verdict(followed)
}

/// The oldest Turn that is not over, else the newest of all; `None` if there is none.
async fn newest_that_matters(
    of: &dyn Deployment,
    session: &str,
) -> Result<Option<String>, CliError> {
    let mut query = ListQuery {
        limit: TURNS_AT_ONCE,
        ..ListQuery::default()
    };
    let mut matters = None;
    loop {
        let page = of.list_turns(session, &query).await?;
        for read in page.data {
            if read.turn.status.is_terminal() {
                return Ok(matters.or(Some(read.turn.id)));
            }
            matters = Some(read.turn.id);
        }
        query.after = page.last_id;
        if !page.has_more || query.after.is_none() {
            return Ok(matters);
        }
    }
}

fn over_time() -> CliError {
    CliError::new(
        codes::TIMEOUT,
        "the session's work is not over yet; it goes on",
    )
}

/// With the command that says why it takes so long.
fn explained(error: CliError, of: &Deployed, session: &str) -> CliError {
    match error.kind {
        Kind::Timeout => error.hint(of.look_into(session)),
        _ => error,
    }
}

/// Waits without printing.
pub(super) async fn until_over(
    of: &dyn Deployment,
    session: &str,
    mut from: From,
    until: Until,
    timeout: Option<Duration>,
) -> Result<Followed, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let mut watch = of.watch(session, false).await?;
    let deadline = timeout.map(|timeout| tokio::time::Instant::now() + timeout);
    let over = async {
        let mut last = None;
        loop {
            // The Session is read before its Turns: what it says is over has no later ones.
            let now = of.session(session).await?;
            while let Some(TurnRead { turn, .. }) = turn_at(of, session, &from).await? {
                if !turn.status.is_terminal() {
                    from = From::Turn(turn.id);
                    break;
                }
                last = Some(turn.status);
                if until == Until::OneTurn {
                    return Ok(Followed::Over(last));
                }
                from = From::Behind(Some(turn.id));
            }
            match now.status {
                SessionStatus::Idle if until == Until::Idle => return Ok(Followed::Over(last)),
                SessionStatus::RequiresAction => return Ok(Followed::Waits),
                _ => ended(&now)?,
            };
            watch.changed().await?;
        }
    };
    tokio::select! {
        biased;
        over = over => over,
        () = interrupts.heard() => Err(CliError::interrupted()),
        () = passed(deadline) => Err(over_time()),
    }
}

async fn passed(deadline: Option<tokio::time::Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
