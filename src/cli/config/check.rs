//! Values that are fine alone and contradict each other.

use super::keys::{API, AWS};
use super::origin::Origin;
use super::resolve::Decided;
use crate::cli::out::{CliError, codes};

/// Refuses contradictions; each error names where the value stands.
pub(super) fn contradictions(decided: &Decided) -> Result<(), CliError> {
    endpoint(decided)?;
    if decided.kind == API {
        return server(decided);
    }
    provider(decided)?;
    harness(decided)?;
    workers(decided)?;
    network(decided)?;
    tls(decided)
}

/// Whoever names an emulator must not end up elsewhere.
fn endpoint(decided: &Decided) -> Result<(), CliError> {
    match decided.origin("aws.endpoint_url") {
        Origin::Flag(flag) if decided.kind != AWS => {
            let (profile, kind) = (&decided.profile.value, &decided.kind);
            let message = format!(
                "{flag} is for profiles of kind \"aws\", and profile {profile:?} is of kind {kind:?}"
            );
            Err(CliError::new(codes::CONFIG_VALUE, message)
                .hint("choose a profile of kind \"aws\" with --profile NAME"))
        }
        _ => Ok(()),
    }
}

fn tls(decided: &Decided) -> Result<(), CliError> {
    for (given, missing) in [
        ("daemon.tls_cert", "daemon.tls_key"),
        ("daemon.tls_key", "daemon.tls_cert"),
    ] {
        if decided.text(given).is_some() && decided.text(missing).is_none() {
            let what = format!("`{given}` is set and `{missing}` is not");
            return Err(contradiction(&decided.origin(given), &what));
        }
    }
    Ok(())
}

/// What a profile of kind `api` must have, and what it can't have together.
fn server(decided: &Decided) -> Result<(), CliError> {
    if let Origin::Flag(flag) = decided.data_dir.origin {
        let message =
            format!("{flag} is for profiles of kind \"local\": a server keeps its own data");
        return Err(CliError::new(codes::CONFIG_VALUE, message)
            .hint("choose a profile of kind \"local\" with --profile NAME"));
    }
    if decided.text("base_url").is_none() {
        let origin = decided.origin("kind");
        let error = contradiction(&origin, "a profile of kind \"api\" needs `base_url`");
        return Err(error.hint("base_url = \"https://agents.example.com/v1\""));
    }
    let sources = ["key_env", "key_file", "key_command"];
    let given = sources
        .iter()
        .filter(|path| decided.origin(path) != Origin::Default);
    let given: Vec<&str> = given.copied().collect();
    match given.as_slice() {
        [first, second, ..] => Err(contradiction(
            &decided.origin(second),
            &format!("`{first}` and `{second}` are both set; only one can be used"),
        )),
        _ => Ok(()),
    }
}

fn provider(decided: &Decided) -> Result<(), CliError> {
    let chosen = |path: &str| match decided.origin(path) {
        Origin::Default => None,
        origin => Some(origin),
    };
    for (one, other) in [
        ("provider.api_key_env", "provider.api_key_command"),
        ("provider.api_key_env", "provider.api_key_secret"),
        ("provider.api_key_command", "provider.api_key_secret"),
    ] {
        if let (Some(_), Some(origin)) = (chosen(one), chosen(other)) {
            let what = format!("`{other}` and `{one}` are both set; only one can be used");
            return Err(contradiction(&origin, &what));
        }
    }
    // Somebody who describes a provider wants to use it; `demo` must not answer in its place without a word.
    if chosen("provider.kind").is_none() {
        for path in [
            "provider.base_url",
            "provider.api_key_env",
            "provider.api_key_command",
            "provider.api_key_secret",
        ] {
            if let Some(origin) = chosen(path) {
                let error = contradiction(
                    &origin,
                    &format!("`{path}` is set and `provider.kind` is not"),
                );
                return Err(error.hint(
                    "set provider.kind = \"responses\" to use it, or \"demo\" to leave it aside",
                ));
            }
        }
    }
    Ok(())
}

/// The offline model is no server that Codex could call, and machines have no Codex.
fn harness(decided: &Decided) -> Result<(), CliError> {
    if decided.text("harness").as_deref() != Some("codex") {
        return Ok(());
    }
    let origin = decided.origin("harness");
    if decided.text("provider.kind").as_deref() == Some("demo") {
        let what = "`harness` is \"codex\" and `provider.kind` is \"demo\", which only our own loop can use";
        return Err(contradiction(&origin, what).hint("set provider.kind = \"responses\""));
    }
    if decided.text("aws.workers").as_deref() == Some("ec2") {
        let what = "`harness` is \"codex\" and `aws.workers` is \"ec2\": an instance has no Codex";
        return Err(contradiction(&origin, what).hint("set aws.workers = \"here\""));
    }
    Ok(())
}

/// A machine has no environment and no program of its operator: the key comes from where it can reach it.
fn workers(decided: &Decided) -> Result<(), CliError> {
    let secret = decided.text("provider.api_key_secret");
    let deployment = decided.text("aws.deployment").unwrap_or_default();
    if let Some(name) = &secret
        && !name.starts_with(&format!("{deployment}/"))
    {
        let what = format!(
            "`provider.api_key_secret` must begin with \"{deployment}/\": no role may read another secret"
        );
        return Err(contradiction(
            &decided.origin("provider.api_key_secret"),
            &what,
        ));
    }
    let on_machines = decided.text("aws.workers").as_deref() == Some("ec2");
    let calls = decided.text("provider.kind").as_deref() == Some("responses");
    if on_machines && calls && secret.is_none() {
        let what = "`aws.workers` is \"ec2\" and `provider.api_key_secret` is not set: an instance reads the key from Secrets Manager";
        let error = contradiction(&decided.origin("aws.workers"), what);
        return Err(error.hint(format!(
            "provider.api_key_secret = \"{deployment}/provider\""
        )));
    }
    Ok(())
}

fn network(decided: &Decided) -> Result<(), CliError> {
    let network = decided.text("sandbox.network").unwrap_or_default();
    let domains = decided.texts("sandbox.allowed_domains");
    match (network.as_str(), domains.is_empty()) {
        ("restricted", true) => {
            let error = contradiction(
                &decided.origin("sandbox.network"),
                "`sandbox.network` is \"restricted\" and `sandbox.allowed_domains` is empty",
            );
            Err(error.hint(
                "name the hosts that commands may reach, or set sandbox.network = \"disabled\"",
            ))
        }
        // Somebody who lists hosts means these and no others.
        ("disabled" | "enabled", false) => {
            let error = contradiction(
                &decided.origin("sandbox.allowed_domains"),
                &format!(
                    "`sandbox.allowed_domains` has no effect while `sandbox.network` is {network:?}"
                ),
            );
            Err(error.hint("set sandbox.network = \"restricted\""))
        }
        _ => Ok(()),
    }
}

fn contradiction(origin: &Origin, what: &str) -> CliError {
    let message = match origin {
        Origin::Profile { at, .. } | Origin::File(at) => format!("{at}: {what}"),
        other => format!("{what} ({other})"),
    };
    CliError::new(codes::CONFIG_VALUE, message)
}
