//! Calls of tools that were passed on to a server, and what came of them. Each is passed on once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The server answered: an object with `result` or `error`.
    Answered(Value),
    /// It certainly did not reach the server, for this reason.
    Unsent(String),
    /// It was sent, and there will be no answer, for this reason. It may have had its effect.
    Unknown(String),
}

/// A call that is over.
#[derive(Clone, Debug, PartialEq)]
pub struct CallEnd {
    /// What came of it.
    pub outcome: Outcome,
    /// From when it was passed on.
    pub duration_ms: u64,
}

/// All calls of one process of Codex, by the ids under which they are recorded: a provider may give an id twice.
#[derive(Default)]
pub struct Calls(Mutex<HashMap<String, Arc<OneCall>>>);

struct OneCall {
    /// Its server, by its place.
    server: usize,
    rpc_id: Value,
    since: Instant,
    end: watch::Sender<Option<CallEnd>>,
}

impl OneCall {
    fn is_open(&self) -> bool {
        self.end.borrow().is_none()
    }

    fn over(&self, outcome: Outcome) {
        let passed = self.since.elapsed().as_millis();
        self.end.send_replace(Some(CallEnd {
            outcome,
            duration_ms: u64::try_from(passed).unwrap_or(u64::MAX),
        }));
    }
}

impl Calls {
    /// A call is about to be passed on. `false`: it was before, and must not be again.
    pub fn begin(&self, call_id: &str, server: usize, rpc_id: Value) -> bool {
        let mut all = self.lock();
        if all.contains_key(call_id) {
            return false;
        }
        let call = OneCall {
            server,
            rpc_id,
            since: Instant::now(),
            end: watch::Sender::new(None),
        };
        all.insert(call_id.to_owned(), Arc::new(call));
        true
    }

    /// The server did not take the call, by its own account: it may be passed on again.
    pub fn forget(&self, call_id: &str) {
        self.lock().remove(call_id);
    }

    /// A server answered. If it was no call, nothing happens.
    pub fn answered(&self, server: usize, rpc_id: &Value, answer: Value) {
        let all = self.lock();
        let mut open = all.values().filter(|call| call.is_open());
        if let Some(call) = open.find(|call| call.server == server && call.rpc_id == *rpc_id) {
            call.over(Outcome::Answered(answer));
        }
    }

    /// A call ended in another way, unless it is over already.
    pub fn ended(&self, call_id: &str, outcome: Outcome) {
        if let Some(call) = self.of(call_id).filter(|call| call.is_open()) {
            call.over(outcome);
        }
    }

    /// A server is gone: what it was asked will not be answered.
    pub fn server_gone(&self, server: usize, why: &str) {
        let all = self.lock();
        for call in all.values().filter(|call| call.server == server) {
            if call.is_open() {
                call.over(Outcome::Unknown(why.to_owned()));
            }
        }
    }

    /// What came of a call, if it is over.
    pub fn end(&self, call_id: &str) -> Option<CallEnd> {
        self.of(call_id)?.end.borrow().clone()
    }

    /// Waits until a call is over. Returns at once if none of this id was passed on.
    pub async fn end_of(&self, call_id: &str) {
        if let Some(call) = self.of(call_id) {
            let _ = call.end.subscribe().wait_for(Option::is_some).await;
        }
    }

    fn of(&self, call_id: &str) -> Option<Arc<OneCall>> {
        self.lock().get(call_id).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<OneCall>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(calls: &Calls, id: &str) -> Option<Outcome> {
        calls.end(id).map(|end| end.outcome)
    }

    #[test]
    fn a_call_is_passed_on_once_and_ends_once() {
        let calls = Calls::default();
        assert!(calls.begin("a", 0, json!(1)));
        assert!(!calls.begin("a", 0, json!(2)));
        // Another server's answer of the same number is another one's.
        calls.answered(1, &json!(1), json!({"result": 0}));
        assert_eq!(outcome(&calls, "a"), None);
        calls.answered(0, &json!(1), json!({"result": 1}));
        calls.answered(0, &json!(1), json!({"result": 2}));
        calls.ended("a", Outcome::Unsent("late".into()));
        calls.server_gone(0, "it ended");
        let first = Outcome::Answered(json!({"result": 1}));
        assert_eq!(outcome(&calls, "a"), Some(first));
        assert!(!calls.begin("a", 0, json!(3)));
    }

    #[test]
    fn what_a_server_did_not_take_may_be_passed_on_again() {
        let calls = Calls::default();
        assert!(calls.begin("a", 0, json!(1)));
        calls.forget("a");
        assert!(calls.begin("a", 0, json!(4)));
    }

    #[tokio::test]
    async fn with_a_server_go_the_answers_that_are_awaited_of_it() {
        let calls = Calls::default();
        for (id, server) in [("a", 0), ("b", 1)] {
            assert!(calls.begin(id, server, json!(1)));
        }
        calls.server_gone(0, "it ended");
        calls.end_of("a").await;
        calls.end_of("never passed on").await;
        let gone = Outcome::Unknown("it ended".into());
        assert_eq!(outcome(&calls, "a"), Some(gone));
        assert_eq!(outcome(&calls, "b"), None);
    }
}
