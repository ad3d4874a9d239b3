//! What happens with every request, whatever it asks for: it gets an id, is known or refused, is answered, and is logged.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::query::Query;
use super::refusal::{Answered, Refusal};
use super::routes::{Call, Route};
use super::{
    Access, Server, agents, artifacts, body, environments, events, files, metrics, openapi,
    sessions, subagents, transcript, vaults,
};
use crate::api::{ApiError, EXTENSIONS_HEADER, Extension};
use crate::engine::access::KeyLimits;
use crate::engine::ids::{self, Kind, SessionId};
use crate::engine::ports::Key;
use crate::engine::read::SessionRead;
use crate::engine::scope::{Scope, Scopes};

/// Characters of an idempotency key at most.
pub(super) const KEY_CHARS_MAX: usize = 255;
/// What the beta header must say.
pub(super) const BETA: &str = "agents=v1";

/// Who asks.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    /// Owner namespace.
    pub(super) owner: String,
    /// Digest of the key that was shown; `None` where none is needed.
    pub(super) digest: Option<String>,
    /// What it may ask for.
    pub(super) scopes: Scopes,
    /// How much.
    pub(super) limits: KeyLimits,
}

impl Caller {
    /// Whoever reaches the address.
    fn anybody(owner: &str) -> Caller {
        Caller {
            owner: owner.to_owned(),
            digest: None,
            scopes: Scopes::All,
            limits: KeyLimits::default(),
        }
    }

    /// Refuses what its key is not for.
    pub(super) fn need(&self, scope: Scope) -> Answered<()> {
        match self.scopes.allow(scope) {
            true => Ok(()),
            false => {
                let message = format!("This access key does not have the scope '{scope}'.");
                Err(ApiError::forbidden(message).into())
            }
        }
    }
}

/// A request that is one, of somebody who is known.
pub(super) struct Asked {
    pub(super) server: Arc<Server>,
    pub(super) caller: Caller,
    /// From the path, in its order.
    pub(super) ids: Vec<String>,
    pub(super) query: Query,
    pub(super) headers: HeaderMap,
    pub(super) body: axum::body::Body,
}

impl Asked {
    /// The id at this place of the path.
    pub(super) fn id(&self, at: usize) -> &str {
        self.ids.get(at).map_or("", String::as_str)
    }

    /// The Session that the path names.
    pub(super) fn session(&self) -> Answered<SessionId> {
        let id = self.id(0);
        let missing = || ApiError::not_found(&format!("Session '{id}'"));
        Ok(SessionId::parse(id).ok_or_else(missing)?)
    }

    /// The same, as it is now, if it is the caller's. (Exclusive, because a body can't be shared between threads.)
    pub(super) async fn read(&mut self) -> Answered<SessionRead> {
        let session = self.session()?;
        let core = &self.server.core;
        Ok(core.read_session(&self.caller.owner, &session).await?)
    }

    /// The whole body.
    pub(super) async fn take_body(&mut self) -> Answered<bytes::BytesMut> {
        let limits = &self.server.limits;
        let most_bytes = body::most_bytes(limits, &self.caller.limits);
        let body = std::mem::take(&mut self.body);
        Ok(body::whole(body, most_bytes, limits.body_patience).await?)
    }

    /// The idempotency key, if one was given.
    pub(super) fn idempotency_key(&self) -> Answered<Option<String>> {
        let Some(value) = self.headers.get("idempotency-key") else {
            return Ok(None);
        };
        let text = value.to_str().unwrap_or_default();
        if !(1..=KEY_CHARS_MAX).contains(&text.len()) {
            let message = format!("Idempotency-Key must be 1 to {KEY_CHARS_MAX} ASCII characters.");
            return Err(ApiError::invalid_request("Idempotency-Key", message).into());
        }
        Ok(Some(text.to_owned()))
    }

    /// Refuses what of the query nobody wanted.
    pub(super) fn no_more_query(&mut self) -> Answered<()> {
        Ok(std::mem::take(&mut self.query).finish()?)
    }
}

/// Answers a request to a route. `ids`: `None` if the path is no text.
pub(super) async fn answer(
    server: Arc<Server>,
    route: &'static Route,
    ids: Option<Vec<String>>,
    request: Request,
) -> Response {
    let line = Line::begin(&server, Some(route), &request);
    let (parts, body) = request.into_parts();
    let answered = match known(&server, route, ids, parts, body).await {
        Ok(asked) => call(route.call, asked).await,
        Err(refusal) => Err(refusal),
    };
    line.end(&server, answered)
}

/// A path that the API does not have.
pub(super) fn no_such_route(server: &Server, request: &Request) -> Response {
    let what = format!("Route '{} {}'", request.method(), request.uri().path());
    let line = Line::begin(server, None, request);
    line.end(server, Err(ApiError::not_found(&what).into()))
}

/// A path that the API has, with another method.
pub(super) fn no_such_method(server: &Server, request: &Request) -> Response {
    let message = format!("{} is not a method of this route.", request.method());
    let error = ApiError::new(405, "method_not_allowed", message);
    Line::begin(server, None, request).end(server, Err(error.into()))
}

/// A request's line in the log. Nothing of its query, headers and body is in it.
struct Line {
    route: Option<&'static Route>,
    request_id: String,
    method: Method,
    path: String,
    since: Instant,
}

impl Line {
    fn begin(server: &Server, route: Option<&'static Route>, request: &Request) -> Line {
        Line {
            route,
            request_id: ids::random(Kind::Request, &*server.core.ids),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            since: Instant::now(),
        }
    }

    /// The answer with the request's id, once it is in the log. Of a stream that is its beginning.
    fn end(self, server: &Server, answered: Answered) -> Response {
        let mut response = answered.unwrap_or_else(Refusal::into_response);
        if let Ok(id) = HeaderValue::from_str(&self.request_id) {
            response.headers_mut().insert("x-request-id", id);
        }
        if let Ok(all) = HeaderValue::from_str(&Extension::header_value()) {
            response.headers_mut().insert(EXTENSIONS_HEADER, all);
        }
        let Line {
            route,
            request_id,
            method,
            path,
            since,
        } = self;
        let took = since.elapsed();
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let status = response.status().as_u16();
        server.traffic.answered(route, status, took);
        tracing::info!(%method, path, status, took_ms, request_id, "request");
        response
    }
}

/// Checks everything that does not depend on what is asked for.
async fn known(
    server: &Arc<Server>,
    route: &Route,
    ids: Option<Vec<String>>,
    parts: Parts,
    body: axum::body::Body,
) -> Answered<Asked> {
    let caller = match route.needs_key() {
        false => Caller::anybody(""),
        true => {
            let caller = caller(server, &parts.headers).await?;
            check_rate(server, &caller)?;
            for scope in route.needs() {
                caller.need(*scope)?;
            }
            caller
        }
    };
    if route.wants_beta() {
        check_beta(&parts.headers)?;
    }
    let ids = ids.ok_or_else(|| ApiError::not_found("This path"))?;
    let query = Query::parse(parts.uri.query().unwrap_or_default())?;
    if let Some(described) = openapi::describe(route.call) {
        query.only(described.query)?;
    }
    Ok(Asked {
        server: Arc::clone(server),
        caller,
        ids,
        query,
        headers: parts.headers,
        body,
    })
}

async fn caller(server: &Server, headers: &HeaderMap) -> Answered<Caller> {
    match &server.access {
        Access::Open { owner } => {
            check_host(headers)?;
            Ok(Caller::anybody(owner))
        }
        Access::Keys => {
            let shown = headers.get(header::AUTHORIZATION);
            let shown = shown
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            // The scheme's name has no case.
            let key = match shown.split_once(' ') {
                Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") => key.trim(),
                _ => "",
            };
            let bearer = server.core.bearer(key).await?;
            // Missing, wrong, revoked and expired are one answer.
            let unknown = "A valid access key is required, as 'Authorization: Bearer <key>'.";
            let bearer = bearer.ok_or_else(|| ApiError::unauthorized(unknown))?;
            Ok(Caller {
                owner: bearer.owner,
                digest: Some(bearer.digest),
                scopes: bearer.scopes,
                limits: bearer.limits,
            })
        }
    }
}

/// Refuses who asks too often. Whatever is asked for counts once, a stream, too.
fn check_rate(server: &Server, caller: &Caller) -> Answered<()> {
    let limit = caller.limits.requests_per_second;
    let Some(per_second) = limit.or(server.requests_per_second) else {
        return Ok(());
    };
    let who = caller.digest.as_deref().unwrap_or_default();
    let now_ms = server.core.clock.now_ms();
    let taken = server.rates.take(who, per_second, now_ms);
    taken.map_err(|wait_ms| {
        server.traffic.rate_limited.one();
        Refusal::later(ApiError::rate_limited(per_second), wait_ms)
    })
}

/// Without keys, whoever reaches the address is let in; a web page whose name was made to lead to this machine shall not be one
/// of them. A program that means this machine calls it by its address, or `localhost`.
fn check_host(headers: &HeaderMap) -> Answered<()> {
    let host = headers.get(header::HOST);
    let host = host
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']');
    let loopback = address
        .parse::<std::net::IpAddr>()
        .is_ok_and(|address| address.is_loopback());
    match loopback || name.eq_ignore_ascii_case("localhost") {
        true => Ok(()),
        false => Err(ApiError::forbidden("Without access keys, only localhost is served.").into()),
    }
}

fn check_beta(headers: &HeaderMap) -> Answered<()> {
    let given = headers.get_all("openai-beta").into_iter();
    let mut words = given
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    match words.any(|word| word.trim() == BETA) {
        true => Ok(()),
        false => {
            let message = format!("This route needs the header 'OpenAI-Beta: {BETA}'.");
            let mut error = ApiError::invalid_request("OpenAI-Beta", message);
            error.code = Some("invalid_beta".to_owned());
            Err(error.into())
        }
    }
}

async fn call(call: Call, asked: Asked) -> Answered {
    match call {
        Call::Health => Ok((StatusCode::OK, "ok\n").into_response()),
        Call::Ready => ready(&asked.server).await,
        Call::OpenApi => openapi::show(asked).await,
        Call::Metrics => metrics::page(asked).await,
        Call::CreateAgent => agents::create(asked).await,
        Call::ListAgents => agents::list(asked).await,
        Call::GetAgent => agents::get(asked).await,
        Call::UpdateAgent => agents::update(asked).await,
        Call::DeleteAgent => agents::delete(asked).await,
        Call::CreateSession => sessions::create(asked).await,
        Call::ListSessions => sessions::list(asked).await,
        Call::GetSession => sessions::get(asked).await,
        Call::UpdateSession => sessions::update(asked).await,
        Call::DeleteSession => sessions::delete(asked).await,
        Call::SendEvents => events::send(asked).await,
        Call::StreamEvents => events::stream(asked).await,
        Call::ListItems => transcript::items(asked).await,
        Call::ListTurns => transcript::turns(asked).await,
        Call::GetTurn => transcript::turn(asked).await,
        Call::ListTurnItems => transcript::turn_items(asked).await,
        Call::ListTraces => transcript::traces(asked).await,
        Call::ListSubagents => subagents::list(asked).await,
        Call::GetSubagent => subagents::get(asked).await,
        Call::ListSubagentItems => subagents::items(asked).await,
        Call::ListSubagentTurns => subagents::turns(asked).await,
        Call::GetSubagentTurn => subagents::turn(asked).await,
        Call::ListSubagentTurnItems => subagents::turn_items(asked).await,
        Call::ListArtifacts => artifacts::list(asked).await,
        Call::GetArtifact => artifacts::get(asked).await,
        Call::DeleteArtifact => artifacts::delete(asked).await,
        Call::GetArtifactContent => artifacts::content(asked).await,
        Call::CreateFile => files::create(asked).await,
        Call::ListFiles => files::list(asked).await,
        Call::GetFile => files::get(asked).await,
        Call::DeleteFile => files::delete(asked).await,
        Call::GetFileContent => files::content(asked).await,
        Call::CreateVault => vaults::create(asked).await,
        Call::ListVaults => vaults::list(asked).await,
        Call::GetVault => vaults::get(asked).await,
        Call::UpdateVault => vaults::update(asked).await,
        Call::DeleteVault => vaults::delete(asked).await,
        Call::CreateCredential => vaults::create_credential(asked).await,
        Call::ListCredentials => vaults::list_credentials(asked).await,
        Call::GetCredential => vaults::get_credential(asked).await,
        Call::UpdateCredential => vaults::update_credential(asked).await,
        Call::DeleteCredential => vaults::delete_credential(asked).await,
        Call::GetEnvironment => environments::get(asked).await,
        Call::PutEnvironmentFile => environments::put_file(asked).await,
        Call::ListEnvironmentFiles => environments::files(asked).await,
        Call::CreateTemplate => environments::create_template(asked).await,
        Call::ListTemplates => environments::list_templates(asked).await,
        Call::GetTemplate => environments::get_template(asked).await,
        Call::UpdateTemplate => environments::update_template(asked).await,
        Call::DeleteTemplate => environments::delete_template(asked).await,
        Call::NotBuilt => {
            let message = "This server does not have this route of the Agents API.";
            let error = ApiError::new(501, "not_implemented", message);
            Err(Refusal::last_word(error))
        }
    }
}

/// Whether the store answers.
async fn ready(server: &Server) -> Answered {
    let nothing = Key::new("A/ready", "-");
    let looked = server.core.store.get(&nothing).await;
    looked.map_err(crate::engine::error::EngineError::from)?;
    Ok((StatusCode::OK, "ready\n").into_response())
}
