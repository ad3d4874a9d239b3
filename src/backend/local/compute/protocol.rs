//! What the daemon and a worker process say to each other: one JSON object a line.
//!
//! A line counts only with its newline, so that one cut short by a death was never said. Lines that are not understood are
//! skipped: a worker may be older or newer than the daemon that finds it.

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::engine::ports::RunGrant;

/// Longest line that is read; what is longer is skipped. Only `holds` grows, by 35 bytes a Session.
const LINE_BYTES: u64 = 1 << 20;

/// From the daemon, on the worker's standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ToWorker {
    /// Begin this run.
    Run(RunGrant),
    /// Take no new runs, bring those that run to a safe point, and end.
    Leave {
        /// How long runs may take to get there.
        grace_ms: u64,
    },
}

/// From a worker, on its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FromWorker {
    /// It takes runs.
    Ready {},
    /// A run is over, however it ended.
    Ended {
        /// Session id.
        session: String,
        /// The run's generation.
        generation: u64,
    },
    /// The Sessions whose environments it keeps open; replaces what it said before.
    Holds(Vec<String>),
}

/// The line that says `what`, newline included.
pub(super) fn line(what: &impl Serialize) -> String {
    let mut line =
        serde_json::to_string(what).expect("plain structs of strings and numbers serialise");
    line.push('\n');
    line
}

/// The next line that is understood; `None` at the end.
pub(super) async fn next<T: for<'a> Deserialize<'a>>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> Option<T> {
    let mut line = Vec::new();
    let mut skipping = false;
    loop {
        line.clear();
        let mut limited = (&mut *from).take(LINE_BYTES);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(%error, "a worker's pipe failed");
                return None;
            }
        }
        let whole = line.last() == Some(&b'\n');
        if whole && !skipping {
            match serde_json::from_slice(&line) {
                Ok(said) => return Some(said),
                Err(error) => tracing::debug!(%error, "a line was not understood"),
            }
        }
        // Cut at the limit: the rest up to its newline belongs to it.
        skipping = !whole;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ports::ExecutionId;

    async fn all<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
        let mut from = text.as_bytes();
        let mut said = Vec::new();
        while let Some(next) = next(&mut from).await {
            said.push(next);
        }
        said
    }

    #[tokio::test]
    async fn lines_have_the_documented_form() {
        let grant = RunGrant {
            session: "sess_a".to_owned(),
            generation: 7,
            execution: ExecutionId("proc:1:2:a".to_owned()),
        };
        assert_eq!(
            line(&ToWorker::Run(grant.clone())),
            "{\"run\":{\"session\":\"sess_a\",\"generation\":7,\"execution\":\"proc:1:2:a\"}}\n"
        );
        assert_eq!(
            line(&ToWorker::Leave { grace_ms: 5 }),
            "{\"leave\":{\"grace_ms\":5}}\n"
        );
        let text = concat!(
            "{\"ready\":{}}\n",
            "{\"ended\":{\"session\":\"sess_a\",\"generation\":7}}\n",
            "{\"holds\":[\"sess_a\"]}\n",
        );
        let said: Vec<FromWorker> = all(text).await;
        let lines: String = said.iter().map(line).collect();
        assert_eq!(lines, text);
        assert_eq!(said.len(), 3);
    }

    #[tokio::test]
    async fn lines_that_are_odd_too_long_or_cut_short_are_skipped() {
        let long = "x".repeat(LINE_BYTES as usize * 2 + 9);
        let text = format!("hello\n{{\"news\":1}}\n{long}\n\n{{\"ready\":{{}}}}\n{{\"holds\":[]}}");
        assert_eq!(all::<FromWorker>(&text).await, [FromWorker::Ready {}]);
    }
}
