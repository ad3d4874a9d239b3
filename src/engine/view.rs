//! Views: records as the Agents API shows them. Pure, but for the bodies that are fetched.

use super::accept::Accepted;
use super::artifact::{ArtifactRow, id_number};
use super::call_view::{self, Course};
use super::core::Core;
use super::error::EngineError;
use super::expire::Expiry;
use super::history::{as_list, as_text};
use super::ids::{self, Kind, SessionId};
use super::input::{Body, InputRow, NoOp, Submission};
use super::item::{CallState, ItemBody, ItemRow};
use super::ports::{BlobScope, FunctionAnswer, ModelUsage, Network};
use super::read::SessionRead;
use super::receipt::Outcome;
use super::session::{ActiveTurn, Head};
use super::sessions::Config;
use super::shared;
use super::start_files::StartFile;
use super::subagent;
use super::turn::TurnRow;
use crate::api::{
    AgentSession, ArtifactObject, Became, CallStatus, Environment, FunctionCallItem,
    FunctionCallOutputItem, FunctionOutput, HostedEnvironment, InputTokensDetails, Item,
    MessageContent, MessageItem, Network as ApiNetwork, NetworkAccess, NothingToDo, OutputStatus,
    OutputTokensDetails, Packages, Phase, ReasoningItem, Receipt, ReceiptObject, RequiredAction,
    Role, SessionArtifact, SessionObject, SummaryText, TokenUsage, Turn, TurnError, TurnObject,
    TurnStatus, Words, call_arguments,
};

/// What a command's Item says when its outcome is unknown.
pub const UNKNOWN_OUTCOME: &str = "outcome unknown: the worker was lost while this ran; it may or may not have taken effect, and it was not repeated";

/// Tokens as the wire has them.
pub fn usage(usage: ModelUsage) -> TokenUsage {
    TokenUsage {
        input_tokens: usage.input,
        input_tokens_details: InputTokensDetails {
            cached_tokens: usage.cached_input,
        },
        output_tokens: usage.output,
        output_tokens_details: OutputTokensDetails {
            reasoning_tokens: usage.reasoning,
        },
        total_tokens: usage.input + usage.output,
    }
}

/// The id of a Turn.
pub fn turn_id(session: &SessionId, number: u64) -> String {
    ids::derived(Kind::Turn, session, number)
}

/// A Turn's row as its resource.
pub fn turn(session: &SessionId, config: &Config, number: u64, row: &TurnRow) -> Turn {
    Turn {
        id: turn_id(session, number),
        agent_id: config.agent.id.clone(),
        completed_at: row.completed_ms.map(|ms| ms / 1000),
        created_at: row.created_ms / 1000,
        error: row
            .error
            .as_ref()
            .filter(|_| row.status == TurnStatus::Failed)
            .map(|failure| TurnError {
                code: failure
                    .code
                    .parse()
                    .unwrap_or(crate::api::TurnErrorCode::InternalError),
                message: failure.message.clone(),
            }),
        object: TurnObject::Only,
        session_id: session.to_string(),
        started_at: row.started_ms.map(|ms| ms / 1000),
        status: row.status,
        subagent_id: match subagent::of(number) {
            0 => None,
            subagent => Some(ids::derived(Kind::Subagent, session, subagent)),
        },
        usage: row.usage.map(usage),
        prompt_cache_options: None,
    }
}

fn environment(config: &Config) -> Environment {
    let Some(spec) = &config.environment else {
        return Environment::None;
    };
    Environment::OpenaiHosted(HostedEnvironment {
        id: spec.id.clone(),
        capability_directories: Vec::new(),
        files: config.files.iter().map(StartFile::shown).collect(),
        network: network(&spec.network),
        packages: Packages::default(),
        plugins: Vec::new(),
        skills: Vec::new(),
        container_size: None,
        desktop: None,
    })
}

/// What commands may reach, as answers show it.
pub fn network(network: &Network) -> ApiNetwork {
    let (access, allowed_domains) = match network {
        Network::Disabled => (NetworkAccess::Disabled, Vec::new()),
        Network::Enabled => (NetworkAccess::Enabled, Vec::new()),
        Network::Restricted { allowed_domains } => {
            (NetworkAccess::Restricted, allowed_domains.clone())
        }
    };
    ApiNetwork {
        access,
        allowed_domains,
    }
}

/// A Session as its resource; `actions` are its open function calls.
pub fn session(
    id: &SessionId,
    head: &Head,
    config: &Config,
    actions: Vec<RequiredAction>,
) -> AgentSession {
    AgentSession {
        id: id.to_string(),
        agent: (*config.agent).clone(),
        created_at: head.created_ms / 1000,
        environment: environment(config),
        error: head.expiry.as_ref().map(Expiry::words),
        last_active_at: head.active_ms / 1000,
        metadata: config.metadata.clone(),
        object: SessionObject::Only,
        required_actions: actions,
        status: head.status(),
        usage: Some(usage(head.usage)),
        vault_ids: config.vault_ids.clone(),
        prompt_cache_options: None,
        review: None,
        spend_control: None,
    }
}

/// An Artifact's row as its resource.
pub fn artifact(session: &SessionId, turn: u64, n: u64, row: &ArtifactRow) -> SessionArtifact {
    SessionArtifact {
        id: ids::derived(Kind::Artifact, session, id_number(turn, n)),
        created_at: row.at_ms / 1000,
        environment_id: row.environment.clone(),
        object: ArtifactObject::Only,
        path: row.path.clone(),
        session_id: session.to_string(),
        size_bytes: row.blob.size_bytes,
        turn_id: turn_id(session, turn),
    }
}

/// What became of an accepted submission, as its receipt tells it.
pub fn receipt(session: &SessionId, accepted: &Accepted) -> Receipt {
    let outcomes = accepted.receipt.outcomes.iter();
    Receipt {
        id: accepted.receipt_id.clone(),
        object: ReceiptObject::Only,
        session_id: session.to_string(),
        accepted_at: Some(accepted.receipt.accepted_ms / 1000),
        digest: Some(accepted.receipt.digest.clone()),
        repeated: Some(accepted.repeated),
        outcomes: outcomes.map(|outcome| became(session, outcome)).collect(),
    }
}

fn became(session: &SessionId, outcome: &Outcome) -> Became {
    let turn_id = |number: u64| turn_id(session, number);
    match outcome {
        Outcome::Started { turn } => Became::Started {
            turn_id: turn_id(*turn),
        },
        Outcome::Steered { turn } => Became::Steered {
            turn_id: turn_id(*turn),
        },
        Outcome::Queued { turn, position } => Became::Queued {
            position: *position,
            turn_id: turn_id(*turn),
        },
        Outcome::Cancelled { turn } => Became::Cancelled {
            turn_id: turn_id(*turn),
        },
        Outcome::Cancelling { turn } => Became::Cancelling {
            turn_id: turn_id(*turn),
        },
        Outcome::Answered { turn } => Became::Answered {
            turn_id: turn_id(*turn),
        },
        Outcome::Nothing { result, turn } => Became::Nothing {
            result: match result {
                NoOp::NoActiveTurn => NothingToDo::NoActiveTurn,
                NoOp::AlreadyFinished => NothingToDo::AlreadyFinished,
                NoOp::AnotherTurnActive => NothingToDo::AnotherTurnActive,
                NoOp::AlreadyAnswered => NothingToDo::AlreadyAnswered,
            },
            turn_id: turn.map(turn_id),
        },
    }
}

impl Core {
    /// An Item's row as its resource. `input` is the row of the input that it shows, if it shows one.
    pub(super) async fn item_view(
        &self,
        read: &SessionRead,
        scope: &BlobScope,
        number: u64,
        row: &ItemRow,
        input: Option<&InputRow>,
    ) -> Result<Item, EngineError> {
        let session = &read.id;
        let id = ids::derived(row.body.id_kind(), session, number);
        let turn_id = turn_id(session, row.turn);
        let text = async |body: &Body| self.fetch(scope, body).await.map(as_text);
        Ok(match &row.body {
            ItemBody::User { .. } => Item::Message(MessageItem {
                id: Some(id),
                content: self.user_content(scope, input).await?,
                phase: None,
                role: Role::User,
                status: OutputStatus::Completed,
                turn_id,
            }),
            ItemBody::Message {
                text: body,
                phase,
                incomplete,
            } => Item::Message(MessageItem {
                id: Some(id),
                content: vec![MessageContent::OutputText {
                    text: text(body).await?,
                }],
                phase: phase
                    .as_deref()
                    .and_then(|phase| Phase::ALL.iter().copied().find(|p| p.as_str() == phase)),
                role: Role::Assistant,
                status: if *incomplete {
                    OutputStatus::Incomplete
                } else {
                    OutputStatus::Completed
                },
                turn_id,
            }),
            ItemBody::Reasoning { summary, .. } => Item::Reasoning(ReasoningItem {
                id,
                status: Some(OutputStatus::Completed),
                summary: summary
                    .iter()
                    .map(|text| SummaryText { text: text.clone() })
                    .collect(),
                turn_id,
            }),
            ItemBody::FromAgent { from, text: body } => {
                let text = text(body).await?;
                shared::message(read, number, id, (*from, text), turn_id)
            }
            ItemBody::Call {
                delegates: Some(delegates),
                state,
                ..
            } => {
                let told = match delegates.text() {
                    Some(body) => Some(text(body).await?),
                    None => None,
                };
                let status = match state {
                    CallState::Running => CallStatus::InProgress,
                    CallState::Done { status, .. } => *status,
                    CallState::Unknown => CallStatus::Incomplete,
                };
                shared::call(read, number, id, (delegates, told, status), turn_id)
            }
            ItemBody::Call {
                arguments,
                command,
                cwd,
                server_label,
                state,
                ..
            } => {
                let place = call_view::Place { id, turn_id };
                let course = match state {
                    CallState::Running => Course::Running,
                    CallState::Done {
                        status,
                        exit_code,
                        output,
                        duration_ms,
                        ..
                    } => Course::Over {
                        status: *status,
                        exit_code: *exit_code,
                        output: text(output).await?,
                        duration_ms: *duration_ms,
                    },
                    CallState::Unknown => Course::Unknown,
                };
                match server_label {
                    None => Item::CommandExecution(call_view::command(
                        place,
                        command.clone(),
                        cwd.clone(),
                        course,
                    )),
                    Some(label) => {
                        let arguments = text(arguments).await?;
                        let (label, tool) = (label.clone(), command.clone());
                        Item::McpCall(call_view::mcp(place, label, tool, &arguments, course))
                    }
                }
            }
            ItemBody::WebSearch { native } => {
                let native = self.fetch(scope, native).await?;
                let place = call_view::Place { id, turn_id };
                Item::WebSearchCall(call_view::web_search(place, &native))
            }
            ItemBody::Function {
                call_id,
                name,
                arguments: body,
                status,
                ..
            } => Item::FunctionCall(FunctionCallItem {
                id,
                arguments: call_arguments(&text(body).await?),
                call_id: call_id.clone(),
                name: name.clone(),
                status: *status,
                turn_id,
            }),
            ItemBody::FunctionOutput { call_id, .. } => {
                let answer = self.answer_of(scope, input).await?;
                Item::FunctionCallOutput(FunctionCallOutputItem {
                    id,
                    call_id: call_id.clone(),
                    error: answer.as_ref().and_then(|a| a.error.clone()),
                    output: answer
                        .as_ref()
                        .and_then(|a| {
                            serde_json::from_value::<Option<FunctionOutput>>(a.output.clone()).ok()
                        })
                        .flatten(),
                    status: match answer {
                        Some(answer) if !answer.success => CallStatus::Failed,
                        _ => CallStatus::Completed,
                    },
                    turn_id,
                })
            }
        })
    }

    async fn user_content(
        &self,
        scope: &BlobScope,
        input: Option<&InputRow>,
    ) -> Result<Vec<MessageContent>, EngineError> {
        let Some(Submission::Message { content }) = input.map(|row| &row.submission) else {
            return Ok(Vec::new());
        };
        let parts = as_list(self.fetch(scope, content).await?);
        Ok(parts
            .into_iter()
            .filter_map(|part| serde_json::from_value(part).ok())
            .collect())
    }

    async fn answer_of(
        &self,
        scope: &BlobScope,
        input: Option<&InputRow>,
    ) -> Result<Option<FunctionAnswer>, EngineError> {
        let Some(Submission::ToolResult { answer, .. }) = input.map(|row| &row.submission) else {
            return Ok(None);
        };
        Ok(serde_json::from_value(self.fetch(scope, answer).await?).ok())
    }

    /// The function calls that wait for a client, in the order of the calls.
    pub(super) async fn required_actions(
        &self,
        session: &SessionId,
        head: &Head,
    ) -> Result<Vec<RequiredAction>, EngineError> {
        let asks = |turn: &&ActiveTurn| {
            turn.awaits_answers() && turn.cancel.is_none() && head.expiry.is_none()
        };
        let Some(turn) = head.turn.as_ref().filter(asks) else {
            return Ok(Vec::new());
        };
        let open: Vec<u64> = turn
            .calls
            .iter()
            .filter(|c| c.answer.is_none())
            .map(|c| c.item)
            .collect();
        let rows: Vec<ItemRow> = self
            .rows(session, open.iter().map(|&n| super::keys::item(n)))
            .await?;
        let scope = self.scope(&head.owner, session);
        let mut actions = Vec::with_capacity(rows.len());
        for row in rows {
            if let ItemBody::Function {
                call_id,
                name,
                arguments: body,
                ..
            } = row.body
            {
                actions.push(RequiredAction::FunctionCall {
                    arguments: call_arguments(&as_text(self.fetch(&scope, &body).await?)),
                    call_id,
                    name,
                    turn_id: turn_id(session, turn.number),
                });
            }
        }
        Ok(actions)
    }
}
