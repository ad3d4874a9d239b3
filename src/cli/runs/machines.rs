//! `runs list --machines`: what exists for the sake of Sessions and is paid for.

use serde::Serialize;

use crate::api::{HasId, Page};
use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::out::{Cell, CliError, Column, Role, Table, codes};
use crate::engine::ports::{Machine, MachineState};

/// A machine as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct MachineView {
    id: String,
    object: &'static str,
    session_id: String,
    generation: u64,
    state: &'static str,
    execution: String,
    /// Unix ms.
    launched_ms: u64,
    age_ms: u64,
    /// What it cost so far in US dollars; null when nobody said what an hour costs.
    cost_usd: Option<f64>,
    machine_type: String,
    spot: bool,
    zone: String,
}

impl HasId for MachineView {
    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

impl MachineView {
    fn of(machine: Machine, now_ms: u64, usd_per_1000_hours: Option<u64>) -> MachineView {
        let age_ms = now_ms.saturating_sub(machine.since_ms);
        MachineView {
            object: "rat_things.machine",
            session_id: machine.session,
            generation: machine.generation,
            state: machine.state.name(),
            execution: machine.execution.0,
            launched_ms: machine.since_ms,
            age_ms,
            cost_usd: usd_per_1000_hours.map(|price| cost_usd(price, age_ms)),
            machine_type: machine.kind,
            spot: machine.spot,
            zone: machine.zone,
            id: machine.id,
        }
    }

    fn state_cell(&self) -> Cell {
        let role = match self.state {
            state if state == MachineState::Running.name() => Role::Active,
            state if state == MachineState::Starting.name() => Role::Active,
            state if state == MachineState::Halted.name() => Role::Warn,
            _ => Role::Dim,
        };
        Cell::word(self.state, role)
    }
}

/// In whole tenths of a cent: nobody knows it more exactly.
fn cost_usd(usd_per_1000_hours: u64, age_ms: u64) -> f64 {
    const MS_PER_1000_HOURS: u128 = 3_600_000_000;
    let tenths = u128::from(usd_per_1000_hours) * u128::from(age_ms) * 1_000 / MS_PER_1000_HOURS;
    // Far below what a float holds exactly.
    tenths as f64 / 1_000.0
}

/// Prints the machines of the deployment, whoever's Sessions they are for.
pub(super) async fn list(context: &mut Context, local: &Local) -> Result<(), CliError> {
    if context.settings.aws.is_none() {
        let profile = &context.settings.profile.value;
        context.console.say.note(format!(
            "the profile {profile} has no machines: its agents run on this one"
        ));
    }
    let compute = compose::compute(&context.settings, local).await?;
    let machines = compute.machines().await.map_err(|error| {
        let message = format!("machines can't be listed: {error}");
        CliError::new(codes::UNAVAILABLE, message)
    })?;
    let now_ms = compose::now_ms();
    let aws = context.settings.aws.as_ref();
    let price = aws.and_then(|aws| aws.workers.usd_per_1000_hours);
    let mut shown: Vec<MachineView> = { machines.into_iter() }
        .map(|machine| MachineView::of(machine, now_ms, price))
        .collect();
    shown.sort_by(|a, b| (a.launched_ms, &a.id).cmp(&(b.launched_ms, &b.id)));
    let page = Page::new(shown, false);
    let out = &mut context.console.out;
    out.list(
        &page,
        &page.data,
        |machine| &machine.id,
        || table(&page.data),
    )?;
    let could_be = context.settings.aws.is_some();
    if could_be && page.data.is_empty() && out.format().is_for_people() {
        context.console.say.note("there is no machine");
    }
    Ok(())
}

fn table(machines: &[MachineView]) -> Table {
    let mut table = Table::new([
        Column::new("MACHINE"),
        Column::new("STATE"),
        Column::new("SESSION"),
        Column::new("LAUNCHED"),
        Column::new("USD"),
        Column::new("TYPE"),
        Column::new("ZONE").wide(),
        Column::new("EXECUTION").wide(),
    ]);
    for machine in machines {
        let kind = match machine.spot {
            true => format!("{} (spot)", machine.machine_type),
            false => machine.machine_type.clone(),
        };
        table.row([
            Cell::text(&machine.id),
            machine.state_cell(),
            Cell::text(&machine.session_id),
            Cell::Time(machine.launched_ms),
            match machine.cost_usd {
                Some(usd) => Cell::text(format!("{usd:.3}")),
                None => Cell::text("-"),
            },
            Cell::text(kind),
            Cell::text(&machine.zone),
            Cell::text(&machine.execution),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_age_times_price() {
        // 0.082 US dollars an hour.
        assert_eq!(cost_usd(82, 3_600_000), 0.082);
        assert_eq!(cost_usd(82, 36_000_000), 0.82);
        assert_eq!(cost_usd(82, 0), 0.0);
        assert_eq!(cost_usd(100_000_000, 365 * 86_400_000), 876_000_000.0);
    }
}
