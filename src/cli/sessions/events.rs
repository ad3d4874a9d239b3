//! `sessions events`

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::out::{Cell, CliError, Column, Table};

/// List what changed in a Session, in order.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions events sess_7f
  rat-things sessions events sess_7f --after evt_4q -o jsonl")]
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
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let local = compose::open(&context.settings).await?;
    let read = local.read(&args.session).await?;
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
            .map(|event: &crate::api::Event| event.event_id().to_owned());
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
                Column::new("ABOUT").shrinks(0, 12),
            ]);
            for event in &events {
                table.row([
                    Cell::text(event.event_id()),
                    Cell::text(event.kind()),
                    Cell::text(about(event)),
                ]);
            }
            table
        },
    )?;
    if let Some(last) = last.filter(|_| has_more) {
        context
            .console
            .say
            .note(format!("more: --after {last} (or --all)"));
    }
    Ok(())
}

fn about(event: &crate::api::Event) -> String {
    let value = serde_json::to_value(event).unwrap_or_default();
    let field = |path: &str| {
        value
            .pointer(path)
            .and_then(serde_json::Value::as_str)
            .map(str::to_owned)
    };
    field("/item/id")
        .or_else(|| field("/turn_id"))
        .or_else(|| field("/session/status"))
        .unwrap_or_default()
}
