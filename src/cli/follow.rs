//! Following a Session: each Item once, when it is final, until its work is over or the reader leaves; before that, on a terminal,
//! a glimpse of what is being written.
//!
//! It reads Turns and Items wherever they are, and a watch says when to look again: a watch that breaks off delays what is shown, and
//! nothing is lost or shown twice. Leaving never touches the work.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::foretaste::Foretaste;
use super::out::{CliError, LineKind, Live, Out, Say, codes};
use super::show;
use crate::api::{
    AgentSession, CallStatus, HasId, Item, RequiredAction, SessionStatus, Turn, TurnStatus, Words,
};
use crate::engine::ports::{Deployment, TurnRead};
use crate::engine::read::ListQuery;

/// How far to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until the first Turn that is followed has ended (or waits for a client).
    OneTurn,
    /// Until the Session owes nothing.
    Idle,
}

/// From where on to follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// This Turn, from its first Item on.
    Turn(String),
    /// The Turn behind this one (or the first of all), which may not be there yet.
    Behind(Option<String>),
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

/// Follows `session` and prints what comes.
pub async fn follow(
    of: &dyn Deployment,
    out: &mut Out,
    say: &Say,
    session: &str,
    from: From,
    until: Until,
) -> Result<Followed, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let people = out.format().is_for_people();
    let mut live = Live::start(out, say, "waiting for a worker");
    let mut foretaste = Foretaste::default();
    let mut walk = Walk {
        of,
        session,
        place: from,
        items: Items::default(),
        last: None,
    };
    let steps = async {
        let mut watch = of.watch(session, live.shows_writing()).await?;
        loop {
            let (now, over) = walk.look(&mut live, &mut foretaste, until, people).await?;
            if let Some(followed) = over {
                return Ok(followed);
            }
            live.writing(foretaste.shown())?;
            live.status(now);
            let signs = watch.changed().await?;
            if !signs.notes.is_empty() {
                live.writing(None)?;
                signs.notes.into_iter().for_each(|note| say.note(note));
            }
            foretaste.update(signs.written);
        }
    };
    tokio::select! {
        biased;
        followed = steps => followed,
        () = interrupts.heard() => Ok(Followed::Detached),
    }
}

/// Items in order, each once.
#[derive(Clone, Debug, Default)]
struct Items {
    /// The last one that has an id.
    after: Option<String>,
    /// Behind it, so many that have none were taken already.
    beyond: usize,
}

/// Items read at once.
const ITEMS_AT_ONCE: usize = 50;

impl Items {
    /// What follows, in order, and whether there may be more.
    async fn next(
        &self,
        of: &dyn Deployment,
        session: &str,
        turn: Option<&str>,
    ) -> Result<(Vec<Item>, bool), CliError> {
        let query = ListQuery {
            limit: ITEMS_AT_ONCE,
            after: self.after.clone(),
            ascending: true,
        };
        let page = of.list_items(session, turn, &query).await?;
        let items = page.data.into_iter().skip(self.beyond);
        Ok((items.collect(), page.has_more))
    }

    fn take(&mut self, item: &Item) {
        match item.id() {
            Some(id) => {
                self.after = Some(id.to_owned());
                self.beyond = 0;
            }
            None => self.beyond += 1,
        }
    }
}

/// Where a reader is: Turn by Turn, and in each Item by Item.
struct Walk<'a> {
    of: &'a dyn Deployment,
    session: &'a str,
    place: From,
    items: Items,
    last: Option<TurnStatus>,
}

impl Walk<'_> {
    /// Prints what is new. Says what is going on, and whether what is followed is over.
    async fn look(
        &mut self,
        live: &mut Live<'_>,
        foretaste: &mut Foretaste,
        until: Until,
        people: bool,
    ) -> Result<(String, Option<Followed>), CliError> {
        // The Session is read before its Turns, and a Turn before its Items: what is over has no later ones.
        let session = self.of.session(self.session).await?;
        loop {
            let Some(read) = turn_at(self.of, self.session, &self.place).await? else {
                return Ok(match (session.status, until, self.last) {
                    (SessionStatus::Idle, Until::Idle, last) => {
                        (String::new(), Some(Followed::Over(last)))
                    }
                    (SessionStatus::RequiresAction, _, _) => {
                        print_waiting(live, &session)?;
                        (String::new(), Some(Followed::Waits))
                    }
                    _ => (label(&session, None).to_owned(), ended(&session)?),
                });
            };
            self.place = From::Turn(read.turn.id.clone());
            let running = self.print_items(live, foretaste, &read.turn).await?;
            let status = read.turn.status;
            if !status.is_terminal() {
                if session.status == SessionStatus::RequiresAction {
                    print_waiting(live, &session)?;
                    return Ok((String::new(), Some(Followed::Waits)));
                }
                let now = match running {
                    Some(command) => format!("$ {command}"),
                    None => label(&session, Some(status)).to_owned(),
                };
                return Ok((now, ended(&session)?));
            }
            foretaste.forget();
            if people {
                print_end(self.of, live, self.session, &read).await?;
            }
            self.last = Some(status);
            if until == Until::OneTurn {
                return Ok((String::new(), Some(Followed::Over(self.last))));
            }
            self.place = From::Behind(Some(read.turn.id));
            self.items = Items::default();
        }
    }

    /// Prints Items that became final, in order; answers the command that is not.
    async fn print_items(
        &mut self,
        live: &mut Live<'_>,
        foretaste: &mut Foretaste,
        turn: &Turn,
    ) -> Result<Option<String>, CliError> {
        loop {
            let (items, more) = self
                .items
                .next(self.of, self.session, Some(&turn.id))
                .await?;
            for item in &items {
                // What a Turn that is over left unfinished stays so.
                if let Some(command) = running_command(item).filter(|_| !turn.status.is_terminal())
                {
                    return Ok(Some(command.to_owned()));
                }
                let (kind, text) = show::item_line(item);
                live.item(kind, text)?;
                if let Some(output) = show::command_output(item) {
                    live.item(LineKind::Output, output)?;
                }
                foretaste.complete(item.id());
                self.items.take(item);
            }
            if !more || items.is_empty() {
                return Ok(None);
            }
        }
    }
}

/// The Turn at a place, if it is there.
pub async fn turn_at(
    of: &dyn Deployment,
    session: &str,
    place: &From,
) -> Result<Option<TurnRead>, CliError> {
    let after = match place {
        From::Turn(id) => return Ok(Some(of.turn(session, id).await?)),
        From::Behind(after) => after.clone(),
    };
    let query = ListQuery {
        limit: 1,
        after,
        ascending: true,
    };
    let page = of.list_turns(session, &query).await?;
    Ok(page.data.into_iter().next())
}

/// A Session that can't go on has no later Turns.
///
/// # Errors
/// It can't go on.
pub fn ended(session: &AgentSession) -> Result<Option<Followed>, CliError> {
    match session.status {
        SessionStatus::Failed => {
            let why = session.error.as_deref().unwrap_or("no reason is told");
            let message = format!("the session failed: {why}");
            Err(CliError::new(codes::NEGATIVE, message))
        }
        SessionStatus::BudgetReached => {
            let message = "the session's budget is spent";
            Err(CliError::new(codes::NEGATIVE, message))
        }
        SessionStatus::Idle | SessionStatus::InProgress | SessionStatus::RequiresAction => Ok(None),
    }
}

/// From where on records are printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// From the Session's first Item on.
    Beginning,
    /// From the first Item of this Turn on.
    From(String),
    /// Behind this Item.
    Behind(String),
}

/// Prints Items as records, each once and when it is final, until the Session owes nothing or waits for a client.
pub async fn records(
    of: &dyn Deployment,
    out: &mut Out,
    say: &Say,
    session: &str,
    place: Place,
) -> Result<Followed, CliError> {
    let mut interrupts = Interrupts::listen()?;
    let mut watch = of.watch(session, false).await?;
    let mut items = Items::default();
    // Until an Item of it was printed, this Turn's are read; behind that, the Session's.
    let mut first_turn = None;
    match place {
        Place::Beginning => {}
        Place::From(turn) => first_turn = Some(turn),
        Place::Behind(item) => items.after = Some(item),
    }
    loop {
        // The Session is read before its Items: what it says is over has no later ones.
        let now = of.session(session).await?;
        let is_over = now.status != SessionStatus::InProgress;
        loop {
            let (next, more) = items.next(of, session, first_turn.as_deref()).await?;
            let mut printed = 0;
            for item in &next {
                if running_command(item).is_some() && !is_over {
                    break;
                }
                out.record(item, show::item_id(item), || show::item_row(item))?;
                items.take(item);
                printed += 1;
                if first_turn.is_some() && items.after.is_some() {
                    break;
                }
            }
            let goes_on = first_turn.is_some() && items.after.is_some();
            if goes_on {
                first_turn = None;
            } else if !more || printed < next.len() || next.is_empty() {
                break;
            }
        }
        match now.status {
            SessionStatus::Idle => return Ok(Followed::Over(None)),
            SessionStatus::RequiresAction => return Ok(Followed::Waits),
            _ => drop(ended(&now)?),
        }
        tokio::select! {
            signs = watch.changed() => signs?.notes.into_iter().for_each(|note| say.note(note)),
            () = interrupts.heard() => return Err(CliError::interrupted()),
        }
    }
}

/// The command of an Item that may still change.
fn running_command(item: &Item) -> Option<&str> {
    match item {
        Item::CommandExecution(command) if command.status == CallStatus::InProgress => {
            Some(&command.command)
        }
        _ => None,
    }
}

fn label(session: &AgentSession, last: Option<TurnStatus>) -> &'static str {
    match (session.status, last) {
        (SessionStatus::RequiresAction, _) => "waiting for you",
        (_, Some(TurnStatus::Queued)) => "waiting for a worker",
        _ => "working",
    }
}

fn print_waiting(live: &mut Live<'_>, session: &AgentSession) -> Result<(), CliError> {
    for action in &session.required_actions {
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
    Ok(())
}

async fn print_end(
    of: &dyn Deployment,
    live: &mut Live<'_>,
    session: &str,
    read: &TurnRead,
) -> Result<(), CliError> {
    let query = ListQuery {
        limit: 100,
        ascending: true,
        after: None,
    };
    let turn = &read.turn;
    let artifacts = of.list_artifacts(session, Some(&turn.id), &query).await?;
    for artifact in artifacts.data {
        let size = crate::text::size(artifact.size_bytes);
        live.item(
            LineKind::Artifact,
            format!("{} ({size})  {}", artifact.path, artifact.id),
        )?;
    }
    let mut end = turn.status.as_str().to_owned();
    if let Some(took_ms) = show::turn_took_ms(read) {
        end.push_str(&format!(" in {}", crate::text::duration(took_ms)));
    }
    if let Some(note) = show::turn_note(read) {
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
