//! A way from a machine to an address outside of it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::net::Shutdown as Side;

use super::gate::Gate;
use super::locked;

/// Ends with its connections when it is dropped.
pub(super) struct Relay {
    listener: TcpListener,
    open: Arc<Mutex<Vec<TcpStream>>>,
    accepting: Option<JoinHandle<()>>,
}

/// Joins who connects there with this address.
pub(super) fn relay(listener: TcpListener, to: SocketAddr, gate: Arc<Gate>) -> io::Result<Relay> {
    let accepted = listener.try_clone()?;
    let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    let known = Arc::clone(&open);
    let accepting = std::thread::spawn(move || {
        for stream in accepted.incoming().map_while(Result::ok) {
            let (gate, known) = (Arc::clone(&gate), Arc::clone(&known));
            // A connection that breaks is the end of it: both sides see that.
            std::thread::spawn(move || drop(join(stream, to, &gate, &known)));
        }
    });
    Ok(Relay {
        listener,
        open,
        accepting: Some(accepting),
    })
}

fn join(
    inside: TcpStream,
    to: SocketAddr,
    gate: &Arc<Gate>,
    known: &Mutex<Vec<TcpStream>>,
) -> io::Result<()> {
    locked(known).push(inside.try_clone()?);
    if !gate.pass() {
        return inside.shutdown(Shutdown::Both);
    }
    let outside = TcpStream::connect(to)?;
    locked(known).push(outside.try_clone()?);
    let (from, into, back) = (inside.try_clone()?, outside.try_clone()?, Arc::clone(gate));
    let way = std::thread::spawn(move || copy(from, into, &back));
    copy(outside, inside, gate);
    drop(way.join());
    Ok(())
}

/// Passes on what comes, and the end of it.
fn copy(mut from: TcpStream, mut into: TcpStream, gate: &Gate) {
    let mut bytes = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut bytes) {
        // The other side may be gone by now.
        if !gate.pass() || into.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
    // An end does not pass a gate that is shut either. Whoever has closed already has no use for it.
    gate.pass();
    drop(into.shutdown(Shutdown::Write));
    drop(from.shutdown(Shutdown::Read));
}

impl Drop for Relay {
    fn drop(&mut self) {
        // Nobody is accepted any more, which ends the thread that accepts.
        let _ = rustix::net::shutdown(&self.listener, Side::Both);
        if let Some(accepting) = self.accepting.take() {
            drop(accepting.join());
        }
        for stream in locked(&self.open).iter() {
            drop(stream.shutdown(Shutdown::Both));
        }
    }
}
