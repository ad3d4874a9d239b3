//! `aws plan`

use serde_json::{Value, json};

use super::place::{self, LikeArgs, PlaceArgs};
use crate::cli::Context;
use crate::cli::compose::setup::{Line, Standing};
use crate::cli::out::{CliError, codes};

/// Look at what is there of a deployment against what is wanted, property by property. Nothing is changed.
///
/// Exits with 1 if something is due.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things aws plan
  rat-things aws plan --without-workers -o json
  rat-things aws plan && echo nothing to do")]
pub struct Args {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    like: LikeArgs,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: &Args) -> Result<(), CliError> {
    let progress = context.console.say.progress("looking at the account");
    let setup = args.place.connect(context, Some(&args.like)).await?;
    let mut lines = setup.lines().await?;
    if setup.has_workers() {
        // What can't be uploaded is said, and the rest is shown all the same.
        match setup.program(args.like.binary.as_deref()).await {
            Ok(program) => lines.push(setup.program_line(&program).await?),
            Err(error) if args.like.binary.is_none() => lines.push(Line {
                resource: "program",
                name: "bin/".to_owned(),
                property: setup.architecture(),
                standing: Standing::Hidden,
                found: Some(format!("{}; see --binary", error.message)),
                wanted: "uploaded".to_owned(),
                loses: false,
            }),
            Err(error) => return Err(error),
        }
    }
    drop(progress);
    let (deployment, account, region) = setup.place();
    let rows: Vec<Value> = lines.iter().map(place::document).collect();
    let due = lines.iter().filter(|line| line.standing != Standing::Right);
    let due = due.count();
    let document = json!({
        "object": "rat_things.aws_plan",
        "deployment": deployment,
        "account": account,
        "region": region,
        "due": due > 0,
        "lines": rows,
    });
    let out = &mut context.console.out;
    out.list(&document, &rows, name_of, || place::table(&lines))?;
    match due {
        0 => Ok(()),
        due => {
            let message = format!("not as they should be: {due} of {}", lines.len());
            Err(CliError::new(codes::NEGATIVE, message).hint("rat-things aws init"))
        }
    }
}

fn name_of(row: &Value) -> &str {
    row["name"].as_str().unwrap_or_default()
}
