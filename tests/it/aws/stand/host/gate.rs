//! A gate that everything between a machine and the world goes through.

use std::sync::{Condvar, Mutex, PoisonError};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Open,
    Shut,
    /// Whoever waits gives up.
    Gone,
}

pub(super) struct Gate {
    is: Mutex<Is>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new() -> Gate {
        Gate {
            is: Mutex::new(Is::Open),
            changed: Condvar::new(),
        }
    }

    pub(super) fn open(&self) {
        self.set(Is::Open);
    }

    pub(super) fn shut(&self) {
        self.set(Is::Shut);
    }

    pub(super) fn remove(&self) {
        self.set(Is::Gone);
    }

    /// Waits while it is shut. Whether something can go on.
    pub(super) fn pass(&self) -> bool {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        let is = self.changed.wait_while(is, |is| *is == Is::Shut);
        *is.unwrap_or_else(PoisonError::into_inner) == Is::Open
    }

    fn set(&self, to: Is) {
        let mut is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        if *is != Is::Gone {
            *is = to;
        }
        self.changed.notify_all();
    }
}
