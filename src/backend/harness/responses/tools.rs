//! The two tools that the harness runs itself: what the model is told about them, and how its arguments are read. Pure.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Options;
use crate::engine::ports::Program;

/// Where commands run if the model does not say.
pub const WORKSPACE: &str = "/workspace";

/// Name of the command tool.
pub const SHELL: &str = "shell";

/// Name of the patch tool.
pub const APPLY_PATCH: &str = "apply_patch";

const PATCH_FORMAT: &str = "Changes files with one patch. Paths are relative to the working directory of the session. Form:\n\
*** Begin Patch\n\
*** Add File: new.txt\n\
+every line of the new file\n\
*** Update File: old.txt\n\
*** Move to: renamed.txt\n\
@@ a line above the change that says where it is, such as a function's first line\n\
 a line that stays\n\
-a line that goes\n\
+a line that comes\n\
*** Delete File: gone.txt\n\
*** End Patch\n\
`Move to` and the text after `@@` are optional. Give about three unchanged lines before and after each change. `*** End of File` \
after a change says that it is at the file's end. All of the patch is applied, or nothing.";

/// The built-in tools, as a Responses-API request has them.
pub fn built_in(options: &Options) -> Arc<[Value]> {
    let minutes = options.shell_timeout_max_ms / 60_000;
    let shell = format!(
        "Runs a command with `bash -c` in the session's environment and answers with its exit code and its output (standard output \
         and error together; the middle of long output is left out). The working directory is {WORKSPACE} unless `workdir` says \
         otherwise. Files under {WORKSPACE}/outputs at the end of the turn are kept and shown to the user. Each call is a new \
         process: variables and `cd` do not carry over. A command is ended after `timeout_ms` ({default} by default, {minutes} \
         minutes at most). To leave something running in the background, redirect its output and detach it: \
         `nohup server > server.log 2>&1 &` or `setsid …`; without the redirection the call would wait for it.",
        default = options.shell_timeout_ms,
    );
    let shell = json!({
        "type": "function",
        "name": SHELL,
        "description": shell,
        "strict": false,
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command, as a shell reads it."},
                "workdir": {"type": "string", "description": "Absolute, or relative to /workspace."},
                "timeout_ms": {"type": "integer", "description": "Milliseconds after which it is ended."},
            },
            "required": ["command"],
            "additionalProperties": false,
        },
    });
    let apply_patch = json!({
        "type": "function",
        "name": APPLY_PATCH,
        "description": PATCH_FORMAT,
        "strict": false,
        "parameters": {
            "type": "object",
            "properties": {
                "input": {"type": "string", "description": "The patch, from `*** Begin Patch` to `*** End Patch`."},
            },
            "required": ["input"],
            "additionalProperties": false,
        },
    });
    Arc::new([shell, apply_patch])
}

/// A shell call, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCall {
    /// What to execute.
    pub program: Program,
    /// The command as an operator should read it.
    pub shown: String,
    /// Absolute working directory.
    pub cwd: String,
    /// When to end it.
    pub timeout_ms: u64,
}

#[derive(Deserialize)]
struct ShellArguments {
    command: Command,
    workdir: Option<String>,
    timeout_ms: Option<u64>,
}

/// A text is what the schema asks for; models that were trained with a list of arguments send one anyway.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`command` must be a string")]
enum Command {
    Text(String),
    List(Vec<String>),
}

/// Reads a shell call's arguments; the error is for the model.
pub fn read_shell(arguments: &str, options: &Options) -> Result<ShellCall, String> {
    let arguments: ShellArguments = serde_json::from_str(arguments).map_err(|error| {
        format!("the arguments of {SHELL} can't be read: {error}. Nothing was run.")
    })?;
    let program = match arguments.command {
        Command::Text(text) => Program::Shell(text),
        Command::List(words) => match &words[..] {
            [shell, flag, script] if is_shell(shell) && (flag == "-c" || flag == "-lc") => {
                Program::Shell(script.clone())
            }
            _ => Program::Argv(words),
        },
    };
    let shown = match &program {
        Program::Shell(text) => text.clone(),
        Program::Argv(words) => words.join(" "),
        Program::ApplyPatch => APPLY_PATCH.to_owned(),
    };
    if shown.trim().is_empty() {
        return Err("`command` is empty. Nothing was run.".to_owned());
    }
    let cwd = match arguments.workdir.as_deref() {
        None | Some("") => WORKSPACE.to_owned(),
        Some(path) if path.starts_with('/') => path.to_owned(),
        Some(path) => format!("{WORKSPACE}/{path}"),
    };
    if shown.contains('\0') || cwd.contains('\0') {
        return Err(
            "a NUL character can't be part of a command or a path. Nothing was run.".to_owned(),
        );
    }
    let timeout_ms = match arguments.timeout_ms {
        Some(0) => return Err("`timeout_ms` must be at least 1. Nothing was run.".to_owned()),
        Some(ms) => ms.min(options.shell_timeout_max_ms),
        None => options.shell_timeout_ms,
    };
    Ok(ShellCall {
        program,
        shown,
        cwd,
        timeout_ms,
    })
}

fn is_shell(program: &str) -> bool {
    matches!(program, "bash" | "sh" | "/bin/bash" | "/bin/sh")
}

#[derive(Deserialize)]
struct PatchArguments {
    #[serde(alias = "patch")]
    input: String,
}

/// Reads a patch call's arguments; the error is for the model.
pub fn read_patch(arguments: &str) -> Result<String, String> {
    let arguments: PatchArguments = serde_json::from_str(arguments).map_err(|error| {
        format!("the arguments of {APPLY_PATCH} can't be read: {error}. Nothing was changed.")
    })?;
    Ok(arguments.input)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(arguments: &str) -> Result<ShellCall, String> {
        read_shell(arguments, &Options::default())
    }

    fn shell(command: &str, cwd: &str, timeout_ms: u64) -> Result<ShellCall, String> {
        Ok(ShellCall {
            program: Program::Shell(command.into()),
            shown: command.into(),
            cwd: cwd.into(),
            timeout_ms,
        })
    }

    #[test]
    fn shell_arguments_are_read_with_their_defaults() {
        for (arguments, expect) in [
            (r#"{"command":"ls"}"#, shell("ls", "/workspace", 120_000)),
            (
                r#"{"command":"ls","workdir":"/tmp","timeout_ms":5}"#,
                shell("ls", "/tmp", 5),
            ),
            (
                r#"{"command":"ls","workdir":"src","timeout_ms":99999999999,"more":1}"#,
                shell("ls", "/workspace/src", 3_600_000),
            ),
            (
                r#"{"command":["bash","-lc","ls | wc"],"workdir":null}"#,
                shell("ls | wc", "/workspace", 120_000),
            ),
        ] {
            assert_eq!(read(arguments), expect, "{arguments}");
        }
        let list = read(r#"{"command":["ls","a b"]}"#).expect("a list is read");
        assert_eq!(list.program, Program::Argv(vec!["ls".into(), "a b".into()]));
    }

    #[test]
    fn bad_shell_arguments_say_what_is_wrong() {
        for (arguments, word) in [
            ("", "can't be read"),
            ("[]", "can't be read"),
            ("{\"command\":", "can't be read"),
            ("{}", "missing field `command`"),
            (r#"{"command":7}"#, "`command` must be a string"),
            (r#"{"command":" "}"#, "empty"),
            (r#"{"command":[]}"#, "empty"),
            (r#"{"command":"a\u0000b"}"#, "NUL"),
            (r#"{"command":"a","timeout_ms":0}"#, "at least 1"),
            (r#"{"command":"a","timeout_ms":-1}"#, "invalid value"),
            (r#"{"command":"a","timeout_ms":"1"}"#, "invalid type"),
        ] {
            let error = read(arguments).expect_err(arguments);
            assert!(error.contains(word), "{arguments}: {error}");
            assert!(error.contains("Nothing was run"), "{arguments}: {error}");
        }
    }

    #[test]
    fn patch_arguments_are_read() {
        assert_eq!(read_patch(r#"{"input":"x"}"#), Ok("x".to_owned()));
        assert_eq!(read_patch(r#"{"patch":"x"}"#), Ok("x".to_owned()));
        assert!(read_patch("x").is_err_and(|error| error.contains("Nothing was changed")));
    }
}
