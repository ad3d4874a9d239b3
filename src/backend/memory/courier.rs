//! A courier that answers by script and remembers what it was given.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;

use crate::engine::ports::{Courier, Parcel, Sent};

/// Gives the scripted answers in order, then delivers everything.
#[derive(Debug, Default)]
pub struct ScriptedCourier {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    answers: VecDeque<Sent>,
    sent: Vec<Parcel>,
}

impl ScriptedCourier {
    /// Delivers everything.
    pub fn new() -> ScriptedCourier {
        ScriptedCourier::default()
    }

    /// Adds an answer behind those that were added before.
    pub fn will(&self, answer: Sent) {
        self.state().answers.push_back(answer);
    }

    /// All attempts so far.
    pub fn attempts(&self) -> Vec<Parcel> {
        self.state().sent.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }
}

#[async_trait]
impl Courier for ScriptedCourier {
    async fn send(&self, parcel: &Parcel) -> Sent {
        let mut state = self.state();
        state.sent.push(parcel.clone());
        state.answers.pop_front().unwrap_or(Sent::Delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_come_in_order_and_then_it_delivers() {
        let courier = ScriptedCourier::new();
        courier.will(Sent::Uncertain("no answer".to_owned()));
        let parcel = Parcel {
            delivery_id: "dlv_1".to_owned(),
            destination: "http://127.0.0.1/".to_owned(),
            body: bytes::Bytes::from_static(b"{}"),
        };
        assert_eq!(
            courier.send(&parcel).await,
            Sent::Uncertain("no answer".to_owned())
        );
        assert_eq!(courier.send(&parcel).await, Sent::Delivered);
        assert_eq!(courier.attempts(), vec![parcel.clone(), parcel]);
    }
}
