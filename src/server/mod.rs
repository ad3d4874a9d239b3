//! The HTTP face: the Agents API over the same engine that the command line uses.
//!
//! A request passes `answer`, which says who asks and whether the request is one at all, and then one function of one file per
//! kind of resource. [`routes`] is the table of everything that the API has, served here or not; the router is made from it.
//! The one surprising thing: a stream reads the journal like any other reader and holds nothing in memory but the piece that its
//! client is being sent, so a slow client is behind, and nobody waits for it.

mod agents;
mod answer;
mod artifacts;
mod body;
mod connections;
mod environments;
mod events;
mod files;
mod limits;
mod metrics;
mod multipart;
mod openapi;
mod patient;
mod query;
mod rates;
mod refusal;
pub mod routes;
mod sessions;
mod stream;
mod subagents;
pub mod tls;
mod transcript;
mod uses;
mod vaults;

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::routing::{MethodFilter, on};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::engine::core::Core;
use crate::engine::measure::Measures;
use crate::engine::ports::Environments;
use connections::Serving;
pub use limits::Limits;
use metrics::Traffic;
use rates::Rates;
use routes::{ROUTES, Verb};
use tls::Tls;

pub use openapi::document;

/// Who may ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever shows an access key, as the owner that the key belongs to.
    Keys,
    /// Everybody who reaches the address, as this owner.
    Open {
        /// Owner namespace.
        owner: String,
    },
}

/// What every request is answered with.
pub struct Server {
    core: Core,
    access: Access,
    limits: Limits,
    /// Where workspaces are; `None`: nowhere here.
    environments: Option<Arc<dyn Environments>>,
    stopped: watch::Receiver<bool>,
    streams: Arc<Semaphore>,
    requests_per_second: Option<u32>,
    rates: Rates,
    tls: Option<Tls>,
    traffic: Traffic,
    measures: Option<Measures>,
    /// When it began. Unix ms.
    since_ms: u64,
}

impl Server {
    /// Over this engine. Streams end when `stopped` becomes true.
    pub fn new(core: Core, access: Access, stopped: watch::Receiver<bool>) -> Server {
        let limits = Limits::default();
        Server {
            since_ms: core.clock.now_ms(),
            core,
            access,
            limits,
            environments: None,
            stopped,
            streams: Arc::new(Semaphore::new(limits.streams)),
            requests_per_second: None,
            rates: Rates::default(),
            tls: None,
            traffic: Traffic::default(),
            measures: None,
        }
    }

    /// The same, with the workspaces of these environments.
    pub fn over(mut self, environments: Arc<dyn Environments>) -> Server {
        self.environments = Some(environments);
        self
    }

    /// The same, which shows these numbers, too.
    pub fn showing(mut self, measures: Measures) -> Server {
        self.measures = Some(measures);
        self
    }

    /// The same through TLS, if there is some.
    pub fn through(mut self, tls: Option<Tls>) -> Server {
        self.tls = tls;
        self
    }

    /// The same within other bounds.
    pub fn within(mut self, limits: Limits) -> Server {
        self.limits = limits;
        self.streams = Arc::new(Semaphore::new(limits.streams));
        self
    }

    /// The same, where nobody may ask more often: each key, or without keys all together. A key that says how often goes by that.
    pub fn limited(mut self, requests_per_second: Option<u32>) -> Server {
        self.requests_per_second = requests_per_second;
        self
    }

    /// Answers what comes to the listener until `stopped` becomes true and the last answer is out. What fails meanwhile is one
    /// connection, or passes.
    pub async fn serve(self, listener: TcpListener) {
        let (stopped, limits) = (self.stopped.clone(), self.limits);
        let tls = self.tls.clone();
        let connections = Arc::clone(&self.traffic.connections);
        let router = router(Arc::new(self));
        let serving = Serving {
            router,
            limits,
            tls,
            connections,
        };
        connections::serve(listener, serving, stopped).await;
    }
}

fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Delete => MethodFilter::DELETE,
        };
        let handler = move |State(server): State<Arc<Server>>,
                            ids: Result<RawPathParams, RawPathParamsRejection>,
                            request: Request| async move {
            let ids = ids.ok().map(|ids| {
                let values = ids.iter().map(|(_, value)| value.to_owned());
                values.collect::<Vec<_>>()
            });
            answer::answer(server, route, ids, request).await
        };
        router = router.route(route.path, on(filter, handler));
    }
    router
        .fallback(
            |State(server): State<Arc<Server>>, request: Request| async move {
                answer::no_such_route(&server, &request)
            },
        )
        .method_not_allowed_fallback(
            |State(server): State<Arc<Server>>, request: Request| async move {
                answer::no_such_method(&server, &request)
            },
        )
        .with_state(server)
}
