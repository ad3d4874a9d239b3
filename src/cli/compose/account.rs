//! What a deployment takes in an AWS account: names from words, and the documents that are printed.

use serde_json::Value;

use crate::backend::aws::setup::deployment::{Architecture, Deployment, NameError};
use crate::backend::aws::setup::policy::{self, Role};
use crate::backend::aws::setup::template;
use crate::cli::out::{CliError, codes};

/// What names a deployment, wherever it is.
#[derive(Clone, Debug)]
pub struct Named {
    /// Its name.
    pub deployment: String,
    /// ARN of its key.
    pub kms_key: Option<String>,
    /// Intel and AMD instead of Graviton.
    pub x86_64: bool,
}

/// Who calls AWS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Caller {
    /// Who sets it up, looks after it, and uses it from a command line.
    Operator,
    /// A daemon.
    Daemon,
    /// A worker, which runs agents.
    Worker,
}

impl Named {
    fn architecture(&self) -> Architecture {
        match self.x86_64 {
            true => Architecture::X86_64,
            false => Architecture::Arm64,
        }
    }
}

/// The IAM policy of a caller.
///
/// # Errors
/// Usage, when a word is no name, account, region or key.
pub fn policy(
    named: &Named,
    account: &str,
    region: &str,
    caller: Caller,
) -> Result<Value, CliError> {
    let key = named.kms_key.as_deref();
    let architecture = named.architecture();
    let deployment = Deployment::new(&named.deployment, account, region, key, architecture)?;
    let role = match caller {
        Caller::Operator => Role::Operator,
        Caller::Daemon => Role::Daemon,
        Caller::Worker => Role::Worker,
    };
    Ok(policy::policy(&deployment, role))
}

/// The CloudFormation template of a deployment.
///
/// # Errors
/// Usage, when a word is no name or key.
pub fn template(named: &Named) -> Result<Value, CliError> {
    let key = named.kms_key.as_deref();
    let deployment = Deployment::anywhere(&named.deployment, key, named.architecture())?;
    Ok(template::template(&deployment))
}

impl From<NameError> for CliError {
    fn from(error: NameError) -> CliError {
        CliError::new(codes::INPUT, error.to_string())
    }
}
