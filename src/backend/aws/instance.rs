//! The machine that this program runs on, as EC2's metadata service knows it.
//!
//! A worker asks it who it is before it works for anybody, and whether its machine is about to be taken back. The agents' sandbox has no way
//! there.

use aws_config::imds::client::error::ImdsError;
use aws_config::provider_config::ProviderConfig;

use super::compute::{EXECUTION_TAG, SESSION_TAG};
use super::setup::deployment::DEPLOYMENT_TAG;

/// Below it are the instance's tags, if its launch template says so.
const TAGS: &str = "/latest/meta-data/tags/instance/";
/// There while the instance is about to be taken back.
const SPOT_NOTICE: &str = "/latest/meta-data/spot/instance-action";

/// Why the metadata service did not say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the metadata service does not say {what}: {why}")]
pub struct InstanceError {
    /// What was asked.
    pub what: String,
    /// In words.
    pub why: String,
}

/// Whose machine this is, by its tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belongs {
    /// Instance id.
    pub instance: String,
    /// To which deployment.
    pub deployment: String,
    /// For which Session.
    pub session: String,
    /// Token of the execution that it was launched as.
    pub execution: String,
}

/// The metadata service of this machine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Instance(aws_config::imds::Client);

impl Instance {
    /// Sends nothing. `AWS_EC2_METADATA_SERVICE_ENDPOINT` leads elsewhere.
    pub fn here() -> Instance {
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = ProviderConfig::default().with_http_client(http);
        Instance(
            aws_config::imds::Client::builder()
                .configure(&config)
                .build(),
        )
    }

    /// Whose machine this is.
    ///
    /// # Errors
    /// The service can't be reached, or the instance has no such tags there.
    pub async fn belongs(&self) -> Result<Belongs, InstanceError> {
        let tag = |key: &str| format!("{TAGS}{key}");
        Ok(Belongs {
            instance: self.word("/latest/meta-data/instance-id").await?,
            deployment: self.word(&tag(DEPLOYMENT_TAG)).await?,
            session: self.word(&tag(SESSION_TAG)).await?,
            execution: self.word(&tag(EXECUTION_TAG)).await?,
        })
    }

    /// Whether EC2 is about to take the machine back.
    ///
    /// # Errors
    /// The service can't be reached.
    pub async fn is_called_back(&self) -> Result<bool, InstanceError> {
        match self.0.get(SPOT_NOTICE).await {
            Ok(_) => Ok(true),
            Err(error) if is_absent(&error) => Ok(false),
            Err(error) => Err(failed(SPOT_NOTICE, &error)),
        }
    }

    async fn word(&self, path: &str) -> Result<String, InstanceError> {
        let word = self.0.get(path).await;
        let word = word.map_err(|error| failed(path, &error))?;
        Ok(word.as_ref().trim().to_owned())
    }
}

fn is_absent(error: &ImdsError) -> bool {
    match error {
        ImdsError::ErrorResponse(answer) => answer.response().status().as_u16() == 404,
        _ => false,
    }
}

fn failed(what: &str, error: &ImdsError) -> InstanceError {
    let mut why = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        why = format!("{why}: {cause}");
        source = cause.source();
    }
    InstanceError {
        what: what.to_owned(),
        why,
    }
}
