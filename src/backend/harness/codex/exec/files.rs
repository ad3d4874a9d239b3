//! Files of the environment, read and written by commands inside it: a link, a device or a file of another user is there what it is for
//! any command of the agent.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::wire::{Fault, Files, path};
use crate::backend::harness::codex::config::WORKSPACE;
use crate::engine::ports::{Environment, ExecHow, ExecSpec, Program};

/// A larger file is not read.
const READ_LIMIT_BYTES: usize = 16 << 20;

/// How long one access may take.
const TIMEOUT_MS: u64 = 60_000;

/// Exit codes of the scripts below that mean something.
const NOT_THERE: i32 = 44;
const TOO_LARGE: i32 = 45;

const THERE: &str = r#"[ -e "$1" ] || [ -L "$1" ] || exit 44; "#;

/// What the files of a project are looked for in, at every start. Codex gets no orders from files that nobody gave it, and a repository's name is no use
/// to it; so the environment need not be opened for an agent that does not touch it.
const NEVER_THERE: &[&str] = &[
    "/.git",
    "/.agents/skills",
    "/AGENTS.md",
    "/AGENTS.override.md",
];

/// Whether the request changes something.
pub fn changes(method: &str) -> bool {
    matches!(
        method,
        "fs/writeFile" | "fs/createDirectory" | "fs/remove" | "fs/copy"
    )
}

/// Does what a request asks for.
pub async fn access(
    environment: &dyn Environment,
    method: &str,
    request: Files,
) -> Result<Value, Fault> {
    let at = path(&request.path)?;
    match method {
        "fs/getMetadata" if NEVER_THERE.iter().any(|name| at.ends_with(name)) => {
            Err(Fault::not_found(&at))
        }
        "fs/getMetadata" => {
            let script = r#"stat -c "%f %s %Y" -- "$1"; stat -L -c "%f" -- "$1" 2>/dev/null"#;
            metadata(&run(environment, script, &[&at], Bytes::new()).await?)
        }
        "fs/readFile" => {
            let script = format!(
                r#"[ -f "$1" ] || {{ echo "no regular file" >&2; exit 1; }}
                [ "$(stat -L -c %s -- "$1")" -le {READ_LIMIT_BYTES} ] || exit {TOO_LARGE}; base64 -w 0 < "$1""#
            );
            let text = run(environment, &script, &[&at], Bytes::new()).await?;
            Ok(json!({"dataBase64": text.trim()}))
        }
        "fs/canonicalize" => {
            let real = run(environment, r#"realpath -- "$1""#, &[&at], Bytes::new()).await?;
            Ok(json!({"path": uri(real.trim_end_matches('\n'))}))
        }
        "fs/readDirectory" => {
            let script = r#"cd -- "$1" || exit 1; for f in * .[!.]* ..?*; do
                [ -e "$f" ] || [ -L "$f" ] || continue
                if [ -d "$f" ]; then k=d; elif [ -f "$f" ]; then k=f; else k=o; fi
                printf "%s%s\0" "$k" "$f"; done"#;
            Ok(entries(
                &run(environment, script, &[&at], Bytes::new()).await?,
            ))
        }
        "fs/writeFile" => {
            let data = request.data_base64.unwrap_or_default();
            let content = STANDARD
                .decode(data)
                .map_err(|_| Fault::invalid("the content is not base64"))?;
            change(environment, r#"cat > "$1""#, &[&at], content.into()).await
        }
        "fs/createDirectory" => {
            let script = match request.recursive {
                Some(true) => r#"mkdir -p -- "$1""#,
                Some(false) | None => r#"mkdir -- "$1""#,
            };
            change(environment, script, &[&at], Bytes::new()).await
        }
        "fs/remove" => {
            let force = if request.force == Some(true) {
                ""
            } else {
                THERE
            };
            let options = match (request.recursive, request.force) {
                (Some(true), Some(true)) => "-rf",
                (Some(true), _) => "-r",
                (_, Some(true)) => "-f",
                (_, _) => "",
            };
            let script = format!(r#"{force}rm {options} -- "$1""#);
            change(environment, &script, &[&at], Bytes::new()).await
        }
        "fs/copy" => {
            let to = path(&request.destination_path.unwrap_or_default())?;
            let options = if request.recursive == Some(true) {
                "-R"
            } else {
                ""
            };
            let script = format!(r#"{THERE}cp {options} -- "$1" "$2""#);
            change(environment, &script, &[&at, &to], Bytes::new()).await
        }
        _ => Err(Fault::invalid(format!("there is no {method} here"))),
    }
}

async fn change(
    environment: &dyn Environment,
    script: &str,
    paths: &[&str],
    stdin: Bytes,
) -> Result<Value, Fault> {
    exec(environment, script, paths, stdin).await?;
    Ok(json!({}))
}

/// Runs a script that reads something which has to be there.
async fn run(
    environment: &dyn Environment,
    script: &str,
    paths: &[&str],
    stdin: Bytes,
) -> Result<String, Fault> {
    exec(environment, &format!("{THERE}{script}"), paths, stdin).await
}

async fn exec(
    environment: &dyn Environment,
    script: &str,
    paths: &[&str],
    stdin: Bytes,
) -> Result<String, Fault> {
    let mut argv = vec![
        "sh".to_owned(),
        "-c".to_owned(),
        script.to_owned(),
        "sh".to_owned(),
    ];
    argv.extend(paths.iter().map(|path| local(path)));
    let spec = ExecSpec {
        program: Program::Argv(argv),
        cwd: WORKSPACE.to_owned(),
        env: BTreeMap::new(),
        stdin,
        timeout_ms: TIMEOUT_MS,
        // Base64, and some room.
        output_limit_bytes: READ_LIMIT_BYTES / 3 * 4 + (64 << 10),
    };
    let (output, _) = mpsc::channel(1);
    // The sender lives as long as the command.
    let (_going_on, cancel) = watch::channel(false);
    let end = environment.exec(spec, output, cancel).await;
    let end = end.map_err(|error| Fault::failed(error.to_string()))?;
    match end.how {
        ExecHow::Exited(0) => Ok(end.output),
        ExecHow::Exited(NOT_THERE) => Err(Fault::not_found(paths[0])),
        ExecHow::Exited(TOO_LARGE) => Err(Fault::failed(format!(
            "{} has more than {} MiB",
            paths[0],
            READ_LIMIT_BYTES >> 20
        ))),
        ExecHow::NotStarted(why) => Err(Fault::failed(why)),
        _ => Err(Fault::failed(end.output.trim().to_owned())),
    }
}

/// A path as a command in the workspace spells it, wherever the workspace is.
fn local(path: &str) -> String {
    match path.strip_prefix(WORKSPACE) {
        Some("") => ".".to_owned(),
        Some(rest) if rest.starts_with('/') => format!(".{rest}"),
        _ => path.to_owned(),
    }
}

/// Reads what `stat` says of a file and of what it links to.
fn metadata(text: &str) -> Result<Value, Fault> {
    const KIND: u32 = 0o170_000;
    const DIRECTORY: u32 = 0o040_000;
    const REGULAR: u32 = 0o100_000;
    const LINK: u32 = 0o120_000;
    let odd = || Fault::failed(format!("stat said: {text}"));
    let mode = |text: &str| u32::from_str_radix(text, 16).map(|mode| mode & KIND).ok();
    let mut lines = text.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let own = first.next().and_then(mode).ok_or_else(odd)?;
    let size: u64 = first
        .next()
        .and_then(|text| text.parse().ok())
        .ok_or_else(odd)?;
    let modified_s: i64 = first
        .next()
        .and_then(|text| text.parse().ok())
        .ok_or_else(odd)?;
    let kind = lines.next().and_then(mode).unwrap_or(own);
    Ok(json!({
        "isDirectory": kind == DIRECTORY,
        "isFile": kind == REGULAR,
        "isSymlink": own == LINK,
        "size": size,
        "createdAtMs": 0,
        "modifiedAtMs": modified_s.saturating_mul(1_000),
    }))
}

fn entries(text: &str) -> Value {
    let entries: Vec<Value> = text
        .split('\0')
        .filter_map(|entry| entry.split_at_checked(1))
        .map(|(kind, name)| {
            json!({"fileName": name, "isDirectory": kind == "d", "isFile": kind == "f"})
        })
        .collect();
    json!({"entries": entries})
}

/// The URI of a path.
fn uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stat_says_is_read() {
        let link = metadata("a1ff 9 1700000000\n81a4\n").expect("it is read");
        assert_eq!(link["isSymlink"], true);
        assert_eq!(link["isFile"], true);
        assert_eq!(link["modifiedAtMs"], 1_700_000_000_000_i64);
        let dangling = metadata("a1ff 9 1700000000\n").expect("it is read");
        assert_eq!(
            (&dangling["isFile"], &dangling["isDirectory"]),
            (&json!(false), &json!(false))
        );
        assert!(metadata("").is_err());
    }

    #[test]
    fn paths_survive_the_way_there_and_back() {
        for at in ["/workspace/a b", "/é/%41", "/workspacex"] {
            assert_eq!(path(&uri(at)).as_deref(), Ok(at));
        }
        assert_eq!(local("/workspace"), ".");
        assert_eq!(local("/workspace/x/y"), "./x/y");
        assert_eq!(local("/workspacex"), "/workspacex");
    }
}
