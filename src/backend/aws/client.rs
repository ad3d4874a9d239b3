//! How AWS is reached: the standard chain of credentials, one HTTP client, one set of timeouts, and a counter on each service.
//!
//! DynamoDB requests are not repeated by the SDK: the store knows for how long a repeat is worth it, and what a lost answer means.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider};
use aws_smithy_http_client::tls;
use aws_smithy_types::retry::RetryConfig;

use super::calls::Calls;
use super::credentials::Kept;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(3);
/// How long one attempt at a small request may take.
const ATTEMPT: Duration = Duration::from_secs(10);
/// Attempts at what the SDK repeats by itself.
const ATTEMPTS: u32 = 4;

/// Which AWS, and as whom. What is not said here is found where every AWS tool finds it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsOptions {
    /// A profile of the AWS configuration.
    pub profile: Option<String>,
    /// `eu-west-1`, …
    pub region: Option<String>,
    /// Instead of AWS' own addresses.
    pub endpoint_url: Option<String>,
    /// Instead of all addresses, whatever else is said of them here and elsewhere.
    pub everything_url: Option<String>,
    /// Instead of DynamoDB's alone.
    pub dynamodb_url: Option<String>,
    /// Instead of EC2's alone.
    pub ec2_url: Option<String>,
    /// An access key's id and its secret, instead of what the chain finds. For emulators, which take any.
    pub credentials: Option<(String, String)>,
}

/// Why there are no clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// Nothing says which region.
    #[error("no AWS region is configured")]
    NoRegion,
}

/// Clients of the services. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AwsClients {
    sdk: SdkConfig,
    calls: Calls,
    options: AwsOptions,
    region: String,
}

impl AwsClients {
    /// Finds configuration and credentials; sends nothing, but where the chain itself asks for credentials.
    ///
    /// # Errors
    /// There is no region.
    pub async fn connect(options: &AwsOptions) -> Result<AwsClients, ClientError> {
        let ring = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(ring)
            .build_https();
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(CONNECT)
            .operation_attempt_timeout(ATTEMPT)
            .build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            .timeout_config(timeouts)
            .retry_config(RetryConfig::standard().with_max_attempts(ATTEMPTS));
        if let Some(profile) = &options.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(region) = &options.region {
            loader = loader.region(Region::new(region.clone()));
        }
        let url = options.everything_url.as_ref();
        if let Some(url) = url.or(options.endpoint_url.as_ref()) {
            loader = loader.endpoint_url(url);
        }
        if let Some((id, secret)) = &options.credentials {
            let fixed = Credentials::new(id, secret, None, None, "configuration");
            loader = loader.credentials_provider(fixed);
        }
        let mut sdk = loader.load().await;
        if let Some(found_by) = sdk.credentials_provider() {
            let kept = SharedCredentialsProvider::new(Kept::new(found_by));
            sdk = sdk.into_builder().credentials_provider(kept).build();
        }
        let region = sdk.region().ok_or(ClientError::NoRegion)?.to_string();
        Ok(AwsClients {
            sdk,
            calls: Calls::default(),
            options: options.clone(),
            region,
        })
    }

    /// The region of all of them.
    pub fn region(&self) -> &str {
        &self.region
    }

    /// What names the caller for as long as the credentials hold: the id of the access key, and where it is one. Nothing without
    /// credentials.
    pub async fn key_of_caller(&self) -> Option<String> {
        let found = self.sdk.credentials_provider()?.provide_credentials().await;
        let endpoint = self.endpoint(None, "STS").unwrap_or_default();
        Some(format!("{} {endpoint}", found.ok()?.access_key_id()))
    }

    /// What was sent so far by all of them.
    pub fn calls(&self) -> Calls {
        self.calls.clone()
    }

    /// Records. Nothing is repeated.
    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        let mut config = aws_sdk_dynamodb::config::Builder::from(&self.sdk)
            .retry_config(RetryConfig::disabled())
            .interceptor(self.calls());
        config.set_endpoint_url(self.endpoint(self.options.dynamodb_url.as_ref(), "DYNAMODB"));
        aws_sdk_dynamodb::Client::from_conf(config.build())
    }

    /// Content. What is put has its digest as its name, so that a repeat does no harm.
    pub fn s3(&self) -> aws_sdk_s3::Client {
        let endpoint = self.endpoint(None, "S3");
        let mut config = aws_sdk_s3::config::Builder::from(&self.sdk)
            // Elsewhere buckets are no host names.
            .force_path_style(endpoint.is_some())
            .interceptor(self.calls());
        config.set_endpoint_url(endpoint);
        aws_sdk_s3::Client::from_conf(config.build())
    }

    /// Machines, and what they are made from.
    pub fn ec2(&self) -> aws_sdk_ec2::Client {
        let mut config = aws_sdk_ec2::config::Builder::from(&self.sdk).interceptor(self.calls());
        config.set_endpoint_url(self.endpoint(self.options.ec2_url.as_ref(), "EC2"));
        aws_sdk_ec2::Client::from_conf(config.build())
    }

    /// Who the caller is.
    pub fn sts(&self) -> aws_sdk_sts::Client {
        let config = aws_sdk_sts::config::Builder::from(&self.sdk).interceptor(self.calls());
        aws_sdk_sts::Client::from_conf(config.build())
    }

    /// Values that nobody may see.
    pub fn secrets(&self) -> aws_sdk_secretsmanager::Client {
        let config =
            aws_sdk_secretsmanager::config::Builder::from(&self.sdk).interceptor(self.calls());
        aws_sdk_secretsmanager::Client::from_conf(config.build())
    }

    /// The same, and nothing is repeated: who launches a machine knows what a repeat means.
    pub fn machines(&self) -> aws_sdk_ec2::Client {
        let mut config = aws_sdk_ec2::config::Builder::from(&self.sdk)
            .retry_config(RetryConfig::disabled())
            .interceptor(self.calls());
        config.set_endpoint_url(self.endpoint(self.options.ec2_url.as_ref(), "EC2"));
        aws_sdk_ec2::Client::from_conf(config.build())
    }

    /// Where a service is, unless it is where AWS has it: what is said of it alone goes before what is said of all, unless that holds
    /// for everything.
    fn endpoint(&self, of_service: Option<&String>, name: &str) -> Option<String> {
        let from_environment = || std::env::var(format!("AWS_ENDPOINT_URL_{name}")).ok();
        { self.options.everything_url.clone() }
            .or_else(|| of_service.cloned())
            .or_else(from_environment)
            .or_else(|| self.options.endpoint_url.clone())
            .or_else(|| self.sdk.endpoint_url().map(str::to_owned))
    }
}
