//! A server as a shell's script: what a bare system has is enough for it.

use serde_json::{Value, json};

/// A server over stdio with the tools `note` and `other`. Whatever is called, the shell runs `on_call`, which may set `text`; that is what the
/// tool returns. Each call leaves a line in the file `calls` of the workspace, and another in `answered` when its answer was written.
pub(crate) fn server(on_call: &str) -> Value {
    let script = SCRIPT.replace("ON_CALL", on_call);
    json!({"type": "stdio", "command": "bash", "args": ["-c", script], "cwd": "/workspace"})
}

const SCRIPT: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
echo "a word that is no message" >&2
while IFS= read -r line; do
  id=${line#*'"id":'}; id=${id%%[,\}]*}
  case $line in
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"script","version":"1"}}' ;;
    *'"method":"tools/list"'*)
      answer '{"tools":[{"name":"note","description":"Notes.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}},{"name":"other","description":"Another.","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
      printf '%s\n' "$line" >> /workspace/calls
      text=fine
      ON_CALL
      text=$(printf %s "$text" | tr -d '"\\' | tr '\n\t' '  ')
      answer '{"content":[{"type":"text","text":"'"$text"'"}],"isError":'"${failed:-false}"'}'
      echo yes >> /workspace/answered ;;
  esac
done
"#;
