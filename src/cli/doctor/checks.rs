//! The checks, in the order in which one needs the other.

use super::check::Check;
use super::processes::workers_of;
use super::server;
use crate::cli::Context;
use crate::cli::compose::{self, AwsWorld, Local, Places, World};
use crate::cli::config::{IsolationChoice, Origin, ProviderKind, prepare_data_dir};
use crate::cli::daemon;
use crate::cli::out::CliError;
use crate::cli::outbox;
use crate::engine::error::EngineError;
use crate::engine::fence::RunState;
use crate::engine::ids::sha256_hex;
use crate::engine::ports::{BlobRef, BlobScope, EnvironmentError, Isolation, Key};
use crate::engine::session::Head;
use crate::text::{duration, size};

/// Less than this is worth a warning.
const LITTLE_SPACE_BYTES: u64 = 1 << 30;
/// Agenda entries that are looked at.
const LOOKED_AT: usize = 10_000;

/// Everything, as far as it can be looked at.
pub(super) async fn all(context: &Context) -> Vec<Check> {
    if let Some(settings) = &context.settings.server {
        let mut checks = vec![configuration(context)];
        checks.extend(server::all(context, settings).await);
        return checks;
    }
    let mut checks = vec![configuration(context), data_directory(context)];
    let places = Places {
        root: context.settings.data_dir.value.clone(),
    };
    checks.push(disk_space(&places));
    if context.settings.aws.is_some() {
        checks.extend(super::aws::all(context).await);
        if checks.iter().any(|check| check.auth) {
            return checks;
        }
    }
    match compose::open(&context.settings).await {
        Ok(local) => {
            checks.push(store(&local).await);
            checks.extend(work(context, &local).await);
        }
        Err(error) => checks.push(Check::from_error("store", &error)),
    }
    checks.push(workers(&places));
    checks.push(sandbox(context, &places).await);
    checks.extend(harness(context).await);
    checks.push(provider(context));
    checks
}

fn configuration(context: &Context) -> Check {
    let settings = &context.settings;
    let file = match &settings.config_file {
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("there is no {}; defaults hold", path.display()),
        None => "there is no home directory; defaults hold".to_owned(),
    };
    let profile = &settings.profile.value;
    let read_only = if settings.read_only {
        ", read-only"
    } else {
        ""
    };
    Check::ok(
        "configuration",
        format!("profile {profile}{read_only}: {file}"),
    )
}

fn data_directory(context: &Context) -> Check {
    const NAME: &str = "data directory";
    let data_dir = &context.settings.data_dir;
    match prepare_data_dir(data_dir) {
        Ok(()) => Check::ok(NAME, format!("{} is yours alone", data_dir.value.display())),
        Err(error) => Check::from_error(NAME, &error),
    }
}

fn disk_space(places: &Places) -> Check {
    const NAME: &str = "disk space";
    let free_bytes = match rustix::fs::statvfs(&places.root) {
        Ok(found) => found.f_bavail.saturating_mul(found.f_frsize),
        Err(errno) => {
            let why = std::io::Error::from(errno);
            let path = places.root.display();
            return Check::failed(NAME, format!("cannot be found out for {path}: {why}"));
        }
    };
    let free = format!("{} are free", size(free_bytes));
    let least_bytes = compose::least_free_bytes();
    if free_bytes < least_bytes {
        let found = format!("{free}; commands are refused below {}", size(least_bytes));
        Check::failed(NAME, found).fix("free some space, or choose another --data-dir")
    } else if free_bytes < LITTLE_SPACE_BYTES {
        Check::warning(NAME, free)
    } else {
        Check::ok(NAME, free)
    }
}

/// Whether records can be read and content can be stored, without leaving anything.
async fn account(local: &Local, aws: &AwsWorld) -> Check {
    const NAME: &str = "store";
    let nobody = BlobScope {
        owner: local.owner.clone(),
        session: "doctor".to_owned(),
    };
    let nothing = BlobRef {
        sha256: sha256_hex(b""),
        size_bytes: 0,
    };
    let record = Key::new("doctor", "doctor");
    let read = local
        .core
        .store
        .get(&record)
        .await
        .map_err(EngineError::from);
    let stored = local.core.blobs.has(&nobody, &nothing).await;
    match read
        .map(drop)
        .and(stored.map(drop).map_err(EngineError::from))
    {
        Ok(()) => Check::ok(NAME, aws.shown.clone()),
        Err(error) => Check::from_error(NAME, &CliError::from(error)),
    }
}

async fn store(local: &Local) -> Check {
    const NAME: &str = "store";
    let store = match &local.world {
        World::Here(store) => store,
        World::Aws(aws) => return account(local, aws).await,
    };
    let health = match store.check().await {
        Ok(health) => health,
        Err(error) => {
            let error = CliError::from(EngineError::from(error));
            return Check::from_error(NAME, &error);
        }
    };
    let path = local.places.store();
    if let Some(first) = health.problems.first() {
        let found = format!(
            "{} is damaged, in {} places or more; the first: {first}",
            path.display(),
            health.problems.len()
        );
        return Check::failed(NAME, found).fix("restore a backup, or choose another --data-dir");
    }
    let bytes = health.database_bytes + health.wal_bytes;
    let found = format!(
        "no damage, {}, schema {}",
        size(bytes),
        health.schema_version
    );
    Check::ok(NAME, found)
}

/// The daemon, and whether work waits for one, or for a person.
async fn work(context: &Context, local: &Local) -> Vec<Check> {
    let due = match outbox::due(local, LOOKED_AT).await {
        Ok(due) => due,
        Err(error) => return vec![Check::from_error("agenda", &error)],
    };
    let now_ms = compose::now_ms();
    let overdue = due.iter().filter(|due| due.due_ms <= now_ms).count();
    let quarantined = due
        .iter()
        .filter(|due| due.head.fence.state() == RunState::Quarantined)
        .count();
    let mut checks = vec![the_daemon(context, local, overdue)];
    let unheard = |head: &Head| head.turn.as_ref().map_or(0, |turn| turn.unheard) > 1;
    let in_vain = due.iter().filter(|due| unheard(&due.head));
    let in_vain: Vec<&str> = in_vain.map(|due| due.session.as_str()).collect();
    if let [first, ..] = in_vain.as_slice() {
        let found = format!(
            "sessions for which one machine after the other is launched, and no worker says a word: {}",
            in_vain.len()
        );
        checks.push(
            Check::warning("machines", found)
                .fix(format!("rat-things sessions explain {first}"))
                .fix("look at what such a machine wrote to its console: aws ec2 get-console-output --instance-id ID"),
        );
    }
    if quarantined > 0 {
        let found = format!("runs in quarantine: {quarantined}");
        checks.push(
            Check::warning("agenda", found)
                .fix("rat-things runs list --all-active")
                .fix("rat-things runs release RUN, for a worker that you know to be gone"),
        );
    }
    checks
}

fn the_daemon(context: &Context, local: &Local, overdue: usize) -> Check {
    const NAME: &str = "daemon";
    let own = env!("CARGO_PKG_VERSION");
    let log = local.places.logs().join("daemon.log");
    match daemon::running(&local.places) {
        Some(note) if note.version != own => {
            let found = format!("it is of version {}, and this is {own}", note.version);
            Check::warning(NAME, found).fix("rat-things daemon stop && rat-things daemon start")
        }
        Some(note) => {
            let age = duration(compose::now_ms().saturating_sub(note.started_ms));
            let log = log.display();
            Check::ok(
                NAME,
                format!("running for {age}, version {own}; its log is {log}"),
            )
        }
        None if context.settings.aws.is_some() => {
            let found = "none runs here; those of other machines can't be seen from here";
            match overdue {
                0 => Check::ok(NAME, format!("{found}; nothing is due")),
                _ => {
                    let found =
                        format!("sessions that owe work and wait for a daemon: {overdue}; {found}");
                    Check::warning(NAME, found)
                        .fix("rat-things daemon start, unless one runs elsewhere")
                }
            }
        }
        None if overdue > 0 => {
            let found = format!("sessions that owe work while no daemon runs: {overdue}");
            Check::failed(NAME, found).fix("rat-things daemon start")
        }
        None => {
            let when = match context.settings.daemon.autostart {
                true => "it is started when there is work",
                false => "start one before you give work: rat-things daemon start",
            };
            Check::ok(NAME, format!("does not run, and nothing is due; {when}"))
        }
    }
}

fn workers(places: &Places) -> Check {
    const NAME: &str = "workers";
    let daemon = daemon::running(places);
    let daemon_pid: Option<u32> = daemon
        .as_ref()
        .and_then(|note| note.identity.split(':').nth(1)?.parse().ok());
    let workers = workers_of(&places.root);
    let orphans: Vec<String> = workers
        .iter()
        .filter(|worker| Some(worker.parent) != daemon_pid)
        .map(|worker| worker.pid.to_string())
        .collect();
    match (orphans.is_empty(), workers.len()) {
        (true, n) => Check::ok(NAME, format!("{n} running, none without a daemon")),
        (false, _) => {
            let found = format!(
                "these lost their daemon, finish their turns and leave: process {}",
                orphans.join(", process ")
            );
            Check::warning(NAME, found)
                .fix("wait for them, or end them with kill: their turns go on with another worker")
        }
    }
}

async fn sandbox(context: &Context, places: &Places) -> Check {
    const NAME: &str = "sandbox";
    if context.settings.sandbox.isolation == IsolationChoice::UnsafeNone {
        let origin = context.settings.origin("sandbox.isolation");
        let found = format!("off ({origin}): commands can do whatever you can");
        return Check::warning(NAME, found);
    }
    let environments = match compose::environments(&context.settings, places) {
        Ok(environments) => environments,
        Err(error) => return Check::from_error(NAME, &error),
    };
    match environments.check(Isolation::Sandbox).await {
        Ok(()) => Check::ok(NAME, "a command ran in a sandbox of its own"),
        Err(EnvironmentError::Refused { cause, remedy }) => Check::failed(NAME, cause).fix(remedy),
        Err(other) => Check::failed(NAME, other.to_string()),
    }
}

/// Codex, where it drives agents.
async fn harness(context: &Context) -> Option<Check> {
    const NAME: &str = "codex";
    Some(match compose::codex_found(&context.settings).await? {
        Ok((found, true)) => Check::ok(NAME, found),
        Ok((found, false)) => {
            let found = format!("{found}: no binary that this program was tried with");
            Check::warning(NAME, found)
        }
        Err(why) => Check::failed(NAME, why),
    })
}

/// Whether there is a key, never which.
fn provider(context: &Context) -> Check {
    const NAME: &str = "model provider";
    let provider = &context.settings.provider;
    if provider.kind == ProviderKind::Demo {
        let chosen = match context.settings.origin("provider.kind") {
            Origin::Default => "none is configured",
            _ => "as configured",
        };
        let found = format!("{chosen}: the offline demo model answers, and only pretends");
        return Check::ok(NAME, found);
    }
    let at = &provider.base_url;
    match (&provider.api_key_command, &provider.api_key_env) {
        (Some(command), _) => {
            let program = command.first().map(String::as_str).unwrap_or_default();
            match is_program(program, context) {
                true => Check::ok(NAME, format!("{at}, with the key that {program} prints")),
                false => Check::failed(NAME, format!("{at}: there is no program {program}"))
                    .fix("correct provider.api_key_command in the profile"),
            }
        }
        (None, name) => match context.vars.os(name) {
            Some(_) => Check::ok(NAME, format!("{at}, with the key in {name}")),
            None => Check::failed(NAME, format!("{at}: the variable {name} holds no key"))
                .fix(format!(
                    "export {name}=…, and restart the daemon so that it sees it"
                ))
                .fix("or set provider.api_key_command in the profile"),
        },
    }
}

pub(super) fn is_program(program: &str, context: &Context) -> bool {
    let executable = |path: &std::path::Path| {
        use std::os::unix::fs::PermissionsExt;
        path.metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return executable(program.as_ref());
    }
    let path = context.vars.os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| executable(&dir.join(program)))
}
