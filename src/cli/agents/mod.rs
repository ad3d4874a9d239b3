//! `rat-things agents …`: one file per verb.

mod create;
mod delete;
mod get;
mod list;
mod update;

use clap::Subcommand;

use super::Context;
use super::out::{Cell, CliError, Column, Details, Table};
use super::show::time;
use crate::api::{Agent, PersistedAgentTool, Words};

/// `rat-things agents …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Save a new Agent
    Create(create::Args),
    /// List saved Agents, newest first
    List(list::Args),
    /// Show one saved Agent
    Get(get::Args),
    /// Change a saved Agent; Sessions that exist keep what they were created with
    Update(update::Args),
    /// Forget a saved Agent; Sessions created from it go on
    Delete(delete::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create::run(context, args).await,
        Command::List(args) => list::run(context, args).await,
        Command::Get(args) => get::run(context, args).await,
        Command::Update(args) => update::run(context, args).await,
        Command::Delete(args) => delete::run(context, args).await,
    }
}

/// Prints one Agent.
fn print(context: &mut Context, agent: &Agent) -> Result<(), CliError> {
    context.console.out.one(agent, &agent.id, || details(agent))
}

fn details(agent: &Agent) -> Details {
    let mut tools = Table::new([Column::new("TYPE"), Column::new("NAME")]);
    for tool in &agent.tools {
        let name = match tool {
            PersistedAgentTool::Function(function) => Cell::text(&function.name),
            _ => Cell::Nothing,
        };
        tools.row([Cell::text(tool_type(tool)), name]);
    }
    let mut metadata = Table::new([Column::new("NAME"), Column::new("VALUE")]);
    for (name, value) in &agent.metadata {
        metadata.row([Cell::text(name), Cell::text(value)]);
    }
    let details = Details::new()
        .value("agent", Cell::text(&agent.id))
        .value("name", Cell::maybe(agent.name.as_deref(), Cell::text))
        .value("model", Cell::text(&agent.model));
    let details = match &agent.instructions {
        Some(text) => details.prose("instructions", text),
        None => details.value("instructions", Cell::Nothing),
    };
    let details = match agent.harness {
        Some(harness) => details.value("harness", Cell::text(harness.as_str())),
        None => details,
    };
    details
        .value("created", time(agent.created_at))
        .value("updated", time(agent.updated_at))
        .table("tools", tools)
        .table("metadata", metadata)
}

/// The word that the wire has for a tool.
fn tool_type(tool: &PersistedAgentTool) -> String {
    let value = serde_json::to_value(tool).unwrap_or_default();
    value["type"].as_str().unwrap_or_default().to_owned()
}
