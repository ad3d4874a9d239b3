//! From the events of a Responses-API stream to model events. Pure. Whatever is not known is left out.

use serde_json::Value;

use super::failure::Complaint;
use crate::backend::sse::Event;
use crate::engine::ports::{ModelEvent, ModelUsage};

/// Reads the events of one response.
#[derive(Debug, Default)]
pub struct Reader {
    /// Whether an item came by itself; if none did, they are taken from the response's end.
    any_item: bool,
}

/// Why a response ends without being complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The provider says that it failed.
    Failed(Complaint),
    /// An event can't be read: bytes were lost on the way.
    Garbled,
}

impl Reader {
    /// What one server-sent event means; usually one model event or none.
    pub fn read(&mut self, event: &Event) -> Result<Vec<ModelEvent>, Broken> {
        let data = event.data.trim();
        // `[DONE]` and whatever else servers send to keep a connection open.
        if !data.starts_with('{') {
            return Ok(Vec::new());
        }
        let value: Value = serde_json::from_str(data).map_err(|_| Broken::Garbled)?;
        let kind = value["type"].as_str().unwrap_or(&event.name);
        let delta = || value["delta"].as_str().unwrap_or_default().to_owned();
        Ok(match kind {
            "response.output_text.delta" | "response.refusal.delta" => {
                vec![ModelEvent::TextDelta(delta())]
            }
            // Raw reasoning (`response.reasoning_text.delta`) is no summary, and no Item shows it.
            "response.reasoning_summary_text.delta" => vec![ModelEvent::ReasoningDelta {
                summary: value["summary_index"].as_u64().unwrap_or(0),
                text: delta(),
            }],
            "response.output_item.done" if value["item"].is_object() => {
                self.any_item = true;
                vec![ModelEvent::Item(value["item"].clone())]
            }
            "response.completed" | "response.incomplete" => self.end(&value["response"], kind)?,
            "response.failed" => {
                return Err(Broken::Failed(Complaint::of_value(
                    &value["response"]["error"],
                )));
            }
            "error" => return Err(Broken::Failed(Complaint::of_value(&value))),
            // A server that fails before it begins may send nothing but its error.
            "" if !value["error"].is_null() => {
                return Err(Broken::Failed(Complaint::of_value(&value)));
            }
            _ => Vec::new(),
        })
    }

    /// A whole response at once, as servers answer that do not stream.
    pub fn whole(&mut self, response: &Value) -> Result<Vec<ModelEvent>, Broken> {
        self.end(response, "")
    }

    fn end(&mut self, response: &Value, kind: &str) -> Result<Vec<ModelEvent>, Broken> {
        let status = response["status"].as_str().unwrap_or_default();
        if status == "failed" || !response["error"].is_null() {
            return Err(Broken::Failed(Complaint::of_value(&response["error"])));
        }
        let mut events = Vec::new();
        if !self.any_item {
            let items = response["output"].as_array().into_iter().flatten();
            events.extend(items.cloned().map(ModelEvent::Item));
        }
        let incomplete = kind == "response.incomplete" || status == "incomplete";
        let reason = response["incomplete_details"]["reason"].as_str();
        events.push(ModelEvent::Done {
            response_id: response["id"].as_str().map(str::to_owned),
            usage: usage(&response["usage"]),
            incomplete: incomplete.then(|| reason.unwrap_or("unknown").to_owned()),
        });
        Ok(events)
    }
}

fn usage(usage: &Value) -> Option<ModelUsage> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    usage.is_object().then(|| ModelUsage {
        input: count(&usage["input_tokens"]),
        cached_input: count(&usage["input_tokens_details"]["cached_tokens"]),
        output: count(&usage["output_tokens"]),
        reasoning: count(&usage["output_tokens_details"]["reasoning_tokens"]),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn event(data: impl ToString) -> Event {
        Event {
            name: String::new(),
            data: data.to_string(),
        }
    }

    fn read(data: impl ToString) -> Result<Vec<ModelEvent>, Broken> {
        Reader::default().read(&event(data))
    }

    fn done(incomplete: Option<&str>) -> ModelEvent {
        ModelEvent::Done {
            response_id: None,
            usage: None,
            incomplete: incomplete.map(str::to_owned),
        }
    }

    #[test]
    fn known_events_are_read() {
        let item = json!({"type": "message", "unknown": [1]});
        for (data, expect) in [
            (
                json!({"type": "response.output_text.delta", "delta": "a"}),
                vec![ModelEvent::TextDelta("a".into())],
            ),
            (
                json!({"type": "response.reasoning_summary_text.delta", "delta": "b", "summary_index": 1}),
                vec![ModelEvent::ReasoningDelta {
                    summary: 1,
                    text: "b".into(),
                }],
            ),
            (
                json!({"type": "response.reasoning_text.delta", "delta": "b"}),
                vec![],
            ),
            (
                json!({"type": "response.output_item.done", "item": item}),
                vec![ModelEvent::Item(item.clone())],
            ),
            (json!({"type": "response.output_item.done"}), vec![]),
            (
                json!({"type": "response.completed", "response": {}}),
                vec![done(None)],
            ),
            (json!({"type": "response.completed"}), vec![done(None)]),
            (
                json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}),
                vec![done(Some("content_filter"))],
            ),
            (
                json!({"type": "response.incomplete", "response": {}}),
                vec![done(Some("unknown"))],
            ),
            (json!({"type": "response.created", "response": {}}), vec![]),
            (json!({"no": "type"}), vec![]),
        ] {
            assert_eq!(read(&data), Ok(expect), "{data}");
        }
        for data in ["[DONE]", "", "ping", "7"] {
            assert_eq!(read(data), Ok(vec![]), "{data}");
        }
    }

    #[test]
    fn the_name_of_an_event_stands_in_for_its_type() {
        let event = Event {
            name: "response.output_text.delta".into(),
            data: "{\"delta\":\"a\"}".into(),
        };
        assert_eq!(
            Reader::default().read(&event),
            Ok(vec![ModelEvent::TextDelta("a".into())])
        );
    }

    #[test]
    fn items_are_taken_from_the_end_only_if_none_came_before() {
        let item = json!({"type": "message"});
        let end = event(json!({"type": "response.completed", "response": {"output": [item]}}));
        let mut reader = Reader::default();
        assert_eq!(
            reader.read(&end),
            Ok(vec![ModelEvent::Item(item.clone()), done(None)])
        );
        let mut reader = Reader::default();
        let single = event(json!({"type": "response.output_item.done", "item": item}));
        assert!(reader.read(&single).is_ok());
        assert_eq!(reader.read(&end), Ok(vec![done(None)]));
    }

    #[test]
    fn usage_is_read_as_far_as_it_is_there() {
        let usage = json!({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 2}, "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 1}});
        let response = json!({"id": "resp_1", "status": "completed", "usage": usage});
        let expect = ModelEvent::Done {
            response_id: Some("resp_1".into()),
            usage: Some(ModelUsage {
                input: 5,
                cached_input: 2,
                output: 3,
                reasoning: 1,
            }),
            incomplete: None,
        };
        assert_eq!(Reader::default().whole(&response), Ok(vec![expect]));
        let odd = json!({"usage": {"input_tokens": -1, "output_tokens": "x"}});
        assert!(matches!(
            &Reader::default().whole(&odd).as_deref(),
            Ok([ModelEvent::Done { usage: Some(usage), .. }]) if *usage == ModelUsage::default()
        ));
    }

    #[test]
    fn failures_are_told_apart_from_garbage() {
        for data in [
            json!({"type": "response.failed", "response": {"error": {"code": "x", "message": "m"}}}),
            json!({"type": "response.completed", "response": {"status": "failed", "error": {"code": "x", "message": "m"}}}),
            json!({"type": "error", "code": "x", "message": "m"}),
            json!({"type": "error", "error": {"code": "x", "message": "m"}}),
            json!({"error": {"code": "x", "message": "m"}}),
        ] {
            match read(&data) {
                Err(Broken::Failed(complaint)) => {
                    assert_eq!(
                        (complaint.code.as_str(), complaint.message.as_str()),
                        ("x", "m"),
                        "{data}"
                    );
                }
                other => panic!("{data}: {other:?}"),
            }
        }
        assert_eq!(read("{\"type\": \"response.comp"), Err(Broken::Garbled));
    }
}
