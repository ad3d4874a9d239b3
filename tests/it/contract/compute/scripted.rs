//! Compute by script.

use std::sync::{Arc, Mutex};

use rat_things::backend::memory::compute::ScriptedCompute;

use super::*;

fn subject() -> Subject {
    let compute = ScriptedCompute::new();
    compute.set_room(Some(ROOM));
    let (worker, killer) = (compute.clone(), compute.clone());
    let seen = Mutex::new(Vec::new());
    Subject {
        compute: Arc::new(compute),
        started: Box::new(move || {
            let mut seen = seen.lock().expect("no test thread panicked");
            seen.extend(std::iter::from_fn(|| worker.next_grant()));
            seen.clone()
        }),
        kill: Box::new(move |name| killer.kill(name)),
        _world: Box::new(()),
    }
}

suite!();
