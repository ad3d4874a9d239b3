//! Items as lines of a given width. Only what is on the screen is made into lines, and never more of one Item than [`SHOWN_BYTES`].

use super::composer::Tone;
use super::session::Open;
use crate::api::{
    CallStatus, FunctionOutput, Item, MessageContent, OutputStatus, Phase, RequiredAction,
    Role as Speaker, Turn, TurnStatus, Words,
};
use crate::engine::ports::LivePart;
use crate::text::{Glyphs, SafeBlock, SafeText, ago, duration, size, truncate, wrap};

/// Of one Item, so many bytes are shown at most.
pub const SHOWN_BYTES: usize = 64 << 10;
/// Lines of reasoning or of a tool's answer that are shown while they are folded.
const FOLDED_LINES: usize = 2;
/// Lines of text that is being written.
const WRITTEN_LINES: usize = 8;
/// Cells of the word before a line.
pub const LABEL_CELLS: usize = 9;

/// What a line is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Ordinary text.
    Text,
    /// What is beside the point.
    Dim,
    /// The agent.
    Agent,
    /// The user.
    User,
    /// It went well.
    Good,
    /// It needs a person.
    Warn,
    /// It went wrong.
    Bad,
}

/// How a tone looks.
pub fn tone_role(tone: Tone) -> Role {
    match tone {
        Tone::Plain => Role::Text,
        Tone::Good => Role::Good,
        Tone::Warn => Role::Warn,
        Tone::Bad => Role::Bad,
    }
}

/// A line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The word before it; empty on all but an Item's first line.
    pub label: &'static str,
    /// What it is.
    pub role: Role,
    /// What it says.
    pub text: SafeText,
    /// It is ours, and stands where no text of an Item can.
    pub mark: bool,
    /// It is what was searched.
    pub found: bool,
}

/// How lines are made.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Cells of a whole line.
    pub width: usize,
    /// Characters that may leave.
    pub glyphs: Glyphs,
    /// For ages, Unix milliseconds.
    pub now_ms: u64,
}

/// One Item, before it is cut into lines.
struct Raw {
    label: &'static str,
    role: Role,
    text: String,
    /// Lines that are shown while it is folded.
    folded: Option<usize>,
}

/// The lines of an entry: an Item with the mark of its Turn if it begins one, or, behind the last Item, what goes on now.
pub fn entry(open: &Open, place: usize, look: Look) -> Vec<Line> {
    let rows = open.items.rows();
    let Some(item) = rows.get(place) else {
        return tail(open, look);
    };
    let mut lines = Vec::new();
    let begins = place == 0 || rows[place - 1].turn_id() != item.turn_id();
    if begins {
        lines.extend(mark(open.turns.get(item.turn_id()), item.turn_id(), look));
    }
    let mut raw = raw(item);
    if raw.text.is_empty() && raw.label != "command" {
        raw.text = "(nothing)".to_owned();
    }
    let found = open.finder.found.as_ref();
    let found = found.filter(|(found, _)| *found == place);
    let unfolded = open.is_unfolded(place);
    lines.extend(cut(raw, unfolded, look));
    if let (true, Item::CommandExecution(command)) = (unfolded, item)
        && let Some(output) = command
            .output
            .as_deref()
            .filter(|text| !text.trim().is_empty())
    {
        let output = Raw {
            label: "output",
            role: Role::Dim,
            text: output.trim_end().to_owned(),
            folded: None,
        };
        lines.extend(cut(output, true, look));
    }
    if let Some((_, wanted)) = found {
        let is_it = |line: &Line| !line.mark && wanted.is_in(line.text.as_str());
        // Words that are parted by the end of a line are in none.
        let at = lines.iter().position(is_it);
        let at = at.or_else(|| lines.iter().position(|line| !line.mark));
        if let Some(line) = at.and_then(|at| lines.get_mut(at)) {
            line.found = true;
        }
    }
    lines
}

/// All that an Item says, as it came.
pub fn text_of(item: &Item) -> String {
    let Item::CommandExecution(command) = item else {
        return raw(item).text;
    };
    match command.output.as_deref() {
        Some(output) => format!("{}\n{output}", command.command),
        None => command.command.clone(),
    }
}

/// The first bytes of what an Item says.
pub fn head_of(item: &Item, bytes: usize) -> String {
    let cut = |text: &str| text[..text.floor_char_boundary(bytes)].to_owned();
    match item {
        // Its output may be large, and is not copied for what is shown of it.
        Item::CommandExecution(command) => {
            let output = command.output.as_deref().unwrap_or_default();
            format!("{}\n{}", cut(&command.command), cut(output))
        }
        item => cut(&raw(item).text),
    }
}

/// The line that a Turn begins with, and why it failed.
fn mark(turn: Option<&Turn>, id: &str, look: Look) -> Vec<Line> {
    let mut says = format!("turn {id}");
    let mut role = Role::Dim;
    if let Some(turn) = turn {
        says.push_str(&format!("  {}", turn_word(turn.status)));
        match (turn.started_at, turn.completed_at) {
            (Some(start), Some(end)) => {
                let took_ms = end.saturating_sub(start) * 1000;
                says.push_str(&match took_ms {
                    // Whole seconds are all that is told.
                    0 => " in less than 1s".to_owned(),
                    took_ms => format!(" in {}", duration(took_ms)),
                });
            }
            (Some(start), None) => {
                says.push_str(&format!(", began {}", ago(start * 1000, look.now_ms)));
            }
            (None, _) => {}
        }
        role = turn_role(turn.status);
    }
    let mut lines = vec![one(Role::Dim, "", "", look), one(role, "", &says, look)];
    if let Some(error) = turn.and_then(|turn| turn.error.as_ref()) {
        let raw = Raw {
            label: "failed",
            role: Role::Bad,
            text: format!("{}: {}", error.code, error.message),
            folded: None,
        };
        lines.extend(cut(raw, true, look));
    }
    lines
}

/// Behind the last Item: what is being written, Turns that have no Item yet, and what a person is waited for.
fn tail(open: &Open, look: Look) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some((part, text)) = open.written.shown() {
        let (label, role) = match part {
            LivePart::Message => ("agent", Role::Agent),
            LivePart::Summary(_) => ("thought", Role::Dim),
            LivePart::Output => ("output", Role::Dim),
        };
        let raw = Raw {
            label,
            role,
            text: text.to_owned(),
            folded: None,
        };
        let mut written = cut(raw, true, look);
        let surplus = written.len().saturating_sub(WRITTEN_LINES);
        written.drain(..surplus);
        if let Some(first) = written.first_mut() {
            first.label = label;
        }
        lines.extend(written);
    }
    let last = open.items.rows().last().map(Item::turn_id);
    let is_new = |turn: &&Turn| !turn.status.is_terminal() && Some(turn.id.as_str()) != last;
    for turn in open
        .newest
        .iter()
        .filter_map(|id| open.turns.get(id))
        .filter(is_new)
    {
        lines.extend(mark(Some(turn), &turn.id, look));
    }
    let actions = open.session.iter().flat_map(|s| &s.required_actions);
    for action in actions {
        lines.push(one(Role::Dim, "", "", look));
        for (label, text) in action_words(action, &open.id) {
            let raw = Raw {
                label,
                role: Role::Warn,
                text,
                folded: None,
            };
            lines.extend(cut(raw, true, look));
        }
    }
    lines
}

/// What is waited for, and the command that answers it, where there is one.
fn action_words(action: &RequiredAction, session: &str) -> Vec<(&'static str, String)> {
    match action {
        RequiredAction::FunctionCall {
            arguments,
            call_id,
            name,
            ..
        } => vec![
            (
                "waits",
                format!("for the result of {name}({arguments}), call {call_id}"),
            ),
            (
                "",
                format!("rat-things sessions answer {session} --call {call_id} --result TEXT"),
            ),
        ],
        RequiredAction::McpApprovalRequest {
            request,
            request_id,
            ..
        } => {
            let name = request.name.as_deref().unwrap_or("a tool");
            let server = &request.server_label;
            vec![(
                "waits",
                format!(
                    "for the approval of {name} of {server}, request {request_id}: {}",
                    request.message
                ),
            )]
        }
        RequiredAction::ComputerUseApprovalRequest { request_id, .. } => {
            vec![(
                "waits",
                format!("for an approval in the browser, request {request_id}"),
            )]
        }
        RequiredAction::EnvironmentConnection { environment_id } => {
            vec![(
                "waits",
                format!("for environment {environment_id} to be connected"),
            )]
        }
    }
}

/// The word of a screen for where a Turn stands.
pub fn turn_word(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::InProgress => "running",
        TurnStatus::Completed => "done",
        other => other.as_str(),
    }
}

/// How the word of a Turn looks.
pub fn turn_role(status: TurnStatus) -> Role {
    match status {
        TurnStatus::InProgress => Role::Agent,
        TurnStatus::Waiting => Role::Warn,
        TurnStatus::Failed => Role::Bad,
        TurnStatus::Queued | TurnStatus::Completed | TurnStatus::Cancelled => Role::Dim,
    }
}

fn raw(item: &Item) -> Raw {
    let (label, role, text, folded) = match item {
        Item::Message(message) => {
            let parts: Vec<&str> = message.content.iter().map(message_part).collect();
            let (label, role) = match (message.role, message.phase) {
                (Speaker::User, _) => ("user", Role::User),
                (Speaker::Assistant, Some(Phase::Commentary)) => ("note", Role::Dim),
                (Speaker::Assistant, _) => ("agent", Role::Agent),
            };
            let mut text = parts.join("\n");
            if message.status == OutputStatus::Incomplete {
                text.push_str("  [incomplete]");
            }
            (label, role, text, None)
        }
        Item::Reasoning(reasoning) => {
            let texts: Vec<&str> = reasoning.summary.iter().map(|s| s.text.as_str()).collect();
            ("thought", Role::Dim, texts.join("\n"), Some(FOLDED_LINES))
        }
        Item::CommandExecution(command) => return raw_command(command),
        Item::FunctionCall(call) => {
            let text = format!(
                "{}({}){}",
                call.name,
                call.arguments,
                call_mark(call.status)
            );
            ("tool", Role::Text, text, Some(FOLDED_LINES))
        }
        Item::FunctionCallOutput(output) => {
            let (role, text) = match (&output.error, &output.output) {
                (Some(error), _) => (Role::Bad, format!("-> failed: {error}")),
                (None, Some(FunctionOutput::Text(text))) => (Role::Text, format!("-> {text}")),
                (None, Some(answer)) => {
                    let text = serde_json::to_string(answer).unwrap_or_default();
                    (Role::Text, format!("-> {text}"))
                }
                (None, None) => (Role::Text, "-> (nothing)".to_owned()),
            };
            ("tool", role, text, Some(FOLDED_LINES))
        }
        Item::McpCall(call) => {
            let called = format!("{}.{}({})", call.server_label, call.name, call.arguments);
            let (role, text) = match (call.status, call.said()) {
                (CallStatus::InProgress, _) => (Role::Text, called + call_mark(call.status)),
                (CallStatus::Failed, said) => (Role::Bad, format!("{called}\n-> failed: {said}")),
                (CallStatus::Incomplete, said) => (Role::Warn, format!("{called}\n-> {said}")),
                (CallStatus::Completed, said) => (Role::Text, format!("{called}\n-> {said}")),
            };
            ("tool", role, text, Some(FOLDED_LINES))
        }
        Item::WebSearchCall(search) => {
            let text = format!("web search {}", search.what());
            ("tool", Role::Dim, text, Some(FOLDED_LINES))
        }
        other => match other.between_agents() {
            Some(text) => ("agents", Role::Dim, text, Some(FOLDED_LINES)),
            None => ("item", Role::Dim, other.kind().replace('_', " "), None),
        },
    };
    Raw {
        label,
        role,
        text,
        folded,
    }
}

fn raw_command(command: &crate::api::CommandExecutionItem) -> Raw {
    let mut text = command.command.clone();
    let (end, role) = match (command.status, command.exit_code) {
        (CallStatus::InProgress, _) => ("running".to_owned(), Role::Agent),
        (CallStatus::Incomplete, _) => ("outcome unknown".to_owned(), Role::Warn),
        (CallStatus::Completed, None | Some(0)) => (String::new(), Role::Text),
        (_, Some(code)) => (format!("exit {code}"), Role::Bad),
        (CallStatus::Failed, None) => ("failed".to_owned(), Role::Bad),
    };
    let took = command.duration_ms.map(duration);
    let output = command
        .output
        .as_deref()
        .map(str::trim_end)
        .unwrap_or_default();
    let lines = match output.lines().count() {
        0 => None,
        1 => Some("1 line".to_owned()),
        n => Some(format!("{n} lines")),
    };
    let facts: Vec<String> = Some(end)
        .filter(|end| !end.is_empty())
        .into_iter()
        .chain(took)
        .chain(lines)
        .collect();
    if !facts.is_empty() {
        text.push_str(&format!("  [{}]", facts.join(", ")));
    }
    Raw {
        label: "command",
        role,
        text,
        folded: Some(FOLDED_LINES),
    }
}

fn call_mark(status: CallStatus) -> &'static str {
    match status {
        CallStatus::InProgress => "  [open]",
        CallStatus::Completed => "",
        CallStatus::Failed => "  [failed]",
        CallStatus::Incomplete => "  [incomplete]",
    }
}

fn message_part(part: &MessageContent) -> &str {
    match part {
        MessageContent::InputText { text } | MessageContent::OutputText { text } => text,
        MessageContent::InputImage { .. } => "[image]",
    }
}

/// One line that is cut rather than wrapped.
fn one(role: Role, label: &'static str, text: &str, look: Look) -> Line {
    let text = SafeText::line(text);
    let room = look.width.saturating_sub(LABEL_CELLS + 1);
    Line {
        label,
        role,
        text: truncate(&text.shown(look.glyphs), room, look.glyphs),
        mark: true,
        found: false,
    }
}

/// Safe lines that fit, no more than may be shown.
fn cut(raw: Raw, unfolded: bool, look: Look) -> Vec<Line> {
    let at = raw.text.floor_char_boundary(SHOWN_BYTES);
    let (shown, rest) = raw.text.split_at(at);
    let block = SafeBlock::block(shown);
    let width = look.width.saturating_sub(LABEL_CELLS + 1).max(1);
    let mut texts = wrap(&block.shown(look.glyphs), width);
    let keep = raw.folded.filter(|keep| !unfolded && texts.len() > *keep);
    if let Some(keep) = keep {
        let hidden = texts.len() - keep;
        texts.truncate(keep);
        texts.push(SafeText::line(&format!("[{hidden} more]")));
    } else if !rest.is_empty() {
        let more = size(rest.len() as u64);
        texts.push(SafeText::line(&format!(
            "[{more} more: rat-things sessions items has all]"
        )));
    }
    if texts.is_empty() {
        texts.push(SafeText::default());
    }
    let labels = std::iter::once(raw.label).chain(std::iter::repeat(""));
    texts
        .into_iter()
        .zip(labels)
        .map(|(text, label)| Line {
            label,
            role: raw.role,
            text,
            mark: false,
            found: false,
        })
        .collect()
}
