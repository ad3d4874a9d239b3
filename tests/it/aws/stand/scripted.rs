//! An endpoint that answers EC2's query protocol as a test says, one answer after the other, and keeps what it was asked. It knows nothing of
//! EC2: what a whole EC2 would do is another stand-in's business.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::listen::{Listening, Reply, listen};
use super::wire::Message;

/// What becomes of a request.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    /// These instances.
    Shows(Vec<Instance>),
    /// A refusal with this status and code.
    Refuses(u16, &'static str),
    /// No answer: the connection ends.
    Nothing,
}

/// An instance as it is shown.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    pub(crate) id: &'static str,
    pub(crate) state: &'static str,
    pub(crate) tags: Vec<(String, String)>,
}

#[derive(Default)]
struct State {
    asked: Vec<BTreeMap<String, String>>,
    answers: BTreeMap<&'static str, VecDeque<Answer>>,
}

/// Ends when it is dropped.
pub(crate) struct Scripted {
    listening: Listening,
    state: Arc<Mutex<State>>,
}

impl Scripted {
    /// Knows no answer yet: what it is asked without one it shows nothing for. Whatever is not EC2's is there (as an object of S3 would be).
    pub(crate) fn start() -> io::Result<Scripted> {
        let state: Arc<Mutex<State>> = Arc::default();
        let for_requests = Arc::clone(&state);
        let listening = listen(move |message| reply(&for_requests, message))?;
        Ok(Scripted { listening, state })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// The next answer to an action. The last one is repeated.
    pub(crate) fn will(&self, action: &'static str, answer: Answer) {
        let mut state = lock(&self.state);
        state.answers.entry(action).or_default().push_back(answer);
    }

    /// Forgets the answers to an action that were not given yet.
    pub(crate) fn forget(&self, action: &'static str) {
        lock(&self.state).answers.remove(action);
    }

    /// The parameters of every request of an action so far.
    pub(crate) fn asked(&self, action: &str) -> Vec<BTreeMap<String, String>> {
        let state = lock(&self.state);
        let asked = state.asked.iter();
        asked
            .filter(|of| of.get("Action").map(String::as_str) == Some(action))
            .cloned()
            .collect()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn reply(state: &Mutex<State>, message: &Message) -> Reply {
    let asked = parameters(&message.text());
    let Some(action) = asked.get("Action").cloned() else {
        return http(200, "");
    };
    let mut state = lock(state);
    state.asked.push(asked);
    let answer = match state.answers.get_mut(action.as_str()) {
        Some(answers) if answers.len() > 1 => answers.pop_front(),
        Some(answers) => answers.front().cloned(),
        None => None,
    };
    match answer {
        None => http(200, &shown(&action, &[])),
        Some(Answer::Shows(instances)) => http(200, &shown(&action, &instances)),
        Some(Answer::Nothing) => Reply::Cut,
        Some(Answer::Refuses(status, code)) => http(
            status,
            &format!(
                "<Response><Errors><Error><Code>{code}</Code><Message>by script</Message></Error></Errors><RequestID>r</RequestID></Response>"
            ),
        ),
    }
}

/// The parameters of a form.
fn parameters(form: &str) -> BTreeMap<String, String> {
    let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (plain(key), plain(value)))
        .collect()
}

/// Without what stands for other characters.
fn plain(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8_lossy(&digits);
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn http(status: u16, body: &str) -> Reply {
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Reply::Bytes([head.as_bytes(), body.as_bytes()].concat())
}

fn shown(action: &str, instances: &[Instance]) -> String {
    let items: String = instances.iter().map(item).collect();
    let set = format!("<instancesSet>{items}</instancesSet>");
    let inner = match action {
        "DescribeInstances" => {
            format!(
                "<reservationSet><item><reservationId>r-1</reservationId>{set}</item></reservationSet>"
            )
        }
        _ => set,
    };
    format!(
        "<{action}Response xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><requestId>r</requestId>{inner}</{action}Response>"
    )
}

fn item(instance: &Instance) -> String {
    let tags: String = { instance.tags.iter() }
        .map(|(key, value)| format!("<item><key>{key}</key><value>{value}</value></item>"))
        .collect();
    format!(
        "<item><instanceId>{}</instanceId><instanceState><code>0</code><name>{}</name></instanceState><instanceType>m7g.large</instanceType><launchTime>2026-01-02T03:04:05.000Z</launchTime><placement><availabilityZone>eu-west-1a</availabilityZone></placement><tagSet>{tags}</tagSet></item>",
        instance.id, instance.state
    )
}
