//! `aws policy`

use super::{NameArgs, print};
use crate::cli::Context;
use crate::cli::compose::account::{self, Caller};
use crate::cli::out::CliError;

/// Print the least that a role must be permitted, as an IAM policy. Nothing is asked of AWS.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things aws policy daemon --account 123456789012 --region eu-west-1
  rat-things aws policy worker --account 123456789012 --region eu-west-1 --deployment agents")]
pub struct Args {
    /// Who is permitted
    #[arg(value_enum)]
    role: Caller,
    /// The account, twelve digits
    #[arg(long, value_name = "ID")]
    account: String,
    /// The region [default: what AWS_REGION or AWS_DEFAULT_REGION says]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    #[command(flatten)]
    name: NameArgs,
}

/// Runs the command.
pub fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    let said = || {
        let vars = &context.vars;
        vars.text("AWS_REGION")
            .or_else(|| vars.text("AWS_DEFAULT_REGION"))
    };
    let region = args.region.clone().or_else(said).ok_or_else(|| {
        CliError::usage("nothing says which region")
            .hint("add --region, such as --region eu-west-1")
    })?;
    let policy = account::policy(&args.name.named(), &args.account, &region, args.role)?;
    print(&mut context.console, &policy, &args.name.deployment)
}
