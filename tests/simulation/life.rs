//! One life of a program: it can be killed, or stopped and let go on, at each of its calls to the world.
//!
//! A killed program never gets an answer again. As everything it does goes through its ports, that is the same as its end at that
//! very moment.

use std::future::pending;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rat_things::engine::ports::Clock;
use tokio::sync::Notify;

use super::shared::Shared;

/// What a program is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One command of a client.
    Client,
    /// It dispatches and delivers.
    Daemon,
    /// It runs Sessions.
    Worker,
}

/// What becomes of a program at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Goes,
    /// It is killed.
    Dies,
    /// It stops for so many milliseconds.
    Freezes(u64),
    /// The call takes so many milliseconds.
    Stalls(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Goes,
    Frozen,
    Dead,
}

/// See the module.
pub struct Life {
    /// As the trace has it; for a worker the name of its execution.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// The world.
    pub shared: Arc<Shared>,
    /// By how much its clock is ahead of the others. Milliseconds.
    ahead_ms: i64,
    state: Mutex<State>,
    /// Wakes in the order in which it was waited for, which a watch channel does not.
    changed: Notify,
}

impl Life {
    /// A program that begins.
    pub fn new(name: impl Into<String>, role: Role, shared: &Arc<Shared>) -> Arc<Life> {
        Arc::new(Life {
            name: name.into(),
            role,
            shared: Arc::clone(shared),
            ahead_ms: shared.clock_of_next(),
            state: Mutex::new(State::Goes),
            changed: Notify::new(),
        })
    }

    fn state(&self) -> State {
        *self.state.lock().expect("no program panics with it")
    }

    /// Whether it was otherwise before.
    fn turn(&self, state: State, from: &[State]) -> bool {
        let changes = {
            let mut now = self.state.lock().expect("no program panics with it");
            let changes = from.contains(&*now);
            if changes {
                *now = state;
            }
            changes
        };
        if changes {
            self.changed.notify_waiters();
        }
        changes
    }

    /// Waits until its state is as wanted.
    async fn until(&self, wanted: impl Fn(State) -> bool) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if wanted(self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// It ends here.
    pub fn die(&self) {
        if self.turn(State::Dead, &[State::Goes, State::Frozen]) {
            self.shared.count("program deaths");
            self.shared.note(format_args!("{} is dead", self.name));
        }
    }

    /// Whether it has ended.
    pub fn is_dead(&self) -> bool {
        self.state() == State::Dead
    }

    /// Whether it goes on now.
    pub fn goes(&self) -> bool {
        self.state() == State::Goes
    }

    /// Waits until it has ended.
    pub async fn died(&self) {
        self.until(|state| state == State::Dead).await;
    }

    /// It stops where it is.
    pub fn freeze(&self) {
        if self.turn(State::Frozen, &[State::Goes]) {
            self.shared.note(format_args!("{} stops", self.name));
        }
    }

    /// Whether it is stopped.
    pub fn is_frozen(&self) -> bool {
        self.state() == State::Frozen
    }

    /// It goes on, if it was stopped.
    pub fn thaw(&self) {
        if self.turn(State::Goes, &[State::Frozen]) {
            self.shared.note(format_args!("{} goes on", self.name));
        }
    }

    /// Waits while it is stopped; for ever, if it is dead.
    async fn while_stopped(&self) {
        if !self.goes() {
            self.until(|state| state != State::Frozen).await;
        }
        if self.is_dead() {
            pending::<()>().await;
        }
    }

    /// One instant: before or after a call to the world.
    pub async fn instant(self: &Arc<Self>, place: &str) {
        self.while_stopped().await;
        match self.shared.fate(self, place) {
            Fate::Goes => return,
            Fate::Dies => self.die(),
            Fate::Freezes(for_ms) => {
                self.turn(State::Frozen, &[State::Goes]);
                let life = Arc::clone(self);
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_millis(for_ms)).await;
                    life.thaw();
                });
            }
            Fate::Stalls(for_ms) => tokio::time::sleep(Duration::from_millis(for_ms)).await,
        }
        self.while_stopped().await;
    }
}

/// The clock as one program has it.
impl Clock for Life {
    fn now_ms(&self) -> u64 {
        self.shared.told_ms(self.ahead_ms)
    }
}
