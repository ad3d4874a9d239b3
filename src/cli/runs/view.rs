//! A Run as it is shown.

use crate::cli::out::{Cell, Column, Details, Role, Table};
use crate::engine::ports::{HarnessProgram, RunPhase, RunRead};

fn state_cell(run: &RunRead) -> Cell {
    match run.state {
        RunPhase::Live => Cell::word("live", Role::Active),
        RunPhase::Quarantined => Cell::word("quarantined", Role::Warn),
        RunPhase::Ended => Cell::word(run.end.as_deref().unwrap_or("ended"), Role::Dim),
    }
}

fn process_cell(run: &RunRead) -> Cell {
    match run.process_alive {
        Some(true) => Cell::word("alive", Role::Active),
        Some(false) => Cell::word("gone", Role::Dim),
        None => Cell::word("unknown", Role::Warn),
    }
}

/// All that is known of a Run.
pub(super) fn details(run: &RunRead) -> Details {
    let details = Details::new()
        .value("run", Cell::text(&run.id))
        .value("session", Cell::text(&run.session_id))
        .value("generation", Cell::Count(run.generation))
        .value("state", state_cell(run))
        .value("turn", Cell::text(&run.turn_id))
        .value("execution", Cell::text(&run.execution))
        .value("process", process_cell(run))
        .value("started", Cell::Time(run.started_ms))
        .value("lease until", Cell::maybe(run.lease_until_ms, Cell::Time))
        .value(
            "in quarantine since",
            Cell::maybe(run.quarantined_ms, Cell::Time),
        )
        .value("ended", Cell::maybe(run.ended_ms, Cell::Time));
    let details = match &run.program {
        Some(program) => details.value("driven by", Cell::text(program_text(program))),
        None => details,
    };
    match &run.began_anew {
        Some(anew) => details
            .prose("began anew", format!("from the Items: {}", anew.reason))
            .value("  in turn", Cell::text(&anew.turn_id)),
        None => details,
    }
}

/// A program, with what tells its file from any other.
fn program_text(program: &HarnessProgram) -> String {
    let HarnessProgram {
        name,
        version,
        sha256,
    } = program;
    format!("{name} {version}, sha256 {sha256}")
}

/// Columns of a list of Runs.
pub(super) fn table(runs: &[RunRead]) -> Table {
    let mut table = Table::new([
        Column::new("RUN"),
        Column::new("STATE").shrinks(1, 8),
        Column::new("PROCESS"),
        Column::new("STARTED"),
        Column::new("ENDED"),
        Column::new("SESSION").wide(),
        Column::new("TURN").wide(),
        Column::new("EXECUTION").wide(),
    ]);
    for run in runs {
        table.row([
            Cell::text(&run.id),
            state_cell(run),
            process_cell(run),
            Cell::Time(run.started_ms),
            Cell::maybe(run.ended_ms, Cell::Time),
            Cell::text(&run.session_id),
            Cell::text(&run.turn_id),
            Cell::text(&run.execution),
        ]);
    }
    table
}
