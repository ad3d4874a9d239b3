//! From an answer to the bytes of a Responses-API stream. Pure.

use serde_json::{Value, json};

use super::answer::{Answer, End, Gate, Output, Piece, Step};

/// What is done to the connection, in order.
pub(super) enum Frame {
    Bytes(Vec<u8>),
    Until(Gate),
    Cut,
    Silence,
}

/// Status, media type and what follows, for the request of this number.
pub(super) fn frames(answer: Answer, number: usize) -> (u16, &'static str, Vec<Frame>) {
    if let Some((status, kind, body)) = answer.whole {
        return (status, kind, vec![Frame::Bytes(body.into_bytes())]);
    }
    if !answer.raw.is_empty() {
        let mut frames: Vec<Frame> = answer.raw.into_iter().map(Frame::Bytes).collect();
        frames.extend(match answer.end {
            End::Cut => Some(Frame::Cut),
            End::Silence => Some(Frame::Silence),
            End::Completed | End::Failed { .. } => None,
        });
        return (200, "text/event-stream", frames);
    }
    let id = format!("resp_{number}");
    let mut frames = vec![event(
        json!({"type": "response.created", "response": {"id": id}}),
    )];
    let mut outputs = Vec::new();
    for step in answer.steps {
        match step {
            Step::Until(gate) => frames.push(Frame::Until(gate)),
            Step::Output(made) => {
                let index = outputs.len();
                outputs.push(output(made, number, index, &mut frames));
            }
        }
    }
    let [input, cached, output, reasoning] = answer.tokens;
    match answer.end {
        End::Completed => frames.push(event(json!({
            "type": "response.completed",
            "response": {
                "id": id,
                "output": outputs,
                "usage": {
                    "input_tokens": input,
                    "input_tokens_details": {"cached_tokens": cached},
                    "output_tokens": output,
                    "output_tokens_details": {"reasoning_tokens": reasoning},
                    "total_tokens": input + output,
                },
            },
        }))),
        End::Failed { code, message } => frames.push(event(json!({
            "type": "response.failed",
            "response": {"id": id, "status": "failed", "error": {"code": code, "message": message}},
        }))),
        End::Cut => frames.push(Frame::Cut),
        End::Silence => frames.push(Frame::Silence),
    }
    (200, "text/event-stream", frames)
}

/// The events of one output, and the item as it is when it is done.
fn output(output: Output, number: usize, index: usize, frames: &mut Vec<Frame>) -> Value {
    let id = |prefix: &str| format!("{prefix}_{number}_{index}");
    let item = match output {
        Output::Message(pieces) => {
            let id = id("msg");
            let begun = json!({"type": "message", "id": id, "role": "assistant", "status": "in_progress", "content": []});
            frames.push(added(index, &begun));
            let mut text = String::new();
            for piece in pieces {
                match piece {
                    Piece::Until(gate) => frames.push(Frame::Until(gate)),
                    Piece::Text(piece) => {
                        text.push_str(&piece);
                        frames.push(event(
                            json!({"type": "response.output_text.delta", "item_id": id,
                            "output_index": index, "content_index": 0, "delta": piece}),
                        ));
                    }
                }
            }
            json!({"type": "message", "id": id, "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
        }
        Output::Reasoning(summary) => {
            let id = id("rs");
            frames.push(added(
                index,
                &json!({"type": "reasoning", "id": id, "summary": []}),
            ));
            let part = |kind: &str, more: (&str, Value)| {
                let mut part = json!({"type": format!("response.reasoning_summary_{kind}"), "item_id": id,
                    "output_index": index, "summary_index": 0});
                part[more.0] = more.1;
                event(part)
            };
            frames.push(part(
                "part.added",
                ("part", json!({"type": "summary_text", "text": ""})),
            ));
            frames.push(part("text.delta", ("delta", json!(summary))));
            json!({"type": "reasoning", "id": id, "summary": [{"type": "summary_text", "text": summary}],
                "encrypted_content": format!("sealed-{id}")})
        }
        Output::Item(mut item) => {
            item["id"] = id("item").into();
            item["status"] = "completed".into();
            frames.push(added(index, &item));
            item
        }
    };
    frames.push(event(
        json!({"type": "response.output_item.done", "output_index": index, "item": item}),
    ));
    item
}

fn added(index: usize, item: &Value) -> Frame {
    event(json!({"type": "response.output_item.added", "output_index": index, "item": item}))
}

fn event(value: Value) -> Frame {
    let name = value["type"].as_str().expect("every event has a type");
    Frame::Bytes(format!("event: {name}\ndata: {value}\n\n").into_bytes())
}
