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

use super::tls::Tls;

/// Connections that may be open at once. Whoever comes then waits until one ends.
pub(super) const MAX_CONNECTIONS: usize = 2_048;
/// The head of a request must be there after this time; so must the next request on a connection that is kept.
const HEAD_PATIENCE: Duration = Duration::from_secs(60);
/// After a failure that is not one connection's own (no file descriptor is left) nothing is accepted for so long.
const PAUSE: Duration = Duration::from_millis(500);

/// Serves what comes until `stopped` becomes true and the last answer is out.
pub(super) async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE);
    let open = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
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
        let talk = Talk {
            http: http.clone(),
            router: router.clone(),
            open: open.watcher(),
        };
        let tls = tls.clone();
        let mut stopped = stopped.clone();
        tokio::spawn(async move {
            match tls {
                None => talk.over(stream).await,
                Some(tls) => {
                    let greeted = tokio::select! {
                        _ = stopped.wait_for(|stopped| *stopped) => None,
                        greeted = tls.greet(stream) => greeted,
                    };
                    if let Some(stream) = greeted {
                        talk.over(stream).await;
                    }
                }
            }
            drop(place);
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
