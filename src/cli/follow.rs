//! Following a Session: each Item once, when it is final, until its work is over or the reader leaves; before that, on a terminal,
//! a glimpse of what is being written.
//!
//! It reads the store and hears the bell; no daemon answers for it. Leaving never touches the work.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::compose::Local;
use super::foretaste::Foretaste;
use super::out::{CliError, LineKind, Live, Out, Say, codes};
use super::show;
use crate::api::{Item, RequiredAction, SessionStatus, TurnStatus};
use crate::engine::ids::SessionId;
use crate::engine::overhearing::{Overhearing, ring_of};
use crate::engine::read::{ListQuery, SessionRead};

/// Without a ring, the Session is looked at this often.
const LOOK_MS: u64 = 500;

/// How far to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until this Turn has ended (or waits for a client).
    Turn(u64),
    /// Until the Session owes nothing.
    Idle,
}

/// Ctrl-C, from the moment this is made: one that comes while something else is going on is not lost.
pub struct Interrupts(Signal);

impl Interrupts {
    /// Begins to listen. From now on Ctrl-C does not end the process by itself.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> Result<Interrupts, CliError> {
        signal(SignalKind::interrupt())
            .map(Interrupts)
            .map_err(|error| {
                let message = format!("cannot listen for Ctrl-C: {error}");
                CliError::new(codes::UNAVAILABLE, message)
            })
    }

    /// Waits for one.
    pub async fn heard(&mut self) {
        if self.0.recv().await.is_none() {
            // No further one can come.
            std::future::pending::<()>().await;
        }
    }
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// What was followed is over; the last Turn's status, if one was seen to end.
    Over(Option<TurnStatus>),
    /// It waits for a client.
    Waits,
    /// The person left.
    Detached,
}

/// Follows `session` from the Items of `first_turn` on and prints what comes.
pub async fn follow(
    local: &Local,
    out: &mut Out,
    say: &Say,
    session: &SessionId,
    first_turn: u64,
    until: Until,
) -> Result<Followed, CliError> {
    let mut rings = local.core.bell.listen();
    let people = out.format().is_for_people();
    let mut live = Live::start(out, say, "waiting for a worker");
    let mut overhearing = match live.shows_writing() {
        true => Overhearing::begin(&local.core, session),
        false => Overhearing::nothing(),
    };
    let mut foretaste = Foretaste::default();
    let mut next_turn = first_turn;
    let mut next_item: Option<u64> = None;
    let mut interrupts = Interrupts::listen()?;
    loop {
        let read = local.core.read_session(&local.owner, session).await?;
        let running;
        (next_item, running) = print_items(local, &mut live, &read, first_turn, next_item).await?;
        let (over, last) =
            print_turns(local, &mut live, &read, &mut next_turn, until, people).await?;
        if let Some(followed) = over {
            return Ok(followed);
        }
        let heard = overhearing.judge(&read.head);
        foretaste.update(&read.head, heard);
        live.writing(foretaste.shown())?;
        match running {
            Some(command) => live.status(format!("$ {command}")),
            None => live.status(label(&read, last)),
        }
        tokio::select! {
            () = interrupts.heard() => return Ok(Followed::Detached),
            () = ring_of(&mut rings, session) => {}
            () = overhearing.some() => {}
            () = tokio::time::sleep(Duration::from_millis(LOOK_MS)) => {}
        }
    }
}

/// Waits until something about the Session may have changed.
///
/// # Errors
/// Interrupted, on Ctrl-C.
pub async fn change_of(
    rings: &mut tokio::sync::mpsc::Receiver<String>,
    interrupts: &mut Interrupts,
    session: &SessionId,
) -> Result<(), CliError> {
    tokio::select! {
        () = interrupts.heard() => Err(CliError::interrupted()),
        () = ring_of(rings, session) => Ok(()),
        () = tokio::time::sleep(Duration::from_millis(LOOK_MS)) => Ok(()),
    }
}

/// Prints the Items from number `next` on as records, each once and when it is final, until the Session owes nothing or waits
/// for a client.
pub async fn records(
    local: &Local,
    out: &mut Out,
    session: &SessionId,
    mut next: u64,
) -> Result<Followed, CliError> {
    let mut rings = local.core.bell.listen();
    let mut interrupts = Interrupts::listen()?;
    loop {
        // The head is read before the Items: what it says is over has no later ones.
        let read = local.core.read_session(&local.owner, session).await?;
        let numbers: Vec<u64> = (next..read.head.next.item).take(ITEMS_AT_ONCE).collect();
        let items = local.core.items(&read, &numbers).await?;
        let mut printed = 0;
        for item in items
            .iter()
            .take_while(|item| running_command(item).is_none())
        {
            out.record(item, show::item_id(item), || show::item_row(item))?;
            printed += 1;
        }
        next += printed;
        if printed == ITEMS_AT_ONCE as u64 {
            continue;
        }
        match read.head.status() {
            SessionStatus::Idle => return Ok(Followed::Over(None)),
            SessionStatus::RequiresAction => return Ok(Followed::Waits),
            _ => change_of(&mut rings, &mut interrupts, session).await?,
        }
    }
}

/// Items read at once.
const ITEMS_AT_ONCE: usize = 50;

/// The command of an Item that may still change.
fn running_command(item: &Item) -> Option<&str> {
    match item {
        Item::CommandExecution(command) if command.status == crate::api::CallStatus::InProgress => {
            Some(&command.command)
        }
        _ => None,
    }
}

fn label(read: &SessionRead, last: Option<TurnStatus>) -> &'static str {
    match (read.head.status(), last) {
        (SessionStatus::RequiresAction, _) => "waiting for you",
        (_, Some(TurnStatus::Queued)) => "waiting for a worker",
        _ => "working",
    }
}

/// Prints Items that became final, in order; answers the first that did not, and the command that it is.
async fn print_items(
    local: &Local,
    live: &mut Live<'_>,
    read: &SessionRead,
    first_turn: u64,
    next_item: Option<u64>,
) -> Result<(Option<u64>, Option<String>), CliError> {
    let mut next = match next_item {
        Some(next) => next,
        None => {
            let (_, row) = local.core.get_turn(read, first_turn).await?;
            match row.first_item {
                Some(first) => first,
                None => return Ok((None, None)),
            }
        }
    };
    while next < read.head.next.item {
        let numbers: Vec<u64> =
            (next..read.head.next.item.min(next + ITEMS_AT_ONCE as u64)).collect();
        for item in local.core.items(read, &numbers).await? {
            if let Some(command) = running_command(&item) {
                return Ok((Some(next), Some(command.to_owned())));
            }
            let (kind, text) = show::item_line(&item);
            live.item(kind, text)?;
            if let Some(output) = show::command_output(&item) {
                live.item(LineKind::Output, output)?;
            }
            next += 1;
        }
    }
    Ok((Some(next), None))
}

/// Prints how Turns ended; says whether what is followed is over, and the state of the Turn that is looked at.
async fn print_turns(
    local: &Local,
    live: &mut Live<'_>,
    read: &SessionRead,
    next_turn: &mut u64,
    until: Until,
    people: bool,
) -> Result<(Option<Followed>, Option<TurnStatus>), CliError> {
    let mut last = None;
    while *next_turn < read.head.next.turn {
        let (turn, row) = local.core.get_turn(read, *next_turn).await?;
        last = Some(turn.status);
        // By the head, not by the row, which was read later: only then its Items have been printed.
        if !read.head.is_over(*next_turn) {
            break;
        }
        if people {
            print_end(local, live, read, *next_turn, &turn, &row).await?;
        }
        if until == Until::Turn(*next_turn) {
            return Ok((Some(Followed::Over(last)), last));
        }
        *next_turn += 1;
    }
    let over = match (read.head.status(), until) {
        (SessionStatus::RequiresAction, _) => {
            for action in &local
                .core
                .get_session(&local.owner, &read.id)
                .await?
                .required_actions
            {
                if let RequiredAction::FunctionCall {
                    call_id,
                    name,
                    arguments,
                    ..
                } = action
                {
                    live.item(
                        LineKind::Turn,
                        format!("waits for the result of {name}({arguments}), call {call_id}"),
                    )?;
                }
            }
            Some(Followed::Waits)
        }
        (SessionStatus::Idle, Until::Idle) => Some(Followed::Over(last)),
        _ => None,
    };
    Ok((over, last))
}

async fn print_end(
    local: &Local,
    live: &mut Live<'_>,
    read: &SessionRead,
    number: u64,
    turn: &crate::api::Turn,
    row: &crate::engine::turn::TurnRow,
) -> Result<(), CliError> {
    use crate::api::Words;
    let query = ListQuery {
        limit: 100,
        ascending: true,
        after: None,
    };
    for artifact in local
        .core
        .list_artifacts(read, Some(number), &query)
        .await?
        .data
    {
        let size = crate::text::size(artifact.size_bytes);
        live.item(
            LineKind::Artifact,
            format!("{} ({size})  {}", artifact.path, artifact.id),
        )?;
    }
    let mut end = turn.status.as_str().to_owned();
    if let Some(took_ms) = row
        .completed_ms
        .zip(row.started_ms)
        .map(|(e, s)| e.saturating_sub(s))
    {
        end.push_str(&format!(" in {}", crate::text::duration(took_ms)));
    }
    if let Some(note) = show::turn_note(row) {
        end.push_str(&format!(" — {note}"));
    }
    let kind = match turn.status {
        TurnStatus::Failed => LineKind::Error,
        _ => LineKind::Turn,
    };
    live.item(kind, end)
}

/// What a Turn's end means for the exit code.
pub fn verdict(followed: Followed) -> Result<(), CliError> {
    match followed {
        Followed::Over(Some(TurnStatus::Failed)) => {
            Err(CliError::new(codes::NEGATIVE, "the turn failed"))
        }
        Followed::Over(Some(TurnStatus::Cancelled)) => {
            Err(CliError::new(codes::NEGATIVE, "the turn was cancelled"))
        }
        Followed::Over(_) | Followed::Waits | Followed::Detached => Ok(()),
    }
}
