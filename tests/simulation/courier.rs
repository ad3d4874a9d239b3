//! The destinations of notifications, which count what arrives.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rat_things::engine::ports::{Courier, Parcel, Sent};

use super::faults::Fault;
use super::life::Life;
use super::sabotage::Sabotage;
use super::shared::Shared;

/// How often each notification was sent and arrived, by its id.
#[derive(Default)]
pub struct Post {
    state: Mutex<BTreeMap<String, Tally>>,
}

#[derive(Clone, Copy, Default)]
struct Tally {
    /// Attempts after which it may be there.
    arrived: u32,
    /// Times that a person wanted it sent again.
    wanted_again: u32,
}

impl Post {
    /// A person wants it sent again.
    pub fn again(&self, id: &str) {
        self.state().entry(id.to_owned()).or_default().wanted_again += 1;
    }

    fn arrive(&self, shared: &Shared, id: &str) {
        let tally = {
            let mut state = self.state();
            let tally = state.entry(id.to_owned()).or_default();
            tally.arrived += 1;
            *tally
        };
        shared.count("notifications arrived");
        if tally.arrived > 1 + tally.wanted_again {
            let what = format!("delivery {id} arrived {} times", tally.arrived);
            shared.broken("I9", &what);
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Tally>> {
        self.state.lock().expect("no program panics with it")
    }
}

/// The way out as one daemon has it.
pub struct SimCourier {
    /// Whose.
    pub life: Arc<Life>,
    /// Everybody's.
    pub post: Arc<Post>,
    /// What is wrong on purpose.
    pub sabotage: Sabotage,
}

#[async_trait]
impl Courier for SimCourier {
    async fn send(&self, parcel: &Parcel) -> Sent {
        self.life.instant("parcel").await;
        let shared = &self.life.shared;
        let possible = [
            Fault::CourierFails,
            Fault::CourierUncertain,
            Fault::CourierHangs,
        ];
        let answer = match shared.one_of(&possible) {
            None => Sent::Delivered,
            Some(Fault::CourierFails) => Sent::Failed {
                message: "no answer".into(),
                retryable: shared.below(4) > 0,
            },
            Some(Fault::CourierUncertain) => Sent::Uncertain("cut off".into()),
            Some(_) => {
                tokio::time::sleep(Duration::from_secs(100)).await;
                Sent::Delivered
            }
        };
        let arrives = match &answer {
            Sent::Delivered => true,
            Sent::Failed { .. } => false,
            Sent::Uncertain(_) => shared.below(2) == 0,
        };
        if arrives {
            self.post.arrive(shared, &parcel.delivery_id);
            if self.sabotage == Sabotage::DeliverTwice {
                self.post.arrive(shared, &parcel.delivery_id);
            }
        }
        self.life.instant("parcel sent").await;
        answer
    }
}
