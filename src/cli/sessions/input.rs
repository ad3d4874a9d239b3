//! Text that a command takes from an option, a file or standard input.

use std::io::Read;
use std::path::Path;

use crate::cli::out::{CliError, codes};

/// Bytes of a message, or of a request file.
const MAX_BYTES: u64 = 1 << 20;

/// The text of `--input`: itself, or standard input for `-`.
pub fn text(given: &str, param: &str) -> Result<String, CliError> {
    let text = match given {
        "-" => utf8(read(std::io::stdin(), param)?, param)?,
        given => given.to_owned(),
    };
    let refuse = |why: String| Err(CliError::new(codes::INPUT, format!("{param}: {why}")));
    if text.is_empty() {
        return refuse("it is empty; give some text".into());
    }
    if text.len() as u64 > MAX_BYTES {
        return refuse(format!(
            "{} bytes, where 1 MiB is allowed; put it into a file of the workspace",
            text.len()
        ));
    }
    Ok(text)
}

/// The bytes of `-f`: a file, or standard input for `-`.
pub fn file(path: &Path) -> Result<Vec<u8>, CliError> {
    if path.as_os_str() == "-" {
        return read(std::io::stdin(), "-f -");
    }
    let name = format!("-f {}", path.display());
    let file = std::fs::File::open(path)
        .map_err(|error| CliError::new(codes::INPUT, format!("{name}: {error}")).because(error))?;
    read(file, &name)
}

fn read(from: impl Read, param: &str) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    from.take(4 * MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::new(codes::INPUT, format!("{param}: {error}")))?;
    if bytes.len() as u64 > 4 * MAX_BYTES {
        return Err(CliError::new(
            codes::INPUT,
            format!("{param}: more than 4 MiB"),
        ));
    }
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>, param: &str) -> Result<String, CliError> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        CliError::new(codes::INPUT, format!("{param}: not UTF-8 text (byte {at})"))
    })
}

/// `--metadata k=v` as a pair.
pub fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
