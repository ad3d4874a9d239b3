//! A message written in an editor: through a file that only its owner can read, which is gone afterwards.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use super::field::TEXT_MAX_BYTES;

/// The file; removed when it is dropped.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // It may be gone already, and nothing can be done about one that can't be removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Lets a person write in `editor`, a command line for a shell, beginning with `text`. `name` is for the file, and was never used.
///
/// # Errors
/// In words, for the person: there is no editor, it failed, or what was written is no text.
pub async fn edit(editor: Option<&str>, text: &str, name: &str) -> Result<String, String> {
    let editor = editor.ok_or("no editor: set VISUAL or EDITOR")?;
    let path = std::env::temp_dir().join(format!("rat-things-{name}.md"));
    let cannot = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .map_err(|error| cannot("the draft can't be written", error))?;
    let draft = Draft(path);
    file.write_all(text.as_bytes())
        .map_err(|error| cannot("the draft can't be written", error))?;
    drop(file);
    let status = tokio::process::Command::new("sh")
        .args(["-c", &format!("{editor} \"$1\""), "sh"])
        .arg(&draft.0)
        .stdin(Stdio::inherit())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(|error| cannot("the editor can't be started", error))?;
    if !status.success() {
        return Err(format!(
            "the editor ended with {status}; the message is as it was"
        ));
    }
    let written =
        std::fs::metadata(&draft.0).map_err(|error| cannot("the draft is gone", error))?;
    if written.len() > TEXT_MAX_BYTES as u64 {
        return Err("the text is longer than a message may be; the message is as it was".into());
    }
    std::fs::read_to_string(&draft.0).map_err(|error| cannot("the draft can't be read", error))
}
