//! `sessions events`

use crate::api::Event;
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::follow::Interrupts;
use crate::cli::out::{Cell, CliError, Column, Table};
use crate::cli::resolve;
use crate::engine::ports::{Deployment, Step};

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
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    if args.follow {
        return follow(context, &*of, &session, args.after).await;
    }
    let mut after = args.after.clone();
    let mut events = Vec::new();
    let mut has_more;
    loop {
        let limit = usize::from(args.limit);
        let page = of.list_events(&session, after.as_deref(), limit).await?;
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
    of: &dyn Deployment,
    session: &str,
    after: Option<String>,
) -> Result<(), CliError> {
    let mut interrupts = Interrupts::listen()?;
    let mut stream = of.stream_events(session, after).await?;
    let console = &mut context.console;
    loop {
        let step = tokio::select! {
            step = stream.next() => step?,
            () = interrupts.heard() => return Err(CliError::interrupted()),
        };
        match step {
            None => return Ok(()),
            Some(Step::Note(note)) => console.say.note(note),
            Some(Step::Event(event)) => {
                console
                    .out
                    .record(&event, event.event_id(), || cells(&event))?;
            }
        }
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
