//! `sessions export`

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cli::Context;
use crate::cli::compose::{self, Local};
use crate::cli::new_file::{NewFile, destination};
use crate::cli::out::{Cell, CliError, Details, codes};
use crate::engine::archive::{ArchiveError, Exported, Progress};
use crate::engine::ids::SessionId;
use crate::text;

/// Write a Session to a file that another store can import: records, journal and bytes, as they are at one revision.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things sessions export sess_7f --to backup.tar.zst
  rat-things sessions export sess_7f --to /media/usb")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The file to write, for you alone; a directory takes SESSION.tar.zst
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// Replace a file that has the name already
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    if args.to.as_os_str() == "-" {
        return Err(CliError::new(
            codes::INPUT,
            "--to: an archive is written to a file, not to standard output",
        )
        .hint("--to FILE"));
    }
    let local = compose::open(&context.settings).await?;
    let session = local.session(&args.session).await?;
    let progress = context.console.say.progress("reading");
    let step = |done_bytes, whole_bytes| progress.step(step(done_bytes, whole_bytes));
    let written = write_archive(&local, &session, &args.to, args.force, &step).await?;
    drop(progress);
    let exported = &written.exported;
    if let Some(first) = exported.unsound.first() {
        let many = exported.unsound.len();
        context.console.say.warn(format!(
            "the session is damaged ({many} findings; the first: {first}): such an archive is not imported"
        ));
        context.console.say.hint("rat-things fsck");
    } else if exported.mid_turn {
        context.console.say.note(
            "a turn is going on: in the archive it is interrupted, and goes on where it is imported",
        );
    }
    if exported.without_variables {
        context.console.say.note(
            "the values of its environment's variables stay here: where it is imported, commands run without them",
        );
    }
    if let Some(why) = &exported.without_checkpoint {
        context.console.say.warn(format!(
            "what its harness kept of the conversation is damaged and stays here ({why}): where it is imported, the agent begins anew from the Items"
        ));
        context.console.say.hint("rat-things fsck --repair");
    }
    let to = written.path.display().to_string();
    report(context, exported, written.size_bytes, &to)
}

/// An archive that was written.
pub struct Written {
    /// What is in it.
    pub exported: Exported,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size_bytes: u64,
}

impl Written {
    /// What a person should know of it.
    pub fn remarks(&self) -> Vec<&'static str> {
        let of = &self.exported;
        [
            (
                !of.unsound.is_empty(),
                "the session is damaged: such an archive is not imported",
            ),
            (
                of.mid_turn,
                "a turn is going on, and goes on where it is imported",
            ),
            (
                of.without_variables,
                "without the values of its environment's variables",
            ),
            (
                of.without_checkpoint.is_some(),
                "without what its harness kept, which is damaged",
            ),
        ]
        .into_iter()
        .filter_map(|(is_so, words)| is_so.then_some(words))
        .collect()
    }
}

/// Writes a Session to a file, for its owner alone; a directory takes `SESSION.tar.zst`. `step` is told how far it is: bytes that are done, and
/// all bytes.
pub async fn write_archive(
    local: &Local,
    session: &SessionId,
    to: &Path,
    force: bool,
    step: Progress<'_>,
) -> Result<Written, CliError> {
    let there = local.core.load_owned(&local.owner, session).await;
    there.map_err(ArchiveError::from)?;
    let path = destination(to, &format!("{session}.tar.zst"))?;
    let file = NewFile::begin_private(&path, force)?;
    let mut sink = compose::archive_sink(file.handle()?, file.directory())?;
    let exported = local
        .core
        .export_session(
            &local.owner,
            session,
            env!("CARGO_PKG_VERSION"),
            &mut *sink,
            step,
        )
        .await?;
    drop(sink);
    let size_bytes = file.finish()?;
    Ok(Written {
        exported,
        path,
        size_bytes,
    })
}

/// So far, of how much.
pub(super) fn step(done_bytes: u64, whole_bytes: u64) -> String {
    let percent = u128::from(done_bytes) * 100 / u128::from(whole_bytes.max(1));
    format!(
        "{} of {} ({percent}%)",
        text::size(done_bytes),
        text::size(whole_bytes)
    )
}

fn report(
    context: &mut Context,
    exported: &Exported,
    size_bytes: u64,
    to: &str,
) -> Result<(), CliError> {
    let manifest = &exported.manifest;
    let document = json!({
        "id": manifest.session,
        "revision": manifest.revision,
        "rows": manifest.rows(),
        "blobs": manifest.blobs.len(),
        "content_bytes": manifest.content_bytes(),
        "size_bytes": size_bytes,
        "mid_turn": exported.mid_turn,
        "without_variables": exported.without_variables,
        "without_checkpoint": exported.without_checkpoint.is_some(),
        "findings": exported.unsound.len(),
        "saved_to": to,
    });
    context.console.out.one(&document, &manifest.session, || {
        Details::new()
            .value("session", Cell::text(&manifest.session))
            .value("revision", Cell::Count(manifest.revision))
            .value("rows", Cell::Count(manifest.rows()))
            .value("blobs", Cell::Count(manifest.blobs.len() as u64))
            .value("content", Cell::Size(manifest.content_bytes()))
            .value("size", Cell::Size(size_bytes))
            .value("saved to", Cell::text(to))
    })
}
