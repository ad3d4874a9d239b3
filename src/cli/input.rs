//! Text that a command takes from an option, a file or standard input.

use std::io::Read;
use std::path::Path;

use super::out::{CliError, codes};
use crate::api::{HarnessChoice, Words};

/// Bytes of a message.
const TEXT_MAX_BYTES: u64 = 1 << 20;
/// Bytes of a request file: a message, and what else a request holds.
const FILE_MAX_BYTES: u64 = 4 << 20;

/// The text of an option: itself, or standard input for `-`. `param` is the option as it was typed.
///
/// # Errors
/// Usage: empty, larger than 1 MiB, or not UTF-8.
pub fn text(given: &str, param: &str) -> Result<String, CliError> {
    let text = match given {
        "-" => utf8(read(std::io::stdin(), param, TEXT_MAX_BYTES)?, param)?,
        given => given.to_owned(),
    };
    if text.is_empty() {
        return Err(refused(param, "it is empty; give some text"));
    }
    if text.len() as u64 > TEXT_MAX_BYTES {
        return Err(too_large(param, TEXT_MAX_BYTES));
    }
    Ok(text)
}

/// The value of `--harness`.
///
/// # Errors
/// The words that there are.
pub fn harness(given: &str) -> Result<HarnessChoice, String> {
    HarnessChoice::from_word(given).map_err(|error| error.to_string())
}

/// The bytes of `-f`: a file, or standard input for `-`.
///
/// # Errors
/// Usage: it can't be read, or it is larger than any request.
pub fn file(path: &Path) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == "-" {
        return read(std::io::stdin(), "-f -", FILE_MAX_BYTES);
    }
    let name = format!("-f {}", path.display());
    let file = std::fs::File::open(path)
        .map_err(|error| refused(&name, &error.to_string()).because(error))?;
    read(file, &name, FILE_MAX_BYTES)
}

fn read(from: impl Read, param: &str, max_bytes: u64) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    from.take(max_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refused(param, &error.to_string()).because(error))?;
    if bytes.len() as u64 > max_bytes {
        return Err(too_large(param, max_bytes));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, param: &str) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        refused(param, &format!("it is not UTF-8 text (byte {at})"))
    })
}

fn too_large(param: &str, max_bytes: u64) -> CliError {
    let most = crate::text::size(max_bytes);
    refused(param, &format!("it is larger than {most}"))
        .hint("send a shorter message; a file can be fetched or written by the agent itself")
}

fn refused(param: &str, why: &str) -> CliError {
    CliError::new(codes::INPUT, format!("{param}: {why}"))
}

/// `NAME=VALUE` as a pair.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
