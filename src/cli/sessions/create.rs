//! `sessions create`

use std::path::PathBuf;

use clap::ValueEnum;

use crate::api::{
    self, AgentSession, EnvironmentParam, HarnessChoice, HostedEnvironmentParam, NetworkAccess,
    NetworkParam, SessionAgentParams, SessionCreateParams, SessionInput,
};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::follow::{Followed, From, Until, follow, verdict};
use crate::cli::input;
use crate::cli::key::KeyArgs;
use crate::cli::out::{CliError, codes};
use crate::cli::{resolve, show};
use crate::engine::ports::Deployment;

/// Create a Session, usually with a first message.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions create --input 'what is in /workspace?'
  rat-things sessions create --model gpt-5 --environment none --input - < question.txt
  rat-things sessions create -f request.json --idempotency-key nightly-2026-11-29")]
pub struct Args {
    /// The first message; - reads standard input
    #[arg(long, value_name = "TEXT")]
    input: Option<String>,
    /// A saved Agent: its id, or the beginning of it
    #[arg(long, value_name = "ID")]
    agent_id: Option<String>,
    /// The model [default: the profile's]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Instructions for the agent
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// What drives the agent: responses or codex [default: the Agent's, or the profile's]
    #[arg(long, value_name = "NAME", value_parser = input::harness)]
    harness: Option<HarnessChoice>,
    /// Where commands run: managed, a sandbox with a workspace; or none, and the agent has no shell [default: managed]
    #[arg(
        long,
        value_name = "KIND",
        value_enum,
        default_value_t = Environment::Managed,
        hide_default_value = true,
        hide_possible_values = true
    )]
    environment: Environment,
    /// What commands may reach: disabled, restricted (the hosts given with --allow) or enabled (every public host) [default: the profile's]
    #[arg(long, value_name = "ACCESS", value_enum, hide_possible_values = true)]
    network: Option<Network>,
    /// A host that commands may reach, with --network restricted; repeat it for more
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,
    /// A name and a value to keep with the Session; repeat it for more
    #[arg(long, value_name = "NAME=VALUE", value_parser = input::pair)]
    metadata: Vec<(String, String)>,
    /// A title for lists
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The whole request as the Agents API has it; - reads standard input
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["input", "agent_id", "model", "instructions", "harness", "network", "allow", "metadata", "title"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// Follow the Turn to its end [default: on a terminal]
    #[arg(long, overrides_with = "no_wait")]
    wait: bool,
    /// Answer as soon as the Session is accepted [default: off a terminal]
    #[arg(long)]
    no_wait: bool,
}

/// Where commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Environment {
    /// Nowhere: the agent has no shell
    None,
    /// In a sandbox with a workspace
    Managed,
}

/// What commands may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Network {
    /// Nothing
    Disabled,
    /// The hosts given with --allow
    Restricted,
    /// Every public host
    Enabled,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    context.settings.may_change("sessions create")?;
    let (params, has_input) = params(context, &args)?;
    let of = compose::deployment(&context.settings).await?;
    let params = named_agent(&*of, params).await?;
    let key = args.key.clone().take();
    let created = of
        .create_session(key.as_str(), &params)
        .await
        .map_err(|error| key.explain(error))?;
    if context.settings.answers_with_demo_by_default() {
        context
            .console
            .say
            .note("no provider is configured: the demo model answers (docs/configuration.md)");
    }
    if has_input {
        of.ensure_daemon(context).await;
    }
    let wait = args.wait || (!args.no_wait && context.console.terminal.stdout.tty);
    match wait && has_input {
        true => finish(context, &*of, &created.id, From::Behind(None)).await,
        false => print(context, &created),
    }
}

/// After something was accepted: follow the Turn that it goes to.
pub(super) async fn finish(
    context: &mut Context,
    of: &dyn Deployment,
    session: &str,
    from: From,
) -> Result<(), CliError> {
    if !context.console.out.format().is_for_people() {
        let over = super::wait::until_over(of, session, from, Until::OneTurn, None).await?;
        print(context, &of.session(session).await?)?;
        return verdict(over);
    }
    context.console.say.note(format!("session {session}"));
    let console = &mut context.console;
    let (out, say) = (&mut console.out, &console.say);
    let end = follow(of, out, say, session, from, Until::OneTurn).await?;
    if end == Followed::Detached {
        console.say.note("detached; the work goes on");
        console
            .say
            .hint(format!("rat-things sessions wait {session}"));
        return Ok(());
    }
    next_steps(context, session, end);
    verdict(end)
}

/// The three commands that come next.
fn next_steps(context: &Context, session: &str, end: Followed) {
    let short: String = session.chars().take(13).collect();
    if end == Followed::Waits {
        let answer = format!("rat-things sessions answer {short} --result '…'");
        return context.console.say.hint(answer);
    }
    context.console.say.note(format!(
        "next:\n  rat-things sessions send {short} --input 'and now …'\n  rat-things sessions artifacts {short}\n  rat-things sessions items {short}"
    ));
}

pub(super) fn print(context: &mut Context, session: &AgentSession) -> Result<(), CliError> {
    context
        .console
        .out
        .one(session, &session.id, || show::session_details(session))
}

/// The request, and whether it brings a message.
fn params(context: &Context, args: &Args) -> Result<(SessionCreateParams, bool), CliError> {
    let params = match &args.file {
        Some(path) => api::parse_session_create(&input::file(path)?)?,
        None => from_options(context, args)?,
    };
    // Options go through the same rules as a request on the wire.
    api::limits::check_session_create(&params)?;
    let has_input = params.input.is_some();
    Ok((params, has_input))
}

fn from_options(context: &Context, args: &Args) -> Result<SessionCreateParams, CliError> {
    let text = args
        .input
        .as_deref()
        .map(|given| input::text(given, "--input"))
        .transpose()?;
    let default_model = context.settings.default_model();
    let model = args
        .model
        .clone()
        .or(default_model.filter(|_| args.agent_id.is_none()));
    if model.is_none() && args.agent_id.is_none() {
        let message = "neither --model nor --agent-id is given, and the profile names no model";
        return Err(CliError::new(codes::INPUT, message)
            .hint("add --model NAME, or provider.model to the profile"));
    }
    let mut metadata: api::Metadata = args.metadata.iter().cloned().collect();
    if let Some(title) = &args.title {
        metadata.insert("title".to_owned(), title.clone());
    }
    let mut agent = SessionAgentParams {
        model,
        ..SessionAgentParams::default()
    };
    if let Some(instructions) = &args.instructions {
        agent.instructions = api::Patch::Set(instructions.clone());
    }
    if let Some(harness) = args.harness {
        agent.harness = api::Patch::Set(harness);
    }
    Ok(SessionCreateParams {
        environment: environment(args)?,
        agent: (agent != SessionAgentParams::default()).then_some(agent),
        agent_id: args.agent_id.clone(),
        input: text.map(SessionInput::Text),
        metadata: (!metadata.is_empty()).then_some(metadata),
        prompt_cache_options: None,
        review: None,
        spend_control: None,
        stream: None,
        stream_options: None,
        vault_ids: None,
    })
}

fn environment(args: &Args) -> Result<EnvironmentParam, CliError> {
    let network = match (args.network, args.allow.is_empty()) {
        (Some(Network::Disabled), true) => Some(NetworkAccess::Disabled),
        (Some(Network::Enabled), true) => Some(NetworkAccess::Enabled),
        (Some(Network::Restricted), _) | (None, false) => Some(NetworkAccess::Restricted),
        (None, true) => None,
        (Some(_), false) => {
            return Err(CliError::new(
                codes::INPUT,
                "--allow goes with --network restricted",
            ));
        }
    };
    match args.environment {
        Environment::None if network.is_some() => Err(CliError::new(
            codes::INPUT,
            "--network and --allow go with --environment managed",
        )),
        Environment::None => Ok(EnvironmentParam::None),
        Environment::Managed => Ok(EnvironmentParam::OpenaiHosted(Box::new(
            HostedEnvironmentParam {
                network: network.map(|access| NetworkParam {
                    access,
                    allowed_domains: (!args.allow.is_empty()).then(|| args.allow.clone()),
                    blocked_domains: None,
                }),
                ..HostedEnvironmentParam::default()
            },
        ))),
    }
}

/// A prefix of an Agent's id becomes the whole id.
async fn named_agent(
    of: &dyn Deployment,
    mut params: SessionCreateParams,
) -> Result<SessionCreateParams, CliError> {
    if let Some(typed) = &params.agent_id {
        params.agent_id = Some(resolve::agent(of, typed).await?);
    }
    Ok(params)
}
