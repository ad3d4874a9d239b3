//! Takes connections and requests: how many, how large, how slow, and whose.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;

use super::admission::{FromProxy, Pass};
use super::answer::{self, Refusal};
use super::{Shared, relay, request};
use crate::backend::model::http::failure;
use crate::engine::ports::{Fenced, ModelError};

/// Below this an agent finds its MCP servers, by their places.
pub(super) const MCP: &str = "/mcp/";

/// Connections at a time. An agent opens one for each model call, and so does each of its sub-agents.
const CONNECTIONS_MAX: usize = 256;
/// A request's body may not be larger: a long history with its images.
const REQUEST_LIMIT_BYTES: usize = 64 << 20;
/// So long a connection may take to say what it wants.
const HEAD_PATIENCE: Duration = Duration::from_secs(10);
/// So long a request's body may take, all of it. It comes from this machine.
const BODY_PATIENCE: Duration = Duration::from_secs(30);
/// After a failure that is not one connection's own (no file descriptor is left) nothing is accepted for so long.
const PAUSE: Duration = Duration::from_millis(200);

/// Serves until it is aborted, which ends every connection.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let router = Router::new().fallback(take).with_state(shared);
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut open = JoinSet::new();
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection of an agent can be accepted now");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Events are small, and each is waited for.
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_PATIENCE)
            .serve_connection(
                TokioIo::new(stream),
                TowerToHyperService::new(router.clone()),
            );
        open.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection of an agent broke");
            }
            drop(place);
        });
        while open.try_join_next().is_some() {}
    }
}

async fn take(State(shared): State<Arc<Shared>>, asked: Request) -> Response {
    let (parts, body) = asked.into_parts();
    match admit(&shared, &parts) {
        Err(refusal) => refusal.response(),
        Ok(pass) => tokio::select! {
            () = pass.ended() => Refusal::Ended.response(),
            response = passed(&shared, &pass, &parts, body) => response.unwrap_or_else(Refusal::response),
        },
    }
}

/// Decided before a byte of the body is read.
fn admit(shared: &Shared, parts: &Parts) -> Result<Arc<Pass>, Refusal> {
    let is_model_call = parts.method == Method::POST && parts.uri.path() == "/v1/responses";
    if !is_model_call && mcp_place(parts).is_none() {
        return Err(Refusal::NoSuchPlace);
    }
    let token = request::token(&parts.headers).unwrap_or_default();
    shared.door.open(token).map_err(Refusal::Shut)
}

/// The place of the MCP server that is asked.
fn mcp_place(parts: &Parts) -> Option<usize> {
    parts.uri.path().strip_prefix(MCP)?.parse().ok()
}

async fn passed(
    shared: &Arc<Shared>,
    pass: &Arc<Pass>,
    parts: &Parts,
    body: Body,
) -> Result<Response, Refusal> {
    let Some(place) = mcp_place(parts) else {
        return relayed(shared, pass, parts, body).await;
    };
    let mcp = pass.mcp().ok_or(Refusal::NoSuchPlace)?;
    let body = read(body).await?;
    Ok(mcp.answer(place, parts, body).await)
}

async fn relayed(
    shared: &Arc<Shared>,
    pass: &Arc<Pass>,
    parts: &Parts,
    body: Body,
) -> Result<Response, Refusal> {
    let body = read(body).await?;
    let told = request::told(&body).ok_or(Refusal::NoRequest)?;
    let thread = request::thread(&parts.headers);
    if !pass.spend() {
        return Ok(refused(pass, thread, &answer::spent(), None).await);
    }
    leave(
        pass,
        thread.clone(),
        told,
        request::is_aside(&parts.headers),
    )
    .await
    .map_err(|Fenced| Refusal::Ended)?;
    let posted = match shared
        .caller
        .post(&request::forwarded(&parts.headers), body)
        .await
    {
        Ok(posted) => posted,
        Err(error) => return Ok(refused(pass, thread, &error, None).await),
    };
    if !posted.response.status().is_success() {
        let failed = shared.caller.failed(posted).await;
        return Ok(refused(pass, thread, &failed.error(), Some(failed.status)).await);
    }
    let kind = posted.response.headers().get(reqwest::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/html") {
        return Ok(refused(pass, thread, &shared.caller.web_page(), None).await);
    }
    if kind.starts_with("application/json") {
        // An agent that asks for a stream could not read it.
        return Ok(refused(pass, thread, &failure::no_stream(), None).await);
    }
    Ok(relay::answer(
        posted,
        Arc::clone(pass),
        thread,
        shared.caller.idle(),
    ))
}

/// Asks the harness whether the model may be told this, and waits as long as it takes.
async fn leave(
    pass: &Pass,
    thread: Option<String>,
    told: request::Told,
    is_aside: bool,
) -> Result<(), Fenced> {
    let (go, answered) = oneshot::channel();
    pass.tell(FromProxy::Asked {
        thread,
        news: told.news,
        messages: told.messages,
        is_aside,
        go,
    })
    .await?;
    answered.await.unwrap_or(Err(Fenced))
}

/// Tells the harness why, then the agent.
async fn refused(
    pass: &Pass,
    thread: Option<String>,
    error: &ModelError,
    status: Option<u16>,
) -> Response {
    tracing::debug!(
        session = pass.session(),
        code = error.code,
        ?status,
        "a model call failed"
    );
    let failed = FromProxy::Failed {
        thread,
        error: error.clone(),
    };
    match pass.tell(failed).await {
        Ok(()) => {
            tokio::time::sleep(answer::pause(error)).await;
            answer::failed(error)
        }
        Err(_) => Refusal::Ended.response(),
    }
}

async fn read(body: Body) -> Result<Bytes, Refusal> {
    // Whoever announces too much is not waited for.
    if body.size_hint().lower() > REQUEST_LIMIT_BYTES as u64 {
        return Err(Refusal::TooLarge);
    }
    let all = axum::body::to_bytes(body, REQUEST_LIMIT_BYTES);
    match tokio::time::timeout(BODY_PATIENCE, all).await {
        Err(_) => Err(Refusal::TooSlow),
        // A body that breaks off is answered as well, though nobody may be there to read it.
        Ok(read) => read.map_err(|_| Refusal::TooLarge),
    }
}
