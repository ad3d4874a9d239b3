//! One call, with its repetitions: which failures are repeated, for how long, and what is said when it stays in doubt.

use std::collections::BTreeSet;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, Url};
use tokio::time::Instant;

use super::Remote;
use super::answer;
use super::failure::{Failure, refusal};
use crate::api::{EXTENSIONS_HEADER, Extension, Secret};
use crate::backend::outbound::causes;
use crate::backend::retry_after::retry_after_ms;
use crate::engine::error::EngineError;
use crate::engine::ports::DeploymentError;

/// The first pause before a repetition; each further one is twice as long.
const FIRST_PAUSE_MS: u64 = 250;
/// No pause is longer, unless the server asks for it.
const LONGEST_PAUSE_MS: u64 = 5_000;

/// So often a conflict is met before it is taken for real.
const CONFLICTS: u32 = 2;

/// How a call may be repeated when it got no answer, so that nothing happens twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It only asks.
    Asks,
    /// It comes out the same however often it happens.
    Same,
    /// It happens once under its key.
    Keyed,
    /// It happens once under its key on servers that say so.
    KeyedBy(Extension),
    /// It would happen again.
    Not,
}

/// What is called.
#[derive(Clone, Debug)]
pub(super) struct Call<'a> {
    pub(super) method: Method,
    /// Below the base URL; each is one segment, whatever is in it.
    pub(super) path: &'a [&'a str],
    pub(super) query: Vec<(String, String)>,
    /// JSON.
    pub(super) body: Option<Vec<u8>>,
    pub(super) key: Option<&'a str>,
    pub(super) repeat: Repeat,
    /// How to find out whether it happened, where not even repeating it does.
    pub(super) find_out: &'a str,
    pub(super) accept: &'a str,
    /// With all repetitions; `None`: as configured.
    pub(super) within: Option<Duration>,
}

impl<'a> Call<'a> {
    /// A question.
    pub(super) fn get(path: &'a [&'a str]) -> Call<'a> {
        Call {
            method: Method::GET,
            path,
            query: Vec::new(),
            body: None,
            key: None,
            repeat: Repeat::Asks,
            find_out: "",
            accept: "application/json",
            within: None,
        }
    }

    /// A change.
    pub(super) fn post(path: &'a [&'a str], body: Vec<u8>, repeat: Repeat) -> Call<'a> {
        Call {
            method: Method::POST,
            body: Some(body),
            repeat,
            ..Call::get(path)
        }
    }
}

/// A good answer.
pub(super) struct Answered {
    pub(super) response: Response,
}

/// How one attempt failed.
struct Attempt {
    why: String,
    /// It surely did not happen.
    surely_not: bool,
    /// It may go better soon.
    passing: bool,
    /// What the server said, if it did.
    refusal: Option<crate::api::ApiError>,
    /// When the server wants to be asked again.
    pause_ms: Option<u64>,
}

impl Remote {
    /// Calls until there is a good answer, or a reason to stop.
    pub(super) async fn call(&self, call: &Call<'_>) -> Result<Answered, Failure> {
        let url = self.url(call)?;
        let within = call.within.unwrap_or(self.0.timeout);
        let deadline = Instant::now() + within;
        let mut in_doubt = false;
        let mut renewed = false;
        for number in 0u32.. {
            let key = self.key().await?;
            let attempt = match self
                .attempt(call, url.clone(), key.as_ref(), deadline)
                .await
            {
                Ok(response) => return Ok(Answered { response }),
                Err(attempt) => attempt,
            };
            if let Some(error) = &attempt.refusal
                && error.status == 401
                && !std::mem::replace(&mut renewed, true)
                && let Some(key) = &key
                && self.renew(key).await?
            {
                continue;
            }
            // A failure of the server says nothing of what it had done by then, however final it is.
            let is_sure = attempt.surely_not || call.repeat == Repeat::Asks;
            let final_word = attempt.refusal.clone();
            if let Some(error) = final_word.filter(|_| !attempt.passing && is_sure) {
                return Err(Failure::Refused {
                    error,
                    behind_doubt: in_doubt,
                });
            }
            if !attempt.surely_not && !self.may_repeat(call).await {
                return Err(self.uncertain(call, attempt.why).into());
            }
            in_doubt |= !attempt.surely_not;
            let pause = pause(number, attempt.pause_ms);
            // A conflict may be one with another change that is just being made; one that stays is real.
            let conflict = attempt.refusal.as_ref().map(|error| error.status) == Some(409);
            let passing = attempt.passing && (!conflict || number < CONFLICTS);
            if !passing || Instant::now() + pause >= deadline {
                return Err(self.given_up(call, attempt, in_doubt));
            }
            tracing::info!(why = attempt.why, ?pause, "a call is repeated");
            tokio::time::sleep(pause).await;
        }
        unreachable!("the loop above ends by returning")
    }

    async fn key(&self) -> Result<Option<Secret>, Failure> {
        self.0.keys.get().await.map_err(|error| self.no_key(error))
    }

    async fn renew(&self, refused: &Secret) -> Result<bool, Failure> {
        let renewed = self.0.keys.renew(refused).await;
        Ok(renewed.map_err(|error| self.no_key(error))?.is_some())
    }

    fn no_key(&self, error: crate::backend::key::KeyError) -> Failure {
        DeploymentError::Denied(format!("no key for {}: {error}", self.0.shown)).into()
    }

    fn url(&self, call: &Call<'_>) -> Result<Url, Failure> {
        // A URL has no place for these as names: they would lead elsewhere.
        if let Some(bad) = call
            .path
            .iter()
            .find(|part| matches!(**part, "" | "." | ".."))
        {
            let message = format!("{bad:?} is no id");
            return Err(EngineError::Invalid {
                param: None,
                message,
            }
            .into());
        }
        let mut url = self.0.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(call.path);
        }
        if !call.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&call.query);
        }
        Ok(url)
    }

    async fn attempt(
        &self,
        call: &Call<'_>,
        url: Url,
        key: Option<&Secret>,
        deadline: Instant,
    ) -> Result<Response, Attempt> {
        let mut request = self
            .0
            .client
            .request(call.method.clone(), url)
            .header(ACCEPT, call.accept)
            .header("openai-beta", "agents=v1");
        if let Some(key) = key {
            request = request.bearer_auth(key.reveal());
        }
        if let Some(key) = call.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &call.body {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.clone());
        }
        let response = match tokio::time::timeout_at(deadline, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.no_answer(error)),
            Err(_) => {
                return Err(Attempt {
                    why: format!("{} did not answer in time", self.0.shown),
                    surely_not: false,
                    passing: true,
                    refusal: None,
                    pause_ms: None,
                });
            }
        };
        self.learn(extensions(response.headers()));
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.bad_answer(response, key).await)
    }

    fn no_answer(&self, error: reqwest::Error) -> Attempt {
        let surely_not = error.is_connect() || error.is_builder();
        // What is wrong with a certificate stays wrong.
        let passing = !error.is_builder() && !is_tls(&error);
        let error = error.without_url();
        let doing = match surely_not {
            true => "can't be reached",
            false => "broke the connection",
        };
        Attempt {
            why: format!("{} {doing}: {}", self.0.shown, causes(&error)),
            surely_not,
            passing,
            refusal: None,
            pause_ms: None,
        }
    }

    async fn bad_answer(&self, response: Response, key: Option<&Secret>) -> Attempt {
        let status = response.status();
        let headers = response.headers().clone();
        if status.is_redirection() {
            let message = format!(
                "{} wants to send the request, and the key, to another address; redirects are not followed",
                self.0.shown
            );
            let mut refusal = crate::api::ApiError::invalid_request("base_url", message);
            refusal.code = None;
            return Attempt {
                why: String::new(),
                surely_not: true,
                passing: false,
                refusal: Some(refusal),
                pause_ms: None,
            };
        }
        let within = Duration::from_secs(10);
        let body = answer::body(response, answer::REFUSAL_MAX_BYTES, within).await;
        let body = body.ok().flatten().unwrap_or_default();
        let error = refusal(status.as_u16(), &body, key);
        let should = headers.get("x-should-retry").map(|value| value.as_bytes());
        let passing = match (should, error.status) {
            (Some(b"true"), _) => true,
            (Some(b"false"), _) | (_, 501) => false,
            (_, status) => matches!(status, 408 | 409 | 429 | 500..),
        };
        // An envelope of the API with this status says that the request was not taken up; a proxy's page says nothing of that.
        let not_taken_up = error.status == 503 && error.code.is_some();
        Attempt {
            why: format!(
                "{} (status {} of {})",
                error.message, error.status, self.0.shown
            ),
            surely_not: error.status < 500 || error.status == 501 || not_taken_up,
            passing,
            pause_ms: retry_after_ms(&headers),
            refusal: Some(error),
        }
    }

    /// Whether a call that may have happened can be made again.
    async fn may_repeat(&self, call: &Call<'_>) -> bool {
        let extension = match call.repeat {
            Repeat::Asks | Repeat::Same | Repeat::Keyed => return true,
            Repeat::Not => return false,
            Repeat::KeyedBy(extension) => extension,
        };
        if self.has(extension).is_none() {
            // Whatever it answers, it says what it has.
            let mut ask = Call::get(&["agents", "sessions"]);
            ask.query.push(("limit".to_owned(), "1".to_owned()));
            ask.within = Some(self.0.timeout);
            let _ = Box::pin(self.call(&ask)).await;
        }
        self.has(extension) == Some(true)
    }

    fn uncertain(&self, call: &Call<'_>, why: String) -> DeploymentError {
        DeploymentError::Uncertain {
            why,
            find_out: call.find_out.to_owned(),
        }
    }

    fn given_up(&self, call: &Call<'_>, attempt: Attempt, in_doubt: bool) -> Failure {
        if in_doubt && call.repeat != Repeat::Asks {
            return match call.repeat {
                Repeat::Keyed | Repeat::KeyedBy(_) => EngineError::Unknown(attempt.why).into(),
                _ => self.uncertain(call, attempt.why).into(),
            };
        }
        match attempt.refusal {
            // What stays a conflict is one.
            Some(error) if error.status == 409 => Failure::Refused {
                error,
                behind_doubt: false,
            },
            _ => EngineError::Unavailable(attempt.why).into(),
        }
    }

    /// A good answer that can't be read: what it was about has happened, unless it was only a question.
    pub(super) fn unreadable(&self, call: &Call<'_>, why: String) -> Failure {
        let why = format!("{}: {why}", self.0.shown);
        match call.repeat {
            Repeat::Asks => EngineError::Unavailable(why).into(),
            Repeat::Keyed | Repeat::KeyedBy(_) => EngineError::Unknown(why).into(),
            Repeat::Same | Repeat::Not => self.uncertain(call, why).into(),
        }
    }

    /// Calls, and reads the answer.
    pub(super) async fn fetch<T: serde::de::DeserializeOwned>(
        &self,
        call: &Call<'_>,
    ) -> Result<T, Failure> {
        let response = self.call(call).await?.response;
        let headers = response.headers().clone();
        let within = self.0.timeout.max(Duration::from_secs(10));
        let body = answer::body(response, answer::WHOLE_MAX_BYTES, within).await;
        let read = match body {
            Ok(Some(body)) => answer::value(&headers, &body),
            Ok(None) => {
                Err("its answer is larger than 64 MiB; ask for less with --limit".to_owned())
            }
            Err(why) => Err(why),
        };
        read.map_err(|why| self.unreadable(call, why))
    }
}

/// What the server says it has.
fn extensions(headers: &HeaderMap) -> BTreeSet<Extension> {
    let values = headers.get_all(EXTENSIONS_HEADER).into_iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(Extension::in_header).collect()
}

/// Growing, random, bounded; longer only if the server asks for it.
fn pause(number: u32, asked_ms: Option<u64>) -> Duration {
    let longest = (FIRST_PAUSE_MS << number.min(10)).min(LONGEST_PAUSE_MS);
    let mut byte = [0u8];
    // Without randomness the pause is only less random.
    let _ = getrandom::fill(&mut byte);
    let random = longest / 2 + longest * u64::from(byte[0]) / 510;
    Duration::from_millis(asked_ms.map_or(random, |asked| asked.max(random / 4)))
}

/// Whether it is TLS itself that does not work, and not the network.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    // Errors of input and output hold others, and name only what those come from.
    let held = error.downcast_ref::<std::io::Error>();
    let held = held.and_then(std::io::Error::get_ref);
    held.is_some_and(|held| is_tls(held)) || error.source().is_some_and(is_tls)
}
