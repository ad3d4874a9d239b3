//! `artifacts get`

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::cli::Context;
use crate::cli::compose;
use crate::cli::new_file::{NewFile, destination};
use crate::cli::out::{Cell, CliError, Details, codes};
use crate::cli::resolve;
use crate::engine::ports::Content;
use crate::text;

/// Bytes read at once.
const STEP_BYTES: usize = 256 << 10;
/// Text longer than this is not shown on a terminal.
const SHOWN_MAX_BYTES: u64 = 1 << 20;

/// Get the bytes of an Artifact, verified by their digest.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rat-things artifacts get sess_7f artf_2a --to report.md
  rat-things artifacts get sess_7f artf_2a | head")]
pub struct Args {
    /// The Session: its id, or the beginning of it
    session: String,
    /// The Artifact: its id, or the beginning of it
    artifact: String,
    /// The file to write; a directory takes the Artifact's own name; - is standard output [default: standard output, if it is no terminal]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Replace a file that has the name already
    #[arg(long, requires = "to")]
    force: bool,
}

/// Runs the command.
pub async fn run(context: &mut Context, args: Args) -> Result<(), CliError> {
    let of = compose::deployment(&context.settings).await?;
    let session = resolve::session(&*of, &args.session).await?;
    let id = resolve::artifact(&*of, &session, &args.artifact).await?;
    let mut found = of.artifact(&session, &id).await?;
    let terminal = context.console.terminal.stdout.tty;
    match &args.to {
        Some(to) if to.as_os_str() != "-" => {
            let to = save(context, &mut found, to, args.force).await?;
            report(context, &found, &to.display().to_string())
        }
        Some(_) if terminal => show(context, &mut found).await,
        None if terminal => {
            let message = format!(
                "--to: where should {} be written? Standard output is a terminal",
                found.artifact.path
            );
            Err(CliError::new(codes::INPUT, message)
                .hint("--to FILE writes a file, --to - shows text here"))
        }
        _ => copy(context, &mut found).await,
    }
}

/// Passes the bytes on, step by step. They are verified when this answers well, and not before.
async fn pass_on(
    found: &mut Content,
    mut step: impl FnMut(&[u8], u64) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut space = vec![0; STEP_BYTES];
    let mut done_bytes = 0;
    loop {
        let read = found.bytes.read(&mut space).await.map_err(|error| {
            let message = format!("artifact {} can't be read: {error}", found.artifact.id);
            match error.kind() {
                ErrorKind::TimedOut | ErrorKind::ConnectionAborted => {
                    CliError::new(codes::UNAVAILABLE, message).hint("get it again")
                }
                _ => CliError::new(codes::STORE, message).hint("rat-things doctor"),
            }
            .because(error)
        })?;
        if read == 0 {
            return Ok(());
        }
        done_bytes += read as u64;
        step(&space[..read], done_bytes)?;
    }
}

async fn save(
    context: &Context,
    found: &mut Content,
    to: &Path,
    replace: bool,
) -> Result<PathBuf, CliError> {
    let whole_bytes = found.artifact.size_bytes;
    let progress = context.console.say.progress("reading");
    into_file(found, to, replace, |done_bytes| {
        let percent = done_bytes * 100 / whole_bytes.max(1);
        progress.step(format!(
            "{} of {} ({percent}%)",
            text::size(done_bytes),
            text::size(whole_bytes)
        ));
    })
    .await
}

/// Puts the bytes into a new file (in a directory: under the Artifact's own name), and tells how many are written so far. Answers the
/// file's path.
///
/// # Errors
/// Conflict when a file has the name already and shall stay; nothing is left of what was written.
pub(in crate::cli) async fn into_file(
    found: &mut Content,
    to: &Path,
    replace: bool,
    mut written: impl FnMut(u64),
) -> Result<PathBuf, CliError> {
    let to = destination(to, &found.artifact.path)?;
    let mut file = NewFile::begin(&to, replace)?;
    pass_on(found, |bytes, done_bytes| {
        file.write(bytes)?;
        written(done_bytes);
        Ok(())
    })
    .await?;
    file.finish()?;
    Ok(to)
}

/// Says what was saved where.
fn report(context: &mut Context, found: &Content, to: &str) -> Result<(), CliError> {
    let Content {
        artifact, sha256, ..
    } = found;
    let document = json!({
        "id": artifact.id,
        "session_id": artifact.session_id,
        "path": artifact.path,
        "size_bytes": artifact.size_bytes,
        "sha256": sha256,
        "saved_to": to,
    });
    context.console.out.one(&document, &artifact.id, || {
        Details::new()
            .value("artifact", Cell::text(&artifact.id))
            .value("path", Cell::text(&artifact.path))
            .value("size", Cell::Size(artifact.size_bytes))
            .value("sha256", Cell::maybe(sha256.as_deref(), Cell::text))
            .value("saved to", Cell::text(to))
    })
}

/// The exact bytes, to a pipe or a file.
async fn copy(context: &mut Context, found: &mut Content) -> Result<(), CliError> {
    let out = &mut context.console.out;
    pass_on(found, |bytes, _| out.bytes(bytes)).await
}

/// Text on a terminal, made harmless.
async fn show(context: &mut Context, found: &mut Content) -> Result<(), CliError> {
    let path = found.artifact.path.clone();
    let refuse = |why: String| {
        let message = format!("--to -: {path} {why}");
        Err(CliError::new(codes::INPUT, message).hint("write it to a file: --to FILE"))
    };
    if found.artifact.size_bytes > SHOWN_MAX_BYTES {
        let size = text::size(found.artifact.size_bytes);
        return refuse(format!("is too long for a terminal ({size})"));
    }
    let mut whole = Vec::new();
    pass_on(found, |bytes, _| {
        whole.extend_from_slice(bytes);
        Ok(())
    })
    .await?;
    match String::from_utf8(whole) {
        Ok(text) => context.console.out.lines(text),
        Err(_) => refuse("is not text".to_owned()),
    }
}
