//! Resources as tables and details for a person. Programs get the resource itself.

use super::out::{Cell, Column, Details, LineKind, Role, Table};
use crate::api::{
    AgentSession, CallStatus, FunctionOutput, Item, McpCallItem, MessageContent, Phase,
    Role as Speaker, SessionArtifact, SessionStatus, TurnStatus, Words,
};
use crate::engine::ports::TurnRead;
use crate::engine::turn::TurnRow;
use crate::text::SafeBlock;

/// Seconds of the wire as the milliseconds of a cell.
pub fn time(seconds: u64) -> Cell {
    Cell::Time(seconds * 1000)
}

/// A Session's status as a word with its colour.
pub fn session_status(status: SessionStatus) -> Cell {
    let role = match status {
        SessionStatus::Idle => Role::Plain,
        SessionStatus::InProgress => Role::Active,
        SessionStatus::RequiresAction => Role::Warn,
        SessionStatus::Failed | SessionStatus::BudgetReached => Role::Bad,
    };
    Cell::word(status.as_str(), role)
}

/// A Turn's status as a word with its colour.
pub fn turn_status(status: TurnStatus) -> Cell {
    let role = match status {
        TurnStatus::Queued => Role::Plain,
        TurnStatus::InProgress => Role::Active,
        TurnStatus::Waiting => Role::Warn,
        TurnStatus::Completed => Role::Good,
        TurnStatus::Failed => Role::Bad,
        TurnStatus::Cancelled => Role::Dim,
    };
    Cell::word(status.as_str(), role)
}

/// The title that the client gave a Session.
pub fn title_text(session: &AgentSession) -> Option<&str> {
    session.metadata.get("title").map(String::as_str)
}

fn title(session: &AgentSession) -> Cell {
    Cell::maybe(title_text(session), Cell::text)
}

/// Columns of a list of Sessions.
pub fn session_columns() -> Table {
    Table::new([
        Column::new("SESSION"),
        Column::new("STATUS"),
        Column::new("ACTIVE"),
        Column::new("MODEL").shrinks(2, 8),
        Column::new("TITLE").shrinks(1, 10),
        Column::new("CREATED").wide(),
        Column::new("AGENT").wide(),
        Column::new("ENVIRONMENT").wide(),
        Column::new("TOKENS").wide(),
    ])
}

/// One row of it.
pub fn session_row(session: &AgentSession) -> Vec<Cell> {
    vec![
        Cell::text(&session.id),
        session_status(session.status),
        time(session.last_active_at),
        Cell::text(&session.agent.model),
        title(session),
        time(session.created_at),
        Cell::text(&session.agent.id),
        environment(session),
        Cell::maybe(session.usage, |usage| Cell::Count(usage.total_tokens)),
    ]
}

fn environment(session: &AgentSession) -> Cell {
    match &session.environment {
        crate::api::Environment::None => Cell::text("none"),
        crate::api::Environment::OpenaiHosted(hosted) => Cell::text(&hosted.id),
        crate::api::Environment::SelfHosted(own) => Cell::text(&own.id),
    }
}

/// One Session in full.
pub fn session_details(session: &AgentSession) -> Details {
    let mut actions = Table::new([
        Column::new("CALL"),
        Column::new("FUNCTION"),
        Column::new("ARGUMENTS"),
    ]);
    for action in &session.required_actions {
        if let crate::api::RequiredAction::FunctionCall {
            call_id,
            name,
            arguments,
            ..
        } = action
        {
            actions.row([
                Cell::text(call_id),
                Cell::text(name),
                Cell::text(arguments.to_string()),
            ]);
        }
    }
    let mut metadata = Table::new([Column::new("NAME"), Column::new("VALUE")]);
    for (name, value) in &session.metadata {
        metadata.row([Cell::text(name), Cell::text(value)]);
    }
    let details = Details::new()
        .value("session", Cell::text(&session.id))
        .value("status", session_status(session.status))
        .value("title", title(session))
        .value("model", Cell::text(&session.agent.model));
    let details = match session.agent.harness {
        Some(harness) => details.value("harness", Cell::text(harness.as_str())),
        None => details,
    };
    details
        .value("agent", Cell::text(&session.agent.id))
        .value("environment", environment(session))
        .value("created", time(session.created_at))
        .value("last active", time(session.last_active_at))
        .value(
            "tokens",
            Cell::maybe(session.usage, |usage| Cell::Count(usage.total_tokens)),
        )
        .table("waits for", actions)
        .table("metadata", metadata)
}

/// Columns of a list of Turns.
pub fn turn_columns() -> Table {
    Table::new([
        Column::new("TURN"),
        Column::new("STATUS"),
        Column::new("STARTED"),
        Column::new("TOOK"),
        Column::new("NOTE").shrinks(1, 12),
        Column::new("CREATED").wide(),
        Column::new("TOKENS").wide(),
        Column::new("RUNS").wide(),
    ])
}

/// One row of it.
pub fn turn_row(read: &TurnRead) -> Vec<Cell> {
    let turn = &read.turn;
    let runs = read.row.as_ref().and_then(|row| row.runs);
    vec![
        Cell::text(&turn.id),
        turn_status(turn.status),
        Cell::maybe(turn.started_at, time),
        Cell::maybe(turn_took_ms(read), Cell::Span),
        Cell::maybe(turn_note(read), Cell::text),
        time(turn.created_at),
        Cell::maybe(turn.usage, |usage| Cell::Count(usage.total_tokens)),
        Cell::maybe(runs, |(first, last)| Cell::Count(last - first + 1)),
    ]
}

/// How long a Turn took: as exactly as it is known.
pub fn turn_took_ms(read: &TurnRead) -> Option<u64> {
    let (turn, row) = (&read.turn, read.row.as_ref());
    let (end, start) = match row {
        Some(row) => row.completed_ms.zip(row.started_ms),
        None => turn
            .completed_at
            .zip(turn.started_at)
            .map(|(end, start)| (end * 1000, start * 1000)),
    }?;
    Some(end.saturating_sub(start))
}

/// What an operator must know of a Turn beside its status.
pub fn turn_note(read: &TurnRead) -> Option<String> {
    let mut notes = Vec::new();
    if let Some(error) = &read.turn.error {
        notes.push(format!("{}: {}", error.code, error.message));
    }
    if let Some(row) = &read.row {
        notes.extend(record_notes(row));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// What only a Turn's record tells.
fn record_notes(row: &TurnRow) -> Vec<String> {
    let mut notes = Vec::new();
    if row.unknown_calls > 0 {
        notes.push(format!(
            "{} command(s) with unknown outcome",
            row.unknown_calls
        ));
    }
    if let Some(isolation) = &row.isolation {
        notes.push(format!("isolation {isolation}"));
    }
    if let Some(capture) = &row.capture {
        if let Some(problem) = &capture.problem {
            notes.push(format!("outputs: {problem}"));
        }
        for left_out in &capture.left_out {
            notes.push(format!("not kept: {} ({})", left_out.path, left_out.reason));
        }
    }
    notes
}

/// Columns of a list of Items.
pub fn item_columns() -> Table {
    Table::new([
        Column::new("ITEM"),
        Column::new("KIND"),
        Column::new("STATUS"),
        Column::new("CONTENT").shrinks(1, 20),
        Column::new("TURN").wide(),
    ])
}

/// One row of it.
pub fn item_row(item: &Item) -> Vec<Cell> {
    let (_, content) = item_line(item);
    vec![
        Cell::text(item_id(item)),
        Cell::text(item.kind()),
        Cell::maybe(item_status(item), Cell::text),
        Cell::text(content),
        Cell::text(item.turn_id()),
    ]
}

/// The id of an Item, if it has one.
pub fn item_id(item: &Item) -> &str {
    use crate::api::HasId;
    item.id().unwrap_or_default()
}

fn item_status(item: &Item) -> Option<&'static str> {
    match item {
        Item::CommandExecution(command) => Some(command.status.as_str()),
        Item::FunctionCall(call) => Some(call.status.as_str()),
        Item::FunctionCallOutput(output) => Some(output.status.as_str()),
        Item::McpCall(call) => Some(call.status.as_str()),
        Item::WebSearchCall(search) => Some(search.status.as_str()),
        Item::Message(message) => Some(message.status.as_str()),
        Item::CreateSubagentCall(call) => Some(call.status.as_str()),
        Item::SendSubagentInputCall(call) => Some(call.status.as_str()),
        Item::WaitForSubagentsCall(call) => Some(call.status.as_str()),
        Item::ResumeSubagentCall(call)
        | Item::InterruptSubagentCall(call)
        | Item::CloseSubagentCall(call) => Some(call.status.as_str()),
        _ => None,
    }
}

/// What an Item is and says, for a transcript.
pub fn item_line(item: &Item) -> (LineKind, String) {
    match item {
        Item::Message(message) => {
            let parts: Vec<&str> = message
                .content
                .iter()
                .map(|part| match part {
                    MessageContent::InputText { text } | MessageContent::OutputText { text } => {
                        text.as_str()
                    }
                    MessageContent::InputImage { .. } => "[image]",
                })
                .collect();
            let kind = match (message.role, message.phase) {
                (Speaker::User, _) => LineKind::User,
                (Speaker::Assistant, Some(Phase::Commentary)) => LineKind::Commentary,
                (Speaker::Assistant, _) => LineKind::Agent,
            };
            (kind, parts.join("\n"))
        }
        Item::Reasoning(reasoning) => {
            let texts: Vec<&str> = reasoning.summary.iter().map(|s| s.text.as_str()).collect();
            (LineKind::Thought, texts.join("\n"))
        }
        Item::CommandExecution(command) => {
            let end = match (command.status, command.exit_code) {
                (CallStatus::InProgress, _) => " …".to_owned(),
                (_, Some(0)) => String::new(),
                (_, Some(code)) => format!("  [exit {code}]"),
                (CallStatus::Completed, None) => String::new(),
                (status, None) => format!("  [{}]", status.as_str()),
            };
            (LineKind::Command, format!("{}{end}", command.command))
        }
        Item::FunctionCall(call) => (LineKind::Tool, format!("{}({})", call.name, call.arguments)),
        Item::FunctionCallOutput(output) => {
            let text = match (&output.error, &output.output) {
                (Some(error), _) => format!("failed: {error}"),
                (None, Some(FunctionOutput::Text(text))) => text.clone(),
                (None, Some(answer)) => serde_json::to_string(answer).unwrap_or_default(),
                (None, None) => "(nothing)".to_owned(),
            };
            (LineKind::Tool, format!("-> {text}"))
        }
        Item::McpCall(call) => (LineKind::Tool, mcp_line(call)),
        Item::WebSearchCall(search) => (
            LineKind::Tool,
            format!("web search {}", search.what())
                .trim_end()
                .to_owned(),
        ),
        other => (
            LineKind::Tool,
            other
                .between_agents()
                .unwrap_or_else(|| other.kind().to_owned()),
        ),
    }
}

fn mcp_line(call: &McpCallItem) -> String {
    let called = format!("{}.{}({})", call.server_label, call.name, call.arguments);
    match call.status {
        CallStatus::InProgress => format!("{called} …"),
        CallStatus::Completed => format!("{called}\n-> {}", call.said()),
        CallStatus::Failed => format!("{called}\n-> failed: {}", call.said()),
        CallStatus::Incomplete => format!("{called}\n-> {}", call.said()),
    }
}

/// Output of a command that a transcript shows below it: the last lines.
pub fn command_output(item: &Item) -> Option<SafeBlock> {
    const LINES: usize = 12;
    let Item::CommandExecution(command) = item else {
        return None;
    };
    let output = command
        .output
        .as_deref()
        .map(str::trim_end)
        .filter(|text| !text.is_empty())?;
    let lines: Vec<&str> = output.lines().collect();
    let skipped = lines.len().saturating_sub(LINES);
    let mut shown = lines[skipped..].join("\n");
    if skipped > 0 {
        shown = format!("[{skipped} lines more]\n{shown}");
    }
    Some(SafeBlock::from(shown))
}

/// Columns of a list of Artifacts.
pub fn artifact_columns() -> Table {
    Table::new([
        Column::new("ARTIFACT"),
        Column::new("PATH").shrinks(1, 16),
        Column::new("SIZE"),
        Column::new("CREATED"),
        Column::new("TURN").wide(),
    ])
}

/// One row of it.
pub fn artifact_row(artifact: &SessionArtifact) -> Vec<Cell> {
    vec![
        Cell::text(&artifact.id),
        Cell::text(&artifact.path),
        Cell::Size(artifact.size_bytes),
        time(artifact.created_at),
        Cell::text(&artifact.turn_id),
    ]
}
