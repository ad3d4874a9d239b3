//! The world outside, which remembers every effect that ever happened there.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::shared::Shared;
use super::watch::Watch;

/// What happened, by call.
#[derive(Default)]
pub struct Outside {
    effects: Mutex<BTreeMap<String, u32>>,
    /// Calls of the model that were reported, by Turn id.
    model_calls: Mutex<BTreeMap<String, u64>>,
}

/// Tokens that each call of the model reads.
pub const TOKENS_READ: u64 = 3;

impl Outside {
    /// A call of the model is about to be reported.
    pub fn model_called(&self, turn: &str) {
        let mut calls = self.model_calls.lock().expect("no program panics with it");
        *calls.entry(turn.to_owned()).or_default() += 1;
    }

    /// Tokens that a Turn can have read at most.
    pub fn tokens_read(&self, turn: &str) -> u64 {
        let calls = self.model_calls.lock().expect("no program panics with it");
        calls.get(turn).copied().unwrap_or_default() * TOKENS_READ
    }

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
