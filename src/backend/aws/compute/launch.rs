//! What is asked of EC2 for one grant, and what it tells of machines: plain data, no client.

use super::names::{EXECUTION_TAG, GENERATION_TAG, SESSION_TAG, client_token, token_of};
use crate::backend::aws::setup::deployment::DEPLOYMENT_TAG;
use crate::engine::ports::{Liveness, Machine, MachineState, RunGrant};

/// What every launch of a deployment has in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// The deployment's name.
    pub deployment: String,
    /// Name of the launch template.
    pub template: String,
    /// Instead of the template's.
    pub instance_type: Option<String>,
    /// Where machines may be; the template says it if there is none.
    pub subnets: Vec<String>,
    /// Cheaper, and taken back when EC2 wants to.
    pub spot: bool,
}

/// One launch, ready to be sent. Repeated, it is the same launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) client_token: String,
    pub(super) template: String,
    pub(super) instance_type: Option<String>,
    pub(super) subnet: Option<String>,
    pub(super) spot: bool,
    pub(super) tags: Vec<(String, String)>,
    /// Base64.
    pub(super) user_data: String,
}

/// The launch of a grant. `None`: its execution is none of ours.
pub(super) fn order(options: &LaunchOptions, grant: &RunGrant, user_data: &str) -> Option<Order> {
    let token = token_of(&grant.execution)?;
    let tag = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    Some(Order {
        client_token: client_token(&options.deployment, grant),
        template: options.template.clone(),
        instance_type: options.instance_type.clone(),
        subnet: subnet(&options.subnets, grant.generation),
        spot: options.spot,
        tags: vec![
            tag("Name", &format!("{} {}", options.deployment, grant.session)),
            tag(DEPLOYMENT_TAG, &options.deployment),
            tag(SESSION_TAG, &grant.session),
            tag(GENERATION_TAG, &grant.generation.to_string()),
            tag(EXECUTION_TAG, token),
        ],
        user_data: data_encoding::BASE64.encode(user_data.as_bytes()),
    })
}

/// It follows from the grant, so that a repeat is the same launch; the next generation goes elsewhere, perhaps where there is room.
fn subnet(subnets: &[String], generation: u64) -> Option<String> {
    let at = generation.checked_rem(subnets.len() as u64)?;
    subnets.get(usize::try_from(at).ok()?).cloned()
}

/// Where an instance is in its life, in EC2's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Pending,
    Running,
    Stopping,
    Stopped,
    ShuttingDown,
    Terminated,
    /// A word that EC2 did not have yet.
    Other,
}

/// An instance as EC2 tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) phase: Phase,
    pub(super) tags: Vec<(String, String)>,
    pub(super) launched_ms: u64,
    pub(super) kind: String,
    pub(super) spot: bool,
    pub(super) zone: String,
}

impl Seen {
    pub(super) fn tag(&self, key: &str) -> Option<&str> {
        let mut tags = self.tags.iter();
        tags.find(|(k, _)| k == key)
            .map(|(_, value)| value.as_str())
    }

    /// What is on its way out can still write. One that stands still runs nothing, and does not begin again by itself.
    pub(super) fn liveness(&self) -> Liveness {
        match self.phase {
            Phase::Pending | Phase::Running | Phase::Stopping | Phase::ShuttingDown => {
                Liveness::Running
            }
            Phase::Stopped | Phase::Terminated => Liveness::Gone,
            Phase::Other => Liveness::Unknown,
        }
    }

    /// Whether what is claimed for it will be worked on there.
    pub(super) fn takes_work(&self) -> bool {
        matches!(self.phase, Phase::Pending | Phase::Running)
    }

    /// As everybody else knows it; `None` if it is over, or not a worker's.
    pub(super) fn machine(&self) -> Option<Machine> {
        let state = match self.phase {
            Phase::Pending => MachineState::Starting,
            Phase::Running | Phase::Other => MachineState::Running,
            Phase::Stopped => MachineState::Halted,
            Phase::Stopping | Phase::ShuttingDown => MachineState::Ending,
            Phase::Terminated => return None,
        };
        Some(Machine {
            id: self.id.clone(),
            execution: super::names::execution_of(self.tag(EXECUTION_TAG)?),
            session: self.tag(SESSION_TAG).unwrap_or_default().to_owned(),
            generation: self.tag(GENERATION_TAG)?.parse().unwrap_or_default(),
            state,
            since_ms: self.launched_ms,
            kind: self.kind.clone(),
            spot: self.spot,
            zone: self.zone.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::aws::compute::names::fresh;

    fn grant(generation: u64) -> RunGrant {
        RunGrant {
            session: "sess_a".to_owned(),
            generation,
            execution: fresh([1; 26]),
        }
    }

    fn options(subnets: &[&str]) -> LaunchOptions {
        LaunchOptions {
            deployment: "d".to_owned(),
            template: "d-worker".to_owned(),
            subnets: subnets.iter().map(|&subnet| subnet.to_owned()).collect(),
            ..LaunchOptions::default()
        }
    }

    #[test]
    fn a_repeated_launch_is_the_same_one_and_the_next_generation_goes_elsewhere() {
        let options = options(&["a", "b"]);
        let first = order(&options, &grant(1), "x").expect("an order");
        assert_eq!(Some(&first), order(&options, &grant(1), "x").as_ref());
        let next = order(&options, &grant(2), "x").expect("an order");
        assert_ne!(first.subnet, next.subnet);
        assert_ne!(first.client_token, next.client_token);
    }

    #[test]
    fn without_subnets_the_template_decides() {
        let order = order(&options(&[]), &grant(1), "x").expect("an order");
        assert_eq!(order.subnet, None);
    }

    #[test]
    fn a_launch_carries_everything_that_finds_it_again() {
        let order = order(&options(&[]), &grant(3), "x").expect("an order");
        let seen = Seen {
            id: "i-1".to_owned(),
            phase: Phase::Running,
            tags: order.tags,
            launched_ms: 5,
            kind: "m7g.large".to_owned(),
            spot: false,
            zone: "eu-west-1a".to_owned(),
        };
        let machine = seen.machine().expect("a worker's");
        assert_eq!(machine.execution, grant(3).execution);
        assert_eq!(
            (machine.session.as_str(), machine.generation),
            ("sess_a", 3)
        );
    }

    #[test]
    fn what_can_still_write_is_never_taken_for_gone() {
        use Liveness::{Gone, Running, Unknown};
        for (phase, liveness, takes_work) in [
            (Phase::Pending, Running, true),
            (Phase::Running, Running, true),
            (Phase::Stopping, Running, false),
            (Phase::ShuttingDown, Running, false),
            (Phase::Stopped, Gone, false),
            (Phase::Terminated, Gone, false),
            (Phase::Other, Unknown, false),
        ] {
            let seen = Seen {
                id: String::new(),
                phase,
                tags: Vec::new(),
                launched_ms: 0,
                kind: String::new(),
                spot: false,
                zone: String::new(),
            };
            assert_eq!((seen.liveness(), seen.takes_work()), (liveness, takes_work));
            // A machine of the deployment that is no worker's (the daemon's own) is nobody's business here.
            assert_eq!(seen.machine(), None);
        }
    }
}
