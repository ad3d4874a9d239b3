//! Machines, by what small scripts see of them.

mod ends;
mod network;
mod service;
mod walls;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use aws_sdk_ec2::operation::run_instances::builders::RunInstancesFluentBuilder;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::Host;
use crate::aws::stand::ec2::State;
use crate::aws::stand::ec2::tests::{client, launch};

const REGION: &str = "eu-west-1";
/// Longer than anything here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// A host, or a failure that says what this system lacks.
pub(crate) fn host(ways: Vec<SocketAddr>) -> Host {
    Host::start(REGION, ways).unwrap_or_else(|why| panic!("instances can't be run here: {why}"))
}

/// A launch whose machine runs this script.
fn script(host: &Host, script: &str) -> RunInstancesFluentBuilder {
    let data = BASE64_STANDARD.encode(format!("#!/bin/sh\n{script}"));
    launch(&client(&host.ec2().url()), script)
        .user_data(data)
        .set_client_token(None)
}

async fn id(launch: RunInstancesFluentBuilder) -> String {
    let launched = launch.send().await.expect("a launch");
    let id = launched.instances().first().and_then(|i| i.instance_id());
    id.expect("an instance").to_owned()
}

/// A machine that runs this script.
async fn run(host: &Host, text: &str) -> String {
    id(script(host, text)).await
}

/// Waits until this is so.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < LONG, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the machine says before it says `end`.
fn said(host: &Host, id: &str, end: &str) -> String {
    let end = format!("{end}\n");
    let begun = Instant::now();
    loop {
        let console = host.console(id);
        if let Some((said, _)) = console.split_once(&end) {
            return said.to_owned();
        }
        assert!(begun.elapsed() < LONG, "{id} never says {end:?}: {console}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The state of an instance, and the code of the reason for it.
fn state(host: &Host, id: &str) -> (State, String) {
    let all = host.ec2().instances(|i| {
        let code = i.reason.as_ref().map_or("", |(code, _)| code).to_owned();
        (i.id.clone(), (i.state, code))
    });
    let found = all.into_iter().find(|(known, _)| known == id);
    found.expect("an instance").1
}

fn until_ended(host: &Host, id: &str) -> (State, String) {
    until("it has ended", || {
        matches!(state(host, id).0, State::Terminated | State::Stopped)
    });
    state(host, id)
}

/// Processes of this system with a word among their arguments.
fn processes(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("processes");
    let lines = all.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    lines
        .filter(|line| {
            line.split(|byte| *byte == 0)
                .any(|part| part == word.as_bytes())
        })
        .count()
}

/// A script whose processes carry this word, listen to nobody, and are of groups of their own.
fn stubborn(word: &str) -> String {
    // One process each, so that they can be counted: a shell that starts something is two for a moment.
    format!(
        "for n in 1 2; do setsid bash -c 'trap \"\" TERM HUP INT; exec -a \"$0\" sleep 1000000' {word} & done; echo runs"
    )
}
