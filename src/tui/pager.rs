//! One Item in a pager: harmless, whole, and on a terminal that is a shell's for so long.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;

use crate::text::SafeBlock;

/// Shows a text with `pager`, a command line for a shell, until it is left.
///
/// # Errors
/// In words, for the person: the pager can't be started, or failed.
pub async fn page(pager: &str, text: &str) -> Result<(), String> {
    let mut child = tokio::process::Command::new("sh")
        .args(["-c", pager])
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("the pager can't be started: {error}"))?;
    if let Some(mut into) = child.stdin.take() {
        let safe = SafeBlock::block(text);
        // Whoever leaves the pager early closes it.
        let _ = into.write_all(safe.as_str().as_bytes()).await;
        let _ = into.write_all(b"\n").await;
    }
    let status = child
        .wait()
        .await
        .map_err(|error| format!("the pager is gone: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("the pager ({pager}) ended with {status}")),
    }
}
