//! `sessions update`

use crate::api::{Patch, SessionAgentUpdateParams, SessionUpdateParams, limits};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::input;
use crate::cli::out::{CliError, codes};
use crate::cli::resolve;

/// Change a Session's title, metadata or model.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions update sess_7f --title 'weekly report'
  rat-things sessions update sess_7f --metadata team=infra --model gpt-5")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// A title for lists; an empty one removes it
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A name and a value to keep; an empty value removes the name; repeat it for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::pair)]
    metadata: Vec<(String, String)>,
    /// The model of later Turns
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions update")?;
    if args.title.is_none() && args.metadata.is_empty() && args.model.is_none() {
        return Err(CliError::new(
            codes::INPUT,
            "nothing to change: give --title, --metadata or --model",
        ));
    }
    let of = compose::deployment(&context.settings).await?;
    let id = resolve::session(&*of, &args.session).await?;
    let mut metadata = of.session(&id).await?.metadata;
    let title = args
        .title
        .iter()
        .map(|title| ("title".to_owned(), title.clone()));
    for (name, value) in args.metadata.iter().cloned().chain(title) {
        match value.is_empty() {
            true => metadata.remove(&name),
            false => metadata.insert(name, value),
        };
    }
    let params = SessionUpdateParams {
        agent: args.model.clone().map(|model| SessionAgentUpdateParams {
            model: Some(model),
            ..Default::default()
        }),
        metadata: Patch::Set(metadata),
        ..SessionUpdateParams::default()
    };
    limits::check_session_update(&params)?;
    let resource = of.update_session(&id, &params).await?;
    super::create::print(context, &resource)
}
