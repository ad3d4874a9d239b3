//! The messages of the exec protocol, as far as they are read. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// What is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Codex reads some of them.
    pub code: i64,
    /// In words.
    pub message: String,
}

impl Fault {
    /// There is no such file.
    pub fn not_found(path: &str) -> Fault {
        Fault {
            code: -32_004,
            message: format!("no such file or directory: {path}"),
        }
    }

    /// Anything else that did not work.
    pub fn failed(message: impl Into<String>) -> Fault {
        Fault {
            code: -32_603,
            message: message.into(),
        }
    }

    /// The message that refuses the request of this id.
    pub fn answer(&self, id: &Value) -> Value {
        json!({"id": id, "error": {"code": self.code, "message": self.message}})
    }

    /// The request is not understood.
    pub fn invalid(message: impl Into<String>) -> Fault {
        Fault {
            code: -32_602,
            message: message.into(),
        }
    }
}

/// `process/start`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    /// Chosen by Codex.
    pub process_id: String,
    /// Who asked.
    #[serde(default)]
    pub metadata: Metadata,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// A file URI.
    pub cwd: String,
    /// Variables.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Who asked for a process.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The model's call.
    pub tool_call_id: Option<String>,
}

/// `process/read`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    /// Which.
    pub process_id: String,
    /// What is known already.
    pub after_seq: Option<u64>,
    /// How long to wait if there is nothing new.
    pub wait_ms: Option<u64>,
}

/// `process/write`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Write {
    /// Which.
    pub process_id: String,
    /// Base64.
    pub chunk: String,
}

/// `process/signal` and `process/terminate`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Which {
    /// Which.
    pub process_id: String,
}

/// Requests about files. What a request does not have is absent.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Files {
    /// A file URI.
    #[serde(alias = "sourcePath")]
    pub path: String,
    /// A file URI.
    pub destination_path: Option<String>,
    /// Content.
    pub data_base64: Option<String>,
    /// With all that is below.
    pub recursive: Option<bool>,
    /// Also if it is not there.
    pub force: Option<bool>,
}

/// Reads parameters.
pub fn read<T: serde::de::DeserializeOwned>(params: Value) -> Result<T, Fault> {
    serde_json::from_value(params).map_err(|error| Fault::invalid(error.to_string()))
}

/// The absolute path of a file URI of this machine.
pub fn path(uri: &str) -> Result<String, Fault> {
    let odd = || Fault::invalid(format!("not the URI of a file here: {uri}"));
    let rest = uri.strip_prefix("file://").ok_or_else(odd)?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.as_bytes();
    while let Some((first, after)) = left.split_first() {
        left = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.ok_or_else(odd)?);
        left = &after[2..];
    }
    let path = String::from_utf8(bytes).map_err(|_| odd())?;
    match path.starts_with('/') && !path.contains('\0') {
        true => Ok(path),
        false => Err(odd()),
    }
}

/// A command as an operator should read it: the text of a shell's command, not the shell.
pub fn shown(argv: &[String]) -> String {
    match argv {
        [_, flag, text] if flag == "-c" || flag == "-lc" => text.clone(),
        words => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uris_are_read_as_paths() {
        assert_eq!(path("file:///workspace").as_deref(), Ok("/workspace"));
        assert_eq!(path("file:///a%20b/%C3%A9").as_deref(), Ok("/a b/é"));
        assert_eq!(path("file://localhost/x").as_deref(), Ok("/x"));
        for odd in [
            "/x",
            "http://x/",
            "file://host/x",
            "file:///%",
            "file:///%zz",
            "file:///%00",
            "file:///%ff",
        ] {
            assert!(path(odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn the_shell_around_a_command_is_not_shown() {
        let argv = |words: &[&str]| {
            words
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(shown(&argv(&["/bin/bash", "-c", "ls  -l"])), "ls  -l");
        assert_eq!(shown(&argv(&["ls", "-l"])), "ls -l");
    }
}
