//! A listener on loopback that hands over whole requests, and may cut a connection instead of answering.

use std::io::{self, BufReader, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::net::Shutdown as Side;

use super::wire::{self, Message};

/// What becomes of a request.
pub(super) enum Reply {
    /// These bytes, a whole message.
    Bytes(Vec<u8>),
    /// No byte: the connection ends.
    Cut,
}

type Open = Arc<Mutex<Vec<TcpStream>>>;

/// Ends with its connections when it is dropped.
pub(super) struct Listening {
    pub(super) address: SocketAddr,
    listener: TcpListener,
    open: Open,
    accepting: Option<JoinHandle<()>>,
}

/// Answers on a free port, each connection on a thread of its own.
pub(super) fn listen(
    reply: impl Fn(&Message) -> Reply + Send + Sync + 'static,
) -> io::Result<Listening> {
    listen_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?, reply)
}

/// The same for somebody who listens already, wherever that is.
pub(super) fn listen_on(
    listener: TcpListener,
    reply: impl Fn(&Message) -> Reply + Send + Sync + 'static,
) -> io::Result<Listening> {
    let address = listener.local_addr()?;
    let accepted = listener.try_clone()?;
    let open = Open::default();
    let reply = Arc::new(reply);
    let open_too = Arc::clone(&open);
    let accepting = std::thread::spawn(move || {
        for stream in accepted.incoming().map_while(Result::ok) {
            if let Ok(twin) = stream.try_clone() {
                let mut open = open_too.lock().unwrap_or_else(PoisonError::into_inner);
                open.push(twin);
            }
            let reply = Arc::clone(&reply);
            // A connection that breaks is the end of it: its client sees that, nobody else needs to.
            std::thread::spawn(move || drop(converse(stream, &*reply)));
        }
    });
    Ok(Listening {
        address,
        listener,
        open,
        accepting: Some(accepting),
    })
}

fn converse(stream: TcpStream, reply: &dyn Fn(&Message) -> Reply) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    while let Some(message) = wire::request(&mut stream)? {
        match reply(&message) {
            Reply::Bytes(bytes) => stream.get_mut().write_all(&bytes)?,
            Reply::Cut => break,
        }
    }
    stream.get_ref().shutdown(Shutdown::Both)
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Nobody is accepted any more, which ends the thread that accepts. It may be in a network that nothing here gets to.
        let _ = rustix::net::shutdown(&self.listener, Side::Both);
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
        for stream in self
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            // Those that ended before are no concern.
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}
