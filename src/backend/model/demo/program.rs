//! What the demo model still has to do, worked out from the items of one request alone. Pure.
//!
//! The model keeps nothing between calls. Each request's items are read from the start: a message of the user adds steps, an
//! item of the model takes the step that made it away. What is left is what comes next, however often the worker was lost
//! between two calls.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::directive::{self, Directive};
use crate::backend::harness::responses::LATE_RESULT;
use crate::engine::ports::ModelItem;

/// One step of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Written by the user.
    Told(Directive),
    /// Part of the answer to ordinary text.
    Own(Part),
}

/// How ordinary text is answered: look around, write a report, answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A short message on what is about to happen.
    Note,
    /// A command that looks around.
    Look,
    /// A command that writes the report.
    Report,
    /// The final answer.
    Answer,
}

/// The kind of item that a step leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trace {
    Message,
    Reasoning,
    Call,
    Nothing,
}

impl Step {
    fn trace(&self) -> Trace {
        match self {
            Step::Told(Directive::Say(_) | Directive::Slow { .. })
            | Step::Own(Part::Note | Part::Answer) => Trace::Message,
            Step::Told(Directive::Reason(_)) => Trace::Reasoning,
            Step::Told(Directive::Exec(_) | Directive::Call { .. })
            | Step::Own(Part::Look | Part::Report) => Trace::Call,
            Step::Told(Directive::Sleep { .. } | Directive::Fail { .. }) => Trace::Nothing,
        }
    }

    /// Whether the step ends a response, because its answer is needed first.
    pub fn is_call(&self) -> bool {
        self.trace() == Trace::Call
    }

    /// Whether the step writes a message.
    pub fn is_message(&self) -> bool {
        self.trace() == Trace::Message
    }
}

/// The state of the conversation as the demo model sees it.
#[derive(Debug, Default)]
pub struct Program {
    steps: VecDeque<Step>,
    /// The ordinary messages that are being answered.
    pub asks: Vec<String>,
    /// What the last look around printed.
    pub seen: String,
    /// What came of writing the report.
    pub saved: String,
    /// Function calls in the conversation so far.
    calls: u64,
    /// Of those, behind the newest message of the user.
    calls_since: u64,
    /// Calls whose output has not been met yet.
    open: HashMap<String, Step>,
}

impl Program {
    /// Reads a request's items. `can_run` says whether there is a shell tool.
    pub fn read(input: &[ModelItem], can_run: bool) -> Program {
        let mut program = Program::default();
        for item in input {
            match item {
                ModelItem::User(content) => program.hear(&text_of_parts(content), can_run),
                ModelItem::Assistant { .. } => drop(program.take(Trace::Message)),
                ModelItem::Call { call_id, .. } => program.called(call_id),
                ModelItem::Output { call_id, output } => {
                    program.answered(call_id, || Cow::Borrowed(&**output));
                }
                ModelItem::Other(item) => program.other(item),
            }
        }
        program
    }

    /// An item as it is sent, of which only these kinds are not typed.
    fn other(&mut self, item: &Value) {
        match item["type"].as_str() {
            Some("reasoning") => drop(self.take(Trace::Reasoning)),
            Some("function_call_output") => {
                let call_id = item["call_id"].as_str().unwrap_or_default();
                self.answered(call_id, || text_of(&item["output"]));
            }
            _ => {}
        }
    }

    /// The steps of the next response: up to and with the first call, or all that is left.
    pub fn next_response(&self) -> Vec<Step> {
        let until = match self.steps.iter().position(Step::is_call) {
            Some(call) => call + 1,
            None => self.steps.len(),
        };
        self.steps.iter().take(until).cloned().collect()
    }

    /// The id of the next call. It says how many calls came before it in the Session, which makes it unique, and since the newest
    /// message: so the position is known even if calls in between no longer fit into the request.
    pub fn next_call_id(&self) -> String {
        format!("call_demo_{}_{}", self.calls + 1, self.calls_since + 1)
    }

    fn hear(&mut self, text: &str, can_run: bool) {
        // It is told nothing new by an answer that it did not wait for.
        if text.starts_with(LATE_RESULT) {
            return;
        }
        self.end_waits();
        self.calls_since = 0;
        let told = directive::read(text);
        if told.is_empty() {
            self.ask(text, can_run);
        }
        self.steps.extend(told.into_iter().map(Step::Told));
    }

    /// A message came after the steps that are next: a Turn that waited was steered or cancelled, one that was to fail has
    /// failed. Without this, a cancelled `@sleep` would stall every later Turn, and a `@fail` would fail them all.
    fn end_waits(&mut self) {
        let mut response = self.next_response();
        if response
            .iter()
            .any(|step| matches!(step, Step::Told(Directive::Fail { .. })))
        {
            self.steps.clear();
            return;
        }
        self.steps.drain(..response.len());
        response.retain(|step| !matches!(step, Step::Told(Directive::Sleep { .. })));
        for step in response.into_iter().rev() {
            self.steps.push_front(match step {
                Step::Told(Directive::Slow { text, .. }) => Step::Told(Directive::Say(text)),
                other => other,
            });
        }
    }

    /// Ordinary text: a new job, or more of the one that is being worked on.
    fn ask(&mut self, text: &str, can_run: bool) {
        let pending = |part| self.steps.contains(&Step::Own(part));
        let going_on = pending(Part::Answer);
        let look_first = !going_on || pending(Part::Look);
        let note_first = !going_on || pending(Part::Note);
        if !going_on {
            self.asks.clear();
            self.seen.clear();
        }
        self.asks.push(text.to_owned());
        self.steps.retain(|step| !matches!(step, Step::Own(_)));
        let parts = [
            (Part::Note, can_run && note_first),
            (Part::Look, can_run && look_first),
            (Part::Report, can_run),
            (Part::Answer, true),
        ];
        for (part, wanted) in parts {
            if wanted {
                self.steps.push_back(Step::Own(part));
            }
        }
    }

    /// Removes the first step that leaves this trace, and those before it: they were part of the same or an earlier response.
    fn take(&mut self, trace: Trace) -> Option<Step> {
        let at = self.steps.iter().position(|step| step.trace() == trace)?;
        self.steps.drain(..=at).next_back()
    }

    fn called(&mut self, id: &str) {
        let (calls, since) = position(id).unwrap_or((0, 0));
        for _ in self.calls_since + 1..since {
            self.take(Trace::Call);
        }
        self.calls = calls.max(self.calls + 1);
        self.calls_since = since.max(self.calls_since + 1);
        if let Some(step) = self.take(Trace::Call) {
            self.open.insert(id.to_owned(), step);
        }
    }

    fn answered<'a>(&mut self, id: &str, output: impl FnOnce() -> Cow<'a, str>) {
        let Some(step) = self.open.remove(id) else {
            return;
        };
        let output = output();
        if output.starts_with("cancelled") {
            self.steps.clear();
            return;
        }
        match step {
            Step::Own(Part::Look) => self.seen = output.into_owned(),
            // Writing the same file again does no harm, so an unknown outcome is settled by doing just that.
            Step::Own(Part::Report) if output.starts_with("outcome unknown") => {
                self.steps.push_front(step);
            }
            Step::Own(Part::Report) => self.saved = output.into_owned(),
            _ => {}
        }
    }
}

/// What an id of this model says; other ids say nothing.
fn position(id: &str) -> Option<(u64, u64)> {
    let (calls, since) = id.strip_prefix("call_demo_")?.split_once('_')?;
    let position = (calls.parse().ok()?, since.parse().ok()?);
    // What no conversation reaches was not written here.
    (position.1 <= position.0 && position.0 < 1_000_000).then_some(position)
}

fn part_text(part: &Value) -> &str {
    part["text"].as_str().unwrap_or("(an image)")
}

/// The text of a string or of content parts.
fn text_of(content: &Value) -> Cow<'_, str> {
    match content {
        Value::String(text) => text.into(),
        Value::Array(parts) => text_of_parts(parts),
        _ => "".into(),
    }
}

/// The text of content parts, one part a line.
fn text_of_parts(parts: &[Value]) -> Cow<'_, str> {
    match parts {
        [one] => part_text(one).into(),
        parts => {
            let texts: Vec<&str> = parts.iter().map(part_text).collect();
            texts.join("\n").into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn user(text: &str) -> ModelItem {
        let content = vec![json!({"type": "input_text", "text": text})];
        ModelItem::User(content.into())
    }

    fn said(text: &str) -> ModelItem {
        ModelItem::Assistant {
            text: text.into(),
            phase: None,
        }
    }

    fn call(id: &str) -> ModelItem {
        ModelItem::Call {
            call_id: id.into(),
            name: "shell".into(),
            arguments: "{}".into(),
        }
    }

    fn output(id: &str, output: &str) -> ModelItem {
        ModelItem::Output {
            call_id: id.into(),
            output: output.into(),
        }
    }

    fn say(text: &str) -> Step {
        Step::Told(Directive::Say(text.into()))
    }

    fn exec(command: &str) -> Step {
        Step::Told(Directive::Exec(command.into()))
    }

    fn next(input: &[ModelItem]) -> Vec<Step> {
        Program::read(input, true).next_response()
    }

    #[test]
    fn each_item_of_the_model_takes_its_step_away() {
        let task = user("@say a\n@exec b\n@exec c\n@say d");
        let mut input = vec![task];
        assert_eq!(next(&input), [say("a"), exec("b")]);
        input.push(said("a"));
        assert_eq!(next(&input), [exec("b")]);
        input.extend([call("1"), output("1", "exit code 0")]);
        assert_eq!(next(&input), [exec("c")]);
        input.extend([call("2"), output("2", "outcome unknown: …")]);
        assert_eq!(next(&input), [say("d")]);
        input.push(said("d"));
        assert_eq!(next(&input), []);
    }

    #[test]
    fn call_ids_are_unique_and_hold_the_position_when_calls_are_left_out() {
        let mut input = vec![user("@exec a"), call("other"), output("other", "x")];
        let id = |input: &[ModelItem]| Program::read(input, true).next_call_id();
        assert_eq!(id(&input), "call_demo_2_2");
        input.push(user("@exec a\n@say b\n@exec c\n@exec d\n@exec e"));
        assert_eq!(id(&input), "call_demo_2_1");
        input.extend([call("call_demo_4_3"), output("call_demo_4_3", "x")]);
        assert_eq!(next(&input), [exec("e")]);
        assert_eq!(id(&input), "call_demo_5_4");
        for odd in [
            "call_demo_1_99",
            "call_demo_99999999999_1",
            "call_demo_x",
            "call_demo_-1_0",
        ] {
            assert_eq!(position(odd), None);
        }
    }

    #[test]
    fn directives_of_a_later_message_are_appended() {
        let input = [
            user("@exec a\n@exec b"),
            call("1"),
            output("1", "exit code 0"),
            user("@exec c"),
        ];
        assert_eq!(next(&input), [exec("b")]);
    }

    #[test]
    fn waits_are_over_once_a_later_message_is_there() {
        let slow = "@sleep 60000\n@slow 1000 a\n@exec b\n@sleep 5";
        assert_eq!(next(&[user(slow), user("@say c")]), [say("a"), exec("b")]);
        assert_eq!(
            next(&[user("@say x\n@fail server_error y\n@say z"), user("@say c")]),
            [say("c")]
        );
    }

    #[test]
    fn a_cancelled_command_ends_what_was_planned_behind_it() {
        let input = [
            user("@exec a\n@exec b"),
            call("1"),
            output("1", "cancelled: …"),
            user("@say c"),
        ];
        assert_eq!(next(&input), [say("c")]);
    }

    #[test]
    fn ordinary_text_is_explored_reported_and_answered() {
        let own = Step::Own;
        let mut input = vec![user("hello")];
        assert_eq!(next(&input), [own(Part::Note), own(Part::Look)]);
        input.extend([said("note"), call("1"), output("1", "/workspace")]);
        assert_eq!(next(&input), [own(Part::Report)]);
        input.extend([call("2"), output("2", "outcome unknown: lost")]);
        assert_eq!(next(&input), [own(Part::Report)]);
        input.push(user("and this"));
        assert_eq!(next(&input), [own(Part::Report)]);
        input.extend([call("3"), output("3", "exit code 0")]);
        assert_eq!(next(&input), [own(Part::Answer)]);
        assert_eq!(
            Program::read(&input, true).asks,
            ["hello".to_owned(), "and this".to_owned()]
        );
        input.extend([said("done"), user("more")]);
        assert_eq!(next(&input), [own(Part::Note), own(Part::Look)]);
        assert_eq!(Program::read(&input, true).asks, ["more".to_owned()]);
    }

    #[test]
    fn without_a_shell_ordinary_text_is_only_answered() {
        let program = Program::read(&[user("hello")], false);
        assert_eq!(program.next_response(), [Step::Own(Part::Answer)]);
    }

    #[test]
    fn items_of_other_models_do_no_harm() {
        let other = |item| ModelItem::Other(Arc::new(item));
        let input = [
            other(json!({"type": "message", "role": "system", "content": "note"})),
            said("hi"),
            other(json!({"type": "unheard_of"})),
            other(json!(7)),
            output("nowhere", "x"),
            other(json!({"type": "function_call_output", "call_id": "nowhere", "output": []})),
            user("@say a"),
        ];
        assert_eq!(next(&input), [say("a")]);
    }
}
