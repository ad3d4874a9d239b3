//! The stand-in, asked by the real client.

mod launches;
mod lives;
mod moto;
mod networks;
mod templates;
mod trouble;

use aws_sdk_ec2::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::operation::run_instances::builders::RunInstancesFluentBuilder;
use aws_sdk_ec2::types::{Filter, ResourceType, Tag, TagSpecification};

use super::Ec2;

const REGION: &str = "eu-west-1";
/// An image that is anything's.
const IMAGE: &str = "ami-0123456789abcdef0";

fn stand_in() -> (Ec2, aws_sdk_ec2::Client) {
    let ec2 = Ec2::start(REGION).expect("loopback");
    let client = client(&ec2.url());
    (ec2, client)
}

/// A client that tells what it was answered, and does not ask again.
pub(crate) fn client(url: &str) -> aws_sdk_ec2::Client {
    let config = aws_sdk_ec2::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url);
    aws_sdk_ec2::Client::from_conf(config.build())
}

/// A launch of one instance.
pub(crate) fn launch(client: &aws_sdk_ec2::Client, token: &str) -> RunInstancesFluentBuilder {
    let launch = client.run_instances().image_id(IMAGE);
    launch.min_count(1).max_count(1).client_token(token)
}

/// The ids of the instances that a launch answers with.
async fn launched(launch: RunInstancesFluentBuilder) -> Result<Vec<String>, String> {
    let launched = launch.send().await.map_err(word)?;
    let instances = launched.instances().iter();
    Ok(instances
        .filter_map(|i| i.instance_id().map(str::to_owned))
        .collect())
}

/// A launch of one that succeeds.
async fn one(client: &aws_sdk_ec2::Client, token: &str) -> String {
    let ids = launched(launch(client, token)).await.expect("a launch");
    let [id] = &ids[..] else { panic!("{ids:?}") };
    id.clone()
}

fn tag(key: &str, value: &str) -> Tag {
    Tag::builder().key(key).value(value).build()
}

pub(crate) fn tagged(kind: ResourceType, tags: &[(&str, &str)]) -> TagSpecification {
    let tags = tags.iter().map(|(key, value)| tag(key, value)).collect();
    let specification = TagSpecification::builder().resource_type(kind);
    specification.set_tags(Some(tags)).build()
}

fn filter(name: &str, values: &[&str]) -> Filter {
    let values = values.iter().map(|value| (*value).to_owned()).collect();
    Filter::builder()
        .name(name)
        .set_values(Some(values))
        .build()
}

/// The instances that fit, with their states.
async fn described(
    client: &aws_sdk_ec2::Client,
    filters: Vec<Filter>,
) -> Result<Vec<(String, String)>, String> {
    let answer = client.describe_instances().set_filters(Some(filters));
    let answer = answer.send().await.map_err(word)?;
    let instances = answer.reservations().iter().flat_map(|r| r.instances());
    Ok(instances.map(seen).collect())
}

fn seen(instance: &aws_sdk_ec2::types::Instance) -> (String, String) {
    let state = instance.state().and_then(|state| state.name());
    (
        instance.instance_id().unwrap_or_default().to_owned(),
        state
            .map(|state| state.as_str().to_owned())
            .unwrap_or_default(),
    )
}

/// The state of every instance that is seen.
async fn states(client: &aws_sdk_ec2::Client) -> Vec<String> {
    let seen = described(client, Vec::new()).await.expect("instances");
    seen.into_iter().map(|(_, state)| state).collect()
}

async fn terminate(client: &aws_sdk_ec2::Client, id: &str) -> Result<(), String> {
    let terminated = client.terminate_instances().instance_ids(id).send().await;
    terminated.map(drop).map_err(word)
}

/// The code of a refusal.
fn word<E: ProvideErrorMetadata, R>(error: SdkError<E, R>) -> String {
    error.code().unwrap_or("no answer").to_owned()
}

/// A form as it is sent, with this header.
async fn asked(url: &str, form: &str, authorization: &str) -> (u16, String) {
    // Whoever was first has done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::builder().no_proxy().build();
    let request = http.expect("a client").post(url).body(form.to_owned());
    let kind = "application/x-www-form-urlencoded";
    let request = request.header("content-type", kind);
    let request = request.header("authorization", authorization);
    let answer = request.send().await.expect("an answer");
    (
        answer.status().as_u16(),
        answer.text().await.expect("a text"),
    )
}
