//! `agents create`

use std::path::PathBuf;

use crate::api::{self, AgentCreateParams, HarnessChoice, Metadata};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::input;
use crate::cli::out::{CliError, codes};

/// Save a new Agent.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things agents create --model gpt-5 --name reviewer --instructions 'Review politely.'
  rat-things agents create -f agent.json")]
pub struct Args {
    /// The model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// A name for people
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// What the model is told before everything else; - reads standard input
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// What drives the agent: responses or codex [default: the profile's]
    #[arg(long, value_name = "NAME", value_parser = input::harness)]
    harness: Option<HarnessChoice>,
    /// A name and a value to keep with the Agent; repeat it for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::pair)]
    metadata: Vec<(String, String)>,
    /// The whole request as the Agents API has it, with tools and all; - reads standard input
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["model", "name", "instructions", "harness", "metadata"])]
    file: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("agents create")?;
    let params = match &args.file {
        Some(path) => api::parse_agent_create(&input::file(path)?)?,
        None => from_options(context, args)?,
    };
    // Options go through the same rules as a request on the wire.
    api::limits::check_agent_create(&params)?;
    let of = compose::deployment(&context.settings).await?;
    let agent = of.create_agent(&params).await?;
    super::print(context, &agent)
}

fn from_options(context: &Context, args: Args) -> Result<AgentCreateParams, CliError> {
    let Some(model) = args
        .model
        .or_else(|| context.settings.provider.model.clone())
    else {
        let message = "--model is not given, and the profile names no model";
        return Err(CliError::new(codes::INPUT, message)
            .hint("add --model NAME, or provider.model to the profile"));
    };
    let instructions = match args.instructions.as_deref() {
        Some(given) => Some(input::text(given, "--instructions")?),
        None => None,
    };
    let metadata: Metadata = args.metadata.into_iter().collect();
    Ok(AgentCreateParams {
        model,
        name: args.name,
        instructions,
        harness: args.harness,
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..AgentCreateParams::default()
    })
}
