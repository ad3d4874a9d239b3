//! The proxy between the real SDK clients and a service that only counts what reached it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region, retry::RetryConfig};
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_s3::primitives::ByteStream;

use super::super::listen::{Listening, Reply, listen};
use super::super::when::When;
use super::{Fault, Proxy, Rule};

/// A service to which everything succeeds, and how many requests had their effect.
struct Service {
    listening: Listening,
    effects: Arc<AtomicU64>,
}

impl Service {
    fn start() -> Service {
        let effects = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&effects);
        let listening = listen(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".to_vec())
        });
        Service {
            listening: listening.expect("loopback"),
            effects,
        }
    }

    fn behind(&self, rules: Vec<Rule>) -> Proxy {
        Proxy::before(self.listening.address, rules).expect("loopback")
    }

    fn effects(&self) -> u64 {
        self.effects.load(Ordering::SeqCst)
    }
}

fn rule(operation: &'static str, when: When, fault: Fault) -> Rule {
    Rule {
        operation,
        when,
        fault,
    }
}

fn dynamodb(proxy: &Proxy) -> aws_sdk_dynamodb::Client {
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(proxy.url());
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

fn s3(proxy: &Proxy) -> aws_sdk_s3::Client {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .retry_config(RetryConfig::disabled())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .force_path_style(true)
        .endpoint_url(proxy.url());
    aws_sdk_s3::Client::from_conf(config.build())
}

/// What became of one `ListTables`: nothing, a code, or no answer at all.
async fn listed(client: &aws_sdk_dynamodb::Client) -> Result<(), String> {
    let answer = client.list_tables().send().await;
    answer.map(drop).map_err(|e| word(e.code()))
}

/// What became of one `PutObject`.
async fn put(client: &aws_sdk_s3::Client) -> Result<(), String> {
    let put = client.put_object().bucket("bucket").key("key");
    let answer = put.body(ByteStream::from_static(b"body")).send().await;
    answer.map(drop).map_err(|e| word(e.code()))
}

fn word(code: Option<&str>) -> String {
    code.unwrap_or("no answer").to_owned()
}

#[tokio::test]
async fn a_dropped_request_has_no_effect_and_a_dropped_answer_has_one() {
    for (fault, effects) in [(Fault::DropRequest, 0), (Fault::DropAnswer, 1)] {
        let service = Service::start();
        let proxy = service.behind(vec![rule("", When::Nth(1), fault)]);
        assert_eq!(listed(&dynamodb(&proxy)).await, Err("no answer".to_owned()));
        assert_eq!(service.effects(), effects);
        assert_eq!(listed(&dynamodb(&proxy)).await, Ok(()));
        assert_eq!(service.effects(), effects + 1);
        assert_eq!(proxy.applied(), [1]);
    }
}

#[tokio::test]
async fn refusals_have_the_codes_of_dynamodb_and_no_effect() {
    for (fault, code) in [
        (Fault::Throttle, "ThrottlingException"),
        (Fault::Throughput, "ProvisionedThroughputExceededException"),
        (Fault::Conflict, "TransactionConflictException"),
        (Fault::Precondition, "ConditionalCheckFailedException"),
        (Fault::Expired, "ExpiredTokenException"),
        (Fault::Internal, "InternalServerError"),
    ] {
        let service = Service::start();
        let proxy = service.behind(vec![rule("ListTables", When::Every, fault)]);
        assert_eq!(listed(&dynamodb(&proxy)).await, Err(code.to_owned()));
        assert_eq!(service.effects(), 0);
    }
}

#[tokio::test]
async fn refusals_have_the_codes_of_s3_and_no_effect() {
    for (fault, code) in [
        (Fault::Throttle, "SlowDown"),
        (Fault::Conflict, "ConditionalRequestConflict"),
        (Fault::Precondition, "PreconditionFailed"),
        (Fault::Expired, "ExpiredToken"),
        (Fault::Internal, "InternalError"),
    ] {
        let service = Service::start();
        let proxy = service.behind(vec![rule("PUT /bucket/", When::Every, fault)]);
        assert_eq!(put(&s3(&proxy)).await, Err(code.to_owned()));
        assert_eq!(service.effects(), 0);
    }
}

#[tokio::test]
async fn a_cancelled_transaction_tells_every_reason_in_order() {
    let reasons = &[
        "None",
        "TransactionConflict",
        "ThrottlingError",
        "ConditionalCheckFailed",
    ];
    let service = Service::start();
    let cancelled = rule("TransactWriteItems", When::Every, Fault::Cancelled(reasons));
    let proxy = service.behind(vec![cancelled]);
    let client = dynamodb(&proxy);
    let answer = client
        .transact_write_items()
        .set_transact_items(Some(Vec::new()));
    let refusal = answer
        .send()
        .await
        .expect_err("a refusal")
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(refusal) = refusal else {
        panic!("{refusal:?}");
    };
    let told: Vec<_> = refusal
        .cancellation_reasons()
        .iter()
        .map(|r| r.code())
        .collect();
    assert_eq!(told, reasons.map(Some));
    assert_eq!(service.effects(), 0);
}

#[tokio::test]
async fn a_rule_is_for_its_operation_alone_and_a_delay_changes_no_answer() {
    let service = Service::start();
    let proxy = service.behind(vec![
        rule("GetItem", When::Every, Fault::Internal),
        rule("", When::Nth(1), Fault::Delay(Duration::from_millis(5))),
    ]);
    assert_eq!(listed(&dynamodb(&proxy)).await, Ok(()));
    assert_eq!(put(&s3(&proxy)).await, Ok(()));
    assert_eq!(proxy.applied(), [0, 1]);
    assert_eq!(service.effects(), 2);
}

#[tokio::test]
async fn chance_falls_alike_for_the_same_seed_and_otherwise_for_another() {
    let mut runs = Vec::new();
    for seed in [7, 7, 8] {
        let service = Service::start();
        let when = When::Chance {
            per_thousand: 500,
            seed,
        };
        let proxy = service.behind(vec![rule("ListTables", when, Fault::Throttle)]);
        let client = dynamodb(&proxy);
        let mut run = Vec::new();
        for _ in 0..64 {
            run.push(listed(&client).await.is_ok());
        }
        let passed = run.iter().filter(|passed| **passed).count() as u64;
        assert_eq!(service.effects(), passed);
        assert_eq!(proxy.applied(), [64 - passed]);
        runs.push(run);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}
