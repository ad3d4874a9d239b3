//! What EC2's answer to a launch means: try the same launch again, or what to tell the dispatcher.
//!
//! The surprise: a launch whose answer was lost is repeated. EC2 knows it by its client token, and answers with the machine that it
//! made for it, if it made one.

use std::time::Duration;

use crate::backend::aws::fault::Fault;
use crate::engine::ports::ComputeError;

/// Times one launch is sent at most.
pub(super) const SENT_AT_MOST: u32 = 5;

/// What comes after an answer that was no machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The same launch again, after so long at the most.
    Again(Duration),
    /// No more of it.
    End(ComputeError),
}

/// Decides after the `sent`th answer (from 1). `perhaps`: an earlier one was lost, so that the launch may have happened.
pub(super) fn after(fault: &Fault, sent: u32, perhaps: bool) -> Next {
    let again = sent < SENT_AT_MOST;
    let pause = Duration::from_millis(400u64 << sent.min(5));
    let why = fault.to_string();
    match fault {
        Fault::Throttled(_) | Fault::Unreachable(_) | Fault::Uncertain(_) if again => {
            Next::Again(pause)
        }
        Fault::Uncertain(_) => Next::End(ComputeError::Unknown(why)),
        // It may be that the first of them is on its way still.
        _ if perhaps => Next::End(ComputeError::Unknown(why)),
        Fault::Throttled(_) | Fault::Unreachable(_) => Next::End(ComputeError::Scarce(why)),
        Fault::Credentials(_) => Next::End(ComputeError::Failed(why)),
        Fault::Denied(_) => Next::End(ComputeError::Failed(format!(
            "{why}; what a daemon must be permitted: rat-things aws policy daemon"
        ))),
        Fault::Refused { code, .. } => Next::End(refused(code, why)),
    }
}

fn refused(code: &str, why: String) -> ComputeError {
    match code {
        // Somebody launched this very grant in another way: with other settings, or another binary.
        "IdempotentParameterMismatch" => ComputeError::Unknown(why),
        _ if is_scarce(code) => ComputeError::Scarce(why),
        code if code.starts_with("InvalidLaunchTemplate") => ComputeError::Failed(format!(
            "{why}; the deployment's launch template is made by rat-things aws init, or by the stack of rat-things aws template"
        )),
        _ => ComputeError::Failed(why),
    }
}

/// What passes by itself, or when somebody asks for a higher quota.
fn is_scarce(code: &str) -> bool {
    (code.starts_with("Insufficient") && code != "InsufficientPermissions")
        || code.ends_with("LimitExceeded")
        || matches!(
            code,
            "MaxSpotInstanceCountExceeded" | "SpotMaxPriceTooLow" | "PendingVerification"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: &str) -> Fault {
        Fault::Refused {
            code: code.to_owned(),
            message: "m".to_owned(),
        }
    }

    #[test]
    fn what_may_have_happened_is_never_said_to_have_failed() {
        let faults = [
            Fault::Unreachable(String::new()),
            Fault::Uncertain(String::new()),
            Fault::Throttled(String::new()),
            Fault::Credentials(String::new()),
            Fault::Denied(String::new()),
            refused("InsufficientInstanceCapacity"),
            refused("InvalidParameterValue"),
        ];
        for fault in &faults {
            for sent in 1..=SENT_AT_MOST {
                if let Next::End(error) = after(fault, sent, true) {
                    assert!(matches!(error, ComputeError::Unknown(_)), "{fault}");
                }
            }
        }
        let lost = after(&Fault::Uncertain(String::new()), SENT_AT_MOST, false);
        assert!(matches!(lost, Next::End(ComputeError::Unknown(_))));
        let other = after(&refused("IdempotentParameterMismatch"), 1, false);
        assert!(matches!(other, Next::End(ComputeError::Unknown(_))));
    }

    #[test]
    fn what_passes_by_itself_is_nobodys_fault() {
        for code in [
            "InsufficientInstanceCapacity",
            "InsufficientFreeAddressesInSubnet",
            "InstanceLimitExceeded",
            "VcpuLimitExceeded",
            "MaxSpotInstanceCountExceeded",
        ] {
            let next = after(&refused(code), 1, false);
            assert!(matches!(next, Next::End(ComputeError::Scarce(_))), "{code}");
        }
        let busy = Fault::Throttled("RequestLimitExceeded".to_owned());
        assert!(matches!(after(&busy, 1, false), Next::Again(_)));
        let next = after(&busy, SENT_AT_MOST, false);
        assert!(matches!(next, Next::End(ComputeError::Scarce(_))));
    }

    #[test]
    fn what_an_operator_must_mend_fails_and_says_how() {
        let denied = after(&Fault::Denied("no".to_owned()), 1, false);
        let Next::End(ComputeError::Failed(why)) = denied else {
            panic!("{denied:?}");
        };
        assert!(why.contains("aws policy daemon"), "{why}");
        let template = after(
            &refused("InvalidLaunchTemplateName.NotFoundException"),
            1,
            false,
        );
        assert!(
            matches!(template, Next::End(ComputeError::Failed(why)) if why.contains("aws init"))
        );
    }

    #[test]
    fn repeats_are_bounded_and_come_at_growing_distance() {
        let fault = Fault::Uncertain(String::new());
        let pauses: Vec<Duration> = (1..)
            .map_while(|sent| match after(&fault, sent, true) {
                Next::Again(pause) => Some(pause),
                Next::End(_) => None,
            })
            .collect();
        assert_eq!(pauses.len() as u32, SENT_AT_MOST - 1);
        assert!(pauses.is_sorted());
        let all: Duration = pauses.iter().sum();
        assert!(all < Duration::from_secs(30), "{all:?}");
    }
}
