//! Which requests were sent to AWS, by service, operation and purpose. Each attempt counts, because each is paid for.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextRef;
use aws_smithy_runtime_api::client::orchestrator::Metadata;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// What a request was sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// Rows by key.
    Read,
    /// Rows in order.
    Range,
    /// Who owes work.
    Agenda,
    /// Records that change.
    Commit,
    /// Content of rows.
    Content,
    /// Bodies and Artifacts.
    Blob,
    /// Values that nobody may see.
    Secret,
    /// Who the caller is.
    Identity,
    /// Machines for workers.
    Machine,
    /// Anything else: setting up, looking after.
    Care,
}

impl Purpose {
    /// Its name where requests are shown.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Read => "read",
            Purpose::Range => "range",
            Purpose::Agenda => "agenda",
            Purpose::Commit => "commit",
            Purpose::Content => "content",
            Purpose::Blob => "blob",
            Purpose::Secret => "secret",
            Purpose::Identity => "identity",
            Purpose::Machine => "machine",
            Purpose::Care => "care",
        }
    }
}

tokio::task_local! {
    static PURPOSE: Purpose;
}

/// Sends what `requests` sends for this purpose.
pub async fn for_purpose<T>(purpose: Purpose, requests: impl Future<Output = T>) -> T {
    PURPOSE.scope(purpose, requests).await
}

/// One kind of request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// `DynamoDB`, `S3`, …
    pub service: String,
    /// `TransactWriteItems`, …
    pub operation: String,
    /// What for.
    pub purpose: Purpose,
}

/// Counts requests. Cheap to clone; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<Call, u64>>>);

impl Calls {
    /// How often each kind was sent so far.
    pub fn counts(&self) -> BTreeMap<Call, u64> {
        self.lock().clone()
    }

    /// How many were sent so far.
    pub fn total(&self) -> u64 {
        self.lock().values().sum()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Call, u64>> {
        // A count is one addition, so that nothing is ever half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "rat-things calls"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let (service, operation) = match config.load::<Metadata>() {
            Some(call) => (call.service().to_owned(), call.name().to_owned()),
            None => Default::default(),
        };
        let purpose = PURPOSE.try_with(|purpose| *purpose);
        let call = Call {
            service,
            operation,
            purpose: purpose.unwrap_or(Purpose::Care),
        };
        *self.lock().entry(call).or_default() += 1;
        Ok(())
    }
}
