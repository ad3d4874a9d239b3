//! The only way out of a sandbox: an HTTP proxy in the engine, listening inside the sandbox's network namespace.
//!
//! PID 1 binds the socket inside and hands it out, so nothing runs in the sandbox that could be killed or replaced. Every connection
//! asks for one authority, by CONNECT or by an absolute `http` URL. It is checked against the environment's rules, resolved once, and
//! only addresses that were checked are dialled; a name that changes its mind between two look-ups gains nothing.
//!
//! What it cannot see: what goes through a CONNECT tunnel. Whoever shares an address with an allowed host (a CDN) can be reached
//! through it.

mod address;
mod body;
mod reach;
mod request;
mod rules;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

pub use address::is_public;
pub use reach::{Reach, Unreachable};
pub use rules::{Authority, Host, NotADomain, Rule, Rules};

use request::{Body, MAX_HEAD_BYTES, Request};

/// Connections of one environment at once; more wait.
const MAX_CONNECTIONS: usize = 128;
/// How long a client may take for a request's head.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long an exchange may stay silent.
const SILENCE: Duration = Duration::from_secs(600);

/// A proxy at work. Dropped, every connection through it ends.
pub(super) struct Proxy {
    task: JoinHandle<()>,
}

impl Proxy {
    /// Serves the listening socket that came out of a sandbox. `shared` bounds the connections of all proxies together.
    pub(super) fn start(
        listener: OwnedFd,
        rules: Rules,
        reach: Reach,
        shared: Arc<Semaphore>,
    ) -> io::Result<Proxy> {
        let listener = std::net::TcpListener::from(listener);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let policy = Arc::new(Policy { rules, reach });
        Ok(Proxy {
            task: tokio::spawn(serve(listener, policy, shared)),
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Policy {
    rules: Rules,
    reach: Reach,
}

async fn serve(listener: TcpListener, policy: Arc<Policy>, shared: Arc<Semaphore>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    // Aborted with this task.
    let mut connections = JoinSet::new();
    while let (Ok(own), Ok(common)) = (
        Arc::clone(&room).acquire_owned().await,
        Arc::clone(&shared).acquire_owned().await,
    ) {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let policy = Arc::clone(&policy);
                connections.spawn(async move {
                    // A broken connection is the concern of its two ends, which notice.
                    let _ = policy.exchange(client).await;
                    drop((own, common));
                });
            }
            // Out of descriptors, most likely: those in use will be given back.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

impl Policy {
    async fn exchange(&self, client: TcpStream) -> io::Result<()> {
        let mut client = BufReader::new(client);
        let head = match tokio::time::timeout(HEAD_TIME, read_head(&mut client)).await {
            Ok(head) => head?,
            Err(_) => return Ok(()),
        };
        let request = match request::parse(&head) {
            Ok(request) => request,
            Err(reason) => return answer(client, "400 Bad Request", reason).await,
        };
        let authority = match &request {
            Request::Connect(authority) | Request::Forward { authority, .. } => authority,
        };
        if !self.rules.allow(authority) {
            tracing::debug!(%authority, "refused by the network policy");
            let reason = format!("{authority} is not allowed by this environment's network policy");
            return answer(client, "403 Forbidden", &reason).await;
        }
        let origin = match self.reach.dial(authority).await {
            Ok(origin) => origin,
            Err(unreachable) => {
                let status = match unreachable {
                    Unreachable::NotPublic => "403 Forbidden",
                    Unreachable::NoAddress(_) | Unreachable::NoConnection(_) => "502 Bad Gateway",
                };
                let reason = format!("{authority} cannot be reached: {unreachable}");
                return answer(client, status, &reason).await;
            }
        };
        match request {
            Request::Connect(_) => tunnel(client, origin).await,
            Request::Forward { head, body, .. } => forward(client, origin, &head, body).await,
        }
    }
}

/// Up to and including the empty line. What follows stays in the reader.
async fn read_head(client: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let room = (MAX_HEAD_BYTES - head.len()) as u64;
        let read = client.take(room).read_until(b'\n', &mut head).await?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if head.ends_with(b"\r\n\r\n") {
            return Ok(head);
        }
    }
}

async fn answer(mut client: BufReader<TcpStream>, status: &str, reason: &str) -> io::Result<()> {
    let length = reason.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{reason}\n"
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}

async fn tunnel(mut client: BufReader<TcpStream>, mut origin: TcpStream) -> io::Result<()> {
    client
        .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
        .await?;
    tokio::io::copy_bidirectional(&mut client, &mut origin).await?;
    Ok(())
}

/// One request, one answer. A second request on the same connection could name another host, so it is never read.
async fn forward(
    client: BufReader<TcpStream>,
    origin: TcpStream,
    head: &[u8],
    body: Body,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = tokio::io::split(client);
    let (mut from_origin, mut to_origin) = origin.into_split();
    to_origin.write_all(head).await?;
    let mut from_client = BufReader::new(&mut from_client);
    let request = async {
        match body::copy(body, &mut from_client, &mut to_origin).await {
            // The answer decides when the exchange is over.
            Ok(()) => std::future::pending().await,
            Err(e) => e,
        }
    };
    let response = async {
        let mut buffer = vec![0; 16 << 10];
        loop {
            match tokio::time::timeout(SILENCE, from_origin.read(&mut buffer)).await?? {
                0 => return to_client.shutdown().await,
                n => to_client.write_all(&buffer[..n]).await?,
            }
        }
    };
    tokio::select! {
        broken = request => Err(broken),
        done = response => done,
    }
}
