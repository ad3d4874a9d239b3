//! What a Codex process is configured with, as texts of files. Pure.
//!
//! Nothing in these files is secret. What is: the token of the model's endpoint, is passed over standard input (`setup`).

use serde_json::{Value, json};

/// Name of the only environment that Codex knows.
pub const ENVIRONMENT: &str = "session";

/// Name of the model's endpoint.
pub const PROVIDER: &str = "rat-things";

/// Where Codex' commands find the workspace.
pub const WORKSPACE: &str = "/workspace";

/// Tokens of a model whose real figure nobody told.
const CONTEXT_TOKENS: u64 = 272_000;

/// What of Codex is off: it would reach outside, act without being asked, or keep state that is not ours.
const OFF: &[&str] = &[
    "apps",
    "browser_use",
    "computer_use",
    "enable_request_compression",
    "goals",
    "hooks",
    "image_generation",
    "instant_interrupt",
    "memories",
    "multi_agent",
    "plugin_sharing",
    "plugins",
    "remote_plugin",
    "shell_snapshot",
    "skill_mcp_dependency_install",
    "skill_search",
    "sleep_tool",
    "tool_suggest",
    "unbounded_connection_retries",
    "unified_exec_tty",
];

/// What is off, too, where there is no environment: a tool that can't do anything is not offered.
const OFF_WITHOUT_ENVIRONMENT: &[&str] = &["shell_tool", "unified_exec"];

/// `config.toml`. `catalog` is the path of [`models`].
pub fn main(catalog: &str, model: &str, has_environment: bool) -> String {
    let more: &[&str] = match has_environment {
        true => &[],
        false => OFF_WITHOUT_ENVIRONMENT,
    };
    let off = OFF.iter().chain(more);
    let features: String = off.map(|name| format!("{name} = false\n")).collect();
    let (catalog, model) = (quoted(catalog), quoted(model));
    format!(
        "model_catalog_json = {catalog}\n\
         model = {model}\n\
         approval_policy = \"never\"\n\
         sandbox_mode = \"read-only\"\n\
         check_for_update_on_startup = false\n\
         web_search = \"disabled\"\n\
         allow_login_shell = false\n\
         include_permissions_instructions = false\n\
         project_doc_max_bytes = 0\n\
         project_root_markers = []\n\
         [analytics]\n\
         enabled = false\n\
         [history]\n\
         persistence = \"none\"\n\
         [skills]\n\
         include_instructions = false\n\
         [skills.bundled]\n\
         enabled = false\n\
         [features]\n\
         {features}"
    )
}

/// `environments.toml`: commands go through the program `relay`, or nowhere.
pub fn environments(relay: Option<(&str, &str)>, home: &str) -> String {
    let Some((program, role)) = relay else {
        return "include_local = false\n".to_owned();
    };
    let (program, role, home) = (quoted(program), quoted(role), quoted(home));
    format!(
        "include_local = false\n\
         default = \"{ENVIRONMENT}\"\n\
         [[environments]]\n\
         id = \"{ENVIRONMENT}\"\n\
         program = {program}\n\
         args = [{role}]\n\
         cwd = {home}\n"
    )
}

/// The model catalog: one entry, for whatever model the Agent names, with plain tools.
pub fn models(model: &str, has_environment: bool) -> Value {
    let entry = json!({
        "slug": model,
        "display_name": model,
        "description": null,
        "default_reasoning_level": null,
        "supported_reasoning_levels": [],
        "shell_type": "unified_exec",
        "visibility": "list",
        "supported_in_api": true,
        "priority": 1,
        "availability_nux": null,
        "upgrade": null,
        "base_instructions": "You are an agent that works in a sandbox with the workspace /workspace.",
        "supports_reasoning_summaries": true,
        "support_verbosity": true,
        "default_verbosity": null,
        "apply_patch_tool_type": has_environment.then_some("freeform"),
        "truncation_policy": {"mode": "tokens", "limit": 10_000},
        "supports_parallel_tool_calls": false,
        "context_window": CONTEXT_TOKENS,
        "experimental_supported_tools": [],
        "input_modalities": ["text", "image"],
    });
    json!({"models": [entry]})
}

/// A TOML string. JSON's escapes are TOML's, too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_valid_whatever_the_names_in_them() {
        let odd = "a \"b\"\n\\c é";
        let main = main(odd, odd, false);
        let parsed: toml_edit::DocumentMut = main.parse().expect("it is TOML");
        assert_eq!(parsed["model"].as_str(), Some(odd));
        assert_eq!(parsed["features"]["plugins"].as_bool(), Some(false));
        let parsed: toml_edit::DocumentMut = environments(Some((odd, "role")), odd)
            .parse()
            .expect("it is TOML");
        assert_eq!(parsed["include_local"].as_bool(), Some(false));
        assert_eq!(parsed["environments"][0]["program"].as_str(), Some(odd));
    }

    #[test]
    fn without_an_environment_there_is_no_place_for_commands_at_all() {
        assert_eq!(environments(None, "/home"), "include_local = false\n");
    }
}
