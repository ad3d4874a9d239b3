//! Refusals in the words of EC2.

use super::xml::{Xml, fields, text};

/// An error of the API: nothing was done.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    /// The status of HTTP: 4xx is the caller's fault, 5xx is EC2's.
    pub(super) status: u16,
    code: String,
    message: String,
}

impl Refusal {
    /// The caller's fault.
    pub(super) fn new(code: impl Into<String>, message: impl Into<String>) -> Refusal {
        Refusal {
            status: 400,
            code: code.into(),
            message: message.into(),
        }
    }

    /// With another status.
    pub(super) fn status(self, status: u16) -> Refusal {
        Refusal { status, ..self }
    }

    /// A parameter has a value that it can't have.
    pub(super) fn value(message: impl Into<String>) -> Refusal {
        Refusal::new("InvalidParameterValue", message)
    }

    /// A parameter is not there.
    pub(super) fn missing(name: &str) -> Refusal {
        let message = format!("The request must contain the parameter {name}");
        Refusal::new("MissingParameter", message)
    }

    /// An id that is none, or whose resource is not there.
    ///
    /// `family` is how the codes of the resource begin, such as `InvalidInstanceID`.
    pub(super) fn id(family: &str, prefix: &str, noun: &str, id: &str) -> Refusal {
        let digits = id.strip_prefix(prefix).and_then(|id| id.strip_prefix('-'));
        let hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
        match digits.is_some_and(|digits| matches!(digits.len(), 8 | 17) && hex(digits)) {
            true => Refusal::new(
                format!("{family}.NotFound"),
                format!("The {noun} ID '{id}' does not exist"),
            ),
            false => Refusal::new(
                format!("{family}.Malformed"),
                format!("Invalid id: \"{id}\" (expecting \"{prefix}-...\")"),
            ),
        }
    }

    /// Quotas, capacity, rights and trouble of EC2's own, as a rule makes them.
    pub(crate) fn by_rule(code: &str) -> Refusal {
        let status = match code {
            "UnauthorizedOperation" | "AuthFailure" => 403,
            "InsufficientInstanceCapacity" | "InternalError" => 500,
            "RequestLimitExceeded" | "Unavailable" => 503,
            _ => 400,
        };
        Refusal::new(code, format!("{code} by rule")).status(status)
    }

    /// Whether it has this code.
    pub(super) fn is(&self, code: &str) -> bool {
        self.code == code
    }

    /// The body of the answer.
    pub(super) fn document(&self) -> String {
        let error = fields([("Code", text(&self.code)), ("Message", text(&self.message))]);
        let answer = fields([
            ("Errors", Xml::Items("Error", vec![error])),
            ("RequestID", text("stand-in")),
        ]);
        answer.document("Response", None)
    }
}
