//! `sessions events`

use crate::api::{Event, SessionStatus};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::follow::{Interrupts, change_of};
use crate::cli::out::{Cell, CliError, Column, Table};
use crate::engine::error::EngineError;
use crate::engine::overhearing::Overhearing;
use crate::engine::position::Position;
use crate::engine::read::SessionRead;
use crate::engine::writing::Writing;

/// Events read at once when they are followed.
const STEP: usize = 100;

/// List what changed in a Session, in order.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions events sess_7f
  rat-things sessions events sess_7f --follow -o jsonl")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// Events at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,
    /// Continue behind this event
    #[arg(long, value_name = "ID")]
    after: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
    /// Print events as they come, and text as it is written, until the Session's work is over
    #[arg(long, conflicts_with_all = ["limit", "all"])]
    follow: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
    if args.follow {
        return follow(context, &local, read, args.after).await;
    }
    let mut after = args.after.clone();
    let mut events = Vec::new();
    let mut has_more;
    loop {
        let page = local
            .core
            .list_events(&read, after.as_deref(), usize::from(args.limit))
            .await?;
        events.extend(page.0);
        has_more = page.1;
        after = events
            .last()
            .map(|event: &Event| event.event_id().to_owned());
        if !args.all || !has_more {
            break;
        }
    }
    let last = events.last().map(|event| event.event_id().to_owned());
    let document = serde_json::json!({
        "object": "list", "data": &events, "has_more": has_more,
        "first_id": events.first().map(|event| event.event_id()), "last_id": &last,
    });
    context.console.out.list(
        &document,
        &events,
        |event| event.event_id(),
        || {
            let mut table = Table::new([
                Column::new("EVENT"),
                Column::new("TYPE"),
                Column::new("ABOUT").shrinks(1, 12),
            ]);
            for event in &events {
                table.row(cells(event));
            }
            table
        },
    )?;
    match last.filter(|_| has_more) {
        Some(last) => context
            .console
            .say
            .note(format!("more: --after {last} (or --all)")),
        None if events.is_empty() && context.console.out.format().is_for_people() => {
            context.console.say.note("no events");
        }
        None => {}
    }
    Ok(())
}

/// Prints each event once, as a record, and texts as they are written, until the Session owes nothing or waits for a client.
async fn follow(
    context: &mut Context,
    local: &Local,
    mut read: SessionRead,
    after: Option<String>,
) -> Result<(), CliError> {
    let mut at = match after {
        None => Position::START,
        Some(id) => Position::parse(&read.id, &id)
            .ok_or_else(|| EngineError::not_found("event", id.as_str()))?,
    };
    let mut writing = Writing::default();
    let mut rings = local.core.bell.listen();
    let mut overhearing = Overhearing::begin(&local.core, &read.id);
    let mut interrupts = Interrupts::listen()?;
    let out = &mut context.console.out;
    loop {
        let (events, more) = local.core.events_behind(&read, at, STEP).await?;
        for event in &events {
            out.record(event, event.event_id(), || cells(event))?;
        }
        if let Some(last) = events.last() {
            // Every event's id says where it stands.
            at = Position::parse(&read.id, last.event_id()).unwrap_or(at);
        }
        if more {
            continue;
        }
        // By the head that was read after they came, and behind the events that it has: no text comes later than its Item.
        for heard in overhearing.judge_in_turn(&read.head) {
            for event in writing.tell(&read.id, &mut at, read.head.next.item, &heard) {
                out.record(&event, event.event_id(), || cells(&event))?;
            }
        }
        match read.head.status() {
            SessionStatus::InProgress => tokio::select! {
                changed = change_of(&mut rings, &mut interrupts, &read.id) => changed?,
                () = overhearing.some() => {}
            },
            _ => return Ok(()),
        }
        // What the head says now has its events in the journal already.
        read = local.core.read_session(&local.owner, &read.id).await?;
    }
}

fn cells(event: &Event) -> Vec<Cell> {
    vec![
        Cell::text(event.event_id()),
        Cell::text(event.kind()),
        Cell::text(about(event)),
    ]
}

fn about(event: &Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let field = |path: &str| {
        value
            .pointer(path)
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
    };
    field("/item/id")
        .or_else(|| field("/item_id"))
        .or_else(|| field("/turn_id"))
        .or_else(|| field("/session/status"))
        .unwrap_or_default()
}
