//! The world outside, which remembers every effect that ever happened there.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::shared::Shared;
use super::watch::Watch;

/// What happened, by call.
#[derive(Default)]
pub struct Outside {
    effects: Mutex<BTreeMap<String, u32>>,
}

impl Outside {
    /// An effect happens. It must be recorded as claimed, and must not have happened before.
    pub fn happens(&self, shared: &Shared, watch: &Watch, session: &str, call_id: &str) {
        shared.count("effects");
        if !watch.is_claimed(session, call_id) {
            shared.broken(
                "I6",
                &format!("{session}: {call_id} happened and is not claimed"),
            );
        }
        let times = {
            let mut effects = self.effects.lock().expect("no program panics with it");
            let times = effects.entry(call_id.to_owned()).or_default();
            *times += 1;
            *times
        };
        if times > 1 {
            shared.broken(
                "I7",
                &format!("{session}: {call_id} happened {times} times"),
            );
        }
    }
}
