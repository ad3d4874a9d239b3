//! What the model answers: outputs in order, with what holds them up and how it ends.

use serde_json::{Value, json};
use tokio::sync::watch;

/// Holds an answer up until a test opens it.
#[derive(Clone)]
pub(crate) struct Gate(watch::Sender<At>);

/// Where an answer is that has to pass a gate.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct At {
    reached: bool,
    open: bool,
}

impl Gate {
    pub(crate) fn new() -> Gate {
        Gate(watch::Sender::default())
    }

    /// Lets the answer go on, also one that comes later.
    pub(crate) fn open(&self) {
        self.0.send_modify(|at| at.open = true);
    }

    /// Waits until an answer is held up here: all before it has been handed to the connection.
    pub(crate) async fn reached(&self) {
        let mut at = self.0.subscribe();
        let reached = at.wait_for(|at| at.reached);
        tokio::time::timeout(super::PATIENCE, reached)
            .await
            .expect("an answer reaches the gate")
            .expect("the gate is here");
    }

    /// Whether an answer has come this far.
    pub(crate) fn was_reached(&self) -> bool {
        self.0.borrow().reached
    }

    /// Waits until it is open, in another server's answer.
    pub(crate) async fn pass_here(&self) {
        self.pass().await;
    }

    /// Waits until it is open.
    pub(super) async fn pass(&self) {
        let mut at = self.0.subscribe();
        self.0.send_modify(|at| at.reached = true);
        let _ = at.wait_for(|at| at.open).await;
    }
}

/// One output of the model.
pub(super) enum Output {
    /// A message, in the pieces in which it is streamed.
    Message(Vec<Piece>),
    /// Reasoning with its summary.
    Reasoning(String),
    /// Any other item, sent whole; its id is added.
    Item(Value),
}

/// Part of a message.
pub(super) enum Piece {
    Text(String),
    Until(Gate),
}

/// What comes next.
pub(super) enum Step {
    Output(Output),
    Until(Gate),
}

/// How an answer ends.
pub(super) enum End {
    /// With its usage.
    Completed,
    /// With a failure that is told in the stream.
    Failed { code: String, message: String },
    /// The connection breaks.
    Cut,
    /// Nothing comes any more and the connection stays.
    Silence,
}

/// The answer to one request.
pub(crate) struct Answer {
    /// Status, media type and body, in place of a stream.
    pub(super) whole: Option<(u16, &'static str, String)>,
    /// Bytes of a stream as they are, in place of events.
    pub(super) raw: Vec<Vec<u8>>,
    pub(super) steps: Vec<Step>,
    pub(super) end: End,
    /// Tokens read, of those from a cache, tokens written, of those for reasoning.
    pub(super) tokens: [u64; 4],
}

impl Answer {
    /// An answer without an output, to be added to.
    pub(crate) fn new() -> Answer {
        Answer {
            whole: None,
            raw: Vec::new(),
            steps: Vec::new(),
            end: End::Completed,
            tokens: [100, 0, 10, 0],
        }
    }

    /// A refusal in place of a stream.
    pub(crate) fn fails(status: u16, kind: &str, message: &str) -> Answer {
        let error = json!({"error": {"type": kind, "code": kind, "message": message}});
        Answer::whole(status, "application/json", &error.to_string())
    }

    /// Anything in place of a stream.
    pub(crate) fn whole(status: u16, kind: &'static str, body: &str) -> Answer {
        Answer {
            whole: Some((status, kind, body.to_owned())),
            ..Answer::new()
        }
    }

    /// A stream of these bytes, each piece in a packet of its own.
    pub(crate) fn raw<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Answer {
        Answer {
            raw: pieces.into_iter().map(<[u8]>::to_vec).collect(),
            ..Answer::new()
        }
    }

    /// A message.
    pub(crate) fn says(self, text: &str) -> Answer {
        // In pieces, as models write.
        let pieces = text
            .split_inclusive(' ')
            .map(|word| Piece::Text(word.to_owned()))
            .collect();
        self.output(Output::Message(pieces))
    }

    /// A message that is held up in its middle.
    pub(crate) fn says_in_halves(self, first: &str, gate: &Gate, second: &str) -> Answer {
        self.output(Output::Message(vec![
            Piece::Text(first.to_owned()),
            Piece::Until(gate.clone()),
            Piece::Text(second.to_owned()),
        ]))
    }

    /// Reasoning with a summary; what the provider wants back is made of its id.
    pub(crate) fn thinks(self, summary: &str) -> Answer {
        self.output(Output::Reasoning(summary.to_owned()))
    }

    /// A call of a function tool.
    pub(crate) fn calls(self, call_id: &str, name: &str, arguments: &Value) -> Answer {
        self.item(
            json!({"type": "function_call", "call_id": call_id, "name": name,
            "arguments": arguments.to_string()}),
        )
    }

    /// A command.
    pub(crate) fn runs(self, call_id: &str, command: &str) -> Answer {
        self.calls(call_id, "exec_command", &json!({"cmd": command}))
    }

    /// A patch, as the tool `apply_patch` wants it.
    pub(crate) fn patches(self, call_id: &str, patch: &str) -> Answer {
        self.item(
            json!({"type": "custom_tool_call", "call_id": call_id, "name": "apply_patch", "input": patch}),
        )
    }

    /// Any item; its id and status are added.
    pub(crate) fn item(self, item: Value) -> Answer {
        self.output(Output::Item(item))
    }

    /// Holds up what follows.
    pub(crate) fn until(mut self, gate: &Gate) -> Answer {
        self.steps.push(Step::Until(gate.clone()));
        self
    }

    /// Tokens read, of those from a cache, tokens written, of those for reasoning.
    pub(crate) fn costs(mut self, tokens: [u64; 4]) -> Answer {
        self.tokens = tokens;
        self
    }

    /// Breaks the connection where it would end.
    pub(crate) fn cut(mut self) -> Answer {
        self.end = End::Cut;
        self
    }

    /// Goes silent where it would end.
    pub(crate) fn silent(mut self) -> Answer {
        self.end = End::Silence;
        self
    }

    /// Fails where it would end, within the stream.
    pub(crate) fn breaks(mut self, code: &str, message: &str) -> Answer {
        self.end = End::Failed {
            code: code.to_owned(),
            message: message.to_owned(),
        };
        self
    }

    fn output(mut self, output: Output) -> Answer {
        self.steps.push(Step::Output(output));
        self
    }
}
