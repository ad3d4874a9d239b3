//! How a call of a tool is recorded and what the model is told of it. Pure.

use serde_json::{Value, json};

use super::calls::{CallEnd, Outcome};
use crate::api::CallStatus;
use crate::backend::harness::responses::OUTCOME_UNKNOWN;
use crate::engine::ports::ToolEnd;

/// What a shortened text says in the place of what is not there.
const LEFT_OUT: &str = "bytes were left out here";

/// For the Item, and for the model. Neither is much longer than `limit_bytes`.
pub fn recorded(end: &CallEnd, limit_bytes: usize) -> (ToolEnd, String) {
    let (status, output, told) = match &end.outcome {
        Outcome::Answered(answer) => {
            let (status, told) = read(answer);
            (
                status,
                kept(answer, &told, limit_bytes),
                bounded(&told, limit_bytes),
            )
        }
        Outcome::Unsent(why) => {
            let answer = json!({"error": {"message": why}});
            (
                CallStatus::Failed,
                answer.to_string(),
                format!("failed: {why}"),
            )
        }
        Outcome::Unknown(why) => (
            CallStatus::Incomplete,
            format!("outcome unknown: {why}"),
            format!("{OUTCOME_UNKNOWN} ({why})"),
        ),
    };
    let end = ToolEnd {
        status,
        exit_code: None,
        output,
        duration_ms: end.duration_ms,
    };
    (end, told)
}

/// How an answered call ended, and all its words.
fn read(answer: &Value) -> (CallStatus, String) {
    if let Some(error) = answer.get("error") {
        let message = error["message"].as_str();
        let message = message.map_or_else(|| error.to_string(), str::to_owned);
        return (CallStatus::Failed, format!("failed: {message}"));
    }
    let result = &answer["result"];
    let said = words(result);
    match result["isError"] == true {
        true => (CallStatus::Failed, format!("failed: {said}")),
        false => (CallStatus::Completed, said),
    }
}

fn words(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    let said: Vec<String> = parts.map(part).collect();
    match said.is_empty() {
        false => said.join("\n"),
        true => match &result["structuredContent"] {
            Value::Null => String::new(),
            structured => structured.to_string(),
        },
    }
}

fn part(part: &Value) -> String {
    let text = part["text"].as_str();
    if let Some(text) = text.or_else(|| part["resource"]["text"].as_str()) {
        return text.to_owned();
    }
    let kind = part["type"].as_str().unwrap_or("part");
    let what = ["mimeType", "uri", "name"].iter();
    let what = what.filter_map(|field| part[field].as_str());
    let what: Vec<&str> = what.collect();
    format!("[{kind} {}]", what.join(" ")).replace(" ]", "]")
}

/// The answer, or if that is too long, as much of its words as there is room for.
fn kept(answer: &Value, told: &str, limit_bytes: usize) -> String {
    let whole = answer.to_string();
    if whole.len() <= limit_bytes {
        return whole;
    }
    let words = bounded(told, limit_bytes);
    match answer.get("error") {
        Some(error) => json!({"error": {"code": error["code"], "message": words}}).to_string(),
        None => {
            let content = json!([{"type": "text", "text": words}]);
            let is_error = answer["result"]["isError"] == true;
            json!({"result": {"content": content, "isError": is_error}}).to_string()
        }
    }
}

/// The beginning and the end of a long text.
pub fn bounded(text: &str, limit_bytes: usize) -> String {
    if text.len() <= limit_bytes {
        return text.to_owned();
    }
    let head = &text[..text.floor_char_boundary(limit_bytes / 2)];
    let tail = &text[text.ceil_char_boundary(text.len() - limit_bytes / 2)..];
    let left_out = text.len() - head.len() - tail.len();
    format!("{head}\n[{left_out} {LEFT_OUT}]\n{tail}")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn of(outcome: Outcome) -> (CallStatus, String, String) {
        let end = CallEnd {
            outcome,
            duration_ms: 5,
        };
        let (end, told) = recorded(&end, 200);
        assert_eq!((end.exit_code, end.duration_ms), (None, 5));
        (end.status, end.output, told)
    }

    #[test]
    fn each_way_a_call_can_end_is_told_apart() {
        let answer = json!({"result": {"content": [{"type": "text", "text": "2"}, {"type": "image", "mimeType": "image/png", "data": "x"}]}});
        assert_eq!(
            of(Outcome::Answered(answer.clone())),
            (
                CallStatus::Completed,
                answer.to_string(),
                "2\n[image image/png]".to_owned()
            )
        );
        let structured = json!({"result": {"content": [], "structuredContent": {"n": 2}}});
        assert_eq!(of(Outcome::Answered(structured)).2, r#"{"n":2}"#);
        let failed =
            json!({"result": {"content": [{"type": "text", "text": "boom"}], "isError": true}});
        let (status, _, told) = of(Outcome::Answered(failed));
        assert_eq!(
            (status, told.as_str()),
            (CallStatus::Failed, "failed: boom")
        );
        let refused = json!({"error": {"code": -32602, "message": "no such tool"}});
        let (status, _, told) = of(Outcome::Answered(refused));
        assert_eq!(
            (status, told.as_str()),
            (CallStatus::Failed, "failed: no such tool")
        );
        let (status, output, told) = of(Outcome::Unknown("it ended".into()));
        assert_eq!(status, CallStatus::Incomplete);
        assert_eq!(output, "outcome unknown: it ended");
        assert!(told.starts_with("outcome unknown"), "{told}");
        let (status, output, told) = of(Outcome::Unsent("nobody there".into()));
        assert_eq!(
            (status, told.as_str()),
            (CallStatus::Failed, "failed: nobody there")
        );
        assert_eq!(output, r#"{"error":{"message":"nobody there"}}"#);
    }

    #[test]
    fn a_long_answer_is_kept_as_the_beginning_and_the_end_of_its_words() {
        let long = format!("first {} last", "é".repeat(1_000));
        for (answer, field) in [
            (
                json!({"result": {"content": [{"type": "text", "text": long}], "isError": false}}),
                "result",
            ),
            (json!({"error": {"code": 1, "message": long}}), "error"),
        ] {
            let (_, output, told) = of(Outcome::Answered(answer));
            let kept: Value = serde_json::from_str(&output).expect("it is JSON still");
            assert!(kept.get(field).is_some());
            for text in [&output, &told] {
                assert!(text.contains("first") && text.contains("last"), "{text}");
                assert!(text.contains(LEFT_OUT) && text.len() < 400, "{text}");
            }
        }
    }
}
