//! Connections: how many there may be, how long each may take to say what it wants, and their end. With TLS, the handshake is part of
//! a connection and holds its place.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::limits::Limits;
use super::metrics::{Gauge, Open};
use super::patient::Patient;
use super::tls::Tls;

/// After a failure that is not one connection's own (no file descriptor is left) nothing is accepted for so long.
const PAUSE: Duration = Duration::from_millis(500);
/// Fields of a head that the HTTP layer takes by itself. Said aloud, they cost an allocation a request.
const HTTP_FIELDS: usize = 100;

/// What every connection is served with.
pub(super) struct Serving {
    pub(super) router: Router,
    pub(super) limits: Limits,
    pub(super) tls: Option<Tls>,
    /// How many are open.
    pub(super) connections: Arc<Gauge>,
}

/// Serves what comes until `stopped` becomes true and the last answer is out.
pub(super) async fn serve(
    listener: TcpListener,
    serving: Serving,
    mut stopped: watch::Receiver<bool>,
) {
    let Serving { limits, tls, .. } = serving;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.head_patience)
        .max_header_size(limits.head_bytes);
    if limits.head_fields != HTTP_FIELDS {
        http.max_headers(limits.head_fields);
    }
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(limits.connections));
    loop {
        let next = tokio::select! {
            // Nobody left who could say the word is the word.
            _ = stopped.wait_for(|stopped| *stopped) => break,
            next = accept(&listener, &room) => next,
        };
        let Some((stream, place)) = next else {
            continue;
        };
        // Events are small, and each is waited for.
        let _ = stream.set_nodelay(true);
        let stream = Patient::new(stream, limits.write_patience);
        let talk = Talk {
            http: http.clone(),
            router: serving.router.clone(),
            open: open.watcher(),
        };
        let tls = tls.clone();
        let counted = Open::one(&serving.connections);
        let patience = limits.handshake_patience;
        let mut stopped = stopped.clone();
        tokio::spawn(async move {
            match tls {
                None => talk.over(stream).await,
                Some(tls) => {
                    let greeted = tokio::select! {
                        _ = stopped.wait_for(|stopped| *stopped) => None,
                        greeted = tls.greet(stream, patience) => greeted,
                    };
                    if let Some(stream) = greeted {
                        talk.over(stream).await;
                    }
                }
            }
            drop((place, counted));
        });
    }
    drop(listener);
    open.shutdown().await;
}

/// What a connection is answered with.
struct Talk {
    http: http1::Builder,
    router: Router,
    open: Watcher,
}

impl Talk {
    /// Answers all requests of one connection.
    async fn over(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = TowerToHyperService::new(self.router);
        let connection = self.http.serve_connection(TokioIo::new(stream), service);
        if let Err(error) = self.open.watch(connection).await {
            tracing::debug!(%error, "a connection broke");
        }
    }
}

/// The next connection, when there is room for one; `None` if it was gone before it was taken.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, place)),
        Err(error) => {
            use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
            let its_own = [ConnectionAborted, ConnectionRefused, ConnectionReset];
            if !its_own.contains(&error.kind()) {
                tracing::warn!(%error, "no connection can be accepted now");
                tokio::time::sleep(PAUSE).await;
            }
            None
        }
    }
}
