//! One command in the environment, with its output shown live and its tree ended at once when the Turn is cancelled.

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::stop::Stop;
use crate::engine::ports::{
    Delta, Environment, EnvironmentError, ExecEnd, ExecSpec, Observation, TurnLink,
};

/// Output of one command that is shown live; what follows is only in the result, within its own bound.
const LIVE_LIMIT_BYTES: usize = 1 << 20;

/// Chunks that wait to be shown before further ones are lost.
const LIVE_CHUNKS: usize = 64;

/// Runs a command to its end.
pub async fn run(
    environment: &dyn Environment,
    spec: ExecSpec,
    call_id: &str,
    link: &TurnLink,
) -> Result<ExecEnd, EnvironmentError> {
    let stop = Stop::new(link);
    let (output, mut chunks) = mpsc::channel(LIVE_CHUNKS);
    let (cancel, cancelled) = watch::channel(false);
    let mut live = Live::default();
    let end = {
        let exec = environment.exec(spec, output, cancelled);
        let show = async {
            while let Some(chunk) = chunks.recv().await {
                live.show(&chunk, call_id, link).await;
            }
            std::future::pending::<()>().await;
        };
        let stopped = stop.cancelled();
        tokio::pin!(exec, show, stopped);
        let mut told = false;
        loop {
            tokio::select! {
                biased;
                _ = &mut stopped, if !told => {
                    told = true;
                    cancel.send_replace(true);
                }
                end = &mut exec => break end,
                () = &mut show => {}
            }
        }
    };
    while let Ok(chunk) = chunks.try_recv() {
        live.show(&chunk, call_id, link).await;
    }
    end
}

/// Turns chunks of bytes into text, with characters that were split between two chunks put together again.
#[derive(Default)]
struct Live {
    tail: Vec<u8>,
    shown_bytes: usize,
}

impl Live {
    async fn show(&mut self, chunk: &Bytes, call_id: &str, link: &TurnLink) {
        if self.shown_bytes >= LIVE_LIMIT_BYTES {
            return;
        }
        let text = self.text(chunk);
        if text.is_empty() {
            return;
        }
        self.shown_bytes += text.len();
        let delta = Delta::Command {
            call_id: call_id.to_owned(),
            text,
        };
        // If the engine is gone, `Stop` notices it; live text is of no use to anybody then.
        let _ = link.saw(Observation::Delta(delta)).await;
    }

    fn text(&mut self, chunk: &[u8]) -> String {
        self.tail.extend_from_slice(chunk);
        let keep = unfinished(&self.tail);
        let rest = self.tail.split_off(self.tail.len() - keep);
        let text = String::from_utf8_lossy(&self.tail).into_owned();
        self.tail = rest;
        text
    }
}

/// How many bytes at the end are the beginning of a character whose rest may still come: at most three wait for a fourth.
fn unfinished(bytes: &[u8]) -> usize {
    let Some(back) = bytes.iter().rev().take(3).position(|byte| *byte >= 0xC0) else {
        return 0;
    };
    let tail = &bytes[bytes.len() - back - 1..];
    match std::str::from_utf8(tail) {
        Err(error) if error.error_len().is_none() => tail.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_split_at_every_byte_comes_out_whole() {
        let text = "aé€😀\u{10FFFF}z";
        for at in 0..=text.len() {
            let mut live = Live::default();
            let mut out = live.text(&text.as_bytes()[..at]);
            out.push_str(&live.text(&text.as_bytes()[at..]));
            assert_eq!(out, text, "split at {at}");
        }
        let mut live = Live::default();
        let out: String = text.bytes().map(|byte| live.text(&[byte])).collect();
        assert_eq!(out, text);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced_and_hold_nothing_back() {
        let mut live = Live::default();
        assert_eq!(live.text(b"a\xFF\x80b"), "a\u{FFFD}\u{FFFD}b");
        assert_eq!(live.text(b"\x80\x80\x80"), "\u{FFFD}\u{FFFD}\u{FFFD}");
        assert_eq!(live.text(b"c\xE2\x82"), "c");
        assert_eq!(live.text(b"d"), "\u{FFFD}d");
    }
}
