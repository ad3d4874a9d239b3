//! What stands on the page.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::text::Text;
use crate::engine::core::Core;
use crate::engine::keys::Group;
use crate::engine::measure::{CommitEnd, Measures};
use crate::server::Server;
use crate::server::answer::Asked;
use crate::server::refusal::Answered;

/// Answers with all numbers as they are now.
pub(in crate::server) async fn page(mut asked: Asked) -> Answered {
    asked.no_more_query()?;
    let server = &asked.server;
    let mut text = Text::default();
    process(&mut text, server);
    traffic(&mut text, server);
    agenda(&mut text, &server.core).await;
    if let Some(measures) = &server.measures {
        turns(&mut text, measures).await;
        work(&mut text, measures);
        commits(&mut text, measures);
        requests(&mut text, measures);
    }
    let mut response: Response = text.finish().into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

fn process(text: &mut Text, server: &Server) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    text.gauge(
        "rat_things_build_info",
        "1, and which version this is.",
        &[(&version, 1)],
    );
    text.seconds(
        "rat_things_start_time_seconds",
        "When this process began to count, in Unix seconds.",
        &[(&[], server.since_ms)],
    );
}

fn traffic(text: &mut Text, server: &Server) {
    let traffic = &server.traffic;
    let requests = traffic.requests();
    let statuses: Vec<String> = requests.keys().map(|(_, _, s)| s.to_string()).collect();
    let labels: Vec<_> = requests
        .keys()
        .zip(&statuses)
        .map(|((method, route, _), status)| {
            [
                ("method", *method),
                ("route", *route),
                ("status", status.as_str()),
            ]
        })
        .collect();
    let samples: Vec<_> = labels
        .iter()
        .zip(requests.values())
        .map(|(labels, count)| (labels.as_slice(), *count))
        .collect();
    text.counter(
        "rat_things_http_requests_total",
        "Requests that this process answered, by route and status.",
        &samples,
    );
    text.histogram(
        "rat_things_http_request_duration_seconds",
        "How long requests took until their answer began.",
        &traffic.took.now(),
    );
    text.counter(
        "rat_things_http_rate_limited_total",
        "Requests that were refused because they came too soon.",
        &[(&[], traffic.rate_limited.get())],
    );
    text.gauge(
        "rat_things_http_connections_open",
        "Connections that are open, with those in a TLS handshake.",
        &[(&[], traffic.connections.get())],
    );
    let free = server.streams.available_permits();
    let streams = server.limits.streams.saturating_sub(free);
    text.gauge(
        "rat_things_http_streams_open",
        "Streams of events that are open.",
        &[(&[], streams as u64)],
    );
    text.counter(
        "rat_things_sessions_created_total",
        "Requests over HTTP that created a Session, or named one that the same key had created.",
        &[(&[], traffic.sessions_created.get())],
    );
    text.counter(
        "rat_things_inputs_accepted_total",
        "Batches of inputs that were accepted over HTTP; repeated: they had been, under the same key.",
        &[
            (&[("repeated", "false")], traffic.inputs_accepted.get()),
            (&[("repeated", "true")], traffic.inputs_repeated.get()),
        ],
    );
}

async fn agenda(text: &mut Text, core: &Core) {
    let mut now = Vec::new();
    for group in [Group::Execute, Group::Deliver] {
        match core.agenda_now(group).await {
            Ok(agenda) => now.push(([("group", group.name())], agenda)),
            Err(error) => tracing::warn!(%error, "the agenda could not be counted"),
        }
    }
    let answers = u64::from(now.len() == 2);
    text.gauge(
        "rat_things_store_answers",
        "1 if the store could be read for this page. If not, the numbers of the agenda are missing.",
        &[(&[], answers)],
    );
    if answers == 0 {
        return;
    }
    let samples = |of: fn(&crate::engine::measure::AgendaNow) -> u64| -> Vec<_> {
        now.iter()
            .map(|(label, agenda)| (label.as_slice(), of(agenda)))
            .collect()
    };
    text.gauge(
        "rat_things_agenda_entries",
        "Sessions of this store that owe work or deliveries, now or later: a running Turn is an entry, too. At most 100,000 are counted.",
        &samples(|agenda| agenda.entries),
    );
    text.gauge(
        "rat_things_agenda_due",
        "Of those, the ones that are due.",
        &samples(|agenda| agenda.due),
    );
    text.seconds(
        "rat_things_agenda_oldest_due_seconds",
        "For how long the first of them is due; 0 if none is.",
        &samples(|agenda| agenda.oldest_ms),
    );
}

async fn turns(text: &mut Text, measures: &Measures) {
    let ended = measures.census.ended().await;
    text.counter(
        "rat_things_turns_ended_total",
        "Turns of this store that ended since this process began, whoever worked on them.",
        &[
            (&[("end", "completed")], ended.completed.get()),
            (&[("end", "failed")], ended.failed.get()),
            (&[("end", "cancelled")], ended.cancelled.get()),
        ],
    );
    text.counter(
        "rat_things_model_calls_total",
        "Model calls of those Turns that came to their end.",
        &[(&[], ended.model_calls.get())],
    );
    text.counter(
        "rat_things_model_tokens_total",
        "Tokens of those calls. Cached ones are among the input, reasoning ones among the output.",
        &[
            (&[("kind", "input")], ended.input_tokens.get()),
            (&[("kind", "cached_input")], ended.cached_tokens.get()),
            (&[("kind", "output")], ended.output_tokens.get()),
            (&[("kind", "reasoning")], ended.reasoning_tokens.get()),
        ],
    );
}

fn work(text: &mut Text, measures: &Measures) {
    let dispatch = &measures.dispatch;
    text.counter(
        "rat_things_runs_claimed_total",
        "Runs that this process gave to workers.",
        &[(&[], dispatch.claimed.get())],
    );
    text.counter(
        "rat_things_lease_takeovers_total",
        "Leases that this process took from workers that were gone.",
        &[(&[], dispatch.taken_over.get())],
    );
    text.counter(
        "rat_things_runs_fenced_total",
        "Runs that this process fenced because their worker was silent.",
        &[(&[], dispatch.fenced.get())],
    );
    text.counter(
        "rat_things_workers_not_started_total",
        "Workers that this process could not start.",
        &[(&[], dispatch.not_started.get())],
    );
    let deliveries = &measures.deliveries;
    text.counter(
        "rat_things_deliveries_total",
        "Attempts of this process to deliver a result, by the state they left it in; pending: there will be another attempt.",
        &[
            (&[("state", "delivered")], deliveries.delivered.get()),
            (&[("state", "failed")], deliveries.failed.get()),
            (&[("state", "uncertain")], deliveries.uncertain.get()),
            (&[("state", "pending")], deliveries.postponed.get()),
        ],
    );
}

fn commits(text: &mut Text, measures: &Measures) {
    let labels = CommitEnd::ALL.map(|end| [("outcome", end.name())]);
    let samples: Vec<_> = labels
        .iter()
        .zip(CommitEnd::ALL)
        .map(|(label, end)| (label.as_slice(), measures.store.ended(end)))
        .collect();
    text.counter(
        "rat_things_commits_total",
        "Commits of this process, not of its workers. After a conflict it is decided again.",
        &samples,
    );
    text.histogram(
        "rat_things_commit_duration_seconds",
        "How long those took that are durable, with the wait for others of the same group.",
        &measures.store.took.now(),
    );
}

/// None where no service is asked.
fn requests(text: &mut Text, measures: &Measures) {
    let sent = measures.requests.as_ref().map(|requests| requests());
    let sent = sent.unwrap_or_default();
    let labels: Vec<_> = sent
        .iter()
        .map(|one| {
            [
                ("service", one.service.as_str()),
                ("operation", one.operation.as_str()),
                ("purpose", one.purpose),
            ]
        })
        .collect();
    let samples: Vec<_> = labels
        .iter()
        .zip(&sent)
        .map(|(labels, one)| (labels.as_slice(), one.count))
        .collect();
    text.counter(
        "rat_things_aws_requests_total",
        "Requests that this process sent to AWS, not its workers; each attempt counts.",
        &samples,
    );
}
