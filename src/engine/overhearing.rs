//! What a follower overhears: texts as they come, for as long as their Items are not complete.
//!
//! It never decides by itself that something may be shown: it collects what came, the caller reads the head, and
//! [`Overheard`] judges by that head.

use tokio::sync::mpsc;

use super::core::Core;
use super::ids::SessionId;
use super::overhear::{Heard, Overheard, is_early};
use super::ports::LiveText;
use super::session::Head;

/// Texts that wait for their turn, up to here. What is more is lost, and its Item comes all the same.
const WAITING_BYTES: usize = 256 << 10;

/// Texts of one Session as they come.
pub struct Overhearing {
    texts: mpsc::Receiver<LiveText>,
    came: Vec<LiveText>,
    overheard: Overheard,
}

impl Overhearing {
    /// From now on.
    pub fn begin(core: &Core, session: &SessionId) -> Overhearing {
        Overhearing {
            texts: core.bell.overhear(session.as_str()),
            came: Vec::new(),
            overheard: Overheard::default(),
        }
    }

    /// Nothing, for who has no place to show it.
    pub fn nothing() -> Overhearing {
        Overhearing {
            texts: mpsc::channel(1).1,
            came: Vec::new(),
            overheard: Overheard::default(),
        }
    }

    /// Waits until text came. Safe to drop while it waits.
    pub async fn some(&mut self) {
        let Some(text) = self.texts.recv().await else {
            return std::future::pending().await;
        };
        self.came.push(text);
        while let Ok(text) = self.texts.try_recv() {
            self.came.push(text);
        }
    }

    /// What may be shown of all that came, by a head that was read after it came.
    pub fn judge(&mut self, head: &Head) -> Vec<Heard> {
        let came = self.came.drain(..);
        came.filter_map(|text| self.overheard.take(head, text))
            .collect()
    }

    /// The same without what comes before its turn (see [`is_early`]): that is kept, and judged again.
    pub fn judge_in_turn(&mut self, head: &Head) -> Vec<Heard> {
        let (mut waiting, mut waiting_bytes) = (Vec::new(), 0);
        let mut heard = Vec::new();
        for text in self.came.drain(..) {
            if is_early(head, &text) {
                waiting_bytes += text.text.len();
                if waiting_bytes <= WAITING_BYTES {
                    waiting.push(text);
                }
            } else {
                heard.extend(self.overheard.take(head, text));
            }
        }
        self.came = waiting;
        heard
    }
}

/// Waits until this Session is rung; without anybody who could ring, for ever. Safe to drop while it waits.
pub async fn ring_of(rings: &mut mpsc::Receiver<String>, session: &SessionId) {
    while let Some(rung) = rings.recv().await {
        if rung == session.as_str() {
            return;
        }
    }
    std::future::pending::<()>().await;
}
