//! What is read of an agent's request, and what of it goes on. Pure.

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName};
use serde_json::{Map, Value};

use crate::backend::harness::codex::delegating::is_note;

/// Header fields that go on to the provider. No credential is among them, and nothing that describes this machine.
const GO_ON: [HeaderName; 6] = [
    ACCEPT,
    CONTENT_TYPE,
    HeaderName::from_static("openai-beta"),
    // What a provider finds the same conversation by, to use its cache.
    HeaderName::from_static("session-id"),
    HeaderName::from_static("thread-id"),
    HeaderName::from_static("x-client-request-id"),
];

/// Output items of kinds that the provider works out itself: no agent acts on them, and none is offered here.
const BY_PROVIDER: [&str; 4] = [
    "code_interpreter_call",
    "file_search_call",
    "image_generation_call",
    "mcp_call",
];

/// What goes on of a request's head. It is asked for without compression, because what is packed can't be witnessed.
pub fn forwarded(headers: &HeaderMap) -> HeaderMap {
    let named = |name: &HeaderName| Some((name.clone(), headers.get(name)?.clone()));
    GO_ON.iter().filter_map(named).collect()
}

/// The token of a request.
pub fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(reqwest::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The agent's own name for the conversation.
pub fn thread(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("thread-id")?.to_str().ok()?;
    Some(value.to_owned())
}

/// Whether a request is about the conversation, and no part of it.
pub fn is_aside(headers: &HeaderMap) -> bool {
    let value = headers.get("x-codex-turn-metadata");
    let text = value.and_then(|value| value.to_str().ok());
    let said = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let kind = said.as_ref().and_then(|said| said["request_kind"].as_str());
    kind.is_some_and(|kind| kind != "turn")
}

/// What is read of a request's input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// What tells the model how its calls ended, and what other agents let it know, oldest first.
    pub news: Vec<Value>,
    /// Messages of the user.
    pub messages: usize,
}

/// What a request tells the model. `None`: the body is no request.
pub fn told(body: &[u8]) -> Option<Told> {
    let mut asked: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let mut items = match asked.remove("input") {
        Some(Value::Array(items)) => items,
        // A request may hold text alone.
        Some(Value::String(_)) | None => return Some(Told::default()),
        Some(_) => return None,
    };
    let is_message = |item: &&Value| kind(item) == "message" && item["role"] == "user";
    let messages = items.iter().filter(is_message);
    let messages = messages.filter(|item| !is_note(item)).count();
    items.retain(|item| kind(item).ends_with("_output") || is_note(item));
    Some(Told {
        news: items,
        messages,
    })
}

/// What an output item of the model asks of its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// To act.
    Call,
    /// To be kept for the next request: what the model thought, and what its provider did for it.
    Keeping,
    /// To be heard.
    Hearing,
    /// Nothing.
    Nothing,
}

/// Kinds of calls that nobody knows yet count as calls.
pub fn asks(item: &Value) -> Asks {
    match kind(item) {
        "reasoning" | "web_search_call" => Asks::Keeping,
        "message" => Asks::Hearing,
        kind if kind.ends_with("_call") && !BY_PROVIDER.contains(&kind) => Asks::Call,
        _ => Asks::Nothing,
    }
}

fn kind(item: &Value) -> &str {
    item["type"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use reqwest::header::HeaderValue;
    use serde_json::json;

    use super::*;

    fn headers(all: &[(&'static str, &'static str)]) -> HeaderMap {
        all.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn only_what_is_known_to_be_harmless_goes_on() {
        let asked = headers(&[
            ("authorization", "Bearer t"),
            ("cookie", "c"),
            ("host", "127.0.0.1:1"),
            ("accept-encoding", "gzip"),
            ("x-codex-turn-metadata", "{\"cwd\":\"/here\"}"),
            ("content-type", "application/json"),
            ("thread-id", "t1"),
        ]);
        let expect = headers(&[("content-type", "application/json"), ("thread-id", "t1")]);
        assert_eq!(forwarded(&asked), expect);
        assert_eq!(
            (token(&asked), thread(&asked).as_deref()),
            (Some("t"), Some("t1"))
        );
    }

    #[test]
    fn a_token_is_a_bearers() {
        for (value, expect) in [
            ("Bearer abc", Some("abc")),
            ("bearer  abc ", Some("abc")),
            ("Basic abc", None),
            ("abc", None),
        ] {
            assert_eq!(
                token(&headers(&[("authorization", value)])),
                expect,
                "{value}"
            );
        }
        assert_eq!(token(&HeaderMap::new()), None);
    }

    #[test]
    fn what_is_said_about_a_conversation_is_no_part_of_it() {
        for (said, expect) in [
            (r#"{"request_kind":"turn"}"#, false),
            (r#"{"request_kind":"compaction"}"#, true),
            ("{}", false),
            ("x", false),
        ] {
            let asked = headers(&[("x-codex-turn-metadata", said)]);
            assert_eq!(is_aside(&asked), expect, "{said}");
        }
        assert!(!is_aside(&HeaderMap::new()));
    }

    #[test]
    fn ends_of_calls_and_words_of_other_agents_are_found_among_other_input() {
        let output = json!({"type": "function_call_output", "call_id": "c1", "output": "x"});
        let custom = json!({"type": "custom_tool_call_output", "call_id": "c2", "output": "y"});
        let note = json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "<subagent_notification>\n{}"}]});
        let body = json!({"model": "m", "input": [{"type": "message", "role": "user"}, output, {"role": "user"}, note, custom]});
        let expect = Told {
            news: vec![output, note, custom],
            messages: 1,
        };
        assert_eq!(told(body.to_string().as_bytes()), Some(expect));
        for (body, expect) in [
            ("{}", Some(Told::default())),
            (r#"{"input":"hi"}"#, Some(Told::default())),
            ("[]", None),
            ("{\"input\":[", None),
            (r#"{"input":7}"#, None),
            ("", None),
        ] {
            assert_eq!(told(body.as_bytes()), expect, "{body}");
        }
    }

    #[test]
    fn what_an_agent_would_act_on_is_a_call_and_so_is_what_nobody_knows() {
        for (kind, expect) in [
            ("function_call", Asks::Call),
            ("custom_tool_call", Asks::Call),
            ("local_shell_call", Asks::Call),
            ("tool_search_call", Asks::Call),
            ("teleport_call", Asks::Call),
            ("code_interpreter_call", Asks::Nothing),
            ("message", Asks::Hearing),
            ("reasoning", Asks::Keeping),
            ("web_search_call", Asks::Keeping),
        ] {
            assert_eq!(asks(&json!({"type": kind})), expect, "{kind}");
        }
        assert_eq!(asks(&json!({})), Asks::Nothing);
    }
}
