//! Model `demo`: offline, deterministic, without any memory of its own. Documented in `docs/demo-model.md`.
//!
//! It is no toy beside the real path: it streams, calls tools, fails and stalls through the same port, so everything around a
//! model can be shown and tested with it. Its surprising part is `program`: where it stands is worked out from the request
//! alone, which is why it goes on correctly after any crash.

mod directive;
mod program;
mod report;

use std::collections::VecDeque;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::{self, StreamExt};
use serde_json::{Value, json};

use self::directive::Directive;
use self::program::{Part, Program, Step};
use crate::engine::ports::{
    Model, ModelError, ModelEvent, ModelItem, ModelRequest, ModelStream, ModelUsage,
};

/// History that is worth giving to this model: it reads only what it needs to know where it stands. A harness that gives it more
/// makes the thousandth Turn of a Session dearer than the first, for nothing.
pub const HISTORY_BYTES: usize = 64 << 10;

/// The offline model.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoModel;

#[async_trait]
impl Model for DemoModel {
    async fn call(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        Ok(stream::unfold(respond(&request), next_beat).boxed())
    }

    fn name(&self) -> String {
        "demo".to_owned()
    }
}

/// One thing that the stream yields, and the pause before it.
type Beat = (u64, Option<Result<ModelEvent, ModelError>>);

async fn next_beat(
    mut beats: VecDeque<Beat>,
) -> Option<(Result<ModelEvent, ModelError>, VecDeque<Beat>)> {
    loop {
        let (pause_ms, what) = beats.pop_front()?;
        if pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
        if let Some(what) = what {
            return Some((what, beats));
        }
    }
}

fn respond(request: &ModelRequest) -> VecDeque<Beat> {
    let can_run = request.tools.iter().any(|tool| tool["name"] == "shell");
    let program = Program::read(&request.input, can_run);
    let mut steps = program.next_response();
    let asks_for_output = steps.last().is_some_and(Step::is_call);
    if !asks_for_output && !steps.iter().any(Step::is_message) {
        steps.push(Step::Told(Directive::Say("Done.".to_owned())));
    }
    let last_message = steps.iter().rposition(Step::is_message);
    let mut response = Response::default();
    for (at, step) in steps.into_iter().enumerate() {
        let phase = if !asks_for_output && Some(at) == last_message {
            "final_answer"
        } else {
            "commentary"
        };
        if !response.step(step, phase, &program, can_run) {
            return response.beats;
        }
    }
    response.end(request)
}

#[derive(Default)]
struct Response {
    beats: VecDeque<Beat>,
    written_bytes: u64,
    reasoned_bytes: u64,
}

impl Response {
    /// Adds one step's events; false if the stream ends here.
    fn step(&mut self, step: Step, phase: &str, program: &Program, can_run: bool) -> bool {
        match step {
            Step::Told(Directive::Say(text)) => self.message(&text, phase, 0),
            Step::Told(Directive::Slow { ms, text }) => self.message(&text, phase, ms),
            Step::Told(Directive::Reason(text)) => self.reasoning(&text),
            Step::Told(Directive::Exec(command)) => self.shell(&command, program),
            Step::Told(Directive::Call { name, arguments }) => {
                self.call(&name, &arguments, program);
            }
            Step::Told(Directive::Sleep { ms }) => self.beats.push_back((ms, None)),
            Step::Told(Directive::Fail { code, message }) => {
                let error = ModelError {
                    code,
                    message,
                    retryable: false,
                    retry_after_ms: None,
                };
                self.beats.push_back((0, Some(Err(error))));
                return false;
            }
            Step::Own(Part::Note) => self.message(&report::note(), phase, 0),
            Step::Own(Part::Look) => self.shell(report::LOOK, program),
            Step::Own(Part::Report) => self.shell(&report::write_report(program), program),
            Step::Own(Part::Answer) => self.message(&report::answer(program, can_run), phase, 0),
        }
        true
    }

    fn message(&mut self, text: &str, phase: &str, pause_ms: u64) {
        for word in text.split_inclusive(char::is_whitespace) {
            let delta = ModelEvent::TextDelta(word.to_owned());
            self.beats.push_back((pause_ms, Some(Ok(delta))));
        }
        self.written_bytes += text.len() as u64;
        self.item(json!({
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "phase": phase,
            "content": [{"type": "output_text", "text": text}],
        }));
    }

    fn reasoning(&mut self, text: &str) {
        let delta = ModelEvent::ReasoningDelta {
            summary: 0,
            text: text.to_owned(),
        };
        self.beats.push_back((0, Some(Ok(delta))));
        self.reasoned_bytes += text.len() as u64;
        self.item(json!({
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": text}],
            // Only reasoning with encrypted content is given back, and the position depends on getting it back.
            "encrypted_content": "demo",
        }));
    }

    fn shell(&mut self, command: &str, program: &Program) {
        let arguments = json!({"command": command}).to_string();
        self.call("shell", &arguments, program);
    }

    fn call(&mut self, name: &str, arguments: &str, program: &Program) {
        self.written_bytes += (name.len() + arguments.len()) as u64;
        self.item(json!({
            "type": "function_call",
            "call_id": program.next_call_id(),
            "name": name,
            "arguments": arguments,
        }));
    }

    fn item(&mut self, item: Value) {
        self.beats.push_back((0, Some(Ok(ModelEvent::Item(item)))));
    }

    /// Tokens are counted as four bytes each: enough to see them add up, and the same in every run.
    fn end(mut self, request: &ModelRequest) -> VecDeque<Beat> {
        let read_bytes: usize = request.input.iter().map(ModelItem::size_bytes).sum();
        let reasoning = self.reasoned_bytes.div_ceil(4);
        let usage = ModelUsage {
            input: (read_bytes as u64).div_ceil(4),
            cached_input: 0,
            output: self.written_bytes.div_ceil(4) + reasoning,
            reasoning,
        };
        let done = ModelEvent::Done {
            response_id: None,
            usage: Some(usage),
            incomplete: None,
        };
        self.beats.push_back((0, Some(Ok(done))));
        self.beats
    }
}
