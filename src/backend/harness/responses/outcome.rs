//! How an ended command is shown in its Item and told to the model. Pure.
//!
//! The first words of what the model is told are always one of: `exit code`, `ended by signal`, `timed out`, `cancelled`,
//! `not started`, `outcome unknown`, `failed`.

use crate::api::CallStatus;
use crate::engine::ports::{EnvironmentError, ExecEnd, ExecHow, ToolEnd};

use super::input::OUTCOME_UNKNOWN;

/// An ended call: for its Item, and for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// For the Item.
    pub end: ToolEnd,
    /// For the model.
    pub told: String,
}

/// A call that had no effect, because of what it asked for.
pub fn refused(reason: &str) -> Ended {
    nothing(
        CallStatus::Failed,
        reason.to_owned(),
        format!("failed: {reason}"),
    )
}

/// A call that was recorded, but not begun any more when the Turn was cancelled.
pub fn never_begun() -> Ended {
    let told = "cancelled before it was started; nothing was run".to_owned();
    nothing(CallStatus::Incomplete, told.clone(), told)
}

/// A call that the environment could not run to its end.
pub fn environment(error: &EnvironmentError) -> Ended {
    match error {
        EnvironmentError::Lost(_) => nothing(
            CallStatus::Incomplete,
            error.to_string(),
            format!("{OUTCOME_UNKNOWN} ({error})"),
        ),
        EnvironmentError::Refused { .. } | EnvironmentError::Failed(_) => {
            refused(&format!("{error}. Nothing was run."))
        }
    }
}

fn nothing(status: CallStatus, output: String, told: String) -> Ended {
    Ended {
        end: ToolEnd {
            status,
            exit_code: None,
            output,
            duration_ms: 0,
        },
        told,
    }
}

/// A command that ended. A command is completed if it exited with 0, incomplete if it was stopped from outside, else failed.
pub fn command(exec: ExecEnd, timeout_ms: u64) -> Ended {
    let ms = exec.duration_ms;
    let (status, exit_code, first) = match &exec.how {
        ExecHow::Exited(0) => (
            CallStatus::Completed,
            Some(0),
            format!("exit code 0 after {ms} ms"),
        ),
        ExecHow::Exited(code) => (
            CallStatus::Failed,
            Some(*code),
            format!("exit code {code} after {ms} ms"),
        ),
        ExecHow::Signalled(signal) => (
            CallStatus::Failed,
            None,
            format!("ended by signal {signal} after {ms} ms"),
        ),
        ExecHow::TimedOut => (
            CallStatus::Incomplete,
            None,
            format!("timed out: it and all it started were ended after {timeout_ms} ms"),
        ),
        ExecHow::Cancelled => (
            CallStatus::Incomplete,
            None,
            format!("cancelled by the user: it and all it started were ended after {ms} ms"),
        ),
        ExecHow::NotStarted(reason) => (CallStatus::Failed, None, format!("not started: {reason}")),
    };
    let told = if exec.output.is_empty() {
        first
    } else {
        format!("{first}\n{}", exec.output)
    };
    Ended {
        end: ToolEnd {
            status,
            exit_code,
            output: exec.output,
            duration_ms: ms,
        },
        told,
    }
}
