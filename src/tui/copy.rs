//! Copying: text for the clipboard of whoever sits at the terminal, however far away that is. The terminal is asked to take it (OSC 52); whether it does is not
//! told.

use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use tokio::io::AsyncWriteExt;

use crate::text::SafeBlock;

/// tmux is waited for so long.
const TMUX_PATIENCE: Duration = Duration::from_secs(1);

/// Bytes that are copied at most: what common terminals still take.
pub const COPY_MAX_BYTES: usize = 48 << 10;

/// What may be copied of a text: harmless, so that nothing is run where it is pasted, and not too long. With how many bytes were left out.
pub fn copyable(text: &str) -> (String, usize) {
    let block = SafeBlock::block(text);
    let safe = block.as_str();
    let kept = &safe[..safe.floor_char_boundary(COPY_MAX_BYTES)];
    (kept.to_owned(), safe.len() - kept.len())
}

/// The bytes that ask a terminal to take this text into its clipboard.
pub fn osc52(text: &str) -> String {
    format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text))
}

/// tmux passes a text on only if it is set to; its own buffer takes one in any case, and hands it to the terminal outside if that can take it.
pub async fn give_to_tmux(text: &str) {
    let child = tokio::process::Command::new("tmux")
        .args(["load-buffer", "-w", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn();
    let Ok(mut child) = child else { return };
    let given = async {
        if let Some(mut into) = child.stdin.take() {
            // A tmux that takes nothing changes nothing: the terminal was asked, too.
            let _ = into.write_all(text.as_bytes()).await;
        }
        let _ = child.wait().await;
    };
    let _ = tokio::time::timeout(TMUX_PATIENCE, given).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_told_exactly_the_text() {
        assert_eq!(osc52("sess_1\n"), "\x1b]52;c;c2Vzc18xCg==\x1b\\");
    }

    #[test]
    fn what_is_copied_is_harmless_and_says_what_it_lacks() {
        let (copied, left_out) = copyable("ls\x1b[31m\n\x07rm");
        assert!(!copied.contains(['\x1b', '\x07']), "{copied:?}");
        assert_eq!(left_out, 0);
        let (copied, left_out) = copyable(&"é".repeat(COPY_MAX_BYTES));
        assert_eq!((copied.len(), left_out), (COPY_MAX_BYTES, COPY_MAX_BYTES));
    }
}
