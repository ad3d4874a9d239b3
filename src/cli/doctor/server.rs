//! The checks of a profile that is a client of a server.

use super::check::Check;
use super::checks::is_program;
use crate::api::{Extension, Words};
use crate::cli::Context;
use crate::cli::compose;
use crate::cli::config::{KeyOrigin, ServerSettings};
use crate::cli::out::Kind;

/// The key, the server, and what it has beyond the API; as far as one needs the other.
pub(super) async fn all(context: &Context, server: &ServerSettings) -> Vec<Check> {
    let mut checks = vec![key(context, server), connection(server)];
    match compose::extensions(server).await {
        Ok(found) => {
            let taken = match server.key {
                KeyOrigin::Nowhere => "answers, and asks for no key",
                _ => "answers, and takes the key",
            };
            checks.push(Check::ok("server", format!("{} {taken}", server.base_url)));
            checks.push(additions(&found));
        }
        Err(error) if error.kind == Kind::Auth => {
            let found = format!("it does not let you in: {} [{}]", error.message, error.code);
            checks.push(
                Check::failed("server", found).fix(
                    "a key for a rat-things daemon: rat-things keys create, where its data is",
                ),
            );
        }
        Err(error) => checks.push(Check::from_error("server", &error)),
    }
    checks
}

/// Whether there is a key, never which.
fn key(context: &Context, server: &ServerSettings) -> Check {
    const NAME: &str = "key";
    match &server.key {
        KeyOrigin::Nowhere => Check::ok(NAME, "none is configured"),
        KeyOrigin::Env(name) => match context.vars.os(name) {
            Some(_) => Check::ok(NAME, format!("in the variable {name}")),
            None => Check::failed(NAME, format!("the variable {name} holds no key"))
                .fix(format!("export {name}=…")),
        },
        // Who can read it is looked at when it is read.
        KeyOrigin::File(path) if path.is_file() => {
            Check::ok(NAME, format!("in the file {}", path.display()))
        }
        KeyOrigin::File(path) => {
            Check::failed(NAME, format!("there is no file {}", path.display()))
                .fix("correct key_file in the profile")
        }
        KeyOrigin::Command(argv) => {
            let program = argv.first().map(String::as_str).unwrap_or_default();
            match is_program(program, context) {
                true => Check::ok(NAME, format!("printed by {program}")),
                false => Check::failed(NAME, format!("there is no program {program}"))
                    .fix("correct key_command in the profile"),
            }
        }
    }
}

/// Whether others on the way can read what is said.
fn connection(server: &ServerSettings) -> Check {
    const NAME: &str = "connection";
    let at = &server.base_url;
    let rest = at.strip_prefix("http://");
    let host = rest.map(|rest| rest.split('/').next().unwrap_or_default());
    match host {
        None => match &server.ca_file {
            Some(path) => Check::ok(NAME, format!("TLS, trusting {}", path.display())),
            None => Check::ok(NAME, "TLS, trusting the system's authorities"),
        },
        Some(host) if is_this_machine(host) => Check::ok(NAME, "without TLS, on this machine"),
        Some(_) => Check::warning(
            NAME,
            format!("without TLS: everybody on the way to {at} can read the key and all content"),
        )
        .fix("use an https address, or a tunnel to one on this machine"),
    }
}

/// Of a host with or without a port.
fn is_this_machine(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let loopback = address.parse::<std::net::IpAddr>();
    host.eq_ignore_ascii_case("localhost") || loopback.is_ok_and(|address| address.is_loopback())
}

fn additions(found: &[Extension]) -> Check {
    const NAME: &str = "additions";
    let missing = Extension::ALL.iter().filter(|one| !found.contains(one));
    let missing: Vec<&str> = missing.map(|one| consequence(*one)).collect();
    match missing.is_empty() {
        true => Check::ok(NAME, "all of rat-things"),
        false => Check::warning(NAME, format!("it has not all: {}", missing.join("; "))),
    }
}

/// What is not possible without it.
fn consequence(one: Extension) -> &'static str {
    match one {
        Extension::EventsAfter => "broken streams of events are continued from turns and items",
        Extension::EventsSoFar => "events that have happened are not told",
        Extension::NextTurn => "--queue may be refused",
        Extension::CancelTurn => "cancel --turn may be refused",
        Extension::Receipt => "send does not tell what became of a message",
        Extension::SessionKey => "a creation without an answer is not repeated",
        Extension::AgentHarness => "`--harness` is refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_addresses_and_not_by_names_that_begin_like_them() {
        for own in [
            "127.0.0.1:8790",
            "localhost",
            "LOCALHOST:1",
            "[::1]:80",
            "127.9.9.9",
        ] {
            assert!(is_this_machine(own), "{own}");
        }
        for other in [
            "127.0.0.1.example.com",
            "localhost.example.com:80",
            "10.0.0.1",
            "[::2]:1",
        ] {
            assert!(!is_this_machine(other), "{other}");
        }
    }
}
