//! `rat-things aws …`: a deployment in an AWS account, one file per verb.

mod destroy;
mod init;
mod place;
mod plan;
mod policy;
mod template;

use clap::Subcommand;
use serde_json::Value;

use super::Context;
use super::compose::account::Named;
use super::out::{CliError, Console, Details, Format};

/// `rat-things aws …`
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set a deployment up, or mend it
    Init(init::Args),
    /// Look at what is there against what is wanted
    Plan(plan::Args),
    /// Do away with a deployment
    Destroy(destroy::Args),
    /// Print the least that a role must be permitted, as an IAM policy
    Policy(policy::Args),
    /// Print the whole deployment, roles included, as a CloudFormation template
    Template(template::Args),
}

/// Which deployment.
#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Its name, which everything of it has in its own
    #[arg(long, value_name = "NAME", default_value = "rat-things")]
    deployment: String,
    /// ARN of the KMS key that encrypts it [default: AWS' own keys]
    #[arg(long, value_name = "ARN")]
    kms_key: Option<String>,
    /// Run workers on Intel and AMD instead of Graviton
    #[arg(long)]
    x86_64: bool,
}

impl NameArgs {
    fn named(&self) -> Named {
        Named {
            deployment: self.deployment.clone(),
            kms_key: self.kms_key.clone(),
            x86_64: self.x86_64,
        }
    }
}

/// Runs the command.
pub async fn run(context: &mut Context, command: Command) -> Result<(), CliError> {
    match command {
        Command::Init(args) => init::run(context, &args).await,
        Command::Plan(args) => plan::run(context, &args).await,
        Command::Destroy(args) => destroy::run(context, &args).await,
        Command::Policy(args) => policy::run(context, &args),
        Command::Template(args) => template::run(&mut context.console, &args),
    }
}

/// Prints a document that is JSON by its nature: for whoever asked for no other form, laid out to be read.
fn print(console: &mut Console, document: &Value, name: &str) -> Result<(), CliError> {
    match console.out.format() {
        Format::Table | Format::Wide | Format::Tsv => {
            // A JSON value always encodes.
            let text = serde_json::to_string_pretty(document).unwrap_or_default();
            console.out.bytes(format!("{text}\n").as_bytes())
        }
        _ => console.out.one(document, name, Details::new),
    }
}
