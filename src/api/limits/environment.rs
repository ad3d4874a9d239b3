//! Rules of environments.
//!
//! Texts that clients were seen to meet elsewhere are kept word for word. Host patterns are wider here than in the contract:
//! `*.example.org` and `example.org:8443` are accepted as well as exact names.

use std::collections::{BTreeMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{check_array, check_text, not_empty};
use crate::api::{
    ApiError, EnvironmentParam, HostedEnvironmentParam, HostedFileParam, NetworkAccess,
    NetworkParam, Secret, SetupCommandParam, TemplateCreateParams, TemplateUpdateParams,
};

/// Files of one request at most.
pub const MAX_FILES: usize = 50;
/// One inline file at most, decoded.
pub const MAX_INLINE_FILE_BYTES: usize = 5 << 20;
/// All inline files of one request at most, decoded.
pub const MAX_INLINE_BYTES: usize = 10 << 20;
/// Capability directories at most.
pub const MAX_CAPABILITY_DIRECTORIES: usize = 16_384;
/// Allowed, or blocked, domains at most.
pub const MAX_ALLOWED_DOMAINS: usize = 100;
/// Base64 characters of [`MAX_INLINE_FILE_BYTES`].
pub(super) const MAX_INLINE_FILE_CHARS: usize = MAX_INLINE_FILE_BYTES.div_ceil(3) * 4;

pub(super) fn check(path: &str, environment: &EnvironmentParam) -> Result<(), ApiError> {
    match environment {
        EnvironmentParam::None => Ok(()),
        EnvironmentParam::OpenaiHosted(hosted) => check_hosted(path, hosted),
        EnvironmentParam::SelfHosted {
            workspace_directory,
            capability_directories,
        } => {
            absolute(&format!("{path}.workspace_directory"), workspace_directory)?;
            check_capabilities(path, capability_directories.as_deref())
        }
    }
}

fn check_hosted(path: &str, hosted: &HostedEnvironmentParam) -> Result<(), ApiError> {
    if let Some(id) = &hosted.environment_id {
        not_empty(&format!("{path}.environment_id"), id)?;
        return alone(path, hosted);
    }
    if let Some(id) = &hosted.environment_template_id {
        not_empty(&format!("{path}.environment_template_id"), id)?;
    }
    check_capabilities(path, hosted.capability_directories.as_deref())?;
    if let Some(env) = &hosted.env {
        check_env(&format!("{path}.env"), env)?;
    }
    if let Some(files) = &hosted.files {
        check_files(&format!("{path}.files"), files)?;
    }
    if let Some(network) = &hosted.network {
        check_network(&format!("{path}.network"), network)?;
    }
    let commands = hosted.setup_commands.as_deref();
    check_commands(&format!("{path}.setup_commands"), commands)
}

fn check_commands(path: &str, commands: Option<&[SetupCommandParam]>) -> Result<(), ApiError> {
    for (i, command) in commands.unwrap_or_default().iter().enumerate() {
        let path = format!("{path}[{i}]");
        not_empty(&format!("{path}.command"), command.command.reveal())?;
        if let Some(cwd) = &command.cwd {
            absolute(&format!("{path}.cwd"), cwd)?;
        }
    }
    Ok(())
}

/// Bytes of a template's name at most; this project's own limit.
const MAX_TEMPLATE_NAME_BYTES: usize = 256;

/// What the types of `POST /agents/environments/templates` do not show.
pub fn check_template_create(params: &TemplateCreateParams) -> Result<(), ApiError> {
    if let Some(name) = &params.name {
        check_text("name", name.len(), MAX_TEMPLATE_NAME_BYTES)?;
    }
    if let Some(env) = &params.env {
        check_env("env", env)?;
    }
    if let Some(files) = &params.files {
        check_files("files", files)?;
    }
    if let Some(network) = &params.network {
        check_network("network", network)?;
    }
    check_commands("setup_commands", params.setup_commands.as_deref())?;
    let directories = params.capability_directories.as_ref();
    check_array(
        "capability_directories",
        directories.map_or(0, Vec::len),
        MAX_CAPABILITY_DIRECTORIES,
    )
}

/// What the types of `POST /agents/environments/templates/{template_id}` do not show.
pub fn check_template_update(params: &TemplateUpdateParams) -> Result<(), ApiError> {
    check_template_create(&TemplateCreateParams {
        capability_directories: params.capability_directories.as_set().cloned(),
        desktop: params.desktop.as_set().copied(),
        env: params.env.as_set().cloned(),
        files: params.files.as_set().cloned(),
        name: params.name.as_set().cloned(),
        network: params.network.as_set().cloned(),
        packages: params.packages.as_set().cloned(),
        plugins: params.plugins.as_set().cloned(),
        setup_commands: params.setup_commands.as_set().cloned(),
        skills: params.skills.as_set().cloned(),
    })
}

/// What the types of `POST /agents/environments/{environment_id}/files` do not show.
pub fn check_environment_file(file: &HostedFileParam) -> Result<(), ApiError> {
    match file {
        HostedFileParam::FileId { file_id, path } => {
            not_empty("file_id", file_id)?;
            check_target("path", path)
        }
        HostedFileParam::Inline { data, path } => {
            check_inline("data", "data", data)?;
            check_target("path", path)
        }
    }
}

/// A directory below `/workspace`.
pub fn check_workspace_directory(param: &str, path: &str) -> Result<(), ApiError> {
    check_below(param, path).map(drop)
}

/// An attached environment is as it is: nothing can be said beside its id.
fn alone(path: &str, hosted: &HostedEnvironmentParam) -> Result<(), ApiError> {
    let beside = [
        (
            "capability_directories",
            hosted.capability_directories.is_some(),
        ),
        ("container_size", hosted.container_size.is_some()),
        ("desktop", hosted.desktop.is_some()),
        ("env", hosted.env.is_some()),
        (
            "environment_template_id",
            hosted.environment_template_id.is_some(),
        ),
        ("files", hosted.files.is_some()),
        ("network", hosted.network.is_some()),
        ("packages", hosted.packages.is_some()),
        ("plugins", hosted.plugins.is_some()),
        ("setup_commands", hosted.setup_commands.is_some()),
        ("skills", hosted.skills.is_some()),
    ];
    match beside.iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((name, _)) => {
            let param = format!("{path}.{name}");
            let message =
                format!("Invalid '{param}': it is not allowed beside '{path}.environment_id'.");
            Err(ApiError::invalid_request(&param, message))
        }
    }
}

fn check_capabilities(path: &str, directories: Option<&[String]>) -> Result<(), ApiError> {
    check_array(
        &format!("{path}.capability_directories"),
        directories.unwrap_or_default().len(),
        MAX_CAPABILITY_DIRECTORIES,
    )
}

fn check_env(path: &str, env: &BTreeMap<String, Secret>) -> Result<(), ApiError> {
    for (name, value) in env {
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ApiError::invalid_request(
                path,
                format!(
                    "Invalid '{path}': '{}' is no name of a variable. \
                     Expected letters, digits and underscores, not starting with a digit.",
                    name.chars().take(100).collect::<String>()
                ),
            ));
        }
        let param = format!("{path}.{name}");
        if name == "PATH" || name == "OPENAI_API_KEY" || name.starts_with("CODEX_") {
            let message = format!("Invalid '{param}': the name is reserved.");
            return Err(ApiError::invalid_request(&param, message));
        }
        if value.reveal().contains('\0') {
            let message = format!("Invalid '{param}': a variable can't hold a NUL character.");
            return Err(ApiError::invalid_request(&param, message));
        }
    }
    Ok(())
}

fn check_files(path: &str, files: &[HostedFileParam]) -> Result<(), ApiError> {
    check_array(path, files.len(), MAX_FILES)?;
    let mut targets = HashSet::new();
    let mut inline_bytes = 0;
    for (i, file) in files.iter().enumerate() {
        let at = format!("{path}[{i}]");
        let target = match file {
            HostedFileParam::FileId { file_id, path } => {
                not_empty(&format!("{at}.file_id"), file_id)?;
                path
            }
            HostedFileParam::Inline { data, path: target } => {
                let words = format!("{path} inline data");
                inline_bytes += check_inline(&words, &format!("{at}.data"), data)?;
                target
            }
        };
        check_target(&format!("{at}.path"), target)?;
        if !targets.insert(target.as_str()) {
            let param = format!("{at}.path");
            let message = format!("{param} duplicates an earlier file path");
            return Err(ApiError::invalid_request(&param, message));
        }
    }
    if inline_bytes > MAX_INLINE_BYTES {
        return Err(ApiError::invalid_request(
            path,
            format!(
                "Invalid '{path}': inline files are larger than {MAX_INLINE_BYTES} bytes in all."
            ),
        ));
    }
    Ok(())
}

/// The file's decoded length.
fn check_inline(words: &str, param: &str, data: &Secret) -> Result<usize, ApiError> {
    let text = data.reveal();
    check_text(param, text.len(), MAX_INLINE_FILE_CHARS)?;
    let bytes = STANDARD.decode(text).map_err(|_| {
        ApiError::invalid_request(param, format!("{words} must be a standard-base64 string"))
    })?;
    Ok(bytes.len())
}

fn check_target(param: &str, path: &str) -> Result<(), ApiError> {
    let refuse = |what: &str| Err(ApiError::invalid_request(param, format!("{param} {what}")));
    let below = check_below(param, path)?;
    if below == "outputs" {
        return refuse("cannot be the directory /workspace/outputs");
    }
    let reserved = [".codex", ".managed-agents", ".rat-things-"];
    let mut parts = below.split('/');
    let first = parts.next().unwrap_or_default();
    let is_ours = |part: &str| part.starts_with(".rat-things-");
    match reserved.iter().any(|name| first.starts_with(name)) || parts.any(is_ours) {
        true => refuse("is reserved"),
        false => Ok(()),
    }
}

/// What of a path stands behind `/workspace/`.
fn check_below<'a>(param: &str, path: &'a str) -> Result<&'a str, ApiError> {
    let refuse = |what: &str| Err(ApiError::invalid_request(param, format!("{param} {what}")));
    let Some(below) = path.strip_prefix("/workspace/") else {
        return refuse("must be an absolute POSIX path inside /workspace");
    };
    if below.contains(['\\', '\0']) {
        return refuse("cannot contain a backslash or a NUL character");
    }
    if below.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return refuse("cannot contain empty, . or .. path components");
    }
    Ok(below)
}

fn check_network(path: &str, network: &NetworkParam) -> Result<(), ApiError> {
    let allowed = network.allowed_domains.as_deref().unwrap_or_default();
    let blocked = network.blocked_domains.as_deref().unwrap_or_default();
    for (name, domains) in [("allowed_domains", allowed), ("blocked_domains", blocked)] {
        let path = format!("{path}.{name}");
        check_array(&path, domains.len(), MAX_ALLOWED_DOMAINS)?;
        for (i, domain) in domains.iter().enumerate() {
            check_domain(&format!("{path}[{i}]"), domain)?;
        }
    }
    let restricted = network.access == NetworkAccess::Restricted;
    let (name, why) = match (allowed, blocked) {
        (_, [_, ..]) if !restricted => ("blocked_domains", "it needs 'access' to be 'restricted'"),
        ([_, ..], [_, ..]) => (
            "blocked_domains",
            "it is not allowed beside 'allowed_domains'",
        ),
        ([], []) if restricted => (
            "allowed_domains",
            "'access' is 'restricted', so at least one domain is needed",
        ),
        _ => return Ok(()),
    };
    let param = format!("{path}.{name}");
    let message = format!("Invalid '{param}': {why}.");
    Err(ApiError::invalid_request(&param, message))
}

fn check_domain(param: &str, domain: &str) -> Result<(), ApiError> {
    let stranger = |c: char| c == '/' || c.is_whitespace() || c.is_control();
    if domain.is_empty() || domain.contains(stranger) {
        return Err(ApiError::invalid_request(
            param,
            format!("Invalid '{param}': expected a host name, without a scheme or a path."),
        ));
    }
    Ok(())
}

fn absolute(param: &str, path: &str) -> Result<(), ApiError> {
    if path.starts_with('/') && !path.contains('\0') {
        return Ok(());
    }
    let message = format!("Invalid '{param}': expected an absolute path.");
    Err(ApiError::invalid_request(param, message))
}
