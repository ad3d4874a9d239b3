//! What becomes of a Session that comes to another store: a pure function of its head, its rows and where it comes to.
//!
//! It arrives interrupted: nobody works on it here, whatever held it there. Its active Turn is then picked up like that of any lost
//! worker, under a new generation; calls that were in flight are marked unknown by that. Nothing is sent to anybody from here
//! that may have been sent from there.

use super::error::ArchiveError;
use crate::engine::core::encode;
use crate::engine::delivery::{DeliveryEvent, DeliveryRow, next as next_delivery};
use crate::engine::fence::{RunRow, RunState};
use crate::engine::keys;
use crate::engine::ports::Isolation;
use crate::engine::session::{Agenda, Head};
use crate::engine::sessions::{Config, isolation_note};

/// Generations that an arriving Session leaves out. A worker here may remember an earlier life of the same Session, which went
/// further than the archive; none of what it remembers may pass for this one.
const GENERATIONS_LEFT_OUT: u64 = 1_000;

/// What is said of a Run that was left behind.
const LEFT_BEHIND: &str = "left behind in the store that the session was exported from";
/// What is said of a delivery that was owed there.
const OWED_ELSEWHERE: &str =
    "the session was exported while this was owed; the store it came from may have sent it";

/// Where a Session comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Arrival {
    /// Its new owner.
    pub(super) owner: String,
    /// How commands may be isolated here at the least.
    pub(super) isolation: Isolation,
    /// When its import began. Unix ms.
    pub(super) at_ms: u64,
}

/// Whether somebody had the Session in hand when it was exported.
pub(super) fn was_held(head: &Head) -> bool {
    match head.fence.state() {
        RunState::Leased | RunState::Quarantined => true,
        RunState::Free => false,
    }
}

/// The head as it is here, before the commit that makes it visible: it owes nothing yet.
pub(super) fn head(exported: &Head, arrival: &Arrival, config: &Config) -> Head {
    let mut head = exported.clone();
    head.owner = arrival.owner.clone();
    if was_held(exported) {
        head.fence.lease = None;
        head.fence.quarantine = None;
        head.last_error = Some(LEFT_BEHIND.to_owned());
    }
    head.fence.last = None;
    head.fence.generation += GENERATIONS_LEFT_OUT;
    for pending in &mut head.pending {
        pending.claimed = 0;
    }
    if let Some(turn) = &mut head.turn {
        // That other clock's pause means nothing here.
        turn.not_before_ms = 0;
    }
    head.deliveries_due_ms = None;
    head.agenda = Agenda::default();
    head.isolation = isolation_note(config.environment.as_ref());
    head
}

/// The configuration as it holds here: commands leave the sandbox only where this store's operator allows it, too.
pub(super) fn config(mut exported: Config, arrival: &Arrival) -> Config {
    if let Some(environment) = &mut exported.environment
        && arrival.isolation == Isolation::Sandbox
    {
        environment.isolation = Isolation::Sandbox;
    }
    // Where they were elsewhere says nothing here.
    exported.variables = None;
    exported.tool_secrets = None;
    exported.vault_ids = Vec::new();
    exported
}

/// A row as it is stored here; `None`: not at all. Most are not touched.
pub(super) fn row(
    exported: &Head,
    arrival: &Arrival,
    sort: &str,
    value: Vec<u8>,
) -> Result<Option<Vec<u8>>, ArchiveError> {
    let refused =
        |e: serde_json::Error| ArchiveError::refused(format!("the row {sort} can't be read: {e}"));
    if sort == keys::CONFIG {
        let config_there: Config = serde_json::from_slice(&value).map_err(refused)?;
        let config_here = config(config_there.clone(), arrival);
        return Ok(Some(match config_here == config_there {
            true => value,
            false => encode(&config_here),
        }));
    }
    if was_held(exported) && keys::number(sort, "run/") == Some(exported.fence.generation) {
        let mut run: RunRow = serde_json::from_slice(&value).map_err(refused)?;
        if run.ended_ms.is_none() {
            run.ended_ms = Some(arrival.at_ms);
            run.end = Some(LEFT_BEHIND.to_owned());
            return Ok(Some(encode(&run)));
        }
    }
    if sort.starts_with("delivery/") {
        let delivery: DeliveryRow = serde_json::from_slice(&value).map_err(refused)?;
        if delivery.state.is_owed() {
            return Ok(Some(encode(&uncertain(delivery, arrival.at_ms))));
        }
    }
    if keys::parse_owed(sort).is_some() {
        return Ok(None);
    }
    Ok(Some(value))
}

/// A delivery that was owed elsewhere: it may have been sent, so it is never sent again by itself.
fn uncertain(mut delivery: DeliveryRow, at_ms: u64) -> DeliveryRow {
    for event in [DeliveryEvent::Claim, DeliveryEvent::LostSight] {
        // One that is being sent refuses to be claimed again, and needs not to be.
        if let Ok(state) = next_delivery(delivery.state, event) {
            delivery.state = state;
        }
    }
    delivery.changed_ms = at_ms;
    delivery.answer = Some(OWED_ELSEWHERE.to_owned());
    delivery
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use super::*;
    use crate::api::SessionAgent;
    use crate::engine::delivery::DeliveryState;
    use crate::engine::input::Body;
    use crate::engine::ports::{EnvironmentSpec, ExecutionId, Network};
    use crate::engine::session::{ActiveTurn, Pending};

    fn arrival(isolation: Isolation) -> Arrival {
        Arrival {
            owner: "new".into(),
            isolation,
            at_ms: 99,
        }
    }

    fn configured(isolation: Isolation) -> Config {
        Config {
            agent: Arc::new(SessionAgent::of_model("agent_a".to_owned(), "m".to_owned())),
            environment: Some(EnvironmentSpec {
                id: "env_a".into(),
                isolation,
                network: Network::Disabled,
                env: BTreeMap::new(),
            }),
            variables: None,
            tool_secrets: None,
            metadata: BTreeMap::new(),
            vault_ids: Vec::new(),
            files: Vec::new(),
        }
    }

    #[test]
    fn a_session_arrives_without_a_run_and_owes_its_turn() {
        let mut head_there = Head::new("old".into(), 1);
        let mut turn = ActiveTurn::queued(1);
        turn.not_before_ms = 1 << 50;
        head_there.turn = Some(turn);
        head_there.pending.push(Pending {
            input: 1,
            turn: 1,
            claimed: 3,
            item: None,
        });
        head_there.agenda.execute = Some(5);
        head_there.deliveries_due_ms = Some(5);
        head_there.fence.generation = 3;
        head_there
            .fence
            .claim(ExecutionId("x".into()), 10)
            .expect("free");
        let config = configured(Isolation::Sandbox);
        let here = head(&head_there, &arrival(Isolation::Sandbox), &config);
        assert_eq!(here.owner, "new");
        assert_eq!(here.fence.state(), RunState::Free);
        assert!(here.fence.generation > head_there.fence.generation);
        assert_eq!(here.pending[0].claimed, 0);
        assert_eq!(
            (here.agenda, here.delivery_due()),
            (Agenda::default(), None)
        );
        assert_eq!(here.execution_due(7), Some(7));
        assert_eq!(here.last_error.as_deref(), Some(LEFT_BEHIND));
        let run = RunRow {
            execution: ExecutionId("x".into()),
            turn: 1,
            started_ms: 2,
            ended_ms: None,
            end: None,
            program: None,
            began_anew: None,
        };
        let kept = row(
            &head_there,
            &arrival(Isolation::Sandbox),
            &keys::run(4),
            encode(&run),
        );
        let kept: RunRow =
            serde_json::from_slice(&kept.expect("a row").expect("stays")).expect("reads");
        assert_eq!(kept.ended_ms, Some(99));
    }

    #[test]
    fn commands_leave_the_sandbox_only_where_both_sides_say_so() {
        use Isolation::{Sandbox, UnsafeNone};
        for (there, here, then) in [
            (Sandbox, Sandbox, Sandbox),
            (UnsafeNone, Sandbox, Sandbox),
            (Sandbox, UnsafeNone, Sandbox),
            (UnsafeNone, UnsafeNone, UnsafeNone),
        ] {
            let config = config(configured(there), &arrival(here));
            let isolation = config.environment.as_ref().map(|e| e.isolation);
            assert_eq!(isolation, Some(then), "{there:?} {here:?}");
            let head = head(&Head::new("o".into(), 1), &arrival(here), &config);
            assert_eq!(head.isolation.is_some(), then == UnsafeNone);
        }
    }

    #[test]
    fn what_was_owed_elsewhere_is_uncertain_here() {
        use DeliveryState::{Delivered, Failed, Pending, Sending, Uncertain};
        for (there, then) in [
            (Pending, Uncertain),
            (Sending, Uncertain),
            (Delivered, Delivered),
            (Failed, Failed),
            (Uncertain, Uncertain),
        ] {
            let delivery = DeliveryRow {
                destination: "d".into(),
                event: "e".into(),
                body: Body::Inline(serde_json::Value::Null),
                state: there,
                attempts: 1,
                tries: 1,
                due_ms: 1,
                created_ms: 1,
                changed_ms: 1,
                answer: None,
            };
            let head = Head::new("o".into(), 1);
            let arrival = arrival(Isolation::Sandbox);
            let here = row(&head, &arrival, "delivery/dlv_a", encode(&delivery)).expect("a row");
            let here: DeliveryRow = serde_json::from_slice(&here.expect("stays")).expect("reads");
            assert_eq!(here.state, then, "{there}");
            let owed = row(&head, &arrival, &keys::owed(1, "dlv_a"), b"null".to_vec());
            assert_eq!(owed, Ok(None));
        }
    }
}
