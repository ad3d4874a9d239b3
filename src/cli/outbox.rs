//! `outbox list`: the agenda, which is the work that Sessions owe and when it is due.

use serde_json::{Value, json};

use super::Context;
use super::compose::{self, Local};
use super::daemon;
use super::out::{Cell, CliError, Column, Role, Table};
use crate::engine::fence::RunState;
use crate::engine::ids::SessionId;
use crate::engine::keys::{AGENDA_SHARDS, Group, agenda_partition, parse_agenda};
use crate::engine::ports::Range;
use crate::engine::session::Head;

/// Agenda rows read at once.
const STEP_ROWS: usize = 256;

/// `rat-things outbox …`
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// List what is due, soonest first
    List(ListArgs),
}

/// List what is due, soonest first: which Session, when, and why.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things outbox list
  rat-things outbox list --limit 1000 -o jsonl")]
pub struct ListArgs {
    /// Entries at most
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    limit: u16,
}

/// One entry of the agenda, with the head that wrote it.
pub struct Due {
    /// Which work group.
    pub group: Group,
    /// Unix ms.
    pub due_ms: u64,
    /// Whose.
    pub session: SessionId,
    /// The Session's head when it was read.
    pub head: Head,
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    let Command::List(args) = command;
    let local = compose::open(&context.settings).await?;
    let limit = usize::from(args.limit);
    let mut due = due(&local, limit + 1).await?;
    let more = due.len() > limit;
    due.truncate(limit);
    let rows: Vec<Value> = due
        .iter()
        .map(|due| {
            json!({
                "session_id": due.session.as_str(),
                "group": due.group.name(),
                "due_ms": due.due_ms,
                "why": why(&due.head, due.group),
            })
        })
        .collect();
    let document = json!({"object": "list", "data": rows, "has_more": more});
    let now_ms = compose::now_ms();
    context.console.out.list(
        &document,
        &rows,
        |row| row["session_id"].as_str().unwrap_or_default(),
        || {
            let mut table = Table::new([
                Column::new("DUE"),
                Column::new("SESSION"),
                Column::new("GROUP"),
                Column::new("WHY"),
            ]);
            for due in &due {
                table.row([
                    Cell::Time(due.due_ms),
                    Cell::text(due.session.as_str()),
                    Cell::text(due.group.name()),
                    Cell::word(why(&due.head, due.group), role(&due.head)),
                ]);
            }
            table
        },
    )?;
    let say = &context.console.say;
    if more {
        say.note(format!("more than {limit}: give a higher --limit"));
    } else if due.is_empty() && context.console.out.format().is_for_people() {
        say.note("nothing is due");
    }
    let overdue = due.iter().filter(|due| due.due_ms <= now_ms).count();
    if overdue > 0 && daemon::running(&local.places).is_none() {
        say.warn("work is due and no daemon runs");
        say.hint("rat-things daemon start");
    }
    Ok(())
}

/// The owner's entries of both groups, soonest first, at most `limit`.
pub async fn due(local: &Local, limit: usize) -> Result<Vec<Due>, CliError> {
    let mut found = Vec::new();
    for group in [Group::Execute, Group::Deliver] {
        for shard in 0..AGENDA_SHARDS {
            of_shard(local, group, shard, limit, &mut found).await?;
        }
    }
    found.sort_by_key(|due| due.due_ms);
    found.truncate(limit);
    Ok(found)
}

async fn of_shard(
    local: &Local,
    group: Group,
    shard: u32,
    limit: usize,
    found: &mut Vec<Due>,
) -> Result<(), CliError> {
    let mut from = String::new();
    let mut kept = 0;
    loop {
        let range = Range {
            partition: agenda_partition(group, shard),
            from,
            until: None,
            reverse: false,
            limit: STEP_ROWS,
        };
        let page = local
            .core
            .store
            .range(&range)
            .await
            .map_err(crate::engine::error::EngineError::from)?;
        for record in &page.records {
            let Some((due_ms, session)) = parse_agenda(&record.key.sort) else {
                continue;
            };
            // Entries of others are theirs; one without a head is about to be removed.
            let Some(loaded) = local.core.load(&session).await? else {
                continue;
            };
            if loaded.head.owner != local.owner {
                continue;
            }
            found.push(Due {
                group,
                due_ms,
                session,
                head: loaded.head,
            });
            kept += 1;
        }
        match page.records.last() {
            Some(last) if page.more && kept < limit => from = format!("{}\0", last.key.sort),
            _ => return Ok(()),
        }
    }
}

/// Why a Session has an entry.
pub fn why(head: &Head, group: Group) -> String {
    if group == Group::Deliver {
        return "a notification is to be sent".to_owned();
    }
    if head.deleted_ms.is_some() {
        return "deleted; its rows and files are to be erased".to_owned();
    }
    let turn = match &head.turn {
        Some(turn) if turn.cancel.is_some() => "a turn is being cancelled",
        Some(turn) if turn.begun => "a turn goes on",
        Some(_) => "a turn is queued",
        None => "no turn; the entry is about to go",
    };
    match head.fence.state() {
        RunState::Quarantined => "in quarantine; its worker is asked about again".to_owned(),
        RunState::Leased => {
            "a worker is at it; its lease ends then unless it is renewed".to_owned()
        }
        RunState::Free => match head.turn.as_ref().map_or(0, |turn| turn.attempts) {
            0 => turn.to_owned(),
            lost => format!("{turn}; workers lost over it: {lost}"),
        },
    }
}

fn role(head: &Head) -> Role {
    match head.fence.state() {
        RunState::Quarantined => Role::Warn,
        RunState::Leased => Role::Active,
        RunState::Free => Role::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::ExecutionId;
    use crate::engine::session::ActiveTurn;

    #[test]
    fn every_entry_says_why_it_is_there() {
        let mut head = Head::new("o".into(), 1);
        let mut said = vec![why(&head, Group::Execute), why(&head, Group::Deliver)];
        head.turn = Some(ActiveTurn::queued(1));
        said.push(why(&head, Group::Execute));
        if let Some(turn) = &mut head.turn {
            turn.attempts = 2;
            turn.begun = true;
        }
        said.push(why(&head, Group::Execute));
        head.fence.claim(ExecutionId("x".into()), 9).expect("free");
        said.push(why(&head, Group::Execute));
        head.fence.lost_sight(9).expect("leased");
        said.push(why(&head, Group::Execute));
        head.deleted_ms = Some(9);
        said.push(why(&head, Group::Execute));
        insta::assert_snapshot!(said.join("\n"));
    }
}
