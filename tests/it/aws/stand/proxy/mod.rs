//! The fault proxy: between an SDK client and an emulator, it does by rule what networks and AWS do, and counts it.
//!
//! It never invents an effect: what it answers by itself did not reach the emulator, what it passes on is passed on once.

mod answers;
mod tests;

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::listen::{Listening, Reply, listen};
use super::when::When;
use super::wire::{self, Message};

/// What a rule does to a request.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It gets nowhere, and the connection ends.
    DropRequest,
    /// It has its effect, and the connection ends before the answer.
    DropAnswer,
    /// It is passed on later.
    Delay(Duration),
    /// DynamoDB `ThrottlingException`, S3 `SlowDown`.
    Throttle,
    /// DynamoDB `ProvisionedThroughputExceededException`.
    Throughput,
    /// DynamoDB `TransactionCanceledException` with these reasons, in the order of the transaction's actions.
    Cancelled(&'static [&'static str]),
    /// DynamoDB `TransactionConflictException`, S3 409 `ConditionalRequestConflict`.
    Conflict,
    /// S3 412 `PreconditionFailed`, DynamoDB `ConditionalCheckFailedException`.
    Precondition,
    /// A failure of the service.
    Internal,
    /// The credentials are too old.
    Expired,
    /// It gets nowhere, and this is the answer, in JSON.
    Says(&'static str),
}

/// A rule: the first one that applies to a request decides.
pub(crate) struct Rule {
    /// A DynamoDB operation (`TransactWriteItems`), or how a request line begins (`PUT /bucket/`); empty for all.
    pub(crate) operation: &'static str,
    pub(crate) when: When,
    pub(crate) fault: Fault,
}

struct Kept {
    rule: Rule,
    matched: u64,
    applied: u64,
}

/// A running proxy.
pub(crate) struct Proxy {
    listening: Listening,
    rules: Arc<Mutex<Vec<Kept>>>,
}

impl Proxy {
    /// A proxy in front of this address.
    pub(crate) fn before(upstream: SocketAddr, rules: Vec<Rule>) -> io::Result<Proxy> {
        let kept = |rule| Kept {
            rule,
            matched: 0,
            applied: 0,
        };
        let rules = Arc::new(Mutex::new(rules.into_iter().map(kept).collect()));
        let known = Arc::clone(&rules);
        let listening = listen(move |request| act(request, chosen(request, &known), upstream))?;
        Ok(Proxy { listening, rules })
    }

    /// A proxy in front of two emulators that are one AWS to its clients: DynamoDB's, and that of the rest.
    pub(crate) fn before_both(dynamodb: SocketAddr, others: SocketAddr) -> io::Result<Proxy> {
        let listening = listen(move |request| {
            let target = request.header("x-amz-target").unwrap_or_default();
            match target.starts_with("DynamoDB_") {
                true => pass(request, dynamodb),
                false => pass(request, others),
            }
        })?;
        let rules = Arc::default();
        Ok(Proxy { listening, rules })
    }

    /// Where clients find it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// How often each rule was applied, in their order.
    pub(crate) fn applied(&self) -> Vec<u64> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().map(|kept| kept.applied).collect()
    }
}

fn chosen(request: &Message, rules: &Mutex<Vec<Kept>>) -> Option<Fault> {
    let mut rules = rules.lock().unwrap_or_else(PoisonError::into_inner);
    let target = request.header("x-amz-target").unwrap_or_default();
    let name = target.rsplit('.').next().unwrap_or_default();
    let mut fault = None;
    for kept in rules.iter_mut() {
        let operation = kept.rule.operation;
        if operation != name && !request.start.starts_with(operation) {
            continue;
        }
        // Counted even if an earlier rule decides: a rule's count does not depend on its neighbours.
        kept.matched += 1;
        if fault.is_none() && kept.rule.when.now(kept.matched) {
            kept.applied += 1;
            fault = Some(kept.rule.fault.clone());
        }
    }
    fault
}

fn act(request: &Message, fault: Option<Fault>, upstream: SocketAddr) -> Reply {
    match fault {
        None => pass(request, upstream),
        Some(Fault::DropRequest) => Reply::Cut,
        Some(Fault::DropAnswer) => {
            pass(request, upstream);
            Reply::Cut
        }
        Some(Fault::Delay(delay)) => {
            std::thread::sleep(delay);
            pass(request, upstream)
        }
        Some(Fault::Says(body)) => Reply::Bytes(answers::said(body)),
        Some(fault) => Reply::Bytes(answers::to(request, &fault)),
    }
}

/// Asks the emulator, once, over a connection of its own. What the emulator does not answer, the client does not get.
fn pass(request: &Message, upstream: SocketAddr) -> Reply {
    let method = request.start.split(' ').next().unwrap_or_default();
    let asked = || -> io::Result<Vec<u8>> {
        let mut stream = BufReader::new(TcpStream::connect(upstream)?);
        stream.get_mut().write_all(&request.bytes())?;
        Ok(wire::answer(&mut stream, method)?.bytes())
    };
    asked().map_or(Reply::Cut, Reply::Bytes)
}
