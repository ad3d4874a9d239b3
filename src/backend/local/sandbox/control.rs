//! The engine's end of the control socket: requests to PID 1, and its replies sorted to the commands that wait for them.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

use super::packet;
use super::wire::{Command, MAX_PACKET_BYTES, Reply, Request, Setup, Status};

/// What becomes of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// It never ran, for this reason.
    NotStarted(String),
    /// Its own process ended.
    Exited(Status),
    /// Its whole tree is gone.
    Ended,
    /// Processes of the environment were killed because of this bound.
    Exceeded(String),
}

/// The sandbox is gone, or going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its control socket is closed")]
pub(super) struct Gone;

/// Why a command was not even sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// The sandbox is gone.
    Gone,
    /// The command with its variables does not fit into a packet.
    TooLong,
}

/// The socket and who waits for replies on it.
pub(super) struct Control {
    socket: AsyncFd<OwnedFd>,
    /// `None` once the sandbox is gone.
    waiting: Mutex<Option<HashMap<u64, mpsc::UnboundedSender<Event>>>>,
    next_id: AtomicU64,
}

impl Control {
    /// Takes our end of the socket, which must not block.
    pub(super) fn new(socket: OwnedFd) -> std::io::Result<Control> {
        // SAFETY: the descriptor is owned by the AsyncFd from here and is never replaced or closed before it.
        let socket = unsafe { AsyncFd::register(socket)? };
        Ok(Control {
            socket,
            waiting: Mutex::new(Some(HashMap::new())),
            next_id: AtomicU64::new(1),
        })
    }

    /// Sends the setup and waits until PID 1 is ready. The answer is the proxy's listening socket, if one was asked for.
    pub(super) async fn greet(&self, setup: Setup) -> Result<Option<OwnedFd>, Gone> {
        self.send(&Request::Setup(setup).encode(), &[]).await?;
        match self.receive().await? {
            (Reply::Ready, fds) => Ok(fds.into_iter().next()),
            _ => Err(Gone),
        }
    }

    /// Sorts replies until the socket closes; then everyone who waits is told by the end of their channel.
    pub(super) async fn listen(self: Arc<Self>) {
        while let Ok((reply, _)) = self.receive().await {
            self.dispatch(reply);
        }
        self.hang_up();
    }

    fn dispatch(&self, reply: Reply) {
        let mut waiting = self.waiting();
        let Some(waiting) = waiting.as_mut() else {
            return;
        };
        let (id, event) = match reply {
            Reply::Ready => return,
            Reply::NotStarted { id, reason } => (id, Event::NotStarted(reason)),
            Reply::Exited { id, status } => (id, Event::Exited(status)),
            Reply::Ended { id } => (id, Event::Ended),
            Reply::Exceeded { what } => {
                for sender in waiting.values() {
                    let _ = sender.send(Event::Exceeded(what.clone()));
                }
                return;
            }
        };
        if let Some(sender) = waiting.get(&id) {
            // Whoever does not wait any more does not need it.
            let _ = sender.send(event);
        }
    }

    /// Has a command run. `fds` are its output, its input unless that is empty, and its standard error where that goes elsewhere.
    pub(super) async fn spawn(
        self: &Arc<Self>,
        command: Command,
        fds: &[BorrowedFd<'_>],
    ) -> Result<Running, Unsent> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let packet = Request::Spawn { id, command }.encode();
        if packet.len() > MAX_PACKET_BYTES {
            return Err(Unsent::TooLong);
        }
        let (sender, events) = mpsc::unbounded_channel();
        match self.waiting().as_mut() {
            Some(waiting) => waiting.insert(id, sender),
            None => return Err(Unsent::Gone),
        };
        // Made before it is sent: if this future is dropped half-way, the command is ended.
        let running = Running {
            control: Arc::clone(self),
            id,
            events,
            over: false,
        };
        self.send(&packet, fds).await.map_err(|Gone| Unsent::Gone)?;
        Ok(running)
    }

    /// Closes the conversation: PID 1 ends everything.
    pub(super) fn hang_up(&self) {
        let _ = rustix::net::shutdown(self.socket.get_ref(), rustix::net::Shutdown::Both);
        *self.waiting() = None;
    }

    /// Whether PID 1 is there, as far as we know.
    pub(super) fn is_open(&self) -> bool {
        self.waiting().is_some()
    }

    fn waiting(&self) -> MutexGuard<'_, Option<HashMap<u64, mpsc::UnboundedSender<Event>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn send(&self, packet: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Gone> {
        loop {
            let mut guard = self.socket.writable().await.map_err(|_| Gone)?;
            match packet::send(self.socket.get_ref().as_fd(), packet, fds) {
                Ok(()) => return Ok(()),
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(_) => return Err(Gone),
            }
        }
    }

    async fn receive(&self) -> Result<(Reply, Vec<OwnedFd>), Gone> {
        // Replies are short; the longest is a reason.
        let mut buffer = vec![0; 16 << 10];
        loop {
            let mut guard = self.socket.readable().await.map_err(|_| Gone)?;
            match packet::receive(self.socket.get_ref().as_fd(), &mut buffer) {
                Ok(got) if got.size_bytes > 0 => {
                    let reply = Reply::decode(&buffer[..got.size_bytes]).map_err(|_| Gone)?;
                    return Ok((reply, got.fds));
                }
                Err(Errno::AGAIN) => guard.clear_ready(),
                Ok(_) | Err(_) => return Err(Gone),
            }
        }
    }
}

/// A command that was sent. Dropped before it is over, its tree is ended.
pub(super) struct Running {
    control: Arc<Control>,
    id: u64,
    events: mpsc::UnboundedReceiver<Event>,
    over: bool,
}

impl Running {
    /// The next thing that becomes of it; `None` when the sandbox is gone.
    pub(super) async fn event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Has its whole tree ended; [`Event::Ended`] follows.
    pub(super) async fn end(&self) -> Result<(), Gone> {
        self.control.send(&self.end_packet(), &[]).await
    }

    /// Nobody waits for it any more, and what it left running may stay.
    pub(super) fn leave(mut self) {
        self.over = true;
    }

    /// Gives the whole sandbox up.
    pub(super) fn give_up(&self) {
        self.control.hang_up();
    }

    fn end_packet(&self) -> Vec<u8> {
        Request::End { id: self.id }.encode()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(waiting) = self.control.waiting().as_mut() {
            waiting.remove(&self.id);
        }
        if self.over {
            return;
        }
        let packet = self.end_packet();
        if packet::send(self.control.socket.get_ref(), &packet, &[]) == Err(Errno::AGAIN) {
            let control = Arc::clone(&self.control);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { control.send(&packet, &[]).await });
            }
        }
    }
}
