//! The rows of an archive: one JSON object a line, `{"key":…,"value":…}`, in the order of their keys.
//!
//! Reading is strict: a row must be of a kind that this program knows and must decode as one, and its number must be one that the
//! head has given out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::engine::artifact::ArtifactRow;
use crate::engine::delivery::DeliveryRow;
use crate::engine::fence::RunRow;
use crate::engine::input::{Body, EndRow, InputRow, Submission};
use crate::engine::item::{CallState, ItemBody, ItemRow, Told};
use crate::engine::journal::JournalRow;
use crate::engine::keys;
use crate::engine::ports::BlobRef;
use crate::engine::receipt::ReceiptRow;
use crate::engine::session::Head;
use crate::engine::sessions::Config;
use crate::engine::turn::TurnRow;

#[derive(Serialize)]
struct LineOut<'a> {
    key: &'a str,
    value: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LineIn<'a> {
    #[serde(borrow)]
    key: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// Whether a row with this sort key goes into an archive as one. The head has its own entry; the index of owed deliveries follows
/// from the deliveries, and those of a copy are owed to nobody.
pub(super) fn is_carried(sort: &str) -> bool {
    sort != keys::HEAD && !sort.starts_with("owed/")
}

/// A row as a line, newline included.
pub(super) fn line(sort: &str, value: &[u8]) -> Result<Vec<u8>, String> {
    let value: &RawValue = serde_json::from_slice(value).map_err(|e| e.to_string())?;
    let mut line = serde_json::to_vec(&LineOut { key: sort, value }).map_err(|e| e.to_string())?;
    if line.contains(&b'\n') {
        return Err("its value is spread over several lines".to_owned());
    }
    line.push(b'\n');
    Ok(line)
}

/// Sort key and value of a line without its newline.
pub(super) fn parse_line(line: &[u8]) -> Result<(String, Vec<u8>), String> {
    let line: LineIn<'_> = serde_json::from_slice(line).map_err(|e| e.to_string())?;
    let value = line.value.get().as_bytes().to_vec();
    Ok((line.key.into_owned(), value))
}

/// The bytes that a row of a Session names.
///
/// # Errors
/// In words, when this program knows no such row or can't read it.
pub fn named_blobs(sort: &str, value: &[u8]) -> Result<Vec<BlobRef>, String> {
    let family = sort.split('/').next().unwrap_or_default();
    Ok(match family {
        "head" => {
            read::<Head>(value)?;
            Vec::new()
        }
        "config" => {
            read::<Config>(value)?;
            Vec::new()
        }
        "input" => match read::<InputRow>(value)?.submission {
            Submission::Message { content } => blob_of(content),
            Submission::ToolResult { answer, .. } => blob_of(answer),
            Submission::Cancel => Vec::new(),
        },
        "item" => item_blobs(read::<ItemRow>(value)?.body),
        "artifact" => vec![read::<ArtifactRow>(value)?.blob],
        "delivery" => blob_of(read::<DeliveryRow>(value)?.body),
        "end" => nothing::<EndRow>(value)?,
        "turn" => nothing::<TurnRow>(value)?,
        "run" => nothing::<RunRow>(value)?,
        "receipt" => nothing::<ReceiptRow>(value)?,
        "journal" => nothing::<JournalRow>(value)?,
        "owed" => nothing::<()>(value)?,
        _ => return Err("this program knows no such row".to_owned()),
    })
}

fn read<T: DeserializeOwned>(value: &[u8]) -> Result<T, String> {
    serde_json::from_slice(value).map_err(|e| e.to_string())
}

fn nothing<T: DeserializeOwned>(value: &[u8]) -> Result<Vec<BlobRef>, String> {
    read::<T>(value).map(|_| Vec::new())
}

fn blob_of(body: Body) -> Vec<BlobRef> {
    match body {
        Body::Inline(_) => Vec::new(),
        Body::Blob(blob) => vec![blob],
    }
}

fn item_blobs(body: ItemBody) -> Vec<BlobRef> {
    match body {
        ItemBody::User { .. } | ItemBody::FunctionOutput { .. } => Vec::new(),
        ItemBody::Message { text, .. } => blob_of(text),
        ItemBody::Reasoning { native, .. } => native.map(blob_of).unwrap_or_default(),
        ItemBody::Function { arguments, .. } => blob_of(arguments),
        ItemBody::Call {
            arguments, state, ..
        } => {
            let mut blobs = blob_of(arguments);
            if let CallState::Done { output, told, .. } = state {
                blobs.extend(blob_of(output));
                if let Some(Told::Instead(body)) = told {
                    blobs.extend(blob_of(body));
                }
            }
            blobs
        }
    }
}

/// Whether the head has given out the number in this sort key. Keys without a number are fine, in the form that the engine gives
/// them.
pub(super) fn is_of(head: &Head, sort: &str) -> bool {
    let below = |prefix: &str, next: u64, key: fn(u64) -> String| {
        keys::number(sort, prefix).is_some_and(|n| n >= 1 && n < next && key(n) == sort)
    };
    let plain = |rest: &str| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    match sort.split_once('/') {
        None => sort == keys::CONFIG,
        Some(("input", _)) => below("input/", head.next.input, keys::input),
        Some(("end", _)) => below("end/", head.next.input, keys::input_end),
        Some(("turn", _)) => below("turn/", head.next.turn, keys::turn),
        Some(("item", _)) => below("item/", head.next.item, keys::item),
        Some(("journal", _)) => below("journal/", head.revision + 1, keys::journal),
        Some(("run", _)) => below("run/", head.fence.generation + 1, keys::run),
        Some(("artifact", rest)) => {
            let position = rest.split_once('/');
            let position =
                position.and_then(|(turn, n)| Some((turn.parse().ok()?, n.parse().ok()?)));
            position.is_some_and(|(turn, n): (u64, u64)| {
                turn >= 1 && turn < head.next.turn && keys::artifact(turn, n) == sort
            })
        }
        Some(("receipt" | "delivery", rest)) => plain(rest),
        Some(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_gives_back_exactly_the_bytes_it_was_made_of() {
        for value in [&br#"{"a":1.50,"b":"\u00e9\n","a":2}"#[..], b"null", b"[]"] {
            let line = line("item/0000000001", value).expect("a line");
            let (sort, read) = parse_line(&line[..line.len() - 1]).expect("reads");
            assert_eq!((sort.as_str(), &read[..]), ("item/0000000001", value));
        }
        assert!(line("k", b"").is_err());
        assert!(line("k", b"{\n}").is_err());
        assert!(parse_line(br#"{"key":"a","value":1,"more":2}"#).is_err());
    }

    #[test]
    fn rows_that_nobody_wrote_are_refused() {
        assert!(named_blobs("secret/1", b"{}").is_err());
        assert!(named_blobs("turn/0000000001", b"{}").is_err());
        let mut head = Head::new("o".into(), 1);
        head.next.item = 3;
        head.fence.generation = 2;
        head.revision = 7;
        for good in [
            "config",
            "item/0000000002",
            "run/0000000002",
            "journal/000000000007",
            "receipt/0a1b",
            "delivery/dlv_abc",
        ] {
            assert!(is_of(&head, good), "{good}");
        }
        for bad in [
            "",
            "head",
            "item/0000000003",
            "item/0000000000",
            "item/2",
            "item/+000000002",
            "run/0000000003",
            "journal/000000000008",
            "artifact/0000000001/00000",
            "receipt/",
            "receipt/../x",
            "owed/1/x",
            "secret/1",
        ] {
            assert!(!is_of(&head, bad), "{bad}");
        }
    }
}
