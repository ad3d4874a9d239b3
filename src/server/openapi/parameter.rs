//! Parameters of queries and headers, as they are told in `/openapi.json`.

use serde_json::{Value, json};

use crate::api::limits::Bound;
use crate::api::words::schema_of;
use crate::api::{DEFAULT_PAGE_LIMIT, FilePurpose, MAX_PAGE_LIMIT, Order, VaultStatus, Words};
use crate::server::answer::{BETA, KEY_CHARS_MAX};
use crate::server::files::PAGE_FILES;

/// A parameter of a query, or a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is described in its `told`")]
pub(in crate::server) enum Parameter {
    After,
    Limit,
    FilesLimit,
    Order,
    Purpose,
    AgentId,
    EnvironmentId,
    Metadata,
    Status,
    Page,
    Path,
    IncludeObfuscation,
    Stream,
    AfterEvent,
    Follow,
    IdempotencyKey,
    LastEventId,
    OpenAiBeta,
}

impl Parameter {
    /// As it stands in a request.
    pub(in crate::server) fn name(self) -> &'static str {
        match self {
            Parameter::After | Parameter::AfterEvent => "after",
            Parameter::Limit | Parameter::FilesLimit => "limit",
            Parameter::Purpose => "purpose",
            Parameter::Order => "order",
            Parameter::AgentId => "agent_id",
            Parameter::EnvironmentId => "environment_id",
            Parameter::Metadata => "metadata",
            Parameter::Status => "status",
            Parameter::Page => "page",
            Parameter::Path => "path",
            Parameter::IncludeObfuscation => "include_obfuscation",
            Parameter::Stream => "stream",
            Parameter::Follow => "follow",
            Parameter::IdempotencyKey => "Idempotency-Key",
            Parameter::LastEventId => "Last-Event-ID",
            Parameter::OpenAiBeta => "OpenAI-Beta",
        }
    }

    /// Whether a name in a query is this one: `metadata` is a map, one pair a name.
    pub(in crate::server) fn is(self, name: &str) -> bool {
        match (self, name.strip_prefix(self.name())) {
            (Parameter::Metadata, Some(rest)) => rest.starts_with('[') && rest.ends_with(']'),
            // Several are given as a list.
            (Parameter::Status, rest) => matches!(rest, Some("" | "[]")),
            (_, rest) => rest == Some(""),
        }
    }

    /// The parameter object.
    pub(super) fn told(self) -> Value {
        let mut told = json!({"name": self.name(), "in": self.place()});
        told["description"] = self.words().into();
        if self == Parameter::OpenAiBeta {
            told["required"] = true.into();
        }
        if self.place() == "query" && self != Parameter::Metadata {
            // `limit=` means what no `limit` means.
            told["allowEmptyValue"] = true.into();
        }
        if self == Parameter::Metadata {
            told["style"] = "deepObject".into();
            told["explode"] = true.into();
        }
        told["schema"] = self.schema();
        told
    }

    fn place(self) -> &'static str {
        match self {
            Parameter::IdempotencyKey | Parameter::LastEventId | Parameter::OpenAiBeta => "header",
            _ => "query",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Parameter::After => "Continues the list behind this id.",
            Parameter::Purpose => "Only files for this.",
            Parameter::Limit | Parameter::FilesLimit => "Elements of a page at most.",
            Parameter::Order => "By time of creation.",
            Parameter::AgentId => "Only Sessions created from this saved Agent.",
            Parameter::EnvironmentId => "Only of this environment.",
            Parameter::Metadata => {
                "Only those that have all of these pairs: `metadata[key]=value`."
            }
            Parameter::Status => "Only those in this state; several are given as `status[]`.",
            Parameter::Page => "Continues the list: the `next` of the page before.",
            Parameter::Path => "Only files below this directory, `/workspace` or below it.",
            Parameter::IncludeObfuscation => "Whether events are padded to random lengths.",
            Parameter::Stream => "Says what this route does anyway.",
            Parameter::AfterEvent => "Replays everything behind this event, then goes on live.",
            Parameter::Follow => "`false`: ends with what has happened so far.",
            Parameter::IdempotencyKey => {
                "The same request under the same key happens once; another body under it is refused."
            }
            Parameter::LastEventId => "The same as `after`, as browsers say it.",
            Parameter::OpenAiBeta => "Every route of this part wants it.",
        }
    }

    fn schema(self) -> Value {
        match self {
            Parameter::After
            | Parameter::AgentId
            | Parameter::EnvironmentId
            | Parameter::AfterEvent
            | Parameter::LastEventId => json!({"type": "string"}),
            Parameter::Page => json!({"type": "string"}),
            Parameter::Path => json!({"type": "string", "pattern": "^/workspace(/|$)"}),
            Parameter::Status => schema_of::<VaultStatus>().to_value(),
            Parameter::Limit => limit(DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT),
            Parameter::FilesLimit => limit(PAGE_FILES, PAGE_FILES),
            Parameter::Purpose => schema_of::<FilePurpose>().to_value(),
            Parameter::Order => {
                let mut schema = schema_of::<Order>().to_value();
                schema["default"] = Order::default().as_str().into();
                schema
            }
            Parameter::Metadata => {
                let mut schema = json!({"type": "object"});
                Bound::Metadata.add_to(&mut schema);
                schema["propertyNames"]["minLength"] = 1.into();
                schema
            }
            Parameter::IncludeObfuscation | Parameter::Stream | Parameter::Follow => {
                json!({"type": "boolean", "default": true})
            }
            Parameter::IdempotencyKey => json!({
                "type": "string",
                "pattern": format!("^[!-~]([ -~]{{0,{}}}[!-~])?$", KEY_CHARS_MAX - 2),
            }),
            Parameter::OpenAiBeta => json!({"type": "string", "const": BETA}),
        }
    }
}

fn limit(default: u32, max: u32) -> Value {
    json!({"type": "integer", "minimum": 1, "maximum": max, "default": default})
}
