//! Which deployment a command is about, and how what stands there is shown.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::cli::Context;
use crate::cli::compose::setup::{self, Done, Line, Setup, Standing, Told, Wanted};
use crate::cli::out::{Cell, CliError, Column, Format, Out, Progress, Role, Say, Table, codes};

/// Which deployment.
#[derive(Debug, clap::Args)]
pub(super) struct PlaceArgs {
    /// Its name, which everything of it has in its own [default: the profile's, or rat-things]
    #[arg(long, value_name = "NAME")]
    deployment: Option<String>,
    /// Its region [default: the profile's, or where every AWS tool finds it]
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Network of its workers [default: the account's default one]
    #[arg(long, value_name = "VPC")]
    vpc: Option<String>,
}

/// What a deployment is made like.
#[derive(Debug, clap::Args)]
pub(super) struct LikeArgs {
    /// ARN of the KMS key that encrypts it [default: the profile's, or AWS' own keys]
    #[arg(long, value_name = "ARN")]
    kms_key: Option<String>,
    /// Run workers on Intel and AMD instead of Graviton
    #[arg(long)]
    x86_64: bool,
    /// Table and bucket only, for daemons that run agents on their own machines
    #[arg(long)]
    without_workers: bool,
    /// The program that workers run [default: this one]
    #[arg(long, value_name = "FILE", conflicts_with = "without_workers")]
    pub(super) binary: Option<PathBuf>,
}

impl PlaceArgs {
    /// Asks AWS who calls.
    pub(super) async fn connect(
        &self,
        context: &Context,
        like: Option<&LikeArgs>,
    ) -> Result<Setup, CliError> {
        let wanted = Wanted {
            deployment: self.deployment.clone(),
            region: self.region.clone(),
            vpc: self.vpc.clone(),
            kms_key: like.and_then(|like| like.kms_key.clone()),
            x86_64: like.is_some_and(|like| like.x86_64),
            without_workers: like.is_some_and(|like| like.without_workers),
        };
        setup::connect(&context.settings, &wanted).await
    }
}

/// A line as JSON.
pub(super) fn document(line: &Line) -> Value {
    json!({
        "resource": line.resource,
        "name": line.name,
        "property": line.property,
        "standing": word(line.standing),
        "found": line.found,
        "wanted": line.wanted,
    })
}

/// Lines as a table.
pub(super) fn table(lines: &[Line]) -> Table {
    let columns = [
        Column::new("RESOURCE"),
        Column::new("NAME").wide(),
        Column::new("PROPERTY"),
        Column::new("STANDING"),
        Column::new("FOUND").shrinks(1, 12),
        Column::new("WANTED").shrinks(2, 12),
    ];
    let mut table = Table::new(columns);
    for line in lines {
        let role = match line.standing {
            Standing::Right => Role::Good,
            Standing::Create | Standing::Change | Standing::Hidden => Role::Warn,
            Standing::Fixed => Role::Bad,
        };
        table.row([
            Cell::text(line.resource),
            Cell::text(&line.name),
            Cell::text(line.property),
            Cell::word(line.standing.name(), role),
            Cell::maybe(line.found.as_deref(), Cell::text),
            Cell::text(&line.wanted),
        ]);
    }
    table
}

/// For scripts.
fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Right => "right",
        Standing::Create => "create",
        Standing::Change => "change",
        Standing::Fixed => "fixed",
        Standing::Hidden => "hidden",
    }
}

/// Deeds, each printed as soon as it ended; those of a whole document at its end.
pub(super) struct Shown<'o> {
    out: &'o mut Out,
    progress: Progress,
    failed: Option<CliError>,
}

impl<'o> Shown<'o> {
    /// None yet. `label` is shown until there is more to say.
    pub(super) fn begin(out: &'o mut Out, say: &Say, label: &str) -> Shown<'o> {
        Shown {
            out,
            progress: say.progress(label.to_owned()),
            failed: None,
        }
    }

    /// Takes news.
    pub(super) fn hear(&mut self, told: Told<'_>) {
        match told {
            Told::Begun(what) => self.progress.step(what.to_owned()),
            Told::Ended(done) => self.ended(&done),
        }
    }

    /// All of them.
    pub(super) fn end(self, done: &[Done]) -> Result<(), CliError> {
        drop(self.progress);
        if let Some(error) = self.failed {
            return Err(error);
        }
        if !is_whole(self.out.format()) {
            return Ok(());
        }
        let all: Vec<Value> = done.iter().map(as_value).collect();
        let ok = done.iter().all(|one| one.error.is_none());
        let document = json!({"object": "rat_things.aws_deeds", "ok": ok, "deeds": all});
        self.out.list(&document, &all, what_of, || Table::new([]))
    }

    fn ended(&mut self, done: &Done) {
        if is_whole(self.out.format()) || self.failed.is_some() {
            return;
        }
        let role = match done.outcome {
            "done" => Role::Good,
            _ => Role::Bad,
        };
        let cells = || {
            let why = done.error.as_ref().map(|(_, words)| words.as_str());
            vec![
                Cell::word(done.outcome, role),
                Cell::text(&done.what),
                Cell::maybe(why, Cell::text),
            ]
        };
        self.failed = self.out.record(&as_value(done), &done.what, cells).err();
    }
}

fn what_of(done: &Value) -> &str {
    done["what"].as_str().unwrap_or_default()
}

/// Whether the format has one document and not a line each.
fn is_whole(format: Format) -> bool {
    matches!(format, Format::Json | Format::Yaml)
}

fn as_value(done: &Done) -> Value {
    json!({
        "what": done.what,
        "outcome": done.outcome.replace(' ', "_"),
        "why": done.error.as_ref().map(|(_, words)| words),
    })
}

/// What all of it came to: who must act first, and that the same command goes on.
pub(super) fn conclude(done: &[Done], again: &str) -> Result<(), CliError> {
    let failed: Vec<&Done> = done.iter().filter(|one| one.error.is_some()).collect();
    let Some((code, why)) = failed.iter().find_map(|one| one.error.clone()) else {
        return Ok(());
    };
    let uncertain = failed.iter().any(|one| {
        let code = one.error.as_ref().map(|(code, _)| *code);
        code == Some(codes::UNKNOWN_OUTCOME)
    });
    let code = if uncertain {
        codes::UNKNOWN_OUTCOME
    } else {
        code
    };
    let message = match failed.len() {
        1 => format!("{}: {why}", failed[0].what),
        n => format!(
            "{n} steps were not done, or nobody knows; the first: {}: {why}",
            failed[0].what
        ),
    };
    Err(CliError::new(code, message).hint(format!(
        "what was done stays done; once the cause is gone, the same command goes on: {again}"
    )))
}
