//! Programs that are spoken with: what goes in and out, whole and in order, and what they leave behind.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pretty_assertions::assert_eq;
use rat_things::engine::ports::{Conversation, Environment, ExecEnd, ExecHow, ExecSpec, Network};
use tokio::sync::{mpsc, watch};

use super::world::{PATIENCE, World, eventually, processes_with, shell, spec};

/// A program and its caller.
struct Spoken {
    input: mpsc::Sender<Bytes>,
    output: mpsc::Receiver<Bytes>,
    cancel: watch::Sender<bool>,
    task: tokio::task::JoinHandle<ExecEnd>,
}

impl Spoken {
    fn with(environment: &Arc<dyn Environment>, spec: ExecSpec, variables: &[&str]) -> Spoken {
        let (input, said) = mpsc::channel(1);
        let (heard, output) = mpsc::channel(1);
        let (cancel, cancelled) = watch::channel(false);
        let conversation = Conversation {
            input: said,
            output: heard,
            variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        };
        let environment = Arc::clone(environment);
        let task = tokio::spawn(async move {
            let end = environment.converse(spec, conversation, cancelled).await;
            end.unwrap_or_else(|error| panic!("{error}"))
        });
        Spoken {
            input,
            output,
            cancel,
            task,
        }
    }

    async fn say(&self, text: &str) {
        let text = Bytes::copy_from_slice(text.as_bytes());
        self.input.send(text).await.expect("it listens");
    }

    /// What it says until `text` is in it.
    async fn hears(&mut self, text: &str) -> String {
        let mut all = Vec::new();
        let wait = async {
            while !String::from_utf8_lossy(&all).contains(text) {
                let chunk = self.output.recv().await;
                let chunk = chunk.unwrap_or_else(|| panic!("it ended before it said {text:?}"));
                all.extend_from_slice(&chunk);
            }
        };
        let in_time = tokio::time::timeout(PATIENCE, wait).await;
        let all = String::from_utf8_lossy(&all).into_owned();
        assert!(in_time.is_ok(), "it did not say {text:?}: {all}");
        all
    }

    async fn ends(self) -> ExecEnd {
        let Spoken {
            input,
            mut output,
            task,
            ..
        } = self;
        drop(input);
        // Nothing that it still says holds it up.
        tokio::spawn(async move { while output.recv().await.is_some() {} });
        task.await.expect("no panic")
    }
}

#[tokio::test]
async fn what_is_said_is_heard_in_both_ways_and_complaints_go_elsewhere() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let script = "while read -r line; do echo \"heard $line\"; echo \"about $line\" >&2; done; echo over >&2; exit 3";
    let mut spoken = Spoken::with(&sandbox.environment, shell(script), &[]);
    spoken.say("one\n").await;
    assert_eq!(spoken.hears("one\n").await, "heard one\n");
    spoken.say("two\nthr").await;
    spoken.say("ee\n").await;
    assert_eq!(spoken.hears("three\n").await, "heard two\nheard three\n");
    let end = spoken.ends().await;
    assert_eq!(end.how, ExecHow::Exited(3));
    assert_eq!(end.output, "about one\nabout two\nabout three\nover\n");
}

#[tokio::test]
async fn nothing_of_a_large_output_is_lost_on_a_slow_listener_and_last_words_arrive() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let script = "head -c 3000000 /dev/zero | tr '\\0' x; echo last";
    let mut spoken = Spoken::with(&sandbox.environment, shell(script), &[]);
    let mut heard = 0;
    let mut tail = Vec::new();
    while let Some(chunk) = spoken.output.recv().await {
        heard += chunk.len();
        tail = chunk.to_vec();
        tokio::task::yield_now().await;
    }
    assert_eq!(heard, 3_000_005);
    assert!(String::from_utf8_lossy(&tail).ends_with("last\n"));
}

#[tokio::test]
async fn it_is_given_the_variables_that_it_is_promised_and_no_others_of_the_environment() {
    let world = World::new();
    let mut wanted = spec(Network::Disabled);
    for (name, value) in [("GIVEN", "1"), ("KEPT_BACK", "2")] {
        wanted.env.insert(name.to_owned(), value.to_owned());
    }
    let sandbox = world.open(&wanted).await;
    let mut command = shell("echo \"$GIVEN|$KEPT_BACK|$OWN|$HOME\"; read -r line");
    command.env.insert("OWN".to_owned(), "3".to_owned());
    let mut spoken = Spoken::with(&sandbox.environment, command, &["GIVEN", "NONE"]);
    let heard = spoken.hears("\n").await;
    assert!(heard.starts_with("1||3|/"), "{heard}");
    assert_eq!(sandbox.ok("echo \"$GIVEN|$KEPT_BACK\"").await, "1|2");
}

#[tokio::test]
async fn what_it_leaves_running_ends_with_it_and_it_ends_when_it_is_told_to() {
    let world = World::new();
    let sandbox = world.sandbox().await;
    let script = "setsid sleep 31415 & echo begun; read -r line";
    let mut spoken = Spoken::with(&sandbox.environment, shell(script), &[]);
    spoken.hears("begun").await;
    assert_eq!(spoken.ends().await.how, ExecHow::Exited(1));
    eventually("the daemon is gone", || {
        processes_with("sleep 31415").is_empty()
    })
    .await;
    let mut spoken = Spoken::with(&sandbox.environment, shell("echo on; sleep 27182"), &[]);
    spoken.hears("on").await;
    spoken.cancel.send_replace(true);
    let end = tokio::time::timeout(Duration::from_secs(30), spoken.ends()).await;
    assert_eq!(end.expect("it ends").how, ExecHow::Cancelled);
    eventually("nothing of it is left", || {
        processes_with("sleep 27182").is_empty()
    })
    .await;
}
