//! Streams of events, as server-sent events.
//!
//! A stream reads the journal from its position on and waits for the bell; text that is being written is passed on between, live
//! only. It is bounded by what it does not do: nothing is queued for a client but a few pieces, because what is not read yet is in
//! the journal. A client that takes nothing for a while is let go. Surprising: blocks carry no `id:` line, because one SDK can't
//! read a keep-alive behind one; a client continues behind the `event_id` of the last event that it has.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::poll_fn;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout};

use super::Server;
use super::answer::Caller;
use super::limits::Limits;
use super::refusal::{Answered, Refusal};
use crate::api::{ApiError, ErrorEvent, Event, SessionError};
use crate::engine::core::Core;
use crate::engine::error::EngineError;
use crate::engine::ids::{self, Kind, SessionId};
use crate::engine::overhearing::{Overhearing, ring_of};
use crate::engine::ports::Ids;
use crate::engine::position::Position;
use crate::engine::read::SessionRead;
use crate::engine::writing::Writing;

/// Pieces that wait for a client, within `Limits::stream_bytes`.
const PIECES: usize = 256;
/// Without a ring, the Session is looked at this often.
const LOOK: Duration = Duration::from_secs(2);
/// The Turn that a Session's creation starts. A creation that streams has an input, so there is one.
const FIRST_TURN: u64 = 1;
/// Events read at once: few, because a client that was cut may be cut again.
const STEP: usize = 32;

/// What is streamed.
pub(super) struct Follow {
    /// Of which Session.
    pub(super) session: SessionId,
    /// Behind what; `None`: where `end` says.
    pub(super) after: Option<Position>,
    /// Whether events are padded.
    pub(super) obfuscates: bool,
    /// Until when.
    pub(super) end: End,
}

/// When a stream ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Never: its reader leaves. It begins now, unless it continues.
    Reader,
    /// With what has happened so far. It begins now, unless it continues.
    SoFar,
    /// With the first Turn of a Session that was just created. It begins with the Session.
    FirstTurn,
}

/// The right to one stream.
pub(super) type Room = OwnedSemaphorePermit;

/// Room for one more stream.
pub(super) fn room(server: &Server) -> Answered<Room> {
    let room = server.streams.clone().try_acquire_owned();
    room.map_err(|_| ApiError::unavailable("Too many streams are open.").into())
}

/// Opens a stream. Its headers do not wait for an event: clients send their input only when they have them.
pub(super) async fn open(server: &Server, caller: &Caller, follow: Follow, room: Room) -> Answered {
    let core = server.core.clone();
    // Before the head is read: what changes after that is heard.
    let rings = core.bell.listen();
    let overhearing = Overhearing::begin(&core, &follow.session);
    let read = core.read_session(&caller.owner, &follow.session).await?;
    let at = match (follow.after, follow.end) {
        (Some(after), _) => after,
        (None, End::FirstTurn) => Position::START,
        (None, End::Reader | End::SoFar) => core.last_position(&read).await?,
    };
    let (out, mut pieces) = Out::new(server, follow.obfuscates, &read.id, at);
    let streaming = Streaming {
        out,
        core,
        caller: caller.clone(),
        writing: Writing::default(),
        end: follow.end,
        rings,
        overhearing,
        stopped: server.stopped.clone(),
    };
    tokio::spawn(async move {
        // Whatever the reason to end is, the client sees the end.
        let _ = streaming.run(read).await;
        drop(room);
    });
    let body = poll_fn(move |cx| {
        pieces
            .poll_recv(cx)
            .map(|piece| piece.map(|piece| Ok::<Bytes, Infallible>(piece.bytes)))
    });
    let mut response = Response::new(Body::from_stream(body));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
    ] {
        let value = HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    Ok(response)
}

/// The stream is over, for a reason that nobody has to be told.
struct Over;

struct Streaming {
    core: Core,
    caller: Caller,
    writing: Writing,
    end: End,
    rings: mpsc::Receiver<String>,
    overhearing: Overhearing,
    stopped: watch::Receiver<bool>,
    out: Out,
}

impl Streaming {
    async fn run(mut self, mut read: SessionRead) -> Result<(), Over> {
        loop {
            match self.tell_events(&read).await? {
                Err(error) => self.bear(&read, error).await?,
                Ok(()) if self.is_over(&read) => return Ok(()),
                Ok(()) => self.tell_writing(&read).await?,
            }
            self.wait(&read.id).await?;
            read = self.read_again(read).await?;
        }
    }

    /// Whether everything that was to be told has been, by a head whose events were told.
    fn is_over(&self, read: &SessionRead) -> bool {
        match self.end {
            End::Reader => false,
            End::SoFar => true,
            End::FirstTurn => read.head.is_over(FIRST_TURN),
        }
    }

    /// Text that is being written, by a head that was read after it came, and behind all events that this head has: no text comes
    /// later than its Item, or earlier than what was before it.
    async fn tell_writing(&mut self, read: &SessionRead) -> Result<(), Over> {
        for heard in self.overhearing.judge_in_turn(&read.head) {
            let (mut at, next) = (self.out.at, read.head.next.item);
            for event in self.writing.tell(&read.id, &mut at, next, &heard) {
                self.out.event(event).await?;
            }
        }
        Ok(())
    }

    /// All events that the journal has behind the position, up to the head as it was read.
    async fn tell_events(&mut self, read: &SessionRead) -> Result<Result<(), EngineError>, Over> {
        loop {
            let (events, more) = match self.core.events_behind(read, self.out.at, STEP).await {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            for event in events {
                self.out.event(event).await?;
            }
            if !more {
                return Ok(Ok(()));
            }
        }
    }

    /// Waits until there may be something to tell. The client leaving, the server stopping and the key's end are the end.
    async fn wait(&mut self, session: &SessionId) -> Result<(), Over> {
        tokio::select! {
            _ = self.stopped.wait_for(|stopped| *stopped) => return Err(Over),
            () = self.out.to_client.closed() => return Err(Over),
            () = ring_of(&mut self.rings, session) => {}
            () = self.overhearing.some() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
        if self.out.said.elapsed() < self.out.limits.keep_alive {
            return Ok(());
        }
        self.out
            .piece(Bytes::from_static(b": keep-alive\n\n"))
            .await?;
        let Some(digest) = &self.caller.digest else {
            return Ok(());
        };
        match self.core.bearer_of(digest).await {
            Ok(None) => Err(Over),
            // Trouble of the store is nothing that the key did.
            Ok(Some(_)) | Err(_) => Ok(()),
        }
    }

    /// The Session as it is now; a deleted one ends the stream. What can't be read now is tried again later.
    async fn read_again(&mut self, before: SessionRead) -> Result<SessionRead, Over> {
        match self.core.read_session(&self.caller.owner, &before.id).await {
            Ok(read) => Ok(read),
            Err(error) => {
                self.bear(&before, error).await?;
                Ok(before)
            }
        }
    }

    /// Passing trouble is waited out; what does not pass is told, and is the end.
    async fn bear(&mut self, read: &SessionRead, error: EngineError) -> Result<(), Over> {
        match error {
            EngineError::Busy { .. } | EngineError::Unavailable(_) | EngineError::Unknown(_) => {
                return Ok(());
            }
            EngineError::NotFound {
                what: "session", ..
            } => return Err(Over),
            _ => {}
        }
        // Rows of a Session that is being erased are missing before its head is.
        let still = self.core.read_session(&self.caller.owner, &read.id).await;
        if let Err(EngineError::NotFound { .. }) = still {
            return Err(Over);
        }
        self.out.end_with(Refusal::from(error).error);
        Err(Over)
    }
}

/// A piece on its way to the client; until the connection takes it, it holds its part of the room.
struct Piece {
    bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// The way to the client.
struct Out {
    to_client: mpsc::Sender<Piece>,
    /// Bytes that may wait.
    room: Arc<Semaphore>,
    /// A place that is kept for the event that says why the stream ends.
    last_place: Option<mpsc::OwnedPermit<Piece>>,
    ids: Arc<dyn Ids>,
    session: SessionId,
    /// Where the client stands once it has taken what waits.
    at: Position,
    obfuscates: bool,
    limits: Limits,
    said: Instant,
}

impl Out {
    fn new(
        server: &Server,
        obfuscates: bool,
        session: &SessionId,
        at: Position,
    ) -> (Out, mpsc::Receiver<Piece>) {
        let (to_client, pieces) = mpsc::channel(PIECES);
        let out = Out {
            last_place: to_client.clone().try_reserve_owned().ok(),
            to_client,
            room: Arc::new(Semaphore::new(server.limits.stream_bytes)),
            ids: server.core.ids.clone(),
            session: session.clone(),
            at,
            obfuscates,
            limits: server.limits,
            said: Instant::now(),
        };
        (out, pieces)
    }

    async fn event(&mut self, event: Event) -> Result<(), Over> {
        // Every event's id says where it stands.
        let at = Position::parse(&self.session, event.event_id()).unwrap_or(self.at);
        let block = self.block(event);
        self.piece(block).await?;
        self.at = at;
        Ok(())
    }

    fn block(&self, mut event: Event) -> Bytes {
        if self.obfuscates {
            event.set_obfuscation(Some(padding(&*self.ids)));
        }
        // Wire types always serialise.
        let data = serde_json::to_string(&event).unwrap_or_default();
        Bytes::from(format!("event: {}\ndata: {data}\n\n", event.kind()))
    }

    async fn piece(&mut self, bytes: Bytes) -> Result<(), Over> {
        let most = self.limits.stream_bytes.min(bytes.len());
        let weight = u32::try_from(most).unwrap_or(u32::MAX);
        let (room, to_client) = (Arc::clone(&self.room), &self.to_client);
        let sending = async {
            let _room = room.acquire_many_owned(weight).await.ok();
            to_client.send(Piece { bytes, _room }).await
        };
        let sent = timeout(self.limits.stream_patience, sending).await;
        self.said = Instant::now();
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Over),
            Err(_) => {
                let seconds = self.limits.stream_patience.as_secs();
                let message = format!(
                    "Nothing of this stream was taken for {seconds} s. Continue it behind this event."
                );
                self.end_with(ApiError::new(408, "stream_timeout", message));
                Err(Over)
            }
        }
    }

    /// The last event of a stream that can't go on. There is a place for it, however slow the client.
    fn end_with(&mut self, error: ApiError) {
        let Some(place) = self.last_place.take() else {
            return;
        };
        let once = ids::random(Kind::Event, &*self.ids);
        let bytes = self.block(Event::Error(ErrorEvent {
            error: SessionError {
                code: error.code,
                message: error.message,
                param: error.param,
                kind: error.kind,
            },
            // Whoever continues behind it continues where it came.
            event_id: self.at.id_beside(&self.session, &once),
            session_id: self.session.to_string(),
            obfuscation: None,
        }));
        place.send(Piece { bytes, _room: None });
    }
}

/// Between 8 and 39 characters that mean nothing, so that the length of a block says less about its text.
fn padding(ids: &dyn Ids) -> String {
    let mut bytes = [0; 30];
    ids.fill(&mut bytes);
    let mut text = data_encoding::BASE64URL_NOPAD.encode(&bytes);
    text.truncate(8 + usize::from(bytes[29] & 31));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte is this one.
    struct Same(u8);

    impl Ids for Same {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn padding_has_many_lengths() {
        let lengths: Vec<usize> = [0, 1, 31, 32, 255]
            .into_iter()
            .map(|byte| padding(&Same(byte)).len())
            .collect();
        assert_eq!(lengths, [8, 9, 39, 8, 39]);
    }
}
