//! `rat-things sessions …`: one file per verb.

mod answer;
mod artifacts;
mod cancel;
mod create;
mod delete;
mod events;
pub mod explain;
pub mod export;
mod get;
mod import;
mod items;
mod list;
mod send;
mod subagents;
mod turns;
mod update;
mod wait;

use clap::Subcommand;

use super::Context;
use super::out::CliError;

/// `rat-things sessions …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Create a Session, usually with a first message
    Create(create::Args),
    /// List Sessions, newest first
    List(list::Args),
    /// Show one Session
    Get(get::Args),
    /// Change a Session's title, metadata or model
    Update(update::Args),
    /// Send a message: it starts a Turn, or steers the one that runs
    Send(send::Args),
    /// Stop the active Turn, or the one that is named
    Cancel(cancel::Args),
    /// Answer a function call that a Turn waits for
    Answer(answer::Args),
    /// List a Session's Turns
    Turns(turns::Args),
    /// List a Session's Items: the transcript
    Items(items::Args),
    /// List a Session's subagents, or the transcript of one
    Subagents(subagents::Args),
    /// List what changed in a Session, in order
    Events(events::Args),
    /// List the files that a Session's Turns left in /workspace/outputs
    Artifacts(artifacts::Args),
    /// Wait until a Session's work is over
    Wait(wait::Args),
    /// Say why a Session does or does not move, and what would unblock it
    Explain(explain::Args),
    /// Write a Session to a file that another store can import
    Export(export::Args),
    /// Import a Session that was exported
    Import(import::Args),
    /// Delete a Session, its files and its environment
    Delete(delete::Args),
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Create(args) => create::run(context, args).await,
        Command::List(args) => list::run(context, args).await,
        Command::Get(args) => get::run(context, args).await,
        Command::Update(args) => update::run(context, args).await,
        Command::Send(args) => send::run(context, args).await,
        Command::Cancel(args) => cancel::run(context, args).await,
        Command::Answer(args) => answer::run(context, args).await,
        Command::Turns(args) => turns::run(context, args).await,
        Command::Items(args) => items::run(context, args).await,
        Command::Subagents(args) => subagents::run(context, args).await,
        Command::Events(args) => events::run(context, args).await,
        Command::Artifacts(args) => artifacts::run(context, args).await,
        Command::Wait(args) => wait::run(context, args).await,
        Command::Explain(args) => explain::run(context, args).await,
        Command::Export(args) => export::run(context, args).await,
        Command::Import(args) => import::run(context, args).await,
        Command::Delete(args) => delete::run(context, args).await,
    }
}
