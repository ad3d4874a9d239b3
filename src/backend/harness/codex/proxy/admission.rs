//! Who may ask: a token for each run of a harness, what it may spend, and what the harness is told.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_encoding::HEXLOWER;
use ring::hmac;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};

use crate::backend::harness::codex::mcp::http::Relay;
use crate::backend::local::ids;
use crate::engine::ports::{Fenced, ModelError, ModelUsage};

/// What the harness has not read yet; more waits.
const UNREAD: usize = 16;

/// What a run may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Model calls that are still allowed. One more is refused with `usage_limit_exceeded`.
    pub model_calls: u32,
}

/// What the harness is told of the agent's talk with the model. `thread` is the agent's own name for the conversation, if it gives one.
#[derive(Debug)]
pub enum FromProxy {
    /// The agent asks the model. The request is held back until `go` is answered: after an error the provider never sees it.
    Asked {
        /// The conversation.
        thread: Option<String>,
        /// What of the request's input tells the model how its calls ended, and what other agents let it know, oldest first.
        news: Vec<Value>,
        /// Messages of the user in it, and what the agent tells in their place.
        messages: usize,
        /// It is about the conversation and no part of it: the agent has its history shortened.
        is_aside: bool,
        /// Whether the model may be asked.
        go: oneshot::Sender<Result<(), Fenced>>,
    },
    /// The model calls a tool. This, and what follows it, is held back until `go` is answered: after an error it never arrives.
    Call {
        /// The conversation.
        thread: Option<String>,
        /// The finished output item.
        item: Value,
        /// Whether the agent may see it.
        go: oneshot::Sender<Result<(), Fenced>>,
    },
    /// The model wrote a message.
    Message {
        /// The conversation.
        thread: Option<String>,
        /// The finished output item.
        item: Value,
    },
    /// The model reasoned, or its provider searched the web for it.
    Kept {
        /// The conversation.
        thread: Option<String>,
        /// The finished output item, with what the provider wants back.
        item: Value,
    },
    /// A model call ended. It is told before the agent can know.
    Usage {
        /// The conversation.
        thread: Option<String>,
        /// Its tokens; nothing if the provider does not say.
        usage: ModelUsage,
    },
    /// The provider refused, failed or fell silent, or the budget is spent. The agent may ask again.
    Failed {
        /// The conversation.
        thread: Option<String>,
        /// Why.
        error: ModelError,
    },
}

/// How a token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It opens.
    Good,
    /// A newer run of its Session was let in.
    Superseded,
    /// Its run is over.
    Over,
}

/// Why a token opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shut {
    /// It is none of ours, or its run is over.
    Unknown,
    /// A newer run of its Session was let in.
    Superseded,
}

/// One run that was let in.
pub struct Pass {
    session: String,
    state: watch::Sender<State>,
    model_calls: AtomicU32,
    to_harness: mpsc::Sender<FromProxy>,
    mcp: Option<Arc<Relay>>,
}

impl Pass {
    /// Takes one model call of the budget. `false`: it is spent.
    pub fn spend(&self) -> bool {
        self.model_calls
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(1)
            })
            .is_ok()
    }

    /// Tells the harness. `Err`: nobody listens any more, so nobody would record what the agent does.
    pub async fn tell(&self, what: FromProxy) -> Result<(), Fenced> {
        tokio::select! {
            () = self.ended() => Err(Fenced),
            told = self.to_harness.send(what) => told.map_err(|_| Fenced),
        }
    }

    /// Returns when this run may speak no more.
    pub async fn ended(&self) {
        let mut state = self.state.subscribe();
        // The sender is in here, so it is there as long as this waits.
        let _ = state.wait_for(|state| *state != State::Good).await;
    }

    /// The way to its MCP servers.
    pub fn mcp(&self) -> Option<&Arc<Relay>> {
        self.mcp.as_ref()
    }

    /// Whose Session it works on.
    pub fn session(&self) -> &str {
        &self.session
    }
}

/// All runs that were let in and are not over.
pub struct Door {
    key: hmac::Key,
    next: AtomicU64,
    passes: Mutex<HashMap<u64, Arc<Pass>>>,
}

impl Door {
    /// Nobody is let in yet.
    pub fn new() -> Door {
        let mut secret = [0; 32];
        ids::fill(&mut secret);
        Door {
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
            next: AtomicU64::new(1),
            passes: Mutex::default(),
        }
    }

    /// A new run of this Session.
    pub fn admit(
        self: &Arc<Door>,
        session: &str,
        budget: Budget,
        mcp: Option<Arc<Relay>>,
    ) -> (Admission, mpsc::Receiver<FromProxy>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (to_harness, from_proxy) = mpsc::channel(UNREAD);
        let pass = Pass {
            session: session.to_owned(),
            state: watch::Sender::new(State::Good),
            model_calls: AtomicU32::new(budget.model_calls),
            to_harness,
            mcp,
        };
        let tag = hmac::sign(&self.key, number.to_string().as_bytes());
        let token = format!("{number}.{}", HEXLOWER.encode(tag.as_ref()));
        let mut passes = self.passes();
        for older in passes.values().filter(|older| older.session == session) {
            older.state.send_replace(State::Superseded);
        }
        passes.insert(number, Arc::new(pass));
        let admission = Admission {
            number,
            token,
            door: Arc::clone(self),
        };
        (admission, from_proxy)
    }

    /// Whose token this is. The tag is compared in constant time, and its number is no secret.
    pub fn open(&self, token: &str) -> Result<Arc<Pass>, Shut> {
        let (number, tag) = token.split_once('.').ok_or(Shut::Unknown)?;
        let tag = HEXLOWER.decode(tag.as_bytes()).map_err(|_| Shut::Unknown)?;
        hmac::verify(&self.key, number.as_bytes(), &tag).map_err(|_| Shut::Unknown)?;
        let number: u64 = number.parse().map_err(|_| Shut::Unknown)?;
        let pass = self.passes().get(&number).cloned().ok_or(Shut::Unknown)?;
        let state = *pass.state.borrow();
        match state {
            State::Good => Ok(pass),
            State::Superseded => Err(Shut::Superseded),
            State::Over => Err(Shut::Unknown),
        }
    }

    /// Ends all runs.
    pub fn close(&self) {
        for (_, pass) in self.passes().drain() {
            pass.state.send_replace(State::Over);
        }
    }

    fn leave(&self, number: u64) {
        if let Some(pass) = self.passes().remove(&number) {
            pass.state.send_replace(State::Over);
        }
    }

    fn passes(&self) -> MutexGuard<'_, HashMap<u64, Arc<Pass>>> {
        self.passes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One run's right to ask. When it is dropped, its token opens nothing, and what is still streaming is cut.
pub struct Admission {
    number: u64,
    token: String,
    door: Arc<Door>,
}

impl Admission {
    /// What the agent shows in place of a key. It can't be guessed, and it is worth nothing elsewhere.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl std::fmt::Debug for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admission")
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        self.door.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE_CALL: Budget = Budget { model_calls: 1 };

    fn shut(door: &Door, token: &str) -> Option<Shut> {
        door.open(token).err()
    }

    #[test]
    fn a_token_opens_until_its_run_is_over() {
        let door = Arc::new(Door::new());
        let (admission, _from) = door.admit("sess_1", ONE_CALL, None);
        let token = admission.token().to_owned();
        assert_eq!(
            door.open(&token).map(|pass| pass.session().to_owned()),
            Ok("sess_1".to_owned())
        );
        drop(admission);
        assert_eq!(shut(&door, &token), Some(Shut::Unknown));
    }

    #[test]
    fn a_newer_run_of_the_same_session_shuts_the_older_one_out() {
        let door = Arc::new(Door::new());
        let (older, _from) = door.admit("sess_1", ONE_CALL, None);
        let (other, _from) = door.admit("sess_2", ONE_CALL, None);
        let (newer, _from) = door.admit("sess_1", ONE_CALL, None);
        assert_eq!(shut(&door, older.token()), Some(Shut::Superseded));
        assert_eq!(shut(&door, other.token()), None);
        assert_eq!(shut(&door, newer.token()), None);
        // Whichever leaves first: the older one never comes back.
        drop(newer);
        assert_eq!(shut(&door, older.token()), Some(Shut::Superseded));
    }

    #[test]
    fn nothing_but_the_very_token_opens() {
        let door = Arc::new(Door::new());
        let (admission, _from) = door.admit("sess_1", ONE_CALL, None);
        let token = admission.token();
        let (number, tag) = token.split_once('.').expect("it has two parts");
        let mut flipped = tag.to_owned();
        flipped.replace_range(..1, if tag.starts_with('0') { "1" } else { "0" });
        for other in [
            String::new(),
            ".".to_owned(),
            number.to_owned(),
            format!("{number}."),
            format!("{number}.{flipped}"),
            format!("{number}.{}", &tag[1..]),
            format!("{number}.{}", tag.to_uppercase()),
            format!("2.{tag}"),
            format!("0{token}"),
            format!("{token}0"),
        ] {
            if other == token {
                continue;
            }
            assert_eq!(shut(&door, &other), Some(Shut::Unknown), "{other}");
        }
        let elsewhere = Arc::new(Door::new());
        let (_same_number, _from) = elsewhere.admit("sess_1", ONE_CALL, None);
        assert_eq!(shut(&elsewhere, token), Some(Shut::Unknown));
        assert!(!format!("{admission:?}").contains(tag));
    }

    #[test]
    fn a_budget_is_spent_once() {
        let door = Arc::new(Door::new());
        let (admission, _from) = door.admit("sess_1", Budget { model_calls: 2 }, None);
        let pass = door.open(admission.token()).expect("it is good");
        assert_eq!(
            [pass.spend(), pass.spend(), pass.spend(), pass.spend()],
            [true, true, false, false]
        );
    }
}
