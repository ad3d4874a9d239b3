//! A Session of the demo world that is watched: what there is to see is compared with what was there a moment ago.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::items::Saying;
use super::{Here, Shared, play};
use crate::engine::overhear::Joins;
use crate::engine::ports::{LivePart, Signs, Told, Watch, Written};

/// Between two looks at a Session at work.
const LOOK: Duration = Duration::from_millis(100);
/// Without anything new, it is said after so many looks that nothing is.
const LOOKS: u32 = 100;

/// See the module.
pub(super) struct Watching {
    shared: Arc<Shared>,
    session: String,
    seen: Option<Mark>,
}

/// What was there: Items, states of Turns, and how far which text is.
#[derive(Clone, Debug, PartialEq)]
struct Mark {
    items: u64,
    states: Vec<crate::api::TurnStatus>,
    text: Option<(String, usize)>,
}

impl Watching {
    /// Begins to watch a Session.
    pub(super) fn begin(shared: Arc<Shared>, session: &str) -> Watching {
        Watching {
            shared,
            session: session.to_owned(),
            seen: None,
        }
    }

    /// What is new since the last look; `None`: nothing.
    fn news(&mut self, here: &Here) -> Option<Signs> {
        let writing = here.writing();
        let mark = Mark {
            items: here.items(),
            states: here.scenes.iter().map(|scene| scene.status).collect(),
            text: writing
                .as_ref()
                .map(|(id, seen)| (id.clone(), seen.written_bytes)),
        };
        let before = self.seen.replace(mark.clone());
        if before.as_ref() == Some(&mark) {
            return None;
        }
        let told = before.and_then(|before| before.text);
        let mut signs = Signs::default();
        if let Some((id, seen)) = writing
            && let Some(text) = play::text(&seen.says)
        {
            let from = match told {
                Some((of, bytes)) if of == id => bytes,
                _ => 0,
            };
            signs.written.extend(
                text.get(from..seen.written_bytes)
                    .filter(|piece| !piece.is_empty())
                    .map(|piece| Written {
                        item_id: id,
                        part: part_of(&seen.says),
                        text: piece.to_owned(),
                        joins: Joins::Directly,
                    }),
            );
        }
        Some(signs)
    }
}

fn part_of(says: &Saying) -> LivePart {
    match says {
        Saying::Thought(_) => LivePart::Summary(0),
        Saying::Command { .. } => LivePart::Output,
        _ => LivePart::Message,
    }
}

#[async_trait]
impl Watch for Watching {
    async fn changed(&mut self) -> Told<Signs> {
        for _ in 0..LOOKS {
            let here = self.shared.find(&self.session)?;
            if let Some(signs) = self.news(&here) {
                return Ok(signs);
            }
            // What is done to the world is seen at once.
            let _ = tokio::time::timeout(LOOK, self.shared.changed.notified()).await;
        }
        Ok(Signs::default())
    }
}
