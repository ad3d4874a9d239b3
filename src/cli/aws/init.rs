//! `aws init`

use super::place::{self, LikeArgs, PlaceArgs, Shown};
use crate::cli::Context;
use crate::cli::compose::setup::{Line, Setup, Standing};
use crate::cli::out::{CliError, Say, codes};

/// Set a deployment up, or mend it: shows what is due, asks, and does it. What was interrupted goes on with the same command.
///
/// Roles are not made: who may do what is for the account's owner to grant (`aws policy`, `aws template`).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things aws init
  rat-things aws init --without-workers --yes
  rat-things aws init --binary target/aarch64-unknown-linux-gnu/release/rat-things")]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    like: LikeArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    context.settings.may_change("aws init")?;
    let progress = context.console.say.progress("looking at the account");
    let setup = args.place.connect(context, Some(&args.like)).await?;
    let mut lines = setup.lines().await?;
    refuse_what_is_not_ours(&lines)?;
    let program = match setup.has_workers() {
        true => Some(setup.program(args.like.binary.as_deref()).await?),
        false => None,
    };
    if let Some(program) = &program {
        lines.push(setup.program_line(program).await?);
    }
    drop(progress);
    let due: Vec<&Line> = lines.iter().filter(|line| is_due(line)).collect();
    let say = &context.console.say;
    for line in lines
        .iter()
        .filter(|line| line.standing == Standing::Hidden)
    {
        let why = line.found.as_deref().unwrap_or_default();
        say.warn(format!(
            "{} can't be seen and is left alone: {why}",
            what(line)
        ));
    }
    if !due.is_empty() {
        ask(context, args, &setup, &due)?;
    } else {
        say.note("everything is as it should be");
    }
    let console = &mut context.console;
    let mut shown = Shown::begin(&mut console.out, &console.say, "setting up");
    let done = match due.is_empty() {
        true => Vec::new(),
        false => {
            setup
                .make(program.as_ref(), &mut |told| shown.hear(told))
                .await
        }
    };
    shown.end(&done)?;
    place::conclude(&done, "rat-things aws init")
}

fn is_due(line: &Line) -> bool {
    matches!(line.standing, Standing::Create | Standing::Change)
}

/// What can't be made right is somebody else's, and is not touched.
fn refuse_what_is_not_ours(lines: &[Line]) -> Result<(), CliError> {
    let Some(line) = lines.iter().find(|line| line.standing == Standing::Fixed) else {
        return Ok(());
    };
    let message = format!(
        "{} is {:?} and can't become {:?}: it is not of this deployment. Nothing was changed",
        what(line),
        line.found.as_deref().unwrap_or_default(),
        line.wanted
    );
    Err(CliError::new(codes::CONFLICT, message)
        .hint("choose another name: --deployment NAME, or aws.table and aws.bucket in the profile"))
}

fn ask(context: &Context, args: &Args, setup: &Setup, due: &[&Line]) -> Result<(), CliError> {
    let (deployment, account, region) = setup.place();
    let say = &context.console.say;
    show(say, due);
    let action =
        format!("The deployment {deployment} is set up in account {account}, region {region}");
    context.console.prompts(args.yes).confirm(say, &action)
}

/// One line for each thing that is made, and one for each property that is changed.
fn show(say: &Say, due: &[&Line]) {
    let mut made = None;
    for line in due {
        match line.standing {
            Standing::Create if made == Some((line.resource, &line.name)) => {}
            Standing::Create => {
                made = Some((line.resource, &line.name));
                say.note(format!("create  {} {}", line.resource, line.name));
            }
            _ => {
                let found = line.found.as_deref().unwrap_or_default();
                say.note(format!(
                    "change  {}: {found} -> {}",
                    what(line),
                    line.wanted
                ));
            }
        }
    }
}

fn what(line: &Line) -> String {
    format!("{} of the {} {}", line.property, line.resource, line.name)
}
