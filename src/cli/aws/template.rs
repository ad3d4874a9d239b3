//! `aws template`

use super::{NameArgs, print};
use crate::cli::compose::account;
use crate::cli::out::{CliError, Console};

/// Print the whole deployment, roles included, as a CloudFormation template. Nothing is asked of AWS.
///
/// Table and bucket outlive the stack.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things aws template > rat-things.json
  rat-things aws template --deployment agents -o yaml > agents.yaml")]
pub struct Args {
    #[command(flatten)]
    name: NameArgs,
}

/// Runs the command.
pub fn run(console: &mut Console, args: &Args) -> Result<(), CliError> {
    let template = account::template(&args.name.named())?;
    print(console, &template, &args.name.deployment)
}
