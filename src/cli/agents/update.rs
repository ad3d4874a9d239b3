//! `agents update`

use std::path::PathBuf;

use crate::api::{self, Agent, AgentUpdateParams, HarnessChoice, Patch};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::input;
use crate::cli::out::{CliError, codes};
use crate::cli::resolve;

/// Change a saved Agent. Sessions that exist keep what they were created with.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things agents update agent_5m --model gpt-5-mini
  rat-things agents update agent_5m --metadata team=infra --name ''")]
pub struct Args {
    /// The Agent: its id, or the beginning of it
    agent: String,
    /// The model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A name for people; an empty one removes it
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What the model is told before everything else; - reads standard input, an empty one removes it
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// What drives the agent: responses or codex; an empty one leaves it to the profile
    #[arg(long, value_name = "NAME", value_parser = harness)]
    harness: Option<Patch<HarnessChoice>>,
    /// A name and a value to keep; an empty value removes the name; repeat it for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::pair)]
    metadata: Vec<(String, String)>,
    /// The whole request as the Agents API has it; - reads standard input
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["model", "name", "instructions", "harness", "metadata"])]
    file: Option<PathBuf>,
}

/// The value of `--harness`.
fn harness(given: &str) -> Result<Patch<HarnessChoice>, String> {
    match given {
        "" => Ok(Patch::Clear),
        given => input::harness(given).map(Patch::Set),
    }
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("agents update")?;
    let whole = match &args.file {
        Some(path) => Some(api::parse_agent_update(&input::file(path)?)?),
        None => None,
    };
    let nothing = AgentUpdateParams::default();
    let asked = match &whole {
        Some(params) => *params != nothing,
        None => {
            args.model.is_some()
                || args.name.is_some()
                || args.instructions.is_some()
                || args.harness.is_some()
                || !args.metadata.is_empty()
        }
    };
    if !asked {
        let message =
            "nothing to change: give --model, --name, --instructions, --harness, --metadata or -f";
        return Err(CliError::new(codes::INPUT, message));
    }
    let of = compose::deployment(&context.settings).await?;
    let id = resolve::agent(&*of, &args.agent).await?;
    let agent = of.agent(&id).await?;
    let params = match whole {
        Some(params) => params,
        None => from_options(args, &agent)?,
    };
    api::limits::check_agent_update(&params)?;
    let agent = of.update_agent(&id, &params).await?;
    super::print(context, &agent)
}

fn from_options(args: Args, agent: &Agent) -> Result<AgentUpdateParams, CliError> {
    let instructions = match args.instructions.as_deref() {
        None => Patch::Keep,
        Some("") => Patch::Clear,
        Some(given) => Patch::Set(input::text(given, "--instructions")?),
    };
    let mut metadata = agent.metadata.clone();
    let given = !args.metadata.is_empty();
    for (name, value) in args.metadata {
        match value.is_empty() {
            true => metadata.remove(&name),
            false => metadata.insert(name, value),
        };
    }
    Ok(AgentUpdateParams {
        model: args.model,
        name: match args.name {
            None => Patch::Keep,
            Some(name) if name.is_empty() => Patch::Clear,
            Some(name) => Patch::Set(name),
        },
        instructions,
        harness: args.harness.unwrap_or_default(),
        metadata: match given {
            true => Patch::Set(metadata),
            false => Patch::Keep,
        },
        ..AgentUpdateParams::default()
    })
}
