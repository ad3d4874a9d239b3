//! Calls that an agent's harness ran, as the Agents API shows them. Pure.
//!
//! A call of an MCP tool is recorded as any other call. Its output is what the server answered: the JSON of an object with `result` or
//! `error`. Where it is something else, nobody answered, and it says why.

use serde_json::{Value, json};

use super::view::UNKNOWN_OUTCOME;
use crate::api::{
    CallStatus, CommandExecutionItem, McpCallItem, OutputStatus, WebSearchAction,
    WebSearchCallItem, call_arguments,
};

/// How far a call is, with its output fetched.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Course {
    /// It may be happening.
    Running,
    /// It is over.
    Over {
        /// completed, failed or incomplete.
        status: CallStatus,
        /// If it was a command that exited.
        exit_code: Option<i32>,
        /// What came of it.
        output: String,
        /// Wall time.
        duration_ms: u64,
    },
    /// Its worker was lost.
    Unknown,
}

/// What every Item has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Its id.
    pub(super) id: String,
    /// Its Turn.
    pub(super) turn_id: String,
}

/// A command.
pub(super) fn command(
    place: Place,
    command: String,
    cwd: Option<String>,
    course: Course,
) -> CommandExecutionItem {
    let (status, exit_code, output, duration_ms) = match course {
        Course::Running => (CallStatus::InProgress, None, None, None),
        Course::Over {
            status,
            exit_code,
            output,
            duration_ms,
        } => (status, exit_code, Some(output), Some(duration_ms)),
        Course::Unknown => {
            let output = Some(UNKNOWN_OUTCOME.to_owned());
            (CallStatus::Incomplete, None, output, None)
        }
    };
    CommandExecutionItem {
        id: place.id,
        command,
        cwd,
        duration_ms,
        exit_code,
        output,
        status,
        turn_id: place.turn_id,
    }
}

/// A call of the tool `name` of an MCP server.
pub(super) fn mcp(
    place: Place,
    server_label: String,
    name: String,
    arguments: &str,
    course: Course,
) -> McpCallItem {
    let (status, output, error) = match course {
        Course::Running => (CallStatus::InProgress, Value::Null, Value::Null),
        Course::Over { status, output, .. } => {
            let (output, error) = answered(&output);
            (status, output, error)
        }
        Course::Unknown => (
            CallStatus::Incomplete,
            Value::Null,
            json!({"message": UNKNOWN_OUTCOME}),
        ),
    };
    McpCallItem {
        id: place.id,
        arguments: call_arguments(arguments),
        error,
        name,
        output,
        server_label,
        status,
        turn_id: place.turn_id,
    }
}

/// Output and error of what a server answered. A tool that reports its own failure has both.
fn answered(answer: &str) -> (Value, Value) {
    let mut fields = match serde_json::from_str(answer) {
        Ok(Value::Object(fields)) => fields,
        _ => return (Value::Null, json!({"message": answer})),
    };
    if let Some(error) = fields.remove("error") {
        return (Value::Null, error);
    }
    match fields.remove("result") {
        Some(result) if result["isError"] == true => {
            let error = json!({"message": said(&result)});
            (result, error)
        }
        Some(result) => (result, Value::Null),
        None => (Value::Null, json!({"message": answer})),
    }
}

/// The texts of a tool's result.
fn said(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    match texts.is_empty() {
        true => "the tool failed and did not say why".to_owned(),
        false => texts.join("\n"),
    }
}

/// A search, as the provider reported it.
pub(super) fn web_search(place: Place, native: &Value) -> WebSearchCallItem {
    WebSearchCallItem {
        id: place.id,
        action: action(&native["action"]),
        status: match native["status"].as_str() {
            Some("completed") | None => OutputStatus::Completed,
            Some(_) => OutputStatus::Incomplete,
        },
        turn_id: place.turn_id,
    }
}

fn action(native: &Value) -> Option<WebSearchAction> {
    let text = |field: &str| native[field].as_str().map(str::to_owned);
    Some(match native["type"].as_str()? {
        "search" => WebSearchAction::Search {
            queries: native["queries"].as_array().map(|queries| {
                let texts = queries.iter().filter_map(Value::as_str);
                texts.map(str::to_owned).collect()
            }),
            query: text("query"),
        },
        "open_page" => WebSearchAction::OpenPage { url: text("url") },
        "find_in_page" | "find" => WebSearchAction::FindInPage {
            pattern: text("pattern"),
            url: text("url"),
        },
        _ => WebSearchAction::Other,
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn place() -> Place {
        Place {
            id: "mcp_1".into(),
            turn_id: "turn_1".into(),
        }
    }

    fn over(status: CallStatus, output: &str) -> McpCallItem {
        let course = Course::Over {
            status,
            exit_code: None,
            output: output.into(),
            duration_ms: 3,
        };
        mcp(place(), "calc".into(), "add".into(), r#"{"a":1}"#, course)
    }

    #[test]
    fn what_a_server_answered_is_output_or_error_and_a_failure_that_a_tool_reports_is_both() {
        let good = over(
            CallStatus::Completed,
            r#"{"result":{"content":[{"type":"text","text":"2"}]}}"#,
        );
        assert_eq!(
            (good.output, good.error, good.arguments),
            (
                json!({"content": [{"type": "text", "text": "2"}]}),
                Value::Null,
                json!({"a": 1})
            )
        );
        let refused = over(
            CallStatus::Failed,
            r#"{"error":{"code":-32602,"message":"no"}}"#,
        );
        assert_eq!(
            (refused.output, refused.error),
            (Value::Null, json!({"code": -32602, "message": "no"}))
        );
        let failed = over(
            CallStatus::Failed,
            r#"{"result":{"content":[{"type":"text","text":"boom"}],"isError":true}}"#,
        );
        assert_eq!(failed.output["isError"], true);
        assert_eq!(failed.error, json!({"message": "boom"}));
        let nobody = over(CallStatus::Incomplete, "outcome unknown: it ended");
        assert_eq!(
            nobody.error,
            json!({"message": "outcome unknown: it ended"})
        );
        let lost = mcp(
            place(),
            "calc".into(),
            "add".into(),
            "no json",
            Course::Unknown,
        );
        assert_eq!(lost.status, CallStatus::Incomplete);
        assert_eq!(lost.error, json!({"message": UNKNOWN_OUTCOME}));
        assert_eq!(lost.arguments, json!("no json"));
    }

    #[test]
    fn a_search_shows_what_was_done_and_not_what_was_found() {
        let of = |native: Value| web_search(place(), &native);
        let search = of(
            json!({"status": "completed", "action": {"type": "search", "query": "q", "queries": ["q", "r"], "sources": [1]}}),
        );
        assert_eq!(
            search.action,
            Some(WebSearchAction::Search {
                queries: Some(vec!["q".into(), "r".into()]),
                query: Some("q".into()),
            })
        );
        let page = of(
            json!({"status": "failed", "action": {"type": "open_page", "url": "https://a.example"}}),
        );
        assert_eq!(page.status, OutputStatus::Incomplete);
        assert_eq!(
            page.action,
            Some(WebSearchAction::OpenPage {
                url: Some("https://a.example".into())
            })
        );
        assert_eq!(of(json!({})).action, None);
        assert_eq!(
            of(json!({"action": {"type": "fly"}})).action,
            Some(WebSearchAction::Other)
        );
    }
}
