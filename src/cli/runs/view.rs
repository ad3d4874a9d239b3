//! A Run as it is shown.

use serde::Serialize;

use crate::api::HasId;
use crate::cli::compose;
use crate::cli::out::{Cell, Column, Details, Role, Table};
use crate::engine::fence::RunRow;
use crate::engine::ids::{Kind, SessionId, derived};
use crate::engine::session::Head;
use crate::engine::view::turn_id;

/// Where a Run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It holds the lease.
    Live,
    /// Its worker is unaccounted for.
    Quarantined,
    /// It gave its lease back, or its worker was lost.
    Ended,
}

/// A Run with what the head says about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct RunView {
    /// `run_…`
    pub(super) id: String,
    object: &'static str,
    /// Its Session.
    pub(super) session_id: String,
    /// Counts a Session's Runs; numbers may be left out.
    pub(super) generation: u64,
    /// Where it is in its life.
    pub(super) state: State,
    /// The Turn it was claimed for.
    pub(super) turn_id: String,
    /// Where it executes.
    pub(super) execution: String,
    /// Whether that process exists; null when it can't be told.
    pub(super) process_alive: Option<bool>,
    /// Unix ms.
    pub(super) started_ms: u64,
    /// Unix ms; null while it is not over, and when it was lost.
    pub(super) ended_ms: Option<u64>,
    /// How it ended, in words.
    pub(super) end: Option<String>,
    /// Presumed alive until then, unix ms.
    pub(super) lease_until_ms: Option<u64>,
    /// Unaccounted for since, unix ms.
    pub(super) quarantined_ms: Option<u64>,
}

impl HasId for RunView {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// The id of a Session's Run.
pub(super) fn run_id(session: &SessionId, generation: u64) -> String {
    derived(Kind::Run, session, generation)
}

/// The process in an execution's name.
pub(crate) fn process_of(execution: &str) -> &str {
    execution
        .split_once('#')
        .map_or(execution, |(process, _)| process)
}

impl RunView {
    pub(super) fn of(session: &SessionId, head: &Head, generation: u64, row: RunRow) -> RunView {
        let fence = &head.fence;
        let lease = fence
            .lease
            .as_ref()
            .filter(|lease| fence.generation == generation && lease.execution == row.execution);
        let quarantine = fence
            .quarantine
            .as_ref()
            // The generation was raised when the quarantine began, so that the Run is the one before.
            .filter(|q| q.execution == row.execution && generation + 1 == fence.generation);
        let state = match (lease, quarantine) {
            (Some(_), _) => State::Live,
            (None, Some(_)) => State::Quarantined,
            (None, None) => State::Ended,
        };
        RunView {
            id: run_id(session, generation),
            object: "rat_things.run",
            session_id: session.to_string(),
            generation,
            state,
            turn_id: turn_id(session, row.turn),
            process_alive: compose::is_alive(process_of(&row.execution.0)),
            started_ms: row.started_ms,
            ended_ms: row.ended_ms,
            end: match (state, row.end) {
                (State::Ended, None) => Some("lost".to_owned()),
                (_, end) => end,
            },
            lease_until_ms: lease.map(|lease| lease.until_ms),
            quarantined_ms: quarantine.map(|quarantine| quarantine.since_ms),
            execution: row.execution.0,
        }
    }

    fn state_cell(&self) -> Cell {
        match self.state {
            State::Live => Cell::word("live", Role::Active),
            State::Quarantined => Cell::word("quarantined", Role::Warn),
            State::Ended => Cell::word(self.end.as_deref().unwrap_or("ended"), Role::Dim),
        }
    }

    fn process_cell(&self) -> Cell {
        match self.process_alive {
            Some(true) => Cell::word("alive", Role::Active),
            Some(false) => Cell::word("gone", Role::Dim),
            None => Cell::word("unknown", Role::Warn),
        }
    }

    pub(super) fn details(&self) -> Details {
        Details::new()
            .value("run", Cell::text(&self.id))
            .value("session", Cell::text(&self.session_id))
            .value("generation", Cell::Count(self.generation))
            .value("state", self.state_cell())
            .value("turn", Cell::text(&self.turn_id))
            .value("execution", Cell::text(&self.execution))
            .value("process", self.process_cell())
            .value("started", Cell::Time(self.started_ms))
            .value("lease until", Cell::maybe(self.lease_until_ms, Cell::Time))
            .value(
                "in quarantine since",
                Cell::maybe(self.quarantined_ms, Cell::Time),
            )
            .value("ended", Cell::maybe(self.ended_ms, Cell::Time))
    }
}

/// Columns of a list of Runs.
pub(super) fn table(runs: &[RunView]) -> Table {
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
            run.state_cell(),
            run.process_cell(),
            Cell::Time(run.started_ms),
            Cell::maybe(run.ended_ms, Cell::Time),
            Cell::text(&run.session_id),
            Cell::text(&run.turn_id),
            Cell::text(&run.execution),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::ExecutionId;

    fn row(execution: &str) -> RunRow {
        RunRow {
            execution: ExecutionId(execution.into()),
            turn: 1,
            started_ms: 5,
            ended_ms: None,
            end: None,
        }
    }

    #[test]
    fn the_head_says_where_a_run_is() {
        let session = SessionId::parse(&format!("sess_{}", "a".repeat(26))).expect("an id");
        let mut head = Head::new("o".into(), 1);
        let state =
            |head: &Head, generation| RunView::of(&session, head, generation, row("x")).state;
        head.fence.claim(ExecutionId("x".into()), 9).expect("free");
        assert_eq!(state(&head, 1), State::Live);
        head.fence.lost_sight(9).expect("leased");
        assert_eq!(state(&head, 1), State::Quarantined);
        head.fence.operator_release().expect("in quarantine");
        head.fence.claim(ExecutionId("y".into()), 9).expect("free");
        assert_eq!(state(&head, 1), State::Ended);
        let view = RunView::of(&session, &head, 1, row("x"));
        assert_eq!(view.end.as_deref(), Some("lost"));
    }

    #[test]
    fn a_process_is_the_beginning_of_an_execution() {
        assert_eq!(process_of("proc:1:2:b#7"), "proc:1:2:b");
        assert_eq!(process_of("proc:1:2:b"), "proc:1:2:b");
    }
}
