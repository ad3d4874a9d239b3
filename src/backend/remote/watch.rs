//! Watching a Session on a server: its stream says when to look again, and has the text that is being written. Where there is no
//! stream for a while, the Session is looked at from time to time.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::Remote;
use super::feed::{Came, Ended, Feed};
use crate::api::Event;
use crate::engine::overhear::Joins;
use crate::engine::ports::{LivePart, Signs, Told, Watch, Written};

/// With a stream, the Session is looked at this often all the same.
const LOOK: Duration = Duration::from_secs(2);
/// Without one, this often.
const LOOK_ALONE: Duration = Duration::from_millis(500);
/// Behind an event, others are waited for so long: they mostly come together.
const TOGETHER: Duration = Duration::from_millis(30);
/// A stream that ended is not opened again at once: the next one may end as soon.
const BETWEEN: Duration = Duration::from_millis(300);
/// How long opening a stream may take.
const OPENING: Duration = Duration::from_secs(5);

/// See the module.
pub(super) struct Watching {
    remote: Remote,
    session: String,
    writing: bool,
    feed: Option<Feed>,
    /// There was one before.
    again: bool,
    /// It is told that there is none.
    lost: bool,
}

impl Watching {
    pub(super) fn new(remote: Remote, session: String, writing: bool) -> Watching {
        Watching {
            remote,
            session,
            writing,
            feed: None,
            again: false,
            lost: false,
        }
    }

    async fn open(&mut self) -> Signs {
        let mut signs = Signs::default();
        if std::mem::replace(&mut self.again, true) {
            tokio::time::sleep(BETWEEN).await;
        }
        match self
            .remote
            .open_feed(&self.session, &[], Some(OPENING))
            .await
        {
            Ok(feed) => {
                self.feed = Some(feed);
                if std::mem::take(&mut self.lost) {
                    signs.notes.push(
                        "connected again; turns and items were read again, and nothing is missing"
                            .to_owned(),
                    );
                }
            }
            // Whoever watches reads the Session next, and is told then what is wrong.
            Err(_) => tokio::time::sleep(LOOK_ALONE).await,
        }
        signs
    }

    fn lose(&mut self, ended: &Ended) -> Signs {
        self.feed = None;
        let mut signs = Signs::default();
        let how = match ended {
            // Not every server says that it is there while nothing happens.
            Ended::Silent => return signs,
            Ended::Closed => "the server ended the stream".to_owned(),
            Ended::Broke(why) => format!("the stream broke: {why}"),
        };
        if !std::mem::replace(&mut self.lost, true) {
            signs.notes.push(format!("{how}; reading on without it"));
        }
        signs
    }
}

#[async_trait]
impl Watch for Watching {
    async fn changed(&mut self) -> Told<Signs> {
        if self.feed.is_none() {
            return Ok(self.open().await);
        }
        let mut signs = Signs::default();
        let mut until = Instant::now() + LOOK;
        while let Some(feed) = &mut self.feed {
            match feed.next(until).await {
                Came::Event(event) => {
                    until = until.min(Instant::now() + TOGETHER);
                    if let Some(written) = written(*event).filter(|_| self.writing) {
                        signs.written.push(written);
                    }
                }
                Came::Quiet => break,
                Came::Over(ended) => signs.notes = self.lose(&ended).notes,
            }
        }
        Ok(signs)
    }
}

/// The text that an event brings.
fn written(event: Event) -> Option<Written> {
    let (item_id, part, text) = match event {
        Event::OutputTextDelta(delta) => (delta.item_id, LivePart::Message, delta.delta),
        Event::ReasoningSummaryTextDelta(delta) => {
            let part = LivePart::Summary(delta.summary_index);
            (delta.item_id, part, delta.delta)
        }
        Event::CommandExecutionOutputDelta(delta) => (delta.item_id, LivePart::Output, delta.delta),
        _ => return None,
    };
    Some(Written {
        item_id,
        part,
        text,
        joins: Joins::Directly,
    })
}
