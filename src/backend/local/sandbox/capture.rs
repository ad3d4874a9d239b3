//! Opening what a Turn left under /workspace/outputs.
use std::path::Path;

use crate::engine::ports::{CaptureLimits, EnvironmentError, Outputs};

/// See [`crate::engine::ports::Environment::outputs`].
pub(super) async fn outputs(
    _workspace: &Path,
    _limits: CaptureLimits,
) -> Result<Outputs, EnvironmentError> {
    Ok(Outputs {
        files: Vec::new(),
        left_out: Vec::new(),
    })
}
