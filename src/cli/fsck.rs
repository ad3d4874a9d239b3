//! `fsck`: does every record keep its promise, and is every byte what it should be; and the repairs that are safe.

use serde_json::{Value, json};

use super::Context;
use super::compose::{self, Local, World};
use super::out::{Cell, CliError, Column, Details, Role, Table, codes};
use crate::engine::error::EngineError;
use crate::engine::fsck::{Fsck, Judged, Options, Outcome, Tally};
use crate::text;

/// Check every record and every byte that is stored, beside a daemon that works. Exits with 1 if something is wrong.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things fsck
  rat-things fsck --repair -o json

Without --repair nothing is changed. With it, only what is safe: agenda entries that are missing or that no session knows, rows of \
deleted sessions, and bytes that no record has named for a day. The rest is for a person.")]
pub struct Args {
    /// Repair what is safe to repair, and say what was done
    #[arg(long)]
    repair: bool,
    /// Do not read stored bytes, only look whether they are there
    #[arg(long)]
    quick: bool,
}

/// What was found.
struct Report {
    /// What the store says of itself; nothing, if it is not on this machine.
    store: Option<Health>,
    outcome: Outcome,
}

impl Report {
    fn left(&self) -> u64 {
        self.problems().len() as u64 + self.outcome.left()
    }

    fn problems(&self) -> &[String] {
        self.store.as_ref().map_or(&[], |store| &store.problems)
    }
}

/// A store of this machine.
struct Health {
    /// In SQLite's words.
    problems: Vec<String>,
    bytes: u64,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    if args.repair {
        context.settings.may_change("fsck --repair")?;
    }
    let local = compose::open(&context.settings).await?;
    let report = check(context, &local, args).await?;
    print(context, &report)?;
    for session in &report.outcome.restless {
        context.console.say.warn(format!(
            "{session} changed all the time and was not checked"
        ));
    }
    conclude(&report, args.repair)
}

async fn check(context: &Context, local: &Local, args: &Args) -> Result<Report, CliError> {
    let progress = context.console.say.progress("reading the store");
    let store = match &local.world {
        World::Here(store) => {
            let health = store.check_all().await;
            let health = health.map_err(|error| CliError::from(EngineError::from(error)))?;
            Some(Health {
                problems: health.problems,
                bytes: health.database_bytes + health.wal_bytes,
            })
        }
        // DynamoDB looks after itself.
        World::Aws(_) => None,
    };
    let inventory = compose::inventory(local);
    let options = Options {
        repair: args.repair,
        contents: !args.quick,
    };
    let step = |tally: &Tally| progress.step(in_words(tally));
    let outcome = Fsck::new(&local.core, &*inventory, options, &step)
        .run()
        .await?;
    Ok(Report { store, outcome })
}

fn in_words(tally: &Tally) -> String {
    format!(
        "{} sessions, {} rows, {} of content",
        text::count(tally.sessions),
        text::count(tally.rows),
        text::size(tally.blob_bytes)
    )
}

fn print(context: &mut Context, report: &Report) -> Result<(), CliError> {
    let id = if report.left() == 0 { "ok" } else { "damaged" };
    let out = &mut context.console.out;
    let for_people = out.format().is_for_people();
    out.one(&document(report), id, || {
        let found = &report.outcome.found;
        match for_people {
            true => found.iter().fold(summary(report), in_full),
            false => summary(report).table("finding", table(found)),
        }
    })
}

fn document(report: &Report) -> Value {
    let Outcome {
        tally,
        found,
        more,
        restless,
    } = &report.outcome;
    let findings: Vec<Value> = found
        .iter()
        .map(|judged| {
            let finding = &judged.finding;
            json!({
                "promise": finding.invariant.code(),
                "means": finding.invariant.promise(),
                "partition": finding.key.partition,
                "key": finding.key.sort,
                "found": finding.what,
                "state": state(judged),
            })
        })
        .collect();
    json!({
        "object": "rat_things.fsck",
        "ok": report.left() == 0,
        "store": report.store.as_ref().map(|store| json!({"bytes": store.bytes, "problems": store.problems})),
        "checked": {
            "owners": tally.owners,
            "sessions": tally.sessions,
            "rows": tally.rows,
            "blobs": tally.blobs,
            "blob_bytes": tally.blob_bytes,
            "imports": tally.imports,
        },
        "findings": findings,
        "more_findings": more,
        "not_checked": restless.iter().map(|s| s.as_str()).collect::<Vec<_>>(),
    })
}

fn summary(report: &Report) -> Details {
    let tally = &report.outcome.tally;
    let mut details = Details::new();
    details = match (&report.store, report.problems()) {
        (None, _) => details,
        (Some(_), []) => details.value("store", Cell::word("no damage", Role::Good)),
        (Some(_), _) => details.value("store", Cell::word("damaged", Role::Bad)),
    };
    for problem in report.problems() {
        details = details.prose("", problem.as_str());
    }
    details
        .value("sessions", Cell::Count(tally.sessions))
        .value("rows", Cell::Count(tally.rows))
        .value("blobs", Cell::Count(tally.blobs))
        .value("content", Cell::Size(tally.blob_bytes))
        .value("findings", Cell::Count(report.outcome.found.len() as u64))
}

/// A finding as a paragraph: none of it is cut, however narrow the terminal is.
fn in_full(details: Details, judged: &Judged) -> Details {
    let finding = &judged.finding;
    let text = format!("{}: {}", finding.key.to_string().trim_end(), finding.what);
    details.judged(finding.invariant.code(), verdict(judged), text)
}

fn verdict(judged: &Judged) -> Cell {
    let role = match (judged.repaired, judged.finding.repair.is_safe()) {
        (true, _) => Role::Good,
        (false, true) => Role::Warn,
        (false, false) => Role::Bad,
    };
    Cell::word(state(judged), role)
}

fn table(found: &[Judged]) -> Table {
    let columns = ["PROMISE", "STATE", "PARTITION", "KEY", "FOUND"];
    let mut table = Table::new(columns.map(Column::new));
    for judged in found {
        let finding = &judged.finding;
        table.row([
            Cell::text(finding.invariant.code()),
            verdict(judged),
            Cell::text(&finding.key.partition),
            Cell::text(&finding.key.sort),
            Cell::text(&finding.what),
        ]);
    }
    table
}

/// What became of a finding, or can.
fn state(judged: &Judged) -> &'static str {
    match (judged.repaired, judged.finding.repair.is_safe()) {
        (true, _) => "fixed",
        (false, true) => "fixable",
        (false, false) => "by hand",
    }
}

fn conclude(report: &Report, repair: bool) -> Result<(), CliError> {
    let left = report.left();
    if left == 0 {
        return Ok(());
    }
    let found = &report.outcome.found;
    let repairable = found
        .iter()
        .filter(|judged| !judged.repaired && judged.finding.repair.is_safe())
        .count();
    let error = CliError::new(codes::NEGATIVE, format!("not in order: {left} findings"));
    Err(match (repair, repairable) {
        (false, 1..) => error.hint(format!("{repairable} of them: rat-things fsck --repair")),
        (true, 1..) => error.hint(
            "what is fixable and is not fixed changed meanwhile, or waits for what a person has to understand first",
        ),
        (_, 0) => error.hint("what each promise means, and what can be done: docs/fsck.md"),
    })
}

#[cfg(test)]
mod tests {
    use crate::engine::check::Invariant;

    #[test]
    fn the_page_of_fsck_lists_every_promise() {
        let page = include_str!("../../docs/fsck.md");
        for invariant in Invariant::ALL {
            let row = format!("| {} | {} |\n", invariant.code(), invariant.promise());
            assert!(page.contains(&row), "docs/fsck.md must contain: {row}");
        }
    }
}
