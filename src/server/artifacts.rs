//! Artifacts, and their bytes.

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use tokio_util::io::ReaderStream;

use super::answer::Asked;
use super::refusal::{Answered, shown};
use crate::api::{Page, SessionArtifactDeleted};
use crate::engine::error::EngineError;

/// Bytes of a download that are read at once.
pub(super) const STEP_BYTES: usize = 64 << 10;

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page()?;
    let environment = asked.query.take("environment_id");
    asked.no_more_query()?;
    let read = asked.read().await?;
    // A Session has one environment for all its life.
    let own = read.config.environment.as_ref().map(|own| &own.id);
    if environment.is_some_and(|asked| own != Some(&asked)) {
        return shown(&Page::<crate::api::SessionArtifact>::new(Vec::new(), false));
    }
    shown(&asked.server.core.list_artifacts(&read, None, &page).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let read = asked.read().await?;
    let (artifact, _) = asked.server.core.get_artifact(&read, asked.id(1)).await?;
    shown(&artifact)
}

pub(super) async fn delete(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let session = asked.session()?;
    let (core, owner, id) = (&asked.server.core, &asked.caller.owner, asked.id(1));
    core.delete_artifact(owner, &session, id).await?;
    shown(&SessionArtifactDeleted::of(id))
}

/// The digest of the bytes as the header of RFC 9530 has it.
fn repr_digest(sha256_hex: &str) -> Option<HeaderValue> {
    let digest = data_encoding::HEXLOWER.decode(sha256_hex.as_bytes()).ok()?;
    let base64 = data_encoding::BASE64.encode(&digest);
    HeaderValue::from_str(&format!("sha-256=:{base64}:")).ok()
}

/// The bytes. They are verified while they pass: what is damaged breaks off, and is shorter than it was announced.
pub(super) async fn content(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let read = asked.read().await?;
    let core = &asked.server.core;
    let (_, row) = core.get_artifact(&read, asked.id(1)).await?;
    let scope = core.scope(&asked.caller.owner, &read.id);
    let opened = core.blobs.open(&scope, &row.blob, 0).await;
    let bytes = opened.map_err(EngineError::from)?;
    let stream = ReaderStream::with_capacity(bytes, STEP_BYTES);
    let response = Response::new(Body::from_stream(stream));
    let mut response = download(response, row.blob.size_bytes);
    if let Some(digest) = repr_digest(&row.blob.sha256) {
        response.headers_mut().insert("repr-digest", digest);
    }
    Ok(response)
}

/// The answer as bytes of this length that are nothing but bytes.
pub(super) fn download(mut response: Response, size_bytes: u64) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        // Whatever somebody wrote, no browser runs it here.
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_LENGTH, size_bytes.into());
    response
}
