//! Codex' own record of the conversation, from one process to the next: put back into a fresh home, gone on with, and taken again.
//!
//! It holds what Codex made of the conversation and no journal does: what it shortened, and every byte that the model was given. It is the first choice and never needed: whatever
//! does not fit is a reason to feed a new thread from the recorded Items.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use futures_util::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::checkpoint::{self, Lines, Manifest, OpenCall, Taken};
use super::program::PINNED;
use super::setup::client_id;
use super::story::{self, Story};
use super::talk::Talk;
use super::witness::Line;
use crate::engine::ports::{
    BlobError, BlobRef, Checkpoint, Feed, Past, SavedCheckpoint, TakenCheckpoint,
};

/// Name of this harness in what is kept.
pub const HARNESS: &str = "codex";

/// Segments that are fetched at the same time.
const FETCHED_AT_ONCE: usize = 8;

/// A record that was kept, and that this Codex can read.
pub struct Native {
    saved: SavedCheckpoint,
    manifest: Manifest,
    open: Vec<KeptCall>,
    had_agents: bool,
}

/// What is kept beside the bytes.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// What belongs where.
    files: Value,
    /// Digest of what Codex was told of the Agent. It can't be told all of it anew.
    setup: String,
    /// Calls without an output.
    open: Vec<KeptCall>,
    /// The agent had started others, which ended with the process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    had_agents: bool,
}

/// A call without an output.
#[derive(Clone, Serialize, Deserialize)]
struct KeptCall {
    /// As Codex knows it.
    id: String,
    /// As it is recorded.
    recorded: String,
    /// Its output is that of a tool whose input is no JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_custom: bool,
}

impl Native {
    /// Reads what was kept. `setup` is the digest of what Codex is told of the Agent now.
    ///
    /// # Errors
    /// Why it can't be used.
    pub fn read(saved: SavedCheckpoint, setup: &str) -> Result<Native, String> {
        let kept = &saved.checkpoint;
        if kept.harness != HARNESS || kept.version != PINNED {
            return Err(format!("it is of {} {}", kept.harness, kept.version));
        }
        let note = Kept::deserialize(&kept.manifest).map_err(|error| error.to_string())?;
        if note.setup != setup {
            return Err("the Agent is not what it was".to_owned());
        }
        let manifest = Manifest::read(&kept.version, &note.files, &kept.blobs);
        Ok(Native {
            manifest: manifest.map_err(|error| error.to_string())?,
            open: note.open,
            had_agents: note.had_agents,
            saved,
        })
    }

    /// Whose record it is, in Codex' words.
    pub fn thread(&self) -> &str {
        &self.manifest.thread
    }

    /// Whether the agent had started others that it does not know to be gone.
    pub fn had_agents(&self) -> bool {
        self.had_agents
    }

    /// Whether a tool of this name was called later.
    pub fn has_called(&self, story: &Story, name: &str) -> bool {
        story.has_called_later(&self.saved.later, name)
    }

    /// Puts it into a home that has nothing of it.
    ///
    /// # Errors
    /// Why it can't be used. The home may have a part of it.
    pub async fn put_back(&self, home: &Path) -> Result<(), String> {
        let blobs: Vec<BlobRef> = self.manifest.blobs().into_iter().cloned().collect();
        let fetched = blobs.into_iter().map(|blob| {
            let saved = self.saved.clone();
            async move {
                let bytes = saved.read(&blob).await?;
                Ok::<_, BlobError>((blob.sha256, bytes))
            }
        });
        let segments = stream::iter(fetched).buffer_unordered(FETCHED_AT_ONCE);
        let segments: BTreeMap<_, _> = segments
            .try_collect()
            .await
            .map_err(|error| error.to_string())?;
        let (manifest, home) = (self.manifest.clone(), home.to_owned());
        let put = tokio::task::spawn_blocking(move || {
            checkpoint::restore(&manifest, &segments, PINNED, &home)
        });
        let put = put.await.map_err(|error| error.to_string())?;
        put.map_err(|error| error.to_string())
    }

    /// What has to be added to it so that it is the story: outputs of its calls, and what came later, of at most about `budget_bytes`. `None`: that can't be
    /// told.
    pub fn missing(&self, story: &Story, budget_bytes: usize) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        for call in &self.open {
            let past = story.call(&call.recorded)?;
            // Its client answers it later, in its place; this one would be told something else by then.
            if matches!(past, Past::Function { output: None, .. }) {
                return None;
            }
            let told = story::items_of(past.clone());
            let output = told.iter().find_map(|item| item.get("output"))?;
            let kind = match call.is_custom {
                true => "custom_tool_call_output",
                false => "function_call_output",
            };
            items.push(json!({"type": kind, "call_id": call.id, "output": output}));
        }
        items.extend(story.later(&self.saved.later, budget_bytes));
        Some(items)
    }
}

/// Takes the record of a process that is gone. `before` is what it was begun from, `setup` as for [`Native::read`].
///
/// # Errors
/// Why there is none: above all, it must be known what it stands for.
pub async fn take(
    home: PathBuf,
    talk: &mut Talk,
    before: Option<&Native>,
    story: &Story,
    setup: &str,
    answers: usize,
) -> Result<TakenCheckpoint, String> {
    let seen = talk.witness.of(&talk.thread).filter(|line| line.is_idle());
    let is_held = talk.held.is_some() || !talk.untaken_answers.is_empty();
    let seen = seen.filter(|_| !is_held).ok_or("not all of it was seen")?;
    let (thread, manifest) = (
        talk.thread.clone(),
        before.map(|native| native.manifest.clone()),
    );
    let taking = tokio::task::spawn_blocking(move || {
        checkpoint::take(&home, &thread, PINNED, manifest.as_ref())
    });
    let taken = taking.await.map_err(|error| error.to_string())?;
    let Taken {
        manifest,
        new,
        lines,
    } = taken.map_err(|error| error.to_string())?;
    let known = before.map_or(&[][..], |native| &native.open);
    let open = known.iter().map(|call| OpenCall {
        id: call.id.clone(),
        is_custom: call.is_custom,
    });
    let lines = Lines::read(&lines, &talk.codex_turn, open.collect());
    agrees(&lines, talk.calls.ids(), seen, story.waiting())?;
    let made = talk.calls.ids().filter_map(|id| talk.calls.of(id));
    let made = made.map(|call| (call.id.as_str(), call.recorded.as_str()));
    let earlier = known.iter().map(|c| (c.id.as_str(), c.recorded.as_str()));
    is_not_broken_off(&lines, made.chain(earlier), story)?;
    let kept = |call: OpenCall| {
        let recorded = talk.calls.of(&call.id).map(|call| &call.recorded);
        let earlier = known.iter().find(|known| known.id == call.id);
        let recorded = recorded.or(earlier.map(|known| &known.recorded))?;
        Some(KeptCall {
            recorded: recorded.clone(),
            id: call.id,
            is_custom: call.is_custom,
        })
    };
    let open = lines.open.into_iter().map(kept).collect::<Option<Vec<_>>>();
    let (files, blobs) = manifest.written();
    let note = Kept {
        files,
        setup: setup.to_owned(),
        open: open.ok_or("a call is open that nobody made")?,
        had_agents: !talk.children.all.is_empty(),
    };
    Ok(TakenCheckpoint {
        checkpoint: Checkpoint {
            harness: HARNESS.to_owned(),
            version: PINNED.to_owned(),
            manifest: json!(note),
            blobs,
        },
        new: new.into_iter().map(|segment| segment.packed).collect(),
        answers,
    })
}

/// Whether what Codex wrote down of its turn is what was seen of it: no more, and no call less. `made` are the calls that were seen, `waiting` the messages that
/// it was not seen to take.
fn agrees<'a>(
    lines: &Lines,
    made: impl Iterator<Item = &'a str>,
    seen: &Line,
    waiting: &[Feed],
) -> Result<(), &'static str> {
    let written = lines.calls.iter().map(String::as_str);
    if made.collect::<BTreeSet<_>>() != written.collect() {
        return Err("its calls are not those that were seen");
    }
    if !seen.has_told(&lines.words) || !seen.has_heard(&lines.notes) {
        return Err("it has words that were not seen");
    }
    let mut waiting = waiting.iter().map(|message| client_id(message.input));
    match waiting.any(|id| lines.messages.contains(&id)) {
        true => Err("it has a message that nobody saw it take"),
        false => Ok(()),
    }
}

/// Whether Codex wrote down nothing of how it came to its end: neither that its turn was broken off, nor an output of its own for a call whose client
/// has not answered. `calls` are its ids of calls, and those that they are recorded under.
fn is_not_broken_off<'a>(
    lines: &Lines,
    mut calls: impl Iterator<Item = (&'a str, &'a str)>,
    story: &Story,
) -> Result<(), &'static str> {
    if lines.is_aborted {
        return Err("its turn was broken off");
    }
    let waits = |recorded| {
        let call = story.call(recorded);
        matches!(call, Some(Past::Function { output: None, .. }))
    };
    let is_open = |id| lines.open.iter().any(|call| call.id == id);
    match calls.any(|(id, recorded)| waits(recorded) && !is_open(id)) {
        true => Err("it has an output of a call that its client has not answered"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::backend::memory::blobs::MemoryBlobs;
    use crate::engine::ports::{BlobScope, FunctionAnswer, ToolOutcome};

    fn kept(open: Vec<KeptCall>) -> SavedCheckpoint {
        let note = Kept {
            files: json!({"format": 1, "thread": "t1", "files": []}),
            setup: "s".into(),
            open,
            had_agents: false,
        };
        SavedCheckpoint {
            checkpoint: Checkpoint {
                harness: HARNESS.into(),
                version: PINNED.into(),
                manifest: json!(note),
                blobs: Vec::new(),
            },
            later: Vec::new(),
            scope: BlobScope {
                owner: "o".into(),
                session: "s".into(),
            },
            bytes: Arc::new(MemoryBlobs::new()),
        }
    }

    #[test]
    fn what_another_codex_wrote_or_for_another_agent_is_not_gone_on_with() {
        assert_eq!(
            Native::read(kept(vec![]), "s")
                .map(|n| n.thread().to_owned())
                .ok(),
            Some("t1".into())
        );
        assert!(Native::read(kept(vec![]), "other").is_err());
        let mut other = kept(vec![]);
        other.checkpoint.version = "0.172.0".into();
        assert!(Native::read(other, "s").is_err());
        let mut other = kept(vec![]);
        other.checkpoint.harness = "responses".into();
        assert!(Native::read(other, "s").is_err());
        let mut other = kept(vec![]);
        other.checkpoint.manifest = json!({});
        assert!(Native::read(other, "s").is_err());
    }

    fn call(id: &str, recorded: &str, is_custom: bool) -> KeptCall {
        KeptCall {
            id: id.into(),
            recorded: recorded.into(),
            is_custom,
        }
    }

    fn tool(id: &str, outcome: ToolOutcome) -> Past {
        Past::Tool {
            call_id: id.into(),
            name: "exec_command".into(),
            arguments: "{}".into(),
            outcome,
        }
    }

    fn function(output: Option<FunctionAnswer>) -> Past {
        Past::Function {
            call_id: "c3".into(),
            name: "ask".into(),
            arguments: "{}".into(),
            output,
        }
    }

    #[test]
    fn an_open_call_is_given_what_became_of_it() {
        let open = vec![
            call("c1", "c1", false),
            call("c2", "c2_2", true),
            call("c3", "c3", false),
        ];
        let native = Native::read(kept(open), "s")
            .map_err(|_| "unreadable")
            .expect("it is ours");
        let story = |answer: Option<FunctionAnswer>| {
            let output = "out".to_owned();
            let past = vec![
                tool("c1", ToolOutcome::Done { output }),
                tool("c2_2", ToolOutcome::Unknown),
                function(answer),
            ];
            Story::new(Arc::new(past), Vec::new())
        };
        let answer = FunctionAnswer {
            success: true,
            output: "42".into(),
            error: None,
        };
        let missing = native
            .missing(&story(Some(answer)), 1 << 20)
            .expect("all is known");
        let told: Vec<(&str, &str)> = { missing.iter() }
            .filter_map(|item| Some((item["type"].as_str()?, item["call_id"].as_str()?)))
            .collect();
        assert_eq!(
            told,
            [
                ("function_call_output", "c1"),
                ("custom_tool_call_output", "c2"),
                ("function_call_output", "c3"),
            ]
        );
        assert_eq!(
            [&missing[0]["output"], &missing[2]["output"]],
            ["out", "42"]
        );
        assert!(missing[1]["output"].to_string().contains("outcome unknown"));
        // One that still waits for its client, and one that nobody knows.
        assert_eq!(native.missing(&story(None), 1 << 20), None);
        let nothing = Story::new(Arc::default(), Vec::new());
        assert_eq!(native.missing(&nothing, 1 << 20), None);
    }

    #[test]
    fn what_codex_wrote_down_must_be_what_was_seen() {
        let lines = Lines {
            words: BTreeSet::from(["m".to_owned()]),
            calls: BTreeSet::from(["c".to_owned()]),
            open: Vec::new(),
            messages: BTreeSet::from([client_id(1), client_id(2)]),
            notes: BTreeSet::from(["n".to_owned()]),
            is_aborted: false,
        };
        let mut seen = Line::default();
        let calls = ["c"];
        let agree = |calls: &[&str], seen: &Line, waiting: &[Feed]| {
            agrees(&lines, calls.iter().copied(), seen, waiting).is_ok()
        };
        assert!(!agree(&calls, &seen, &[]), "words that were not seen");
        seen.told(&json!({"type": "agentMessage", "id": "m"}));
        assert!(!agree(&calls, &seen, &[]), "nor those of another agent");
        seen.new_of(vec![json!({"type": "message", "id": "n"})]);
        assert!(agree(&calls, &seen, &[]));
        assert!(!agree(&[], &seen, &[]), "a call that was not seen");
        assert!(
            !agree(&["c", "d"], &seen, &[]),
            "a call that it does not have"
        );
        let message = |input| Feed {
            input,
            content: Vec::new(),
        };
        assert!(!agree(&calls, &seen, &[message(2)]), "it was taken");
        assert!(agree(&calls, &seen, &[message(3)]));
    }

    #[test]
    fn what_codex_wrote_of_its_own_end_is_not_gone_on_with() {
        let story = |answer| Story::new(Arc::new(vec![function(answer)]), Vec::new());
        let mut lines = Lines {
            open: vec![OpenCall {
                id: "c3".into(),
                is_custom: false,
            }],
            ..Lines::default()
        };
        let fits = |lines: &Lines, story: &Story| {
            is_not_broken_off(lines, [("c3", "c3")].into_iter(), story).is_ok()
        };
        assert!(fits(&lines, &story(None)));
        lines.open.clear();
        assert!(
            !fits(&lines, &story(None)),
            "its client has not answered, and there is an output"
        );
        let answer = FunctionAnswer {
            success: true,
            output: "42".into(),
            error: None,
        };
        assert!(fits(&lines, &story(Some(answer.clone()))));
        lines.is_aborted = true;
        assert!(!fits(&lines, &story(Some(answer))));
    }
}
