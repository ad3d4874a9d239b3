//! `aws destroy`

use super::place::{self, PlaceArgs, Shown};
use crate::cli::Context;
use crate::cli::compose::setup::{Holdings, Setup};
use crate::cli::out::{CliError, codes};

/// Do away with a deployment: launch template, security group, secrets, table, and the bucket with all versions.
///
/// While there is data it is refused unless the deployment's name is typed, or given with --with-data. What was interrupted goes on with
/// the same command. Roles of a CloudFormation stack stay: the stack is for its owner to delete.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things aws destroy
  rat-things aws destroy --deployment trial --with-data trial --yes")]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    /// Destroy its data, too; the name of the deployment says that it is meant
    #[arg(long, value_name = "NAME")]
    with_data: Option<String>,
    /// Do not ask; data is kept all the same, unless --with-data names the deployment
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    context.settings.may_change("aws destroy")?;
    let progress = context.console.say.progress("looking at the account");
    let setup = args.place.connect(context, None).await?;
    let holdings = setup.holdings().await?;
    drop(progress);
    if let [first, ..] = holdings.machines.as_slice() {
        let message = format!(
            "{} machines of the deployment are not gone: {first}, …; nothing was changed",
            holdings.machines.len()
        );
        let all = holdings.machines.join(" ");
        return Err(CliError::new(codes::CONFLICT, message)
            .hint("end those of workers first: rat-things runs stop --all")
            .hint(format!(
                "and those that you launched yourself: aws ec2 terminate-instances --instance-ids {all}"
            )));
    }
    ask(context, args, &setup, &holdings)?;
    let console = &mut context.console;
    let mut shown = Shown::begin(&mut console.out, &console.say, "destroying");
    let done = setup.unmake(&mut |told| shown.hear(told)).await;
    shown.end(&done)?;
    if done.is_empty() {
        console.say.note("there is nothing of it");
    }
    place::conclude(&done, "rat-things aws destroy")?;
    console.say.note(
        "roles, instance profiles and policies are not touched: if a CloudFormation stack made them, delete the stack",
    );
    Ok(())
}

fn ask(context: &Context, args: &Args, setup: &Setup, holdings: &Holdings) -> Result<(), CliError> {
    let (deployment, account, region) = setup.place();
    let action =
        format!("The deployment {deployment} in account {account}, region {region}, is destroyed");
    let say = &context.console.say;
    if holdings.data.is_empty() {
        return context.console.prompts(args.yes).confirm(say, &action);
    }
    let data = holdings.data.join(", ");
    match args.with_data.as_deref() {
        Some(name) if name == deployment => {
            let action = format!("{action}, with {data}");
            context.console.prompts(args.yes).confirm(say, &action)
        }
        Some(name) => Err(CliError::new(
            codes::INPUT,
            format!(
                "--with-data names {name}, and the deployment is {deployment}; nothing was changed"
            ),
        )),
        None if args.yes => Err(CliError::new(
            codes::CONFLICT,
            format!("the deployment {deployment} holds data: {data}; nothing was changed"),
        )
        .hint(format!("to destroy it, too: --with-data {deployment}"))),
        None => {
            let action = format!("{action}, with {data}. None of it comes back");
            let mut prompts = context.console.prompts(false);
            prompts.confirm_typed(say, &action, deployment)
        }
    }
}
