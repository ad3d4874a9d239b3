//! A stand-in for EC2: the operations that are used here, over the query protocol, with an account in memory behind one lock.
//!
//! It does what AWS documents where emulators do not: a launch with a token that was used is the same launch, an instance is not seen at
//! once, and what can go wrong does so by rule. What EC2 has and this has not is refused, never left undone.
//!
//! Written from the API's reference, not seen on AWS: the order in which several things that are wrong are noticed, the words of messages,
//! and whether a refused launch uses up its token (here it does not).

mod account;
mod query;
mod refusal;
pub(crate) mod tests;
mod xml;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::account::Account;
pub(crate) use self::account::{Ended, Instance, Pace, Power, State};
use self::query::Params;
pub(crate) use self::refusal::Refusal;
use super::listen::{Listening, Reply, listen};
use super::when::When;
use super::wire::Message;

const NAMESPACE: &str = "http://ec2.amazonaws.com/doc/2016-11-15/";

/// What a rule does to a request.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// It is refused with this code, before anything is done.
    Refused(&'static str),
    /// It is not heard, and the connection ends.
    RequestLost,
    /// It is done, and the connection ends before the answer.
    AnswerLost,
    /// It is done, and the answer is that it may not have been.
    DoneButFailed,
}

/// The first rule that applies to a request decides.
pub(crate) struct Rule {
    /// The operation, such as `RunInstances`.
    pub(crate) action: &'static str,
    /// What the request's parameters contain, such as a subnet's id; empty for all.
    pub(crate) about: String,
    pub(crate) when: When,
    pub(crate) trouble: Trouble,
}

#[derive(Default)]
struct Rules {
    /// Each with the number of requests that it was for.
    kept: Vec<(Rule, u64)>,
    /// Requests by operation, those that nobody answered as well.
    counts: BTreeMap<String, u64>,
}

struct Shared {
    account: Mutex<Account>,
    rules: Mutex<Rules>,
    switch: Option<Switch>,
}

/// What switches machines on and off. It is called while the account is locked.
type Switch = Box<dyn Fn(&Region, Power) + Send + Sync>;

/// The account in its region, for the machines in it.
#[derive(Clone)]
pub(crate) struct Region(Arc<Shared>);

/// A running stand-in. It ends when it is dropped.
pub(crate) struct Ec2 {
    listening: Listening,
    region: Region,
}

impl Ec2 {
    /// In this region, with a default network and nothing else.
    pub(crate) fn start(region: &str) -> io::Result<Ec2> {
        Ec2::with(region, None)
    }

    /// The same with machines, which tell the region when they are up and when they have ended.
    pub(super) fn with_machines(region: &str, switch: Switch) -> io::Result<Ec2> {
        Ec2::with(region, Some(switch))
    }

    fn with(region: &str, switch: Option<Switch>) -> io::Result<Ec2> {
        static SEED: AtomicU64 = AtomicU64::new(1);
        let mut account = Account::new(region, SEED.fetch_add(1, Ordering::Relaxed));
        account.machines = switch.is_some();
        let region = Region(Arc::new(Shared {
            account: Mutex::new(account),
            rules: Mutex::default(),
            switch,
        }));
        let known = region.clone();
        let listening = listen(move |request| known.answer(request))?;
        Ok(Ec2 { listening, region })
    }

    /// Where clients find it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.listening.address)
    }

    /// One more rule, behind those that there are.
    pub(crate) fn rule(&self, action: &'static str, when: When, trouble: Trouble) {
        self.rule_about(action, String::new(), when, trouble);
    }

    /// The same for requests with this text among their parameters.
    pub(crate) fn rule_about(
        &self,
        action: &'static str,
        about: String,
        when: When,
        trouble: Trouble,
    ) {
        let rule = Rule {
            action,
            about,
            when,
            trouble,
        };
        locked(&self.region.0.rules).kept.push((rule, 0));
    }

    /// From now on nothing goes wrong.
    pub(crate) fn calm(&self) {
        locked(&self.region.0.rules).kept.clear();
    }

    /// How many requests there were for an operation.
    pub(crate) fn count(&self, action: &str) -> u64 {
        let rules = locked(&self.region.0.rules);
        rules.counts.get(action).copied().unwrap_or_default()
    }

    /// How long what comes now will take.
    pub(crate) fn pace(&self, pace: Pace) {
        locked(&self.region.0.account).pace = pace;
    }

    /// Answers have no more results than this on a page.
    pub(crate) fn page(&self, results: usize) {
        locked(&self.region.0.account).page = results;
    }

    /// What is on its way arrives: all instances are seen, and those that shut down have ended.
    pub(crate) fn hurry(&self) {
        let mut account = locked(&self.region.0.account);
        let powers = account.hurry();
        account.powers.extend(powers);
        self.region.switch(&mut account);
    }

    /// What there is of every instance, those that nobody can see yet as well, in the order of their launches.
    pub(crate) fn instances<T>(&self, look: impl Fn(&Instance) -> T) -> Vec<T> {
        let account = locked(&self.region.0.account);
        account.instances().iter().map(look).collect()
    }

    /// An instance ends by itself, by its host, or because its capacity is needed.
    pub(crate) fn end(&self, id: &str, why: Ended) {
        self.region.ended(id, why);
    }

    /// An instance was launched so long ago.
    pub(crate) fn backdate(&self, id: &str, by: Duration) {
        locked(&self.region.0.account).backdate(id, by);
    }

    /// An instance that ended is not known any more.
    pub(crate) fn forget(&self, id: &str) {
        locked(&self.region.0.account).forget(id);
    }
}

impl Region {
    /// What it is called.
    pub(super) fn name(&self) -> String {
        locked(&self.0.account).region().to_owned()
    }

    /// What there is of an instance.
    pub(super) fn look<T>(&self, id: &str, look: impl FnOnce(&Instance) -> T) -> Option<T> {
        let account = locked(&self.0.account);
        let found = account
            .instances()
            .iter()
            .find(|instance| instance.id == id);
        found.map(look)
    }

    /// An instance's machine is up.
    pub(super) fn up(&self, id: &str) {
        locked(&self.0.account).up(id);
    }

    /// An instance has ended.
    pub(super) fn ended(&self, id: &str, why: Ended) {
        locked(&self.0.account).ended(id, why);
    }

    fn answer(&self, request: &Message) -> Reply {
        let form = request.text();
        let params = Params::parse(&form);
        let action = params.text(&["Action"]).unwrap_or_default();
        let trouble = locked(&self.0.rules).chosen(action, &params);
        if let Err(refusal) = signed(request) {
            return told(action, Err(refusal));
        }
        match trouble {
            Some(Trouble::RequestLost) => Reply::Cut,
            Some(Trouble::Refused(code)) => told(action, Err(Refusal::by_rule(code))),
            Some(Trouble::AnswerLost) => {
                // Nobody hears whether it was refused.
                drop(self.act(&params));
                Reply::Cut
            }
            Some(Trouble::DoneButFailed) => {
                drop(self.act(&params));
                told(action, Err(Refusal::by_rule("InternalError")))
            }
            None => told(action, self.act(&params)),
        }
    }

    fn act(&self, params: &Params) -> Result<xml::Xml, Refusal> {
        let mut account = locked(&self.0.account);
        let answer = account.act(params);
        self.switch(&mut account);
        answer
    }

    fn switch(&self, account: &mut Account) {
        for power in std::mem::take(&mut account.powers) {
            if let Some(switch) = &self.0.switch {
                switch(self, power);
            }
        }
    }
}

impl Rules {
    fn chosen(&mut self, action: &str, params: &Params) -> Option<Trouble> {
        *self.counts.entry(action.to_owned()).or_default() += 1;
        let mut trouble = None;
        for (rule, matched) in &mut self.kept {
            if rule.action != action || !params.contain(&rule.about) {
                continue;
            }
            // Counted even if an earlier rule decides: a rule's count does not depend on its neighbours.
            *matched += 1;
            if trouble.is_none() && rule.when.now(*matched) {
                trouble = Some(rule.trouble.clone());
            }
        }
        trouble
    }
}

/// The signature itself is not checked, but that there is one, made for EC2.
fn signed(request: &Message) -> Result<(), Refusal> {
    let header = request.header("authorization").unwrap_or_default();
    match header.contains("/ec2/aws4_request") {
        true => Ok(()),
        false => {
            let message = "AWS was not able to validate the provided access credentials";
            Err(Refusal::new("AuthFailure", message).status(401))
        }
    }
}

fn told(action: &str, answer: Result<xml::Xml, Refusal>) -> Reply {
    let (status, body) = match answer {
        Ok(xml) => (200, {
            let xml = xml.with("requestId", Some(xml::text("stand-in")));
            xml.document(&format!("{action}Response"), Some(NAMESPACE))
        }),
        Err(refusal) => (refusal.status, refusal.document()),
    };
    let length = body.len();
    Reply::Bytes(
        format!("HTTP/1.1 {status} Answered\r\ncontent-type: text/xml;charset=UTF-8\r\ncontent-length: {length}\r\n\r\n{body}")
            .into_bytes(),
    )
}

/// A test that failed while it held the lock has said so already.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
