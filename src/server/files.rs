//! Uploaded files. Their bytes pass through: what is in memory of an upload is a few pieces, however long it is.

use std::io;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_util::io::{ReaderStream, StreamReader};

use super::answer::Asked;
use super::artifacts::{STEP_BYTES, download};
use super::body;
use super::multipart::{Multipart, PartHead};
use super::refusal::{Answered, Refusal, shown};
use crate::api::{ApiError, FileDeleted, FilePurpose, Words};
use crate::engine::core::Core;
use crate::engine::error::EngineError;
use crate::engine::files::{NewFile, Upload};
use crate::engine::ports::{BlobError, BlobRef};

/// Pieces on their way from the socket to the disk.
const PIECES: usize = 4;
/// What a form may have beside its file.
const FORM_BYTES: u64 = 1 << 20;
/// Characters of a field that is no file.
const MAX_FIELD_BYTES: usize = 1_024;
/// Bytes of a file's name.
const MAX_NAME_BYTES: usize = 1_024;
/// Files of a page, if the request does not say, and at most.
pub(super) const PAGE_FILES: u32 = 10_000;
/// Bounds of a lifetime, in seconds.
pub(super) const LIFETIMES_S: std::ops::RangeInclusive<u64> = 3_600..=2_592_000;

pub(super) async fn create(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    let limits = &asked.server.limits;
    let body = std::mem::take(&mut asked.body);
    let mut form = Multipart::new(&asked.headers, body, limits.body_patience)?;
    let own_limit = asked.caller.limits.body_bytes.unwrap_or(u64::MAX);
    let mut fields = Fields::new(own_limit.min(limits.file_bytes));
    let upload = core.begin_upload(owner).await?;
    let read = async {
        check_length(&asked.headers, fields.limit_bytes)?;
        while let Some(part) = form.next().await? {
            fields.take(core, &upload, &mut form, part).await?;
        }
        Ok(fields.finish()?)
    };
    let read: Answered<(BlobRef, NewFile)> =
        match tokio::time::timeout(limits.upload_patience, read).await {
            Ok(read) => read,
            Err(_) => {
                let patience_s = limits.upload_patience.as_secs();
                let message = format!("The upload took longer than {patience_s} s.");
                Err(ApiError::new(408, "request_timeout", message).into())
            }
        };
    let ended = match read {
        Ok((blob, file)) => core
            .end_upload(owner, &upload, blob, file)
            .await
            .map_err(Refusal::from),
        Err(refusal) => Err(refusal),
    };
    if ended.is_err() {
        core.give_up_upload(&upload).await;
        body::drain(form.into_pieces(), body::DRAIN_BYTES);
    }
    shown(&ended?)
}

pub(super) async fn list(mut asked: Asked) -> Answered {
    let page = asked.query.take_page_of(PAGE_FILES, PAGE_FILES)?;
    let purpose = asked.query.take("purpose");
    asked.no_more_query()?;
    let purpose = purpose.map(|word| purpose_of(&word)).transpose()?;
    let (core, owner) = (&asked.server.core, &asked.caller.owner);
    shown(&core.list_files(owner, &page, purpose).await?)
}

pub(super) async fn get(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let core = &asked.server.core;
    let (file, _) = core.file(&asked.caller.owner, asked.id(0)).await?;
    shown(&file)
}

pub(super) async fn delete(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, id) = (&asked.server.core, asked.id(0));
    core.delete_file(&asked.caller.owner, id).await?;
    shown(&FileDeleted::of(id))
}

/// The bytes, verified while they pass.
pub(super) async fn content(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let (core, owner, id) = (&asked.server.core, &asked.caller.owner, asked.id(0));
    let (_, row) = core.file(owner, id).await?;
    let bytes = core.open_file(owner, id, &row).await?;
    let stream = ReaderStream::with_capacity(bytes, STEP_BYTES);
    let response = Response::new(Body::from_stream(stream));
    Ok(download(response, row.blob.size_bytes))
}

/// What is certainly too long is not begun.
fn check_length(headers: &HeaderMap, limit_bytes: u64) -> Result<(), ApiError> {
    let length = headers.get(header::CONTENT_LENGTH);
    let length: Option<u64> = length.and_then(|length| length.to_str().ok()?.parse().ok());
    match length.is_some_and(|length| length > limit_bytes + FORM_BYTES) {
        true => Err(too_large(limit_bytes)),
        false => Ok(()),
    }
}

fn too_large(limit_bytes: u64) -> ApiError {
    let message = format!("Invalid 'file': it is larger than {limit_bytes} bytes.");
    ApiError {
        status: 413,
        ..ApiError::invalid_request("file", message)
    }
}

fn purpose_of(word: &str) -> Result<FilePurpose, ApiError> {
    FilePurpose::from_word(word).map_err(|error| {
        ApiError::invalid_request("purpose", format!("Invalid 'purpose': {error}."))
    })
}

/// What was read of a form so far.
struct Fields {
    limit_bytes: u64,
    file: Option<(String, BlobRef)>,
    purpose: Option<String>,
    anchor: Option<String>,
    seconds: Option<String>,
}

impl Fields {
    /// Of a form whose file has at most so many bytes.
    fn new(limit_bytes: u64) -> Fields {
        Fields {
            limit_bytes,
            file: None,
            purpose: None,
            anchor: None,
            seconds: None,
        }
    }

    async fn take(
        &mut self,
        core: &Core,
        upload: &Upload,
        form: &mut Multipart,
        part: PartHead,
    ) -> Answered<()> {
        let slot = match part.name.as_str() {
            "file" if self.file.is_none() => {
                let filename = file_name(part.filename)?;
                let blob = store(core, upload, form, self.limit_bytes).await?;
                self.file = Some((filename, blob));
                return Ok(());
            }
            "purpose" => &mut self.purpose,
            "expires_after[anchor]" => &mut self.anchor,
            "expires_after[seconds]" => &mut self.seconds,
            "file" => return Err(given_twice("file").into()),
            other => {
                let name: String = other.chars().take(100).collect();
                let message = format!("Unknown parameter: '{name}'.");
                return Err(ApiError::invalid_request(&name, message).into());
            }
        };
        match slot.replace(text(form, &part.name).await?) {
            None => Ok(()),
            Some(_) => Err(given_twice(&part.name).into()),
        }
    }

    fn finish(self) -> Result<(BlobRef, NewFile), ApiError> {
        let (filename, blob) = self.file.ok_or_else(|| missing("file"))?;
        let purpose = self.purpose.ok_or_else(|| missing("purpose"))?;
        let purpose = purpose_of(&purpose)?;
        if !purpose.is_for_clients() {
            let message = format!("Invalid 'purpose': a file for '{purpose}' can't be uploaded.");
            return Err(ApiError::invalid_request("purpose", message));
        }
        let file = NewFile {
            filename,
            purpose,
            expires_after_s: lifetime(self.anchor, self.seconds)?,
        };
        Ok((blob, file))
    }
}

fn missing(name: &str) -> ApiError {
    let message = format!("Missing required parameter: '{name}'.");
    ApiError::invalid_request(name, message)
}

fn given_twice(name: &str) -> ApiError {
    let message = format!("Parameter '{name}' is given twice.");
    ApiError::invalid_request(name, message)
}

fn file_name(name: Option<String>) -> Result<String, ApiError> {
    let refuse = |what: &str| {
        Err(ApiError::invalid_request(
            "file",
            format!("Invalid 'file': {what}."),
        ))
    };
    match name {
        None => refuse("expected a file, with a name"),
        Some(name) if !(1..=MAX_NAME_BYTES).contains(&name.len()) => {
            refuse("its name must have 1 to 1024 bytes")
        }
        Some(name) if name.chars().any(char::is_control) => {
            refuse("its name has a control character")
        }
        Some(name) => Ok(name),
    }
}

fn lifetime(anchor: Option<String>, seconds: Option<String>) -> Result<Option<u64>, ApiError> {
    let (anchor, seconds) = match (anchor, seconds) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return Err(missing("expires_after[anchor]")),
        (Some(_), None) => return Err(missing("expires_after[seconds]")),
        (Some(anchor), Some(seconds)) => (anchor, seconds),
    };
    if anchor != "created_at" {
        let name = "expires_after[anchor]";
        let message = format!("Invalid '{name}': expected 'created_at'.");
        return Err(ApiError::invalid_request(name, message));
    }
    let seconds = seconds.parse().ok().filter(|s| LIFETIMES_S.contains(s));
    seconds.map(Some).ok_or_else(|| {
        let name = "expires_after[seconds]";
        let message = format!(
            "Invalid '{name}': expected a whole number from {} to {}.",
            LIFETIMES_S.start(),
            LIFETIMES_S.end()
        );
        ApiError::invalid_request(name, message)
    })
}

/// A part that is no file.
async fn text(form: &mut Multipart, name: &str) -> Result<String, ApiError> {
    let refuse = |what: &str| {
        let message = format!("Invalid '{name}': {what}.");
        ApiError::invalid_request(name, message)
    };
    let mut bytes = Vec::new();
    while let Some(piece) = form.piece().await? {
        if bytes.len() + piece.len() > MAX_FIELD_BYTES {
            return Err(refuse("it is too long"));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|_| refuse("it is not UTF-8"))
}

/// Stores the content of a part as it comes.
async fn store(
    core: &Core,
    upload: &Upload,
    form: &mut Multipart,
    limit_bytes: u64,
) -> Answered<BlobRef> {
    let (send, pieces) = mpsc::channel::<io::Result<Bytes>>(PIECES);
    let stream = futures_util::stream::unfold(pieces, |mut pieces| async move {
        Some((pieces.recv().await?, pieces))
    });
    let from = Box::new(StreamReader::new(Box::pin(stream)));
    let put = core.upload_bytes(upload, from, limit_bytes);
    let (passed, put) = tokio::join!(pass(form, send), put);
    // Why the reading broke off says more than that it did.
    passed?;
    put.map_err(|error| match error {
        BlobError::TooLarge { .. } => too_large(limit_bytes).into(),
        other => EngineError::from(other).into(),
    })
}

/// Passes pieces on until the part ends, or nobody takes them any more: whoever took them knows why.
async fn pass(form: &mut Multipart, send: mpsc::Sender<io::Result<Bytes>>) -> Result<(), ApiError> {
    loop {
        match form.piece().await {
            Ok(Some(piece)) => {
                if send.send(Ok(piece)).await.is_err() {
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(error) => {
                let _ = send
                    .send(Err(io::Error::other("the upload broke off")))
                    .await;
                return Err(error);
            }
        }
    }
}
