//! What an error of an AWS client means: who must act, and whether the request had an effect. One reading for all services.

use std::error::Error;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

/// Why a request did not succeed. Only [`Fault::Uncertain`] may have had its effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// AWS was not reached. Nothing happened.
    #[error("AWS can't be reached: {0}")]
    Unreachable(String),
    /// The answer was lost, or AWS failed while it worked. It may have happened.
    #[error("AWS did not answer: {0}")]
    Uncertain(String),
    /// Too many requests. Nothing happened.
    #[error("AWS is saturated: {0}")]
    Throttled(String),
    /// The caller has no valid credentials. Nothing happened.
    #[error("no valid AWS credentials: {0}")]
    Credentials(String),
    /// The caller may not do this. Nothing happened.
    #[error("AWS does not permit it: {0}")]
    Denied(String),
    /// AWS refused the request, with this code. Nothing happened.
    #[error("{code}: {message}")]
    Refused {
        /// As AWS calls it (`ValidationException`, `NoSuchKey`, …).
        code: String,
        /// In AWS' words.
        message: String,
    },
}

impl Fault {
    /// Reads an error of any client.
    pub fn of<E>(error: &SdkError<E, HttpResponse>) -> Fault
    where
        E: ProvideErrorMetadata + Error + Send + Sync + 'static,
    {
        match error {
            SdkError::ServiceError(refused) => {
                let service = refused.err();
                let status = refused.raw().status().as_u16();
                of_service(
                    service.code(),
                    service.message().unwrap_or_default(),
                    status,
                )
            }
            SdkError::ConstructionFailure(_) => Fault::Refused {
                code: "InvalidRequest".to_owned(),
                message: in_words(error),
            },
            SdkError::DispatchFailure(failure) => {
                let words = in_words(error);
                let source = failure
                    .as_connector_error()
                    .map(|e| e as &(dyn Error + 'static));
                match source {
                    Some(source) if has::<CredentialsError>(source) => Fault::Credentials(words),
                    Some(source) if never_connected(source) => Fault::Unreachable(words),
                    Some(_) | None => Fault::Uncertain(words),
                }
            }
            // A time that is over, an answer that can't be read, and whatever the clients will call their failures later.
            _ => Fault::Uncertain(in_words(error)),
        }
    }

    /// What an operator has to set up, or to configure otherwise, before any request like this one can work; in words.
    pub fn not_set_up(&self) -> Option<String> {
        let Fault::Refused { code, .. } = self else {
            return None;
        };
        match code.as_str() {
            "ResourceNotFoundException" => Some("there is no such DynamoDB table".to_owned()),
            "NoSuchBucket" => Some("there is no such S3 bucket".to_owned()),
            // S3 answers a bucket of another region, or of another partition, with a redirection.
            "PermanentRedirect" | "301" | "307" | "IllegalLocationConstraintException" => {
                Some("the S3 bucket is in another region".to_owned())
            }
            _ => None,
        }
    }

    /// Whether AWS refused with this code.
    pub fn is(&self, wanted: &str) -> bool {
        matches!(self, Fault::Refused { code, .. } if code == wanted)
    }
}

/// What a refusal means. S3 has no body, and so no code, where it answers a request for metadata.
fn of_service(code: Option<&str>, message: &str, status: u16) -> Fault {
    let words = match code {
        Some(code) if message.is_empty() => code.to_owned(),
        Some(code) => format!("{code}: {message}"),
        None => format!("status {status}"),
    };
    match (code.unwrap_or_default(), status) {
        (
            "ProvisionedThroughputExceededException"
            | "ThrottlingException"
            | "Throttling"
            | "RequestLimitExceeded"
            | "TooManyRequestsException"
            | "SlowDown",
            _,
        )
        | (_, 429) => Fault::Throttled(words),
        (
            "ExpiredToken"
            | "ExpiredTokenException"
            | "InvalidClientTokenId"
            | "UnrecognizedClientException"
            | "InvalidAccessKeyId"
            | "SignatureDoesNotMatch"
            | "InvalidSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            // A clock that is wrong makes every signature wrong.
            | "RequestTimeTooSkewed"
            | "RequestExpired"
            | "AuthFailure",
            _,
        ) => Fault::Credentials(words),
        (
            "AccessDenied"
            | "AccessDeniedException"
            | "UnauthorizedOperation"
            | "KMSAccessDeniedException",
            _,
        )
        | ("", 403) => Fault::Denied(words),
        // EC2 says so with the status of a failure, though it decided.
        (code, 500..) if code.starts_with("Insufficient") && code.ends_with("Capacity") => {
            Fault::Refused {
                code: code.to_owned(),
                message: message.to_owned(),
            }
        }
        (_, 500..) => Fault::Uncertain(words),
        (code, status) => Fault::Refused {
            code: match code {
                "" => status.to_string(),
                code => code.to_owned(),
            },
            message: message.to_owned(),
        },
    }
}

fn has<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| cause.is::<T>())
}

/// Whether no connection was made at all.
fn never_connected(error: &(dyn Error + 'static)) -> bool {
    causes(error).any(|cause| {
        let client = cause.downcast_ref::<hyper_util::client::legacy::Error>();
        client.is_some_and(hyper_util::client::legacy::Error::is_connect)
    })
}

/// An error and what led to it, for a person: no structure of any client.
fn in_words(error: &(dyn Error + 'static)) -> String {
    let mut words: Vec<String> = causes(error).map(ToString::to_string).collect();
    // What repeats its cause says it once.
    words.dedup();
    words.join(": ")
}

/// An error, and what led to it.
fn causes<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_have_happened_is_uncertain() {
        let told = |code: &str, status| of_service(Some(code), "m", status);
        assert!(matches!(
            told("ThrottlingException", 400),
            Fault::Throttled(_)
        ));
        assert!(matches!(told("SlowDown", 503), Fault::Throttled(_)));
        assert!(matches!(told("ExpiredToken", 400), Fault::Credentials(_)));
        assert!(matches!(
            told("AccessDeniedException", 400),
            Fault::Denied(_)
        ));
        assert!(matches!(
            told("InternalServerError", 500),
            Fault::Uncertain(_)
        ));
        assert!(matches!(
            told("ServiceUnavailable", 503),
            Fault::Uncertain(_)
        ));
        assert!(told("ValidationException", 400).is("ValidationException"));
        let full = "InsufficientInstanceCapacity";
        assert!(told(full, 500).is(full));
    }

    #[test]
    fn what_is_missing_or_elsewhere_is_told_from_a_mistake_of_ours() {
        for (code, status) in [
            ("ResourceNotFoundException", 400),
            ("NoSuchBucket", 404),
            ("PermanentRedirect", 301),
            ("", 301),
        ] {
            let code = (!code.is_empty()).then_some(code);
            assert!(of_service(code, "", status).not_set_up().is_some());
        }
        let ours = of_service(Some("ValidationException"), "", 400);
        assert_eq!(ours.not_set_up(), None);
    }

    #[test]
    fn what_led_to_an_error_is_told_in_words_and_once() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(in_words(&error), "outer: inner");
        #[derive(Debug, thiserror::Error)]
        #[error("inner")]
        struct Same(#[source] std::io::Error);
        let error = Same(std::io::Error::other("inner"));
        assert_eq!(in_words(&error), "inner");
    }

    #[test]
    fn a_refusal_without_a_code_is_known_by_its_status() {
        assert!(of_service(None, "", 404).is("404"));
        assert!(matches!(of_service(None, "", 403), Fault::Denied(_)));
    }
}
